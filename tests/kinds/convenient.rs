//! What the Rust library has besides each kind's own ways: deadlines, locks of any kind, values that only a guard gives.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
    time::{Duration, Instant},
};
use support::{Place, elsewhere};
use turnlock::{AnyLock, Error, Guarded, LockFile};

fn timed_out<T>(result: turnlock::Result<T>) -> bool {
    matches!(result, Err(Error::TimedOut(_)))
}

const SHORT: Duration = Duration::from_millis(2);

/// A deadline that is soon over.
fn soon() -> Instant {
    Instant::now() + SHORT
}

#[test]
fn a_limit_and_a_deadline_end_a_wait() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let (mutex, ring, rwlock) =
        (file.mutex("m").unwrap(), file.turn_ring("t").unwrap(), file.rwlock("r").unwrap());
    let (jobs, rows, users) =
        (file.semaphore("s").unwrap(), file.range_lock("g").unwrap(), file.keyed_lock("k").unwrap());
    let held = (mutex.lock().unwrap(), ring.lock().unwrap(), rwlock.write().unwrap());
    let parts =
        (jobs.acquire(1).unwrap(), rows.lock_exclusive(..).unwrap(), users.lock_exclusive("a").unwrap());
    elsewhere(|| {
        assert!(timed_out(mutex.try_lock_for(SHORT)) && timed_out(mutex.try_lock_until(soon())));
        assert!(timed_out(ring.try_lock_for(SHORT)) && timed_out(ring.try_lock_until(soon())));
        assert!(timed_out(rwlock.try_read_for(SHORT)) && timed_out(rwlock.try_read_until(soon())));
        assert!(timed_out(rwlock.try_write_for(SHORT)) && timed_out(rwlock.try_write_until(soon())));
        assert!(
            timed_out(rwlock.try_upgradable_for(SHORT)) && timed_out(rwlock.try_upgradable_until(soon()))
        );
        assert!(timed_out(jobs.try_acquire_for(1, SHORT)) && timed_out(jobs.try_acquire_until(1, soon())));
        assert!(timed_out(rows.try_lock_exclusive_for(1..2, SHORT)));
        assert!(timed_out(rows.try_lock_exclusive_until(1..2, soon())));
        assert!(timed_out(rows.try_lock_shared_for(1..2, SHORT)));
        assert!(timed_out(rows.try_lock_shared_until(1..2, soon())));
        assert!(matches!(rows.try_lock_exclusive(1..2), Err(Error::WouldBlock(_))));
        assert!(matches!(rows.try_lock_shared(1..2), Err(Error::WouldBlock(_))));
        assert!(timed_out(users.try_lock_exclusive_for("a", SHORT)));
        assert!(timed_out(users.try_lock_exclusive_until("a", soon())));
        assert!(timed_out(users.try_lock_shared_for("a", SHORT)));
        assert!(timed_out(users.try_lock_shared_until("a", soon())));
        assert!(matches!(users.try_lock_exclusive("a"), Err(Error::WouldBlock(_))));
        assert!(matches!(users.try_lock_shared("a"), Err(Error::WouldBlock(_))));
    });
    drop((held, parts));
    // What is free is had, also when the deadline is over.
    let over = Instant::now() - SHORT;
    drop((mutex.try_lock_until(over).unwrap(), rwlock.try_read_until(over).unwrap()));
    drop((ring.try_lock_for(SHORT).unwrap(), jobs.try_acquire_until(1, over).unwrap()));
    let first = (rows.lock_shared(0..5).unwrap(), users.lock_shared("a").unwrap());
    elsewhere(|| {
        drop((rows.try_lock_shared_until(0..5, over).unwrap(), users.try_lock_shared("a").unwrap()))
    });
    drop(first);
}

#[test]
fn a_lock_opens_as_what_it_is() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    file.mutex_options().recursive(true).patience(Duration::ZERO).open("m").unwrap();
    file.ring_options().algorithm(turnlock::RingAlgorithm::KState).open("t").unwrap();
    file.rwlock("r").unwrap();
    file.semaphore_options().permits(4).open("s").unwrap();
    file.range_lock("g").unwrap();
    file.keyed_lock("k").unwrap();
    file.group_lock("o").unwrap();
    let Ok(AnyLock::Mutex(mutex)) = file.open_any("m") else { panic!() };
    assert!(mutex.is_recursive() && mutex.patience() == Duration::ZERO);
    assert!(matches!(file.open_any("t"), Ok(AnyLock::TurnRing(_))));
    assert!(matches!(file.open_any("r"), Ok(AnyLock::RwLock(_))));
    let Ok(AnyLock::Semaphore(jobs)) = file.open_any("s") else { panic!() };
    assert_eq!(jobs.permits().unwrap(), 4);
    assert!(matches!(file.open_any("g"), Ok(AnyLock::RangeLock(_))));
    let Ok(AnyLock::KeyedLock(users)) = file.open_any("k") else { panic!() };
    assert!(format!("{users:?}").contains("\"k\""));
    assert!(matches!(file.open_any("o"), Ok(AnyLock::GroupLock(_))));
    assert!(matches!(file.open_any("none"), Err(Error::NotFound { .. })));
    assert!(matches!(file.open_any(""), Err(Error::BadName { .. })));
}

#[test]
fn a_guarded_value_is_one_thread_s_at_a_time() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let count = Guarded::new(file.mutex("m").unwrap(), 0_u64);
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| (0..1000).for_each(|_| *count.lock().unwrap() += 1));
        }
    });
    let guard = count.lock().unwrap();
    assert_eq!(*guard, 4000);
    elsewhere(|| {
        assert!(matches!(count.try_lock(), Err(Error::WouldBlock(_))));
        assert!(timed_out(count.try_lock_for(SHORT)) && timed_out(count.try_lock_until(soon())));
        // Another handle of the lock excludes, too.
        assert!(matches!(file.mutex("m").unwrap().try_lock(), Err(Error::WouldBlock(_))));
    });
    guard.unlock().unwrap();
    assert_eq!(count.into_inner().1, 4000);
}

#[test]
fn a_panic_that_has_a_guarded_value_is_told() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let text = Guarded::new(file.mutex("m").unwrap(), String::new());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        text.lock().unwrap().push_str("half");
        let _guard = text.lock().unwrap();
        std::panic::resume_unwind(Box::new(()))
    }));
    assert!(panicked.is_err());
    let mut guard = text.lock().unwrap();
    assert!(guard.acquired().previous_owner_died && guard.previous_owner().is_some());
    assert_eq!(*guard, "half");
    guard.mark_consistent().unwrap();
    drop(guard);
    let guard = text.lock().unwrap();
    assert!(!guard.acquired().previous_owner_died && guard.fencing_token() > 0);
}

#[test]
fn a_recursive_mutex_gives_its_value_once() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let value = Guarded::new(file.mutex_options().recursive(true).open("m").unwrap(), 1);
    let guard = value.lock().unwrap();
    assert!(matches!(value.lock(), Err(Error::Deadlock)));
    // The second time was given back: the lock is free when the first ends.
    drop(guard);
    elsewhere(|| assert_eq!(*value.try_lock().unwrap(), 1));
}
