//! Linked rwlocks that are home to read: readers come in, and who wants more waits until the lock is home to all.

use crate::agents::{
    BLOCK, NAME as MUTEX, agent_of, attached, bring_home, linked as linked_mutex, next_tokens,
};
use std::{sync::mpsc::channel, time::Duration};
use support::{NoHang, Place, join, limit, until};
use turnlock::{Error, LinkedData, LinkedLock, LinkedWish, LockFile, RwLock, inspect};

const NAME: &str = "cache";
const SHORT: Duration = Duration::from_millis(20);

fn linked(place: &Place) -> (LockFile, RwLock) {
    let file = LockFile::open(place.lock_file()).unwrap();
    let rwlock = file.rwlock_options().linked(true).patience(Duration::ZERO).open(NAME).unwrap();
    (file, rwlock)
}

/// Brings it home to read, where other hosts have given out so many tokens more.
fn bring_home_to_read(linked: &LinkedLock, others: u64) -> u64 {
    let token = linked.last_token() + others;
    linked.bring_home_to_read(token, linked.data()).unwrap();
    token
}

#[test]
fn only_readers_are_admitted_and_what_is_wanted_is_told() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (file, rwlock) = linked(&place);
    let (_agent, linked) = attached(&file, &rwlock);
    assert!(rwlock.try_read().is_err());
    assert_eq!((linked.take_wish(), linked.take_wish()), (Some(LinkedWish::Read), None));
    assert!(rwlock.try_read().is_err() && rwlock.try_write().is_err() && rwlock.try_read().is_err());
    assert_eq!(linked.take_wish(), Some(LinkedWish::Write), "the largest");
    let token = bring_home_to_read(&linked, 7);
    assert!(linked.is_home() && linked.is_home_to_read());
    assert_eq!(rwlock.read().unwrap().fencing_token(), token, "above all of other hosts");
    let link = inspect::snapshot(place.lock_file()).unwrap().locks[0].link.unwrap();
    assert!(link.home && link.to_read && link.token_end == 0);
    let participant = file.participant().unwrap();
    let ways = [
        rwlock.try_upgradable().map(drop),
        rwlock.upgradable_for(SHORT).map(drop),
        rwlock.try_write().map(drop),
        rwlock.write_for(SHORT).map(drop),
        rwlock.upgradable_for_as(&participant, SHORT).map(drop),
        rwlock.try_write_as(&participant).map(drop),
        rwlock.try_reset(),
        rwlock.reset_for(SHORT),
    ];
    for (way, outcome) in ways.into_iter().enumerate() {
        let error = outcome.unwrap_err();
        assert!(matches!(error, Error::WouldBlock(_) | Error::TimedOut(_)), "{way}: {error}");
        assert!(error.to_string().ends_with("it is linked, and home to read"), "{way}: {error}");
    }
    assert_eq!(linked.take_wish(), Some(LinkedWish::Write));
    for error in [
        linked.extend(token + 10).unwrap_err(),
        linked.bring_home_to_read(token, LinkedData::Consistent).unwrap_err(),
    ] {
        assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    }
    // No bias and no place outlives it.
    (0..1000).for_each(|_| drop(rwlock.read().unwrap()));
    linked.move_away().unwrap();
    assert!(!linked.is_home() && !linked.is_home_to_read() && rwlock.try_read().is_err());
    let error = linked.bring_home_to_read(token - 1, LinkedData::Consistent).unwrap_err();
    assert!(error.to_string().contains("tokens never fall"), "{error}");
    linked.bring_home(next_tokens(&linked, BLOCK), LinkedData::Consistent).unwrap();
    assert_eq!(rwlock.write().unwrap().fencing_token(), token + 1);
    let (file, mutex) = linked_mutex(&place.at("other.lock"));
    let (_agent, linked) = agent_of(&file, &mutex);
    let error = linked.bring_home_to_read(linked.last_token(), LinkedData::Consistent).unwrap_err();
    assert!(error.to_string().contains("a mutex has no readers"), "{MUTEX}: {error}");
}

#[test]
fn one_that_wants_more_is_in_the_agents_way_as_little_as_in_the_readers() {
    let _no_hang = NoHang::for_seconds(120);
    let place = Place::new();
    let (file, rwlock) = linked(&place);
    let (agent, linked) = attached(&file, &rwlock);
    for may_upgrade in [false, true] {
        bring_home_to_read(&linked, 1);
        linked.take_wish();
        let wants = rwlock.clone();
        let (says, hears) = channel();
        let writer = std::thread::spawn(move || {
            if may_upgrade {
                drop(wants.upgradable().unwrap().upgrade().unwrap());
            } else {
                drop(wants.write().unwrap());
            }
            says.send(()).unwrap();
        });
        assert!(agent.wait(limit::seconds(60)).unwrap());
        until("its wish is told", || linked.take_wish() == Some(LinkedWish::Write));
        // It says so again, for the next agent.
        until("its wish is told again", || linked.take_wish() == Some(LinkedWish::Write));
        drop(rwlock.read_for(limit::seconds(60)).unwrap());
        linked.move_away().unwrap();
        // Home to read once more: it waits on.
        bring_home_to_read(&linked, 1);
        until("its wish is told at the next time", || linked.take_wish() == Some(LinkedWish::Write));
        linked.move_away().unwrap();
        assert!(hears.try_recv().is_err());
        bring_home(&linked);
        hears.recv().unwrap();
        join_thread(writer);
        assert!(linked.token_end() > linked.last_token());
        linked.move_away().unwrap();
    }
}

fn join_thread(thread: std::thread::JoinHandle<()>) {
    thread.join().unwrap();
}

#[test]
fn one_that_waits_while_it_is_away_wants_more_when_it_comes_home_to_read() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (file, rwlock) = linked(&place);
    let (agent, linked) = attached(&file, &rwlock);
    std::thread::scope(|threads| {
        let writer = threads.spawn(|| rwlock.write().unwrap().fencing_token());
        assert!(agent.wait(limit::seconds(60)).unwrap());
        assert_eq!(linked.take_wish(), Some(LinkedWish::Write));
        // It stands at the head of the queue, and a reader behind it.
        let reader = threads.spawn(|| rwlock.read().unwrap().fencing_token());
        support::until_waiting(&place.lock_file(), NAME, 2);
        let token = bring_home_to_read(&linked, 5);
        assert_eq!(join(reader), token);
        until("its wish is told", || linked.take_wish() == Some(LinkedWish::Write));
        linked.move_away().unwrap();
        bring_home(&linked);
        assert!(join(writer) > token);
    });
}

#[test]
fn the_agent_that_moves_it_away_waits_for_the_readers_and_the_next_agent_finds_it_so() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (file, rwlock) = linked(&place);
    {
        let (_agent, linked) = attached(&file, &rwlock);
        bring_home_to_read(&linked, 1);
    }
    let (_agent, linked) = attached(&file, &rwlock);
    assert!(linked.is_home_to_read());
    let reader = rwlock.read().unwrap();
    std::thread::scope(|threads| {
        let moves = threads.spawn(|| linked.move_away_for(SHORT).unwrap_err());
        assert!(matches!(join(moves), Error::TimedOut(_)) && linked.is_home_to_read());
    });
    reader.abandon().unwrap();
    linked.move_away().unwrap();
    assert_eq!(linked.data(), LinkedData::Consistent, "a reader's death leaves nothing to tell");
    // What another host's death left is told to readers, and is not theirs to repair.
    let token = linked.last_token();
    linked.bring_home_to_read(token, LinkedData::Inconsistent).unwrap();
    for _ in 0..2 {
        assert!(rwlock.read().unwrap().acquired().previous_owner_died);
    }
    linked.move_away().unwrap();
    assert_eq!(linked.data(), LinkedData::Inconsistent);
}

#[test]
fn under_a_lease_readers_look_at_it() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (file, rwlock) = linked(&place);
    let (_agent, linked) = attached(&file, &rwlock);
    linked.set_lease_end(u64::MAX).unwrap();
    bring_home_to_read(&linked, 1);
    (0..1000).for_each(|_| drop(rwlock.read().unwrap()));
    let reader = rwlock.read().unwrap();
    linked.set_lease_end(1).unwrap();
    assert!(!reader.still_owner() && matches!(reader.unlock(), Err(Error::LeaseEnded)));
    let error = rwlock.try_read().map(drop).unwrap_err();
    assert!(error.to_string().ends_with("its lease has ended"), "{error}");
}

#[test]
fn it_may_be_removed_while_one_waits_that_wants_more() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let (file, rwlock) = linked(&place);
    let (agent, linked) = attached(&file, &rwlock);
    bring_home_to_read(&linked, 1);
    std::thread::scope(|threads| {
        let writer = threads.spawn(|| rwlock.write().map(drop).unwrap_err());
        assert!(agent.wait(limit::seconds(60)).unwrap());
        drop(linked);
        until("it is removed", || file.remove_lock(NAME).is_ok());
        let error = join(writer);
        assert!(matches!(error, Error::NotFound { .. }), "{error}");
    });
}
