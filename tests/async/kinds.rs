//! Each kind of lock by futures.

use crate::polled::{poll, ready};
use std::{future::Future, task::Poll, thread, time::Duration};
use support::{Place, elsewhere};
use turnlock::{AcquireFuture, Error, LockFile, MutexAlgorithm, MutexKind, OwnedMutexGuard, Result};

fn open(place: &Place) -> LockFile {
    LockFile::open(place.lock_file()).unwrap()
}

/// What is free is ready at the first poll.
fn at_once<F: Future<Output = Result<G>> + Unpin, G>(mut future: F) -> G {
    match poll(&mut future) {
        Poll::Ready(guard) => guard.unwrap(),
        Poll::Pending => panic!("it waits for what is free"),
    }
}

fn must_wait<F: Future<Output = Result<G>> + Unpin, G>(mut future: F) -> F {
    assert!(poll(&mut future).is_pending(), "it does not wait for what is taken");
    future
}

#[test]
fn each_kind_is_taken_and_released_on_any_thread() {
    let place = Place::new();
    let file = open(&place);
    let (mutex, rwlock) = (file.mutex("m").unwrap(), file.rwlock("r").unwrap());
    let (jobs, rows, users) =
        (file.semaphore("s").unwrap(), file.range_lock("g").unwrap(), file.keyed_lock("k").unwrap());
    let guards = (
        (at_once(mutex.lock_async()), at_once(rwlock.write_async()), at_once(jobs.acquire_async(1))),
        (at_once(rows.lock_exclusive_async(0..10)), at_once(users.lock_exclusive_async("a"))),
    );
    assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_))));
    let mut waiting = (
        (must_wait(mutex.lock_async()), must_wait(rwlock.read_async()), must_wait(jobs.acquire_async(1))),
        (must_wait(rows.lock_shared_async(5..8)), must_wait(users.lock_shared_async("a"))),
    );
    let others = (at_once(rows.lock_exclusive_async(10..20)), at_once(users.lock_exclusive_async("b")));
    thread::spawn(move || drop((guards, others))).join().unwrap();
    let taken = thread::spawn(move || {
        let ((a, b, c), (d, e)) = &mut waiting;
        let taken = (ready(a).unwrap(), ready(b).unwrap(), ready(c).unwrap());
        (taken, ready(d).unwrap(), ready(e).unwrap())
    });
    let ((on_mutex, reader, permit), range, key) = taken.join().unwrap();
    assert!(on_mutex.fencing_token() > 0 && !on_mutex.acquired().previous_owner_died);
    elsewhere(|| {
        drop((rwlock.try_read().unwrap(), rows.try_read(6..7).unwrap(), users.try_read("a").unwrap()));
    });
    drop((on_mutex, reader, permit, range, key));
    drop((mutex.try_lock().unwrap(), rwlock.try_write().unwrap(), jobs.try_acquire(1).unwrap()));
    drop((rows.try_write(..).unwrap(), users.try_write("a").unwrap()));
}

#[test]
fn an_upgradable_hold_is_upgraded() {
    let place = Place::new();
    let rwlock = open(&place).rwlock("r").unwrap();
    let upgradable = at_once(rwlock.upgradable_async());
    let mut second = must_wait(rwlock.upgradable_async());
    // Readers go beside it, and do not wait behind the one that waits.
    let reader = at_once(rwlock.read_async());
    let not_upgraded = upgradable.try_upgrade().unwrap_err();
    assert!(matches!(not_upgraded.error, Error::WouldBlock(_)));
    drop(reader);
    let writer = not_upgraded.guard.upgrade().unwrap();
    assert!(matches!(elsewhere(|| rwlock.try_read().map(drop)), Err(Error::WouldBlock(_))));
    let upgradable = writer.downgrade_to_upgradable().unwrap();
    assert!(poll(&mut second).is_pending());
    let reader = upgradable.downgrade().unwrap();
    drop(ready(&mut second).unwrap());
    drop(reader);
    drop(rwlock.try_write().unwrap());
}

#[test]
fn a_key_or_a_range_is_not_waited_for_behind_another() {
    let place = Place::new();
    let file = open(&place);
    let (rows, users) = (file.range_lock("g").unwrap(), file.keyed_lock("k").unwrap());
    let held = (rows.lock_exclusive_owned(0..10).unwrap(), users.lock_exclusive_owned("a").unwrap());
    let mut waiting =
        (must_wait(rows.lock_exclusive_async(0..10)), must_wait(users.lock_exclusive_async("a")));
    // In the line of those that wait this would be a circle: they wait for what its holder is about to release.
    drop((at_once(rows.lock_exclusive_async(10..11)), at_once(users.lock_exclusive_async("b"))));
    drop(held);
    drop((ready(&mut waiting.0).unwrap(), ready(&mut waiting.1).unwrap()));
}

#[test]
fn several_permits_are_had_at_once_or_not_at_all() {
    let place = Place::new();
    let jobs = open(&place).semaphore_options().permits(3).open("s").unwrap();
    let two = at_once(jobs.acquire_async(2));
    let mut three = must_wait(jobs.acquire_async(3));
    let mut one = must_wait(jobs.acquire_async(1));
    drop(two);
    let three = ready(&mut three).unwrap();
    assert!(poll(&mut one).is_pending());
    drop(three);
    drop(ready(&mut one).unwrap());
}

#[test]
fn what_cannot_be_is_said_at_the_first_poll() {
    let place = Place::new();
    let file = open(&place);
    let jobs = file.semaphore_options().permits(3).open("s").unwrap();
    for permits in [0, 4] {
        let refused = poll(&mut jobs.acquire_async(permits));
        let Poll::Ready(Err(Error::Permits { wanted, permits: 3 })) = refused else { panic!("{refused:?}") };
        assert_eq!(wanted, permits);
    }
    let rows = file.range_lock("g").unwrap();
    assert!(matches!(poll(&mut rows.lock_shared_async(5..5)), Poll::Ready(Err(Error::EmptyRange { .. }))));
    let mutex = file.mutex("m").unwrap();
    file.remove_lock("m").unwrap();
    assert!(matches!(poll(&mut mutex.lock_async()), Poll::Ready(Err(Error::NotFound { .. }))));
}

#[test]
fn a_lock_by_messages_is_taken_too() {
    let place = Place::new();
    let file = LockFile::options().mailboxes(4).open(place.lock_file()).unwrap();
    let mutex = file.mutex_options().algorithm(MutexAlgorithm::LamportQueue).open("m").unwrap();
    let guard = ready(&mut mutex.lock_async()).unwrap();
    let mut second = must_wait(mutex.lock_async());
    drop(guard);
    drop(ready(&mut second).unwrap());
}

#[test]
fn futures_and_guards_go_from_thread_to_thread_and_outlive_the_handles() {
    fn is_free<T: Send + Sync + Unpin + 'static>() {}
    is_free::<AcquireFuture<MutexKind>>();
    is_free::<OwnedMutexGuard>();
    let place = Place::new();
    let held = open(&place).mutex("m").unwrap().lock_owned().unwrap();
    let mut waiting = must_wait(open(&place).mutex("m").unwrap().lock_async());
    let mut not_polled = open(&place).mutex("n").unwrap().lock_async();
    assert!(format!("{waiting:?} {not_polled:?}").contains("waiting"));
    drop(held);
    drop((ready(&mut waiting).unwrap(), ready(&mut not_polled).unwrap()));
}

#[test]
fn a_limit_ends_a_wait_in_the_line_too() {
    let place = Place::new();
    let mutex = open(&place).mutex("m").unwrap();
    let held = mutex.lock_owned().unwrap();
    let mut first = must_wait(mutex.lock_async());
    let mut limited = [1, 40, 20].map(|limit| {
        let limit = Duration::from_millis(limit);
        must_wait(mutex.lock_async().within(limit))
    });
    for limited in &mut limited {
        let Err(Error::TimedOut(by)) = ready(limited) else { panic!("{limited:?}") };
        assert_eq!(by.process(), Some(std::process::id()));
    }
    assert!(matches!(
        poll(&mut mutex.lock_async().within(Duration::ZERO)),
        Poll::Ready(Err(Error::TimedOut(_)))
    ));
    let mut patient = must_wait(mutex.lock_async().within(Duration::MAX));
    drop(held);
    drop(ready(&mut first).unwrap());
    drop(ready(&mut patient).unwrap());
    drop(at_once(mutex.lock_async().within(Duration::ZERO)));
}

#[test]
#[should_panic(expected = "after it was ready")]
fn it_is_not_polled_again() {
    let place = Place::new();
    let mut future = open(&place).mutex("m").unwrap().lock_async();
    let _guard = ready(&mut future).unwrap();
    let _ = poll(&mut future);
}
