//! Linked locks through the C ABI: what programs meet. Their agent is a Rust program's.

use crate::{
    c_coordination::{call, take},
    c_handles::{Owned, last_message, open_file, open_mutex, opened, sized},
};
use std::ffi::CStr;
use support::{NoHang, Place, join};
use turnlock::{LockFile, capi::*, status::*};

const NAME: &CStr = c"accounts";

fn open_linked(file: &Owned<turnlock_file>, name: &CStr) -> Result<Owned<turnlock_mutex>, i32> {
    let options = turnlock_mutex_options { flags: TURNLOCK_MUTEX_LINKED, ..sized() };
    // SAFETY: a file handle, a C string, options of the right size, and a place for the handle.
    opened(turnlock_mutex_close, |mutex| unsafe {
        turnlock_mutex_open(file.handle, name.as_ptr(), &options, mutex)
    })
}

fn still_owner<L>(lock: &Owned<L>) -> i32 {
    // SAFETY: an open handle.
    unsafe { turnlock_lock_still_owner(lock.handle.cast()) }
}

fn link_of<L>(lock: &Owned<L>) -> u32 {
    let mut link = u32::MAX;
    // SAFETY: an open handle, and a place for the flags.
    assert_eq!(unsafe { turnlock_lock_link(lock.handle.cast(), &mut link) }, TURNLOCK_OK);
    link
}

pub fn a_program_enters_while_it_is_home_and_is_told_that_its_lease_has_ended() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = open_file(&place.lock_file(), 8, 4).unwrap();
    let mutex = open_linked(&file, NAME).unwrap();
    assert_eq!(link_of(&mutex), TURNLOCK_LOCK_IS_LINKED);
    // A program finds it linked.
    let program = open_mutex(&file, NAME).unwrap();
    assert_eq!(take(&program, turnlock_mutex_try_lock), TURNLOCK_ERROR_WOULD_BLOCK);
    assert!(last_message().ends_with("it is linked, and no agent is attached to it"), "{}", last_message());
    let rust = LockFile::open(place.lock_file()).unwrap();
    let agent = rust.link_agent("agent").unwrap();
    let linked = agent.attach(&rust.mutex("accounts").unwrap()).unwrap();
    assert_eq!(link_of(&program), TURNLOCK_LOCK_IS_LINKED | TURNLOCK_LOCK_HAS_AGENT);
    let first = linked.last_token() + 1;
    linked.bring_home(first..=first + 100, linked.data()).unwrap();
    assert_eq!(link_of(&program), TURNLOCK_LOCK_IS_LINKED | TURNLOCK_LOCK_IS_HOME | TURNLOCK_LOCK_HAS_AGENT);
    assert_eq!(take(&program, turnlock_mutex_lock), TURNLOCK_OK);
    assert_eq!(still_owner(&program), TURNLOCK_OK);
    assert_eq!(call(&program, turnlock_mutex_unlock), TURNLOCK_OK);
    linked.set_lease_end(u64::MAX).unwrap();
    assert_eq!(take(&program, turnlock_mutex_lock), TURNLOCK_OK);
    assert_eq!(still_owner(&program), TURNLOCK_OK);
    linked.set_lease_end(1).unwrap();
    assert_eq!(still_owner(&program), TURNLOCK_ERROR_LEASE_ENDED);
    assert_eq!(call(&program, turnlock_mutex_unlock), TURNLOCK_ERROR_LEASE_ENDED);
    assert!(last_message().contains("its fencing token"), "{}", last_message());
    linked.set_lease_end(0).unwrap();
    std::thread::scope(|threads| {
        let other = threads.spawn(|| {
            assert_eq!(take(&program, turnlock_mutex_try_lock), TURNLOCK_OK, "it was unlocked all the same");
            assert_eq!(call(&program, turnlock_mutex_unlock), TURNLOCK_OK);
        });
        join(other);
    });
}

pub fn what_is_not_linked_says_so() {
    let place = Place::new();
    let file = open_file(&place.lock_file(), 8, 4).unwrap();
    let plain = open_mutex(&file, c"plain").unwrap();
    assert_eq!(link_of(&plain), 0);
    assert_eq!(still_owner(&plain), TURNLOCK_OK);
    assert_eq!(open_linked(&file, c"plain").map(drop), Err(TURNLOCK_ERROR_KIND));
    assert!(last_message().contains("is not linked"), "{}", last_message());
    // SAFETY: an open handle.
    let status = unsafe { turnlock_lock_link(plain.handle.cast(), std::ptr::null_mut()) };
    assert_eq!(status, TURNLOCK_ERROR_INVALID_ARGUMENT);
    assert!(last_message().contains("is NULL"), "{}", last_message());
}

pub fn a_program_reads_and_writes_while_a_rwlock_is_home() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = open_file(&place.lock_file(), 8, 4).unwrap();
    let options = turnlock_rwlock_options { flags: TURNLOCK_RWLOCK_LINKED, ..sized() };
    let open = |name: &CStr, options: *const turnlock_rwlock_options| {
        // SAFETY: a file handle, a C string, NULL or options of the right size, and a place for the handle.
        opened(turnlock_rwlock_close, |rwlock| unsafe {
            turnlock_rwlock_open(file.handle, name.as_ptr(), options, rwlock)
        })
    };
    drop(open(c"cache", &options).unwrap());
    // A program finds it linked.
    let program = open(c"cache", std::ptr::null()).unwrap();
    assert_eq!(link_of(&program), TURNLOCK_LOCK_IS_LINKED);
    for try_lock in [turnlock_rwlock_try_lock_shared, turnlock_rwlock_try_lock_exclusive] {
        assert_eq!(take(&program, try_lock), TURNLOCK_ERROR_WOULD_BLOCK);
        assert!(
            last_message().ends_with("it is linked, and no agent is attached to it"),
            "{}",
            last_message()
        );
    }
    let rust = LockFile::open(place.lock_file()).unwrap();
    let agent = rust.link_agent("agent").unwrap();
    let linked = agent.attach(&rust.rwlock("cache").unwrap()).unwrap();
    let first = linked.last_token() + 1;
    linked.bring_home(first..=first + 100, linked.data()).unwrap();
    assert_eq!(link_of(&program), TURNLOCK_LOCK_IS_LINKED | TURNLOCK_LOCK_IS_HOME | TURNLOCK_LOCK_HAS_AGENT);
    linked.set_lease_end(u64::MAX).unwrap();
    for lock in [turnlock_rwlock_lock_shared, turnlock_rwlock_lock_exclusive] {
        assert_eq!(take(&program, lock), TURNLOCK_OK);
        assert_eq!(still_owner(&program), TURNLOCK_OK);
        assert_eq!(call(&program, turnlock_rwlock_unlock), TURNLOCK_OK);
    }
    assert_eq!(take(&program, turnlock_rwlock_lock_shared), TURNLOCK_OK);
    linked.set_lease_end(1).unwrap();
    assert_eq!(still_owner(&program), TURNLOCK_ERROR_LEASE_ENDED);
    assert_eq!(call(&program, turnlock_rwlock_unlock), TURNLOCK_ERROR_LEASE_ENDED);
    let plain = open(c"plain", std::ptr::null()).unwrap();
    assert_eq!((link_of(&plain), still_owner(&plain)), (0, TURNLOCK_OK));
    assert_eq!(open(c"plain", &options).map(drop), Err(TURNLOCK_ERROR_KIND));
    // SAFETY: an open handle.
    let status = unsafe { turnlock_lock_link(plain.handle.cast(), std::ptr::null_mut()) };
    assert_eq!(status, TURNLOCK_ERROR_INVALID_ARGUMENT);
}

pub fn a_program_takes_the_permits_that_this_host_has_of_a_semaphore() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = open_file(&place.lock_file(), 8, 4).unwrap();
    let options = turnlock_semaphore_options { flags: TURNLOCK_SEMAPHORE_LINKED, permits: 10, ..sized() };
    let open = |options: *const turnlock_semaphore_options| {
        // SAFETY: a file handle, a C string, NULL or options of the right size, and a place for the handle.
        opened(turnlock_semaphore_close, |semaphore| unsafe {
            turnlock_semaphore_open(file.handle, c"jobs".as_ptr(), options, semaphore)
        })
    };
    drop(open(&options).unwrap());
    // A program finds it linked.
    let program = open(std::ptr::null()).unwrap();
    assert_eq!(link_of(&program), TURNLOCK_LOCK_IS_LINKED);
    let permits = || {
        let mut permits = u32::MAX;
        // SAFETY: an open handle, and a place for the number.
        assert_eq!(unsafe { turnlock_semaphore_permits(program.handle, &mut permits) }, TURNLOCK_OK);
        permits
    };
    assert_eq!(permits(), 10);
    // SAFETY: an open handle; NULL for what is not asked for.
    let try_take = || unsafe { turnlock_semaphore_try_acquire(program.handle, 3, std::ptr::null_mut()) };
    assert_eq!(try_take(), TURNLOCK_ERROR_WOULD_BLOCK);
    let rust = LockFile::open(place.lock_file()).unwrap();
    let agent = rust.link_agent("agent").unwrap();
    let linked = agent.attach_semaphore(&rust.semaphore("jobs").unwrap()).unwrap();
    linked.set_share(4).unwrap();
    assert_eq!(link_of(&program), TURNLOCK_LOCK_IS_LINKED | TURNLOCK_LOCK_IS_HOME | TURNLOCK_LOCK_HAS_AGENT);
    assert_eq!(permits(), 10);
    assert_eq!(try_take(), TURNLOCK_OK);
    assert_eq!(still_owner(&program), TURNLOCK_OK);
    assert_eq!(try_take(), TURNLOCK_ERROR_WOULD_BLOCK);
    // SAFETY: an open handle.
    unsafe {
        assert_eq!(turnlock_semaphore_release(program.handle, 3), TURNLOCK_OK);
        assert_eq!(turnlock_semaphore_resize(program.handle, 11), TURNLOCK_ERROR_INVALID_ARGUMENT);
    }
    // Under a lease, by several acquisitions and in other portions.
    linked.set_share(0).unwrap();
    linked.set_lease_end(u64::MAX).unwrap();
    linked.set_share(4).unwrap();
    // SAFETY: an open handle; NULL for what is not asked for.
    let take_one = || unsafe { turnlock_semaphore_try_acquire(program.handle, 1, std::ptr::null_mut()) };
    // SAFETY: an open handle.
    let release = |permits| unsafe { turnlock_semaphore_release(program.handle, permits) };
    assert_eq!((try_take(), take_one(), still_owner(&program)), (TURNLOCK_OK, TURNLOCK_OK, TURNLOCK_OK));
    linked.set_lease_end(1).unwrap();
    assert_eq!(still_owner(&program), TURNLOCK_ERROR_LEASE_ENDED);
    assert_eq!((release(2), linked.demand().used), (TURNLOCK_ERROR_LEASE_ENDED, 2));
    assert_eq!((release(2), linked.demand().used), (TURNLOCK_ERROR_LEASE_ENDED, 0));
    assert_eq!(release(1), TURNLOCK_ERROR_NOT_OWNER);
    linked.set_lease_end(u64::MAX).unwrap();
    assert_eq!((try_take(), take_one()), (TURNLOCK_OK, TURNLOCK_OK));
    linked.set_lease_end(1).unwrap();
    assert_eq!((release(4), linked.demand().used), (TURNLOCK_ERROR_LEASE_ENDED, 0));
    let other = turnlock_semaphore_options { permits: 11, ..options };
    assert_eq!(open(&other).map(drop), Err(TURNLOCK_ERROR_KIND));
}
