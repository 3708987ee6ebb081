//! Reader/writer locks, from C.

use super::{
    acquired::turnlock_acquired,
    boundary::{invalid, name, options, status},
    death_policy,
    file::{lock_file, turnlock_file},
    operations::{self, FastEntry, OpaqueLock},
    slow_way::{self, Wait},
};
use crate::attach::{cached::ThreadLine, fast_path::UnlockOutcome};
use crate::kind::{Handle, RwLockKind};
use std::{ffi::c_char, mem::offset_of, time::Duration};
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::Mode;
use turnlock_core::error::status::TURNLOCK_OK;

/// A reader/writer lock in a lock file: several that read, or one that writes. Each participant waits for the earlier
/// ones that stand in its way, whether these hold the lock or wait for it too. Any thread may use the handle; the lock
/// belongs to the thread (or the hold) that took it, once at a time.
#[allow(non_camel_case_types)]
pub struct turnlock_rwlock {
    _opaque: [u8; 0],
}

impl OpaqueLock for turnlock_rwlock {
    type Kind = RwLockKind;
}

/// `turnlock_rwlock_options.flags`: do not create the lock.
pub const TURNLOCK_RWLOCK_MUST_EXIST: u32 = 1;
/// `turnlock_rwlock_options.flags`: no patience, whatever `patience_ns` says: strict first come first served. One that
/// exists and has patience is TURNLOCK_ERROR_KIND.
pub const TURNLOCK_RWLOCK_STRICT: u32 = 2;
/// `turnlock_rwlock_options.flags`: the death of a writer needs no repair: the next one that it concerns is told
/// (TURNLOCK_OWNER_DEAD) and has nothing to mark consistent. One that exists and was created otherwise is
/// TURNLOCK_ERROR_KIND.
pub const TURNLOCK_RWLOCK_RELEASE_ON_DEATH: u32 = 4;
/// `turnlock_rwlock_options.flags`: the death of a writer needs a repair, marked by `turnlock_rwlock_mark_consistent`: what a
/// rwlock gets that is created without any of these flags. One that exists and was created otherwise is
/// TURNLOCK_ERROR_KIND.
pub const TURNLOCK_RWLOCK_INFORM_ON_DEATH: u32 = 16;
/// `turnlock_rwlock_options.flags`: as TURNLOCK_RWLOCK_RELEASE_ON_DEATH if the lock is created now and neither of the two
/// above is given; one that exists keeps what it has. For a caller that does not look at TURNLOCK_OWNER_DEAD.
pub const TURNLOCK_RWLOCK_RELEASE_BY_DEFAULT: u32 = 32;

/// `turnlock_rwlock_options.flags`: the lock must be linked: its writers are of one host at a time, its readers of several, and no program enters
/// before an agent of this host has brought it home (docs/hosts.md). For what creates it: programs open it without this flag. One that exists
/// and is not linked is TURNLOCK_ERROR_KIND.
pub const TURNLOCK_RWLOCK_LINKED: u32 = 64;

const KNOWN_FLAGS: u32 =
    TURNLOCK_RWLOCK_MUST_EXIST | TURNLOCK_RWLOCK_STRICT | death_policy::ALL | TURNLOCK_RWLOCK_LINKED;

/// How to open, or create, a rwlock. Set `size` to `sizeof(struct turnlock_rwlock_options)` and everything else that you
/// do not care about to 0.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy)]
pub struct turnlock_rwlock_options {
    /// `sizeof(struct turnlock_rwlock_options)`.
    pub size: usize,
    /// TURNLOCK_RWLOCK_... or'ed together.
    pub flags: u32,
    /// How long a waiter lets others pass before it is queued for good, in nanoseconds. 0 = whatever the lock has, and 1
    /// millisecond if it is created now; else a lock that exists and has another is TURNLOCK_ERROR_KIND.
    pub patience_ns: u64,
}

/// Opens the rwlock called `name` (1 to 63 bytes of UTF-8), creating it if the file has no lock of that name, and puts a
/// handle into `rwlock`. `options` may be NULL.
///
/// TURNLOCK_ERROR_BAD_NAME, _LOCKS_FULL, _KIND (the name belongs to another kind of lock, or to one with other settings than
/// `options` ask for), _NOT_FOUND, _PARTICIPANTS_FULL, _INVALID_ARGUMENT, _DAMAGED.
///
/// # Safety
/// `file` is a file handle, `name` a NUL-terminated string, `options` NULL or a struct whose `size` is right, `rwlock` NULL
/// or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_open(
    file: *const turnlock_file,
    name: *const c_char,
    options: *const turnlock_rwlock_options,
    rwlock: *mut *mut turnlock_rwlock,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let (file, name) = unsafe { (lock_file(file)?, self::name(name)?) };
        // SAFETY: the caller's promise.
        let given = unsafe { self::options(options, offset_of!(turnlock_rwlock_options, patience_ns)) }?;
        if given.flags & !KNOWN_FLAGS != 0 {
            return Err(invalid("a flag is one that this version of turnlock does not know"));
        }
        let (death_policy, default_death_policy) = death_policy::of(given.flags)?;
        let mut options = file.rwlock_options();
        options.must_exist(given.flags & TURNLOCK_RWLOCK_MUST_EXIST != 0);
        options.linked(given.flags & TURNLOCK_RWLOCK_LINKED != 0);
        match given.patience_ns {
            _ if given.flags & TURNLOCK_RWLOCK_STRICT != 0 => {
                options.patience(Duration::ZERO);
            }
            0 => {}
            patience => {
                options.patience(Duration::from_nanos(patience));
            }
        }
        options.default_death_policy(default_death_policy);
        if let Some(death_policy) = death_policy {
            options.death_policy(death_policy);
        }
        // SAFETY: the caller's promise.
        unsafe { operations::open(rwlock, || Ok(options.open(name)?.into_handle())) }
    })
}

/// Closes a rwlock handle. TURNLOCK_ERROR_STILL_HELD, and nothing is done, while the calling thread has the lock.
///
/// # Safety
/// `rwlock` is NULL or a rwlock handle; no other thread is inside a call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_close(rwlock: *mut turnlock_rwlock) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::close(rwlock) }
}

/// A rwlock in this mode.
#[derive(Clone, Copy)]
struct In(Mode);

impl FastEntry<RwLockKind> for In {
    #[inline(always)]
    unsafe fn enter(self, lock: &Handle<RwLockKind>, line: &ThreadLine) -> Option<u64> {
        // SAFETY: the caller's promise.
        unsafe { lock.lock_biased_in_at(line, self.0) }
    }
}

/// Takes the lock where the fast path did not. As the functions of [`slow_way`].
///
/// # Safety
/// As `turnlock_rwlock_lock_shared`.
#[cold]
#[inline(never)]
unsafe extern "C" fn lock_slowly(
    rwlock: *const turnlock_rwlock,
    acquired: *mut turnlock_acquired,
    mode: Mode,
    wait: Wait,
    nanoseconds: u64,
) -> i32 {
    let limit = wait.limit(nanoseconds);
    // SAFETY: the caller's promise.
    unsafe { operations::acquire(rwlock, acquired, |lock| lock.lock_in_mode(mode, limit)) }
}

/// # Safety
/// As `turnlock_rwlock_lock_shared`.
#[inline(always)]
unsafe fn lock_in_mode(
    rwlock: *const turnlock_rwlock,
    acquired: *mut turnlock_acquired,
    mode: Mode,
    wait: Wait,
    nanoseconds: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        if operations::lock_biased(rwlock, In(mode), acquired) {
            return TURNLOCK_OK;
        }
        lock_slowly(rwlock, acquired, mode, wait, nanoseconds)
    }
}

/// Takes the lock shared, beside others that do, waiting for earlier writers as long as it takes. Its fencing token
/// is that of the last writer: two readers with the same one read the same. TURNLOCK_OWNER_DEAD as long as no holder
/// has marked consistent what a dead writer left.
///
/// Errors as `turnlock_mutex_lock`; TURNLOCK_ERROR_DEADLOCK if this thread has it in any mode.
///
/// # Safety
/// `rwlock` is a rwlock handle; `acquired` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_lock_shared(
    rwlock: *const turnlock_rwlock,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { lock_in_mode(rwlock, acquired, Mode::Shared, Wait::Forever, 0) }
}

/// `turnlock_rwlock_lock_shared` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
///
/// # Safety
/// As `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_try_lock_shared(
    rwlock: *const turnlock_rwlock,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { lock_in_mode(rwlock, acquired, Mode::Shared, Wait::Never, 0) }
}

/// `turnlock_rwlock_lock_shared`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT and the place in
/// the queue is given up.
///
/// # Safety
/// As `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_lock_shared_for(
    rwlock: *const turnlock_rwlock,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { lock_in_mode(rwlock, acquired, Mode::Shared, Wait::AtMost, nanoseconds) }
}

/// Takes the lock exclusively, waiting for every participant that came before as long as it takes. 0, or
/// TURNLOCK_OWNER_DEAD: the lock is yours and the last writer died inside, so repair the data and call
/// `turnlock_rwlock_mark_consistent`.
///
/// Errors as `turnlock_mutex_lock`; TURNLOCK_ERROR_DEADLOCK if this thread has it in any mode.
///
/// # Safety
/// As `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_lock_exclusive(
    rwlock: *const turnlock_rwlock,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { lock_in_mode(rwlock, acquired, Mode::Exclusive, Wait::Forever, 0) }
}

/// `turnlock_rwlock_lock_exclusive` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
///
/// # Safety
/// As `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_try_lock_exclusive(
    rwlock: *const turnlock_rwlock,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { lock_in_mode(rwlock, acquired, Mode::Exclusive, Wait::Never, 0) }
}

/// `turnlock_rwlock_lock_exclusive`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT and the place
/// in the queue is given up.
///
/// # Safety
/// As `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_lock_exclusive_for(
    rwlock: *const turnlock_rwlock,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { lock_in_mode(rwlock, acquired, Mode::Exclusive, Wait::AtMost, nanoseconds) }
}

/// Takes the lock upgradable: beside those that have it shared, with the right to make that exclusive
/// (`turnlock_rwlock_upgrade`), which one at a time has.
///
/// Errors as `turnlock_mutex_lock`; TURNLOCK_ERROR_DEADLOCK if this thread has it in any mode.
///
/// # Safety
/// As `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_lock_upgradable(
    rwlock: *const turnlock_rwlock,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire(rwlock, acquired, |lock| lock.lock_in_mode(Mode::Upgradable, Limit::Forever))
    }
}

/// `turnlock_rwlock_lock_upgradable` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
///
/// # Safety
/// As `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_try_lock_upgradable(
    rwlock: *const turnlock_rwlock,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::acquire(rwlock, acquired, |lock| lock.lock_in_mode(Mode::Upgradable, Limit::Never)) }
}

/// `turnlock_rwlock_lock_upgradable`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT and the
/// place in the queue is given up.
///
/// # Safety
/// As `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_lock_upgradable_for(
    rwlock: *const turnlock_rwlock,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire(rwlock, acquired, |lock| {
            lock.lock_in_mode(Mode::Upgradable, Limit::For(Duration::from_nanos(nanoseconds)))
        })
    }
}

/// Unlocks, in whichever mode it is held. To unlock what is held exclusively after TURNLOCK_OWNER_DEAD without
/// `turnlock_rwlock_mark_consistent` closes the lock for everyone until a reset, if deaths are informed of there (its death policy
/// is *inform*).
///
/// TURNLOCK_ERROR_NOT_OWNER if this thread does not have it; _DAMAGED, _REPLACED if it is seen that the file was overwritten
/// or replaced meanwhile (it is unlocked all the same).
///
/// # Safety
/// `rwlock` is a rwlock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_unlock(rwlock: *const turnlock_rwlock) -> i32 {
    // SAFETY: the caller's promise.
    let left = match unsafe { operations::find(rwlock) } {
        // SAFETY: found by its key.
        Some((lock, line)) => unsafe { lock.unlock_biased_at(line, None) },
        None => None,
    };
    match left {
        Some(UnlockOutcome::Done) => TURNLOCK_OK,
        // SAFETY: the caller's promise.
        Some(UnlockOutcome::WasRevoked) => unsafe { slow_way::complete_unlock(rwlock) },
        // SAFETY: the caller's promise.
        None => unsafe { slow_way::unlock_slowly(rwlock) },
    }
}
