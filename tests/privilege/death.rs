//! One who retains the privilege and is killed or stopped, or whose slot somebody else takes.

use super::{biased_to, enter_often};
use nix::sys::signal::Signal;
use std::{path::Path, time::Duration};
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    elsewhere,
};
use turnlock::{Error, LockFile, Mutex};

pub fn retains(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    enter_often(&mutex);
    say("retains");
    hear();
}

pub fn retains_and_holds(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    enter_often(&mutex);
    let _guard = mutex.lock().unwrap();
    say("holds");
    hear();
}

/// A process that retains the privilege, and is inside or not.
fn retainer_at(path: &Path, inside: bool) -> Actor {
    let (role, says) = if inside { ("retains_and_holds", "holds") } else { ("retains", "retains") };
    let mut retainer = Actor::start(role, &[path.to_str().unwrap()]);
    retainer.expect(says);
    assert!(biased_to(path).is_some());
    retainer
}

#[test]
fn a_dead_retainer_is_news_if_it_was_inside_and_none_if_not() {
    let _no_hang = NoHang::for_seconds(60);
    for inside in [false, true] {
        let place = Place::new();
        let path = place.lock_file();
        let mut retainer = retainer_at(&path, inside);
        retainer.kill();
        let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
        let mut guard = mutex.lock_for(Duration::from_secs(10)).unwrap();
        assert_eq!(guard.acquired().previous_owner_died, inside);
        assert_eq!(guard.previous_owner().map(|dead| dead.pid), inside.then_some(retainer.pid()));
        if inside {
            guard.mark_consistent().unwrap();
        }
    }
}

#[test]
fn a_stopped_retainer_is_asked_in_vain_only_if_it_is_inside() {
    let _no_hang = NoHang::for_seconds(60);
    for inside in [false, true] {
        let place = Place::new();
        let path = place.lock_file();
        let retainer = retainer_at(&path, inside);
        retainer.signal(Signal::SIGSTOP);
        let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
        let taken = mutex.lock_for(Duration::from_millis(300));
        match taken {
            Ok(guard) => assert!(!inside && !guard.acquired().previous_owner_died),
            Err(error) => assert!(inside && matches!(error, Error::TimedOut), "{error}"),
        }
        if inside {
            assert!(biased_to(&path).is_some(), "who gave up asking leaves the privilege where it was");
        }
        retainer.signal(Signal::SIGCONT);
    }
}

/// `control` goes on naming the slot of a dead retainer, whoever takes it.
#[test]
fn an_heir_of_the_slot_may_enter_and_is_asked_like_anyone() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::options().participants(2).open(&path).unwrap();
    let mutex = file.mutex("a").unwrap();
    let mut retainer = retainer_at(&path, false);
    retainer.kill();
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
