//! Events, from C.

use super::{
    boundary::{invalid, name, status, status_in_handler},
    file::{lock_file, turnlock_file},
    limits::limit,
    operations::{self, OpaqueLock, opened},
};
use crate::kind::EventKind;
use std::ffi::c_char;
use turnlock_core::error::status::TURNLOCK_OK;

/// An event in a lock file: it is set or not, and participants wait until it is set. It stays set until it is cleared, or the
/// machine boots. No death disturbs it.
#[allow(non_camel_case_types)]
pub struct turnlock_event {
    _opaque: [u8; 0],
}

impl OpaqueLock for turnlock_event {
    type Kind = EventKind;
}

/// `flags` of `turnlock_event_open`: do not create it.
pub const TURNLOCK_EVENT_MUST_EXIST: u32 = 1;

/// Opens the event called `name` (1 to 63 bytes of UTF-8), creating it if the file has nothing of that name, and puts a handle into
/// `event`. One that is created now is not set. `flags` are TURNLOCK_EVENT_... or'ed together, or 0.
///
/// Errors as `turnlock_condition_open`.
///
/// # Safety
/// `file` is a file handle, `name` a NUL-terminated string, `event` NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_event_open(
    file: *const turnlock_file,
    name: *const c_char,
    flags: u32,
    event: *mut *mut turnlock_event,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let (file, name) = unsafe { (lock_file(file)?, self::name(name)?) };
        if flags & !TURNLOCK_EVENT_MUST_EXIST != 0 {
            return Err(invalid("a flag is one that this version of turnlock does not know"));
        }
        let mut options = file.event_options();
        options.must_exist(flags & TURNLOCK_EVENT_MUST_EXIST != 0);
        // SAFETY: the caller's promise.
        unsafe { operations::open(event, || Ok(options.open(name)?.into_handle())) }
    })
}

/// Closes an event handle.
///
/// # Safety
/// `event` is NULL or an event handle; no other thread is inside a call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_event_close(event: *mut turnlock_event) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::close(event) }
}

/// Sets the event: all that wait for it go on. A signal handler may call it.
///
/// TURNLOCK_ERROR_NOT_FOUND if it was removed; _DAMAGED.
///
/// # Safety
/// `event` is an event handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_event_set(event: *const turnlock_event) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(event, |event| event.set().map(drop)) }
}

/// Clears the event: who waits from now on waits until it is set again. Otherwise as `turnlock_event_set`.
///
/// # Safety
/// As `turnlock_event_set`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_event_clear(event: *const turnlock_event) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(event, |event| event.clear().map(drop)) }
}

/// Puts 1 into `set` if the event is set, else 0. Errors as `turnlock_event_set`.
///
/// # Safety
/// `event` is an event handle; `set` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_event_is_set(event: *const turnlock_event, set: *mut u32) -> i32 {
    status_in_handler(|| {
        if set.is_null() {
            return Err(invalid("the place for the answer is NULL"));
        }
        // SAFETY: the caller's promise.
        let is_set = unsafe { opened(event) }?.is_set()?;
        // SAFETY: not NULL, and the caller's promise.
        unsafe { set.write(u32::from(is_set)) };
        Ok(TURNLOCK_OK)
    })
}

/// Waits until the event is set, as long as `wait` and `time_ns` say: TURNLOCK_WAIT_... . A wait that began before the event was set
/// ends, also if it was cleared since.
///
/// TURNLOCK_ERROR_WOULD_BLOCK, _TIMED_OUT; _CANCELLED (by a hold of the thread, `turnlock_hold_of_thread`), _INTERRUPTED; _NOT_FOUND if
/// it was removed, also meanwhile; _PARTICIPANTS_FULL at a thread's first wait; _HOLD_BUSY in a signal handler that has
/// interrupted a wait of its thread here; _INVALID_ARGUMENT, _DAMAGED.
///
/// # Safety
/// `event` is an event handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_event_wait(event: *const turnlock_event, wait: u32, time_ns: u64) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(event, |event| event.wait_until_set(None, limit(wait, time_ns)?)) }
}
