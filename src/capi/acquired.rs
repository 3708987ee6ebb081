//! What comes with an acquisition, and the owner-dead notice, for C.

use super::{
    boundary::{check_output, fill_in, invalid},
    info::text_in,
};
use crate::kind::{Acquired, Handle, LockKind};
use std::{ffi::c_char, mem::offset_of};
use turnlock_core::error::{
    Result,
    status::{TURNLOCK_OK, TURNLOCK_OWNER_DEAD},
};

/// What came with an acquisition. Set `size` to `sizeof(struct turnlock_acquired)` before the call; the rest is filled
/// in.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy)]
pub struct turnlock_acquired {
    /// `sizeof(struct turnlock_acquired)`.
    pub size: usize,
    /// Larger than that of every acquisition of this lock before.
    pub fencing_token: u64,
    /// If the previous holder died: the fencing token it had. Else 0.
    pub previous_owner_fencing_token: u64,
    /// If the previous holder died: its process. Else 0.
    pub previous_owner_pid: u32,
    /// 1 if the previous holder died inside (the call returned TURNLOCK_OWNER_DEAD), else 0.
    pub previous_owner_died: u32,
}

/// The last holder of a lock that died. Set `size` to `sizeof(struct turnlock_previous_owner)` before the call; the
/// rest is filled in.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy)]
pub struct turnlock_previous_owner {
    /// `sizeof(struct turnlock_previous_owner)`.
    pub size: usize,
    /// The fencing token it held.
    pub fencing_token: u64,
    /// Its process, as its own PID namespace numbered it.
    pub pid: u32,
    /// Its thread, likewise.
    pub thread: u32,
    /// What it called itself: UTF-8, NUL-terminated.
    pub label: [c_char; 64],
}

/// Checks, before the lock is taken, that it can be told what comes with an acquisition.
///
/// # Safety
/// `acquired` is NULL, or writable as far as its `size` says.
#[inline]
pub unsafe fn check_acquired(acquired: *const turnlock_acquired) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { check_output(acquired, SMALLEST_ACQUIRED) }
}

const SMALLEST_ACQUIRED: usize = offset_of!(turnlock_acquired, previous_owner_died) + size_of::<u32>();
const SMALLEST_PREVIOUS_OWNER: usize = offset_of!(turnlock_previous_owner, label) + 64;

/// Says what came with an acquisition. Returns the status.
///
/// # Safety
/// `acquired` is NULL, or passed [`check_acquired`].
#[inline]
pub unsafe fn tell<K: LockKind>(
    lock: &Handle<K>,
    acquisition: Acquired,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { tell_dead(acquisition, || lock.dead_owner(), acquired) }
}

/// [`tell`], where `dead_owner` returns the fencing token and the process of the dead owner.
///
/// # Safety
/// As [`tell`].
#[inline]
pub unsafe fn tell_dead(
    acquisition: Acquired,
    dead_owner: impl FnOnce() -> (u64, u32),
    acquired: *mut turnlock_acquired,
) -> i32 {
    if !acquired.is_null() {
        // Not its label, which would be memory: this may be a signal handler.
        let dead = acquisition.previous_owner_died.then(dead_owner);
        let told = turnlock_acquired {
            size: 0,
            fencing_token: acquisition.fencing_token,
            previous_owner_fencing_token: dead.map_or(0, |dead| dead.0),
            previous_owner_pid: dead.map_or(0, |dead| dead.1),
            previous_owner_died: u32::from(acquisition.previous_owner_died),
        };
        // SAFETY: not NULL, and the caller's promise.
        unsafe { fill_in(acquired, &told) };
    }
    if acquisition.previous_owner_died { TURNLOCK_OWNER_DEAD } else { TURNLOCK_OK }
}

/// Writes down the last holder of `lock` that died.
///
/// # Safety
/// `owner` is NULL, or writable as far as its `size` says.
pub unsafe fn tell_previous_owner<K: LockKind>(
    lock: &Handle<K>,
    owner: *mut turnlock_previous_owner,
) -> Result<i32> {
    if owner.is_null() {
        return Err(invalid("the place for the previous owner is NULL"));
    }
    // SAFETY: the caller's promise.
    unsafe { check_output(owner, SMALLEST_PREVIOUS_OWNER) }?;
    lock.check_exists()?;
    let previous = lock.previous_owner().ok_or_else(|| lock.not_found("died holding"))?;
    let previous = turnlock_previous_owner {
        size: 0,
        fencing_token: previous.fencing_token,
        pid: previous.pid,
        thread: previous.thread,
        label: text_in(&previous.label),
    };
    // SAFETY: not NULL, checked above, and the caller's promise.
    unsafe { fill_in(owner, &previous) };
    Ok(TURNLOCK_OK)
}
