//! What can be done with a hold that holds, and with one that waits, from C.

use super::{
    acquired::{check_acquired, tell_dead, turnlock_acquired},
    boundary::{invalid, status, status_in_handler},
    hold::{act, hold, turnlock_hold},
    info::mode_below,
    limits::limit,
    lock::contended,
    operations::opened,
    ring::turnlock_ring,
};
use crate::kind::Hold;
use turnlock_core::error::status::TURNLOCK_OK;

/// `turnlock_rwlock_upgrade` of what is held upgradable. `wait` is TURNLOCK_WAIT_..., `time_ns` as in `turnlock_request`. With
/// an error it is held upgradable as before.
///
/// TURNLOCK_ERROR_NOT_UPGRADABLE if it is not held upgradable; _WOULD_BLOCK, _TIMED_OUT, _CANCELLED, _INTERRUPTED; _NOT_OWNER;
/// _HOLD_BUSY.
///
/// # Safety
/// `hold` is a hold handle; `acquired` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_upgrade(
    hold: *const turnlock_hold,
    wait: u32,
    time_ns: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    status_in_handler(|| {
        // SAFETY: the caller's promise.
        unsafe { check_acquired(acquired) }?;
        // SAFETY: the caller's promise.
        let (acquisition, dead) = unsafe { self::hold(hold) }?.upgrade(limit(wait, time_ns)?)?;
        // SAFETY: checked above.
        Ok(unsafe { tell_dead(acquisition, || dead, acquired) })
    })
}

/// `turnlock_rwlock_downgrade` of what is held, to `mode`: TURNLOCK_MODE_UPGRADABLE or TURNLOCK_MODE_SHARED.
///
/// TURNLOCK_ERROR_NOT_UPGRADABLE if that is not less than it is held as; _NOT_OWNER; _INVALID_ARGUMENT; _HOLD_BUSY.
///
/// # Safety
/// `hold` is a hold handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_downgrade(hold: *const turnlock_hold, mode: u32) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { act(hold, |hold| hold.downgrade(mode_below(mode)?)) }
}

/// Releases as a dying holder does, since the data were left half-done (an exception, say): the next holder is told. Otherwise as
/// `turnlock_hold_release`. The hold is out of a ring of which it is a member until its next turn is asked for.
///
/// # Safety
/// `hold` is a hold handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_abandon(hold: *const turnlock_hold) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { act(hold, Hold::abandon) }
}

/// Says, while the lock is held after TURNLOCK_OWNER_DEAD, that the data are consistent again; of several ranges or keys, that
/// those of all are. TURNLOCK_ERROR_NOT_INCONSISTENT if no holder died; _NOT_EXCLUSIVE if it is held beside others;
/// _NOT_OWNER; _HOLD_BUSY.
///
/// # Safety
/// `hold` is a hold handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_mark_consistent(hold: *const turnlock_hold) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { act(hold, Hold::mark_consistent) }
}

/// Puts into `fencing_token` that of what is held: of several ranges or keys, the largest. TURNLOCK_ERROR_NOT_OWNER if nothing is;
/// _HOLD_BUSY.
///
/// # Safety
/// `hold` is a hold handle; `fencing_token` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_fencing_token(
    hold: *const turnlock_hold,
    fencing_token: *mut u64,
) -> i32 {
    status_in_handler(|| {
        if fencing_token.is_null() {
            return Err(invalid("the place for the fencing token is NULL"));
        }
        // SAFETY: the caller's promise.
        let token = unsafe { self::hold(hold) }?.fencing_token()?;
        // SAFETY: not NULL, and the caller's promise.
        unsafe { fencing_token.write(token) };
        Ok(TURNLOCK_OK)
    })
}

/// Whether another participant waits while the lock is held: TURNLOCK_CONTENDED, or TURNLOCK_OK. As `turnlock_lock_is_contended`,
/// from any thread; TURNLOCK_ERROR_HOLD_BUSY while it is in another call.
///
/// # Safety
/// `hold` is a hold handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_is_contended(hold: *const turnlock_hold) -> i32 {
    // SAFETY: the caller's promise.
    status_in_handler(|| unsafe { self::hold(hold) }?.is_contended().map(contended))
}

/// The hold, if it is a member of the ring, leaves it, as `turnlock_ring_leave`: it is passed over until its next turn is asked
/// for. TURNLOCK_ERROR_STILL_HELD while it has the turn; _HOLD_BUSY.
///
/// # Safety
/// `hold` is a hold handle and `ring` a ring handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_leave_ring(
    hold: *const turnlock_hold,
    ring: *const turnlock_ring,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { act(hold, |hold| hold.leave_ring(opened(ring)?)) }
}

/// Ends this hold's wait with TURNLOCK_ERROR_CANCELLED, from any thread: the present wait, or else
/// the next call that would have to wait. Never lost; never disturbs a call that need not wait. The wait of an acquisition
/// that was begun is ended too: `turnlock_hold_finish_acquire` says so.
/// TURNLOCK_ERROR_CLOSED after a transfer (`turnlock_hold_transfer_to_fd`), and in a forked child.
///
/// # Safety
/// `hold` is a hold handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_cancel(hold: *const turnlock_hold) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        unsafe { self::hold(hold) }?.cancel().map(|()| TURNLOCK_OK)
    })
}

/// Takes back a cancel that no wait has taken yet, if there is one. TURNLOCK_ERROR_CLOSED as `turnlock_hold_cancel`.
///
/// # Safety
/// `hold` is a hold handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_clear_cancel(hold: *const turnlock_hold) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        unsafe { self::hold(hold) }?.clear_cancel().map(|()| TURNLOCK_OK)
    })
}

/// Transfers the hold's slot, and what it holds, to the open file that this process has as `descriptor`: it stays held
/// as long as any copy of that descriptor is open, in whichever process (a shell's own, which its commands inherit; one
/// that came over a socket), as with flock(2). What `turnlock lock --fd` does. The hold is opened with
/// TURNLOCK_HOLD_RELEASE_ON_CLOSE or _BY_DESCRIPTOR. `pid` is the process whose it is shown as; 0 = the calling one's.
///
/// From here on calls by the hold give TURNLOCK_ERROR_CLOSED; close it as ever. What it held is released by
/// `turnlock_file_unlock_transferred`, or passes on when the last copy is closed: as from a dead owner or, with
/// TURNLOCK_HOLD_RELEASE_ON_CLOSE and a lock that was created with TURNLOCK_..._RELEASE_ON_DEATH, with no more ado.
///
/// TURNLOCK_ERROR_INVALID_ARGUMENT: `descriptor` is none of this lock file that is open for reading, the hold is not kept
/// by a descriptor, or holds several parts; _HOLD_BUSY: it is in another call; _CLOSED, _FILESYSTEM, _SYSTEM. All
/// is as before then.
///
/// # Safety
/// `hold` is a hold handle. While the call runs, `descriptor` is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_transfer_to_fd(
    hold: *const turnlock_hold,
    descriptor: i32,
    pid: u32,
) -> i32 {
    status(|| {
        let shown_as = if pid == 0 { std::process::id() } else { pid };
        // SAFETY: the caller's promise.
        unsafe { self::hold(hold) }?.transfer_to_fd(descriptor, shown_as).map(|()| TURNLOCK_OK)
    })
}
