//! Range locks as a participant that is not a thread, from C.

use super::{
    acquired::turnlock_acquired,
    operations,
    participant::turnlock_participant,
    rangelock::{range, turnlock_rangelock},
};
use crate::kind::claim_of;
use std::time::Duration;
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::Mode;

/// `turnlock_rangelock_lock_shared`, as `participant`, which holds one at a time.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_rangelock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rangelock_lock_shared_as(
    rangelock: *const turnlock_rangelock,
    participant: *const turnlock_participant,
    start: u64,
    end: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(rangelock, participant, acquired, |lock, participant| {
            lock.acquire_as(participant, claim_of(Mode::Shared, range(start, end)?), Limit::Forever)
        })
    }
}

/// `turnlock_rangelock_try_lock_shared`, as `participant`, which holds one at a time.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_rangelock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rangelock_try_lock_shared_as(
    rangelock: *const turnlock_rangelock,
    participant: *const turnlock_participant,
    start: u64,
    end: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(rangelock, participant, acquired, |lock, participant| {
            lock.acquire_as(participant, claim_of(Mode::Shared, range(start, end)?), Limit::Never)
        })
    }
}

/// `turnlock_rangelock_lock_shared_for`, as `participant`, which holds one at a time.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_rangelock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rangelock_lock_shared_for_as(
    rangelock: *const turnlock_rangelock,
    participant: *const turnlock_participant,
    start: u64,
    end: u64,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(rangelock, participant, acquired, |lock, participant| {
            lock.acquire_as(
                participant,
                claim_of(Mode::Shared, range(start, end)?),
                Limit::For(Duration::from_nanos(nanoseconds)),
            )
        })
    }
}

/// `turnlock_rangelock_lock_exclusive`, as `participant`, which holds one at a time.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_rangelock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rangelock_lock_exclusive_as(
    rangelock: *const turnlock_rangelock,
    participant: *const turnlock_participant,
    start: u64,
    end: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(rangelock, participant, acquired, |lock, participant| {
            lock.acquire_as(participant, claim_of(Mode::Exclusive, range(start, end)?), Limit::Forever)
        })
    }
}

/// `turnlock_rangelock_try_lock_exclusive`, as `participant`, which holds one at a time.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_rangelock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rangelock_try_lock_exclusive_as(
    rangelock: *const turnlock_rangelock,
    participant: *const turnlock_participant,
    start: u64,
    end: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(rangelock, participant, acquired, |lock, participant| {
            lock.acquire_as(participant, claim_of(Mode::Exclusive, range(start, end)?), Limit::Never)
        })
    }
}

/// `turnlock_rangelock_lock_exclusive_for`, as `participant`, which holds one at a time.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_rangelock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rangelock_lock_exclusive_for_as(
    rangelock: *const turnlock_rangelock,
    participant: *const turnlock_participant,
    start: u64,
    end: u64,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(rangelock, participant, acquired, |lock, participant| {
            lock.acquire_as(
                participant,
                claim_of(Mode::Exclusive, range(start, end)?),
                Limit::For(Duration::from_nanos(nanoseconds)),
            )
        })
    }
}

/// Unlocks what `participant` holds, from any thread. TURNLOCK_ERROR_PARTICIPANT_BUSY, and nothing is
/// done, while another one marks the data consistent.
///
/// # Safety
/// `participant` is a participant handle and `rangelock` a range lock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rangelock_unlock_as(
    rangelock: *const turnlock_rangelock,
    participant: *const turnlock_participant,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::act_as(rangelock, participant, |lock, participant| lock.unlock_as(participant, None))
    }
}

/// `turnlock_rangelock_mark_consistent`, of what `participant` holds.
///
/// # Safety
/// `participant` is a participant handle and `rangelock` a range lock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rangelock_mark_consistent_as(
    rangelock: *const turnlock_rangelock,
    participant: *const turnlock_participant,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::act_as(rangelock, participant, |lock, participant| lock.mark_consistent_as(participant))
    }
}

/// `turnlock_rangelock_is_contended`, as `participant`, from any thread.
///
/// # Safety
/// `participant` is a participant handle and `rangelock` a range lock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_rangelock_is_contended_as(
    rangelock: *const turnlock_rangelock,
    participant: *const turnlock_participant,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::is_contended_as(rangelock, participant) }
}
