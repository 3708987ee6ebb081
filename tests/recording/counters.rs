//! The counters of each lock, which are kept without a recording too.

use nix::sys::signal::Signal;
use std::{path::Path, thread, time::Duration};
use support::{
    NoHang, Place, elsewhere,
    format::{self, poke},
    puppet::{Puppet, Said},
    until, until_waiting,
};
use turnlock::{
    Error, LockFile, MutexAlgorithm,
    inspect::{self, Activity, Counters},
};

fn counters(path: &Path, name: &str) -> Counters {
    let status = inspect::snapshot(path).unwrap();
    status.locks.into_iter().find(|lock| lock.name == name).unwrap().counters
}

#[test]
fn every_file_counts() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    assert!(inspect::recording(&path).unwrap().is_none());
    let mutex = file.mutex("a").unwrap();
    assert_eq!(counters(&path, "a").acquisitions, 0);
    // By the fast path, most of them.
    (0..100).for_each(|_| drop(mutex.lock().unwrap()));
    let mut victim = Puppet::that_holds(&path, "a");
    for _ in 0..3 {
        assert!(matches!(mutex.lock_for(Duration::from_millis(5)), Err(Error::TimedOut(_))));
    }
    assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_))));
    let now = counters(&path, "a");
    assert_eq!((now.acquisitions, now.timed_out, now.died, now.passed_over), (101, 3, 0, 0));
    assert_eq!(now.contended, 4, "three waits and a try");
    victim.0.kill();
    mutex.lock().unwrap().mark_consistent().unwrap();
    assert_eq!(counters(&path, "a").died, 1);

    // Of each lock by itself, and anew in the place of one that was removed.
    drop(file.mutex("b").unwrap().lock().unwrap());
    assert_eq!((counters(&path, "b").acquisitions, counters(&path, "b").died), (1, 0));
    file.remove_lock("a").unwrap();
    file.mutex("c").unwrap();
    assert_eq!(counters(&path, "c").acquisitions, 0);
    assert_eq!(counters(&path, "c").timed_out, 0);
}

#[test]
fn readers_are_not_counted_as_acquisitions_and_their_deaths_are() {
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    let rwlock = file.rwlock("a").unwrap();
    (0..10).for_each(|_| drop(rwlock.read().unwrap()));
    drop(rwlock.write().unwrap());
    assert_eq!(counters(&path, "a").acquisitions, 1);
    let semaphore = file.semaphore_options().permits(2).open("b").unwrap();
    (0..10).for_each(|_| drop(semaphore.acquire(1).unwrap()));
    assert_eq!(counters(&path, "b").acquisitions, 10);
}

/// Where the token's holder leaves, or dies, the next one makes it anew, with a number that no acquisition has.
#[test]
fn a_token_that_is_made_anew_is_not_counted_as_an_acquisition() {
    let _no_hang = NoHang::for_seconds(120);
    for algorithm in [
        MutexAlgorithm::LamportQueue,
        MutexAlgorithm::RicartAgrawala,
        MutexAlgorithm::TokenRing,
        MutexAlgorithm::MessageBakery,
    ] {
        let place = Place::new();
        let path = place.lock_file();
        let file = LockFile::options().mailboxes(8).open(&path).unwrap();
        let mutex = file.mutex_options().algorithm(algorithm).open("a").unwrap();
        // Each has a slot of its own, and a new life in it.
        for _ in 0..5 {
            elsewhere(|| (0..3).for_each(|_| drop(mutex.lock().unwrap())));
        }
        assert_eq!(counters(&path, "a").acquisitions, 15, "{algorithm:?}");
        for dead in 1..=3 {
            Puppet::that_holds(&path, "a").0.kill();
            elsewhere(|| {
                let mut guard = mutex.lock().unwrap();
                assert!(guard.acquired().previous_owner_died);
                guard.mark_consistent().unwrap();
            });
            let now = counters(&path, "a");
            assert_eq!((now.acquisitions, now.died), (15 + 2 * dead, dead), "{algorithm:?}");
        }
    }
}

#[test]
fn a_boot_leaves_the_counters_as_they_were() {
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    let mutex = file.mutex("a").unwrap();
    // A thread that is gone has no slot.
    elsewhere(|| (0..7).for_each(|_| drop(mutex.lock().unwrap())));
    let before = counters(&path, "a");
    drop((mutex, file));
    poke(&path, format::BOOT_ID, &[1; 16]);
    let file = LockFile::open(&path).unwrap();
    let after = counters(&path, "a");
    assert_eq!(after, before);
    drop(file.mutex("a").unwrap().lock().unwrap());
    assert_eq!(counters(&path, "a").acquisitions, before.acquisitions + 1);
}

#[test]
fn who_is_passed_over_is_counted_once() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let mut holder = Puppet::that_holds(&path, "a");
    let [mut first, mut second] = [1, 2].map(|waiting| {
        let mut puppet = Puppet::at(&path, "a");
        puppet.0.tell("lock");
        until_waiting(&path, "a", waiting);
        puppet
    });
    first.0.signal(Signal::SIGSTOP);
    until("it is seen to be stopped", || support::queue_at(&path, "a")[0].activity == Activity::Stopped);
    assert_eq!(holder.ask("unlock"), Said::Done);
    assert!(matches!(second.hear(), Said::Taken(_, false)));
    assert_eq!(counters(&path, "a").passed_over, 1);
    first.0.signal(Signal::SIGCONT);
    assert_eq!(second.ask("unlock"), Said::Done);
    assert!(matches!(first.hear(), Said::Taken(_, false)));
    let contended = counters(&path, "a").contended;
    assert_eq!(contended, 2);
}

#[test]
fn threads_that_wait_are_counted() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let mutex = file.mutex("a").unwrap();
    let guard = mutex.lock().unwrap();
    thread::scope(|scope| {
        let others: Vec<_> = (0..3).map(|_| scope.spawn(|| drop(mutex.lock().unwrap()))).collect();
        until_waiting(&place.lock_file(), "a", 3);
        drop(guard);
        others.into_iter().for_each(support::join);
    });
    let now = counters(&place.lock_file(), "a");
    assert_eq!((now.acquisitions, now.contended), (4, 3));
}
