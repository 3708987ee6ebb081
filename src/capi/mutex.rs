//! Mutexes, from C.

use super::{
    acquired::turnlock_acquired,
    boundary::{invalid, name, options, status},
    death_policy,
    file::{lock_file, turnlock_file},
    operations::{self, Everything, OpaqueLock},
    slow_way,
};
use crate::attach::fast_path::UnlockOutcome;
use crate::kind::{MutexAlgorithm, MutexKind};
use std::{ffi::c_char, mem::offset_of, time::Duration};
use turnlock_core::error::status::TURNLOCK_OK;

/// A mutex in a lock file: one at a time, first come first served after a moment of patience. Any thread may use the
/// handle; the lock belongs to the thread (or the hold) that took it.
#[allow(non_camel_case_types)]
pub struct turnlock_mutex {
    _opaque: [u8; 0],
}

impl OpaqueLock for turnlock_mutex {
    type Kind = MutexKind;
}

/// `turnlock_mutex_options.algorithm`: Lamport's bakery, first come first served.
pub const TURNLOCK_ALGORITHM_BAKERY: u32 = 1;
/// `turnlock_mutex_options.algorithm`: Lamport's queue by messages, in a file with mailboxes. A participant that takes it has a
/// thread from then on that answers messages. A try gives up at once if a participant is inside, and else waits for the
/// answers of the others, at most a second; so does a limit that is shorter.
pub const TURNLOCK_ALGORITHM_LAMPORT_QUEUE: u32 = 5;
/// `turnlock_mutex_options.algorithm`: a token on a mesh, by messages (Ricart and Agrawala, Suzuki and Kasami), likewise.
pub const TURNLOCK_ALGORITHM_RICART_AGRAWALA: u32 = 6;
/// `turnlock_mutex_options.algorithm`: Misra's two tokens on a ring, by messages, likewise.
pub const TURNLOCK_ALGORITHM_TOKEN_RING: u32 = 7;
/// `turnlock_mutex_options.algorithm`: Lamport's bakery by messages, likewise.
pub const TURNLOCK_ALGORITHM_MESSAGE_BAKERY: u32 = 8;
/// `turnlock_mutex_options.flags`: do not create the lock.
pub const TURNLOCK_MUTEX_MUST_EXIST: u32 = 1;
/// `turnlock_mutex_options.flags`: no patience, whatever `patience_ns` says: strict first come first served. One that exists
/// and has patience is TURNLOCK_ERROR_KIND.
pub const TURNLOCK_MUTEX_STRICT: u32 = 2;

/// `turnlock_mutex_options.flags`: a holder's death needs no repair: the next holder is told (TURNLOCK_OWNER_DEAD) and has
/// nothing to mark consistent. One that exists and was created otherwise is TURNLOCK_ERROR_KIND.
pub const TURNLOCK_MUTEX_RELEASE_ON_DEATH: u32 = 4;
/// `turnlock_mutex_options.flags`: a holder's death needs a repair, marked by `turnlock_mutex_mark_consistent`: what a
/// mutex gets that is created without any of these flags. One that exists and was created otherwise is
/// TURNLOCK_ERROR_KIND.
pub const TURNLOCK_MUTEX_INFORM_ON_DEATH: u32 = 16;
/// `turnlock_mutex_options.flags`: as TURNLOCK_MUTEX_RELEASE_ON_DEATH if the lock is created now and neither of the two
/// above is given; one that exists keeps what it has. For a caller that does not look at TURNLOCK_OWNER_DEAD.
pub const TURNLOCK_MUTEX_RELEASE_BY_DEFAULT: u32 = 32;

/// `turnlock_mutex_options.flags`: a thread that has the lock may take it again, up to 65,535 times, and it is unlocked when
/// the thread has unlocked it as often. A participant takes it once. It is the lock that is recursive, if it is created now;
/// one that exists and is not is TURNLOCK_ERROR_KIND.
pub const TURNLOCK_MUTEX_RECURSIVE: u32 = 8;

/// `turnlock_mutex_options.flags`: the lock must be linked: its holders are of one host at a time, and no program enters before an
/// agent of this host has brought it home (docs/hosts.md). For what creates it: programs open it without this flag. One that exists and is
/// not linked is TURNLOCK_ERROR_KIND; one by messages TURNLOCK_ERROR_INVALID_ARGUMENT.
pub const TURNLOCK_MUTEX_LINKED: u32 = 64;

const KNOWN_FLAGS: u32 = TURNLOCK_MUTEX_MUST_EXIST
    | TURNLOCK_MUTEX_STRICT
    | death_policy::ALL
    | TURNLOCK_MUTEX_RECURSIVE
    | TURNLOCK_MUTEX_LINKED;

/// How to open, or create, a mutex. Set `size` to `sizeof(struct turnlock_mutex_options)` and everything else that you
/// do not care about to 0.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy)]
pub struct turnlock_mutex_options {
    /// `sizeof(struct turnlock_mutex_options)`.
    pub size: usize,
    /// TURNLOCK_ALGORITHM_...: which it must be. 0 = whichever it is, and TURNLOCK_ALGORITHM_BAKERY if it is created now.
    pub algorithm: u32,
    /// TURNLOCK_MUTEX_... or'ed together.
    pub flags: u32,
    /// How long a waiter lets others pass before it is queued for good, in nanoseconds. After it waiters are served in the
    /// order of their arrival: what is left to wait is, for each one ahead, a wake-up and a section. 0 = whatever the lock
    /// has (`turnlock_lock_patience`), and 1 millisecond if it is created now; else a lock that exists and has another is
    /// TURNLOCK_ERROR_KIND.
    pub patience_ns: u64,
}

/// Opens the mutex called `name` (1 to 63 bytes of UTF-8), creating it if the file has no lock of that name, and puts a
/// handle into `mutex`. `options` may be NULL.
///
/// TURNLOCK_ERROR_BAD_NAME, _LOCKS_FULL, _KIND (the name belongs to another kind of lock, or to one with other settings than
/// `options` ask for), _NOT_FOUND, _PARTICIPANTS_FULL, _INVALID_ARGUMENT, _DAMAGED.
///
/// # Safety
/// `file` is a file handle, `name` a NUL-terminated string, `options` NULL or a struct whose `size` is right, `mutex`
/// NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_mutex_open(
    file: *const turnlock_file,
    name: *const c_char,
    options: *const turnlock_mutex_options,
    mutex: *mut *mut turnlock_mutex,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let (file, name) = unsafe { (lock_file(file)?, self::name(name)?) };
        // SAFETY: the caller's promise.
        let given = unsafe { self::options(options, offset_of!(turnlock_mutex_options, patience_ns)) }?;
        let algorithm = match given.algorithm {
            TURNLOCK_ALGORITHM_BAKERY => Some(MutexAlgorithm::Bakery),
            TURNLOCK_ALGORITHM_LAMPORT_QUEUE => Some(MutexAlgorithm::LamportQueue),
            TURNLOCK_ALGORITHM_RICART_AGRAWALA => Some(MutexAlgorithm::RicartAgrawala),
            TURNLOCK_ALGORITHM_TOKEN_RING => Some(MutexAlgorithm::TokenRing),
            TURNLOCK_ALGORITHM_MESSAGE_BAKERY => Some(MutexAlgorithm::MessageBakery),
            _ => None,
        };
        if (algorithm.is_none() && given.algorithm != 0) || given.flags & !KNOWN_FLAGS != 0 {
            return Err(invalid(
                "the algorithm or a flag is one that this version of turnlock does not know",
            ));
        }
        let patience = match given.patience_ns {
            _ if given.flags & TURNLOCK_MUTEX_STRICT != 0 => Some(Duration::ZERO),
            0 => None,
            patience => Some(Duration::from_nanos(patience)),
        };
        let must_exist = given.flags & TURNLOCK_MUTEX_MUST_EXIST != 0;
        let (death_policy, default_death_policy) = death_policy::of(given.flags)?;
        let mut options = file.mutex_options();
        options.must_exist(must_exist);
        if let Some(patience) = patience {
            options.patience(patience);
        }
        if let Some(algorithm) = algorithm {
            options.algorithm(algorithm);
        }
        options.recursive(given.flags & TURNLOCK_MUTEX_RECURSIVE != 0);
        options.linked(given.flags & TURNLOCK_MUTEX_LINKED != 0);
        options.default_death_policy(default_death_policy);
        if let Some(death_policy) = death_policy {
            options.death_policy(death_policy);
        }
        // SAFETY: the caller's promise.
        unsafe { operations::open(mutex, || Ok(options.open(name)?.into_handle())) }
    })
}

/// Closes a mutex handle. TURNLOCK_ERROR_STILL_HELD, and nothing is done, while the calling thread has the lock.
///
/// # Safety
/// `mutex` is NULL or a mutex handle; no other thread is inside a call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_mutex_close(mutex: *mut turnlock_mutex) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::close(mutex) }
}

/// Takes the lock, waiting for the turn as long as it takes. 0, or TURNLOCK_OWNER_DEAD: the lock is yours and the
/// previous holder died inside, so repair the data and call `turnlock_mutex_mark_consistent`. `acquired` may be NULL.
///
/// TURNLOCK_ERROR_DEADLOCK if this thread has it already; _RECURSION_LIMIT if it is recursive and the thread has it 65,535
/// times; _NOT_RECOVERABLE; _CANCELLED; _INTERRUPTED if `should_stop_waiting` of the file's options ended the wait; _NOT_FOUND
/// if the lock was removed; _PARTICIPANTS_FULL at a thread's first lock; _NO_MEMORY; _DAMAGED, _REPLACED if something happened to the
/// file; _PERMISSION, _SYSTEM if it can no longer be opened to see whether those before us are alive, say because no descriptor
/// is free.
///
/// # Safety
/// `mutex` is a mutex handle; `acquired` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_mutex_lock(
    mutex: *const turnlock_mutex,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        if operations::lock_biased(mutex, Everything, acquired) {
            TURNLOCK_OK
        } else {
            slow_way::lock_slowly(mutex, acquired)
        }
    }
}

/// Takes the lock if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK. Otherwise as `turnlock_mutex_lock`.
///
/// # Safety
/// As `turnlock_mutex_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_mutex_try_lock(
    mutex: *const turnlock_mutex,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        if operations::lock_biased(mutex, Everything, acquired) {
            TURNLOCK_OK
        } else {
            slow_way::try_slowly(mutex, acquired)
        }
    }
}

/// Takes the lock, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT and the place in the queue is
/// given up. Otherwise as `turnlock_mutex_lock`.
///
/// # Safety
/// As `turnlock_mutex_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_mutex_lock_for(
    mutex: *const turnlock_mutex,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        if operations::lock_biased(mutex, Everything, acquired) {
            TURNLOCK_OK
        } else {
            slow_way::lock_for_slowly(mutex, nanoseconds, acquired)
        }
    }
}

/// Unlocks the mutex. Unlocking after TURNLOCK_OWNER_DEAD without `turnlock_mutex_mark_consistent` closes the lock
/// for everyone until a reset, if deaths are informed of there (its death policy is *inform*).
///
/// TURNLOCK_ERROR_NOT_OWNER if this thread does not have it; _DAMAGED, _REPLACED if it is seen that the file was overwritten
/// or replaced meanwhile (it is unlocked all the same).
///
/// # Safety
/// `mutex` is a mutex handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_mutex_unlock(mutex: *const turnlock_mutex) -> i32 {
    // SAFETY: the caller's promise.
    let left = match unsafe { operations::find(mutex) } {
        // SAFETY: found by its key.
        Some((lock, line)) => unsafe { lock.unlock_biased_at(line, None) },
        None => None,
    };
    match left {
        Some(UnlockOutcome::Done) => TURNLOCK_OK,
        // SAFETY: the caller's promise.
        Some(UnlockOutcome::WasRevoked) => unsafe { slow_way::complete_unlock(mutex) },
        // SAFETY: the caller's promise.
        None => unsafe { slow_way::unlock_slowly(mutex) },
    }
}

/// Unlocks as a dying owner does, since the data were left half-done (an exception, say): the next holder
/// is told. TURNLOCK_ERROR_NOT_OWNER if this thread does not have it.
///
/// # Safety
/// `mutex` is a mutex handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_mutex_abandon(mutex: *const turnlock_mutex) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(mutex, |mutex| mutex.abandon(None)) }
}

/// Says, while holding the lock after TURNLOCK_OWNER_DEAD, that the data are well again.
/// TURNLOCK_ERROR_NOT_INCONSISTENT if no holder died; _NOT_OWNER.
///
/// # Safety
/// `mutex` is a mutex handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_mutex_mark_consistent(mutex: *const turnlock_mutex) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(mutex, |mutex| mutex.mark_consistent()) }
}
