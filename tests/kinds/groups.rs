//! Groups.

use std::time::{Duration, Instant};
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    elsewhere, join, until, until_some,
};
use turnlock::{
    AnyLock, DeathPolicy, Error, LockFile,
    inspect::{ClaimMode, Part},
};

support::roles!(dies_in_group_7);

/// Words: the lock file. Waits inside to be killed.
fn dies_in_group_7(words: &[String]) {
    let lock = LockFile::open(&words[0]).unwrap().group_lock("a").unwrap();
    let _inside = lock.lock(7).unwrap();
    say("inside");
    hear();
}

fn would_block<T>(result: turnlock::Result<T>) -> bool {
    matches!(result, Err(Error::WouldBlock(_)))
}

#[test]
fn those_of_one_group_are_inside_together_and_those_of_another_are_not() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let lock = file.group_lock("a").unwrap();
    let first = lock.lock(7).unwrap();
    assert!(matches!(lock.lock(7), Err(Error::Deadlock)), "a thread is inside once");
    assert!(matches!(lock.try_lock(8), Err(Error::Deadlock)));
    let token = first.fencing_token();
    elsewhere(|| {
        let second = lock.try_lock(7).unwrap();
        assert!(second.fencing_token() > token);
        for group in [0, 6, 8, u64::MAX] {
            elsewhere(|| assert!(would_block(lock.try_lock(group))));
        }
        second.unlock().unwrap();
    });
    let participant = file.participant().unwrap();
    let beside = lock.try_lock_as(&participant, 7).unwrap();
    drop(first);
    elsewhere(|| assert!(would_block(lock.try_lock(8)), "one is inside still"));
    drop(beside);
    for group in [0, u64::MAX] {
        drop(lock.lock(group).unwrap());
    }
}

#[test]
fn a_later_member_of_the_group_inside_waits_behind_another_group() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let lock = file.group_lock("a").unwrap();
    let first = lock.lock(1).unwrap();
    assert!(!first.is_contended());
    std::thread::scope(|threads| {
        let other = threads.spawn(|| lock.lock(2).unwrap().fencing_token());
        let status = until_some("it waits", || Some(lock.status().unwrap()).filter(|it| it.queue.len() == 1));
        assert_eq!(status.queue[0].claim.unwrap().part, Some(Part::Group(2)));
        assert_eq!(status.queue[0].blocked_by, Some(status.holders[0].participant.slot));
        // It has a number a moment before it says that it waits.
        until("the member is told", || first.is_contended());
        elsewhere(|| {
            assert!(would_block(lock.try_lock(1)), "the other group came first");
            assert!(would_block(lock.try_lock(2)));
            let limit = Duration::from_millis(20);
            assert!(matches!(lock.lock_for(1, limit), Err(Error::TimedOut(_))));
            assert!(matches!(lock.try_lock_until(1, Instant::now() + limit), Err(Error::TimedOut(_))));
        });
        let later = threads.spawn(|| lock.lock(1).unwrap().fencing_token());
        until_some("both wait", || Some(lock.status().unwrap()).filter(|it| it.queue.len() == 2));
        drop(first);
        assert!(join(other) < join(later));
    });
}

#[test]
fn what_a_group_lock_shows() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let lock = file.group_lock("a").unwrap();
    let _inside = lock.lock(42).unwrap();
    let status = lock.status().unwrap();
    assert_eq!((status.kind, status.state, status.patience_seconds), ("group lock", "consistent", Some(0.0)));
    let claim = status.holders[0].claim;
    assert_eq!((claim.mode, claim.part, claim.permits), (ClaimMode::Shared, Some(Part::Group(42)), None));
    assert!(matches!(file.open_any("a").unwrap(), AnyLock::GroupLock(_)));
    assert!(matches!(file.keyed_lock("a"), Err(Error::Kind { .. })));
    assert!(format!("{lock:?}").starts_with("GroupLock { "));
}

#[test]
fn a_dead_member_is_told_of_to_every_group_until_one_marks_it() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let lock = file.group_lock("a").unwrap();
    elsewhere(|| std::mem::forget(lock.lock(7).unwrap()));
    let told = lock.lock(8).unwrap();
    assert!(told.acquired().previous_owner_died);
    assert!(told.previous_owner().is_some());
    drop(told);
    assert_eq!(lock.status().unwrap().state, "inconsistent");
    assert!(matches!(file.remove_lock("a"), Err(Error::InUse { why, .. }) if why.contains("member")));
    for group in [7, 9] {
        assert!(lock.lock(group).unwrap().acquired().previous_owner_died, "it is told on");
    }
    let mut repairs = lock.lock(9).unwrap();
    repairs.mark_consistent().unwrap();
    assert!(matches!(repairs.mark_consistent(), Err(Error::NotInconsistent)));
    elsewhere(|| assert!(!lock.lock(9).unwrap().acquired().previous_owner_died));
    drop(repairs);
    assert_eq!(lock.status().unwrap().state, "consistent");
    file.remove_lock("a").unwrap();
    assert!(matches!(lock.lock(7), Err(Error::NotFound { .. })));
    // The next lock in its region knows of no death.
    assert!(!file.group_lock("b").unwrap().lock(7).unwrap().acquired().previous_owner_died);
}

/// No participant of the group waits for the dead one.
#[test]
fn a_dead_member_is_told_of_to_the_next_one_of_its_own_group() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let lock = file.group_lock("a").unwrap();
    let beside = file.participant().unwrap();
    let before = lock.lock_as(&beside, 7).unwrap();
    elsewhere(|| std::mem::forget(lock.lock(7).unwrap()));
    let mut told = lock.try_lock(7).unwrap();
    assert!(told.acquired().previous_owner_died);
    told.mark_consistent().unwrap();
    drop(told);
    assert!(!before.acquired().previous_owner_died);
    drop(before);
    // One that dies as a process does: nothing of it is left to clean up after itself.
    let mut dying = Actor::start("dies_in_group_7", &[place.lock_file().to_str().unwrap()]);
    dying.expect("inside");
    assert!(!lock.lock(7).unwrap().acquired().previous_owner_died, "it is alive");
    dying.kill();
    assert!(lock.lock(7).unwrap().acquired().previous_owner_died);
}

#[test]
fn a_member_marks_no_death_that_came_after_it() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let lock = file.group_lock("a").unwrap();
    let mut before = lock.lock(7).unwrap();
    elsewhere(|| lock.lock(7).unwrap().abandon().unwrap());
    assert!(matches!(before.mark_consistent(), Err(Error::NotInconsistent)), "it was there before the death");
    drop(before);
    let mut repairs = lock.lock(7).unwrap();
    assert!(repairs.acquired().previous_owner_died);
    elsewhere(|| lock.lock(7).unwrap().abandon().unwrap());
    repairs.mark_consistent().unwrap();
    drop(repairs);
    assert!(lock.lock(8).unwrap().acquired().previous_owner_died, "the second death");
    lock.reset().unwrap();
    assert!(!lock.lock(8).unwrap().acquired().previous_owner_died);
}

#[test]
fn where_a_death_releases_it_is_told_once() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let lock = file.group_lock_options().death_policy(DeathPolicy::Release).open("a").unwrap();
    elsewhere(|| std::mem::forget(lock.lock(7).unwrap()));
    let mut told = lock.lock(8).unwrap();
    assert!(told.acquired().previous_owner_died);
    told.mark_consistent().unwrap();
    drop(told);
    assert!(!lock.lock(7).unwrap().acquired().previous_owner_died);
}

#[test]
fn owned_guards_of_a_group_are_inside_together() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let lock = file.group_lock("a").unwrap();
    let (one, other) = (lock.lock_owned(3).unwrap(), lock.try_lock_owned(3).unwrap());
    assert!(would_block(lock.try_lock_owned(4)));
    assert!(matches!(lock.try_lock_owned_for(4, Duration::from_millis(5)), Err(Error::TimedOut(_))));
    elsewhere(move || drop(one));
    other.unlock().unwrap();
    drop(lock.try_lock_owned(4).unwrap());
}
