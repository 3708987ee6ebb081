//! Who holds a lock and who waits for it, from C.

use super::{
    info::turnlock_participant_info, mutex::turnlock_mutex, operations, participant::turnlock_participant,
    ring::turnlock_ring,
};

/// Who has the lock. TURNLOCK_ERROR_NOT_FOUND if nobody has. It may have unlocked by the time the call returns; a dead
/// holder is shown, as dead, until the next one comes.
///
/// Waits for nobody and takes no slot. _DAMAGED, _INVALID_ARGUMENT.
///
/// # Safety
/// `mutex` is a mutex handle; `holder` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_mutex_holder(
    mutex: *const turnlock_mutex,
    holder: *mut turnlock_participant_info,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::holder(mutex, holder) }
}

/// Who waits for the lock: those who are queued, first the one who is next, then those who stand by. Fills in the first
/// `capacity` elements of the array `waiters`, and puts into `count` how many wait, which may be more. Set the `size` of
/// the first element; the others are taken to be as large, and their `size` is set. With capacity 0 `waiters` may be
/// NULL.
///
/// A look at one moment, as `turnlock_mutex_holder`. _DAMAGED, _INVALID_ARGUMENT.
///
/// # Safety
/// `mutex` is a mutex handle; `waiters` is writable for `capacity` structs of the first one's size; `count` is NULL or
/// writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_mutex_waiters(
    mutex: *const turnlock_mutex,
    capacity: usize,
    waiters: *mut turnlock_participant_info,
    count: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::waiters(mutex, capacity, waiters, count) }
}

/// Whether another participant is queued behind the calling thread, which holds the lock: TURNLOCK_CONTENDED, or
/// TURNLOCK_OK. For a long holder, that may unlock for a moment where somebody waits.
///
/// One look where nobody waits: at the bias word if the lock was taken by its bias, else at the hints of the holder's own
/// cell. It misses who came some microseconds ago and spins, and may miss who still has patience and stands by. Where it
/// says yes, somebody waited a moment ago. A signal handler may call it.
///
/// TURNLOCK_ERROR_NOT_OWNER if this thread does not have the lock.
///
/// # Safety
/// `mutex` is a mutex handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_mutex_is_contended(mutex: *const turnlock_mutex) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::is_contended(mutex) }
}

/// `turnlock_mutex_is_contended`, as `participant`, from any thread.
///
/// # Safety
/// `participant` is a participant handle and `mutex` a mutex handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_mutex_is_contended_as(
    mutex: *const turnlock_mutex,
    participant: *const turnlock_participant,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::is_contended_as(mutex, participant) }
}

/// Who has the turn. As `turnlock_mutex_holder`.
///
/// # Safety
/// `ring` is a ring handle; `holder` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_ring_holder(
    ring: *const turnlock_ring,
    holder: *mut turnlock_participant_info,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::holder(ring, holder) }
}

/// Who else is on the ring, in the order of their turns: those who wait, and those who stand in it and do not wait now
/// (TURNLOCK_STATE_STANDING). Otherwise as `turnlock_mutex_waiters`.
///
/// # Safety
/// `ring` is a ring handle; the rest as `turnlock_mutex_waiters`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_ring_waiters(
    ring: *const turnlock_ring,
    capacity: usize,
    waiters: *mut turnlock_participant_info,
    count: *mut usize,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::waiters(ring, capacity, waiters, count) }
}

/// Whether another participant waits for its turn while the calling thread has it: TURNLOCK_CONTENDED, or TURNLOCK_OK.
/// One load for each slot in use; otherwise as `turnlock_mutex_is_contended`.
///
/// # Safety
/// `ring` is a ring handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_ring_is_contended(ring: *const turnlock_ring) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::is_contended(ring) }
}

/// `turnlock_ring_is_contended`, as `participant`, from any thread.
///
/// # Safety
/// `participant` is a participant handle and `ring` a ring handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_ring_is_contended_as(
    ring: *const turnlock_ring,
    participant: *const turnlock_participant,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::is_contended_as(ring, participant) }
}
