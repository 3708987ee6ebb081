//! Linked rwlocks: readers and writers enter only while the lock is home, by every way in.

use crate::agents::{BLOCK, attached, bring_home, next_tokens, passed_over};
use std::time::Duration;
use support::{NoHang, Place, join, until, until_waiting};
use turnlock::{Error, LinkedData, LockFile, RwLock};

const NAME: &str = "cache";
/// The first moments of a wait are no wait yet, for observers.
const SHORT: Duration = Duration::from_millis(20);
/// Times by a clock that began with the boot.
const PAST: u64 = 1;
const FAR: u64 = u64::MAX;

/// A file, and its linked rwlock.
fn linked(place: &Place) -> (LockFile, RwLock) {
    let file = LockFile::open(place.lock_file()).unwrap();
    let rwlock = file.rwlock_options().linked(true).patience(Duration::ZERO).open(NAME).unwrap();
    (file, rwlock)
}

/// Has another thread hold the lock, by what `take` returns, while `act` is called.
fn while_held<G>(take: impl FnOnce() -> G + Send, act: impl FnOnce()) {
    std::thread::scope(|threads| {
        let ((is_in, inside), (leave, leaves)) =
            (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
        let holder = threads.spawn(move || {
            let guard = take();
            is_in.send(()).unwrap();
            // An error says that `act` is over.
            let _ = leaves.recv();
            drop(guard);
        });
        inside.recv().unwrap();
        act();
        drop(leave);
        join(holder);
    });
}

#[test]
fn no_way_in_is_open_while_it_is_away() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (file, rwlock) = linked(&place);
    let participant = file.participant().unwrap();
    let refused = |why: &str| {
        let ways = [
            rwlock.try_read().map(drop),
            rwlock.read_for(SHORT).map(drop),
            rwlock.try_upgradable().map(drop),
            rwlock.upgradable_for(SHORT).map(drop),
            rwlock.try_write().map(drop),
            rwlock.write_for(SHORT).map(drop),
            rwlock.try_read_as(&participant).map(drop),
            rwlock.read_for_as(&participant, SHORT).map(drop),
            rwlock.try_upgradable_as(&participant).map(drop),
            rwlock.upgradable_for_as(&participant, SHORT).map(drop),
            rwlock.try_write_as(&participant).map(drop),
            rwlock.write_for_as(&participant, SHORT).map(drop),
            rwlock.try_reset(),
            rwlock.reset_for(SHORT),
        ];
        for (way, outcome) in ways.into_iter().enumerate() {
            let error = outcome.unwrap_err();
            assert!(matches!(error, Error::WouldBlock(_) | Error::TimedOut(_)), "{way}: {error}");
            assert!(error.to_string().ends_with(why), "{way}: {error}");
        }
    };
    refused("it is linked, and no agent is attached to it");
    let (agent, linked) = attached(&file, &rwlock);
    refused("it is linked, and away");
    assert!(agent.wait(Duration::ZERO).unwrap() && linked.take_wanted(), "the agent is told");
    // What the fast path goes by ends as it is moved away: the bias towards readers, and the place of a writer or a reader.
    for _ in 0..3 {
        bring_home(&linked);
        (0..1000).for_each(|_| drop(rwlock.read().unwrap()));
        linked.move_away().unwrap();
        refused("it is linked, and away");
        bring_home(&linked);
        (0..1000).for_each(|_| drop(rwlock.write().unwrap()));
        drop(rwlock.read().unwrap());
        (0..100).for_each(|_| drop(rwlock.write_as(&participant).unwrap()));
        linked.move_away().unwrap();
        refused("it is linked, and away");
    }
}

#[test]
fn readers_of_this_host_share_it_and_the_agent_waits_for_them() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (file, rwlock) = linked(&place);
    assert!(file.rwlock(NAME).unwrap().is_linked(), "programs find it linked");
    let (_agent, linked) = attached(&file, &rwlock);
    bring_home(&linked);
    while_held(
        || rwlock.read().unwrap(),
        || {
            drop(rwlock.try_read().unwrap());
            let error = linked.move_away_for(SHORT).unwrap_err();
            assert!(matches!(error, Error::TimedOut(_)) && linked.is_home(), "{error}");
            // What the agent gave up is no harm to readers.
            drop(rwlock.try_read().unwrap());
        },
    );
    while_held(|| rwlock.upgradable().unwrap(), || assert!(linked.move_away_for(SHORT).is_err()));
    let guard = rwlock.upgradable().unwrap().upgrade().unwrap();
    assert_eq!(guard.fencing_token(), linked.last_token());
    let guard = guard.downgrade().unwrap();
    assert!(matches!(linked.move_away(), Err(Error::Deadlock)), "this thread reads");
    drop(guard);
    linked.move_away().unwrap();
    assert!(!linked.is_home());
}

#[test]
fn places_in_the_queue_are_kept_while_it_is_away() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (file, rwlock) = linked(&place);
    let (_agent, linked) = attached(&file, &rwlock);
    let order = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|threads| {
        for (at, writes) in [false, true, false, true].into_iter().enumerate() {
            let (rwlock, order) = (&rwlock, &order);
            threads.spawn(move || {
                let token = if writes {
                    rwlock.write().unwrap().fencing_token()
                } else {
                    rwlock.read().unwrap().fencing_token()
                };
                order.lock().unwrap().push((token, at));
            });
            until_waiting(&place.lock_file(), NAME, at + 1);
        }
        // Longer than one that does not come is waited for.
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(passed_over(&place.lock_file()), 0);
        bring_home(&linked);
    });
    let mut order = order.into_inner().unwrap();
    order.sort_unstable();
    let first = order[0].0;
    assert_eq!(order.len(), 4);
    if passed_over(&place.lock_file()) == 0 {
        // A reader has the token of the writer before it.
        assert_eq!(order, [(first, 0), (first + 1, 1), (first + 1, 2), (first + 2, 3)]);
    }
}

#[test]
fn a_writers_death_goes_along_and_a_readers_does_not() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (file, rwlock) = linked(&place);
    let (_agent, linked) = attached(&file, &rwlock);
    bring_home(&linked);
    rwlock.read().unwrap().abandon().unwrap();
    linked.move_away().unwrap();
    assert_eq!(linked.data(), LinkedData::Consistent);
    bring_home(&linked);
    rwlock.write().unwrap().abandon().unwrap();
    linked.move_away().unwrap();
    assert_eq!(linked.data(), LinkedData::Inconsistent);
    bring_home(&linked);
    assert!(rwlock.read().unwrap().acquired().previous_owner_died);
    let mut guard = rwlock.write().unwrap();
    assert!(guard.acquired().previous_owner_died);
    guard.mark_consistent().unwrap();
    drop(guard);
    linked.move_away().unwrap();
    assert_eq!(linked.data(), LinkedData::Consistent);
    // A death at another host.
    linked.bring_home(next_tokens(&linked, BLOCK), LinkedData::Inconsistent).unwrap();
    assert!(rwlock.read().unwrap().acquired().previous_owner_died);
    assert_eq!(rwlock.previous_owner(), None, "it died at another host, and the last one here is not it");
}

#[test]
fn no_writer_and_no_upgrade_gets_a_token_beyond_the_block() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (file, rwlock) = linked(&place);
    let (agent, linked) = attached(&file, &rwlock);
    let block = next_tokens(&linked, 3);
    linked.bring_home(block.clone(), LinkedData::Consistent).unwrap();
    assert_eq!(rwlock.read().unwrap().fencing_token(), block.start() - 1, "above all of other hosts");
    assert_eq!(rwlock.write().unwrap().fencing_token(), *block.start());
    let writer =
        rwlock.upgradable().unwrap().upgrade().unwrap().downgrade_to_upgradable().unwrap().upgrade().unwrap();
    assert_eq!(writer.fencing_token(), *block.end());
    let refused = writer.downgrade_to_upgradable().unwrap().upgrade().unwrap_err();
    let text = refused.error.to_string();
    assert!(text.ends_with("it is linked, and its reserved fencing tokens are used up"), "{text}");
    assert!(agent.wait(Duration::ZERO).unwrap() && linked.take_wanted(), "the agent is told");
    linked.extend(block.end() + 1).unwrap();
    assert_eq!(refused.guard.upgrade().unwrap().fencing_token(), block.end() + 1);
    assert!(rwlock.write_for(SHORT).is_err());
    linked.move_away().unwrap();
}

#[test]
fn under_a_lease_each_entry_looks_at_it() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (file, rwlock) = linked(&place);
    let (_agent, linked) = attached(&file, &rwlock);
    bring_home(&linked);
    let closed = || {
        for refused in [rwlock.try_read().map(drop), rwlock.write_for(SHORT).map(drop)] {
            let error = refused.unwrap_err();
            assert!(error.to_string().ends_with("it is linked, and its lease has ended"), "{error}");
        }
    };
    let by_the_fast_path = |writes: bool| {
        let enter = || if writes { drop(rwlock.write().unwrap()) } else { drop(rwlock.read().unwrap()) };
        (0..1000).for_each(|_| enter());
    };
    // What began before the lease ends with its beginning, and nothing begins under it.
    for writes in [false, true] {
        by_the_fast_path(writes);
        linked.set_lease_end(FAR).unwrap();
        by_the_fast_path(writes);
        linked.set_lease_end(PAST).unwrap();
        closed();
        linked.set_lease_end(0).unwrap();
    }
    // An upgrade that is given up leaves no bias behind.
    linked.set_lease_end(FAR).unwrap();
    while_held(|| rwlock.read().unwrap(), || drop(rwlock.upgradable().unwrap().try_upgrade().unwrap_err()));
    by_the_fast_path(false);
    linked.set_lease_end(PAST).unwrap();
    closed();
    linked.set_lease_end(FAR).unwrap();
    let reader = rwlock.read().unwrap();
    assert!(reader.still_owner());
    linked.set_lease_end(PAST).unwrap();
    assert!(!reader.still_owner() && rwlock.lease_left() == Some(Duration::ZERO));
    assert!(matches!(reader.unlock(), Err(Error::LeaseEnded)));
    linked.set_lease_end(FAR).unwrap();
    let candidate = rwlock.upgradable().unwrap();
    linked.set_lease_end(PAST).unwrap();
    let refused = candidate.upgrade().unwrap_err();
    assert!(refused.error.to_string().ends_with("its lease has ended"), "{refused}");
    assert!(matches!(refused.guard.unlock(), Err(Error::LeaseEnded)));
    linked.set_lease_end(0).unwrap();
    drop(rwlock.write().unwrap());
}

#[test]
fn a_rwlock_that_was_created_plain_is_not_linked() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let plain = file.rwlock("plain").unwrap();
    assert!(!plain.is_linked() && plain.read().unwrap().still_owner());
    let error = file.rwlock_options().linked(true).open("plain").map(drop).unwrap_err();
    assert!(matches!(error, Error::Kind { .. }), "{error}");
    assert!(error.to_string().contains("its rwlock \"plain\" is not linked"), "{error}");
    let agent = file.link_agent("agent").unwrap();
    let Err(error) = agent.attach(&plain) else { panic!("an agent of a rwlock that is not linked") };
    assert!(error.to_string().contains("the rwlock is not linked"), "{error}");
    // One that is linked is removed as a mutex is: while it is home, and has no agent.
    let (_, rwlock) = linked(&place);
    assert!(matches!(file.remove_lock(NAME), Err(Error::InUse { .. })));
    {
        let linked = agent.attach(&rwlock).unwrap();
        bring_home(&linked);
        assert!(matches!(file.remove_lock(NAME), Err(Error::InUse { .. })));
    }
    until("it is removed", || file.remove_lock(NAME).is_ok());
}
