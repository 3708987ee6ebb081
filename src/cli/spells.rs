//! Who waited for a lock, and who held it, from when to when: what the events of a recording come to.
//!
//! A recording forgets: of what it still has, the first events may lack their beginnings, and what goes on now has no end.
//! Where an event in the midst is missing, because who recorded it was killed, it is not made up.

use std::collections::HashMap;
use turnlock::inspect::{Event, Recording};

/// A wait, or a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spell {
    /// Which of the two.
    pub kind: Kind,
    /// Whose: which of [`Recording::participants`].
    pub participant: usize,
    /// At which of [`Recording::locks`].
    pub lock: usize,
    /// Of a hold: since when its participant had asked for it, if that is known.
    pub asked: Option<u64>,
    /// When it began (`CLOCK_MONOTONIC`, nanoseconds); `None`: that is not recorded any more.
    pub began: Option<u64>,
    /// When it ended; `None`: it goes on, or that could not be read.
    pub ended: Option<u64>,
    /// How it ended.
    pub end: End,
    /// Beside others that are the same.
    pub shared: bool,
    /// Of a hold, and of a wait that came to one.
    pub fencing_token: Option<u64>,
}

/// Waiting or holding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// From asking for the lock to what came of it. Of a try, and of a lock that was free, it is short.
    Wait,
    /// From having the lock to giving it back.
    Hold,
}

/// How a wait or a hold ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The waiter has the lock.
    Acquired,
    /// It only tried.
    WouldBlock,
    /// Its time was over.
    TimedOut,
    /// Its wait was cancelled or interrupted, or failed.
    GaveUp,
    /// The holder gave the lock back.
    Released,
    /// The holder was found dead.
    Died,
    /// Its participant is gone: a waiter that was killed, or a holder whose end is no death there.
    Left,
    /// It goes on.
    UnderWay,
    /// The event that says so could not be read.
    Unknown,
}

impl Kind {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Hold => "hold",
        }
    }
}

impl End {
    /// In a word or two, for people and programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Acquired => "acquired",
            Self::WouldBlock => "would block",
            Self::TimedOut => "timed out",
            Self::GaveUp => "gave up",
            Self::Released => "released",
            Self::Died => "died",
            Self::Left => "gone",
            Self::UnderWay => "under way",
            Self::Unknown => "not recorded",
        }
    }
}

impl Spell {
    /// How long it took, if both ends are known.
    pub fn nanoseconds(&self) -> Option<u64> {
        Some(self.ended?.saturating_sub(self.began?))
    }

    /// From when to when it is to be drawn in a picture from `first` to `now`.
    pub fn drawn(&self, first: u64, now: u64) -> (u64, u64) {
        let began = self.began.unwrap_or(first.min(self.ended.unwrap_or(first)));
        let ended = match (self.ended, self.end) {
            (Some(ended), _) => ended,
            (None, End::UnderWay) => now,
            // It is not known for how long: a moment.
            (None, _) => began,
        };
        (began, ended.max(began))
    }
}

/// One event, as far as waits and holds go.
#[derive(Clone, Copy, Debug)]
struct Happened {
    at: u64,
    event: Event,
    slot: usize,
    participant: usize,
    lock: Option<usize>,
    shared: bool,
    fencing_token: Option<u64>,
}

/// The waits and holds of a recording, in the order of their first events.
pub fn of(recording: &Recording) -> Vec<Spell> {
    of_events(recording.events.iter().map(|recorded| Happened {
        at: recorded.at,
        event: recorded.event,
        slot: recording.participants[recorded.participant].slot,
        participant: recorded.participant,
        lock: recorded.lock,
        shared: recorded.shared,
        fencing_token: recorded.fencing_token,
    }))
}

/// Of each slot's own events, the order in which they were recorded is that of their times.
fn of_events(events: impl Iterator<Item = Happened>) -> Vec<Spell> {
    let mut found = Found::default();
    events.for_each(|happened| found.take(happened));
    found.spells
}

/// What has been found so far.
#[derive(Default)]
struct Found {
    spells: Vec<Spell>,
    /// Those that are under way, by their slots and locks: a slot may change hands meanwhile, and keep a lock.
    waits: HashMap<(usize, usize), usize>,
    holds: HashMap<(usize, usize), usize>,
}

impl Found {
    fn take(&mut self, happened: Happened) {
        let Happened { event, slot, participant, at, .. } = happened;
        match (event, happened.lock) {
            (Event::Attached, _) => self.change_hands(slot, participant),
            (Event::Detached, _) => self.leave(slot, at),
            (Event::Asked, Some(lock)) => {
                self.forget(Kind::Wait, (slot, lock));
                self.begin(Kind::Wait, lock, happened);
            }
            (Event::Acquired, Some(lock)) => {
                let wait = self.end(Kind::Wait, lock, happened, End::Acquired);
                self.forget(Kind::Hold, (slot, lock));
                let hold = self.begin(Kind::Hold, lock, happened);
                self.spells[hold].asked = self.spells[wait].began;
            }
            (Event::WouldBlock, Some(lock)) => drop(self.end(Kind::Wait, lock, happened, End::WouldBlock)),
            (Event::TimedOut, Some(lock)) => drop(self.end(Kind::Wait, lock, happened, End::TimedOut)),
            (Event::GaveUp, Some(lock)) => drop(self.end(Kind::Wait, lock, happened, End::GaveUp)),
            (Event::Released, Some(lock)) => drop(self.end(Kind::Hold, lock, happened, End::Released)),
            (Event::Died, Some(lock)) => drop(self.end(Kind::Hold, lock, happened, End::Died)),
            _ => {}
        }
    }

    fn under_way(&mut self, kind: Kind) -> &mut HashMap<(usize, usize), usize> {
        match kind {
            Kind::Wait => &mut self.waits,
            Kind::Hold => &mut self.holds,
        }
    }

    fn begin(&mut self, kind: Kind, lock: usize, happened: Happened) -> usize {
        let Happened { at, slot, participant, shared, fencing_token, .. } = happened;
        let at_index = self.spells.len();
        self.spells.push(Spell {
            kind,
            participant,
            lock,
            asked: None,
            began: Some(at),
            ended: None,
            end: End::UnderWay,
            shared,
            fencing_token,
        });
        self.under_way(kind).insert((slot, lock), at_index);
        at_index
    }

    /// Ends what is under way, or what began before the first event that is left.
    fn end(&mut self, kind: Kind, lock: usize, happened: Happened, end: End) -> usize {
        let at_index = match self.under_way(kind).remove(&(happened.slot, lock)) {
            Some(at_index) => at_index,
            None => {
                let at_index = self.begin(kind, lock, happened);
                self.under_way(kind).remove(&(happened.slot, lock));
                self.spells[at_index].began = None;
                at_index
            }
        };
        let spell = &mut self.spells[at_index];
        (spell.ended, spell.end) = (Some(happened.at), end);
        spell.fencing_token = spell.fencing_token.or(happened.fencing_token);
        at_index
    }

    /// The end of what was under way there was not read.
    fn forget(&mut self, kind: Kind, place: (usize, usize)) {
        if let Some(at_index) = self.under_way(kind).remove(&place) {
            self.spells[at_index].end = End::Unknown;
        }
    }

    /// Somebody else has the slot, and whatever is held by it: a lock that was left to another process by a descriptor.
    fn change_hands(&mut self, slot: usize, participant: usize) {
        for at_index in self.waits.extract_if(|place, _| place.0 == slot).map(|(_, at_index)| at_index) {
            self.spells[at_index].end = End::Unknown;
        }
        for at_index in self.holds.iter().filter(|(place, _)| place.0 == slot).map(|(_, at_index)| *at_index)
        {
            self.spells[at_index].participant = participant;
        }
    }

    fn leave(&mut self, slot: usize, at: u64) {
        for open in [&mut self.waits, &mut self.holds] {
            for (_, at_index) in open.extract_if(|place, _| place.0 == slot) {
                (self.spells[at_index].ended, self.spells[at_index].end) = (Some(at), End::Left);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events one nanosecond after the other: what, in which slot (by the participant of the same number), at which lock.
    fn spells(events: &[(Event, usize, usize)]) -> Vec<Spell> {
        of_events(events.iter().enumerate().map(|(at, (event, slot, lock))| Happened {
            at: at as u64,
            event: *event,
            slot: *slot,
            participant: *slot,
            lock: (!matches!(event, Event::Attached | Event::Detached)).then_some(*lock),
            shared: false,
            fencing_token: matches!(event, Event::Acquired | Event::Released | Event::Died).then_some(7),
        }))
    }

    /// Kind, beginning, end, and how it ended.
    fn told(spells: &[Spell]) -> Vec<(Kind, Option<u64>, Option<u64>, End)> {
        spells.iter().map(|spell| (spell.kind, spell.began, spell.ended, spell.end)).collect()
    }

    use Event::*;
    use Kind::{Hold, Wait};

    #[test]
    fn asking_acquiring_and_releasing_are_a_wait_and_a_hold() {
        let seen =
            spells(&[(Asked, 1, 0), (Asked, 2, 0), (Acquired, 1, 0), (Released, 1, 0), (Acquired, 2, 0)]);
        assert_eq!(
            told(&seen),
            [
                (Wait, Some(0), Some(2), End::Acquired),
                (Wait, Some(1), Some(4), End::Acquired),
                (Hold, Some(2), Some(3), End::Released),
                (Hold, Some(4), None, End::UnderWay),
            ]
        );
        assert_eq!(seen[3].asked, Some(1));
        assert!(seen.iter().all(|spell| spell.fencing_token == Some(7)));
        assert_eq!((seen[1].nanoseconds(), seen[3].nanoseconds()), (Some(3), None));
        assert_eq!((seen[1].drawn(0, 9), seen[3].drawn(0, 9)), ((1, 4), (4, 9)));
    }

    #[test]
    fn each_way_to_give_up_ends_the_wait_alone() {
        for (event, end) in [(WouldBlock, End::WouldBlock), (TimedOut, End::TimedOut), (GaveUp, End::GaveUp)]
        {
            let seen = spells(&[(Asked, 1, 0), (event, 1, 0), (Asked, 1, 0), (Acquired, 1, 0)]);
            assert_eq!(told(&seen)[0], (Wait, Some(0), Some(1), end));
            assert_eq!((seen.len(), seen[2].asked), (3, Some(2)));
        }
        // Who holds it and asks again is refused, and holds it still.
        let refused = spells(&[(Acquired, 1, 0), (Asked, 1, 0), (GaveUp, 1, 0), (Released, 1, 0)]);
        assert_eq!(told(&refused)[1], (Hold, Some(0), Some(3), End::Released));
    }

    #[test]
    fn what_began_before_the_first_event_has_an_end_and_no_beginning() {
        let seen = spells(&[(Acquired, 1, 0), (Released, 2, 1), (Died, 3, 2), (TimedOut, 4, 3)]);
        assert_eq!(
            told(&seen),
            [
                (Wait, None, Some(0), End::Acquired),
                (Hold, Some(0), None, End::UnderWay),
                (Hold, None, Some(1), End::Released),
                (Hold, None, Some(2), End::Died),
                (Wait, None, Some(3), End::TimedOut),
            ]
        );
        assert_eq!(seen[1].asked, None);
        // It is drawn from the first event on, and takes an unknown time.
        assert_eq!((seen[3].drawn(1, 9), seen[3].nanoseconds()), ((1, 2), None));
    }

    #[test]
    fn an_event_that_is_missing_in_between_is_not_made_up() {
        let seen = spells(&[(Asked, 1, 0), (Asked, 1, 0), (Acquired, 1, 0), (Acquired, 1, 0)]);
        assert_eq!(
            told(&seen),
            [
                (Wait, Some(0), None, End::Unknown),
                (Wait, Some(1), Some(2), End::Acquired),
                (Hold, Some(2), None, End::Unknown),
                (Wait, None, Some(3), End::Acquired),
                (Hold, Some(3), None, End::UnderWay),
            ]
        );
        assert_eq!(seen[2].drawn(0, 9), (2, 2));
    }

    #[test]
    fn who_is_gone_neither_waits_nor_holds() {
        let seen = spells(&[(Asked, 1, 0), (Acquired, 1, 1), (Asked, 2, 0), (Detached, 1, 0)]);
        let gone: Vec<End> = seen.iter().map(|spell| spell.end).collect();
        assert_eq!(gone, [End::Left, End::Acquired, End::Left, End::UnderWay]);
        assert_eq!(seen[0].ended, Some(3));
    }

    /// `turnlock lock --fd` leaves its slot, and the lock, to the shell.
    #[test]
    fn a_slot_that_changes_hands_takes_its_locks_along() {
        let event = |at, event, participant, lock| Happened {
            at,
            event,
            slot: 1,
            participant,
            lock,
            shared: false,
            fencing_token: None,
        };
        let seen = of_events(
            [
                event(0, Asked, 0, Some(0)),
                event(1, Acquired, 0, Some(0)),
                event(2, Asked, 0, Some(1)),
                event(3, Attached, 5, None),
                event(4, Released, 5, Some(0)),
            ]
            .into_iter(),
        );
        assert_eq!((seen[1].participant, seen[1].ended, seen[1].end), (5, Some(4), End::Released));
        assert_eq!((seen[2].end, seen.len()), (End::Unknown, 3));
    }
}
