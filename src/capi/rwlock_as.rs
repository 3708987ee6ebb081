//! Reader/writer locks as a participant that is not a thread, from C.

use super::{
    acquired::turnlock_acquired, operations, participant::turnlock_participant, rwlock::turnlock_rwlock,
    rwlock_held::mode_of,
};
use std::time::Duration;
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::Mode;

/// `turnlock_rwlock_lock_shared`, as `participant`.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_lock_shared_as(
    rwlock: *const turnlock_rwlock,
    participant: *const turnlock_participant,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(rwlock, participant, acquired, |lock, participant| {
            lock.lock_in_mode_as(participant, Mode::Shared, Limit::Forever)
        })
    }
}

/// `turnlock_rwlock_try_lock_shared`, as `participant`.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_try_lock_shared_as(
    rwlock: *const turnlock_rwlock,
    participant: *const turnlock_participant,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(rwlock, participant, acquired, |lock, participant| {
            lock.lock_in_mode_as(participant, Mode::Shared, Limit::Never)
        })
    }
}

/// `turnlock_rwlock_lock_shared_for`, as `participant`.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_lock_shared_for_as(
    rwlock: *const turnlock_rwlock,
    participant: *const turnlock_participant,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(rwlock, participant, acquired, |lock, participant| {
            lock.lock_in_mode_as(participant, Mode::Shared, Limit::For(Duration::from_nanos(nanoseconds)))
        })
    }
}

/// `turnlock_rwlock_lock_exclusive`, as `participant`.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_lock_exclusive_as(
    rwlock: *const turnlock_rwlock,
    participant: *const turnlock_participant,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(rwlock, participant, acquired, |lock, participant| {
            lock.lock_in_mode_as(participant, Mode::Exclusive, Limit::Forever)
        })
    }
}

/// `turnlock_rwlock_try_lock_exclusive`, as `participant`.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_try_lock_exclusive_as(
    rwlock: *const turnlock_rwlock,
    participant: *const turnlock_participant,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(rwlock, participant, acquired, |lock, participant| {
            lock.lock_in_mode_as(participant, Mode::Exclusive, Limit::Never)
        })
    }
}

/// `turnlock_rwlock_lock_exclusive_for`, as `participant`.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_lock_exclusive_for_as(
    rwlock: *const turnlock_rwlock,
    participant: *const turnlock_participant,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(rwlock, participant, acquired, |lock, participant| {
            lock.lock_in_mode_as(participant, Mode::Exclusive, Limit::For(Duration::from_nanos(nanoseconds)))
        })
    }
}

/// `turnlock_rwlock_lock_upgradable`, as `participant`.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_lock_upgradable_as(
    rwlock: *const turnlock_rwlock,
    participant: *const turnlock_participant,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(rwlock, participant, acquired, |lock, participant| {
            lock.lock_in_mode_as(participant, Mode::Upgradable, Limit::Forever)
        })
    }
}

/// `turnlock_rwlock_try_lock_upgradable`, as `participant`.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_try_lock_upgradable_as(
    rwlock: *const turnlock_rwlock,
    participant: *const turnlock_participant,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(rwlock, participant, acquired, |lock, participant| {
            lock.lock_in_mode_as(participant, Mode::Upgradable, Limit::Never)
        })
    }
}

/// `turnlock_rwlock_lock_upgradable_for`, as `participant`.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_lock_upgradable_for_as(
    rwlock: *const turnlock_rwlock,
    participant: *const turnlock_participant,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(rwlock, participant, acquired, |lock, participant| {
            lock.lock_in_mode_as(participant, Mode::Upgradable, Limit::For(Duration::from_nanos(nanoseconds)))
        })
    }
}

/// `turnlock_rwlock_upgrade`, as `participant`.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_upgrade_as(
    rwlock: *const turnlock_rwlock,
    participant: *const turnlock_participant,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(rwlock, participant, acquired, |lock, participant| {
            lock.upgrade_as(participant, Limit::Forever)
        })
    }
}

/// `turnlock_rwlock_try_upgrade`, as `participant`.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_try_upgrade_as(
    rwlock: *const turnlock_rwlock,
    participant: *const turnlock_participant,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(rwlock, participant, acquired, |lock, participant| {
            lock.upgrade_as(participant, Limit::Never)
        })
    }
}

/// `turnlock_rwlock_upgrade_for`, as `participant`.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_rwlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_upgrade_for_as(
    rwlock: *const turnlock_rwlock,
    participant: *const turnlock_participant,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(rwlock, participant, acquired, |lock, participant| {
            lock.upgrade_as(participant, Limit::For(Duration::from_nanos(nanoseconds)))
        })
    }
}

/// `turnlock_rwlock_downgrade`, as `participant`.
///
/// # Safety
/// `participant` is a participant handle and `rwlock` a rwlock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_downgrade_as(
    rwlock: *const turnlock_rwlock,
    participant: *const turnlock_participant,
    mode: u32,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::act_as(rwlock, participant, |lock, participant| {
            lock.downgrade_as(participant, mode_of(mode)?)
        })
    }
}

/// `turnlock_rwlock_unlock`, as `participant`, from any thread. TURNLOCK_ERROR_PARTICIPANT_BUSY, and nothing
/// is done, while another one upgrades or downgrades what it holds, or marks the data consistent.
///
/// # Safety
/// `participant` is a participant handle and `rwlock` a rwlock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_unlock_as(
    rwlock: *const turnlock_rwlock,
    participant: *const turnlock_participant,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act_as(rwlock, participant, |lock, participant| lock.unlock_as(participant, None)) }
}

/// `turnlock_rwlock_abandon`, as `participant`.
///
/// # Safety
/// `participant` is a participant handle and `rwlock` a rwlock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_abandon_as(
    rwlock: *const turnlock_rwlock,
    participant: *const turnlock_participant,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act_as(rwlock, participant, |lock, participant| lock.abandon_as(participant, None)) }
}

/// `turnlock_rwlock_mark_consistent`, as `participant`.
///
/// # Safety
/// `participant` is a participant handle and `rwlock` a rwlock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_mark_consistent_as(
    rwlock: *const turnlock_rwlock,
    participant: *const turnlock_participant,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::act_as(rwlock, participant, |lock, participant| lock.mark_consistent_as(participant))
    }
}

/// `turnlock_rwlock_is_contended`, as `participant`, from any thread.
///
/// # Safety
/// `participant` is a participant handle and `rwlock` a rwlock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rwlock_is_contended_as(
    rwlock: *const turnlock_rwlock,
    participant: *const turnlock_participant,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::is_contended_as(rwlock, participant) }
}
