//! Conditions, from C.

use super::{
    boundary::{invalid, name, status, status_in_handler},
    file::{lock_file, turnlock_file},
    operations::{self, OpaqueLock, opened},
};
use crate::kind::{ConditionKind, Handle};
use std::ffi::c_char;
use turnlock_core::error::{Result, status::TURNLOCK_OK};

/// A condition in a lock file: a participant that holds a lock of the same file unlocks it and waits, in one step, until another
/// one notifies it; then it has the lock again. As `pthread_cond_t`, over deaths: the notification of a waiter that dies before
/// it has the lock goes to the next one. Waiters are notified in the order in which they came, and none without a notification.
#[allow(non_camel_case_types)]
pub struct turnlock_condition {
    _opaque: [u8; 0],
}

impl OpaqueLock for turnlock_condition {
    type Kind = ConditionKind;
}

/// `flags` of `turnlock_condition_open`: do not create it.
pub const TURNLOCK_CONDITION_MUST_EXIST: u32 = 1;

/// Opens the condition called `name` (1 to 63 bytes of UTF-8), creating it if the file has nothing of that name, and puts a
/// handle into `condition`. `flags` are TURNLOCK_CONDITION_... or'ed together, or 0.
///
/// TURNLOCK_ERROR_BAD_NAME, _LOCKS_FULL, _KIND (the name belongs to another kind), _NOT_FOUND, _PARTICIPANTS_FULL,
/// _INVALID_ARGUMENT, _DAMAGED.
///
/// # Safety
/// `file` is a file handle, `name` a NUL-terminated string, `condition` NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_condition_open(
    file: *const turnlock_file,
    name: *const c_char,
    flags: u32,
    condition: *mut *mut turnlock_condition,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let (file, name) = unsafe { (lock_file(file)?, self::name(name)?) };
        if flags & !TURNLOCK_CONDITION_MUST_EXIST != 0 {
            return Err(invalid("a flag is one that this version of turnlock does not know"));
        }
        let mut options = file.condition_options();
        options.must_exist(flags & TURNLOCK_CONDITION_MUST_EXIST != 0);
        // SAFETY: the caller's promise.
        unsafe { operations::open(condition, || Ok(options.open(name)?.into_handle())) }
    })
}

/// Closes a condition handle.
///
/// # Safety
/// `condition` is NULL or a condition handle; no other thread is inside a call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_condition_close(condition: *mut turnlock_condition) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::close(condition) }
}

/// Notifies the participant that has waited longest, if there is one; the lock need not be held. `notified`, which may be NULL,
/// gets how many were notified, 0 or 1. A signal handler may call it.
///
/// TURNLOCK_ERROR_NOT_FOUND if the condition was removed; _PARTICIPANTS_FULL at a thread's first call; _DAMAGED, _REPLACED.
///
/// # Safety
/// `condition` is a condition handle; `notified` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_condition_notify_one(
    condition: *const turnlock_condition,
    notified: *mut u32,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { notify(condition, notified, Handle::notify_one) }
}

/// Notifies every participant that waits by now, the one that has waited longest first. Otherwise as
/// `turnlock_condition_notify_one`.
///
/// # Safety
/// As `turnlock_condition_notify_one`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_condition_notify_all(
    condition: *const turnlock_condition,
    notified: *mut u32,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { notify(condition, notified, Handle::notify_all) }
}

/// # Safety
/// As [`turnlock_condition_notify_one`].
unsafe fn notify(
    condition: *const turnlock_condition,
    notified: *mut u32,
    notify: impl FnOnce(&Handle<ConditionKind>) -> Result<u32>,
) -> i32 {
    status_in_handler(|| {
        // SAFETY: the caller's promise.
        let count = notify(unsafe { opened(condition) }?)?;
        if !notified.is_null() {
            // SAFETY: not NULL, and the caller's promise.
            unsafe { notified.write(count) };
        }
        Ok(TURNLOCK_OK)
    })
}
