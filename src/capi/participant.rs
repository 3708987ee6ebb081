//! Participants that are not threads, from C.

use super::{
    boundary::{invalid, status},
    file::{lock_file, turnlock_file},
    handle::OpaqueHandle,
};
use crate::error::{Error, Result, status::TURNLOCK_OK};
use crate::kind::Participant;

/// A participant: a slot of its own in a lock file, for work that moves between threads (goroutines, promises, tasks).
/// What is locked with the `_as` functions belongs to it, whichever thread makes the call. It takes one lock at a time.
#[allow(non_camel_case_types)]
pub struct turnlock_participant {
    _opaque: [u8; 0],
}

/// Takes a slot in the file and puts its handle into `participant`. TURNLOCK_ERROR_PARTICIPANTS_FULL if there is none;
/// `turnlock_last_error_message` says who has them.
///
/// # Safety
/// `file` is a file handle; `participant` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_participant_open(
    file: *const turnlock_file,
    participant: *mut *mut turnlock_participant,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let opened = unsafe { lock_file(file) }?;
        // SAFETY: the caller's promise.
        unsafe { give(participant, || opened.participant()) }
    })
}

/// The calling thread's own participant (which it is given now, if it has none yet), for another thread to cancel; for
/// nothing else: `turnlock_mutex_lock_as` refuses it with TURNLOCK_ERROR_INVALID_ARGUMENT.
///
/// # Safety
/// As `turnlock_participant_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_participant_current(
    file: *const turnlock_file,
    participant: *mut *mut turnlock_participant,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let opened = unsafe { lock_file(file) }?;
        // SAFETY: the caller's promise.
        unsafe { give(participant, || opened.current_participant()) }
    })
}

/// Closes a participant handle; that of `turnlock_participant_open` gives its slot back.
/// TURNLOCK_ERROR_STILL_HELD, and nothing is done, while it holds a lock.
///
/// # Safety
/// `participant` is NULL or a participant handle; no other thread is inside a call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_participant_close(participant: *mut turnlock_participant) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        if unsafe { self::participant(participant) }?.is_last_handle_and_holds() {
            return Err(Error::StillHeld);
        }
        // SAFETY: the caller's promise; turnlock_participant stands for it.
        unsafe { OpaqueHandle::close(participant.cast::<OpaqueHandle<Participant>>()) }.map(|()| TURNLOCK_OK)
    })
}

/// Ends this participant's wait for a lock with TURNLOCK_ERROR_CANCELLED, from any thread: the present wait, or else
/// the next call that would have to wait. Never lost; never disturbs a call that need not wait.
///
/// # Safety
/// `participant` is a participant handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_participant_cancel(participant: *const turnlock_participant) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        unsafe { self::participant(participant) }?.cancel();
        Ok(TURNLOCK_OK)
    })
}

/// Takes back a cancel that no wait has taken yet, if there is one.
///
/// # Safety
/// `participant` is a participant handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_participant_clear_cancel(participant: *const turnlock_participant) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        unsafe { self::participant(participant) }?.clear_cancel();
        Ok(TURNLOCK_OK)
    })
}

/// # Safety
/// As every function that takes a participant.
pub(super) unsafe fn participant<'a>(participant: *const turnlock_participant) -> Result<&'a Participant> {
    // SAFETY: the caller's promise; turnlock_participant stands for it.
    unsafe { OpaqueHandle::get(participant.cast::<OpaqueHandle<Participant>>(), "participant") }
}

/// # Safety
/// `place` is NULL or writable.
unsafe fn give(
    place: *mut *mut turnlock_participant,
    open: impl FnOnce() -> Result<Participant>,
) -> Result<i32> {
    if place.is_null() {
        return Err(invalid("the place for the participant handle is NULL"));
    }
    let opened = OpaqueHandle::open(open()?);
    // SAFETY: not NULL, and the caller's promise.
    unsafe { place.write(opened.cast()) };
    Ok(TURNLOCK_OK)
}
