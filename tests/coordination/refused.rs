//! Bad input, and what cannot be.

use crate::party::{a_file, a_party, until_asleep};
use std::time::Duration;
use support::Place;
use turnlock::{AnyLock, Error, LockFile};

#[test]
fn a_condition_is_used_with_one_lock_at_a_time() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let (other, condition) = (file.mutex("other").unwrap(), file.condition("changed").unwrap());
    let mut waiter = a_party(&path);
    waiter.tell("wait-once changed");
    until_asleep(&path, "changed", 1);
    let mut guard = other.lock().unwrap();
    let waited = condition.wait(&mut guard);
    let Err(Error::InvalidArgument(why)) = waited else { panic!("{waited:?}") };
    assert!(why.contains("another lock") && why.contains("other"), "{why}");
    assert_eq!(condition.notify_all().unwrap(), 1);
    waiter.expect("done");
    // By now it is free for it.
    assert!(matches!(condition.wait_for(&mut guard, Duration::from_millis(2)), Err(Error::TimedOut(_))));
    guard.unlock().unwrap();
}

#[test]
fn a_recursive_lock_that_is_taken_twice_is_not_waited_with() {
    let place = Place::new();
    let (_, file) = a_file(&place);
    let mutex = file.mutex_options().recursive(true).open("mutex").unwrap();
    let condition = file.condition("changed").unwrap();
    let mut guard = mutex.lock().unwrap();
    let again = mutex.lock().unwrap();
    assert!(matches!(condition.wait(&mut guard), Err(Error::InvalidArgument(_))));
    drop(again);
    let waited = condition.wait_for(&mut guard, Duration::from_millis(2));
    assert!(matches!(waited, Err(Error::TimedOut(_))));
    guard.unlock().unwrap();
}

#[test]
fn the_lock_is_one_of_the_same_file() {
    let place = Place::new();
    let (_, file) = a_file(&place);
    let second = LockFile::open(place.at("second.lock")).unwrap();
    let (mutex, condition) = (second.mutex("mutex").unwrap(), file.condition("changed").unwrap());
    let mut guard = mutex.lock().unwrap();
    assert!(matches!(condition.wait(&mut guard), Err(Error::InvalidArgument(_))));
    guard.unlock().unwrap();
}

#[test]
fn names_belong_to_one_kind() {
    let place = Place::new();
    let (_, file) = a_file(&place);
    file.mutex("name").unwrap();
    assert!(matches!(file.condition("name"), Err(Error::Kind { .. })));
    file.event("event").unwrap();
    assert!(matches!(file.mutex("event"), Err(Error::Kind { .. })));
    file.barrier("barrier", 2).unwrap();
    file.condition("condition").unwrap();
    file.once("once").unwrap();
    for name in ["event", "barrier", "condition", "once"] {
        let any = file.open_any(name).unwrap();
        assert_eq!(format!("{any:?}").to_lowercase().split('(').next(), Some(name));
        assert!(!matches!(any, AnyLock::Mutex(_)));
    }
}

#[test]
fn a_condition_or_a_barrier_that_is_used_is_not_removed() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let (condition, barrier) = (file.condition("changed").unwrap(), file.barrier("stage", 2).unwrap());
    let mut parties = [a_party(&path), a_party(&path)];
    parties[0].tell("wait-once changed");
    parties[1].tell("meet stage 60000");
    until_asleep(&path, "changed", 1);
    until_asleep(&path, "stage", 1);
    for name in ["changed", "stage"] {
        assert!(matches!(file.remove_lock(name), Err(Error::InUse { .. })), "{name}");
    }
    condition.notify_all().unwrap();
    barrier.wait().unwrap();
    parties.iter_mut().for_each(|party| party.expect("done"));
    for name in ["changed", "stage"] {
        file.remove_lock(name).unwrap();
    }
    assert!(matches!(condition.notify_one(), Err(Error::NotFound { .. })));
    assert!(matches!(barrier.wait(), Err(Error::NotFound { .. })));
}
