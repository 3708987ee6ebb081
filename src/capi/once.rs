//! What is done once, from C.

use super::{
    boundary::{invalid, name, status, status_in_handler},
    file::{lock_file, turnlock_file},
    limits::limit,
    operations::{self, OpaqueLock, opened},
};
use crate::kind::OnceKind;
use std::ffi::c_char;
use turnlock_core::acquire::site::Limit;
use turnlock_core::error::status::{TURNLOCK_DONE, TURNLOCK_OK, TURNLOCK_OWNER_DEAD};

/// What is done once, by one participant of all that have the lock file open, as with `pthread_once`. If that one dies, the next one
/// does it. It stays done until a reset, or until the machine boots.
#[allow(non_camel_case_types)]
pub struct turnlock_once {
    _opaque: [u8; 0],
}

impl OpaqueLock for turnlock_once {
    type Kind = OnceKind;
}

/// `flags` of `turnlock_once_open`: do not create it.
pub const TURNLOCK_ONCE_MUST_EXIST: u32 = 1;
/// `flags` of `turnlock_once_open`: what is done stays done when the machine boots, if it is created now.
pub const TURNLOCK_ONCE_ACROSS_BOOTS: u32 = 2;

/// Opens the once called `name` (1 to 63 bytes of UTF-8), creating it if the file has nothing of that name, and puts a handle into
/// `once`. `flags` are TURNLOCK_ONCE_... or'ed together, or 0.
///
/// Errors as `turnlock_condition_open`.
///
/// # Safety
/// `file` is a file handle, `name` a NUL-terminated string, `once` NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_once_open(
    file: *const turnlock_file,
    name: *const c_char,
    flags: u32,
    once: *mut *mut turnlock_once,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let (file, name) = unsafe { (lock_file(file)?, self::name(name)?) };
        if flags & !(TURNLOCK_ONCE_MUST_EXIST | TURNLOCK_ONCE_ACROSS_BOOTS) != 0 {
            return Err(invalid("a flag is one that this version of turnlock does not know"));
        }
        let mut options = file.once_options();
        options.must_exist(flags & TURNLOCK_ONCE_MUST_EXIST != 0);
        options.across_boots(flags & TURNLOCK_ONCE_ACROSS_BOOTS != 0);
        // SAFETY: the caller's promise.
        unsafe { operations::open(once, || Ok(options.open(name)?.into_handle())) }
    })
}

/// Closes a once handle. TURNLOCK_ERROR_STILL_HELD, and nothing is done, while the calling thread is at it.
///
/// # Safety
/// `once` is NULL or a once handle; no other thread is inside a call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_once_close(once: *mut turnlock_once) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::close(once) }
}

/// Begins the work: TURNLOCK_DONE if it is done and there is nothing to do. 0, or TURNLOCK_OWNER_DEAD if the participant that was at it
/// before died: the calling thread does it now, and says `turnlock_once_complete`, or `turnlock_once_give_up`. While another participant
/// is at it, it waits, as long as `wait` and `time_ns` say: TURNLOCK_WAIT_... .
///
/// TURNLOCK_ERROR_DEADLOCK if this thread is at it already; _WOULD_BLOCK, _TIMED_OUT; others as `turnlock_mutex_lock`.
///
/// # Safety
/// `once` is a once handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_once_begin(once: *const turnlock_once, wait: u32, time_ns: u64) -> i32 {
    status_in_handler(|| {
        // SAFETY: the caller's promise.
        Ok(match unsafe { opened(once) }?.begin_once(None, limit(wait, time_ns)?)? {
            None => TURNLOCK_DONE,
            Some(false) => TURNLOCK_OK,
            Some(true) => TURNLOCK_OWNER_DEAD,
        })
    })
}

/// Says that the work is done, which the calling thread has begun. TURNLOCK_ERROR_NOT_OWNER if it has not.
///
/// # Safety
/// `once` is a once handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_once_complete(once: *const turnlock_once) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(once, |once| once.complete_once(None)) }
}

/// Says that the work, which the calling thread has begun, is not done: the next participant does it. TURNLOCK_ERROR_NOT_OWNER if it has
/// not.
///
/// # Safety
/// `once` is a once handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_once_give_up(once: *const turnlock_once) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(once, |once| once.give_up_run(None)) }
}

/// Puts 1 into `done` if it is done, else 0. TURNLOCK_ERROR_NOT_FOUND, _DAMAGED.
///
/// # Safety
/// `once` is a once handle; `done` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_once_is_done(once: *const turnlock_once, done: *mut u32) -> i32 {
    status_in_handler(|| {
        if done.is_null() {
            return Err(invalid("the place for the answer is NULL"));
        }
        // SAFETY: the caller's promise.
        let is_done = unsafe { opened(once) }?.is_done()?;
        // SAFETY: not NULL, and the caller's promise.
        unsafe { done.write(u32::from(is_done)) };
        Ok(TURNLOCK_OK)
    })
}

/// Has it be done again. Waits while a participant is at it. Errors as `turnlock_once_begin`.
///
/// # Safety
/// `once` is a once handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_once_reset(once: *const turnlock_once) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(once, |once| once.reset_once(Limit::Forever)) }
}
