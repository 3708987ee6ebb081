//! Permits.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    thread,
    time::Duration,
};
use support::{NoHang, Place, elsewhere, join, until, until_some};
use turnlock::{Error, LockFile, Semaphore};

fn of(place: &Place, permits: u32) -> (LockFile, Semaphore) {
    let file = LockFile::open(place.lock_file()).unwrap();
    let semaphore = file.semaphore_options().permits(permits).patience(Duration::ZERO).open("a").unwrap();
    (file, semaphore)
}

fn would_block<T>(result: turnlock::Result<T>) -> bool {
    matches!(result, Err(Error::WouldBlock(_)))
}

#[test]
fn so_many_and_no_more() {
    let place = Place::new();
    let (_file, semaphore) = of(&place, 3);
    let two = semaphore.acquire(2).unwrap();
    let one = semaphore.acquire(1).unwrap();
    assert_ne!(two.fencing_token(), one.fencing_token());
    assert!(would_block(semaphore.try_acquire(1)));
    assert!(matches!(semaphore.acquire(1), Err(Error::Deadlock)));
    elsewhere(|| assert!(would_block(semaphore.try_acquire(1))));
    drop(two);
    elsewhere(|| drop(semaphore.try_acquire(2).unwrap()));
    drop(one);
    elsewhere(|| drop(semaphore.try_acquire(3).unwrap()));
    assert!(matches!(semaphore.acquire(0), Err(Error::Permits { wanted: 0, permits: 3 })));
    assert!(matches!(semaphore.acquire(4), Err(Error::Permits { wanted: 4, permits: 3 })));
}

#[test]
fn permits_of_the_dead_come_back() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (_file, semaphore) = of(&place, 4);
    let mine = semaphore.acquire(1).unwrap();
    for _ in 0..10 {
        elsewhere(|| {
            std::mem::forget(semaphore.acquire(2).unwrap());
            std::mem::forget(semaphore.acquire(1).unwrap());
        });
        elsewhere(|| {
            let permits = semaphore.acquire(3).unwrap();
            assert!(!permits.acquired().previous_owner_died);
        });
    }
    drop(mine);
}

#[test]
fn a_waiter_that_wants_less_does_not_overtake() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (_file, semaphore) = of(&place, 3);
    let first = semaphore.acquire(1).unwrap();
    let second = semaphore.acquire(1).unwrap();
    std::thread::scope(|threads| {
        let large = threads.spawn(|| drop(semaphore.acquire(3).unwrap()));
        until("it waits", || semaphore.status().unwrap().queue.len() == 1);
        elsewhere(|| assert!(would_block(semaphore.try_acquire(1))));
        let small = threads.spawn(|| drop(semaphore.acquire(1).unwrap()));
        let both_wait = || Some(semaphore.status().unwrap()).filter(|status| status.queue.len() == 2);
        let status = until_some("both wait", both_wait);
        assert_eq!(status.queue[0].claim.unwrap().permits, Some(3));
        drop(first);
        assert!(!large.is_finished());
        drop(second);
        join(large);
        join(small);
    });
}

#[test]
fn a_holder_that_leaves_wakes_the_first_waiter() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (_file, semaphore) = of(&place, 2);
    // The first that came leaves first: the waiters are parked at the other.
    for _ in 0..20 {
        let first = semaphore.acquire(1).unwrap();
        let second = semaphore.acquire(1).unwrap();
        std::thread::scope(|threads| {
            let waiters: Vec<_> =
                (0..3).map(|_| threads.spawn(|| drop(semaphore.acquire(1).unwrap()))).collect();
            until("all wait", || semaphore.status().unwrap().queue.len() == 3);
            drop(first);
            waiters.into_iter().for_each(join);
        });
        drop(second);
    }
}

#[test]
fn resized_it_has_more_at_once_and_fewer_as_they_come_back() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (_file, semaphore) = of(&place, 1);
    let one = semaphore.acquire(1).unwrap();
    std::thread::scope(|threads| {
        let waiter = threads.spawn(|| drop(semaphore.acquire(1).unwrap()));
        until("it waits", || semaphore.status().unwrap().queue.len() == 1);
        semaphore.resize(2).unwrap();
        join(waiter);
    });
    let other = semaphore.acquire(1).unwrap();
    semaphore.resize(1).unwrap();
    drop(one);
    elsewhere(|| assert!(would_block(semaphore.try_acquire(1))));
    drop(other);
    elsewhere(|| drop(semaphore.try_acquire(1).unwrap()));
    assert!(matches!(semaphore.resize(0), Err(Error::InvalidArgument(_))));
    assert!(matches!(semaphore.resize(u32::MAX), Err(Error::InvalidArgument(_))));
    assert_eq!(semaphore.permits().unwrap(), 1);
}

/// The waiters that want more than there are by now are told: strictly in order, or letting others pass.
#[test]
fn a_waiter_for_more_permits_than_there_are_is_told_so() {
    let _no_hang = NoHang::for_seconds(60);
    for patience in [Duration::ZERO, Duration::from_millis(1), Duration::from_secs(50)] {
        let place = Place::new();
        let file = LockFile::open(place.lock_file()).unwrap();
        let semaphore = file.semaphore_options().permits(8).patience(patience).open("a").unwrap();
        let held = semaphore.acquire(8).unwrap();
        std::thread::scope(|threads| {
            let (semaphore, file) = (&semaphore, &file);
            let waits = |permits| {
                let waiter = threads.spawn(move || match permits {
                    7 => semaphore.acquire_for(permits, Duration::from_secs(50)).map(drop),
                    6 => semaphore.acquire_as(&file.participant().unwrap(), permits).map(drop),
                    _ => semaphore.acquire(permits).map(drop),
                });
                until("it waits", || {
                    let of_it = |it: &turnlock::inspect::Waiter| {
                        it.claim.is_some_and(|claim| claim.permits == Some(permits))
                    };
                    semaphore.status().unwrap().queue.iter().any(of_it)
                });
                waiter
            };
            let waiters = [2, 5, 3, 6, 7].map(waits);
            semaphore.resize(3).unwrap();
            let [two, five, three, six, seven] = waiters;
            for (wanted, waiter) in [(5, five), (6, six), (7, seven)] {
                match waiter.join().unwrap() {
                    Err(Error::Permits { wanted: told, permits: 3 }) => assert_eq!(told, wanted),
                    told => panic!("{wanted} of 3: {told:?}"),
                }
            }
            assert!(!two.is_finished() && !three.is_finished(), "they may have theirs later");
            drop(held);
            two.join().unwrap().unwrap();
            three.join().unwrap().unwrap();
        });
        assert!(semaphore.status().unwrap().queue.is_empty());
    }
}

/// One that wants all permits, beside many that want one each and come back at once, is not passed for as long as others can make
/// room for each other. Some hundreds pass while it is woken up; 100,000 and more where it lets others pass for its patience. Half
/// of the times count, since a holder that lost its processor may keep it waiting.
#[test]
fn one_that_wants_all_is_passed_by_few() {
    const OTHERS: u32 = 12;
    const ALL: u32 = 8;
    const TIMES: usize = 41;
    let _no_hang = NoHang::for_seconds(120);
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let semaphore = file.semaphore_options().permits(ALL).open("a").unwrap();
    let (entries, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut passed: Vec<u64> = thread::scope(|threads| {
        for _ in 0..OTHERS {
            threads.spawn(|| {
                while !is_over.load(Relaxed) {
                    drop(semaphore.acquire(1).unwrap());
                    entries.fetch_add(1, Relaxed);
                }
            });
        }
        let waits_once = |_| {
            let before = entries.load(Relaxed);
            until("others come in", || entries.load(Relaxed) > before + 100);
            let before = entries.load(Relaxed);
            drop(semaphore.acquire(ALL).unwrap());
            entries.load(Relaxed) - before
        };
        let passed = (0..TIMES).map(waits_once).collect();
        is_over.store(true, Relaxed);
        passed
    });
    passed.sort_unstable();
    assert!(passed[TIMES / 2] < 10_000, "{passed:?}");
}
