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
type TakeFor<L> = unsafe extern "C" fn(*const L, u64, *mut turnlock_acquired) -> i32;
type Act<L> = unsafe extern "C" fn(*const L) -> i32;

/// The functions of one kind of lock.
pub trait Functions: Sized + 'static {
    /// The same lock through the Rust API, by threads.
    type ByThreads: Way;
    const OPEN: Open<Self>;
    const LOCK: Take<Self>;
    const TRY_LOCK: Take<Self>;
    const LOCK_FOR: TakeFor<Self>;
    const UNLOCK: Act<Self>;
    const MARK_CONSISTENT: Act<Self>;
    /// Creates a lock whose holder's death needs no repair.
    const CREATE_RELEASING: Open<Self>;
}

impl Functions for turnlock_mutex {
    type ByThreads = crate::rust::BakeryByThreads;
    const OPEN: Open<Self> = open_mutex;
    const LOCK: Take<Self> = turnlock_mutex_lock;
    const TRY_LOCK: Take<Self> = turnlock_mutex_try_lock;
    const LOCK_FOR: TakeFor<Self> = turnlock_mutex_lock_for;
    const UNLOCK: Act<Self> = turnlock_mutex_unlock;
    const MARK_CONSISTENT: Act<Self> = turnlock_mutex_mark_consistent;
    const CREATE_RELEASING: Open<Self> = create_releasing_mutex;
}

impl Functions for turnlock_rwlock {
    type ByThreads = crate::claims::ByThreads<turnlock::RwLock>;
    const OPEN: Open<Self> = crate::c_claims::open_rwlock;
    const LOCK: Take<Self> = turnlock_rwlock_lock_exclusive;
    const TRY_LOCK: Take<Self> = turnlock_rwlock_try_lock_exclusive;
    const LOCK_FOR: TakeFor<Self> = turnlock_rwlock_lock_exclusive_for;
    const UNLOCK: Act<Self> = turnlock_rwlock_unlock;
    const MARK_CONSISTENT: Act<Self> = turnlock_rwlock_mark_consistent;
    const CREATE_RELEASING: Open<Self> = crate::c_claims::create_releasing_rwlock;
}

impl Functions for turnlock_ring {
    type ByThreads = crate::ring::ByThreads<crate::ring::Raynal>;
    const OPEN: Open<Self> = open_ring;
    const LOCK: Take<Self> = turnlock_ring_lock;
    const TRY_LOCK: Take<Self> = turnlock_ring_try_lock;
    const LOCK_FOR: TakeFor<Self> = turnlock_ring_lock_for;
    const UNLOCK: Act<Self> = turnlock_ring_unlock;
    const MARK_CONSISTENT: Act<Self> = turnlock_ring_mark_consistent;
    const CREATE_RELEASING: Open<Self> = create_releasing_ring;
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
