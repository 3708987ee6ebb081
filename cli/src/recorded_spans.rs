//! Spans: who waited for a lock, and who held it, from when to when, by the events of a recording.
//!
//! A recording forgets: of what it still has, the first events may lack their beginnings, and what goes on now has no end.
//! Where an event in the midst is missing, because its participant was killed, it is not made up: what it would have begun, or
//! ended, is a moment.

use std::collections::{HashMap, HashSet};
use turnlock::inspect::{Event, Recording};

/// A wait, or a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Whether it is a wait or a hold.
    pub kind: Kind,
    /// Its participant: which of [`Recording::participants`].
    pub participant: usize,
    /// Its lock: which of [`Recording::locks`].
    pub lock: usize,
    /// Of a hold: since when its participant had asked for it, if that is known.
    pub asked: Option<u64>,
    /// When it began (`CLOCK_MONOTONIC`, nanoseconds); `None`: that is not recorded any more. Where the event that says so is
    /// missing, but it was not the first one that is left: when it ended.
    pub began: Option<u64>,
    /// When it ended; `None`: it goes on, or that could not be read.
    pub ended: Option<u64>,
    /// How it ended.
    pub end: End,
    /// Whether the hold is, or was to be, shared.
    pub shared: bool,
    /// Of a hold, and of a wait that came to one.
    pub fencing_token: Option<u64>,
    /// Of a wait for a group lock: the group that it wants to enter.
    pub group: Option<u64>,
}

/// Waiting or holding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// From asking for the lock to what came of it. Of a try, and of a lock that was free, it is short. At a condition or a barrier, or
    /// for an event: from the beginning of the wait to its end.
    Wait,
    /// From having the lock to giving it back.
    Hold,
}

/// How a wait or a hold ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The waiter has the lock.
    Acquired,
    /// What it waited for has come, which is no lock.
    Woken,
    /// It only tried.
    WouldBlock,
    /// Its time was over.
    TimedOut,
    /// Its wait was cancelled or interrupted, or failed.
    GaveUp,
    /// Its wait closed a circle of waits.
    CircularWait,
    /// The holder gave the lock back.
    Released,
    /// The holder shared the lock, and has it alone from then on.
    Upgraded,
    /// The holder had the lock alone, and shares it from then on.
    Downgraded,
    /// The holder was found dead, or one that waited at a condition or a barrier.
    Died,
    /// Its participant is gone: a waiter that was killed, or a holder whose end is no death there.
    Left,
    /// It goes on.
    UnderWay,
    /// The event that says so could not be read.
    Unknown,
}

impl Kind {
    /// Returns it in a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Hold => "hold",
        }
    }
}

impl End {
    /// Returns it in a word or two, for people and programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Acquired => "acquired",
            Self::Woken => "woken",
            Self::WouldBlock => "would block",
            Self::TimedOut => "timed out",
            Self::GaveUp => "gave up",
            Self::CircularWait => "circular wait",
            Self::Released => "released",
            Self::Upgraded => "upgraded",
            Self::Downgraded => "downgraded",
            Self::Died => "died",
            Self::Left => "gone",
            Self::UnderWay => "under way",
            Self::Unknown => "not recorded",
        }
    }
}

impl Span {
    /// Returns how long it took, in nanoseconds, if both ends are known.
    pub fn nanoseconds(&self) -> Option<u64> {
        Some(self.ended?.saturating_sub(self.began?))
    }

    /// Returns from when to when it is drawn in a picture from `first` to `now`.
    pub fn drawn(&self, first: u64, now: u64) -> (u64, u64) {
        let began = self.began.unwrap_or(first.min(self.ended.unwrap_or(first)));
        let ended = match (self.ended, self.end) {
            (Some(ended), _) => ended,
            (None, End::UnderWay) => now,
            // It is not known since when or until when: a moment.
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
    group: Option<u64>,
    unlocks: Option<usize>,
}

/// Returns the waits and holds of a recording, in the order of their first events.
pub fn of(recording: &Recording) -> Vec<Span> {
    of_events(recording.events.iter().map(|recorded| Happened {
        at: recorded.at,
        event: recorded.event,
        slot: recording.participants[recorded.participant].slot,
        participant: recorded.participant,
        lock: recorded.lock,
        shared: recorded.shared,
        fencing_token: recorded.fencing_token,
        group: recorded.group,
        unlocks: recorded.unlocks,
    }))
}

/// Returns the spans of events. Those of each slot are in the order of their times.
fn of_events(events: impl Iterator<Item = Happened>) -> Vec<Span> {
    let mut found = Found::default();
    events.for_each(|happened| found.take(happened));
    found.spans
}

/// What has been found so far.
#[derive(Default)]
struct Found {
    spans: Vec<Span>,
    /// Those that are under way, by their slots and locks: a slot may change hands meanwhile, and keep a lock.
    waits: HashMap<(usize, usize), usize>,
    holds: HashMap<(usize, usize), usize>,
    /// By slots: the wait at a condition for which a lock is about to be unlocked, and that lock.
    unlocking: HashMap<usize, (usize, usize)>,
    /// Slots that were taken after the first event that is left.
    attached: HashSet<usize>,
    /// Slots and locks of which no wait or hold that is yet to end began before the first event that is left.
    settled: HashSet<(usize, usize)>,
}

impl Found {
    fn take(&mut self, happened: Happened) {
        let Happened { event, slot, participant, at, .. } = happened;
        match (event, happened.lock) {
            (Event::Attached, _) => self.change_hands(slot, participant),
            (Event::Detached, _) => self.leave(slot, at),
            (Event::Asked | Event::AskedInGroup | Event::WaitBegan | Event::Arrived, Some(lock)) => {
                self.forget(Kind::Wait, (slot, lock));
                let wait = self.begin(Kind::Wait, lock, happened);
                if let Some(unlocks) = happened.unlocks {
                    self.unlocking.insert(slot, (wait, unlocks));
                }
            }
            (Event::Woken | Event::Completed, Some(lock)) => self.end(Kind::Wait, lock, happened, End::Woken),
            (Event::WaiterDied | Event::PartyDied, Some(lock)) if self.waits.contains_key(&(slot, lock)) => {
                self.end(Kind::Wait, lock, happened, End::Died);
            }
            (Event::Acquired, Some(lock)) => self.acquire(lock, happened),
            (Event::WouldBlock, Some(lock)) => self.end(Kind::Wait, lock, happened, End::WouldBlock),
            (Event::TimedOut, Some(lock)) => self.end(Kind::Wait, lock, happened, End::TimedOut),
            (Event::GaveUp, Some(lock)) => self.end(Kind::Wait, lock, happened, End::GaveUp),
            (Event::CircularWait, Some(lock)) => self.end(Kind::Wait, lock, happened, End::CircularWait),
            (Event::Released, Some(lock)) => {
                self.unlocked_for_wait(lock, happened);
                self.end(Kind::Hold, lock, happened, End::Released);
            }
            (Event::Died, Some(lock)) => self.end(Kind::Hold, lock, happened, End::Died),
            _ => {}
        }
        if let Some(lock) = happened.lock
            && (self.attached.contains(&slot)
                || matches!(event, Event::Acquired | Event::Released | Event::Died))
        {
            self.settled.insert((slot, lock));
        }
    }

    /// Has the wait for which the lock is unlocked begin where the hold ends: it is recorded before, so that no notification is.
    fn unlocked_for_wait(&mut self, lock: usize, Happened { slot, at, .. }: Happened) {
        if let Some((wait, _)) = self.unlocking.remove(&slot).filter(|(_, unlocks)| *unlocks == lock)
            && self.spans[wait].end == End::UnderWay
        {
            self.spans[wait].began = Some(at);
        }
    }

    fn acquire(&mut self, lock: usize, happened: Happened) {
        let place = (happened.slot, lock);
        let asked = self.waits.get(&place).and_then(|wait| self.spans[*wait].began);
        let held = self.holds.get(&place).map(|hold| self.spans[*hold]);
        let changed = held.and_then(|held| match (held.shared, happened.shared, asked) {
            (true, false, Some(_)) => Some(End::Upgraded),
            // A downgrade has no wait: it is given at once, and keeps its fencing token.
            (false, true, None) if held.fencing_token == happened.fencing_token => Some(End::Downgraded),
            _ => None,
        });
        if changed != Some(End::Downgraded) {
            self.end(Kind::Wait, lock, happened, End::Acquired);
        }
        match changed {
            Some(end) => self.end(Kind::Hold, lock, happened, end),
            None => self.forget(Kind::Hold, place),
        }
        let hold = self.begin(Kind::Hold, lock, happened);
        self.spans[hold].asked = asked;
    }

    fn under_way(&mut self, kind: Kind) -> &mut HashMap<(usize, usize), usize> {
        match kind {
            Kind::Wait => &mut self.waits,
            Kind::Hold => &mut self.holds,
        }
    }

    fn begin(&mut self, kind: Kind, lock: usize, happened: Happened) -> usize {
        let Happened { at, slot, participant, shared, fencing_token, group, .. } = happened;
        let at_index = self.spans.len();
        self.spans.push(Span {
            kind,
            participant,
            lock,
            asked: None,
            began: Some(at),
            ended: None,
            end: End::UnderWay,
            shared,
            fencing_token,
            group,
        });
        self.under_way(kind).insert((slot, lock), at_index);
        at_index
    }

    /// Ends what is under way, or what began before the first event that is left.
    fn end(&mut self, kind: Kind, lock: usize, happened: Happened, end: End) {
        let place = (happened.slot, lock);
        let Some(at_index) = self.under_way(kind).remove(&place) else {
            return self.end_of_unknown(kind, lock, happened, end);
        };
        let span = &mut self.spans[at_index];
        (span.ended, span.end) = (Some(happened.at), end);
        // That of an upgrade is of what comes next.
        if end != End::Upgraded {
            span.fencing_token = span.fencing_token.or(happened.fencing_token);
        }
    }

    /// Ends what no event began that could be read: from the first event on, or, if it began later than that, a moment.
    fn end_of_unknown(&mut self, kind: Kind, lock: usize, happened: Happened, end: End) {
        let place = (happened.slot, lock);
        let mut is_later = self.settled.contains(&place);
        if kind == Kind::Hold {
            // Killed after it got what it waited for, and before it had recorded that.
            let wait = self.waits.get(&place).filter(|wait| self.spans[**wait].shared == happened.shared);
            is_later |= wait.is_some();
            self.forget(Kind::Wait, place);
        }
        let at_index = self.begin(kind, lock, happened);
        self.under_way(kind).remove(&place);
        let span = &mut self.spans[at_index];
        span.end = end;
        if !is_later {
            (span.began, span.ended) = (None, Some(happened.at));
        }
    }

    /// Notes that the end of what was under way there was not read.
    fn forget(&mut self, kind: Kind, place: (usize, usize)) {
        if let Some(at_index) = self.under_way(kind).remove(&place) {
            self.spans[at_index].end = End::Unknown;
        }
    }

    /// Gives the slot, and what it holds, to another participant: a lock that was transferred to another process by a
    /// descriptor.
    fn change_hands(&mut self, slot: usize, participant: usize) {
        self.attached.insert(slot);
        for at_index in self.waits.extract_if(|place, _| place.0 == slot).map(|(_, at_index)| at_index) {
            self.spans[at_index].end = End::Unknown;
        }
        for at_index in self.holds.iter().filter(|(place, _)| place.0 == slot).map(|(_, at_index)| *at_index)
        {
            self.spans[at_index].participant = participant;
        }
    }

    fn leave(&mut self, slot: usize, at: u64) {
        for open in [&mut self.waits, &mut self.holds] {
            for (_, at_index) in open.extract_if(|place, _| place.0 == slot) {
                (self.spans[at_index].ended, self.spans[at_index].end) = (Some(at), End::Left);
            }
        }
    }
}

#[cfg(test)]
mod tests;
