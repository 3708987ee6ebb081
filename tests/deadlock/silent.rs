//! What is no deadlock that can be proved: nothing is said of it.

use std::{sync::Barrier, time::Duration};
use support::{NoHang, Place, join, until};
use turnlock::{Error, LockFile, inspect};

/// Longer than it takes to tell of a deadlock.
const A_WHILE: Duration = Duration::from_millis(1500);

#[test]
fn a_wait_with_a_limit_ends_by_itself() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let file = LockFile::open(place.lock_file()).unwrap();
    let (a, b) = (file.mutex("a").unwrap(), file.mutex("b").unwrap());
    let both = Barrier::new(2);
    std::thread::scope(|threads| {
        let limited = threads.spawn(|| {
            let _a = a.lock().unwrap();
            both.wait();
            let waited = b.lock_for(A_WHILE);
            assert!(matches!(waited, Err(Error::TimedOut(_))), "{waited:?}");
        });
        let without = threads.spawn(|| {
            let _b = b.lock().unwrap();
            both.wait();
            a.lock().unwrap().unlock().unwrap();
        });
        join(limited);
        join(without);
    });
}

#[test]
fn what_participants_hold_that_threads_share_is_released_by_another_thread() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let file = LockFile::open(place.lock_file()).unwrap();
    let (a, b) = (file.mutex("a").unwrap(), file.mutex("b").unwrap());
    let owned = a.lock_owned().unwrap();
    let both = Barrier::new(2);
    std::thread::scope(|threads| {
        // It has taken `a`, as far as anyone can tell, and waits for `b`; the other one the other way round.
        let one = threads.spawn(|| {
            both.wait();
            b.lock().unwrap().unlock().unwrap();
        });
        let other = threads.spawn(|| {
            let _b = b.lock().unwrap();
            both.wait();
            a.lock().unwrap().unlock().unwrap();
        });
        std::thread::sleep(A_WHILE);
        assert!(inspect::snapshot(place.lock_file()).unwrap().deadlocks.is_empty());
        owned.unlock().unwrap();
        join(one);
        join(other);
    });
}

#[test]
fn permits_come_back_from_any_holder() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let file = LockFile::open(place.lock_file()).unwrap();
    let (permits, a) =
        (file.semaphore_options().permits(2).open("permits").unwrap(), file.mutex("a").unwrap());
    let all = Barrier::new(3);
    std::thread::scope(|threads| {
        let third = threads.spawn(|| {
            let permit = permits.acquire(1).unwrap();
            all.wait();
            std::thread::sleep(A_WHILE);
            permit.unlock().unwrap();
        });
        let has_a = threads.spawn(|| {
            let _a = a.lock().unwrap();
            all.wait();
            permits.acquire(1).unwrap().unlock().unwrap();
        });
        let has_permit = threads.spawn(|| {
            let _permit = permits.acquire(1).unwrap();
            all.wait();
            a.lock().unwrap().unlock().unwrap();
        });
        [third, has_a, has_permit].into_iter().for_each(|thread| join(thread));
    });
}

/// The wait that takes a condition's lock again is not ended: another one is told.
#[test]
fn a_condition_takes_its_lock_again_whatever_comes() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let file = LockFile::open(place.lock_file()).unwrap();
    let (data, other) = (file.mutex("data").unwrap(), file.mutex("other").unwrap());
    let changed = file.condition("changed").unwrap();
    std::thread::scope(|threads| {
        let waiter = threads.spawn(|| {
            let _other = other.lock().unwrap();
            let mut guard = data.lock().unwrap();
            changed.wait(&mut guard).unwrap();
            guard.unlock().unwrap();
        });
        until("it waits", || changed.waiters().unwrap() == 1);
        let notifier = threads.spawn(|| {
            let guard = data.lock().unwrap();
            changed.notify_one().unwrap();
            let told = other.lock();
            assert!(matches!(told, Err(Error::CircularWait(_))), "{told:?}");
            guard.unlock().unwrap();
        });
        join(notifier);
        join(waiter);
    });
}

#[test]
fn a_dead_one_is_reaped_and_not_waited_for() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let path = place.lock_file();
    let mut dies = super::party::Party::start(super::party::Language::Rust, &path, "dies");
    dies.takes("take mutex a");
    let file = LockFile::open(&path).unwrap();
    let (a, b) = (file.mutex("a").unwrap(), file.mutex("b").unwrap());
    let _b = b.lock().unwrap();
    dies.tell("take mutex b");
    until("it waits", || !inspect::snapshot(&path).unwrap().locks.iter().all(|lock| lock.queue.is_empty()));
    drop(dies);
    assert!(a.lock().unwrap().acquired().previous_owner_died);
}
