//! What locks of every kind have, from C.

use super::{
    acquired::{tell_previous_owner, turnlock_previous_owner},
    boundary::{invalid, status, status_in_handler},
    handle::OpaqueHandle,
    info::{
        TURNLOCK_DEATH_POLICY_INFORM, TURNLOCK_DEATH_POLICY_RELEASE, tell_all, turnlock_participant_info,
    },
    operations::Opened,
};
use super::{
    barrier::turnlock_barrier, condition::turnlock_condition, event::turnlock_event,
    grouplock::turnlock_grouplock, keyedlock::turnlock_keyedlock, mutex::turnlock_mutex, once::turnlock_once,
    rangelock::turnlock_rangelock, ring::turnlock_ring, rwlock::turnlock_rwlock,
    semaphore::turnlock_semaphore,
};
use crate::inspect::{Holder, Waiter};
use crate::kind::{AnyHandleRef, DeathPolicy, Handle, LockKind, of_any};
use crate::layout::Kind;
use std::time::Duration;
use turnlock_core::acquire::site::Limit;
use turnlock_core::error::{
    Result,
    status::{TURNLOCK_CONTENDED, TURNLOCK_OK},
};

/// A lock of any kind: every handle of a lock may be cast to it, `(turnlock_lock *)mutex`. It is the same handle, to be closed by
/// the function of its kind.
#[allow(non_camel_case_types)]
pub struct turnlock_lock {
    _opaque: [u8; 0],
}

/// A lock behind a handle, and the handle's number.
#[derive(Clone, Copy)]
pub(super) struct Any<'a> {
    pub lock: AnyHandleRef<'a>,
    pub serial: u64,
}

/// Returns the lock behind a handle.
///
/// # Safety
/// NULL, or a handle of any kind of lock, which no thread closes meanwhile.
pub(super) unsafe fn any<'a>(lock: *const turnlock_lock) -> Result<Any<'a>> {
    macro_rules! of_kind {
        ($opaque:ty, $kind:ident) => {{
            let handle = lock.cast::<Opened<$opaque>>();
            // SAFETY: the caller's promise.
            let (serial, lock) = unsafe { (OpaqueHandle::serial(handle), OpaqueHandle::get(handle)?) };
            Ok(Any { lock: AnyHandleRef::$kind(lock), serial: *serial })
        }};
    }
    const MUTEX: u8 = Kind::Mutex as u8;
    const TURN_RING: u8 = Kind::TurnRing as u8;
    const RW_LOCK: u8 = Kind::RwLock as u8;
    const SEMAPHORE: u8 = Kind::Semaphore as u8;
    const RANGE_LOCK: u8 = Kind::RangeLock as u8;
    const KEYED_LOCK: u8 = Kind::KeyedLock as u8;
    const GROUP_LOCK: u8 = Kind::GroupLock as u8;
    const CONDITION: u8 = Kind::Condition as u8;
    const EVENT: u8 = Kind::Event as u8;
    const BARRIER: u8 = Kind::Barrier as u8;
    const ONCE: u8 = Kind::Once as u8;
    // SAFETY: the caller's promise; all handles are alike as far as that.
    match unsafe { OpaqueHandle::<crate::LockFile>::number(lock.cast(), "lock") }? {
        MUTEX => of_kind!(turnlock_mutex, Mutex),
        TURN_RING => of_kind!(turnlock_ring, TurnRing),
        RW_LOCK => of_kind!(turnlock_rwlock, RwLock),
        SEMAPHORE => of_kind!(turnlock_semaphore, Semaphore),
        RANGE_LOCK => of_kind!(turnlock_rangelock, RangeLock),
        KEYED_LOCK => of_kind!(turnlock_keyedlock, KeyedLock),
        GROUP_LOCK => of_kind!(turnlock_grouplock, GroupLock),
        CONDITION => of_kind!(turnlock_condition, Condition),
        EVENT => of_kind!(turnlock_event, Event),
        BARRIER => of_kind!(turnlock_barrier, Barrier),
        ONCE => of_kind!(turnlock_once, Once),
        _ => Err(invalid(
            "this is not a handle of a lock: give one of turnlock_mutex_open or of another kind of lock, cast to turnlock_lock",
        )),
    }
}

/// After TURNLOCK_ERROR_REPLACED: opens the lock of the same name in the file that the path names by now, and puts a
/// handle of the same kind into `reopened`. File and lock are created, with the capacities, permissions and options of these,
/// if they are not there. The old handle stays open: close it. A holder in the old file keeps no participant out of
/// the new one. Errors as `turnlock_file_open` and `turnlock_mutex_open`.
///
/// # Safety
/// `lock` is a handle of a lock; `reopened` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_lock_reopen(
    lock: *const turnlock_lock,
    reopened: *mut *mut turnlock_lock,
) -> i32 {
    status(|| {
        if reopened.is_null() {
            return Err(invalid("the place for the lock handle is NULL"));
        }
        // SAFETY: the caller's promise.
        let lock = unsafe { any(lock) }?.lock;
        let opened: *mut turnlock_lock =
            of_any!(AnyHandleRef, lock, handle => OpaqueHandle::open(handle.reopened()?).cast());
        // SAFETY: not NULL, and the caller's promise.
        unsafe { reopened.write(opened) };
        Ok(TURNLOCK_OK)
    })
}

/// Puts into `policy` what a holder's death means here, as the lock's creator said: TURNLOCK_DEATH_POLICY_... Permits of a
/// semaphore just come back: TURNLOCK_DEATH_POLICY_RELEASE.
///
/// # Safety
/// `lock` is a handle of a lock; `policy` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_lock_death_policy(lock: *const turnlock_lock, policy: *mut u32) -> i32 {
    status(|| {
        if policy.is_null() {
            return Err(invalid("the place for the death policy is NULL"));
        }
        // SAFETY: the caller's promise.
        let of_lock = match unsafe { any(lock) }?.lock {
            AnyHandleRef::Semaphore(_) => DeathPolicy::Release,
            lock => of_any!(AnyHandleRef, lock, handle => handle.death_policy()),
        };
        let told = match of_lock {
            DeathPolicy::Inform => TURNLOCK_DEATH_POLICY_INFORM,
            DeathPolicy::Release => TURNLOCK_DEATH_POLICY_RELEASE,
        };
        // SAFETY: not NULL, and the caller's promise.
        unsafe { policy.write(told) };
        Ok(TURNLOCK_OK)
    })
}

/// Puts into `patience_ns` how long waiters let others pass at this lock, as its creator said, in nanoseconds: 0 is
/// strict first come first served, or a ring.
///
/// # Safety
/// `lock` is a handle of a lock; `patience_ns` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_lock_patience(lock: *const turnlock_lock, patience_ns: *mut u64) -> i32 {
    status(|| {
        if patience_ns.is_null() {
            return Err(invalid("the place for the patience is NULL"));
        }
        // SAFETY: the caller's promise.
        let lock = unsafe { any(lock) }?.lock;
        let patience = of_any!(AnyHandleRef, lock, handle => handle.patience());
        // SAFETY: not NULL, and the caller's promise.
        unsafe { patience_ns.write(u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX)) };
        Ok(TURNLOCK_OK)
    })
}

/// The holders of the lock, and as what they hold it (`mode`, `permits`, `first`, `last`). Fills in the first
/// `capacity` elements of the array `holders`, and puts into `count` how many have it, which may be more. Set the
/// `size` of the first element; the others are taken to be as large, and their `size` is set. With capacity 0 `holders`
/// may be NULL.
///
/// A look at one moment: they may have unlocked by the time the call returns; a dead holder is shown, as dead, until the next
/// participant comes. Does not wait and takes no slot. _DAMAGED, _INVALID_ARGUMENT, _NOT_FOUND if the lock was removed.
///
/// # Safety
/// `lock` is a handle of a lock; `holders` is writable for `capacity` structs of the first one's size; `count` is NULL or
/// writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_lock_holders(
    lock: *const turnlock_lock,
    capacity: usize,
    holders: *mut turnlock_participant_info,
    count: *mut usize,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let lock = unsafe { any(lock) }?.lock;
        let find = || of_any!(AnyHandleRef, lock, handle => holders_of(handle));
        // SAFETY: the caller's promise.
        unsafe { tell_all(holders, capacity, count, find) }
    })
}

/// The waiters for the lock, and for what of it they wait: first the queue, its head first, then the waiters that have
/// backed off. Of a ring the other participants on it, in the order of their turns: waiters, and members that do not
/// wait now (TURNLOCK_STATE_RING_MEMBER). Otherwise as `turnlock_lock_holders`.
///
/// # Safety
/// `lock` is a handle of a lock; the rest as `turnlock_lock_holders`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_lock_waiters(
    lock: *const turnlock_lock,
    capacity: usize,
    waiters: *mut turnlock_participant_info,
    count: *mut usize,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let lock = unsafe { any(lock) }?.lock;
        let find = || of_any!(AnyHandleRef, lock, handle => waiters_of(handle));
        // SAFETY: the caller's promise.
        unsafe { tell_all(waiters, capacity, count, find) }
    })
}

// Functions of their own: six frames of them in one would need more stack than a call may.

fn holders_of<K: LockKind>(lock: &Handle<K>) -> Result<Vec<Holder>> {
    Ok(lock.status()?.holders)
}

fn waiters_of<K: LockKind>(lock: &Handle<K>) -> Result<Vec<Waiter>> {
    Ok(lock.status()?.queue)
}

/// Whether another participant waits while the calling thread holds the lock, or some of it: TURNLOCK_CONTENDED, or
/// TURNLOCK_OK. For a long holder, that may unlock for a moment where another participant waits. A signal handler may
/// call it.
///
/// Of a mutex: one look where no participant waits, at the bias word if the lock was taken by its bias, else at the
/// hints of the holder's own cell. It misses a waiter that came some microseconds ago and spins, and may miss one that
/// still has patience and has backed off. Where it says yes, a participant waited a moment ago. Of other kinds: one
/// load for each slot in use.
///
/// TURNLOCK_ERROR_NOT_OWNER if this thread has nothing of the lock.
///
/// # Safety
/// `lock` is a handle of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_lock_is_contended(lock: *const turnlock_lock) -> i32 {
    status_in_handler(|| {
        // SAFETY: the caller's promise.
        let lock = unsafe { any(lock) }?.lock;
        of_any!(AnyHandleRef, lock, handle => handle.is_contended()).map(contended)
    })
}

/// Whether another participant waits, as a status.
pub(super) fn contended(is_contended: bool) -> i32 {
    if is_contended { TURNLOCK_CONTENDED } else { TURNLOCK_OK }
}

/// The last holder of this lock that died; of reader/writer locks, range locks and keyed locks: exclusively.
/// TURNLOCK_ERROR_NOT_FOUND if none ever did.
///
/// # Safety
/// `lock` is a handle of a lock; `owner` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_lock_previous_owner(
    lock: *const turnlock_lock,
    owner: *mut turnlock_previous_owner,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let lock = unsafe { any(lock) }?.lock;
        // SAFETY: the caller's promise.
        of_any!(AnyHandleRef, lock, handle => unsafe { tell_previous_owner(handle, owner) })
    })
}

/// Opens a lock that is not recoverable again, in its turn and beside no other holder, after the data were repaired or
/// given up. Of a range lock or a keyed lock: marks all parts consistent that dead participants left; of a group lock, all that
/// dead members left. A semaphore, a
/// condition and an event are left as they are; a barrier is opened anew, and a once is to be done again. Errors as `turnlock_mutex_lock`, but for _NOT_RECOVERABLE.
///
/// # Safety
/// `lock` is a handle of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_lock_reset(lock: *const turnlock_lock) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { reset(lock, Limit::Forever) }
}

/// `turnlock_lock_reset` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
///
/// # Safety
/// `lock` is a handle of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_lock_try_reset(lock: *const turnlock_lock) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { reset(lock, Limit::Never) }
}

/// `turnlock_lock_reset`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT.
///
/// # Safety
/// `lock` is a handle of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_lock_reset_for(lock: *const turnlock_lock, nanoseconds: u64) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { reset(lock, Limit::For(Duration::from_nanos(nanoseconds))) }
}

/// # Safety
/// As [`any`].
unsafe fn reset(lock: *const turnlock_lock, limit: Limit) -> i32 {
    status_in_handler(|| {
        // SAFETY: the caller's promise.
        match unsafe { any(lock) }?.lock {
            // Nothing is wrong with it at any time.
            AnyHandleRef::Semaphore(handle) => handle.check_exists()?,
            AnyHandleRef::Condition(handle) => handle.check_exists()?,
            AnyHandleRef::Event(handle) => handle.check_exists()?,
            AnyHandleRef::Barrier(handle) => handle.reset_barrier(handle.parties()?)?,
            AnyHandleRef::Once(handle) => handle.reset_once(limit)?,
            lock => of_any!(AnyHandleRef, lock, handle => handle.reset(limit))?,
        }
        Ok(TURNLOCK_OK)
    })
}
