//! Keyed locks as a participant that is not a thread, from C.

use super::{
    acquired::turnlock_acquired,
    keyedlock::{part_of, turnlock_keyedlock},
    operations,
    participant::turnlock_participant,
};
use crate::kind::claim_of;
use std::{ffi::c_void, time::Duration};
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::Mode;

/// `turnlock_keyedlock_lock_shared`, as `participant`, which holds one at a time.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_keyedlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_keyedlock_lock_shared_as(
    keyedlock: *const turnlock_keyedlock,
    participant: *const turnlock_participant,
    key: *const c_void,
    key_size: usize,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(keyedlock, participant, acquired, |lock, participant| {
            lock.acquire_as(participant, claim_of(Mode::Shared, part_of(key, key_size)?), Limit::Forever)
        })
    }
}

/// `turnlock_keyedlock_try_lock_shared`, as `participant`, which holds one at a time.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_keyedlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_keyedlock_try_lock_shared_as(
    keyedlock: *const turnlock_keyedlock,
    participant: *const turnlock_participant,
    key: *const c_void,
    key_size: usize,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(keyedlock, participant, acquired, |lock, participant| {
            lock.acquire_as(participant, claim_of(Mode::Shared, part_of(key, key_size)?), Limit::Never)
        })
    }
}

/// `turnlock_keyedlock_lock_shared_for`, as `participant`, which holds one at a time.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_keyedlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_keyedlock_lock_shared_for_as(
    keyedlock: *const turnlock_keyedlock,
    participant: *const turnlock_participant,
    key: *const c_void,
    key_size: usize,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(keyedlock, participant, acquired, |lock, participant| {
            lock.acquire_as(
                participant,
                claim_of(Mode::Shared, part_of(key, key_size)?),
                Limit::For(Duration::from_nanos(nanoseconds)),
            )
        })
    }
}

/// `turnlock_keyedlock_lock_exclusive`, as `participant`, which holds one at a time.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_keyedlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_keyedlock_lock_exclusive_as(
    keyedlock: *const turnlock_keyedlock,
    participant: *const turnlock_participant,
    key: *const c_void,
    key_size: usize,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(keyedlock, participant, acquired, |lock, participant| {
            lock.acquire_as(participant, claim_of(Mode::Exclusive, part_of(key, key_size)?), Limit::Forever)
        })
    }
}

/// `turnlock_keyedlock_try_lock_exclusive`, as `participant`, which holds one at a time.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_keyedlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_keyedlock_try_lock_exclusive_as(
    keyedlock: *const turnlock_keyedlock,
    participant: *const turnlock_participant,
    key: *const c_void,
    key_size: usize,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(keyedlock, participant, acquired, |lock, participant| {
            lock.acquire_as(participant, claim_of(Mode::Exclusive, part_of(key, key_size)?), Limit::Never)
        })
    }
}

/// `turnlock_keyedlock_lock_exclusive_for`, as `participant`, which holds one at a time.
///
/// # Safety
/// `participant` is a participant handle; the rest as `turnlock_keyedlock_lock_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_keyedlock_lock_exclusive_for_as(
    keyedlock: *const turnlock_keyedlock,
    participant: *const turnlock_participant,
    key: *const c_void,
    key_size: usize,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::acquire_as(keyedlock, participant, acquired, |lock, participant| {
            lock.acquire_as(
                participant,
                claim_of(Mode::Exclusive, part_of(key, key_size)?),
                Limit::For(Duration::from_nanos(nanoseconds)),
            )
        })
    }
}

/// Unlocks what `participant` holds, from any thread. TURNLOCK_ERROR_PARTICIPANT_BUSY, and nothing is
/// done, while another one marks the data consistent.
///
/// # Safety
/// `participant` is a participant handle and `keyedlock` a keyed lock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_keyedlock_unlock_as(
    keyedlock: *const turnlock_keyedlock,
    participant: *const turnlock_participant,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::act_as(keyedlock, participant, |lock, participant| lock.unlock_as(participant, None))
    }
}

/// `turnlock_keyedlock_mark_consistent`, of what `participant` holds.
///
/// # Safety
/// `participant` is a participant handle and `keyedlock` a keyed lock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_keyedlock_mark_consistent_as(
    keyedlock: *const turnlock_keyedlock,
    participant: *const turnlock_participant,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        operations::act_as(keyedlock, participant, |lock, participant| lock.mark_consistent_as(participant))
    }
}

/// `turnlock_keyedlock_is_contended`, as `participant`, from any thread.
///
/// # Safety
/// `participant` is a participant handle and `keyedlock` a keyed lock handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_keyedlock_is_contended_as(
    keyedlock: *const turnlock_keyedlock,
    participant: *const turnlock_participant,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::is_contended_as(keyedlock, participant) }
}
