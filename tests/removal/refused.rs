//! A lock that is in use is not removed, nor one whose owner's death no participant was told of.

use std::thread;
use support::{
    NoHang, Place, elsewhere, join, limit,
    puppet::{Puppet, Said},
    until_waiting,
};
use turnlock::{Error, LockFile, Mutex, RingAlgorithm, inspect, status::*};

fn in_use(file: &LockFile, name: &str, words: &[&str]) {
    let error = file.remove_lock(name).unwrap_err();
    assert_eq!(error.code(), TURNLOCK_ERROR_IN_USE, "{error}");
    assert!(matches!(error, Error::InUse { .. }));
    assert!(words.iter().all(|word| error.to_string().contains(word)), "{error}");
}

fn is_there(place: &Place, name: &str) -> bool {
    inspect::snapshot(place.lock_file()).unwrap().locks.iter().any(|lock| lock.name == name)
}

/// Has this thread own the lock's bias.
fn bias(mutex: &Mutex, place: &Place) {
    for _ in 0..1000 {
        mutex.lock().unwrap().unlock().unwrap();
    }
    assert!(inspect::snapshot(place.lock_file()).unwrap().locks[0].biased_to.is_some());
}

#[test]
fn while_somebody_holds_it() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let mutex = file.mutex("a").unwrap();
    let guard = mutex.lock().unwrap();
    in_use(&file, "a", &["this thread has", "unlock it first"]);
    elsewhere(|| in_use(&file, "a", &["is in use", "turnlock status"]));
    guard.unlock().unwrap();
    bias(&mutex, &place);
    let guard = mutex.lock().unwrap();
    in_use(&file, "a", &["this thread has"]);
    elsewhere(|| in_use(&file, "a", &["is in use"]));
    drop(guard);
    // A participant's, and another process's.
    let participant = file.participant().unwrap();
    let guard = mutex.lock_as(&participant).unwrap();
    in_use(&file, "a", &["is in use"]);
    drop(guard);
    let mut puppet = Puppet::that_holds(&place.lock_file(), "a");
    in_use(&file, "a", &["is in use"]);
    assert_eq!(puppet.ask("unlock"), Said::Done);
    assert!(is_there(&place, "a"));
    // Who was last in and is outside does not use it.
    bias(&mutex, &place);
    elsewhere(|| file.remove_lock("a")).unwrap();
    assert!(!is_there(&place, "a"));
}

#[test]
fn while_somebody_waits_for_it_and_those_are_not_disturbed() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let mutex = file.mutex("a").unwrap();
    let guard = mutex.lock().unwrap();
    thread::scope(|threads| {
        let waiter = threads.spawn(|| mutex.lock().map(drop));
        until_waiting(&place.lock_file(), "a", 1);
        for _ in 0..100 {
            elsewhere(|| in_use(&file, "a", &["is in use"]));
        }
        guard.unlock().unwrap();
        join(waiter).unwrap();
    });
    file.remove_lock("a").unwrap();
}

#[test]
fn while_somebody_stands_in_the_ring() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let mut options = file.ring_options();
    options.algorithm(RingAlgorithm::KState);
    let ring = options.clone().member(true).open("r").unwrap();
    let turn = ring.lock().unwrap();
    in_use(&file, "r", &["this thread has"]);
    drop(turn);
    in_use(&file, "r", &["this thread stands in the ring", "leave it first"]);
    elsewhere(|| in_use(&file, "r", &["in use by", "is on its ring"]));
    // On demand it is on the ring while it holds only.
    ring.leave().unwrap();
    let on_demand = options.open("r").unwrap();
    let turn = on_demand.lock().unwrap();
    elsewhere(|| in_use(&file, "r", &["in use"]));
    drop(turn);
    elsewhere(|| file.remove_lock("r")).unwrap();
    // One that stands and ends has left.
    let ring = file.ring_options().member(true).open("r").unwrap();
    elsewhere(|| drop(ring.lock().unwrap()));
    file.remove_lock("r").unwrap();
    assert!(!is_there(&place, "r"));
}

#[test]
fn while_the_death_of_its_holder_is_untold_or_nobody_repaired_what_it_left() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let mut puppet = Puppet::that_holds(&place.lock_file(), "a");
    puppet.0.kill();
    for _ in 0..2 {
        in_use(&file, "a", &["died", "no holder has been told yet", "reset it"]);
    }
    let mutex = file.mutex("a").unwrap();
    let guard = mutex.lock().unwrap();
    assert!(guard.acquired().previous_owner_died, "the notice is still there");
    assert_eq!(guard.previous_owner().unwrap().pid, puppet.0.pid(), "and so is who it was");
    drop(guard);
    let closed = file.remove_lock("a").unwrap_err();
    assert_eq!(closed.code(), TURNLOCK_ERROR_NOT_RECOVERABLE);
    mutex.reset().unwrap();
    file.remove_lock("a").unwrap();
    let again = file.mutex("a").unwrap();
    assert!(again.previous_owner().is_none(), "it is another lock");
    assert!(!again.lock().unwrap().acquired().previous_owner_died);
}

#[test]
fn the_dead_use_nothing() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = LockFile::options().participants(4).open(place.lock_file()).unwrap();
    let mutex = file.mutex("a").unwrap();
    let guard = mutex.lock().unwrap();
    let mut waiter = Puppet::at(&place.lock_file(), "a");
    waiter.0.tell("lock");
    until_waiting(&place.lock_file(), "a", 1);
    guard.unlock().unwrap();
    assert!(matches!(waiter.hear(), Said::Taken(_, false)));
    assert_eq!(waiter.ask("unlock"), Said::Done);
    // In the queue, when it died.
    let guard = mutex.lock().unwrap();
    waiter.0.tell("lock");
    until_waiting(&place.lock_file(), "a", 1);
    waiter.0.kill();
    guard.unlock().unwrap();
    file.remove_lock("a").unwrap();
}

#[test]
fn a_name_that_is_none_or_not_there() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let absent = file.remove_lock("a").unwrap_err();
    assert_eq!(absent.code(), TURNLOCK_ERROR_NOT_FOUND);
    assert!(absent.to_string().contains("nothing called \"a\""), "{absent}");
    for name in ["", "a\0b", &"x".repeat(64)] {
        assert_eq!(file.remove_lock(name).unwrap_err().code(), TURNLOCK_ERROR_BAD_NAME);
    }
    drop(file.mutex("a").unwrap());
    file.remove_lock("a").unwrap();
    assert_eq!(file.remove_lock("a").unwrap_err().code(), TURNLOCK_ERROR_NOT_FOUND);
    assert_eq!(file.existing_mutex("a").map(drop).unwrap_err().code(), TURNLOCK_ERROR_NOT_FOUND);
}

#[test]
fn while_its_holder_is_stopped_it_is_refused_at_once() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let puppet = Puppet::that_holds(&place.lock_file(), "a");
    puppet.0.signal(nix::sys::signal::Signal::SIGSTOP);
    let began = std::time::Instant::now();
    in_use(&file, "a", &["is in use"]);
    assert!(began.elapsed() < limit::seconds(30));
}
