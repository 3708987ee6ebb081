//! What comes with an acquisition, and the news of a death, for C.

use super::boundary::invalid;
use crate::error::{
    Result,
    status::{TURNLOCK_OK, TURNLOCK_OWNER_DEAD},
};
use crate::lock::{Acquired, Mutex};
use std::ffi::c_char;

/// What came with an acquisition.
#[allow(non_camel_case_types)]
#[repr(C)]
pub struct turnlock_acquired {
    /// Larger than that of every acquisition of this lock before.
    pub fencing_token: u64,
    /// If the previous holder died: the fencing token it had. Else 0.
    pub previous_owner_fencing_token: u64,
    /// If the previous holder died: its process. Else 0.
    pub previous_owner_pid: u32,
    /// 1 if the previous holder died inside (the call returned TURNLOCK_OWNER_DEAD), else 0.
    pub previous_owner_died: u32,
}

/// Who died holding a lock, last.
#[allow(non_camel_case_types)]
#[repr(C)]
pub struct turnlock_previous_owner {
    /// The fencing token it held.
    pub fencing_token: u64,
    /// Its process, as its own PID namespace numbered it.
    pub pid: u32,
    /// Its thread, likewise.
    pub thread: u32,
    /// What it called itself: UTF-8, NUL-terminated.
    pub label: [c_char; 64],
}

/// Says what came with `taken`; gives the status.
///
/// # Safety
/// `acquired` is NULL or writable.
#[inline]
pub unsafe fn tell(mutex: &Mutex, taken: Acquired, acquired: *mut turnlock_acquired) -> i32 {
    if !acquired.is_null() {
        let dead = if taken.previous_owner_died { mutex.previous_owner() } else { None };
        let told = turnlock_acquired {
            fencing_token: taken.fencing_token,
            previous_owner_fencing_token: dead.as_ref().map_or(0, |dead| dead.fencing_token),
            previous_owner_pid: dead.as_ref().map_or(0, |dead| dead.pid),
            previous_owner_died: u32::from(taken.previous_owner_died),
        };
        // SAFETY: not NULL, and the caller's promise.
        unsafe { acquired.write(told) };
    }
    if taken.previous_owner_died { TURNLOCK_OWNER_DEAD } else { TURNLOCK_OK }
}

/// Writes down who died holding `mutex`, last.
///
/// # Safety
/// `owner` is NULL or writable.
pub unsafe fn tell_previous_owner(mutex: &Mutex, owner: *mut turnlock_previous_owner) -> Result<i32> {
    if owner.is_null() {
        return Err(invalid("the place for the previous owner is NULL"));
    }
    let previous = mutex.previous_owner().ok_or_else(|| mutex.nobody_died())?;
    let mut label = [0; 64];
    for (to, from) in label.iter_mut().zip(previous.label.bytes().take(63)) {
        *to = from as c_char;
    }
    let previous = turnlock_previous_owner {
        fencing_token: previous.fencing_token,
        pid: previous.pid,
        thread: previous.thread,
        label,
    };
    // SAFETY: not NULL, and the caller's promise.
    unsafe { owner.write(previous) };
    Ok(TURNLOCK_OK)
}
