//! Handles that are open to a lock that was removed.

use std::time::Duration;
use support::{
    Place,
    actor::{Actor, hear, say},
    elsewhere,
    puppet::{Puppet, Said},
};
use turnlock::{Error, LockFile, Mutex, Result, RingAlgorithm, TurnRing, inspect, status::*};

fn removed<T>(attempt: Result<T>) {
    let error = attempt.map(drop).unwrap_err();
    assert_eq!(error.code(), TURNLOCK_ERROR_NOT_FOUND, "{error}");
    assert!(error.to_string().contains("was removed: open the lock again by its name"), "{error}");
}

fn every_call_says_so(file: &LockFile, mutex: &Mutex) {
    let limit = Duration::from_secs(9);
    removed(mutex.lock());
    removed(mutex.try_lock());
    removed(mutex.lock_for(limit));
    removed(mutex.reset());
    removed(mutex.reset_for(limit));
    removed(mutex.reopened());
    removed(mutex.clone().lock_or_reopen());
    let participant = file.participant().unwrap();
    removed(mutex.lock_as(&participant));
    removed(mutex.try_lock_as(&participant));
    elsewhere(|| removed(mutex.lock()));
    assert!(mutex.previous_owner().is_none());
}

/// So often that its thread owns the bias, wherever that is allowed.
fn lock_often(mutex: &Mutex) {
    for _ in 0..1000 {
        mutex.lock().unwrap().unlock().unwrap();
    }
}

fn bias_owner(place: &Place) -> Option<usize> {
    inspect::snapshot(place.lock_file()).unwrap().locks[0].biased_to
}

#[test]
fn they_fail_also_when_the_name_is_there_again() {
    let place = Place::new();
    let file = LockFile::options().participants(4).locks(1).open(place.lock_file()).unwrap();
    let stale = file.mutex("a").unwrap();
    lock_often(&stale);
    let last = stale.lock().unwrap().fencing_token();
    let mut other = Puppet::at(&place.lock_file(), "a");
    assert_eq!(other.ask("try"), Said::Taken(last + 1, false));
    assert_eq!(other.ask("unlock"), Said::Done);
    file.remove_lock("a").unwrap();
    every_call_says_so(&file, &stale);
    assert_eq!(other.ask("lock"), Said::Error(TURNLOCK_ERROR_NOT_FOUND));
    // There is one region, so each of these is in it.
    for name in ["a", "b", "a"] {
        let new = file.mutex(name).unwrap();
        every_call_says_so(&file, &stale);
        let guard = new.lock().unwrap();
        assert!(guard.fencing_token() > last + 1, "tokens go on rising");
        every_call_says_so(&file, &stale);
        drop(guard);
        // This thread is in and out of the new one all the time, and was the bias owner of the old one.
        for _ in 0..200 {
            lock_often(&new);
            removed(stale.lock());
        }
        assert_eq!(bias_owner(&place), None, "as long as a handle of the old one is open here");
        assert_eq!(other.ask("try"), Said::Error(TURNLOCK_ERROR_NOT_FOUND));
        drop(new);
        file.remove_lock(name).unwrap();
    }
    drop(stale);
    let new = file.mutex("a").unwrap();
    lock_often(&new);
    assert!(bias_owner(&place).is_some(), "no handle of an old one is open");
}

#[test]
fn they_give_back_nothing_that_they_do_not_have() {
    let place = Place::new();
    let file = LockFile::options().locks(1).open(place.lock_file()).unwrap();
    let stale = crate::allocation::c_mutex(&place.lock_file(), c"a");
    file.remove_lock("a").unwrap();
    let mutex = file.mutex("b").unwrap();
    let guard = mutex.lock().unwrap();
    // SAFETY: an open handle.
    unsafe {
        use turnlock::capi::*;
        assert_eq!(turnlock_mutex_unlock(stale), TURNLOCK_ERROR_NOT_OWNER);
        assert_eq!(turnlock_mutex_abandon(stale), TURNLOCK_ERROR_NOT_OWNER);
        assert_eq!(turnlock_mutex_mark_consistent(stale), TURNLOCK_ERROR_NOT_OWNER);
        assert_eq!(turnlock_mutex_lock(stale, std::ptr::null_mut()), TURNLOCK_ERROR_NOT_FOUND);
        assert_eq!(turnlock_mutex_close(stale), TURNLOCK_OK, "nothing is held by it");
    }
    elsewhere(|| assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_))), "it is still held"));
    guard.unlock().unwrap();
}

/// A region changes hands between kinds, with a stale handle of each around.
#[test]
fn a_region_is_as_good_as_new_whatever_it_was() {
    let place = Place::new();
    let file = LockFile::options().participants(5).locks(1).open(place.lock_file()).unwrap();
    let mut stale: (Vec<Mutex>, Vec<TurnRing>) = Default::default();
    let algorithms =
        [RingAlgorithm::KState, RingAlgorithm::Raynal, RingAlgorithm::Sum { step: 2 }, RingAlgorithm::KState];
    let mut last = 0;
    for (round, algorithm) in algorithms.into_iter().cycle().take(12).enumerate() {
        let mutex = file.mutex("a").unwrap();
        assert!(mutex.previous_owner().is_none());
        lock_often(&mutex);
        elsewhere(|| mutex.lock().unwrap().unlock().unwrap());
        // A holder dies inside, and the next one repairs.
        elsewhere(|| std::mem::forget(mutex.lock().unwrap()));
        let mut guard = mutex.lock().unwrap();
        assert!(guard.fencing_token() > last, "round {round}");
        last = guard.fencing_token();
        guard.mark_consistent().unwrap();
        drop(guard);
        stale.0.push(mutex);
        file.remove_lock("a").unwrap();

        let ring = file.ring_options().algorithm(algorithm).member(true).open("a").unwrap();
        assert!(ring.previous_owner().is_none());
        for _ in 0..3 {
            let turn = ring.lock().unwrap();
            assert!(turn.fencing_token() > last && !turn.acquired().previous_owner_died, "round {round}");
            last = turn.fencing_token();
            stale.0.iter().for_each(|mutex| removed(mutex.try_lock()));
            stale.1.iter().for_each(|ring| removed(ring.try_lock()));
            // To leave a ring that is gone changes nothing, here neither.
            stale.1.iter().for_each(|ring| ring.leave().unwrap_or(()));
        }
        let status = &inspect::snapshot(place.lock_file()).unwrap().locks[0];
        assert_eq!(status.queue.len(), 1, "round {round}: it still stands in the ring: {status:?}");
        ring.leave().unwrap();
        stale.1.push(ring);
        file.remove_lock("a").unwrap();
    }
}

#[test]
fn a_participant_that_stands_in_the_next_ring_is_not_taken_out_by_a_handle_of_the_last() {
    let place = Place::new();
    let file = LockFile::options().participants(4).locks(1).open(place.lock_file()).unwrap();
    let task = file.participant().unwrap();
    let open = || file.ring_options().member(true).open("r").unwrap();
    let stale = open();
    drop(stale.lock_as(&task).unwrap());
    stale.leave_as(&task).unwrap();
    file.remove_lock("r").unwrap();
    let ring = open();
    drop(ring.lock_as(&task).unwrap());
    stale.leave_as(&task).unwrap();
    let status = inspect::snapshot(place.lock_file()).unwrap();
    assert_eq!(status.locks[0].queue.len(), 1, "{status:?}");
}

/// One thread is in and out of a lock all the time, and has a handle of the one that was there before.
pub fn locks_by_a_stale_handle(words: &[String]) {
    let file = LockFile::options().locks(1).open(&words[0]).unwrap();
    let stale = file.mutex("a").unwrap();
    lock_often(&stale);
    file.remove_lock("a").unwrap();
    let new = file.mutex("b").unwrap();
    lock_often(&new);
    say(if stale.lock().is_ok() { "inside" } else { "refused" });
    hear();
}

fn by_a_stale_handle(mutant: &str) -> String {
    let place = Place::new();
    let file = place.lock_file();
    let mutant = [("TURNLOCK_MUTANT", mutant)];
    let mut actor = Actor::start_with("locks_by_a_stale_handle", &[file.to_str().unwrap()], &mutant);
    actor.hear()
}

#[test]
fn a_thread_that_owns_the_bias_of_the_next_lock_is_not_let_in_by_a_handle_of_the_last() {
    assert_eq!(by_a_stale_handle(""), "refused");
}

#[cfg(feature = "mutants")]
mod with_mutants {
    #[test]
    fn a_bias_beside_a_stale_handle_is_caught() {
        assert_eq!(super::by_a_stale_handle("BiasedBesideStale"), "inside", "the mutant was on");
    }
}

/// A file with room for one lock, so that each next one is in the place of the one before it.
fn with_one_lock() -> (Place, LockFile) {
    let place = Place::new();
    let file = LockFile::options().participants(8).locks(1).open(place.lock_file()).unwrap();
    (place, file)
}

/// Who writes twice in a row, or has the same permits, comes in by its reservation.
#[test]
fn a_place_retained_in_the_next_lock_lets_no_stale_handle_in() {
    let (_place, file) = with_one_lock();
    let stale = file.rwlock("a").unwrap();
    for _ in 0..10 {
        drop(stale.write().unwrap());
    }
    file.remove_lock("a").unwrap();
    let new = file.rwlock("b").unwrap();
    for _ in 0..10 {
        drop(new.write().unwrap());
        removed(stale.try_write());
        removed(stale.try_read());
        removed(stale.try_upgradable());
    }
    drop((stale, new));
    file.remove_lock("b").unwrap();
    let stale = file.semaphore_options().permits(3).open("c").unwrap();
    for _ in 0..10 {
        drop(stale.acquire(1).unwrap());
    }
    file.remove_lock("c").unwrap();
    let new = file.semaphore_options().permits(3).open("d").unwrap();
    for _ in 0..10 {
        drop(new.acquire(1).unwrap());
        removed(stale.try_acquire(1));
    }
}

/// The same through the C ABI, where what a stale handle gives back can be asked for.
#[test]
fn what_the_next_lock_has_by_a_retained_place_no_stale_handle_gives_back() {
    use turnlock::capi::*;
    let (place, file) = with_one_lock();
    let path = std::ffi::CString::new(place.lock_file().to_str().unwrap()).unwrap();
    let none: *mut turnlock_acquired = std::ptr::null_mut();
    // SAFETY: C strings, handles that are open, and places for others.
    unsafe {
        let (mut in_c, mut stale, mut new) = (std::ptr::null_mut(), none.cast(), none.cast());
        assert_eq!(turnlock_file_open(path.as_ptr(), std::ptr::null(), &mut in_c), TURNLOCK_OK);
        assert_eq!(turnlock_rwlock_open(in_c, c"a".as_ptr(), std::ptr::null(), &mut stale), TURNLOCK_OK);
        file.remove_lock("a").unwrap();
        assert_eq!(turnlock_rwlock_open(in_c, c"b".as_ptr(), std::ptr::null(), &mut new), TURNLOCK_OK);
        for _ in 0..10 {
            assert_eq!(turnlock_rwlock_lock_exclusive(new, none), TURNLOCK_OK);
            assert_eq!(turnlock_rwlock_unlock(stale), TURNLOCK_ERROR_NOT_OWNER);
            assert_eq!(turnlock_lock_is_contended(stale.cast()), TURNLOCK_ERROR_NOT_OWNER);
            assert_eq!(turnlock_rwlock_unlock(new), TURNLOCK_OK);
        }
        for _ in 0..10 {
            assert_eq!(turnlock_rwlock_lock_shared(new, none), TURNLOCK_OK);
            assert_eq!(turnlock_rwlock_unlock(stale), TURNLOCK_ERROR_NOT_OWNER);
            assert_eq!(turnlock_rwlock_try_lock_shared(stale, none), TURNLOCK_ERROR_NOT_FOUND);
            assert_eq!(turnlock_rwlock_unlock(new), TURNLOCK_OK);
        }
        for handle in [stale, new] {
            assert_eq!(turnlock_rwlock_close(handle), TURNLOCK_OK);
        }
        file.remove_lock("b").unwrap();
        let (mut stale, mut new) = (none.cast(), none.cast());
        assert_eq!(turnlock_semaphore_open(in_c, c"a".as_ptr(), std::ptr::null(), &mut stale), TURNLOCK_OK);
        file.remove_lock("a").unwrap();
        assert_eq!(turnlock_semaphore_open(in_c, c"b".as_ptr(), std::ptr::null(), &mut new), TURNLOCK_OK);
        for _ in 0..10 {
            assert_eq!(turnlock_semaphore_acquire(new, 1, none), TURNLOCK_OK);
            for permits in [1, 5] {
                assert_eq!(turnlock_semaphore_release(stale, permits), TURNLOCK_ERROR_NOT_OWNER);
                assert_eq!(turnlock_semaphore_acquire(stale, permits, none), TURNLOCK_ERROR_NOT_FOUND);
            }
            assert_eq!(turnlock_lock_is_contended(stale.cast()), TURNLOCK_ERROR_NOT_OWNER);
            assert_eq!(turnlock_semaphore_release(new, 1), TURNLOCK_OK);
            let mut permits = 0;
            assert_eq!(turnlock_semaphore_permits(stale, &mut permits), TURNLOCK_ERROR_NOT_FOUND);
            assert_eq!(turnlock_semaphore_resize(stale, 2), TURNLOCK_ERROR_NOT_FOUND);
            assert_eq!(turnlock_semaphore_permits(new, &mut permits), TURNLOCK_OK);
            assert_eq!(permits, 1);
        }
        for handle in [stale, new] {
            assert_eq!(turnlock_semaphore_close(handle), TURNLOCK_OK);
        }
        assert_eq!(turnlock_file_close(in_c), TURNLOCK_OK);
    }
}

/// The next lock in its place is held by the same thread, waited for, and has had a dead holder.
#[test]
fn a_stale_handle_tells_nothing_of_the_next_lock() {
    macro_rules! tells_nothing {
        ($open:ident $options:ident $lock:ident ($($part:expr)?)) => {{
            let (place, file) = with_one_lock();
            let stale = file.$open("a").unwrap();
            file.remove_lock("a").unwrap();
            let new = file.$options().death_policy(turnlock::DeathPolicy::Release).open("b").unwrap();
            // Joined, so that the slot is given up.
            std::thread::scope(|threads| {
                threads.spawn(|| std::mem::forget(new.$lock($($part)?).unwrap())).join().unwrap();
            });
            let guard = new.$lock($($part)?).unwrap();
            assert!(new.previous_owner().is_some());
            assert!(stale.previous_owner().is_none());
            removed(stale.status());
            removed(stale.$lock($($part)?));
            assert!(matches!(stale.try_reset().map_err(|error| error.code()), Err(TURNLOCK_ERROR_NOT_FOUND)));
            drop(guard);
            drop(place);
        }};
    }
    tells_nothing!(mutex mutex_options lock ());
    tells_nothing!(turn_ring ring_options lock ());
    tells_nothing!(rwlock rwlock_options write ());
    tells_nothing!(range_lock range_lock_options write (0..4));
    tells_nothing!(keyed_lock keyed_lock_options write ("a"));
    tells_nothing!(group_lock group_lock_options lock (7));
}
