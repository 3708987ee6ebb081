//! What can be done with a reader/writer lock that is held, and what can be asked of one, from C.

use super::{
    acquired::{turnlock_acquired, turnlock_previous_owner},
    boundary::{invalid, status},
    info::{self, turnlock_participant_info},
    operations,
    rwlock::turnlock_rwlock,
};
use std::time::Duration;
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::Mode;
use turnlock_core::error::Result;

/// The mode of this number, for a downgrade.
pub(super) fn mode_of(mode: u32) -> Result<Mode> {
    match mode {
        info::TURNLOCK_MODE_SHARED => Ok(Mode::Shared),
        info::TURNLOCK_MODE_UPGRADABLE => Ok(Mode::Upgradable),
        _ => Err(invalid("a lock is downgraded to TURNLOCK_MODE_UPGRADABLE or TURNLOCK_MODE_SHARED")),
    }
}

/// Makes an upgradable hold exclusive, in its place in the queue: nobody writes in between, and nobody comes in any
/// more. Waits for the readers that are inside. `acquired` has the fencing token that the holder has from then on.
/// With an error the lock is held upgradable as before.
///
/// TURNLOCK_ERROR_NOT_UPGRADABLE if it is not held upgradable; _NOT_OWNER; _CANCELLED, _INTERRUPTED.
///
/// # Safety
/// As `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_upgrade(
    rwlock: *const turnlock_rwlock,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::acquire(rwlock, acquired, |lock| lock.upgrade(Limit::Forever)) }
}

/// `turnlock_rwlock_upgrade` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
///
/// # Safety
/// As `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_try_upgrade(
    rwlock: *const turnlock_rwlock,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::acquire(rwlock, acquired, |lock| lock.upgrade(Limit::Never)) }
}

/// `turnlock_rwlock_upgrade`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT.
///
/// # Safety
/// As `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_upgrade_for(
    rwlock: *const turnlock_rwlock,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire(rwlock, acquired, |lock| {
            lock.upgrade(Limit::For(Duration::from_nanos(nanoseconds)))
        })
    }
}

/// Makes the hold less than it is, in its place in the queue: exclusive to upgradable or shared, upgradable to shared
/// (`mode` is TURNLOCK_MODE_...). Nobody writes in between. What a dead writer left and nobody marked consistent
/// closes the lock then, as at an unlock.
///
/// TURNLOCK_ERROR_NOT_UPGRADABLE if `mode` is not less than it is held as; _NOT_OWNER; _INVALID_ARGUMENT.
///
/// # Safety
/// `rwlock` is a rwlock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_downgrade(rwlock: *const turnlock_rwlock, mode: u32) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(rwlock, |lock| lock.downgrade(mode_of(mode)?)) }
}

/// Unlocks as a dying owner does, since the data were left half-done: if it is held exclusively, the next one is
/// told. TURNLOCK_ERROR_NOT_OWNER if this thread does not have it.
///
/// # Safety
/// `rwlock` is a rwlock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_abandon(rwlock: *const turnlock_rwlock) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(rwlock, |lock| lock.abandon(None)) }
}

/// Says, while holding the lock exclusively after TURNLOCK_OWNER_DEAD, that the data are well again.
/// TURNLOCK_ERROR_NOT_EXCLUSIVE if it is held in another mode; _NOT_INCONSISTENT if nobody died; _NOT_OWNER.
///
/// # Safety
/// `rwlock` is a rwlock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_mark_consistent(rwlock: *const turnlock_rwlock) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(rwlock, |lock| lock.mark_consistent()) }
}

/// Opens a lock that is not recoverable again, beside nobody, after the data were repaired or given up. Errors as
/// `turnlock_mutex_lock`, but for _NOT_RECOVERABLE.
///
/// # Safety
/// `rwlock` is a rwlock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_reset(rwlock: *const turnlock_rwlock) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(rwlock, |lock| lock.reset(Limit::Forever)) }
}

/// `turnlock_rwlock_reset` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
///
/// # Safety
/// `rwlock` is a rwlock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_try_reset(rwlock: *const turnlock_rwlock) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(rwlock, |lock| lock.reset(Limit::Never)) }
}

/// `turnlock_rwlock_reset`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT.
///
/// # Safety
/// `rwlock` is a rwlock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_reset_for(rwlock: *const turnlock_rwlock, nanoseconds: u64) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(rwlock, |lock| lock.reset(Limit::For(Duration::from_nanos(nanoseconds)))) }
}

/// Who died holding this lock as a writer, last. TURNLOCK_ERROR_NOT_FOUND if nobody ever did.
///
/// # Safety
/// `rwlock` is a rwlock handle; `owner` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_previous_owner(
    rwlock: *const turnlock_rwlock,
    owner: *mut turnlock_previous_owner,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::previous_owner(rwlock, owner) }
}

/// Who has the lock, and as what (`mode`, `permits`, `first`, `last`). Fills in the first `capacity` elements of the
/// array `holders`, and puts into `count` how many have it. Otherwise as `turnlock_mutex_waiters`.
///
/// # Safety
/// `rwlock` is a rwlock handle; the rest as `turnlock_mutex_waiters`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_holders(
    rwlock: *const turnlock_rwlock,
    capacity: usize,
    holders: *mut turnlock_participant_info,
    count: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::holders(rwlock, capacity, holders, count) }
}

/// Who waits for the lock, and for what of it. As `turnlock_mutex_waiters`.
///
/// # Safety
/// `rwlock` is a rwlock handle; the rest as `turnlock_mutex_waiters`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_waiters(
    rwlock: *const turnlock_rwlock,
    capacity: usize,
    waiters: *mut turnlock_participant_info,
    count: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::waiters(rwlock, capacity, waiters, count) }
}

/// Whether another participant waits while the calling thread holds the lock: TURNLOCK_CONTENDED, or TURNLOCK_OK. One
/// load for each slot in use. As `turnlock_mutex_is_contended`.
///
/// # Safety
/// `rwlock` is a rwlock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_is_contended(rwlock: *const turnlock_rwlock) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::is_contended(rwlock) }
}

/// `turnlock_mutex_reopen`, for a rwlock.
///
/// # Safety
/// `rwlock` is a rwlock handle; `reopened` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_reopen(
    rwlock: *const turnlock_rwlock,
    reopened: *mut *mut turnlock_rwlock,
) -> i32 {
    // SAFETY: the caller's promise.
    status(|| unsafe { operations::open(reopened, || operations::opened(rwlock)?.reopened()) })
}
