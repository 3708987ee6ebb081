//! Slots that are left to an open file which several processes share, from C.

use super::{
    boundary::{invalid, name, status},
    file::{lock_file, turnlock_file},
    participant::{participant, turnlock_participant},
};
use std::ffi::c_char;
use turnlock_core::error::status::TURNLOCK_OK;

/// Leaves the participant's slot, and what it holds, to the open file that this process has as `descriptor`: it stays held
/// as long as any copy of that descriptor is open, in whichever process (a shell's own, which its commands inherit; one
/// that came over a socket). What `turnlock lock --fd` does. The participant is opened with
/// TURNLOCK_PARTICIPANT_ENDS_BY_CLOSING or _BY_DESCRIPTOR. `pid` is the process whose it is shown as; 0 = the calling one's.
///
/// The participant is nobody's from here on: calls as it give TURNLOCK_ERROR_CLOSED; close its handle as ever. What it held
/// is unlocked by `turnlock_file_unlock_left`, or passes on when the last copy is closed: as from a dead owner or, with
/// TURNLOCK_PARTICIPANT_ENDS_BY_CLOSING and a lock that was created with TURNLOCK_..._RELEASE_ON_DEATH, with no more ado.
///
/// TURNLOCK_ERROR_INVALID_ARGUMENT: `descriptor` is none of this lock file that is open for reading, or the participant is
/// not kept by a descriptor; _PARTICIPANT_BUSY: another thread acquires or unlocks as it; _CLOSED, _FILESYSTEM, _SYSTEM. All
/// is as before then.
///
/// # Safety
/// `participant` is a participant handle. While the call runs, `descriptor` is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_participant_leave_to(
    participant: *const turnlock_participant,
    descriptor: i32,
    pid: u32,
) -> i32 {
    status(|| {
        let shown_as = if pid == 0 { std::process::id() } else { pid };
        // SAFETY: the caller's promise.
        unsafe { self::participant(participant) }?.leave_to(descriptor, shown_as).map(|()| TURNLOCK_OK)
    })
}

/// Unlocks what participants hold that were left to the open file which this process has as `descriptor`, whichever of
/// those that share it calls: of the lock called `name`, or of all if it is NULL. What they were told of a death counts as
/// repaired; where it is not, close the descriptor instead. Puts into `unlocked`, which may be NULL, how many acquisitions
/// those were: 0 if nothing is held by it.
///
/// TURNLOCK_ERROR_INVALID_ARGUMENT: `descriptor` is none of this lock file that is open for reading; _NOT_FOUND: the file
/// has no lock called `name`; _DAMAGED: the file was truncated, or another process is stopped in the midst of this;
/// _SYSTEM.
///
/// # Safety
/// `file` is a file handle, `name` NULL or a NUL-terminated string, `unlocked` NULL or writable. While the call runs,
/// `descriptor` is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_file_unlock_left(
    file: *const turnlock_file,
    descriptor: i32,
    name: *const c_char,
    unlocked: *mut usize,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let only = if name.is_null() { None } else { Some(unsafe { self::name(name) }?) };
        // SAFETY: the caller's promise.
        let count = unsafe { lock_file(file) }?.unlock_left(descriptor, only)?;
        if !unlocked.is_null() {
            // SAFETY: not NULL, and the caller's promise.
            unsafe { unlocked.write(count) };
        }
        Ok(TURNLOCK_OK)
    })
}

/// Puts into `count` how many acquisitions of the lock called `name` are held by the open file that this process has as
/// `descriptor`. Whoever waits for a lock that its own descriptor holds waits for ever: ask before. Changes nothing.
///
/// Errors as `turnlock_file_unlock_left`.
///
/// # Safety
/// `file` is a file handle, `name` a NUL-terminated string, `count` NULL or writable. While the call runs, `descriptor` is
/// not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_file_count_left(
    file: *const turnlock_file,
    descriptor: i32,
    name: *const c_char,
    count: *mut usize,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let found = unsafe { lock_file(file)?.count_left(descriptor, self::name(name)?) }?;
        if count.is_null() {
            return Err(invalid("the place for the number is NULL"));
        }
        // SAFETY: not NULL, and the caller's promise.
        unsafe { count.write(found) };
        Ok(TURNLOCK_OK)
    })
}
