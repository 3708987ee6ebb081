//! What can be done with a reader/writer lock that is held, from C.

use super::{acquired::turnlock_acquired, info::mode_below, operations, rwlock::turnlock_rwlock};
use std::time::Duration;
use turnlock_core::acquire::site::Limit;

/// Makes an upgradable hold exclusive, in its place in the queue: no other participant writes in between, and none
/// comes in any more. Waits for the readers that are inside. `acquired` has the fencing token that the holder has from
/// then on. With an error the lock is held upgradable as before.
///
/// TURNLOCK_ERROR_NOT_UPGRADABLE if it is not held upgradable; _NOT_OWNER; _CANCELLED, _INTERRUPTED; _WOULD_BLOCK if the lock is linked and
/// its lease has ended, or has no fencing token left.
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
/// (`mode` is TURNLOCK_MODE_...). No other participant writes in between. What a dead writer left and no holder marked
/// consistent closes the lock then, as at an unlock.
///
/// TURNLOCK_ERROR_NOT_UPGRADABLE if `mode` is not less than it is held as; _NOT_OWNER; _INVALID_ARGUMENT.
///
/// # Safety
/// `rwlock` is a rwlock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_downgrade(rwlock: *const turnlock_rwlock, mode: u32) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(rwlock, |lock| lock.downgrade(mode_below(mode)?)) }
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
/// TURNLOCK_ERROR_NOT_EXCLUSIVE if it is held in another mode; _NOT_INCONSISTENT if no holder died; _NOT_OWNER.
///
/// # Safety
/// `rwlock` is a rwlock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_mark_consistent(rwlock: *const turnlock_rwlock) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(rwlock, |lock| lock.mark_consistent()) }
}
