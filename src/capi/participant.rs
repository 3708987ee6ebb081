//! Participants that are not threads, from C.

use super::{
    boundary::{invalid, options, status, text},
    file::{lock_file, turnlock_file},
    handle::{Marked, OpaqueHandle},
};
use crate::kind::Participant;
use std::{ffi::c_char, mem::offset_of};
use turnlock_core::error::{Error, Result, status::TURNLOCK_OK};

/// A participant: a slot of its own in a lock file, for work that moves between threads (goroutines, promises, tasks).
/// What is locked with the `_as` functions belongs to it, whichever thread makes the call. It takes one lock at a time.
#[allow(non_camel_case_types)]
pub struct turnlock_participant {
    _opaque: [u8; 0],
}

/// `turnlock_participant_options.flags`: programs that this process starts from now on keep the slot alive, even when
/// this process is killed: they inherit the descriptor that does.
pub const TURNLOCK_PARTICIPANT_INHERITED: u32 = 1;
/// `turnlock_participant_options.flags`: keep the slot by an open descriptor, as on file systems where a mapping does not:
/// a `close` of it (a stray one, `closefrom`) is then taken for the participant's death.
pub const TURNLOCK_PARTICIPANT_BY_DESCRIPTOR: u32 = 2;
/// `turnlock_participant_options.flags`: the end of what keeps the slot (the last copy of its descriptor is closed) is an
/// ordinary end where the lock was created with TURNLOCK_..._RELEASE_ON_DEATH: nobody is told of a death, as with flock(2).
/// For a participant that is left to an open file (`turnlock_participant_leave_to`). Implies TURNLOCK_PARTICIPANT_BY_DESCRIPTOR.
pub const TURNLOCK_PARTICIPANT_ENDS_BY_CLOSING: u32 = 4;

/// How to open a participant. Set `size` to `sizeof(struct turnlock_participant_options)` and everything else that you do
/// not care about to 0.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy)]
pub struct turnlock_participant_options {
    /// `sizeof(struct turnlock_participant_options)`.
    pub size: usize,
    /// What it calls itself in `turnlock status` and in the owner-dead notice, up to 63 bytes of UTF-8; NULL = the file's
    /// label.
    pub label: *const c_char,
    /// TURNLOCK_PARTICIPANT_... or'ed together.
    pub flags: u32,
    /// 0.
    pub reserved: u32,
}

/// Takes a slot in the file and puts its handle into `participant`. `options` may be NULL.
///
/// TURNLOCK_ERROR_PARTICIPANTS_FULL if there is no slot; `turnlock_last_error_message` says who has them.
/// _INVALID_ARGUMENT, _REPLACED, _DAMAGED, _FILESYSTEM, _PERMISSION.
///
/// # Safety
/// `file` is a file handle, `options` NULL or a struct whose `size` is right, `participant` NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_participant_open(
    file: *const turnlock_file,
    options: *const turnlock_participant_options,
    participant: *mut *mut turnlock_participant,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let opened = unsafe { lock_file(file) }?;
        // SAFETY: the caller's promise.
        let given =
            unsafe { self::options(options, offset_of!(turnlock_participant_options, reserved) + 4) }?;
        const FLAGS: u32 = TURNLOCK_PARTICIPANT_INHERITED
            | TURNLOCK_PARTICIPANT_BY_DESCRIPTOR
            | TURNLOCK_PARTICIPANT_ENDS_BY_CLOSING;
        if given.flags & !FLAGS != 0 || given.reserved != 0 {
            return Err(invalid(
                "a flag is set that this version of turnlock does not know: use a newer one",
            ));
        }
        let mut wanted = opened.participant_options();
        wanted.inherited_by_children(given.flags & TURNLOCK_PARTICIPANT_INHERITED != 0);
        wanted.kept_by_descriptor(given.flags & TURNLOCK_PARTICIPANT_BY_DESCRIPTOR != 0);
        wanted.ends_by_closing(given.flags & TURNLOCK_PARTICIPANT_ENDS_BY_CLOSING != 0);
        if !given.label.is_null() {
            // SAFETY: the caller's promise.
            wanted.label(unsafe { text(given.label, "the label") }?);
        }
        // SAFETY: the caller's promise.
        unsafe { give(participant, || wanted.open()) }
    })
}

/// The calling thread's own participant (which it is given now, if it has none yet), for another thread to cancel; for
/// nothing else: `turnlock_mutex_lock_as` refuses it with TURNLOCK_ERROR_INVALID_ARGUMENT.
///
/// # Safety
/// `file` is a file handle; `participant` is NULL or writable.
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

/// Closes a participant handle; that of `turnlock_participant_open` detaches from its slot.
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

impl Marked for Participant {
    const NUMBER: u8 = 0xf1;
    const NAME: &'static str = "participant";
}

/// # Safety
/// As every function that takes a participant.
pub(super) unsafe fn participant<'a>(participant: *const turnlock_participant) -> Result<&'a Participant> {
    // SAFETY: the caller's promise; turnlock_participant stands for it.
    unsafe { OpaqueHandle::get(participant.cast::<OpaqueHandle<Participant>>()) }
}

/// [`participant`] for the fast path: `None` if the handle is not open.
///
/// # Safety
/// As [`participant`].
#[inline(always)]
pub(super) unsafe fn peek<'a>(participant: *const turnlock_participant) -> Option<&'a Participant> {
    // SAFETY: as in `participant`.
    unsafe { OpaqueHandle::peek(participant.cast::<OpaqueHandle<Participant>>()) }
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
