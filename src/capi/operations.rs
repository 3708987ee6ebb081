//! The bodies of the functions that every kind of lock has. The exported ones name the kind, and nothing more.

use super::{
    acquired::{check_acquired, tell, tell_previous_owner, turnlock_acquired, turnlock_previous_owner},
    boundary::{invalid, status, status_in_handler},
    handle::{Marked, OpaqueHandle},
    info::{
        TURNLOCK_DEATH_POLICY_INFORM, TURNLOCK_DEATH_POLICY_RELEASE, tell_all, tell_one,
        turnlock_participant_info,
    },
    participant::{self, participant, turnlock_participant},
};
use crate::attach::fast_path::Left;
use crate::kind::{Acquired, DeathPolicy, Handle, LockKind, Participant};
use turnlock_core::acquire::site::Limit;
use turnlock_core::error::{
    Error, Result,
    status::{TURNLOCK_CONTENDED, TURNLOCK_OK},
};

/// An opaque C type that stands for a kind of lock: a pointer to it is one to an `OpaqueHandle<Handle<Self::Kind>>`.
pub trait OpaqueLock {
    /// The kind.
    type Kind: LockKind;
}

impl<K: LockKind> Marked for Handle<K> {
    const NUMBER: u8 = K::KIND as u8;
    const NAME: &'static str = K::NAME;
}

/// What a C handle of a lock points to.
pub type Opened<L> = OpaqueHandle<Handle<<L as OpaqueLock>::Kind>>;

/// Returns the lock behind a C handle.
///
/// # Safety
/// NULL, or a handle of this kind of lock, which nobody closes meanwhile.
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

/// Takes the lock as the calling thread if it is biased to it: the fast path, which the functions try first that take a
/// lock, whatever their limit. Returns whether it was taken; else [`lock`] goes on.
///
/// # Safety
/// As [`lock`].
#[inline(always)]
pub unsafe fn lock_biased<L: OpaqueLock>(lock: *const L, acquired: *mut turnlock_acquired) -> bool {
    // SAFETY: the caller's promise.
    unsafe { told_alone(acquired, || peek(lock)?.lock_biased()) }
}

/// [`lock_biased`], by `enter`: the fast path of a kind that has another one.
///
/// # Safety
/// As [`lock`].
#[inline(always)]
pub unsafe fn enter_quickly<L: OpaqueLock>(
    lock: *const L,
    acquired: *mut turnlock_acquired,
    enter: impl FnOnce(&Handle<L::Kind>) -> Option<u64>,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe { told_alone(acquired, || enter(peek(lock)?)) }
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

/// [`acquire`], as `as_whom`.
///
/// # Safety
/// As [`acquire`]; `as_whom` is a participant handle.
pub unsafe fn acquire_as<L: OpaqueLock>(
    lock: *const L,
    as_whom: *const turnlock_participant,
    acquired: *mut turnlock_acquired,
    take: impl FnOnce(&Handle<L::Kind>, &Participant) -> Result<Acquired>,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { acquire(lock, acquired, |lock| take(lock, participant(as_whom)?)) }
}

/// Takes the lock by `enter`, which returns the fencing token. Of an `acquired` of another size the slow way says what is
/// wrong with it, or fills in what both know.
///
/// # Safety
/// `acquired` is NULL, or writable as far as its `size` says.
#[inline(always)]
unsafe fn told_alone(acquired: *mut turnlock_acquired, enter: impl FnOnce() -> Option<u64>) -> bool {
    const SIZE: usize = size_of::<turnlock_acquired>();
    if acquired.is_null() {
        return enter().is_some();
    }
    // SAFETY: not NULL, and the caller's promise.
    unsafe {
        if (*acquired).size != SIZE {
            return false;
        }
        let Some(fencing_token) = enter() else { return false };
        acquired.write(turnlock_acquired {
            size: SIZE,
            fencing_token,
            previous_owner_fencing_token: 0,
            previous_owner_pid: 0,
            previous_owner_died: 0,
        });
    }
    true
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
    if unsafe { peek(lock).is_some_and(Handle::reload_cache) && lock_biased(lock, acquired) } {
        return TURNLOCK_OK;
    }
    // SAFETY: the caller's promise.
    unsafe { acquire(lock, acquired, |lock| lock.lock_slowly(limit)) }
}

/// [`lock_biased`], as `as_whom`; else [`lock_as`] goes on.
///
/// # Safety
/// As [`lock_as`].
#[inline(always)]
pub unsafe fn lock_biased_as<L: OpaqueLock>(
    lock: *const L,
    as_whom: *const turnlock_participant,
    acquired: *mut turnlock_acquired,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe { told_alone(acquired, || peek(lock)?.lock_biased_as(participant::peek(as_whom)?)) }
}

/// Takes the lock as `as_whom`, where [`lock_biased_as`] did not.
///
/// # Safety
/// As [`lock`]; `as_whom` is a participant handle.
pub unsafe fn lock_as<L: OpaqueLock>(
    lock: *const L,
    as_whom: *const turnlock_participant,
    limit: Limit,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { acquire_as(lock, as_whom, acquired, |lock, as_whom| lock.lock_as(as_whom, limit)) }
}

/// Unlocks as the calling thread: what is left to do for `left`, or all of it.
///
/// # Safety
/// As [`opened`].
pub unsafe fn unlock<L: OpaqueLock>(lock: *const L, left: Option<Left>) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { act(lock, |lock| lock.unlock_slowly(left, None)) }
}

/// [`unlock`], as `as_whom`.
///
/// # Safety
/// As [`lock_as`].
pub unsafe fn unlock_as<L: OpaqueLock>(
    lock: *const L,
    as_whom: *const turnlock_participant,
    left: Option<Left>,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { act_as(lock, as_whom, |lock, as_whom| lock.unlock_slowly_as(as_whom, left, None)) }
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

/// [`act`], as `participant`.
///
/// # Safety
/// As [`opened`]; `as_whom` is a participant handle.
#[inline]
pub unsafe fn act_as<L: OpaqueLock>(
    lock: *const L,
    as_whom: *const turnlock_participant,
    act: impl FnOnce(&Handle<L::Kind>, &Participant) -> Result<()>,
) -> i32 {
    status_in_handler(|| {
        // SAFETY: the caller's promise.
        let (lock, as_whom) = unsafe { (opened(lock)?, participant(as_whom)?) };
        act(lock, as_whom).map(|()| TURNLOCK_OK)
    })
}

/// Says who died holding the lock, last.
///
/// # Safety
/// As [`opened`]; `owner` is NULL, or writable as far as its `size` says.
pub unsafe fn previous_owner<L: OpaqueLock>(lock: *const L, owner: *mut turnlock_previous_owner) -> i32 {
    // SAFETY: the caller's promise.
    status(|| unsafe { tell_previous_owner(opened(lock)?, owner) })
}

/// Says what a holder's death means.
///
/// # Safety
/// As [`opened`]; `policy` is NULL or writable.
pub unsafe fn death_policy<L: OpaqueLock>(lock: *const L, policy: *mut u32) -> i32 {
    status(|| {
        if policy.is_null() {
            return Err(invalid("the place for the death policy is NULL"));
        }
        // SAFETY: the caller's promise.
        let told = match unsafe { opened(lock) }?.death_policy() {
            DeathPolicy::Inform => TURNLOCK_DEATH_POLICY_INFORM,
            DeathPolicy::Release => TURNLOCK_DEATH_POLICY_RELEASE,
        };
        // SAFETY: not NULL, and the caller's promise.
        unsafe { policy.write(told) };
        Ok(TURNLOCK_OK)
    })
}

/// Says who has the lock.
///
/// # Safety
/// As [`opened`]; `holder` is NULL, or writable as far as its `size` says.
pub unsafe fn holder<L: OpaqueLock>(lock: *const L, holder: *mut turnlock_participant_info) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let lock = unsafe { opened(lock) }?;
        let find = || lock.status()?.holders.first().map(Into::into).ok_or_else(|| lock.not_found("holds"));
        // SAFETY: the caller's promise.
        unsafe { tell_one(holder, "holder", find) }
    })
}

/// Says who has the lock, of a kind that several may have.
///
/// # Safety
/// As [`opened`]; the rest as [`tell_all`].
pub unsafe fn holders<L: OpaqueLock>(
    lock: *const L,
    capacity: usize,
    holders: *mut turnlock_participant_info,
    count: *mut usize,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let lock = unsafe { opened(lock) }?;
        let find = || Ok(lock.status()?.holders);
        // SAFETY: the caller's promise.
        unsafe { tell_all(holders, capacity, count, find) }
    })
}

/// Says who waits for the lock.
///
/// # Safety
/// As [`opened`]; the rest as [`tell_all`].
pub unsafe fn waiters<L: OpaqueLock>(
    lock: *const L,
    capacity: usize,
    waiters: *mut turnlock_participant_info,
    count: *mut usize,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let lock = unsafe { opened(lock) }?;
        let find = || Ok(lock.status()?.queue);
        // SAFETY: the caller's promise.
        unsafe { tell_all(waiters, capacity, count, find) }
    })
}

/// Says whether another participant waits behind the calling thread.
///
/// # Safety
/// As [`opened`].
pub unsafe fn is_contended<L: OpaqueLock>(lock: *const L) -> i32 {
    // SAFETY: the caller's promise.
    status_in_handler(|| unsafe { opened(lock) }?.is_contended().map(contended))
}

/// [`is_contended`], behind `participant`.
///
/// # Safety
/// As [`opened`]; `as_whom` is a participant handle.
pub unsafe fn is_contended_as<L: OpaqueLock>(lock: *const L, as_whom: *const turnlock_participant) -> i32 {
    status_in_handler(|| {
        // SAFETY: the caller's promise.
        let (lock, as_whom) = unsafe { (opened(lock)?, participant(as_whom)?) };
        lock.is_contended_as(as_whom).map(contended)
    })
}

fn contended(is_contended: bool) -> i32 {
    if is_contended { TURNLOCK_CONTENDED } else { TURNLOCK_OK }
}
