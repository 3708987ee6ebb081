//! Where the fast paths of a kind of lock end when the lock is not biased to the caller.
//!
//! `extern "C"`, though no C program calls them: they let no panic out, so that the fast paths end in a jump here and
//! need no frame of their own.

use super::{
    acquired::turnlock_acquired,
    operations::{self, OpaqueLock},
};
use crate::attach::fast_path::UnlockOutcome;
use std::time::Duration;
use turnlock_core::acquire::site::Limit;

/// How long a call waits, as a number that a jump can hand on.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(super) enum Wait {
    /// As long as it takes.
    Forever,
    /// Not at all.
    Never,
    /// At most so many nanoseconds.
    AtMost,
}

impl Wait {
    /// Returns it as a limit, of so many nanoseconds if it is one.
    pub(super) fn limit(self, nanoseconds: u64) -> Limit {
        match self {
            Wait::Forever => Limit::Forever,
            Wait::Never => Limit::Never,
            Wait::AtMost => Limit::For(Duration::from_nanos(nanoseconds)),
        }
    }
}

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

/// Unparks the participant that revoked the bias meanwhile.
///
/// # Safety
/// As [`operations::unlock`].
#[cold]
#[inline(never)]
pub(super) unsafe extern "C" fn complete_unlock<L: OpaqueLock>(lock: *const L) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::unlock(lock, Some(UnlockOutcome::WasRevoked)) }
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
