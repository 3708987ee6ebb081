//! Holds that are transferred to an open file which several processes share, from C.

use super::{
    boundary::{invalid, name, status},
    file::{lock_file, turnlock_file},
};
use std::ffi::c_char;
use turnlock_core::error::status::TURNLOCK_OK;

/// Releases what holds have that were transferred to the open file which this process has as `descriptor`, whichever of
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
pub unsafe extern "C" fn turnlock_file_unlock_transferred(
    file: *const turnlock_file,
    descriptor: i32,
    name: *const c_char,
    unlocked: *mut usize,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let only = if name.is_null() { None } else { Some(unsafe { self::name(name) }?) };
        // SAFETY: the caller's promise.
        let count = unsafe { lock_file(file) }?.unlock_transferred(descriptor, only)?;
        if !unlocked.is_null() {
            // SAFETY: not NULL, and the caller's promise.
            unsafe { unlocked.write(count) };
        }
        Ok(TURNLOCK_OK)
    })
}

/// Puts into `count` how many acquisitions of the lock called `name` are held by the open file that this process has as
/// `descriptor`. A caller that waits for a lock that its own descriptor holds waits for ever: ask before. Changes
/// nothing.
///
/// Errors as `turnlock_file_unlock_transferred`.
///
/// # Safety
/// `file` is a file handle, `name` a NUL-terminated string, `count` NULL or writable. While the call runs, `descriptor` is
/// not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_file_count_transferred(
    file: *const turnlock_file,
    descriptor: i32,
    name: *const c_char,
    count: *mut usize,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let found = unsafe { lock_file(file)?.count_transferred(descriptor, self::name(name)?) }?;
        if count.is_null() {
            return Err(invalid("the place for the number is NULL"));
        }
        // SAFETY: not NULL, and the caller's promise.
        unsafe { count.write(found) };
        Ok(TURNLOCK_OK)
    })
}
