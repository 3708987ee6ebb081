//! The status numbers of the C ABI and their one-line sentences.
//!
//! 0 is success, a positive number is success with information, a negative one is failure: `rc < 0` is always the failure
//! test. A number, once given, keeps its meaning; a retired one stays reserved. Literals, so that cbindgen can read
//! them.

/// Done.
pub const TURNLOCK_OK: i32 = 0;
/// The lock is yours, and the previous holder died inside: look at what it left before you trust the data.
pub const TURNLOCK_OWNER_DEAD: i32 = 1;
/// Another participant waits for the lock that the caller holds.
pub const TURNLOCK_CONTENDED: i32 = 2;
/// Another participant has done it before: there is nothing to do.
pub const TURNLOCK_DONE: i32 = 3;

/// An argument is NULL, out of range or contradicts another.
pub const TURNLOCK_ERROR_INVALID_ARGUMENT: i32 = -1;
/// Another participant has the lock, and the call was asked not to wait.
pub const TURNLOCK_ERROR_WOULD_BLOCK: i32 = -2;
/// The time limit passed before the turn, or what was waited for, came. A place in a queue was given up.
pub const TURNLOCK_ERROR_TIMED_OUT: i32 = -3;
/// Another thread cancelled the wait. The place in the queue was given up.
pub const TURNLOCK_ERROR_CANCELLED: i32 = -4;
/// The caller already has the lock, so waiting for it would never end.
pub const TURNLOCK_ERROR_DEADLOCK: i32 = -5;
/// The caller does not have the lock.
pub const TURNLOCK_ERROR_NOT_OWNER: i32 = -6;
/// A holder died and the next one unlocked without `mark_consistent`: the lock stays closed until a reset.
pub const TURNLOCK_ERROR_NOT_RECOVERABLE: i32 = -7;
/// The handle was closed before.
pub const TURNLOCK_ERROR_CLOSED: i32 = -8;
/// Every participant slot of the file is taken.
pub const TURNLOCK_ERROR_PARTICIPANTS_FULL: i32 = -9;
/// Every named lock of the file is taken.
pub const TURNLOCK_ERROR_LOCKS_FULL: i32 = -10;
/// A lock's name is empty, longer than 63 bytes, not UTF-8, or has a NUL in it.
pub const TURNLOCK_ERROR_BAD_NAME: i32 = -11;
/// The path names something that is not a turnlock file. It was left as it is.
pub const TURNLOCK_ERROR_NOT_A_LOCK_FILE: i32 = -12;
/// The file has another format version, byte order or layout. It was left as it is.
pub const TURNLOCK_ERROR_VERSION: i32 = -13;
/// The file is damaged: truncated, overwritten, or it holds an impossible value.
pub const TURNLOCK_ERROR_DAMAGED: i32 = -14;
/// The path now names another file than the one that is open.
pub const TURNLOCK_ERROR_REPLACED: i32 = -15;
/// The operating system does not allow it, or the file's permissions are unsafe.
pub const TURNLOCK_ERROR_PERMISSION: i32 = -16;
/// The file, or the lock in it, does not exist and was not to be created; or no participant holds the lock, or ever
/// died holding it.
pub const TURNLOCK_ERROR_NOT_FOUND: i32 = -17;
/// The file lies on a file system that cannot carry a lock file, a network one for example.
pub const TURNLOCK_ERROR_FILESYSTEM: i32 = -18;
/// No room on the disk.
pub const TURNLOCK_ERROR_NO_SPACE: i32 = -19;
/// A call to the operating system failed in a way that has no number of its own.
pub const TURNLOCK_ERROR_SYSTEM: i32 = -20;
/// The name belongs to a lock of another kind or algorithm, or one with another patience or death policy than was asked for.
pub const TURNLOCK_ERROR_KIND: i32 = -21;
/// The hold is in another call at this moment: of another thread, or of the thread that a signal handler has interrupted.
pub const TURNLOCK_ERROR_HOLD_BUSY: i32 = -22;
/// A defect of turnlock itself, caught before it could reach the caller.
pub const TURNLOCK_ERROR_INTERNAL: i32 = -23;
/// The handle cannot be closed, nor a hold acquire anything, while something is held through it.
pub const TURNLOCK_ERROR_STILL_HELD: i32 = -24;
/// `mark_consistent` on a lock whose previous holder did not die.
pub const TURNLOCK_ERROR_NOT_INCONSISTENT: i32 = -25;
/// The file exists and is smaller than the capacities asked for.
pub const TURNLOCK_ERROR_FILE_TOO_SMALL: i32 = -26;
/// The kernel refuses what turnlock needs: the message says what.
pub const TURNLOCK_ERROR_UNSUPPORTED: i32 = -27;

/// A wait was ended by what the file's options have asked between sleeps (a signal came, as a rule). The place in the
/// queue was given up.
pub const TURNLOCK_ERROR_INTERRUPTED: i32 = -28;
/// No memory. Nothing was done.
pub const TURNLOCK_ERROR_NO_MEMORY: i32 = -29;
/// The lock cannot be removed: a participant uses it, or is still to be told of a death.
pub const TURNLOCK_ERROR_IN_USE: i32 = -30;
/// The thread has the recursive lock as often as it can.
pub const TURNLOCK_ERROR_RECURSION_LIMIT: i32 = -31;
/// An upgrade of what is not held upgradable, or a downgrade to what is not less than it is held as.
pub const TURNLOCK_ERROR_NOT_UPGRADABLE: i32 = -32;
/// Only an exclusive holder can do that, and the lock is held beside others.
pub const TURNLOCK_ERROR_NOT_EXCLUSIVE: i32 = -33;
/// No permits, or more than the semaphore has, were asked for.
pub const TURNLOCK_ERROR_PERMITS: i32 = -34;
/// More permits were to be given back than the caller has.
pub const TURNLOCK_ERROR_TOO_MANY_RELEASED: i32 = -35;
/// The range is empty, or its end lies before its start.
pub const TURNLOCK_ERROR_EMPTY_RANGE: i32 = -36;
/// The barrier is broken: a party died or gave up, or a participant broke it. It stays so until a reset.
pub const TURNLOCK_ERROR_BROKEN_BARRIER: i32 = -37;
/// A wait without a limit closed a circle: participants that wait for one another, none of which would ever go on. The caller
/// waits no more and still holds what it holds: it releases that, for the others. `turnlock_last_error_message` says who they
/// are, what they hold and what they wait for.
pub const TURNLOCK_ERROR_CIRCULAR_WAIT: i32 = -38;
/// The lock was unlocked, and its lease had ended before: another host may have had it in the meantime.
pub const TURNLOCK_ERROR_LEASE_ENDED: i32 = -39;

/// The sentence for a status number. Total: an unknown number has a sentence too.
///
/// With a NUL at the end, so that C can be handed the same bytes.
#[doc(hidden)]
pub fn text_with_nul(status: i32) -> &'static core::ffi::CStr {
    match status {
        TURNLOCK_OK => c"done",
        TURNLOCK_OWNER_DEAD => c"acquired; the previous holder died while it had the lock",
        TURNLOCK_CONTENDED => c"another participant waits for the lock",
        TURNLOCK_DONE => c"done before; there is nothing to do",
        TURNLOCK_ERROR_INVALID_ARGUMENT => c"an argument is NULL, out of range or contradicts another",
        TURNLOCK_ERROR_WOULD_BLOCK => c"the lock is taken",
        TURNLOCK_ERROR_TIMED_OUT => c"the time limit passed",
        TURNLOCK_ERROR_CANCELLED => c"the wait was cancelled by another thread",
        TURNLOCK_ERROR_DEADLOCK => c"the caller already has or awaits this lock",
        TURNLOCK_ERROR_NOT_OWNER => c"the caller does not have this lock",
        TURNLOCK_ERROR_NOT_RECOVERABLE => {
            c"a holder died and its data were never marked consistent; the lock needs a reset"
        }
        TURNLOCK_ERROR_CLOSED => c"the handle was closed before",
        TURNLOCK_ERROR_PARTICIPANTS_FULL => c"every participant slot of the file is taken",
        TURNLOCK_ERROR_LOCKS_FULL => c"every named lock of the file is taken",
        TURNLOCK_ERROR_BAD_NAME => c"a lock's name is 1 to 63 bytes of UTF-8 without NUL",
        TURNLOCK_ERROR_NOT_A_LOCK_FILE => c"the path does not name a turnlock file",
        TURNLOCK_ERROR_VERSION => c"the file has another format version, byte order or layout",
        TURNLOCK_ERROR_DAMAGED => c"the file is damaged",
        TURNLOCK_ERROR_REPLACED => c"the path now names another file than the one that is open",
        TURNLOCK_ERROR_PERMISSION => c"not permitted, or the file's permissions are unsafe",
        TURNLOCK_ERROR_NOT_FOUND => c"no such file or lock",
        TURNLOCK_ERROR_FILESYSTEM => c"this file system cannot carry a lock file",
        TURNLOCK_ERROR_NO_SPACE => c"no room on the disk",
        TURNLOCK_ERROR_SYSTEM => c"a call to the operating system failed",
        TURNLOCK_ERROR_KIND => c"the name belongs to a lock of another kind, or with other settings",
        TURNLOCK_ERROR_HOLD_BUSY => c"the hold is in another call, of another thread or of the one that a signal handler has interrupted",
        TURNLOCK_ERROR_INTERNAL => c"a defect in turnlock; please report it",
        TURNLOCK_ERROR_STILL_HELD => c"something is still held through this handle",
        TURNLOCK_ERROR_NOT_INCONSISTENT => c"the lock is not inconsistent, so there is nothing to mark",
        TURNLOCK_ERROR_FILE_TOO_SMALL => c"the file is smaller than the capacities asked for",
        TURNLOCK_ERROR_UNSUPPORTED => c"the kernel refuses what turnlock needs",
        TURNLOCK_ERROR_INTERRUPTED => c"the wait was interrupted",
        TURNLOCK_ERROR_NO_MEMORY => c"no memory",
        TURNLOCK_ERROR_IN_USE => c"the lock is in use, so it is not removed",
        TURNLOCK_ERROR_RECURSION_LIMIT => c"the recursive lock is taken too often",
        TURNLOCK_ERROR_NOT_UPGRADABLE => c"the lock is not held in a mode that allows this",
        TURNLOCK_ERROR_NOT_EXCLUSIVE => c"the lock is not held exclusively",
        TURNLOCK_ERROR_PERMITS => c"the semaphore never has so many permits, or none were asked for",
        TURNLOCK_ERROR_TOO_MANY_RELEASED => c"more permits were to be given back than the caller has",
        TURNLOCK_ERROR_EMPTY_RANGE => c"the range has nothing in it",
        TURNLOCK_ERROR_BROKEN_BARRIER => c"the barrier is broken, and stays so until a reset",
        TURNLOCK_ERROR_CIRCULAR_WAIT => c"participants wait for one another in a circle, which this wait closed",
        TURNLOCK_ERROR_LEASE_ENDED => {
            c"the lock's lease ended before it was unlocked; another host may have had it"
        }
        _ => c"unknown turnlock status",
    }
}
