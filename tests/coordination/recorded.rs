//! What a file with a recording says of conditions, events, barriers and onces: who did what, and in which order.
//!
//! What two participants do at the same moment may be recorded in either order: what is compared is what each did itself, and what
//! others did to it.

use crate::party::{a_party, asleep_in_order, until_asleep};
use std::{
    path::{Path, PathBuf},
    process,
    time::Duration,
};
use support::{Place, actor::Actor, elsewhere};
use turnlock::{
    Error, LockFile,
    inspect::{
        self,
        Event::{self, *},
        RecordedEvent, Recording,
    },
};

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(5);

/// A new lock file that records.
fn a_recorded_file(place: &Place) -> (PathBuf, LockFile) {
    let path = place.lock_file();
    let file = LockFile::options().recorded_events(4096).label("test").open(&path).unwrap();
    (path, file)
}

/// What was recorded at `name`.
struct Seen {
    recording: Recording,
    name: &'static str,
}

impl Seen {
    fn of(path: &Path, name: &'static str) -> Self {
        let recording = inspect::recording(path).unwrap().unwrap();
        assert_eq!(recording.unreadable, 0);
        Self { recording, name }
    }

    fn events(&self) -> impl Iterator<Item = &RecordedEvent> {
        let is_it = |lock: usize| self.recording.locks[lock].name.as_deref() == Some(self.name);
        self.recording
            .events
            .iter()
            .filter(move |event| event.lock.is_some_and(is_it) && event.event != Created)
    }

    fn pid(&self, participant: usize) -> u32 {
        self.recording.participants[participant].process.unwrap().0
    }

    /// What the process did itself, or reapers found of it.
    fn own(&self, pid: u32) -> Vec<&RecordedEvent> {
        self.events().filter(|event| event.by.is_none() && self.pid(event.participant) == pid).collect()
    }

    fn own_events(&self, pid: u32) -> Vec<Event> {
        self.own(pid).iter().map(|event| event.event).collect()
    }

    /// What others did to the process: what, and which process.
    fn by_others(&self, pid: u32) -> Vec<(Event, u32)> {
        let others = self.events().filter(|event| self.pid(event.participant) == pid);
        others.filter_map(|event| Some((event.event, self.pid(event.by?)))).collect()
    }
}

#[test]
fn a_condition_tells_who_waited_and_who_notified_whom() {
    let place = Place::new();
    let (path, file) = a_recorded_file(&place);
    let (mutex, condition) = (file.mutex("mutex").unwrap(), file.condition("changed").unwrap());
    let mut waiters = asleep_in_order(&path, 3);
    assert_eq!(condition.notify_one().unwrap(), 1);
    waiters[0].expect("done");
    assert_eq!(condition.notify_all().unwrap(), 2);
    waiters[1..].iter_mut().for_each(|waiter| waiter.expect("done"));
    assert_eq!(condition.notify_one().unwrap(), 0);
    let mut guard = mutex.lock().unwrap();
    assert!(matches!(condition.wait_for(&mut guard, SHORT), Err(Error::TimedOut(_))));
    guard.unlock().unwrap();

    let (seen, me) = (Seen::of(&path, "changed"), process::id());
    for waiter in &waiters {
        assert_eq!(seen.own_events(waiter.pid()), [WaitBegan, Woken]);
        assert_eq!(seen.by_others(waiter.pid()), [(Notified, me)]);
    }
    let mine = seen.own(me);
    let told: Vec<_> = mine.iter().map(|event| (event.event, event.count)).collect();
    let calls = [(NotifyOne, Some(1)), (NotifyAll, Some(2)), (NotifyOne, Some(0))];
    assert_eq!(told, [&calls[..], &[(WaitBegan, None), (TimedOut, None)]].concat());
    // The wait says which lock it unlocks, and the lock tells the rest.
    let with = mine[3].unlocks.map(|lock| seen.recording.locks[lock].name.clone());
    assert_eq!(with, Some(Some("mutex".into())));
    let at_mutex = Seen::of(&path, "mutex");
    for process in waiters.iter().map(Actor::pid).chain([me]) {
        assert_eq!(at_mutex.own_events(process), [Asked, Acquired, Released].repeat(2));
    }
}

#[test]
fn a_notification_that_is_passed_on_is_told_with_the_death_before_it() {
    let place = Place::new();
    let (path, file) = a_recorded_file(&place);
    let (mutex, condition) = (file.mutex("mutex").unwrap(), file.condition("changed").unwrap());
    let mut waiters = asleep_in_order(&path, 2);
    let guard = mutex.lock().unwrap();
    assert_eq!(condition.notify_one().unwrap(), 1);
    // It is awake, and waits for the lock.
    until_asleep(&path, "mutex", 1);
    waiters[0].kill();
    guard.unlock().unwrap();
    waiters[1].expect("done");

    let seen = Seen::of(&path, "changed");
    assert_eq!(seen.own_events(waiters[0].pid()), [WaitBegan, Woken, WaiterDied]);
    assert_eq!(seen.by_others(waiters[0].pid()), [(Notified, process::id())]);
    let last = seen.events().filter(|event| seen.pid(event.participant) == waiters[1].pid());
    let mut last: Vec<Event> = last.map(|event| event.event).collect();
    // It may be what passed the notification on, and another one may be too.
    last.sort();
    assert_eq!(last, [WaitBegan, Woken, PassedOn]);
    let died = seen.events().position(|event| event.event == WaiterDied);
    assert!(died < seen.events().position(|event| event.event == PassedOn));
}

#[test]
fn an_event_tells_who_changed_it_and_who_waited() {
    let place = Place::new();
    let (path, file) = a_recorded_file(&place);
    let event = file.event("ready").unwrap();
    let mut waiter = a_party(&path);
    waiter.tell("await ready");
    until_asleep(&path, "ready", 1);
    assert!(event.set().unwrap());
    waiter.expect("done");
    // What changes nothing, and waits for nothing, is not recorded.
    assert!(!event.set().unwrap());
    event.wait().unwrap();
    assert!(event.clear().unwrap());
    assert!(!event.clear().unwrap());
    assert!(matches!(event.wait_for(SHORT), Err(Error::TimedOut(_))));
    let seen = Seen::of(&path, "ready");
    assert_eq!(seen.own_events(waiter.pid()), [WaitBegan, Woken]);
    assert_eq!(seen.own_events(process::id()), [Set, Cleared, WaitBegan, TimedOut]);
}

/// Setting an event takes no slot otherwise.
#[test]
fn one_that_sets_an_event_has_a_slot_for_the_recording_if_there_is_one() {
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::options().participants(1).recorded_events(64).open(&path).unwrap();
    let event = elsewhere(|| file.event("ready").unwrap());
    let another = file.participant().unwrap();
    assert!(elsewhere(|| event.set().unwrap()));
    drop(another);
    assert!(elsewhere(|| event.clear().unwrap()));
    let seen = Seen::of(&path, "ready");
    let told: Vec<_> = seen
        .events()
        .map(|event| (event.event, seen.recording.participants[event.participant].process.is_some()))
        .collect();
    assert_eq!(told, [(Set, false), (Cleared, true)]);
    assert_eq!(seen.recording.participants[seen.events().next().unwrap().participant].slot, 65_535);

    let without = LockFile::options().participants(1).open(place.at("without.lock")).unwrap();
    elsewhere(|| without.event("ready").unwrap()).set().unwrap();
    assert_eq!(inspect::snapshot(without.path()).unwrap().participants.len(), 0);
}

#[test]
fn a_barrier_tells_who_came_and_at_whom_it_broke() {
    let place = Place::new();
    let (path, file) = a_recorded_file(&place);
    let barrier = file.barrier("stage", 3).unwrap();
    let (mut first, mut second) = (a_party(&path), a_party(&path));
    let meet = |party: &mut Actor, milliseconds: u32, count| {
        party.tell(&format!("meet stage {milliseconds}"));
        until_asleep(&path, "stage", count);
    };
    meet(&mut first, 60_000, 1);
    meet(&mut second, 60_000, 2);
    assert!(barrier.wait_for(LONG).unwrap());
    [&mut first, &mut second].into_iter().for_each(|party| party.expect("done"));
    // A party dies.
    meet(&mut first, 60_000, 1);
    meet(&mut second, 60_000, 2);
    first.kill();
    assert!(second.hear().starts_with("broken"));
    barrier.reset().unwrap();
    // One gives up.
    second.tell("meet stage 20");
    assert!(second.hear().starts_with("error"));
    barrier.reset().unwrap();
    barrier.abort().unwrap();

    let (seen, me) = (Seen::of(&path, "stage"), process::id());
    let told = |pid: u32| -> Vec<_> {
        seen.own(pid).iter().map(|event| (event.event, event.generation, event.count)).collect()
    };
    let at = |event: Event, generation: u32, count: u32| (event, Some(generation), Some(count));
    let plain = |event: Event| (event, None, None);
    assert_eq!(
        told(first.pid()),
        [at(Arrived, 0, 1), plain(Woken), at(Arrived, 1, 1), plain(PartyDied)],
        "the one that dies"
    );
    assert_eq!(seen.by_others(first.pid()), [(BrokenByDeath, second.pid())]);
    assert_eq!(
        told(second.pid()),
        [
            at(Arrived, 0, 2),
            plain(Woken),
            at(Arrived, 1, 2),
            plain(GaveUp),
            at(Arrived, 2, 1),
            at(BrokenByGivingUp, 2, 1),
            plain(TimedOut)
        ]
    );
    let mine = [at(Arrived, 0, 3), at(Completed, 0, 3), plain(Reset), plain(Reset), at(Aborted, 3, 0)];
    assert_eq!(told(me), mine);
}

/// The slot of the dead one is another's when the barrier breaks.
#[test]
fn a_barrier_breaks_at_the_dead_one_and_not_at_the_next_in_its_slot() {
    let place = Place::new();
    let (path, file) = a_recorded_file(&place);
    let barrier = file.barrier("stage", 2).unwrap();
    let mut dead = a_party(&path);
    dead.tell("meet stage 60000");
    until_asleep(&path, "stage", 1);
    dead.kill();
    assert_eq!(file.reap().unwrap().len(), 1);
    let mut next = a_party(&path);
    next.tell("meet stage 60000");
    assert!(next.hear().starts_with("broken"));
    assert!(barrier.check().is_err());
    let seen = Seen::of(&path, "stage");
    let broken = seen.events().find(|event| event.event == BrokenByDeath).unwrap();
    assert_eq!(seen.pid(broken.participant), dead.pid());
    let slot_of = |pid| {
        let its = seen.recording.participants.iter().find(|one| one.process.is_some_and(|its| its.0 == pid));
        its.unwrap().slot
    };
    assert_eq!(slot_of(dead.pid()), slot_of(next.pid()));
}

#[test]
fn a_once_tells_who_ran_it_and_what_came_of_it() {
    let place = Place::new();
    let (path, file) = a_recorded_file(&place);
    let once = file.once("schema").unwrap();
    let mut runner = a_party(&path);
    runner.tell("begin schema");
    runner.expect("mine");
    runner.kill();
    drop(once.begin_for(LONG).unwrap().unwrap());
    once.begin_for(LONG).unwrap().unwrap().complete().unwrap();
    assert!(once.begin().unwrap().is_none());
    once.reset().unwrap();
    let seen = Seen::of(&path, "schema");
    assert_eq!(seen.own_events(runner.pid()), [Asked, Acquired, RunBegan, Died]);
    let given_up = [Asked, Recovered, Acquired, RunBegan, NotDone, Released];
    let done = [Asked, Acquired, RunBegan, Done, Released];
    let reset = [Asked, Acquired, Reset, Released];
    assert_eq!(seen.own_events(process::id()), [&given_up[..], &done, &reset].concat());
}
