//! Where the fast paths of a kind of lock end when the lock is not biased to who calls.
//!
//! `extern "C"`, though nobody calls them from C: they let no panic out, so that the fast paths end in a jump here and
//! need no frame of their own.

use super::{
    acquired::turnlock_acquired,
    operations::{self, OpaqueLock},
    participant::turnlock_participant,
};
use crate::attach::fast_path::Left;
use std::time::Duration;
use turnlock_core::acquire::site::Limit;

/// Takes the lock, however long it takes.
///
/// # Safety
/// As [`operations::lock`].
#[cold]
#[inline(never)]
pub(super) unsafe extern "C" fn lock_slowly<L: OpaqueLock>(
    lock: *const L,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::lock(lock, Limit::Forever, acquired) }
}

/// Takes the lock if that needs no waiting.
///
/// # Safety
/// As [`operations::lock`].
#[cold]
#[inline(never)]
pub(super) unsafe extern "C" fn try_slowly<L: OpaqueLock>(
    lock: *const L,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::lock(lock, Limit::Never, acquired) }
}

/// Takes the lock, waiting at most so many nanoseconds.
///
/// # Safety
/// As [`operations::lock`].
#[cold]
#[inline(never)]
pub(super) unsafe extern "C" fn lock_for_slowly<L: OpaqueLock>(
    lock: *const L,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::lock(lock, Limit::For(Duration::from_nanos(nanoseconds)), acquired) }
}

/// Unparks who revoked the bias meanwhile.
///
/// # Safety
/// As [`operations::unlock`].
#[cold]
#[inline(never)]
pub(super) unsafe extern "C" fn complete_unlock<L: OpaqueLock>(lock: *const L) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::unlock(lock, Some(Left::Revoked)) }
}

/// Unlocks.
///
/// # Safety
/// As [`operations::unlock`].
#[cold]
#[inline(never)]
pub(super) unsafe extern "C" fn unlock_slowly<L: OpaqueLock>(lock: *const L) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::unlock(lock, None) }
}

/// [`lock_slowly`], as `as_whom`.
///
/// # Safety
/// As [`operations::lock_as`].
#[cold]
#[inline(never)]
pub(super) unsafe extern "C" fn lock_as_slowly<L: OpaqueLock>(
    lock: *const L,
    as_whom: *const turnlock_participant,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::lock_as(lock, as_whom, Limit::Forever, acquired) }
}

/// [`try_slowly`], as `as_whom`.
///
/// # Safety
/// As [`operations::lock_as`].
#[cold]
#[inline(never)]
pub(super) unsafe extern "C" fn try_as_slowly<L: OpaqueLock>(
    lock: *const L,
    as_whom: *const turnlock_participant,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::lock_as(lock, as_whom, Limit::Never, acquired) }
}

/// [`lock_for_slowly`], as `as_whom`.
///
/// # Safety
/// As [`operations::lock_as`].
#[cold]
#[inline(never)]
pub(super) unsafe extern "C" fn lock_for_as_slowly<L: OpaqueLock>(
    lock: *const L,
    as_whom: *const turnlock_participant,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::lock_as(lock, as_whom, Limit::For(Duration::from_nanos(nanoseconds)), acquired) }
}

/// [`complete_unlock`], as `as_whom`.
///
/// # Safety
/// As [`operations::unlock_as`].
#[cold]
#[inline(never)]
pub(super) unsafe extern "C" fn complete_unlock_as<L: OpaqueLock>(
    lock: *const L,
    as_whom: *const turnlock_participant,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::unlock_as(lock, as_whom, Some(Left::Revoked)) }
}

/// [`unlock_slowly`], as `as_whom`.
///
/// # Safety
/// As [`operations::unlock_as`].
#[cold]
#[inline(never)]
pub(super) unsafe extern "C" fn unlock_as_slowly<L: OpaqueLock>(
    lock: *const L,
    as_whom: *const turnlock_participant,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::unlock_as(lock, as_whom, None) }
}
