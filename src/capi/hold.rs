//! Holds, from C: what any thread may release.

use super::{
    acquired::{check_acquired, tell_dead, turnlock_acquired},
    boundary::{invalid, options, status, status_in_handler, text},
    file::{lock_file, turnlock_file},
    handle::{Marked, OpaqueHandle},
    info::{TURNLOCK_MODE_EXCLUSIVE, TURNLOCK_MODE_SHARED},
    lock::{any, turnlock_lock},
    mutex::turnlock_mutex,
    operations::{OpaqueLock, Opened, is_of_our_size, tell_alone},
    request::turnlock_request,
    rwlock::turnlock_rwlock,
    semaphore::turnlock_semaphore,
};
use crate::attach::{attachment::AttachOptions, fast_path::UnlockOutcome};
use crate::kind::{AnyHandleRef, Hold, of_any};
use std::{ffi::c_char, mem::offset_of, ptr};
use turnlock_core::algorithm::claim::Mode;
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
pub const TURNLOCK_HOLD_INHERIT_TO_CHILDREN: u32 = 1;
/// `turnlock_hold_options.flags`: keep the slot by an open descriptor, as on file systems where a mapping does not:
/// a `close` of it (a stray one, `closefrom`) is then taken for the hold's death.
pub const TURNLOCK_HOLD_BY_DESCRIPTOR: u32 = 2;
/// `turnlock_hold_options.flags`: the end of what keeps the slot (the last copy of its descriptor is closed) is an
/// ordinary end where the lock was created with TURNLOCK_..._RELEASE_ON_DEATH: no participant is told of a death, as
/// with flock(2). For a hold that is transferred to an open file (`turnlock_hold_transfer_to_fd`). Implies
/// TURNLOCK_HOLD_BY_DESCRIPTOR.
pub const TURNLOCK_HOLD_RELEASE_ON_CLOSE: u32 = 4;

/// `turnlock_hold_options.flags`: `slot` says which slot of the file it takes: its place on a ring. With a slot chosen for each
/// member, the order of a ring does not depend on which of them starts first. TURNLOCK_ERROR_IN_USE if it is taken.
pub const TURNLOCK_HOLD_AT_SLOT: u32 = 8;

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
    /// With TURNLOCK_HOLD_AT_SLOT the slot, from 0; else 0.
    pub slot: u32,
}

impl Marked for Hold {
    const NUMBER: u8 = 0xf1;
    const NAME: &'static str = "hold";
}

/// # Safety
/// As every function that takes a hold.
pub(super) unsafe fn hold<'a>(hold: *const turnlock_hold) -> Result<&'a Hold> {
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
pub(super) unsafe fn act(hold: *const turnlock_hold, act: impl FnOnce(&Hold) -> Result<()>) -> i32 {
    // SAFETY: the caller's promise.
    status_in_handler(|| act(unsafe { self::hold(hold) }?).map(|()| TURNLOCK_OK))
}

/// Opens a hold in the file, and puts its handle into `hold`. `options` may be NULL.
///
/// TURNLOCK_ERROR_PARTICIPANTS_FULL if there is no slot, _IN_USE if the one that is chosen is taken;
/// `turnlock_last_error_message` names the programs that have them. _INVALID_ARGUMENT, _CLOSED, _REPLACED, _DAMAGED, _FILESYSTEM, _PERMISSION, _NO_MEMORY.
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
        let given = unsafe { self::options(options, offset_of!(turnlock_hold_options, slot) + 4) }?;
        const FLAGS: u32 = TURNLOCK_HOLD_INHERIT_TO_CHILDREN
            | TURNLOCK_HOLD_BY_DESCRIPTOR
            | TURNLOCK_HOLD_RELEASE_ON_CLOSE
            | TURNLOCK_HOLD_AT_SLOT;
        if given.flags & !FLAGS != 0 {
            return Err(invalid(
                "a flag is set that this version of turnlock does not know: use a newer one",
            ));
        }
        let at_slot = given.flags & TURNLOCK_HOLD_AT_SLOT != 0;
        if given.slot != 0 && !at_slot {
            return Err(invalid("a slot is given without TURNLOCK_HOLD_AT_SLOT"));
        }
        let mut wanted = AttachOptions {
            slot: at_slot.then_some(given.slot as usize),
            inherited: given.flags & TURNLOCK_HOLD_INHERIT_TO_CHILDREN != 0,
            descriptor: given.flags & TURNLOCK_HOLD_BY_DESCRIPTOR != 0,
            release_on_close: given.flags & TURNLOCK_HOLD_RELEASE_ON_CLOSE != 0,
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
pub unsafe extern "C" fn turnlock_hold_of_thread(
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
/// TURNLOCK_ERROR_STILL_HELD, and nothing is done, while something is held by it; _HOLD_BUSY, likewise, while it is in
/// another call, or has begun an acquisition (`turnlock_hold_cancel_acquire` takes that back).
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
/// TURNLOCK_ERROR_DEADLOCK if something of this lock is held by it already, _STILL_HELD if something of another lock
/// is; _HOLD_BUSY while it is in another call;
/// _INVALID_ARGUMENT for a request of another size, a mode that the kind of the lock does not have, parts that do not fit it, and
/// a lock of another file than the hold's; _WOULD_BLOCK, _TIMED_OUT if the request does not wait so long; _PERMITS, _EMPTY_RANGE;
/// _PARTICIPANTS_FULL if there is not a slot for each of several parts; others as `turnlock_mutex_lock`. Nothing is held then.
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
        // Apart, so that nothing is asked about `acquired` afterwards.
        if acquired.is_null() {
            acquire_unheard(hold, request)
        } else if is_of_our_size(acquired) {
            acquire_by_fast_path::<true>(hold, request, acquired)
        } else {
            acquire_slowly(hold, request, acquired)
        }
    }
}

/// [`turnlock_hold_acquire`], where `acquired` is NULL.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe extern "C" fn acquire_unheard(hold: *const turnlock_hold, request: *const turnlock_request) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { acquire_by_fast_path::<false>(hold, request, ptr::null_mut()) }
}

/// # Safety
/// As [`turnlock_hold_acquire`]. `HEARD`: `acquired` passed [`is_of_our_size`]; else it is NULL.
#[inline(always)]
unsafe fn acquire_by_fast_path<const HEARD: bool>(
    hold: *const turnlock_hold,
    request: *const turnlock_request,
    acquired: *mut turnlock_acquired,
) -> i32 {
    const EXCLUSIVE: u32 = Mode::Exclusive as u32;
    const SHARED: u32 = Mode::Shared as u32;
    // SAFETY: the caller's promise. Each branch ends in a jump, so that none needs more of a frame than its own.
    unsafe {
        let Some((own, wanted)) = peek_both(hold, request) else {
            return acquire_slowly(hold, request, acquired);
        };
        // First the kind that has the longest way.
        if peek_lock::<turnlock_rwlock>(wanted.lock).is_some() {
            if wanted.is_just(TURNLOCK_MODE_EXCLUSIVE) {
                return acquire_in::<EXCLUSIVE, HEARD>(hold, request, acquired);
            } else if wanted.is_just(TURNLOCK_MODE_SHARED) {
                return acquire_in::<SHARED, HEARD>(hold, request, acquired);
            }
        } else if let Some(serial) = peek_lock::<turnlock_mutex>(wanted.lock) {
            if wanted.is_plain(wanted.permits) {
                return end::<HEARD>(own.lock_again(serial), hold, request, acquired);
            }
        } else if peek_lock::<turnlock_semaphore>(wanted.lock).is_some() {
            return acquire_permits::<HEARD>(hold, request, acquired);
        }
        acquire_slowly(hold, request, acquired)
    }
}

/// Takes a reader/writer lock in the mode of this number.
///
/// # Safety
/// As [`acquire_by_fast_path`], and [`peek_both`] returned something; the lock is an open one of this kind.
#[inline(never)]
unsafe extern "C" fn acquire_in<const MODE: u32, const HEARD: bool>(
    hold: *const turnlock_hold,
    request: *const turnlock_request,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        let (own, wanted) = (OpaqueHandle::behind(hold.cast::<OpaqueHandle<Hold>>()), &*request);
        if !wanted.is_plain_but_mode() {
            return acquire_slowly(hold, request, acquired);
        }
        let rwlock = wanted.lock.cast::<Opened<turnlock_rwlock>>();
        let mode = if MODE == Mode::Exclusive as u32 { Mode::Exclusive } else { Mode::Shared };
        end::<HEARD>(own.lock_again_in(OpaqueHandle::serial(rwlock), mode), hold, request, acquired)
    }
}

/// Takes permits.
///
/// # Safety
/// As [`acquire_in`], of a semaphore.
#[inline(never)]
unsafe extern "C" fn acquire_permits<const HEARD: bool>(
    hold: *const turnlock_hold,
    request: *const turnlock_request,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        let (own, wanted) = (OpaqueHandle::behind(hold.cast::<OpaqueHandle<Hold>>()), &*request);
        if !wanted.is_plain(0) {
            return acquire_slowly(hold, request, acquired);
        }
        let serial = OpaqueHandle::serial(wanted.lock.cast::<Opened<turnlock_semaphore>>());
        end::<HEARD>(own.take_permits_again(serial, wanted.permits.max(1)), hold, request, acquired)
    }
}

/// Returns the hold and the request, if the hold is open and the request has the size that it has here.
///
/// # Safety
/// As [`turnlock_hold_acquire`].
#[inline(always)]
unsafe fn peek_both<'a>(
    hold: *const turnlock_hold,
    request: *const turnlock_request,
) -> Option<(&'a Hold, &'a turnlock_request)> {
    // SAFETY: the caller's promise; `size` comes first in a request.
    unsafe {
        let is_ours = !request.is_null() && request.cast::<usize>().read() == size_of::<turnlock_request>();
        if is_ours { Some((peek(hold)?, &*request)) } else { None }
    }
}

/// Returns the number of a lock's handle, if it is open and one of this kind.
///
/// # Safety
/// As [`peek`].
#[inline(always)]
unsafe fn peek_lock<'a, L: OpaqueLock>(lock: *const turnlock_lock) -> Option<&'a u64> {
    let lock = lock.cast::<Opened<L>>();
    // SAFETY: the caller's promise; an open handle has a number.
    unsafe { OpaqueHandle::peek(lock).map(|_| OpaqueHandle::serial(lock)) }
}

/// Says what the fast path took; `None`: nothing, and the slow way goes on.
///
/// # Safety
/// As [`acquire_by_fast_path`], and [`peek_both`] returned something.
#[inline(always)]
unsafe fn end<const HEARD: bool>(
    fencing_token: Option<u64>,
    hold: *const turnlock_hold,
    request: *const turnlock_request,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        let Some(fencing_token) = fencing_token else { return acquire_slowly(hold, request, acquired) };
        if HEARD {
            tell_alone(acquired, fencing_token);
        }
    }
    TURNLOCK_OK
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

/// Releases what is held, from any thread. To release after TURNLOCK_OWNER_DEAD without `turnlock_hold_mark_consistent` closes a
/// mutex, a ring, or a reader/writer lock that was held exclusively, for everyone until a reset, if deaths are informed of there
/// (its death policy is *inform*). Of other locks the next holder is told again.
///
/// TURNLOCK_ERROR_NOT_OWNER if nothing is held. _HOLD_BUSY, and nothing is done, while it is in another call: one that
/// waits, or one of this thread, which a signal handler has interrupted. It is held still then: release it again when that call
/// is over. (A brief call of another thread is waited for, for a second or a little more.) _DAMAGED, _REPLACED if something
/// happened to the file (it is released all the same).
///
/// # Safety
/// `hold` is a hold handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_release(hold: *const turnlock_hold) -> i32 {
    // SAFETY: the caller's promise.
    match unsafe { peek(hold) }.and_then(Hold::release_by_fast_path) {
        Some((UnlockOutcome::Done, _)) => TURNLOCK_OK,
        // SAFETY: the caller's promise.
        Some((UnlockOutcome::WasRevoked, region)) => unsafe { complete_release(hold, region) },
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
/// is not of a semaphore; _HOLD_BUSY.
///
/// # Safety
/// `hold` is a hold handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_release_permits(hold: *const turnlock_hold, permits: u32) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { act(hold, |hold| hold.release_permits(permits)) }
}
