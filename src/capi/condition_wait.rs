//! Waiting at a condition with a lock, from C.

use super::{
    acquired::{check_acquired, tell_dead, turnlock_acquired},
    boundary::{invalid, status_in_handler},
    condition::turnlock_condition,
    hold::{hold, turnlock_hold},
    limits::limit,
    lock::{any, turnlock_lock},
    operations::opened,
};
use crate::kind::{AnyHandleRef, Handle, Held, LockKind, RwLockKind, Waited};
use turnlock_core::error::Result;

/// Unlocks `lock`, a mutex or a reader/writer lock that the calling thread holds exclusively, cast to `turnlock_lock`; waits
/// until the condition is notified; and locks it again. `wait` and `time_ns` say how long it waits for the notification:
/// TURNLOCK_WAIT_FOREVER, _AT_MOST, _UNTIL. The lock is waited for without a limit. 0, or TURNLOCK_OWNER_DEAD if the last holder of the lock died
/// inside, as `turnlock_mutex_lock`. A recursive mutex is unlocked whole.
///
/// The lock is held again, as before, after TURNLOCK_ERROR_TIMED_OUT, _CANCELLED, _INTERRUPTED, _NOT_FOUND (the condition was removed,
/// also meanwhile), _INVALID_ARGUMENT (it is waited for with another lock at this moment; the lock is one of another file, or of a kind that
/// is not held exclusively), _HOLD_BUSY (in a signal handler that has interrupted a wait of its thread here); and _NOT_OWNER says
/// that it was not held. It is not held after _NOT_RECOVERABLE, _SYSTEM and _PERMISSION: then the notification goes to another
/// waiter. After _DAMAGED and _REPLACED, by which the file is of no more use, it may be held: unlock it all the same. `acquired` may be NULL. It is filled in whenever the lock was taken again, also
/// where the call fails.
///
/// # Safety
/// `condition` is a condition handle; `lock` is NULL or a handle of a lock; `acquired` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_condition_wait(
    condition: *const turnlock_condition,
    lock: *const turnlock_lock,
    wait: u32,
    time_ns: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    status_in_handler(|| {
        // SAFETY: the caller's promise.
        unsafe { check_acquired(acquired) }?;
        // SAFETY: the caller's promise.
        let (condition, lock) = unsafe { (opened(condition)?, any(lock)?) };
        let limit = limit(wait, time_ns)?;
        match lock.lock {
            AnyHandleRef::Mutex(handle) => {
                let held = Held { handle, claim: (), participant: None, token: None };
                let waited = condition.wait(&held, limit)?;
                // SAFETY: checked above.
                unsafe { told(handle, waited, acquired) }
            }
            AnyHandleRef::RwLock(handle) => {
                handle.check_exclusive()?;
                let held = Held { handle, claim: RwLockKind::everything(), participant: None, token: None };
                let waited = condition.wait(&held, limit)?;
                // SAFETY: checked above.
                unsafe { told(handle, waited, acquired) }
            }
            _ => Err(not_exclusive()),
        }
    })
}

/// Does what `turnlock_condition_wait` does with the lock that the hold has: a mutex, or a reader/writer lock in exclusive mode.
/// Meanwhile the hold is in a call, and other calls on it are TURNLOCK_ERROR_HOLD_BUSY; `turnlock_hold_cancel` ends the wait.
///
/// # Safety
/// `hold` is a hold handle, `condition` a condition handle; `acquired` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_hold_wait(
    hold: *const turnlock_hold,
    condition: *const turnlock_condition,
    wait: u32,
    time_ns: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    status_in_handler(|| {
        // SAFETY: the caller's promise.
        unsafe { check_acquired(acquired) }?;
        // SAFETY: the caller's promise.
        let (hold, condition) = unsafe { (self::hold(hold)?, opened(condition)?) };
        let (waited, dead_owner) = hold.wait(condition, limit(wait, time_ns)?)?;
        // SAFETY: checked above.
        unsafe { told_dead(waited, || dead_owner, acquired) }
    })
}

/// # Safety
/// As [`tell_dead`].
unsafe fn told<K: LockKind>(
    lock: &Handle<K>,
    waited: Waited,
    acquired: *mut turnlock_acquired,
) -> Result<i32> {
    // SAFETY: the caller's promise.
    unsafe { told_dead(waited, || lock.dead_owner(), acquired) }
}

/// # Safety
/// As [`tell_dead`].
unsafe fn told_dead(
    Waited { notified, relocked }: Waited,
    dead_owner: impl FnOnce() -> (u64, u32),
    acquired: *mut turnlock_acquired,
) -> Result<i32> {
    let acquisition = relocked?;
    // SAFETY: the caller's promise.
    let status = unsafe { tell_dead(acquisition, dead_owner, acquired) };
    notified.map(|()| status)
}

fn not_exclusive() -> turnlock_core::error::Error {
    invalid(
        "a condition waits with a mutex, or with a reader/writer lock that is held exclusively: give one of these, cast to turnlock_lock",
    )
}
