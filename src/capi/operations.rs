//! The bodies of the functions that every kind of lock has. The exported ones name the kind, and nothing more.

use super::{
    acquired::{check_acquired, tell, turnlock_acquired},
    boundary::{invalid, status, status_in_handler},
    handle::{FastPathOf, Marked, OpaqueHandle},
};
use crate::attach::{
    cached::{LineKey, ThreadLine},
    fast_path::UnlockOutcome,
};
use crate::kind::{Acquired, Handle, LockKind};
use crate::layout::Kind;
use turnlock_core::acquire::site::Limit;
use turnlock_core::error::{Error, Result, status::TURNLOCK_OK};

/// An opaque C type that stands for a kind of lock: a pointer to it is one to an `OpaqueHandle<Handle<Self::Kind>>`.
pub trait OpaqueLock {
    /// The kind.
    type Kind: LockKind;
}

impl<K: LockKind> Marked for Handle<K> {
    const NUMBER: u8 = K::KIND as u8;
    const NAME: &'static str = K::NAME;
    const FAST_PATH: Option<FastPathOf> = match K::KIND {
        Kind::Mutex => Some(FastPathOf::Mutex),
        Kind::RwLock => Some(FastPathOf::RwLock),
        Kind::Semaphore => Some(FastPathOf::Semaphore),
        _ => None,
    };

    fn line_key(&self) -> LineKey {
        Handle::line_key(self)
    }
}

/// What a C handle of a lock points to.
pub type Opened<L> = OpaqueHandle<Handle<<L as OpaqueLock>::Kind>>;

/// Returns the lock behind a C handle.
///
/// # Safety
/// NULL, or a handle of this kind of lock, which no thread closes meanwhile.
#[inline]
pub unsafe fn opened<'a, L: OpaqueLock>(lock: *const L) -> Result<&'a Handle<L::Kind>> {
    // SAFETY: the caller's promise, and `OpaqueLock`'s.
    unsafe { OpaqueHandle::get(lock.cast::<Opened<L>>()) }
}

/// [`opened`] for the fast path: `None` if the handle is not open.
///
/// # Safety
/// As [`opened`].
#[inline(always)]
pub unsafe fn peek<'a, L: OpaqueLock>(lock: *const L) -> Option<&'a Handle<L::Kind>> {
    // SAFETY: as in `opened`.
    unsafe { OpaqueHandle::peek(lock.cast::<Opened<L>>()) }
}

/// What the fast path of this kind goes on with, as [`OpaqueHandle::find`].
///
/// # Safety
/// As [`opened`].
#[inline(always)]
pub unsafe fn find<'a, L: OpaqueLock>(lock: *const L) -> Option<(&'a Handle<L::Kind>, &'a ThreadLine)> {
    // SAFETY: as in `opened`.
    unsafe { OpaqueHandle::find(lock.cast::<Opened<L>>(), false) }
}

/// Puts a new C handle of a lock, which `open` opens, into `place`.
///
/// # Safety
/// `place` is NULL or writable.
pub unsafe fn open<L: OpaqueLock>(
    place: *mut *mut L,
    open: impl FnOnce() -> Result<Handle<L::Kind>>,
) -> Result<i32> {
    if place.is_null() {
        return Err(invalid(&format!("the place for the {} handle is NULL", L::Kind::NAME)));
    }
    let opened: *mut Opened<L> = OpaqueHandle::open(open()?);
    // SAFETY: not NULL, and the caller's promise.
    unsafe { place.write(opened.cast()) };
    Ok(TURNLOCK_OK)
}

/// Closes a C handle, unless the calling thread holds the lock.
///
/// # Safety
/// As [`opened`], and no other thread is inside a call with it.
pub unsafe fn close<L: OpaqueLock>(lock: *mut L) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        if unsafe { opened(lock.cast_const()) }?.is_held_by_this_thread() {
            return Err(Error::StillHeld);
        }
        // SAFETY: the caller's promise, and `OpaqueLock`'s.
        unsafe { OpaqueHandle::close(lock.cast::<Opened<L>>()) }.map(|()| TURNLOCK_OK)
    })
}

/// How the fast path of a kind of lock takes it as the calling thread. A method rather than a closure, which would be compiled
/// as a call.
pub trait FastEntry<K: LockKind>: Copy {
    /// Takes the lock, if nothing is in the way. Returns the fencing token.
    ///
    /// # Safety
    /// The calling thread's line was found by the lock's key.
    unsafe fn enter(self, lock: &Handle<K>, line: &ThreadLine) -> Option<u64>;
}

/// All of a lock that may be biased to its last holder.
#[derive(Clone, Copy)]
pub struct Everything;

impl<K: LockKind> FastEntry<K> for Everything {
    #[inline(always)]
    unsafe fn enter(self, lock: &Handle<K>, line: &ThreadLine) -> Option<u64> {
        // SAFETY: the caller's promise.
        unsafe { lock.lock_biased_at(line) }
    }
}

/// Takes the lock as the calling thread by its fast path, which the functions try first that take a lock, whatever their
/// limit. Returns whether it was taken; else [`lock`] or [`acquire`] goes on.
///
/// # Safety
/// As [`lock`].
#[inline(always)]
pub unsafe fn lock_biased<L: OpaqueLock>(
    lock: *const L,
    entry: impl FastEntry<L::Kind>,
    acquired: *mut turnlock_acquired,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        // Apart, so that nothing is asked about `acquired` afterwards.
        if acquired.is_null() {
            return matches!(find(lock), Some((lock, line)) if entry.enter(lock, line).is_some());
        }
        if !is_of_our_size(acquired) {
            return false;
        }
        let Some((lock, line)) = find(lock) else { return false };
        let Some(fencing_token) = entry.enter(lock, line) else { return false };
        tell_alone(acquired, fencing_token);
        true
    }
}

/// Takes the lock, or a part of it, by `take`.
///
/// # Safety
/// As [`opened`]; `acquired` is NULL, or writable as far as its `size` says.
pub unsafe fn acquire<L: OpaqueLock>(
    lock: *const L,
    acquired: *mut turnlock_acquired,
    take: impl FnOnce(&Handle<L::Kind>) -> Result<Acquired>,
) -> i32 {
    status_in_handler(|| {
        // SAFETY: the caller's promise.
        unsafe { check_acquired(acquired) }?;
        // SAFETY: the caller's promise.
        let lock = unsafe { opened(lock) }?;
        let acquisition = take(lock)?;
        // SAFETY: the caller's promise.
        Ok(unsafe { tell(lock, acquisition, acquired) })
    })
}

/// Returns whether `acquired` has the size that it has here. Of another one the slow way says what is wrong with it, or fills
/// in what both know.
///
/// # Safety
/// `acquired` is readable as far as its `size` says.
#[inline(always)]
pub unsafe fn is_of_our_size(acquired: *const turnlock_acquired) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*acquired).size == size_of::<turnlock_acquired>() }
}

/// Says what came with an acquisition after which no owner-dead notice is due.
///
/// # Safety
/// `acquired` passed [`is_of_our_size`], and is writable.
#[inline(always)]
pub unsafe fn tell_alone(acquired: *mut turnlock_acquired, fencing_token: u64) {
    // SAFETY: the caller's promise. The size stays.
    unsafe {
        (*acquired).fencing_token = fencing_token;
        (*acquired).previous_owner_fencing_token = 0;
        (*acquired).previous_owner_pid = 0;
        (*acquired).previous_owner_died = 0;
    }
}

/// Takes the lock as the calling thread, where [`lock_biased`] did not.
///
/// # Safety
/// As [`opened`]; `acquired` is NULL, or writable as far as its `size` says.
#[cold]
#[inline(never)]
pub unsafe fn lock<L: OpaqueLock>(lock: *const L, limit: Limit, acquired: *mut turnlock_acquired) -> i32 {
    // Without what `status` costs: for programs that use more files than a thread has caches.
    // SAFETY: the caller's promise.
    if unsafe { peek(lock).is_some_and(Handle::reload_cache) && lock_biased(lock, Everything, acquired) } {
        return TURNLOCK_OK;
    }
    // SAFETY: the caller's promise.
    unsafe { acquire(lock, acquired, |lock| lock.lock_slowly(limit)) }
}

/// Unlocks as the calling thread: what is left to do for `left`, or all of it.
///
/// # Safety
/// As [`opened`].
pub unsafe fn unlock<L: OpaqueLock>(lock: *const L, left: Option<UnlockOutcome>) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { act(lock, |lock| lock.unlock_slowly(left, None)) }
}

/// Does something with the lock that gives nothing but a status.
///
/// # Safety
/// As [`opened`].
#[inline]
pub unsafe fn act<L: OpaqueLock>(lock: *const L, act: impl FnOnce(&Handle<L::Kind>) -> Result<()>) -> i32 {
    // SAFETY: the caller's promise.
    status_in_handler(|| act(unsafe { opened(lock) }?).map(|()| TURNLOCK_OK))
}
