//! Turn rings, from C.

use super::{
    acquired::turnlock_acquired,
    boundary::{invalid, name, options, status},
    death_policy,
    file::{lock_file, turnlock_file},
    operations::{self, OpaqueLock},
};
use crate::kind::{RingAlgorithm, RingKind};
use std::{ffi::c_char, mem::offset_of, time::Duration};
use turnlock_core::acquire::site::Limit;

/// A turn ring in a lock file: a lock whose turn goes round. A participant that had the turn gets it again only after
/// every other one that wants it. Any thread may use the handle; the turn belongs to the thread (or the hold) that took
/// it.
#[allow(non_camel_case_types)]
pub struct turnlock_ring {
    _opaque: [u8; 0],
}

impl OpaqueLock for turnlock_ring {
    type Kind = RingKind;
}

/// `turnlock_ring_options.algorithm`: Dijkstra's K-state ring, which stabilises itself.
pub const TURNLOCK_ALGORITHM_K_STATE: u32 = 2;
/// `turnlock_ring_options.algorithm`: Raynal's ring modulo n squared: the same rule for all.
pub const TURNLOCK_ALGORITHM_RAYNAL: u32 = 3;
/// `turnlock_ring_options.algorithm`: Raynal's sum ring: the turn goes from slot i to slot i + step.
pub const TURNLOCK_ALGORITHM_SUM: u32 = 4;
/// `turnlock_ring_options.flags`: do not create the lock.
pub const TURNLOCK_RING_MUST_EXIST: u32 = 1;
/// `turnlock_ring_options.flags`: a participant that takes a turn through this handle stays a member of the ring, and
/// the ring waits for it, until `turnlock_ring_leave`, the end of its thread, or its death. Otherwise it is in the ring
/// only while it waits or has the turn.
pub const TURNLOCK_RING_MEMBER: u32 = 2;

/// `turnlock_ring_options.flags`: a holder's death needs no repair: the next holder is told (TURNLOCK_OWNER_DEAD) and has
/// nothing to mark consistent. One that exists and was created otherwise is TURNLOCK_ERROR_KIND.
pub const TURNLOCK_RING_RELEASE_ON_DEATH: u32 = 4;
/// `turnlock_ring_options.flags`: a holder's death needs a repair, marked by `turnlock_ring_mark_consistent`: what a
/// ring gets that is created without any of these flags. One that exists and was created otherwise is
/// TURNLOCK_ERROR_KIND.
pub const TURNLOCK_RING_INFORM_ON_DEATH: u32 = 16;
/// `turnlock_ring_options.flags`: as TURNLOCK_RING_RELEASE_ON_DEATH if the lock is created now and neither of the two
/// above is given; one that exists keeps what it has. For a caller that does not look at TURNLOCK_OWNER_DEAD.
pub const TURNLOCK_RING_RELEASE_BY_DEFAULT: u32 = 32;

/// How to open, or create, a turn ring. Set `size` to `sizeof(struct turnlock_ring_options)` and everything else that
/// you do not care about to 0.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy)]
pub struct turnlock_ring_options {
    /// `sizeof(struct turnlock_ring_options)`.
    pub size: usize,
    /// TURNLOCK_ALGORITHM_...: which it must be. 0 = whichever it is, and TURNLOCK_ALGORITHM_RAYNAL if it is created
    /// now.
    pub algorithm: u32,
    /// TURNLOCK_RING_... or'ed together.
    pub flags: u32,
    /// Of the sum ring: from one slot to the next in order of turns; coprime to the number of the file's participants,
    /// or TURNLOCK_ERROR_INVALID_ARGUMENT. 0 = 1. Of other rings: 0.
    pub step: u32,
    /// 0.
    pub reserved: u32,
}

/// Opens the ring called `name` (1 to 63 bytes of UTF-8), creating it if the file has no lock of that name, and puts a
/// handle into `ring`. `options` may be NULL.
///
/// TURNLOCK_ERROR_BAD_NAME, _LOCKS_FULL, _KIND (the name belongs to another kind of lock, to another ring, or to one of
/// another step or death policy), _NOT_FOUND, _PARTICIPANTS_FULL, _INVALID_ARGUMENT, _DAMAGED.
///
/// # Safety
/// `file` is a file handle, `name` a NUL-terminated string, `options` NULL or a struct whose `size` is right, `ring`
/// NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_ring_open(
    file: *const turnlock_file,
    name: *const c_char,
    options: *const turnlock_ring_options,
    ring: *mut *mut turnlock_ring,
) -> i32 {
    status(|| {
        // SAFETY: the caller's promise.
        let (file, name) = unsafe { (lock_file(file)?, self::name(name)?) };
        // SAFETY: the caller's promise.
        let given = unsafe { self::options(options, offset_of!(turnlock_ring_options, reserved) + 4) }?;
        let algorithm = match given.algorithm {
            0 => None,
            TURNLOCK_ALGORITHM_RAYNAL => Some(RingAlgorithm::Raynal),
            TURNLOCK_ALGORITHM_K_STATE => Some(RingAlgorithm::KState),
            TURNLOCK_ALGORITHM_SUM => Some(RingAlgorithm::Sum { step: given.step.max(1) }),
            _ => return Err(invalid("the algorithm is not that of a ring this version of turnlock knows")),
        };
        if given.flags & !(TURNLOCK_RING_MUST_EXIST | TURNLOCK_RING_MEMBER | death_policy::ALL) != 0
            || (given.step != 0 && given.algorithm != TURNLOCK_ALGORITHM_SUM)
        {
            return Err(invalid(
                "a flag is one that this version of turnlock does not know, or a step is given for a ring that has none",
            ));
        }
        if given.reserved != 0 {
            return Err(invalid("the reserved member of the options struct is not 0"));
        }
        let (death_policy, default_death_policy) = death_policy::of(given.flags)?;
        let mut options = file.ring_options();
        if let Some(algorithm) = algorithm {
            options.algorithm(algorithm);
        }
        options.default_death_policy(default_death_policy);
        if let Some(death_policy) = death_policy {
            options.death_policy(death_policy);
        }
        options.member(given.flags & TURNLOCK_RING_MEMBER != 0);
        options.must_exist(given.flags & TURNLOCK_RING_MUST_EXIST != 0);
        // SAFETY: the caller's promise.
        unsafe { operations::open(ring, || Ok(options.open(name)?.into_handle())) }
    })
}

/// Closes a ring handle; a member stays in the ring. TURNLOCK_ERROR_STILL_HELD, and nothing is done,
/// while the calling thread has the turn.
///
/// # Safety
/// `ring` is NULL or a ring handle; no other thread is inside a call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_ring_close(ring: *mut turnlock_ring) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::close(ring) }
}

/// Waits for the turn as long as it takes. 0, or TURNLOCK_OWNER_DEAD: it is your turn and the previous holder died
/// inside, so repair the data and call `turnlock_ring_mark_consistent`. `acquired` may be NULL.
///
/// Errors as `turnlock_mutex_lock`.
///
/// # Safety
/// `ring` is a ring handle; `acquired` is NULL, or writable as far as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_ring_lock(
    ring: *const turnlock_ring,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::lock(ring, Limit::Forever, acquired) }
}

/// Takes the turn if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK. Otherwise as `turnlock_ring_lock`.
///
/// # Safety
/// As `turnlock_ring_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_ring_try_lock(
    ring: *const turnlock_ring,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::lock(ring, Limit::Never, acquired) }
}

/// Waits for the turn at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT; a member stays in the
/// ring, and the ring waits for it when its turn comes. Otherwise as `turnlock_ring_lock`.
///
/// # Safety
/// As `turnlock_ring_lock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_ring_lock_for(
    ring: *const turnlock_ring,
    nanoseconds: u64,
    acquired: *mut turnlock_acquired,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::lock(ring, Limit::For(Duration::from_nanos(nanoseconds)), acquired) }
}

/// Passes the turn on. Unlocking after TURNLOCK_OWNER_DEAD without `turnlock_ring_mark_consistent` closes the ring for
/// everyone until a reset, if deaths are informed of there (its death policy is *inform*). TURNLOCK_ERROR_NOT_OWNER, _DAMAGED,
/// _REPLACED as `turnlock_mutex_unlock`.
///
/// # Safety
/// `ring` is a ring handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_ring_unlock(ring: *const turnlock_ring) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(ring, |ring| ring.unlock(None)) }
}

/// Passes the turn on as a dying owner does: the next holder is told. TURNLOCK_ERROR_NOT_OWNER if this thread does not
/// have it. A member is out of the ring until its next turn is asked for.
///
/// # Safety
/// `ring` is a ring handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_ring_abandon(ring: *const turnlock_ring) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(ring, |ring| ring.abandon(None)) }
}

/// Says, having the turn after TURNLOCK_OWNER_DEAD, that the data are well again.
/// TURNLOCK_ERROR_NOT_INCONSISTENT if no holder died; _NOT_OWNER.
///
/// # Safety
/// `ring` is a ring handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_ring_mark_consistent(ring: *const turnlock_ring) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(ring, |ring| ring.mark_consistent()) }
}

/// The calling thread, if it is a member of the ring, leaves it: it is passed over until its next turn is asked for.
/// TURNLOCK_ERROR_STILL_HELD while it has the turn.
///
/// # Safety
/// `ring` is a ring handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnlock_ring_leave(ring: *const turnlock_ring) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { operations::act(ring, |ring| ring.depart()) }
}
