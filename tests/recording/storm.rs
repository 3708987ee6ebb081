//! Processes that record as fast as they can into a small ring, and are killed at any instruction, while others read it.

use crate::{recorded, recording_of as seen};
use std::{
    collections::HashMap,
    path::Path,
    time::{Duration, Instant},
};
use support::{
    NoHang, Place,
    actor::{Actor, say},
    format::{peek_u64, poke_u64},
};
use turnlock::{
    LockFile, MutexGuard,
    inspect::{Event, Recording},
};

/// Words: the lock file.
pub fn locks_without_end(words: &[String]) {
    let file = LockFile::options().label("storm").open(&words[0]).unwrap();
    let mutex = file.mutex("a").unwrap();
    say("ready");
    loop {
        repair(&mut mutex.lock().unwrap());
    }
}

fn repair(guard: &mut MutexGuard) {
    if guard.acquired().previous_owner_died {
        guard.mark_consistent().unwrap();
    }
}

/// Words: the lock file. Waits, notifies, sets, clears and meets, each for a moment.
pub fn coordinates_without_end(words: &[String]) {
    const MOMENT: Duration = Duration::from_micros(300);
    let file = LockFile::options().label("storm").deadlock_errors(false).open(&words[0]).unwrap();
    let (mutex, changed) = (file.mutex("a").unwrap(), file.condition("changed").unwrap());
    let (ready, stage) = (file.event("ready").unwrap(), file.barrier("stage", 2).unwrap());
    say("ready");
    loop {
        let mut guard = mutex.lock().unwrap();
        repair(&mut guard);
        let _ = changed.wait_for(&mut guard, MOMENT);
        repair(&mut guard);
        guard.unlock().unwrap();
        changed.notify_one().unwrap();
        changed.notify_all().unwrap();
        ready.set().unwrap();
        ready.clear().unwrap();
        let _ = ready.wait_for(MOMENT);
        if stage.wait_for(MOMENT).is_err() {
            stage.reset().unwrap();
        }
    }
}

/// A process that plays the role at the file.
fn start(role: &'static str, path: &Path) -> Actor {
    let mut actor = Actor::start(role, &[path.to_str().unwrap()]);
    actor.expect("ready");
    actor
}

/// What no reading of a mutex's recording may say, if there is anything.
fn wrong(seen: &Recording) -> Option<String> {
    let (mut last_number, mut last_of) = (None, HashMap::new());
    let mut last_token = 0;
    for event in &seen.events {
        let tell = |what: &str| Some(format!("{what}: {event:?}"));
        if last_number.is_some_and(|last| last >= event.number) || event.at > seen.now {
            return tell("an event is out of its place");
        }
        last_number = Some(event.number);
        // What others do to a participant may come at any time.
        if event.lock.is_none() || event.event == Event::PassedOver {
            continue;
        }
        let token = event.fencing_token;
        let before = last_of.insert(event.participant, (event.at, event.event, event.number, token));
        let Some((at, what, number, its_token)) = before else { continue };
        if event.at < at && event.event != Event::Died {
            return tell("a participant goes back in time");
        }
        // Where one in between could not be read, nothing follows from the last one that could.
        if seen.unreadable > 0 {
            continue;
        }
        use Event::{Acquired, Asked, Died, Recovered, Released};
        let follows = match event.event {
            Asked => matches!(what, Released | Event::Created | Event::TimedOut),
            Acquired => what == Asked,
            Recovered => what == Acquired,
            Released => matches!(what, Acquired | Recovered) && its_token == token,
            // The reaper may have died too, and another one done it again.
            Died => matches!(what, Acquired | Recovered | Released | Died | Asked),
            _ => true,
        };
        if !follows {
            return tell(&format!("it cannot come after {what:?}, number {number}"));
        }
        if event.event == Acquired {
            if token.is_none_or(|token| token <= last_token) {
                return tell("a fencing token is not above the one before");
            }
            last_token = token.unwrap_or(0);
        }
    }
    None
}

/// What no reading of conditions, events and barriers may say: of what each participant did itself.
fn wrong_at_others(seen: &Recording) -> Option<String> {
    let mut last = HashMap::new();
    for event in &seen.events {
        use Event::{
            Acquired, Arrived, Asked, Completed, Created, GaveUp, Notified, PassedOn, Released, TimedOut,
            WaitBegan, Woken,
        };
        // What others did to it.
        if event.lock.is_none() || event.by.is_some() || matches!(event.event, Notified | PassedOn) {
            continue;
        }
        let before = last.insert((event.participant, event.lock), event.event);
        let Some(before) = before.filter(|_| seen.unreadable == 0) else { continue };
        let follows = match event.event {
            Acquired => before == Asked,
            Released => before == Acquired || before == Event::Recovered,
            Woken | TimedOut | GaveUp => matches!(before, WaitBegan | Arrived | Event::BrokenByGivingUp),
            Completed => before == Arrived,
            WaitBegan | Arrived => !matches!(before, WaitBegan | Arrived),
            Created => false,
            _ => true,
        };
        if !follows {
            return Some(format!("{event:?} cannot come after {before:?}"));
        }
    }
    None
}

/// Returns what is wrong, how many events were read, how many were not readable, and how many processes were killed.
fn storm(
    role: &'static str,
    wrong: fn(&Recording) -> Option<String>,
    span: Duration,
    events: u32,
) -> (Option<String>, usize, u64, u32) {
    let place = Place::new();
    let path = place.lock_file();
    let _file = recorded(&place, events);
    let mut writers: Vec<Actor> = (0..3).map(|_| start(role, &path)).collect();
    let (began, mut read, mut unreadable, mut kills) = (Instant::now(), 0, 0, 0);
    while began.elapsed() < span {
        for _ in 0..50 {
            let seen = seen(&path);
            read += seen.events.len();
            unreadable += seen.unreadable;
            if let Some(wrong) = wrong(&seen) {
                return (Some(wrong), read, unreadable, kills);
            }
        }
        let victim = kills as usize % writers.len();
        writers[victim].kill();
        writers[victim] = start(role, &path);
        kills += 1;
    }
    writers.iter_mut().for_each(Actor::kill);
    // Of those that were killed in the midst of an event, at most one each is left.
    let left = seen(&path);
    assert!(left.unreadable <= u64::from(kills) + 3, "{} not readable after {kills} kills", left.unreadable);
    (wrong(&left), read, unreadable, kills)
}

#[test]
fn nothing_is_read_that_nobody_recorded() {
    let _no_hang = NoHang::for_seconds(120);
    let locks = ("locks_without_end", wrong as fn(&Recording) -> Option<String>, 2);
    for (role, wrong, seconds) in [locks, ("coordinates_without_end", wrong_at_others, 1)] {
        for events in [64, 4096] {
            let (wrong, read, unreadable, kills) = storm(role, wrong, Duration::from_secs(seconds), events);
            println!("{role}, {events} places: {read} events read, {unreadable} not readable, {kills} kills");
            assert_eq!(wrong, None);
            assert!(read > 0 && kills > 0);
        }
    }
}

/// What is read when a writer was killed right after it had taken the number of an event: in the place of that stands one of
/// long ago, whole.
fn of_an_event_that_was_only_begun() -> Recording {
    const EVENTS: u64 = 64;
    let place = Place::new();
    let path = place.lock_file();
    let file = recorded(&place, EVENTS as u32);
    let mutex = file.mutex("a").unwrap();
    // The ring comes round.
    (0..EVENTS).for_each(|_| drop(mutex.lock().unwrap()));
    let next = path.metadata().unwrap().len() - RECORDING_WORDS - EVENTS * EVENT;
    poke_u64(&path, next, peek_u64(&path, next) + 1);
    seen(&path)
}

/// The recording is the end of the file: its words, of which the first is the number of the next event, and the events.
const RECORDING_WORDS: u64 = 128;
const EVENT: u64 = 32;

#[test]
fn an_event_that_was_only_begun_is_not_read() {
    let seen = of_an_event_that_was_only_begun();
    assert_eq!((seen.events.len(), seen.unreadable, wrong(&seen)), (63, 1, None));
}

#[cfg(feature = "mutants")]
mod with_mutants {
    use turnlock::mutants::{Mutant, switch_on};

    /// In the process that reads.
    #[test]
    fn event_without_hash() {
        let _alone = crate::alone();
        switch_on(Some(Mutant::EventWithoutHash));
        let seen = super::of_an_event_that_was_only_begun();
        switch_on(None);
        println!("{:?}", super::wrong(&seen));
        assert!(super::wrong(&seen).is_some(), "an event is believed that is not whole, and went unnoticed");
    }
}
