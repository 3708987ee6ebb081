//! What an error says: what was wrong, what was expected, what to do.

use super::Error;
use std::fmt;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::InvalidArgument(what) => write!(f, "{what}"),
            Error::WouldBlock(by) => {
                write!(f, "{}", by.awaited().is_missing())?;
                by.write_after_colon(f)
            }
            Error::TimedOut(by) => {
                write!(f, "the time limit passed before {}", by.awaited().came())?;
                by.write_after_colon(f)
            }
            Error::Cancelled => write!(f, "the wait was cancelled by another thread"),
            Error::Deadlock => write!(
                f,
                "this participant already has or awaits the lock, so waiting would never end: unlock it first, or lock as \
         another participant"
            ),
            Error::RecursionLimit => write!(
                f,
                "this thread has the recursive lock 65,535 times, and cannot take it once more: unlock it as often as it was \
         locked"
            ),
            Error::NotOwner => write!(
                f,
                "the caller does not have the lock: a lock belongs to the thread (or the hold, or the participant) that locked it, and \
         not to a forked child"
            ),
            Error::NotRecoverable => write!(
                f,
                "the lock is not recoverable: a holder died and the next one unlocked without mark_consistent; repair the \
         data, then run `turnlock reset`"
            ),
            Error::Closed => write!(f, "the handle was closed before"),
            Error::ParticipantsFull { path, slots, most, holders } => write!(
                f,
                "{}: all {slots} participant slots are taken, by {holders}; end one of them{}",
                path.display(),
                or_larger(*slots, *most, "participants")
            ),
            Error::LocksFull { path, locks, most } => write!(
                f,
                "{}: all {locks} named locks are taken; use one of them, or remove one{}",
                path.display(),
                or_larger(*locks, *most, "locks")
            ),
            Error::BadName { name, why } => {
                write!(f, "the lock name {name:?} {why}: a name is 1 to 63 bytes of UTF-8 without NUL")
            }
            Error::NotALockFile { path, why } => write!(f, "{}: {why}", path.display()),
            Error::Version { path, why } => write!(f, "{}: {why}", path.display()),
            Error::Damaged { path, why } => write!(f, "{}: {why}", path.display()),
            Error::Replaced { path } => write!(
                f,
                "{}: the file was unlinked or replaced while it was open; locks in the old and the new file do not exclude \
         each other, so close it and open the path again",
                path.display()
            ),
            Error::Permission { path, why } => write!(f, "{}: {why}", path.display()),
            Error::NotFound { path, why } => write!(f, "{}: {why}", path.display()),
            Error::FileSystem { path, why } => write!(f, "{}: {why}", path.display()),
            Error::NoSpace { path, bytes } => write!(
                f,
                "{}: no room for {bytes} bytes of a lock file; make room, or let it be created with fewer participants or locks",
                path.display()
            ),
            Error::System { what, source } => write!(f, "{what}: {source}"),
            Error::Kind { path, why } => write!(f, "{}: {why}", path.display()),
            Error::ParticipantBusy => write!(
                f,
                "the participant (or the hold) is in another call, of another thread or of the one that a signal handler has interrupted: it does one thing at a \
         time; what it holds it holds still"
            ),
            Error::Internal(what) => write!(f, "a defect in turnlock, please report it: {what}"),
            Error::StillHeld => write!(f, "something is still held by it: release that first"),
            Error::NotInconsistent => write!(f, "the lock is not inconsistent, so there is nothing to mark"),
            Error::FileTooSmall { path, what, has, wanted, most } => write!(
                f,
                "{}: the file has room for {has} {what} and {wanted} were asked for: {}",
                path.display(),
                fewer_or_larger(*wanted, *most)
            ),
            Error::Interrupted => write!(f, "the wait was interrupted; the place in the queue was given up"),
            Error::OutOfMemory => write!(f, "no memory; nothing was done"),
            Error::InUse { path, why } => write!(f, "{}: {why}", path.display()),
            Error::NotUpgradable => write!(
                f,
                "the lock is not held in a mode that allows this: take it upgradable in order to upgrade it, and downgrade only to \
         less than it is held as"
            ),
            Error::NotExclusive => {
                write!(f, "the lock is not held exclusively: take it so, or upgrade it, and do this then")
            }
            Error::Permits { wanted, permits } => write!(
                f,
                "{wanted} permits were asked for: of this semaphore 1 to {permits} can be had at once"
            ),
            Error::TooManyReleased { given, held } => write!(
                f,
                "{given} permits were to be given back, and this participant has {held}: give back those that it has"
            ),
            Error::EmptyRange { start, end } => write!(
                f,
                "the range from {start} to before {end} has nothing in it: its end must be larger than its start"
            ),
            Error::BrokenBarrier(why) => {
                write!(f, "the barrier is broken: {why}; it stays so until it is reset")
            }
            Error::CircularWait(cycle) => write!(
                f,
                "this wait closed a circle of participants that wait for one another: {cycle}: release what this one holds, and take \
         the locks in one order everywhere"
            ),
            Error::LeaseEnded => f.write_str(
                "the lock's lease ended before it was unlocked: another host may have had it in the meantime, so check what the section \
                 did by its fencing token (the lock is unlocked)",
            ),
            Error::Unsupported(what) => write!(f, "the kernel refuses {what}"),
        }
    }
}

/// What else helps where all of `has` are taken: a larger file, if there can be one.
fn or_larger(has: usize, most: usize, what: &str) -> String {
    if has < most {
        format!(
            ", make the file larger while no process uses it (`turnlock grow`), or create a file with more {what}"
        )
    } else {
        format!(", or use another file as well: none has more than {most} {what}")
    }
}

/// What helps where more was asked for than there is: a larger file, if there can be one.
fn fewer_or_larger(wanted: u32, most: u32) -> String {
    if wanted <= most {
        "capacities are fixed when the file is created, so ask for fewer, or make it larger while no process uses it (`turnlock \
         grow`)"
            .into()
    } else {
        format!(
            "no file has room for more than {most}, so a larger one does not help: ask for fewer, or let others end \
             first"
        )
    }
}
