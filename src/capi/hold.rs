//! Holds, from C: what any thread may release.

use super::{
    acquired::{check_acquired, tell_dead, turnlock_acquired},
    boundary::{invalid, options, status, status_in_handler, text},
    file::{lock_file, turnlock_file},
    handle::{Marked, OpaqueHandle},
    info::mode_below,
    lock::{any, contended},
    mutex::turnlock_mutex,
    operations::{Opened, opened, told_alone},
    request::{limit, turnlock_request},
    ring::turnlock_ring,
};
use crate::attach::{attachment::AttachOptions, fast_path::Left};
use crate::kind::{AnyHandleRef, Hold, of_any};
use std::{ffi::c_char, mem::offset_of};
use turnlock_core::error::{Result, status::TURNLOCK_OK};

/// A hold: what an acquisition belongs to that is not the calling thread's. Any thread may acquire by it, release it, ask for its
/// fencing token: for work that moves between threads (goroutines, promises, tasks), and for what is released elsewhere than it
/// was acquired. It has one acquisition at a time, of one lock: what that lock gives at once, several ranges or keys too.
///
/// It takes a slot of the file, and one more for each further range or key. A thread that acquires by two holds what conflicts
/// waits for itself.
#[allow(non_camel_case_types)]
pub struct turnlock_hold {
    _opaque: [u8; 0],
}

/// `turnlock_hold_options.flags`: programs that this process starts from now on keep the slot alive, even when
/// this process is killed: they inherit the descriptor that does.
pub const TURNLOCK_HOLD_INHERITED: u32 = 1;
/// `turnlock_hold_options.flags`: keep the slot by an open descriptor, as on file systems where a mapping does not:
/// a `close` of it (a stray one, `closefrom`) is then taken for the hold's death.
pub const TURNLOCK_HOLD_BY_DESCRIPTOR: u32 = 2;
/// `turnlock_hold_options.flags`: the end of what keeps the slot (the last copy of its descriptor is closed) is an
/// ordinary end where the lock was created with TURNLOCK_..._RELEASE_ON_DEATH: nobody is told of a death, as with flock(2).
/// For a hold that is transferred to an open file (`turnlock_hold_transfer_to_fd`). Implies TURNLOCK_HOLD_BY_DESCRIPTOR.
pub const TURNLOCK_HOLD_ENDS_BY_CLOSING: u32 = 4;

/// How to open a hold. Set `size` to `sizeof(struct turnlock_hold_options)` and everything else that you do not care about to 0.
/// All 0 is as no options: its slots come from those that the open file keeps, and go back to them.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy)]
pub struct turnlock_hold_options {
    /// `sizeof(struct turnlock_hold_options)`.
    pub size: usize,
    /// What it calls itself in `turnlock status` and in the owner-dead notice, up to 63 bytes of UTF-8; NULL = the file's
    /// label.
    pub label: *const c_char,
    /// TURNLOCK_HOLD_... or'ed together.
    pub flags: u32,
    /// 0.
    pub reserved: u32,
}

impl Marked for Hold {
    const NUMBER: u8 = 0xf1;
    const NAME: &'static str = "hold";
}

/// # Safety
/// As every function that takes a hold.
unsafe fn hold<'a>(hold: *const turnlock_hold) -> Result<&'a Hold> {
    // SAFETY: the caller's promise; turnlock_hold stands for it.
    unsafe { OpaqueHandle::get(hold.cast::<OpaqueHandle<Hold>>()) }
}

/// [`hold`] for the fast path: `None` if the handle is not open.
///
/// # Safety
/// As [`hold`].
#[inline(always)]
unsafe fn peek<'a>(hold: *const turnlock_hold) -> Option<&'a Hold> {
    // SAFETY: as in `hold`.
    unsafe { OpaqueHandle::peek(hold.cast::<OpaqueHandle<Hold>>()) }
}

/// # Safety
/// `place` is NULL or writable.
unsafe fn give(place: *mut *mut turnlock_hold, open: impl FnOnce() -> Result<Hold>) -> Result<i32> {
    if place.is_null() {
        return Err(invalid("the place for the hold handle is NULL"));
    }
    let opened = OpaqueHandle::open(open()?);
    // SAFETY: not NULL, and the caller's promise.
    unsafe { place.write(opened.cast()) };
    Ok(TURNLOCK_OK)
}

/// Does something by a hold that gives nothing but a status.
///
/// # Safety
/// As [`hold`].
#[inline]
unsafe fn act(hold: *const turnlock_hold, act: impl FnOnce(&Hold) -> Result<()>) -> i32 {
    // SAFETY: the caller's promise.
    status_in_handler(|| act(unsafe { self::hold(hold) }?).map(|()| TURNLOCK_OK))
}

/// Opens a hold in the file, and puts its handle into `hold`. `options` may be NULL.
///
/// TURNLOCK_ERROR_PARTICIPANTS_FULL if there is no slot; `turnlock_last_error_message` says who has them.
/// _INVALID_ARGUMENT, _REPLACED, _DAMAGED, _FILESYSTEM, _PERMISSION.
///
/// # Safety
/// `file` is a file handle, `options` NULL or a struct whose `size` is right, `hold` NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_open(
    file: *const turnlock_file,
    options: *const turnlock_hold_options,
    hold: *mut *mut turnlock_hold,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let opened = unsafe { lock_file(file) }?;
        // SAFETY: the caller's promise.
        let given = unsafe { self::options(options, offset_of!(turnlock_hold_options, reserved) + 4) }?;
        const FLAGS: u32 =
            TURNLOCK_HOLD_INHERITED | TURNLOCK_HOLD_BY_DESCRIPTOR | TURNLOCK_HOLD_ENDS_BY_CLOSING;
        if given.flags & !FLAGS != 0 || given.reserved != 0 {
            return Err(invalid(
                "a flag is set that this version of turnlock does not know: use a newer one",
            ));
        }
        let mut wanted = AttachOptions {
            inherited: given.flags & TURNLOCK_HOLD_INHERITED != 0,
            descriptor: given.flags & TURNLOCK_HOLD_BY_DESCRIPTOR != 0,
            ends_by_closing: given.flags & TURNLOCK_HOLD_ENDS_BY_CLOSING != 0,
            ..AttachOptions::default()
        };
        if !given.label.is_null() {
            // SAFETY: the caller's promise.
            unsafe { text(given.label, "the label") }?.clone_into(&mut wanted.label);
        }
        let asks = given.flags != 0 || !wanted.label.is_empty();
        // SAFETY: the caller's promise.
        unsafe { give(hold, || opened.hold(asks.then_some(wanted))) }
    })
}

/// A hold that stands for the calling thread (which is given a slot now, if it has none yet), for another thread to cancel its
/// waits; for nothing else: `turnlock_hold_acquire` refuses it with TURNLOCK_ERROR_INVALID_ARGUMENT.
///
/// # Safety
/// `file` is a file handle; `hold` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_current(
    file: *const turnlock_file,
    hold: *mut *mut turnlock_hold,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let opened = unsafe { lock_file(file) }?;
        // SAFETY: the caller's promise.
        unsafe { give(hold, || opened.hold_of_thread()) }
    })
}

/// Closes a hold; its slots go back to those that the open file keeps, or are given up.
/// TURNLOCK_ERROR_STILL_HELD, and nothing is done, while something is held by it.
///
/// # Safety
/// `hold` is NULL or a hold handle; no other thread is inside a call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_close(hold: *mut turnlock_hold) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        unsafe { self::hold(hold) }?.check_idle()?;
        // SAFETY: the caller's promise; turnlock_hold stands for it.
        unsafe { OpaqueHandle::close(hold.cast::<OpaqueHandle<Hold>>()) }.map(|()| TURNLOCK_OK)
    })
}

/// Acquires what the request says: of a lock of any kind, in the same file. 0, or TURNLOCK_OWNER_DEAD: it is yours and the previous
/// holder died inside, so repair the data and call `turnlock_hold_mark_consistent`. `acquired` may be NULL; of several ranges or
/// keys it tells the largest fencing token, which stands for all of them.
///
/// TURNLOCK_ERROR_DEADLOCK if something of this lock is held by it already, _STILL_HELD if something of another one is;
/// _PARTICIPANT_BUSY while it is in another call;
/// _INVALID_ARGUMENT for a request of another size, a mode that the kind of the lock does not have, parts that do not fit it;
/// _PERMITS, _EMPTY_RANGE; _PARTICIPANTS_FULL for several parts; others as `turnlock_mutex_lock`.
///
/// # Safety
/// `hold` is a hold handle; `request` is NULL, or readable as far as its `size` says, with a handle of a lock, and ranges and keys
/// that are readable; `acquired` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_acquire(
    hold: *const turnlock_hold,
    request: *const turnlock_request,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        if told_alone(acquired, || acquire_biased(hold, request)) {
            TURNLOCK_OK
        } else {
            acquire_slowly(hold, request, acquired)
        }
    }
}

/// Takes a mutex that is biased to the hold, on its home thread.
///
/// # Safety
/// As [`turnlock_hold_acquire`].
#[inline(always)]
unsafe fn acquire_biased(hold: *const turnlock_hold, request: *const turnlock_request) -> Option<u64> {
    // SAFETY: the caller's promise: if `size` says that it is smaller, only that is read.
    let request = unsafe { request.as_ref() }?;
    if !request.is_plain() {
        return None;
    }
    let mutex = request.lock.cast::<Opened<turnlock_mutex>>();
    // SAFETY: the caller's promise.
    unsafe {
        let (hold, mutex_behind) = (peek(hold)?, OpaqueHandle::peek(mutex)?);
        hold.lock_biased(OpaqueHandle::serial(mutex), mutex_behind)
    }
}

/// # Safety
/// As [`turnlock_hold_acquire`].
#[cold]
#[inline(never)]
unsafe extern "C" fn acquire_slowly(
    hold: *const turnlock_hold,
    request: *const turnlock_request,
    acquired: *mut turnlock_acquired,
) -> i32 {
    status_in_handler(|| {
        // SAFETY: the caller's promise.
        unsafe { check_acquired(acquired) }?;
        // SAFETY: the caller's promise.
        let (hold, request) = unsafe { (self::hold(hold)?, turnlock_request::read(request)?) };
        // SAFETY: the caller's promise.
        let any = unsafe { any(request.lock) }?;
        // SAFETY: the caller's promise.
        let wanted = unsafe { request.wanted(any.lock) }?;
        let acquisition = hold.acquire(any.serial, any.lock, wanted, request.limit()?)?;
        let dead = || of_any!(AnyHandleRef, any.lock, handle => handle.dead_owner());
        // SAFETY: checked above.
        Ok(unsafe { tell_dead(acquisition, dead, acquired) })
    })
}

/// Releases what is held, from any thread. To release after TURNLOCK_OWNER_DEAD without `turnlock_hold_mark_consistent` closes the
/// lock for everyone until a reset.
///
/// TURNLOCK_ERROR_NOT_OWNER if nothing is held; _PARTICIPANT_BUSY, and nothing is done, while it is in another call; _DAMAGED,
/// _REPLACED if something happened to the file (it is released all the same).
///
/// # Safety
/// `hold` is a hold handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_release(hold: *const turnlock_hold) -> i32 {
    // SAFETY: the caller's promise.
    match unsafe { peek(hold) }.and_then(Hold::release_biased) {
        Some((Left::Quietly, _)) => TURNLOCK_OK,
        // SAFETY: the caller's promise.
        Some((Left::Revoked, region)) => unsafe { complete_release(hold, region) },
        // SAFETY: the caller's promise.
        None => unsafe { release_slowly(hold) },
    }
}

/// # Safety
/// As [`turnlock_hold_release`].
#[cold]
#[inline(never)]
unsafe extern "C" fn complete_release(hold: *const turnlock_hold, region: usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { act(hold, |hold| hold.complete_release(region)) }
}

/// # Safety
/// As [`turnlock_hold_release`].
#[cold]
#[inline(never)]
unsafe extern "C" fn release_slowly(hold: *const turnlock_hold) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { act(hold, Hold::release) }
}

/// Gives `permits` of the permits back that are held of a semaphore.
///
/// TURNLOCK_ERROR_NOT_OWNER if none are held; _TOO_MANY_RELEASED if fewer are; _INVALID_ARGUMENT for none, and if what is held
/// is not of a semaphore; _PARTICIPANT_BUSY.
///
/// # Safety
/// `hold` is a hold handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_release_permits(hold: *const turnlock_hold, permits: u32) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { act(hold, |hold| hold.release_permits(permits)) }
}

/// `turnlock_rwlock_upgrade` of what is held upgradable. `wait` is TURNLOCK_WAIT_..., `time_ns` as in `turnlock_request`. With
/// an error it is held upgradable as before.
///
/// TURNLOCK_ERROR_NOT_UPGRADABLE if it is not held upgradable; _WOULD_BLOCK, _TIMED_OUT, _CANCELLED, _INTERRUPTED; _NOT_OWNER;
/// _PARTICIPANT_BUSY.
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
/// TURNLOCK_ERROR_NOT_UPGRADABLE if that is not less than it is held as; _NOT_OWNER; _INVALID_ARGUMENT; _PARTICIPANT_BUSY.
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
/// those of all are. TURNLOCK_ERROR_NOT_INCONSISTENT if nobody died; _NOT_EXCLUSIVE if it is held beside others; _NOT_OWNER;
/// _PARTICIPANT_BUSY.
///
/// # Safety
/// `hold` is a hold handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_mark_consistent(hold: *const turnlock_hold) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { act(hold, Hold::mark_consistent) }
}

/// Puts into `fencing_token` that of what is held: of several ranges or keys, the largest. TURNLOCK_ERROR_NOT_OWNER if nothing is;
/// _PARTICIPANT_BUSY.
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
/// from any thread; TURNLOCK_ERROR_PARTICIPANT_BUSY while it is in another call.
///
/// # Safety
/// `hold` is a hold handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_is_contended(hold: *const turnlock_hold) -> i32 {
    // SAFETY: the caller's promise.
    status_in_handler(|| unsafe { self::hold(hold) }?.is_contended().map(contended))
}

/// The hold, if it is a member of the ring, leaves it, as `turnlock_ring_leave`: it is passed over until its next turn is asked
/// for. TURNLOCK_ERROR_STILL_HELD while it has the turn; _PARTICIPANT_BUSY.
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
/// the next call that would have to wait. Never lost; never disturbs a call that need not wait.
///
/// # Safety
/// `hold` is a hold handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_cancel(hold: *const turnlock_hold) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        unsafe { self::hold(hold) }?.cancel();
        Ok(TURNLOCK_OK)
    })
}

/// Takes back a cancel that no wait has taken yet, if there is one.
///
/// # Safety
/// `hold` is a hold handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_clear_cancel(hold: *const turnlock_hold) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        unsafe { self::hold(hold) }?.clear_cancel();
        Ok(TURNLOCK_OK)
    })
}

/// Transfers the hold's slot, and what it holds, to the open file that this process has as `descriptor`: it stays held
/// as long as any copy of that descriptor is open, in whichever process (a shell's own, which its commands inherit; one
/// that came over a socket), as with flock(2). What `turnlock lock --fd` does. The hold is opened with
/// TURNLOCK_HOLD_ENDS_BY_CLOSING or _BY_DESCRIPTOR. `pid` is the process whose it is shown as; 0 = the calling one's.
///
/// From here on calls by the hold give TURNLOCK_ERROR_CLOSED; close it as ever. What it held is released by
/// `turnlock_file_unlock_transferred`, or passes on when the last copy is closed: as from a dead owner or, with
/// TURNLOCK_HOLD_ENDS_BY_CLOSING and a lock that was created with TURNLOCK_..._RELEASE_ON_DEATH, with no more ado.
///
/// TURNLOCK_ERROR_INVALID_ARGUMENT: `descriptor` is none of this lock file that is open for reading, the hold is not kept
/// by a descriptor, or holds several parts; _PARTICIPANT_BUSY: it is in another call; _CLOSED, _FILESYSTEM, _SYSTEM. All
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
