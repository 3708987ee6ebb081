//! What is known of linked locks, whatever their kind, from C.

use super::{
    boundary::{invalid, status, status_in_handler},
    lock::{any, turnlock_lock},
};
use crate::kind::{AnyHandleRef, of_any};
use turnlock_core::error::{Error, status::TURNLOCK_OK};

/// A flag of `turnlock_lock_link`: the lock is linked.
pub const TURNLOCK_LOCK_IS_LINKED: u32 = 1;
/// A flag of `turnlock_lock_link`: it is home; else another host may have it, and no program is admitted. Of a semaphore: this host has a
/// permit.
pub const TURNLOCK_LOCK_IS_HOME: u32 = 2;
/// A flag of `turnlock_lock_link`: an agent is attached to it.
pub const TURNLOCK_LOCK_HAS_AGENT: u32 = 4;

/// Puts into `link` what is known of a linked lock at this moment: TURNLOCK_LOCK_IS_LINKED, _IS_HOME and _HAS_AGENT, or'ed together; 0 if
/// it is not linked.
///
/// TURNLOCK_ERROR_INVALID_ARGUMENT: `link` is NULL; _NOT_FOUND, _DAMAGED.
///
/// # Safety
/// `lock` is a handle of a lock, `link` NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_lock_link(lock: *const turnlock_lock, link: *mut u32) -> i32 {
    status(|| {
        if link.is_null() {
            return Err(invalid("the place for what is known of the link is NULL"));
        }
        // SAFETY: the caller's promise.
        let lock = unsafe { any(lock) }?.lock;
        let known = of_any!(AnyHandleRef, lock, handle => if handle.is_linked() { handle.status()?.link } else { None });
        let flags = known.map_or(0, |link| {
            let home = if link.home { TURNLOCK_LOCK_IS_HOME } else { 0 };
            TURNLOCK_LOCK_IS_LINKED | home | link.agent.map_or(0, |_| TURNLOCK_LOCK_HAS_AGENT)
        });
        // SAFETY: not NULL, and the caller's promise.
        unsafe { link.write(flags) };
        Ok(TURNLOCK_OK)
    })
}

/// Whether this host has the lock still, for its holder, by whichever thread or hold: TURNLOCK_OK, or TURNLOCK_ERROR_LEASE_ENDED once the
/// lease of a linked lock has ended, from when on another host may have it. Always TURNLOCK_OK where there is no lease. One load, and one
/// look at the clock if there is one. A signal handler may call it.
///
/// It says what was so a moment ago: what goes out to others needs the fencing token besides.
///
/// # Safety
/// `lock` is a handle of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_lock_still_owner(lock: *const turnlock_lock) -> i32 {
    status_in_handler(|| {
        // SAFETY: the caller's promise.
        let lock = unsafe { any(lock) }?.lock;
        let runs = of_any!(AnyHandleRef, lock, handle => handle.has_running_lease());
        if runs { Ok(TURNLOCK_OK) } else { Err(Error::LeaseEnded) }
    })
}
