//! Recursive mutexes: a thread that has one takes it again.

use crate::{
    c_handles::{last_message, open_file, opened, sized},
    stage::{Stage, take_and_give_back},
    way::{Held, Party, Wait, Way},
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
};
use support::{NoHang, Place, elsewhere};
use turnlock::{Error, LockFile, capi::*, inspect, status::*};

/// As often as a thread can have one.
const LIMIT: u32 = 65_535;

pub fn a_holder_takes_it_again_and_it_is_free_after_the_last_unlock<W: Way>() {
    let stage = Stage::<W>::new();
    let party = stage.party("a");
    // By its number, and then by the bias.
    for _ in 0..40 {
        let outer = party.lock(Wait::Forever).unwrap();
        let waits = [Wait::Forever, Wait::Never, Wait::For(std::time::Duration::ZERO)];
        let inner = waits.map(|wait| party.lock(wait).unwrap());
        assert!(inner.iter().all(|held| held.fencing_token() == outer.fencing_token()));
        // In whichever order.
        outer.unlock().unwrap();
        for held in inner {
            assert_eq!(stage.another_thread_is_told("a", Wait::Never), Some(TURNLOCK_ERROR_WOULD_BLOCK));
            held.unlock().unwrap();
        }
        stage.another_thread_can_take("a");
        take_and_give_back(&party);
    }
}

pub fn taken_again_it_stays_biased_and_is_shown_as_recursive<W: Way>() {
    let stage = Stage::<W>::new();
    let party = stage.party("a");
    for _ in 0..100 {
        take_and_give_back(&party);
    }
    let is_biased = || inspect::snapshot(stage.path()).unwrap().locks[0].biased_to.is_some();
    let outer = party.lock(Wait::Never).unwrap();
    assert!(is_biased());
    party.lock(Wait::Never).unwrap().unlock().unwrap();
    outer.unlock().unwrap();
    take_and_give_back(&party);
    assert!(is_biased());
    let status = inspect::snapshot(stage.path()).unwrap().locks.remove(0);
    assert!(status.recursive);
}

pub fn a_dead_ones_times_are_one_death<W: Way>() {
    let stage = Stage::<W>::new();
    let party = stage.party("a");
    let token = elsewhere(|| {
        let party = stage.party("a");
        let held = [(); 3].map(|()| party.lock(Wait::Never).unwrap());
        let token = held[0].fencing_token();
        std::mem::forget(held);
        token
    });
    let mut held = party.lock(Wait::Forever).unwrap();
    assert!(held.previous_owner_died());
    assert_eq!(party.previous_owner().map(|(token, ..)| token), Some(token));
    // The notice comes with the first of its times, and any of them may say that the data are in order.
    let mut again = party.lock(Wait::Never).unwrap();
    assert!(!again.previous_owner_died());
    again.mark_consistent().unwrap();
    assert_eq!(held.mark_consistent().err(), Some(TURNLOCK_ERROR_NOT_INCONSISTENT));
    again.unlock().unwrap();
    held.unlock().unwrap();
    stage.another_thread_can_take("a");
}

pub fn one_that_exists_and_is_not_recursive_is_refused() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    file.mutex("plain").unwrap();
    let refused = file.mutex_options().recursive(true).open("plain").err().unwrap();
    assert!(matches!(refused, Error::Kind { .. }), "{refused}");
    assert!(refused.to_string().contains("not recursive"), "{refused}");
    file.mutex_options().recursive(true).open("recursive").unwrap();
    // It is the lock that is recursive, not the handle.
    let mutex = file.mutex("recursive").unwrap();
    assert!(mutex.is_recursive() && !file.mutex("plain").unwrap().is_recursive());
    let guards = [mutex.lock().unwrap(), mutex.lock().unwrap()];
    // A participant is not the thread, and takes it once.
    let participant = file.participant().unwrap();
    assert!(matches!(mutex.try_lock_as(&participant), Err(Error::WouldBlock(_))));
    drop(guards);
    let held = mutex.try_lock_as(&participant).unwrap();
    assert!(matches!(mutex.try_lock_as(&participant), Err(Error::Deadlock)));
    held.unlock().unwrap();
}

pub fn a_panic_within_it_is_told_of_when_all_guards_are_gone() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let mutex = file.mutex_options().recursive(true).open("a").unwrap();
    for times in [1, 64] {
        for _ in 0..times {
            drop(mutex.lock().unwrap());
        }
        let outer = mutex.lock().unwrap();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _inner = mutex.lock().unwrap();
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(panicked.is_err());
        assert!(mutex.try_lock().is_ok(), "this thread has it still");
        outer.unlock().unwrap();
        let mut told = mutex.lock().unwrap();
        assert!(told.acquired().previous_owner_died, "the data may be half-done");
        told.mark_consistent().unwrap();
    }
}

pub fn through_the_c_abi_it_is_taken_again_and_the_limit_is_an_error() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = open_file(&place.lock_file(), 8, 2).unwrap();
    let options = turnlock_mutex_options { flags: TURNLOCK_MUTEX_RECURSIVE, ..sized() };
    let open = |options: *const turnlock_mutex_options| {
        // SAFETY: a file handle, a C string, options of the right size or none, and a place for the handle.
        opened(turnlock_mutex_close, |mutex| unsafe {
            turnlock_mutex_open(file.handle, c"a".as_ptr(), options, mutex)
        })
        .unwrap()
    };
    let mutex = open(&options);
    let other = open(ptr::null());
    // SAFETY: open handles, and no place for what comes with the lock.
    unsafe {
        for time in 0..LIMIT {
            let handle = if time % 2 == 0 { mutex.handle } else { other.handle };
            assert_eq!(turnlock_mutex_lock(handle, ptr::null_mut()), TURNLOCK_OK);
        }
        assert_eq!(turnlock_mutex_lock(mutex.handle, ptr::null_mut()), TURNLOCK_ERROR_RECURSION_LIMIT);
        assert!(last_message().contains("65,535"), "{}", last_message());
        assert_eq!(turnlock_mutex_close(mutex.handle), TURNLOCK_ERROR_STILL_HELD);
        for _ in 0..LIMIT {
            assert_eq!(turnlock_mutex_unlock(mutex.handle), TURNLOCK_OK);
        }
        assert_eq!(turnlock_mutex_unlock(mutex.handle), TURNLOCK_ERROR_NOT_OWNER);
    }
}
