//! The C functions of each kind of lock, so that one adapter serves all kinds.

use crate::{
    c_handles::{Owned, open_mutex, open_ring, opened, sized},
    way::Way,
};
use std::ffi::CStr;
use turnlock::capi::*;

/// Opens a lock, or creates it.
pub type Open<L> = fn(&Owned<turnlock_file>, &CStr) -> Result<Owned<L>, i32>;
type Take<L> = unsafe extern "C" fn(*const L, *mut turnlock_acquired) -> i32;
type TakeAs<L> = unsafe extern "C" fn(*const L, *const turnlock_participant, *mut turnlock_acquired) -> i32;
type TakeFor<L> = unsafe extern "C" fn(*const L, u64, *mut turnlock_acquired) -> i32;
type TakeForAs<L> =
    unsafe extern "C" fn(*const L, *const turnlock_participant, u64, *mut turnlock_acquired) -> i32;
type Act<L> = unsafe extern "C" fn(*const L) -> i32;
type Waiters<L> = unsafe extern "C" fn(*const L, usize, *mut turnlock_participant_info, *mut usize) -> i32;
type ActAs<L> = unsafe extern "C" fn(*const L, *const turnlock_participant) -> i32;

/// The functions of one kind of lock.
pub trait Functions: Sized + 'static {
    /// The same lock through the Rust API, by threads.
    type ByThreads: Way;
    const OPEN: Open<Self>;
    const LOCK: Take<Self>;
    const TRY_LOCK: Take<Self>;
    const LOCK_FOR: TakeFor<Self>;
    const LOCK_AS: TakeAs<Self>;
    const TRY_LOCK_AS: TakeAs<Self>;
    const LOCK_FOR_AS: TakeForAs<Self>;
    const UNLOCK: Act<Self>;
    const UNLOCK_AS: ActAs<Self>;
    const MARK_CONSISTENT: Act<Self>;
    const MARK_CONSISTENT_AS: ActAs<Self>;
    /// Creates a lock whose holder's death needs no repair.
    const CREATE_RELEASING: Open<Self>;
    const RESET: Act<Self>;
    const TRY_RESET: Act<Self>;
    const RESET_FOR: unsafe extern "C" fn(*const Self, u64) -> i32;
    const IS_CONTENDED: Act<Self>;
    const IS_CONTENDED_AS: ActAs<Self>;
    const HOLDER: unsafe extern "C" fn(*const Self, *mut turnlock_participant_info) -> i32;
    const WAITERS: Waiters<Self>;
    const PREVIOUS_OWNER: unsafe extern "C" fn(*const Self, *mut turnlock_previous_owner) -> i32;
}

impl Functions for turnlock_mutex {
    type ByThreads = crate::rust::BakeryByThreads;
    const OPEN: Open<Self> = open_mutex;
    const LOCK: Take<Self> = turnlock_mutex_lock;
    const TRY_LOCK: Take<Self> = turnlock_mutex_try_lock;
    const LOCK_FOR: TakeFor<Self> = turnlock_mutex_lock_for;
    const LOCK_AS: TakeAs<Self> = turnlock_mutex_lock_as;
    const TRY_LOCK_AS: TakeAs<Self> = turnlock_mutex_try_lock_as;
    const LOCK_FOR_AS: TakeForAs<Self> = turnlock_mutex_lock_for_as;
    const UNLOCK: Act<Self> = turnlock_mutex_unlock;
    const UNLOCK_AS: ActAs<Self> = turnlock_mutex_unlock_as;
    const MARK_CONSISTENT: Act<Self> = turnlock_mutex_mark_consistent;
    const MARK_CONSISTENT_AS: ActAs<Self> = turnlock_mutex_mark_consistent_as;
    const CREATE_RELEASING: Open<Self> = create_releasing_mutex;
    const RESET: Act<Self> = turnlock_mutex_reset;
    const TRY_RESET: Act<Self> = turnlock_mutex_try_reset;
    const RESET_FOR: unsafe extern "C" fn(*const Self, u64) -> i32 = turnlock_mutex_reset_for;
    const IS_CONTENDED: Act<Self> = turnlock_mutex_is_contended;
    const IS_CONTENDED_AS: ActAs<Self> = turnlock_mutex_is_contended_as;
    const HOLDER: unsafe extern "C" fn(*const Self, *mut turnlock_participant_info) -> i32 =
        turnlock_mutex_holder;
    const WAITERS: Waiters<Self> = turnlock_mutex_waiters;
    const PREVIOUS_OWNER: unsafe extern "C" fn(*const Self, *mut turnlock_previous_owner) -> i32 =
        turnlock_mutex_previous_owner;
}

impl Functions for turnlock_rwlock {
    type ByThreads = crate::claims::ByThreads<turnlock::RwLock>;
    const OPEN: Open<Self> = crate::c_claims::open_rwlock;
    const LOCK: Take<Self> = turnlock_rwlock_lock_exclusive;
    const TRY_LOCK: Take<Self> = turnlock_rwlock_try_lock_exclusive;
    const LOCK_FOR: TakeFor<Self> = turnlock_rwlock_lock_exclusive_for;
    const LOCK_AS: TakeAs<Self> = turnlock_rwlock_lock_exclusive_as;
    const TRY_LOCK_AS: TakeAs<Self> = turnlock_rwlock_try_lock_exclusive_as;
    const LOCK_FOR_AS: TakeForAs<Self> = turnlock_rwlock_lock_exclusive_for_as;
    const UNLOCK: Act<Self> = turnlock_rwlock_unlock;
    const UNLOCK_AS: ActAs<Self> = turnlock_rwlock_unlock_as;
    const MARK_CONSISTENT: Act<Self> = turnlock_rwlock_mark_consistent;
    const MARK_CONSISTENT_AS: ActAs<Self> = turnlock_rwlock_mark_consistent_as;
    const CREATE_RELEASING: Open<Self> = crate::c_claims::create_releasing_rwlock;
    const RESET: Act<Self> = turnlock_rwlock_reset;
    const TRY_RESET: Act<Self> = turnlock_rwlock_try_reset;
    const RESET_FOR: unsafe extern "C" fn(*const Self, u64) -> i32 = turnlock_rwlock_reset_for;
    const IS_CONTENDED: Act<Self> = turnlock_rwlock_is_contended;
    const IS_CONTENDED_AS: ActAs<Self> = turnlock_rwlock_is_contended_as;
    const HOLDER: unsafe extern "C" fn(*const Self, *mut turnlock_participant_info) -> i32 =
        crate::c_claims::rwlock_holder;
    const WAITERS: Waiters<Self> = turnlock_rwlock_waiters;
    const PREVIOUS_OWNER: unsafe extern "C" fn(*const Self, *mut turnlock_previous_owner) -> i32 =
        turnlock_rwlock_previous_owner;
}

impl Functions for turnlock_ring {
    type ByThreads = crate::ring::ByThreads<crate::ring::Raynal>;
    const OPEN: Open<Self> = open_ring;
    const LOCK: Take<Self> = turnlock_ring_lock;
    const TRY_LOCK: Take<Self> = turnlock_ring_try_lock;
    const LOCK_FOR: TakeFor<Self> = turnlock_ring_lock_for;
    const LOCK_AS: TakeAs<Self> = turnlock_ring_lock_as;
    const TRY_LOCK_AS: TakeAs<Self> = turnlock_ring_try_lock_as;
    const LOCK_FOR_AS: TakeForAs<Self> = turnlock_ring_lock_for_as;
    const UNLOCK: Act<Self> = turnlock_ring_unlock;
    const UNLOCK_AS: ActAs<Self> = turnlock_ring_unlock_as;
    const MARK_CONSISTENT: Act<Self> = turnlock_ring_mark_consistent;
    const MARK_CONSISTENT_AS: ActAs<Self> = turnlock_ring_mark_consistent_as;
    const CREATE_RELEASING: Open<Self> = create_releasing_ring;
    const RESET: Act<Self> = turnlock_ring_reset;
    const TRY_RESET: Act<Self> = turnlock_ring_try_reset;
    const RESET_FOR: unsafe extern "C" fn(*const Self, u64) -> i32 = turnlock_ring_reset_for;
    const IS_CONTENDED: Act<Self> = turnlock_ring_is_contended;
    const IS_CONTENDED_AS: ActAs<Self> = turnlock_ring_is_contended_as;
    const HOLDER: unsafe extern "C" fn(*const Self, *mut turnlock_participant_info) -> i32 =
        turnlock_ring_holder;
    const WAITERS: Waiters<Self> = turnlock_ring_waiters;
    const PREVIOUS_OWNER: unsafe extern "C" fn(*const Self, *mut turnlock_previous_owner) -> i32 =
        turnlock_ring_previous_owner;
}

fn create_releasing_mutex(file: &Owned<turnlock_file>, name: &CStr) -> Result<Owned<turnlock_mutex>, i32> {
    let options = turnlock_mutex_options { flags: TURNLOCK_MUTEX_RELEASE_ON_DEATH, ..sized() };
    // SAFETY: a file handle, a C string, options of the right size, and a place for the handle.
    opened(turnlock_mutex_close, |mutex| unsafe {
        turnlock_mutex_open(file.handle, name.as_ptr(), &options, mutex)
    })
}

fn create_releasing_ring(file: &Owned<turnlock_file>, name: &CStr) -> Result<Owned<turnlock_ring>, i32> {
    let options = turnlock_ring_options { flags: TURNLOCK_RING_RELEASE_ON_DEATH, ..sized() };
    // SAFETY: a file handle, a C string, options of the right size, and a place for the handle.
    opened(turnlock_ring_close, |ring| unsafe {
        turnlock_ring_open(file.handle, name.as_ptr(), &options, ring)
    })
}
