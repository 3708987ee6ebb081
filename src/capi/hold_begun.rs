//! Acquisitions that block no thread of the program, from C: begun, waited for by a descriptor, and finished.

use super::{
    acquired::{check_acquired, tell_dead, turnlock_acquired},
    boundary::{invalid, status},
    hold::{hold, turnlock_hold},
    lock::any,
    request::turnlock_request,
};
use turnlock_core::error::{Result, status::TURNLOCK_OK};

/// Begins to acquire what the request says, and does not wait for it: for programs with an event loop. Where nothing is in the
/// way it is acquired before this returns. `turnlock_hold_finish_acquire` says what came of it, once `turnlock_hold_fd` is readable;
/// it may be asked at once. The request, its ranges and its keys are not needed after this call; its lock's handle may be closed.
///
/// The time limit of the request counts from here: where it passes, finishing gives TURNLOCK_ERROR_TIMED_OUT. Where the request is
/// not to wait, this gives TURNLOCK_ERROR_WOULD_BLOCK, and nothing was begun.
///
/// Until it is finished or cancelled, other calls by the hold give TURNLOCK_ERROR_HOLD_BUSY. Those of a process that wait for the same
/// lock (or range, or key) this way are served in the order in which they began. A thread of the library waits for them, one for each
/// lock (range, key) that is waited for and one for each that waits for several ranges or keys, or for the turn of a ring: without
/// signals, with a small stack, ended two seconds after the last wait. It asks `should_stop_waiting`, where the file has that. A forked
/// child has none of it: there the hold is closed.
///
/// Errors as `turnlock_hold_acquire`: what is wrong with the request or the lock is said here, what becomes of the wait at the end.
/// TURNLOCK_ERROR_HOLD_BUSY if one was begun already. Nothing was begun then. No call for a signal handler.
///
/// # Safety
/// As `turnlock_hold_acquire`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_begin_acquire(
    hold: *const turnlock_hold,
    request: *const turnlock_request,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let (hold, request) = unsafe { (self::hold(hold)?, turnlock_request::read(request)?) };
        // SAFETY: the caller's promise.
        let any = unsafe { any(request.lock) }?;
        // SAFETY: the caller's promise.
        let wanted = unsafe { request.wanted(any.lock) }?;
        hold.begin_acquire(any.serial, any.lock, wanted, request.limit()?).map(|()| TURNLOCK_OK)
    })
}

/// Puts into `descriptor` one that is readable (POLLIN, EPOLLIN) from the moment at which an acquisition that was begun can be
/// finished until it is finished or cancelled: level-triggered, an eventfd(2) with EFD_CLOEXEC. It is always the same one for a hold,
/// also between acquisitions, so that an event loop may watch it as long as the hold is open. Do not read, write or close it:
/// `turnlock_hold_close` closes it. Take it out of the event loop before that, and in a forked child.
///
/// TURNLOCK_ERROR_SYSTEM if the process has as many descriptors as it can; _CLOSED in a forked child, and after a transfer;
/// _INVALID_ARGUMENT. May be called before, during and after an acquisition.
///
/// # Safety
/// `hold` is a hold handle; `descriptor` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_fd(hold: *const turnlock_hold, descriptor: *mut i32) -> i32 {
    status(|| {
        if descriptor.is_null() {
            return Err(invalid("the place for the descriptor is NULL"));
        }
        // SAFETY: the caller's promise.
        let number = unsafe { self::hold(hold) }?.descriptor()?;
        // SAFETY: not NULL, and the caller's promise.
        unsafe { descriptor.write(number) };
        Ok(TURNLOCK_OK)
    })
}

/// Says what came of the acquisition that was begun, and does not wait. 0, or TURNLOCK_OWNER_DEAD: it is yours, as after
/// `turnlock_hold_acquire`. `acquired` may be NULL.
///
/// TURNLOCK_ERROR_WOULD_BLOCK: it waits still, and this is to be called again. With any other error nothing is held, and it is over:
/// _TIMED_OUT, _CANCELLED (by `turnlock_hold_cancel`), _INTERRUPTED, _PARTICIPANTS_FULL, _NOT_RECOVERABLE, _NOT_FOUND (the lock was
/// removed), _SYSTEM (no thread is to be had) and others as `turnlock_hold_acquire`. _INVALID_ARGUMENT: none was begun;
/// _CLOSED: in a forked child. No call for a signal handler.
///
/// # Safety
/// `hold` is a hold handle; `acquired` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_finish_acquire(
    hold: *const turnlock_hold,
    acquired: *mut turnlock_acquired,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        unsafe { check_acquired(acquired) }?;
        // SAFETY: the caller's promise.
        let (acquisition, dead) = unsafe { self::hold(hold) }?.finish_acquire()?;
        // SAFETY: checked above.
        Ok(unsafe { tell_dead(acquisition, || dead, acquired) })
    })
}

/// Takes back the acquisition that was begun: it leaves the queue. If it was acquired meanwhile it is released, and a death that it
/// would have been told of is told to the next. When this returns the hold has nothing and is in no call. 0, also if none was begun.
///
/// It may wait for the thread that waited, which takes as long as it does to run. TURNLOCK_ERROR_CLOSED in a forked child; _DAMAGED,
/// _REPLACED as `turnlock_hold_release`. No call for a signal handler.
///
/// # Safety
/// `hold` is a hold handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_cancel_acquire(hold: *const turnlock_hold) -> i32 {
    // SAFETY: the caller's promise.
    status(|| done(unsafe { self::hold(hold) }?.cancel_acquire()))
}

fn done(done: Result<()>) -> Result<i32> {
    done.map(|()| TURNLOCK_OK)
}
