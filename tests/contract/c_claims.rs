//! The C functions of rwlocks, semaphores, range locks and keyed locks: what makes no sense is an error of its own, and
//! costs no participant anything.

use crate::c_handles::{Owned, open_file, opened, sized};
use std::{ffi::CStr, ptr};
use support::{Place, elsewhere};
use turnlock::{capi::*, status::*};

const NULL: *mut turnlock_acquired = ptr::null_mut();

pub fn open_rwlock(file: &Owned<turnlock_file>, name: &CStr) -> Result<Owned<turnlock_rwlock>, i32> {
    // SAFETY: a file handle, a C string, and a place for the handle.
    opened(turnlock_rwlock_close, |rwlock| unsafe {
        turnlock_rwlock_open(file.handle, name.as_ptr(), ptr::null(), rwlock)
    })
}

pub fn create_releasing_rwlock(
    file: &Owned<turnlock_file>,
    name: &CStr,
) -> Result<Owned<turnlock_rwlock>, i32> {
    let options = turnlock_rwlock_options { flags: TURNLOCK_RWLOCK_RELEASE_ON_DEATH, ..sized() };
    // SAFETY: a file handle, a C string, options of the right size, and a place for the handle.
    opened(turnlock_rwlock_close, |rwlock| unsafe {
        turnlock_rwlock_open(file.handle, name.as_ptr(), &options, rwlock)
    })
}

fn new_file(place: &Place) -> Owned<turnlock_file> {
    open_file(&place.lock_file(), 8, 4).unwrap()
}

fn open_semaphore(file: &Owned<turnlock_file>, permits: u32) -> Result<Owned<turnlock_semaphore>, i32> {
    let options = turnlock_semaphore_options { permits, ..sized() };
    // SAFETY: a file handle, a C string, options of the right size, and a place for the handle.
    opened(turnlock_semaphore_close, |semaphore| unsafe {
        turnlock_semaphore_open(file.handle, c"s".as_ptr(), &options, semaphore)
    })
}

pub fn a_mode_that_is_not_held_is_not_changed_and_what_is_held_stays() {
    let place = Place::new();
    let file = new_file(&place);
    let rwlock = open_rwlock(&file, c"a").unwrap();
    let lock = rwlock.handle;
    // SAFETY: an open handle.
    let call = |call: unsafe extern "C" fn(*const turnlock_rwlock) -> i32| unsafe { call(lock) };
    // SAFETY: an open handle.
    let take = |take: unsafe extern "C" fn(*const turnlock_rwlock, *mut turnlock_acquired) -> i32| unsafe {
        take(lock, NULL)
    };
    // SAFETY: an open handle.
    let downgrade = |mode| unsafe { turnlock_rwlock_downgrade(lock, mode) };
    // Nothing is held.
    assert_eq!(call(turnlock_rwlock_unlock), TURNLOCK_ERROR_NOT_OWNER);
    assert_eq!(call(turnlock_rwlock_abandon), TURNLOCK_ERROR_NOT_OWNER);
    assert_eq!(call(turnlock_rwlock_mark_consistent), TURNLOCK_ERROR_NOT_OWNER);
    assert_eq!(take(turnlock_rwlock_upgrade), TURNLOCK_ERROR_NOT_OWNER);
    assert_eq!(downgrade(TURNLOCK_MODE_SHARED), TURNLOCK_ERROR_NOT_OWNER);
    // By its number, and by the readers' bias.
    for _ in 0..50 {
        assert_eq!(take(turnlock_rwlock_lock_shared), TURNLOCK_OK);
        assert_eq!(take(turnlock_rwlock_upgrade), TURNLOCK_ERROR_NOT_UPGRADABLE);
        assert_eq!(take(turnlock_rwlock_try_upgrade), TURNLOCK_ERROR_NOT_UPGRADABLE);
        assert_eq!(downgrade(TURNLOCK_MODE_UPGRADABLE), TURNLOCK_ERROR_NOT_UPGRADABLE);
        assert_eq!(take(turnlock_rwlock_lock_exclusive), TURNLOCK_ERROR_DEADLOCK);
        assert_eq!(call(turnlock_rwlock_mark_consistent), TURNLOCK_ERROR_NOT_EXCLUSIVE);
        elsewhere(|| {
            let rwlock = open_rwlock(&file, c"a").unwrap();
            // SAFETY: an open handle.
            let tried = unsafe { turnlock_rwlock_try_lock_exclusive(rwlock.handle, NULL) };
            assert_eq!(tried, TURNLOCK_ERROR_WOULD_BLOCK, "it is held shared still");
        });
        assert_eq!(call(turnlock_rwlock_unlock), TURNLOCK_OK);
    }
    assert_eq!(take(turnlock_rwlock_lock_upgradable), TURNLOCK_OK);
    for mode in [TURNLOCK_MODE_EXCLUSIVE, TURNLOCK_MODE_UPGRADABLE, TURNLOCK_MODE_UPGRADING, 0, 77] {
        let refused = downgrade(mode);
        assert!(
            matches!(refused, TURNLOCK_ERROR_NOT_UPGRADABLE | TURNLOCK_ERROR_INVALID_ARGUMENT),
            "mode {mode}: {refused}"
        );
    }
    assert_eq!(take(turnlock_rwlock_upgrade), TURNLOCK_OK);
    assert_eq!(call(turnlock_rwlock_mark_consistent), TURNLOCK_ERROR_NOT_INCONSISTENT);
    assert_eq!(downgrade(TURNLOCK_MODE_SHARED), TURNLOCK_OK);
    assert_eq!(call(turnlock_rwlock_unlock), TURNLOCK_OK);
    assert_eq!(call(turnlock_rwlock_unlock), TURNLOCK_ERROR_NOT_OWNER);
}

pub fn permits_that_are_none_or_too_many_are_neither_taken_nor_given_back() {
    let place = Place::new();
    let file = new_file(&place);
    assert_eq!(open_semaphore(&file, u32::MAX).err(), Some(TURNLOCK_ERROR_INVALID_ARGUMENT));
    let semaphore = open_semaphore(&file, 3).unwrap();
    let lock = semaphore.handle;
    // SAFETY: an open handle.
    unsafe {
        for permits in [0, 4, u32::MAX] {
            assert_eq!(turnlock_semaphore_acquire(lock, permits, NULL), TURNLOCK_ERROR_PERMITS);
            assert_eq!(turnlock_semaphore_try_acquire(lock, permits, NULL), TURNLOCK_ERROR_PERMITS);
        }
        assert_eq!(turnlock_semaphore_release(lock, 1), TURNLOCK_ERROR_NOT_OWNER);
        assert_eq!(turnlock_semaphore_acquire(lock, 2, NULL), TURNLOCK_OK);
        assert_eq!(turnlock_semaphore_release(lock, 0), TURNLOCK_ERROR_INVALID_ARGUMENT);
        assert_eq!(turnlock_semaphore_release(lock, 3), TURNLOCK_ERROR_TOO_MANY_RELEASED);
        assert_eq!(turnlock_semaphore_acquire(lock, 2, NULL), TURNLOCK_ERROR_DEADLOCK);
        assert_eq!(turnlock_semaphore_resize(lock, 0), TURNLOCK_ERROR_INVALID_ARGUMENT);
        elsewhere(|| {
            let semaphore = open_semaphore(&file, 3).unwrap();
            let try_acquire = |permits| turnlock_semaphore_try_acquire(semaphore.handle, permits, NULL);
            assert_eq!(try_acquire(2), TURNLOCK_ERROR_WOULD_BLOCK, "two of three are taken still");
            assert_eq!(turnlock_semaphore_release(semaphore.handle, 1), TURNLOCK_ERROR_NOT_OWNER);
            assert_eq!(try_acquire(1), TURNLOCK_OK);
            assert_eq!(turnlock_semaphore_release(semaphore.handle, 1), TURNLOCK_OK);
        });
        assert_eq!(turnlock_semaphore_release(lock, 2), TURNLOCK_OK);
        assert_eq!(turnlock_semaphore_acquire(lock, 3, NULL), TURNLOCK_OK);
        assert_eq!(turnlock_semaphore_release(lock, 3), TURNLOCK_OK);
    }
}

pub fn ranges_of_nothing_and_parts_that_are_not_held_are_refused() {
    let place = Place::new();
    let file = new_file(&place);
    // SAFETY: a file handle, a C string, and a place for the handle.
    let ranges = opened(turnlock_rangelock_close, |lock| unsafe {
        turnlock_rangelock_open(file.handle, c"r".as_ptr(), ptr::null(), lock)
    })
    .unwrap();
    let lock = ranges.handle;
    // SAFETY: an open handle.
    unsafe {
        for (first, end) in [(5, 5), (7, 2), (u64::MAX, 0), (0, 0)] {
            assert_eq!(turnlock_rangelock_lock_exclusive(lock, first, end, NULL), TURNLOCK_ERROR_EMPTY_RANGE);
            assert_eq!(
                turnlock_rangelock_try_lock_shared(lock, first, end, NULL),
                TURNLOCK_ERROR_EMPTY_RANGE
            );
        }
        assert_eq!(turnlock_rangelock_lock_exclusive(lock, 10, 20, NULL), TURNLOCK_OK);
        for (first, end) in [(10, 19), (11, 20), (0, 100), (30, 40)] {
            assert_eq!(turnlock_rangelock_unlock(lock, first, end), TURNLOCK_ERROR_NOT_OWNER);
            assert_eq!(turnlock_rangelock_mark_consistent(lock, first, end), TURNLOCK_ERROR_NOT_OWNER);
        }
        assert_eq!(turnlock_rangelock_lock_shared(lock, 19, 21, NULL), TURNLOCK_ERROR_DEADLOCK);
        assert_eq!(turnlock_rangelock_mark_consistent(lock, 10, 20), TURNLOCK_ERROR_NOT_INCONSISTENT);
        elsewhere(|| {
            let ranges = &ranges;
            let lock = ranges.handle;
            let tried = turnlock_rangelock_try_lock_shared(lock, 19, 21, NULL);
            assert_eq!(tried, TURNLOCK_ERROR_WOULD_BLOCK, "it is held still");
            assert_eq!(turnlock_rangelock_unlock(lock, 10, 20), TURNLOCK_ERROR_NOT_OWNER);
        });
        assert_eq!(turnlock_rangelock_unlock(lock, 10, 20), TURNLOCK_OK);
        assert_eq!(turnlock_rangelock_unlock(lock, 10, 20), TURNLOCK_ERROR_NOT_OWNER);
    }
}

pub fn handles_of_claims_that_are_null_or_closed_say_so() {
    let place = Place::new();
    let file = new_file(&place);
    let (rwlock, semaphore) = (open_rwlock(&file, c"a").unwrap(), open_semaphore(&file, 3).unwrap());
    // SAFETY: NULL, and handles that were opened once; closed ones are answered.
    unsafe {
        for told in [
            turnlock_rwlock_open(file.handle, c"a".as_ptr(), ptr::null(), ptr::null_mut()),
            turnlock_rwlock_lock_shared(ptr::null(), NULL),
            turnlock_rwlock_upgrade(ptr::null(), NULL),
            turnlock_rwlock_downgrade(ptr::null(), TURNLOCK_MODE_SHARED),
            turnlock_rwlock_unlock(ptr::null()),
            turnlock_rwlock_close(ptr::null_mut()),
            turnlock_semaphore_acquire(ptr::null(), 1, NULL),
            turnlock_semaphore_release(ptr::null(), 1),
            turnlock_semaphore_resize(ptr::null(), 1),
            turnlock_semaphore_close(ptr::null_mut()),
            turnlock_rangelock_lock_shared(ptr::null(), 0, 1, NULL),
            turnlock_rangelock_unlock(ptr::null(), 0, 1),
            turnlock_rangelock_close(ptr::null_mut()),
            turnlock_keyedlock_close(ptr::null_mut()),
        ] {
            assert_eq!(told, TURNLOCK_ERROR_INVALID_ARGUMENT);
        }
        assert_eq!(turnlock_rwlock_lock_shared(rwlock.handle, NULL), TURNLOCK_OK);
        assert_eq!(turnlock_rwlock_close(rwlock.handle), TURNLOCK_ERROR_STILL_HELD);
        assert_eq!(turnlock_rwlock_unlock(rwlock.handle), TURNLOCK_OK);
        assert_eq!(turnlock_rwlock_close(rwlock.handle), TURNLOCK_OK);
        assert_eq!(turnlock_semaphore_close(semaphore.handle), TURNLOCK_OK);
        for told in [
            turnlock_rwlock_lock_shared(rwlock.handle, NULL),
            turnlock_rwlock_upgrade(rwlock.handle, NULL),
            turnlock_rwlock_downgrade(rwlock.handle, TURNLOCK_MODE_SHARED),
            turnlock_rwlock_unlock(rwlock.handle),
            turnlock_rwlock_close(rwlock.handle),
            turnlock_semaphore_acquire(semaphore.handle, 1, NULL),
            turnlock_semaphore_release(semaphore.handle, 1),
            turnlock_semaphore_close(semaphore.handle),
        ] {
            assert_eq!(told, TURNLOCK_ERROR_CLOSED);
        }
    }
}
