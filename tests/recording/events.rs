//! Who did what, as it is recorded.

use crate::{at_lock, recorded, recording_of as seen};
use nix::sys::signal::Signal;
use std::{process, thread, time::Duration};
use support::{
    NoHang, Place,
    puppet::{Puppet, Said},
    until, until_waiting,
};
use turnlock::{
    Error, LockFile, MutexAlgorithm, RingAlgorithm,
    inspect::{Activity, Event, Life},
};

#[test]
fn the_story_of_a_lock_whose_holder_dies() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let file = recorded(&place, 1024);
    let mutex = file.mutex("a").unwrap();
    let mut victim = Puppet::at(&path, "a");
    let Said::Taken(its_token, false) = victim.ask("lock") else { panic!("it is free") };
    assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_))));
    assert!(matches!(mutex.lock_for(Duration::from_millis(20)), Err(Error::TimedOut(_))));
    victim.0.kill();
    let mut guard = mutex.lock().unwrap();
    let my_token = guard.fencing_token();
    guard.mark_consistent().unwrap();
    guard.unlock().unwrap();

    let seen = seen(&path);
    let (me, pid) = (process::id(), victim.0.pid());
    let story: Vec<_> = at_lock(&seen, "a")
        .map(|event| {
            let who = &seen.participants[event.participant];
            (who.process.unwrap().0, event.event, event.fencing_token)
        })
        .collect();
    let expected = [
        (pid, Event::Asked, None),
        (pid, Event::Acquired, Some(its_token)),
        (me, Event::Asked, None),
        (me, Event::WouldBlock, None),
        (me, Event::Asked, None),
        (me, Event::TimedOut, None),
        (me, Event::Asked, None),
        (pid, Event::Died, Some(its_token)),
        (me, Event::Acquired, Some(my_token)),
        (me, Event::Recovered, Some(my_token)),
        (me, Event::Released, Some(my_token)),
    ];
    assert_eq!(story, expected);
    let names = seen.participants.iter().map(|who| (who.process.unwrap().0, who.name.as_str()));
    assert!(names.clone().any(|who| who == (pid, "puppet")) && names.clone().any(|who| who == (me, "test")));
    assert_eq!((seen.unreadable, seen.recorded as usize >= seen.events.len()), (0, true));
    let times: Vec<u64> = seen.events.iter().map(|event| event.at).collect();
    assert!(times.is_sorted() && times.last() <= Some(&seen.now), "{times:?}");
}

/// What is recorded of each lock, and how often an acquisition must be.
fn of_biased_locks() -> [(Vec<Event>, usize); 3] {
    let place = Place::new();
    let file = recorded(&place, 1 << 14);
    let (mutex, rwlock) = (file.mutex("a").unwrap(), file.rwlock("b").unwrap());
    let (semaphore, task) = (file.semaphore("c").unwrap(), file.participant().unwrap());
    let often = |act: &dyn Fn()| (0..500).for_each(|_| act());
    // One after the other: a lock is biased to a participant that has it several times.
    often(&|| drop(mutex.lock().unwrap()));
    often(&|| drop(mutex.lock_as(&task).unwrap()));
    often(&|| drop(rwlock.read().unwrap()));
    often(&|| drop(rwlock.write().unwrap()));
    often(&|| drop(semaphore.acquire(1).unwrap()));
    let seen = seen(&place.lock_file());
    let of = |name| at_lock(&seen, name).map(|event| event.event).collect();
    [(of("a"), 1000), (of("b"), 1000), (of("c"), 500)]
}

/// By the fast path it would be less.
#[test]
fn every_acquisition_is_recorded_also_of_a_biased_lock() {
    for (events, rounds) in of_biased_locks() {
        let three = [Event::Asked, Event::Acquired, Event::Released];
        assert!(events.chunks(3).all(|round| round == three), "{events:?}");
        assert_eq!(events.len(), 3 * rounds);
    }
}

#[test]
fn every_kind_and_algorithm_records() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = recorded(&place, 4096);
    drop(file.rwlock("read").unwrap().read().unwrap());
    drop(file.rwlock("upgradable").unwrap().upgradable().unwrap());
    drop(file.rwlock("write").unwrap().write().unwrap());
    drop(file.semaphore("permits").unwrap().acquire(1).unwrap());
    drop(file.range_lock("range").unwrap().write(10..20).unwrap());
    drop(file.keyed_lock("key").unwrap().write("ada").unwrap());
    drop(file.group_lock("group").unwrap().lock(7).unwrap());
    let recursive = file.mutex_options().recursive(true).open("recursive").unwrap();
    let outer = recursive.lock().unwrap();
    drop(recursive.lock().unwrap());
    drop(outer);
    let rings = [RingAlgorithm::KState, RingAlgorithm::Raynal, RingAlgorithm::Sum { step: 1 }];
    for (ring, name) in rings.into_iter().zip(["k-state", "raynal", "sum"]) {
        let ring = file.ring_options().algorithm(ring).open(name).unwrap();
        drop(ring.lock().unwrap());
        ring.leave().unwrap();
    }
    let by_messages = [
        (MutexAlgorithm::LamportQueue, "lamport"),
        (MutexAlgorithm::RicartAgrawala, "mesh"),
        (MutexAlgorithm::TokenRing, "token-ring"),
        (MutexAlgorithm::MessageBakery, "message-bakery"),
    ];
    for (algorithm, name) in by_messages {
        let mutex = file.mutex_options().algorithm(algorithm).open(name).unwrap();
        drop(mutex.lock().unwrap());
    }
    let seen = seen(&place.lock_file());
    for (name, shared) in [
        ("read", true),
        ("upgradable", true),
        ("write", false),
        ("permits", true),
        ("range", false),
        ("key", false),
        ("group", true),
        ("recursive", false),
        ("k-state", false),
        ("raynal", false),
        ("sum", false),
        ("lamport", false),
        ("mesh", false),
        ("token-ring", false),
        ("message-bakery", false),
    ] {
        let events: Vec<_> = at_lock(&seen, name).collect();
        let what: Vec<_> = events.iter().map(|event| (event.event, event.shared)).collect();
        let (asked, group) = match name {
            "group" => (Event::AskedInGroup, Some(7)),
            _ => (Event::Asked, None),
        };
        let expected = [asked, Event::Acquired, Event::Released].map(|event| (event, shared));
        assert_eq!((what, events[0].group), (expected.into(), group), "{name}");
        assert_eq!(events[1].fencing_token, events[2].fencing_token, "{name}");
        assert!(events[1].fencing_token.is_some(), "{name}");
    }
}

#[test]
fn one_whose_wait_closes_a_circle_is_recorded_as_that() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = recorded(&place, 1024);
    let (a, b) = (file.mutex("a").unwrap(), file.mutex("b").unwrap());
    let of_a = a.lock().unwrap();
    thread::scope(|threads| {
        let other = threads.spawn(|| {
            let of_b = b.lock().unwrap();
            drop(a.lock().unwrap());
            drop(of_b);
        });
        until_waiting(&place.lock_file(), "a", 1);
        assert!(matches!(b.lock(), Err(Error::CircularWait(_))));
        drop(of_a);
        support::join(other);
    });
    let seen = seen(&place.lock_file());
    let told: Vec<Event> = at_lock(&seen, "b").map(|event| event.event).collect();
    use Event::{Acquired, Asked, CircularWait, Released};
    assert_eq!(told, [Asked, Acquired, Asked, CircularWait, Released]);
}

#[test]
fn who_is_passed_over_is_recorded_with_who_did_it() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let _file = recorded(&place, 1024);
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
    let seen = seen(&path);
    let pid_of = |participant: usize| seen.participants[participant].process.unwrap().0;
    let mut passed = at_lock(&seen, "a").filter(|event| event.event == Event::PassedOver);
    let event = passed.next().expect("the first one was passed over");
    assert_eq!((pid_of(event.participant), pid_of(event.by.unwrap())), (first.0.pid(), second.0.pid()));
    first.0.signal(Signal::SIGCONT);
    assert_eq!(second.ask("unlock"), Said::Done);
    assert!(matches!(first.hear(), Said::Taken(_, false)));
}

#[test]
fn a_cancelled_wait_and_a_lock_that_is_taken_already_are_given_up() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = recorded(&place, 1024);
    let mutex = file.mutex("a").unwrap();
    let guard = mutex.lock().unwrap();
    assert!(matches!(mutex.lock(), Err(Error::Deadlock)));
    let task = file.participant().unwrap();
    thread::scope(|scope| {
        let waits = scope.spawn(|| mutex.lock_as(&task).map(drop));
        until_waiting(&place.lock_file(), "a", 1);
        task.cancel();
        assert!(matches!(support::join(waits), Err(Error::Cancelled)));
    });
    drop(guard);
    let seen = seen(&place.lock_file());
    let events: Vec<Event> = at_lock(&seen, "a").map(|event| event.event).collect();
    use Event::{Acquired, Asked, GaveUp, Released};
    assert_eq!(events, [Asked, Acquired, Asked, GaveUp, Asked, GaveUp, Released]);
}

/// A hold that becomes another one, in its place.
#[test]
fn an_upgrade_and_a_downgrade_are_recorded() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = recorded(&place, 1024);
    let rwlock = file.rwlock("a").unwrap();
    let reader = file.participant().unwrap();
    let reads = rwlock.read_as(&reader).unwrap();
    let upgradable = rwlock.upgradable().unwrap();
    let refused = upgradable.try_upgrade().err().unwrap();
    assert!(matches!(refused.error, Error::WouldBlock(_)));
    drop(reads);
    let writer = refused.guard.upgrade().unwrap();
    let token = writer.fencing_token();
    drop(writer.downgrade().unwrap());
    let seen = seen(&place.lock_file());
    let me = at_lock(&seen, "a").filter(|event| event.participant != 1);
    let told: Vec<_> = me.map(|event| (event.event, event.shared)).collect();
    use Event::{Acquired, Asked, Released, WouldBlock};
    let upgradable = [(Asked, true), (Acquired, true)];
    let upgrades = [(Asked, false), (WouldBlock, true), (Asked, false), (Acquired, false)];
    assert_eq!(told, [&upgradable[..], &upgrades, &[(Acquired, true), (Released, true)]].concat());
    let tokens = at_lock(&seen, "a").filter(|event| event.fencing_token == Some(token)).count();
    assert_eq!(tokens, 3, "the upgrade, the downgrade and the release");
}

#[test]
fn a_lock_by_messages_that_is_removed_is_held_for_that_and_no_longer() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = recorded(&place, 1024);
    file.mutex_options().algorithm(MutexAlgorithm::RicartAgrawala).open("a").unwrap();
    file.remove_lock("a").unwrap();
    let seen = seen(&place.lock_file());
    let told: Vec<Event> =
        seen.events.iter().filter(|event| event.lock.is_some()).map(|event| event.event).collect();
    let last = &told[told.len() - 4..];
    assert_eq!(last, [Event::Asked, Event::Acquired, Event::Removed, Event::Released]);
}

/// The dead one's slot is another's by then.
#[test]
fn one_that_comes_into_the_slot_of_another_is_not_taken_for_it() {
    let place = Place::new();
    let path = place.lock_file();
    let file = recorded(&place, 1024);
    let mutex = file.mutex("a").unwrap();
    let takes_as = |label: &str| {
        let one = file.participant_options().label(label).open().unwrap();
        drop(mutex.lock_as(&one).unwrap());
    };
    ["the first of the tasks", "the second"].into_iter().for_each(takes_as);
    let seen = seen(&path);
    let who = |event| &seen.participants[event];
    let acquired: Vec<_> = at_lock(&seen, "a").filter(|event| event.event == Event::Acquired).collect();
    let [first, second] = acquired.as_slice() else { panic!("{acquired:?}") };
    assert_eq!(who(first.participant).slot, who(second.participant).slot);
    // Of those that are gone the recording has sixteen bytes, of one that is there all is known.
    let there = file.participant_options().label("one that is there still").open().unwrap();
    drop(mutex.lock_as(&there).unwrap());
    let now = crate::recording_of(&path);
    assert!(now.participants.iter().any(|who| who.name == "one that is there still"), "{now:?}");
    drop(there);
    assert_eq!(who(first.participant).name, "the first of the");
    assert_eq!(who(second.participant).name, "the second");
    let life = |event| seen.events.iter().filter(move |other| other.event == event).count();
    assert_eq!((life(Event::Attached), life(Event::Detached)), (3, 2));
    assert_eq!(turnlock::inspect::snapshot(&path).unwrap().participants[0].life, Life::Alive);
}

#[test]
fn what_a_lock_that_was_removed_did_is_not_told_of_the_next_one() {
    let place = Place::new();
    let file = recorded(&place, 1024);
    drop(file.mutex("a").unwrap().lock().unwrap());
    file.remove_lock("a").unwrap();
    drop(file.mutex("b").unwrap().lock().unwrap());
    let seen = seen(&place.lock_file());
    let told: Vec<_> = seen
        .events
        .iter()
        .filter_map(|event| Some((event.event, seen.locks[event.lock?].name.as_deref())))
        .collect();
    use Event::{Acquired, Asked, Created, Released, Removed};
    let expected = [Created, Asked, Acquired, Released, Removed].map(|event| (event, None));
    assert_eq!(told[..5], expected);
    let expected = [Created, Asked, Acquired, Released].map(|event| (event, Some("b")));
    assert_eq!(told[5..], expected);
}

#[test]
fn what_is_left_to_an_open_file_is_released_by_whoever_unlocks_for_it() {
    let place = Place::new();
    let path = place.lock_file();
    let file = recorded(&place, 1024);
    let mutex = file.mutex("a").unwrap();
    let task = file.participant_options().release_on_close(true).open().unwrap();
    std::mem::forget(mutex.lock_as(&task).unwrap());
    let descriptor = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&descriptor);
    task.transfer_to_fd(number, process::id()).unwrap();
    assert_eq!(LockFile::open(&path).unwrap().unlock_transferred(number, Some("a")).unwrap(), 1);
    let seen = seen(&path);
    let events: Vec<Event> = at_lock(&seen, "a").map(|event| event.event).collect();
    assert_eq!(events, [Event::Asked, Event::Acquired, Event::Released]);
}

#[cfg(feature = "mutants")]
mod with_mutants {
    use turnlock::mutants::{Mutant, switch_on};

    #[test]
    fn fast_path_unrecorded() {
        let _alone = crate::alone();
        switch_on(Some(Mutant::FastPathUnrecorded));
        let seen = super::of_biased_locks();
        switch_on(None);
        assert!(seen.iter().all(|(events, rounds)| events.len() < 3 * rounds), "the mutant went unnoticed");
    }
}
