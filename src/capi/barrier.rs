//! Barriers, from C.

use super::{
    boundary::{invalid, name, status, status_in_handler},
    file::{lock_file, turnlock_file},
    limits::limit,
    operations::{self, OpaqueLock, opened},
};
use crate::kind::BarrierKind;
use std::ffi::c_char;
use turnlock_core::error::status::TURNLOCK_OK;

/// A barrier in a lock file: so many parties wait until all of them have come; then all go on. The death of a party breaks it for all, and
/// so does one whose time is over, until a reset.
#[allow(non_camel_case_types)]
pub struct turnlock_barrier {
    _opaque: [u8; 0],
}

impl OpaqueLock for turnlock_barrier {
    type Kind = BarrierKind;
}

/// `flags` of `turnlock_barrier_open`: do not create it.
pub const TURNLOCK_BARRIER_MUST_EXIST: u32 = 1;

/// Opens the barrier called `name` (1 to 63 bytes of UTF-8) of so many parties, creating it if the file has nothing of that name, and
/// puts a handle into `barrier`. With 0 parties it must exist, with however many it has. `flags` are TURNLOCK_BARRIER_... or'ed
/// together, or 0.
///
/// TURNLOCK_ERROR_KIND if it has another number of parties; others as `turnlock_condition_open`.
///
/// # Safety
/// `file` is a file handle, `name` a NUL-terminated string, `barrier` NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_barrier_open(
    file: *const turnlock_file,
    name: *const c_char,
    parties: u32,
    flags: u32,
    barrier: *mut *mut turnlock_barrier,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let (file, name) = unsafe { (lock_file(file)?, self::name(name)?) };
        if flags & !TURNLOCK_BARRIER_MUST_EXIST != 0 {
            return Err(invalid("a flag is one that this version of turnlock does not know"));
        }
        let mut options = file.barrier_options();
        options.parties(parties).must_exist(flags & TURNLOCK_BARRIER_MUST_EXIST != 0);
        // SAFETY: the caller's promise.
        unsafe { operations::open(barrier, || Ok(options.open(name)?.into_handle())) }
    })
}

/// Closes a barrier handle.
///
/// # Safety
/// `barrier` is NULL or a barrier handle; no other thread is inside a call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_barrier_close(barrier: *mut turnlock_barrier) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::close(barrier) }
}

/// Waits until all parties have come, as long as `wait` and `time_ns` say: TURNLOCK_WAIT_FOREVER, _AT_MOST, _UNTIL. `is_last`, which
/// may be NULL, gets 1 for one of them, the last, and 0 for the others.
///
/// TURNLOCK_ERROR_BROKEN_BARRIER: `turnlock_last_error_message` says who died, gave up, or broke it. _TIMED_OUT, _CANCELLED,
/// _INTERRUPTED, and then the barrier is broken for the others; others as `turnlock_event_wait`.
///
/// # Safety
/// `barrier` is a barrier handle; `is_last` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_barrier_wait(
    barrier: *const turnlock_barrier,
    wait: u32,
    time_ns: u64,
    is_last: *mut u32,
) -> i32 {
    status_in_handler(|| {
        // SAFETY: the caller's promise.
        let barrier = unsafe { opened(barrier) }?;
        let last = barrier.wait_for_all(barrier.parties()?, None, limit(wait, time_ns)?)?;
        if !is_last.is_null() {
            // SAFETY: not NULL, and the caller's promise.
            unsafe { is_last.write(u32::from(last)) };
        }
        Ok(TURNLOCK_OK)
    })
}

/// Breaks the barrier: those that wait, and those that come until a reset, get TURNLOCK_ERROR_BROKEN_BARRIER.
///
/// TURNLOCK_ERROR_NOT_FOUND, _PARTICIPANTS_FULL, _DAMAGED.
///
/// # Safety
/// `barrier` is a barrier handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_barrier_abort(barrier: *const turnlock_barrier) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(barrier, |barrier| barrier.abort_barrier(barrier.parties()?)) }
}

/// Opens the barrier anew, whether it is broken or not. Those that wait get TURNLOCK_ERROR_BROKEN_BARRIER; the deaths so far are
/// forgotten. Errors as `turnlock_barrier_abort`.
///
/// # Safety
/// `barrier` is a barrier handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_barrier_reset(barrier: *const turnlock_barrier) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(barrier, |barrier| barrier.reset_barrier(barrier.parties()?)) }
}

/// Says how many parties the barrier has, and how many of them wait at this moment. Either place may be NULL.
/// TURNLOCK_ERROR_BROKEN_BARRIER if it is broken, and both are written all the same; _NOT_FOUND, _DAMAGED.
///
/// # Safety
/// `barrier` is a barrier handle; `parties` and `waiting` are NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_barrier_query(
    barrier: *const turnlock_barrier,
    parties: *mut u32,
    waiting: *mut u32,
) -> i32 {
    status_in_handler(|| {
        // SAFETY: the caller's promise.
        let barrier = unsafe { opened(barrier) }?;
        let has = barrier.parties()?;
        for (place, value) in [(parties, has), (waiting, barrier.arrived(has))] {
            if !place.is_null() {
                // SAFETY: not NULL, and the caller's promise.
                unsafe { place.write(value) };
            }
        }
        barrier.check_whole(has).map(|()| TURNLOCK_OK)
    })
}
