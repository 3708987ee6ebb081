//! Group locks through the C ABI: by threads, and by holds.

use crate::c_handles::{Owned, last_message, open_file, open_hold, open_mutex, opened, sized};
use std::{ffi::CStr, ptr};
use support::{Place, elsewhere};
use turnlock::{capi::*, status::*};

const NULL: *mut turnlock_acquired = ptr::null_mut();

fn new_file(place: &Place) -> Owned<turnlock_file> {
    open_file(&place.lock_file(), 8, 4).unwrap()
}

fn open(file: &Owned<turnlock_file>, name: &CStr, flags: u32) -> Result<Owned<turnlock_grouplock>, i32> {
    let options = turnlock_grouplock_options { flags, ..sized() };
    // SAFETY: a file handle, a C string, options of the right size, and a place for the handle.
    opened(turnlock_grouplock_close, |lock| unsafe {
        turnlock_grouplock_open(file.handle, name.as_ptr(), &options, lock)
    })
}

/// The first of the lock's holders, and how many there are.
fn holders(lock: &Owned<turnlock_grouplock>) -> (turnlock_participant_info, usize) {
    let (mut first, mut count) = (sized::<turnlock_participant_info>(), 0);
    // SAFETY: an open handle, room for one, and a place for the number.
    let told = unsafe { turnlock_lock_holders(lock.handle.cast(), 1, &mut first, &mut count) };
    assert_eq!(told, TURNLOCK_OK);
    (first, count)
}

pub fn members_of_a_group_are_inside_together_and_no_others() {
    let place = Place::new();
    let file = new_file(&place);
    let lock = open(&file, c"g", 0).unwrap();
    let mut first = sized::<turnlock_acquired>();
    // SAFETY: an open handle, and a place for what comes with the acquisition.
    assert_eq!(unsafe { turnlock_grouplock_lock(lock.handle, 7, &mut first) }, TURNLOCK_OK);
    // SAFETY: an open handle.
    unsafe {
        for group in [7, 8] {
            assert_eq!(turnlock_grouplock_lock(lock.handle, group, NULL), TURNLOCK_ERROR_DEADLOCK);
            assert_eq!(turnlock_grouplock_try_lock(lock.handle, group, NULL), TURNLOCK_ERROR_DEADLOCK);
        }
        assert_eq!(turnlock_grouplock_mark_consistent(lock.handle), TURNLOCK_ERROR_NOT_INCONSISTENT);
        assert_eq!(turnlock_grouplock_close(lock.handle), TURNLOCK_ERROR_STILL_HELD);
    }
    let token = first.fencing_token;
    elsewhere(|| {
        let lock = &lock;
        let mut second = sized::<turnlock_acquired>();
        // SAFETY: an open handle, and a place for what comes with the acquisition.
        unsafe {
            assert_eq!(turnlock_grouplock_try_lock(lock.handle, 8, NULL), TURNLOCK_ERROR_WOULD_BLOCK);
            assert_eq!(
                turnlock_grouplock_lock_for(lock.handle, 8, 1_000_000, NULL),
                TURNLOCK_ERROR_TIMED_OUT
            );
            assert_eq!(turnlock_grouplock_unlock(lock.handle), TURNLOCK_ERROR_NOT_OWNER);
            assert_eq!(turnlock_grouplock_lock_for(lock.handle, 7, 1_000_000, &mut second), TURNLOCK_OK);
        }
        assert!(second.fencing_token > token);
        let (info, count) = holders(lock);
        assert_eq!(
            (info.first, info.last, info.mode, info.permits, count),
            (7, 0, TURNLOCK_MODE_SHARED, 0, 2)
        );
        // SAFETY: an open handle.
        assert_eq!(unsafe { turnlock_grouplock_unlock(lock.handle) }, TURNLOCK_OK);
    });
    // SAFETY: an open handle.
    unsafe {
        assert_eq!(turnlock_grouplock_unlock(lock.handle), TURNLOCK_OK);
        assert_eq!(turnlock_grouplock_unlock(lock.handle), TURNLOCK_ERROR_NOT_OWNER);
        assert_eq!(turnlock_grouplock_abandon(lock.handle), TURNLOCK_ERROR_NOT_OWNER);
        assert_eq!(turnlock_grouplock_mark_consistent(lock.handle), TURNLOCK_ERROR_NOT_OWNER);
        assert_eq!(turnlock_grouplock_lock(lock.handle, u64::MAX, NULL), TURNLOCK_OK);
        assert_eq!(turnlock_grouplock_unlock(lock.handle), TURNLOCK_OK);
    }
}

pub fn a_dead_member_is_told_to_each_group_until_it_is_marked() {
    let place = Place::new();
    let file = new_file(&place);
    let lock = open(&file, c"g", 0).unwrap();
    let any = lock.handle.cast::<turnlock_lock>();
    // SAFETY: an open handle.
    let enter = |group| unsafe { turnlock_grouplock_lock(lock.handle, group, NULL) };
    // SAFETY: an open handle.
    let call = |call: unsafe extern "C" fn(*const turnlock_grouplock) -> i32| unsafe { call(lock.handle) };
    assert_eq!(enter(7), TURNLOCK_OK);
    assert_eq!(call(turnlock_grouplock_abandon), TURNLOCK_OK);
    for group in [7, 8] {
        assert_eq!(enter(group), TURNLOCK_OWNER_DEAD);
        assert_eq!(call(turnlock_grouplock_unlock), TURNLOCK_OK);
    }
    assert_eq!(enter(9), TURNLOCK_OWNER_DEAD);
    assert_eq!(call(turnlock_grouplock_mark_consistent), TURNLOCK_OK);
    assert_eq!(call(turnlock_grouplock_mark_consistent), TURNLOCK_ERROR_NOT_INCONSISTENT);
    assert_eq!(call(turnlock_grouplock_abandon), TURNLOCK_OK);
    let mut policy = u32::MAX;
    // SAFETY: an open handle, and a place for the policy.
    unsafe {
        assert_eq!(turnlock_lock_death_policy(any, &mut policy), TURNLOCK_OK);
        assert_eq!(turnlock_lock_reset(any), TURNLOCK_OK);
    }
    assert_eq!(policy, TURNLOCK_DEATH_POLICY_INFORM);
    assert_eq!(enter(7), TURNLOCK_OK, "it was reset");
    assert_eq!(call(turnlock_grouplock_unlock), TURNLOCK_OK);

    let released = open(&file, c"r", TURNLOCK_GROUPLOCK_RELEASE_ON_DEATH).unwrap();
    // SAFETY: an open handle.
    unsafe {
        assert_eq!(turnlock_grouplock_lock(released.handle, 1, NULL), TURNLOCK_OK);
        assert_eq!(turnlock_grouplock_abandon(released.handle), TURNLOCK_OK);
        for told in [TURNLOCK_OWNER_DEAD, TURNLOCK_OK] {
            assert_eq!(turnlock_grouplock_lock(released.handle, 1, NULL), told);
            assert_eq!(turnlock_grouplock_unlock(released.handle), TURNLOCK_OK);
        }
    }
    let other = open(&file, c"r", TURNLOCK_GROUPLOCK_INFORM_ON_DEATH);
    assert_eq!(other.err(), Some(TURNLOCK_ERROR_KIND));
}

pub fn holds_enter_a_group_by_their_request() {
    let place = Place::new();
    let file = new_file(&place);
    let lock = open(&file, c"g", 0).unwrap();
    let mutex = open_mutex(&file, c"m").unwrap();
    let [one, other] = [(); 2].map(|()| open_hold(&file).unwrap());
    let of_group =
        |group| turnlock_request { lock: lock.handle.cast(), group, wait: TURNLOCK_WAIT_NEVER, ..sized() };
    // SAFETY: a hold handle, and a request with a handle of a lock.
    let acquire = |hold: &Owned<turnlock_hold>, request: turnlock_request| unsafe {
        turnlock_hold_acquire(hold.handle, &request, NULL)
    };
    // SAFETY: a hold handle.
    let release = |hold: &Owned<turnlock_hold>| unsafe { turnlock_hold_release(hold.handle) };
    assert_eq!(acquire(&one, of_group(u64::MAX)), TURNLOCK_OK);
    assert_eq!(acquire(&other, of_group(u64::MAX)), TURNLOCK_OK);
    assert_eq!(acquire(&other, of_group(1)), TURNLOCK_ERROR_DEADLOCK);
    assert_eq!(release(&other), TURNLOCK_OK);
    assert_eq!(acquire(&other, of_group(0)), TURNLOCK_ERROR_WOULD_BLOCK);
    assert_eq!(release(&one), TURNLOCK_OK);
    assert_eq!(acquire(&other, of_group(0)), TURNLOCK_OK);
    assert_eq!(release(&other), TURNLOCK_OK);

    let refused = |request: turnlock_request, why: &str| {
        assert_eq!(acquire(&one, request), TURNLOCK_ERROR_INVALID_ARGUMENT);
        assert!(last_message().contains(why), "{}", last_message());
    };
    // Twice, since a hold that took the mutex last has a fast path for it.
    for _ in 0..2 {
        let of_mutex = turnlock_request { lock: mutex.handle.cast(), ..sized() };
        refused(turnlock_request { group: 5, ..of_mutex }, "leave group 0");
        assert_eq!(acquire(&one, of_mutex), TURNLOCK_OK);
        assert_eq!(release(&one), TURNLOCK_OK);
    }
    refused(turnlock_request { mode: TURNLOCK_MODE_SHARED, ..of_group(1) }, "group lock does not have");
    refused(turnlock_request { permits: 1, ..of_group(1) }, "leave permits 0");
}

/// One of before there were groups.
pub fn a_request_without_a_group_is_of_group_0() {
    let place = Place::new();
    let file = new_file(&place);
    let lock = open(&file, c"g", 0).unwrap();
    let hold = open_hold(&file).unwrap();
    let size = std::mem::offset_of!(turnlock_request, group);
    let request = turnlock_request { size, lock: lock.handle.cast(), group: 99, ..sized() };
    // SAFETY: a hold handle, and a request with a handle of a lock.
    assert_eq!(unsafe { turnlock_hold_acquire(hold.handle, &request, NULL) }, TURNLOCK_OK);
    assert_eq!(holders(&lock).0.first, 0);
    // SAFETY: a hold handle.
    assert_eq!(unsafe { turnlock_hold_release(hold.handle) }, TURNLOCK_OK);
}

pub fn handles_of_group_locks_that_are_null_or_closed_say_so() {
    let place = Place::new();
    let file = new_file(&place);
    assert_eq!(open(&file, c"g", 1 << 20).err(), Some(TURNLOCK_ERROR_INVALID_ARGUMENT));
    assert_eq!(open(&file, c"g", TURNLOCK_GROUPLOCK_MUST_EXIST).err(), Some(TURNLOCK_ERROR_NOT_FOUND));
    let lock = open(&file, c"g", 0).unwrap();
    let calls = |lock: *mut turnlock_grouplock| {
        // SAFETY: NULL, or a handle that was opened once; a closed one is answered.
        unsafe {
            [
                turnlock_grouplock_lock(lock, 1, NULL),
                turnlock_grouplock_try_lock(lock, 1, NULL),
                turnlock_grouplock_lock_for(lock, 1, 1, NULL),
                turnlock_grouplock_unlock(lock),
                turnlock_grouplock_abandon(lock),
                turnlock_grouplock_mark_consistent(lock),
                turnlock_grouplock_close(lock),
            ]
        }
    };
    assert_eq!(calls(ptr::null_mut()), [TURNLOCK_ERROR_INVALID_ARGUMENT; 7]);
    // SAFETY: a file handle, a C string, and no place for the handle.
    let opened = unsafe { turnlock_grouplock_open(file.handle, c"g".as_ptr(), ptr::null(), ptr::null_mut()) };
    assert_eq!(opened, TURNLOCK_ERROR_INVALID_ARGUMENT);
    // SAFETY: an open handle.
    assert_eq!(unsafe { turnlock_grouplock_close(lock.handle) }, TURNLOCK_OK);
    assert_eq!(calls(lock.handle), [TURNLOCK_ERROR_CLOSED; 7]);
    let mutex = open_mutex(&file, c"m").unwrap();
    // SAFETY: a handle of another kind.
    let told = unsafe { turnlock_grouplock_lock(mutex.handle.cast(), 1, NULL) };
    assert_eq!(told, TURNLOCK_ERROR_INVALID_ARGUMENT);
}
