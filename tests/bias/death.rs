//! A bias owner that is killed or stopped, or whose slot another participant takes.

use super::{biased_to, enter_often};
use nix::sys::signal::Signal;
use std::{path::Path, time::Duration};
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    elsewhere, limit,
};
use turnlock::{Error, LockFile, Mutex};

pub fn owns_the_bias(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    enter_often(&mutex);
    say("owns");
    hear();
}

pub fn owns_the_bias_and_holds(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    enter_often(&mutex);
    let _guard = mutex.lock().unwrap();
    say("holds");
    hear();
}

/// A process that is the bias owner, and is inside or not.
fn owner_at(path: &Path, inside: bool) -> Actor {
    let (role, says) = if inside { ("owns_the_bias_and_holds", "holds") } else { ("owns_the_bias", "owns") };
    let mut owner = Actor::start(role, &[path.to_str().unwrap()]);
    owner.expect(says);
    assert!(biased_to(path).is_some());
    owner
}

#[test]
fn a_dead_bias_owner_is_told_of_only_if_it_was_inside() {
    let _no_hang = NoHang::for_seconds(60);
    for inside in [false, true] {
        let place = Place::new();
        let path = place.lock_file();
        let mut owner = owner_at(&path, inside);
        owner.kill();
        let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
        let mut guard = mutex.lock_for(limit::of_processes()).unwrap();
        assert_eq!(guard.acquired().previous_owner_died, inside);
        assert_eq!(guard.previous_owner().map(|dead| dead.pid), inside.then_some(owner.pid()));
        if inside {
            guard.mark_consistent().unwrap();
        }
    }
}

#[test]
fn the_bias_of_a_stopped_owner_is_revoked_in_vain_only_if_it_is_inside() {
    let _no_hang = NoHang::for_seconds(60);
    for inside in [false, true] {
        let place = Place::new();
        let path = place.lock_file();
        let owner = owner_at(&path, inside);
        owner.signal(Signal::SIGSTOP);
        let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
        let limit = if inside { Duration::from_millis(300) } else { limit::of_processes() };
        let taken = mutex.lock_for(limit);
        match taken {
            Ok(guard) => assert!(!inside && !guard.acquired().previous_owner_died),
            Err(error) => assert!(inside && matches!(error, Error::TimedOut(_)), "{error}"),
        }
        if inside {
            assert!(biased_to(&path).is_some(), "a revocation that is given up leaves the bias where it was");
        }
        owner.signal(Signal::SIGCONT);
    }
}

/// The bias word goes on naming the slot of a dead bias owner, even when a newcomer takes that slot.
#[test]
fn a_newcomer_in_the_slot_may_enter_and_its_bias_is_revoked_as_any() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::options().participants(2).open(&path).unwrap();
    let mutex = file.mutex("a").unwrap();
    let mut owner = owner_at(&path, false);
    owner.kill();
    elsewhere(|| {
        let successor = file.current_participant().unwrap();
        assert_eq!(biased_to(&path), Some(successor.slot()), "the only slot that is left");
        let guard = mutex.lock().unwrap();
        assert!(!guard.acquired().previous_owner_died);
        assert!(matches!(elsewhere_with_participant(&file, &mutex), Err(Error::ParticipantsFull { .. })));
    });
    mutex.lock().unwrap().unlock().unwrap();
}

fn elsewhere_with_participant(file: &LockFile, mutex: &Mutex) -> turnlock::Result<()> {
    let first = file.participant()?;
    let second = file.participant()?;
    mutex.try_lock_as(&first)?.unlock()?;
    mutex.try_lock_as(&second)?.unlock()
}
