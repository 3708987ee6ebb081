//! Ranges and keys.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};
use support::{NoHang, Place, elsewhere, join, until_some};
use turnlock::{Error, LockFile, inspect::Part};

fn would_block<T>(result: turnlock::Result<T>) -> bool {
    matches!(result, Err(Error::WouldBlock(_)))
}

#[test]
fn ranges_that_overlap_exclude_each_other() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let lock = file.range_lock("a").unwrap();
    let first = lock.write(0..10).unwrap();
    let second = lock.write(10..20).unwrap();
    let third = lock.read(100..).unwrap();
    assert!(matches!(lock.write(5..7), Err(Error::Deadlock)), "it would wait for itself");
    elsewhere(|| {
        assert!(would_block(lock.try_read(9..11)));
        assert!(would_block(lock.try_write(..)));
        assert!(would_block(lock.try_write(u64::MAX..=u64::MAX)));
        drop(lock.try_read(u64::MAX..=u64::MAX).unwrap());
        drop(lock.try_write(20..100).unwrap());
    });
    assert!(matches!(lock.read(3..3), Err(Error::EmptyRange { .. })));
    drop(second);
    elsewhere(|| drop(lock.try_write(10..20).unwrap()));
    drop((first, third));
    elsewhere(|| drop(lock.try_write(..).unwrap()));
}

#[test]
fn a_waiter_for_a_range_goes_before_later_ones_that_overlap_with_it() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let lock = file.range_lock("a").unwrap();
    let first = lock.write(0..10).unwrap();
    std::thread::scope(|threads| {
        let waiter = threads.spawn(|| drop(lock.write(5..20).unwrap()));
        let status = until_some("it waits", || Some(lock.status().unwrap()).filter(|it| it.queue.len() == 1));
        assert_eq!(status.queue[0].claim.unwrap().part, Some(Part::Range { first: 5, last: 19 }));
        assert_eq!(status.queue[0].blocked_by, Some(status.holders[0].participant.slot));
        elsewhere(|| {
            assert!(would_block(lock.try_write(15..30)));
            drop(lock.try_write(20..30).unwrap());
        });
        drop(first);
        join(waiter);
    });
}

#[test]
fn a_dead_writer_is_told_of_in_its_range_alone() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let lock = file.range_lock("a").unwrap();
    elsewhere(|| {
        std::mem::forget(lock.write(10..20).unwrap());
        std::mem::forget(lock.read(30..40).unwrap());
    });
    drop(lock.read(0..10).unwrap());
    assert!(!lock.write(30..40).unwrap().acquired().previous_owner_died);
    assert!(lock.read(19..30).unwrap().acquired().previous_owner_died);
    assert!(!lock.write(20..30).unwrap().acquired().previous_owner_died);
    let status = lock.status().unwrap();
    assert_eq!(
        (status.state, status.dead_parts),
        ("inconsistent", vec![Part::Range { first: 10, last: 19 }])
    );
    let mut half = lock.write(5..15).unwrap();
    assert!(half.acquired().previous_owner_died);
    assert!(matches!(half.mark_consistent(), Err(Error::NotInconsistent)));
    drop(half);
    let mut all = lock.write(10..20).unwrap();
    assert!(all.acquired().previous_owner_died);
    all.mark_consistent().unwrap();
    drop(all);
    assert!(!lock.write(10..20).unwrap().acquired().previous_owner_died);
}

#[test]
fn keys_are_apart_and_several_are_taken_at_once() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let lock = file.keyed_lock("a").unwrap();
    let ada = lock.write("ada").unwrap();
    elsewhere(|| {
        assert!(would_block(lock.try_read("ada")));
        drop(lock.try_write("grace").unwrap());
    });
    drop(ada);
    elsewhere(|| std::mem::forget(lock.write("ada").unwrap()));
    assert!(!lock.read("grace").unwrap().acquired().previous_owner_died);
    let mut told = lock.write("ada").unwrap();
    assert!(told.acquired().previous_owner_died);
    told.mark_consistent().unwrap();
    drop(told);
    let keys = ["one", "two", "three", "two"];
    std::thread::scope(|threads| {
        for turn in 0..4 {
            let (lock, mut keys) = (&lock, keys);
            keys.rotate_left(turn);
            threads.spawn(move || {
                for _ in 0..200 {
                    assert_eq!(lock.write_all(keys).unwrap().len(), 3);
                }
            });
        }
    });
}

#[test]
fn keys_of_several_dead_are_told_apart() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let lock = file.keyed_lock("a").unwrap();
    let keys = ["ada", "grace", "edsger", "leslie"];
    for key in keys {
        // Each in the slot that the last one left.
        elsewhere(|| std::mem::forget(lock.write(key).unwrap()));
        drop(lock.read("michel").unwrap());
    }
    assert_eq!(lock.status().unwrap().dead_parts.len(), keys.len());
    assert!(!lock.write("michel").unwrap().acquired().previous_owner_died);
    for key in keys {
        let mut told = lock.write(key).unwrap();
        assert!(told.acquired().previous_owner_died, "{key}");
        told.mark_consistent().unwrap();
    }
    assert_eq!(lock.status().unwrap().state, "consistent");
}

#[test]
fn where_a_death_needs_no_repair_it_is_told_once() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let mut options = file.range_lock_options();
    let lock = options.death_policy(turnlock::DeathPolicy::Release).open("a").unwrap();
    elsewhere(|| std::mem::forget(lock.write(10..20).unwrap()));
    assert!(lock.read(5..15).unwrap().acquired().previous_owner_died);
    assert!(!lock.write(..).unwrap().acquired().previous_owner_died);
}

#[test]
fn what_a_thread_does_not_want_any_more_takes_no_slot() {
    let place = Place::new();
    let file = LockFile::options().participants(64).open(place.lock_file()).unwrap();
    let lock = file.keyed_lock("a").unwrap();
    let slots = || turnlock::inspect::snapshot(place.lock_file()).unwrap().participants.len();
    for _ in 0..3 {
        let held: Vec<_> = (0..60).map(|key: u32| lock.write(key.to_le_bytes()).unwrap()).collect();
        assert_eq!(slots(), 60);
        drop(held);
        assert!(slots() <= 4, "{}", slots());
    }
    let all: Vec<_> = (0..64).map(|key: u32| lock.write(key.to_le_bytes()).unwrap()).collect();
    assert!(matches!(lock.write("one more"), Err(Error::ParticipantsFull { .. })));
    drop(all);
}

#[test]
fn a_lock_in_use_is_not_removed_and_one_that_is_free_is() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let ranges = file.range_lock("ranges").unwrap();
    let rwlock = file.rwlock("rwlock").unwrap();
    let semaphore = file.semaphore("semaphore").unwrap();
    for _ in 0..100 {
        drop(rwlock.read().unwrap());
    }
    let held = (ranges.read(1..2).unwrap(), rwlock.read().unwrap(), semaphore.acquire(1).unwrap());
    for name in ["ranges", "rwlock", "semaphore"] {
        elsewhere(|| assert!(matches!(file.remove_lock(name), Err(Error::InUse { .. })), "{name}"));
    }
    elsewhere(|| drop(rwlock.try_read().unwrap()));
    drop(held);
    for name in ["ranges", "rwlock", "semaphore"] {
        file.remove_lock(name).unwrap();
    }
    // In their places now: biased to readers again, which is not the old handle's bias.
    let (other, _) = (file.rwlock("another").unwrap(), file.rwlock("a third").unwrap());
    for _ in 0..100 {
        drop(other.read().unwrap());
    }
    assert!(matches!(rwlock.read(), Err(Error::NotFound { .. })));
    assert!(matches!(ranges.read(..), Err(Error::NotFound { .. })));
    assert!(matches!(semaphore.try_acquire(1), Err(Error::NotFound { .. })));
}

/// A participant that removes a lock, or tries to, is outside of its region again.
#[test]
fn a_participant_that_removed_a_lock_is_in_no_others_way() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    file.mutex("a").unwrap();
    file.remove_lock("a").unwrap();
    let lock = file.rwlock("b").unwrap();
    elsewhere(|| {
        for _ in 0..100 {
            drop(lock.read().unwrap());
        }
        // It waits for every other one to be outside.
        drop(lock.write().unwrap());
    });
    elsewhere(|| std::mem::forget(lock.write().unwrap()));
    assert!(matches!(file.remove_lock("b"), Err(Error::InUse { .. })), "a holder is still to be told");
    elsewhere(|| {
        lock.reset().unwrap();
        for _ in 0..100 {
            drop(lock.read().unwrap());
        }
        drop(lock.write().unwrap());
    });
}

/// One that wants all comes between two parts of one that takes several.
#[test]
fn several_at_once_and_all_of_it_do_not_wait_for_each_other() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let (rows, users) = (file.range_lock("rows").unwrap(), file.keyed_lock("users").unwrap());
    let (_no_hang, done) = (NoHang::for_seconds(60), AtomicBool::new(false));
    thread::scope(|threads| {
        let several = threads.spawn(|| {
            for _ in 0..300 {
                drop(rows.write_all([0..1, 2..3, 4..5, 6..7]).unwrap());
                drop(users.write_all(["a", "b", "c", "d"]).unwrap());
                drop(rows.read_all([1..2, 3..9]).unwrap());
            }
            done.store(true, Relaxed);
        });
        while !done.load(Relaxed) && !several.is_finished() {
            drop(rows.write(..).unwrap());
            users.reset().unwrap();
        }
    });
}
