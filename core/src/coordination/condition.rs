//! The condition: participants that hold a lock give it up and wait until another one notifies them; then they take the lock again.
//!
//! An entry has one of these states, with the number `t` of the wait or `n` of the notification; both are drawn from one sequence,
//! so that a wait with `t < n` began before the notification.
//!
//! ```text
//! wait, with the lock     t = ++sequence; entry = WAITING(t); unlock; sleep while entry == WAITING(t); lock; consume
//! gives up                entry: WAITING(t) -> IDLE; if that fails, it was notified
//! notify one              n = ++sequence; the lowest WAITING(t) with t < n: -> NOTIFIED(n); wake it
//! notify all              n = ++sequence; every WAITING(t) with t < n: -> BROADCAST(n); wake it
//! consume, with the lock  of PASSED(n): every other ORPHAN(n) -> IDLE; then its own entry -> IDLE
//! reap                    WAITING, BROADCAST -> IDLE; NOTIFIED(n), PASSED(n) -> ORPHAN(n)
//! pass on                 for each ORPHAN(n): if no entry is PASSED(n), the lowest WAITING(t) with t < n: -> PASSED(n), wake it, if
//!                         ORPHAN(n) is still there; then ORPHAN(n) -> IDLE
//! ```
//!
//! So a notification that found a waiter reaches one that stays, exactly once, as long as there is one that was waiting by then: one
//! that came later has looked at the data since. It is consumed only when the waiter has the lock, since one that dies before has done
//! nothing about it.
//!
//! Any number of participants pass on at a time, and one that dies or is stopped in the middle of it keeps none of the others from
//! it. Two of them do not give a notification to two waiters. Of those with t < n none begins to wait any more, but for one that
//! has drawn its number and has the lock still: its number is the highest of theirs. So of two that choose different waiters, the one
//! that chose the higher number has found the other waiter not waiting any more. If that one has got this very notification, it
//! shows: as PASSED(n), or by the orphan, which is gone when it was consumed. Else it will never get it.

use super::entry::{Entry, SleeperCell, Tag, in_use};
use crate::error::Result;
use crate::event::{Event, Happening, Recorder};
use crate::sync::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use crate::wait::Platform;

const IDLE: u64 = 0;
const WAITING: u64 = 1;
const NOTIFIED: u64 = 2;
const PASSED: u64 = 3;
const BROADCAST: u64 = 4;
const ORPHAN: u64 = 5;

/// The words of a condition.
pub struct Condition<'a, C> {
    /// The last number that was drawn, for a wait or a notification.
    pub sequence: &'a AtomicU64,
    /// Each slot's entry.
    pub entries: &'a [AtomicU64],
    /// Each slot's other words.
    pub cells: &'a [C],
    /// One more than the highest slot in use.
    pub slots_in_use: &'a AtomicU32,
    /// Of the condition's name.
    pub tag: Tag,
    /// What is told of notifications; `None`: nothing is.
    pub recorder: Option<&'a dyn Recorder>,
}

impl<C> Clone for Condition<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Condition<'_, C> {}

/// Where a participant stands at a condition, for an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It was notified, and has not taken the lock again.
    Notified,
    /// It waits, by this number: the lower one came first.
    Waiting(u64),
    /// It was notified and died: another one is to get the notification.
    Orphan,
}

/// One wait of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(u64);

impl<C: SleeperCell> Condition<'_, C> {
    fn word(&self, number: u64, state: u64) -> u64 {
        Entry { number, tag: self.tag, state }.word()
    }

    /// Returns the parts of a slot's entry, if it is of this condition.
    fn read(&self, entry: &AtomicU64) -> Option<(u64, Entry)> {
        // Acquire. Partners: the release stores of `begin`, and of those that let the slot's participant go on.
        let word = entry.load(Acquire);
        let entry = Entry::of(word);
        (entry.state != IDLE && entry.tag == self.tag).then_some((word, entry))
    }

    fn replace(&self, entry: &AtomicU64, old: u64, new: u64) -> bool {
        // AcqRel. Partners: the other exchanges of the entry, and `read`: a participant that sees the new entry sees what came before it
        // here, and this one sees what came before the old one.
        entry.compare_exchange(old, new, AcqRel, Acquire).is_ok()
    }

    /// Tells the recorder what happened to the participant of `slot`.
    fn record(&self, event: Event, slot: usize) {
        if let Some(recorder) = self.recorder {
            recorder.record(Happening { event, slot, shared: false, value: 0 });
        }
    }

    fn draw(&self) -> u64 {
        self.sequence.fetch_add(1, AcqRel).wrapping_add(1)
    }

    /// Begins a wait of `me`, which holds the condition's lock and unlocks it next.
    pub fn begin<P: Platform>(&self, me: usize) -> Ticket {
        // What was left by a dead participant that had the slot, or of a wait that its thread left by a jump or a panic.
        self.decline::<P>(me);
        let ticket = Ticket(self.draw());
        self.entries[me].store(self.word(ticket.0, WAITING), Release);
        ticket
    }

    /// Returns whether `me` has not been notified.
    pub fn is_waiting(&self, me: usize, ticket: Ticket) -> bool {
        // Acquire. Partner: the exchange of the notifier.
        self.entries[me].load(Acquire) == self.word(ticket.0, WAITING)
    }

    /// Ends a wait of `me` before it was notified. Returns whether it had not been; else the notification counts.
    pub fn give_up(&self, me: usize, ticket: Ticket) -> bool {
        self.replace(&self.entries[me], self.word(ticket.0, WAITING), IDLE)
    }

    /// Takes the notification, when `me` has the lock again.
    pub fn consume(&self, me: usize) {
        let own = &self.entries[me];
        let Some((_, entry)) = self.read(own) else { return };
        if entry.state == PASSED {
            // The one that passed it on may have died before it took the number away from the dead one; with ours gone, the next one
            // would pass it on again.
            let orphan = self.word(entry.number, ORPHAN);
            for other in self.entries {
                if other.load(Relaxed) == orphan {
                    self.replace(other, orphan, IDLE);
                }
            }
        }
        // Release. Partner: the acquire loads in `successor_for`: one that sees it sees the orphan gone.
        own.store(IDLE, Release);
    }

    /// Ends a wait of `me`, which cannot take the lock: a notification that it got goes to another waiter.
    pub fn decline<P: Platform>(&self, me: usize) {
        let own = &self.entries[me];
        while let Some((word, entry)) = self.read(own) {
            // Others may be faster: a notifier, or one that passes the orphan on.
            match entry.state {
                NOTIFIED | PASSED => _ = self.replace(own, word, self.word(entry.number, ORPHAN)),
                ORPHAN => self.pass_on_from::<P>(own, word),
                _ => _ = self.replace(own, word, IDLE),
            }
        }
    }

    /// Notifies the oldest waiter, if there is one. Returns how many were notified. `reap_if_dead` checks whether a slot's
    /// participant is dead, reaps it then, and returns whether it did.
    ///
    /// # Errors
    /// Those of `reap_if_dead`; the waiter was notified.
    pub fn notify_one<P: Platform>(
        &self,
        mut reap_if_dead: impl FnMut(usize) -> Result<bool>,
    ) -> Result<u32> {
        let number = self.draw();
        let Some(slot) = self.give_to_oldest(number, NOTIFIED) else { return Ok(0) };
        self.record(Event::Notified, slot);
        if !self.wake::<P>(slot) && reap_if_dead(slot)? {
            self.pass_on::<P>();
        }
        Ok(1)
    }

    /// Notifies every participant that waits by now, the oldest first. Returns how many.
    pub fn notify_all<P: Platform>(&self) -> u32 {
        let number = self.draw();
        let mut notified = 0;
        while let Some(slot) = self.give_to_oldest(number, BROADCAST) {
            self.record(Event::Notified, slot);
            self.wake::<P>(slot);
            notified += 1;
        }
        notified
    }

    /// Wakes a participant that was let go on. Returns `false` if it said that it sleeps, and did not: it may be dead.
    fn wake<P: Platform>(&self, slot: usize) -> bool {
        let cell = &self.cells[slot];
        // Release. Partner: the acquire load in `sleep_until`.
        cell.called().fetch_add(1, Release);
        P::wake_all(cell.called()) || cell.asleep().load(Relaxed) == 0
    }

    /// Gives notification `number` to the participant that has waited longest, of those that began before it. Returns its slot.
    fn give_to_oldest(&self, number: u64, state: u64) -> Option<usize> {
        loop {
            let waiting =
                in_use(self.entries, self.slots_in_use).iter().enumerate().filter_map(|(slot, entry)| {
                    let (word, entry) = self.read(entry)?;
                    (entry.state == WAITING && entry.number < number).then_some((entry.number, slot, word))
                });
            let (_, slot, word) = waiting.min()?;
            if self.replace(&self.entries[slot], word, self.word(number, state)) {
                return Some(slot);
            }
        }
    }

    /// Returns how many wait that came before `ticket`.
    pub fn ahead(&self, ticket: Ticket) -> usize {
        let is_ahead = |entry: &&AtomicU64| {
            self.read(entry).is_some_and(|(_, entry)| entry.state == WAITING && entry.number < ticket.0)
        };
        in_use(self.entries, self.slots_in_use).iter().filter(is_ahead).count()
    }

    /// Returns how many wait and were not notified.
    pub fn waiters(&self) -> usize {
        self.ahead(Ticket(u64::MAX))
    }

    /// Returns whether the participant of `slot` is in a wait.
    pub fn is_in_wait(&self, slot: usize) -> bool {
        self.read(&self.entries[slot]).is_some_and(|(_, entry)| entry.state != ORPHAN)
    }

    /// Returns where the participant of `slot` stands; `None`: it is in no wait, or its entry is impossible.
    pub fn stage(&self, slot: usize) -> Option<Stage> {
        let (_, entry) = self.read(self.entries.get(slot)?)?;
        match entry.state {
            WAITING => Some(Stage::Waiting(entry.number)),
            NOTIFIED | PASSED | BROADCAST => Some(Stage::Notified),
            ORPHAN => Some(Stage::Orphan),
            _ => None,
        }
    }

    /// Does in a waiter's nap what the dead left to do: finds out whether those that were notified and have not come are dead, and
    /// passes their notifications on.
    ///
    /// # Errors
    /// Those of `reap_if_dead`.
    pub fn look_after<P: Platform>(
        &self,
        me: usize,
        mut reap_if_dead: impl FnMut(usize) -> Result<bool>,
    ) -> Result<()> {
        let mut any = false;
        // All of them, also those above the bound, which may have been lowered since a death.
        for (slot, entry) in self.entries.iter().enumerate() {
            match self.read(entry) {
                Some((_, Entry { state: NOTIFIED | PASSED, .. })) if slot != me => any |= reap_if_dead(slot)?,
                Some((_, Entry { state: ORPHAN, .. })) => any = true,
                _ => {}
            }
        }
        if any {
            self.pass_on::<P>();
        }
        Ok(())
    }

    /// Clears what the dead participant of `slot` left, of a removed condition too. With the slot's byte lock in hand; repeatable.
    pub fn reap(&self, slot: usize) {
        let own = &self.entries[slot];
        let word = own.load(Acquire);
        let entry = Entry::of(word);
        match entry.state {
            IDLE => {}
            NOTIFIED | PASSED => {
                // No other participant changes it.
                own.store(Entry { state: ORPHAN, ..entry }.word(), Release);
            }
            ORPHAN => {}
            _ => {
                // A notifier may be faster.
                if !self.replace(own, word, IDLE) {
                    return self.reap(slot);
                }
            }
        }
        self.cells[slot].asleep().store(0, Relaxed);
    }

    /// Passes on the notifications of the dead.
    fn pass_on<P: Platform>(&self) {
        for entry in self.entries {
            let word = entry.load(Acquire);
            if Entry::of(word).state == ORPHAN {
                self.pass_on_from::<P>(entry, word);
            }
        }
    }

    /// Passes on the notification of a dead participant, or of one that declined it, from its entry, which was `word`.
    fn pass_on_from<P: Platform>(&self, entry: &AtomicU64, word: u64) {
        let orphan = Entry::of(word);
        // Of a removed condition there is none that waits.
        if orphan.tag == self.tag {
            while let Some((slot, waiting)) = self.successor_for(orphan.number) {
                // Acquire, by `read`, after the look at all entries. Partner: the exchange in `consume`: if another participant has
                // passed it on, and it was consumed before that look came to its entry, the orphan was cleared before.
                if entry.load(Acquire) != word {
                    return;
                }
                if self.replace(&self.entries[slot], waiting, self.word(orphan.number, PASSED)) {
                    self.record(Event::PassedOn, slot);
                    self.wake::<P>(slot);
                    break;
                }
            }
        }
        self.replace(entry, word, IDLE);
    }

    /// Returns the slot of the participant that is to have notification `number` of a dead one, and its entry. `None`: it was passed on
    /// before, or none waits that was there.
    fn successor_for(&self, number: u64) -> Option<(usize, u64)> {
        let mut oldest = None;
        for (slot, entry) in self.entries.iter().enumerate() {
            let Some((word, entry)) = self.read(entry) else { continue };
            match entry.state {
                PASSED if entry.number == number => return None,
                WAITING if entry.number < number => {
                    let this = (entry.number, slot, word);
                    oldest = oldest.map_or(Some(this), |oldest| Some(this.min(oldest)));
                }
                _ => {}
            }
        }
        oldest.map(|(_, slot, word)| (slot, word))
    }
}
