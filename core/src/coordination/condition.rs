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
//! pass on                 for each ORPHAN(n): if another entry is PASSED(n) or ORPHAN(n), -> IDLE; else the lowest WAITING(t) with
//!                         t < n: -> PASSED(n), wake it; then ORPHAN(n) -> IDLE
//! ```
//!
//! So a notification that found a waiter reaches one that stays, exactly once, as long as there is one that was waiting by then: one
//! that came later has looked at the data since. It is consumed only when the waiter has the lock, since one that dies before has done
//! nothing about it. One participant passes on at a time (`passing`); what it leaves half-done when it dies is seen by the copy of the
//! number, which its new owner takes away last.

use super::entry::{Entry, SleeperCell, Tag, in_use};
use crate::error::Result;
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
    /// 0, or the slot of the participant that passes notifications on, plus 1.
    pub passing: &'a AtomicU32,
    /// Each slot's entry.
    pub entries: &'a [AtomicU64],
    /// Each slot's other words.
    pub cells: &'a [C],
    /// One more than the highest slot in use.
    pub slots_in_use: &'a AtomicU32,
    /// Of the condition's name.
    pub tag: Tag,
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

    fn draw(&self) -> u64 {
        self.sequence.fetch_add(1, AcqRel).wrapping_add(1)
    }

    /// Begins a wait of `me`, which holds the condition's lock and unlocks it next. `None`: the slot has the notification of
    /// a dead participant still, which another one is passing on at this moment. `reap_if_dead` checks whether a slot's participant
    /// is dead, reaps it then, and returns whether it did.
    ///
    /// # Errors
    /// Those of `reap_if_dead`.
    pub fn begin<P: Platform>(
        &self,
        me: usize,
        reap_if_dead: impl FnMut(usize) -> Result<bool>,
    ) -> Result<Option<Ticket>> {
        let own = &self.entries[me];
        if let Some((word, entry)) = self.read(own) {
            match entry.state {
                // Of a wait that its thread left by a jump, or by a panic.
                NOTIFIED | PASSED => _ = self.replace(own, word, self.word(entry.number, ORPHAN)),
                ORPHAN => {}
                _ => _ = self.replace(own, word, IDLE),
            }
            self.pass_on::<P>(me, reap_if_dead)?;
            if self.read(own).is_some_and(|(_, entry)| entry.state == ORPHAN) {
                return Ok(None);
            }
        }
        let ticket = Ticket(self.draw());
        own.store(self.word(ticket.0, WAITING), Release);
        Ok(Some(ticket))
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
        // Release. Partner: the acquire load in `pass_on`: one that sees it sees the orphan gone.
        own.store(IDLE, Release);
    }

    /// Ends a wait of `me`, which cannot take the lock: a notification that it got goes to another waiter. Errors as
    /// [`Condition::begin`].
    pub fn decline<P: Platform>(
        &self,
        me: usize,
        reap_if_dead: impl FnMut(usize) -> Result<bool>,
    ) -> Result<()> {
        let own = &self.entries[me];
        while let Some((word, entry)) = self.read(own) {
            match entry.state {
                NOTIFIED | PASSED => {
                    self.replace(own, word, self.word(entry.number, ORPHAN));
                    return self.pass_on::<P>(me, reap_if_dead);
                }
                // A notifier may be faster.
                WAITING | BROADCAST if !self.replace(own, word, IDLE) => {}
                _ => break,
            }
        }
        Ok(())
    }

    /// Notifies the oldest waiter, if there is one. Returns how many were notified. Errors as [`Condition::begin`]; the waiter was
    /// notified.
    pub fn notify_one<P: Platform>(
        &self,
        me: usize,
        mut reap_if_dead: impl FnMut(usize) -> Result<bool>,
    ) -> Result<u32> {
        let number = self.draw();
        let Some(slot) = self.give_to_oldest(number, NOTIFIED) else { return Ok(0) };
        if !self.wake::<P>(slot) && reap_if_dead(slot)? {
            self.pass_on::<P>(me, reap_if_dead)?;
        }
        Ok(1)
    }

    /// Notifies every participant that waits by now, the oldest first. Returns how many.
    pub fn notify_all<P: Platform>(&self) -> u32 {
        let number = self.draw();
        let mut notified = 0;
        while let Some(slot) = self.give_to_oldest(number, BROADCAST) {
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
    /// passes their notifications on. Errors as [`Condition::begin`].
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
        if any { self.pass_on::<P>(me, reap_if_dead) } else { Ok(()) }
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
        let me = slot as u32 + 1;
        if self.passing.load(Relaxed) == me {
            // Release. Partner: the acquire exchange in `pass_on`.
            self.passing.store(0, Release);
        }
    }

    /// Passes on the notifications of the dead, unless another living participant is at it. Errors as [`Condition::begin`].
    fn pass_on<P: Platform>(
        &self,
        me: usize,
        mut reap_if_dead: impl FnMut(usize) -> Result<bool>,
    ) -> Result<()> {
        let mine = me as u32 + 1;
        // Acquire. Partner: the release store at the end, and the one in `reap`.
        while let Err(other) = self.passing.compare_exchange(0, mine, Acquire, Relaxed) {
            // The reaper of a dead one lets go of it. Of an impossible number there is none to be reaped.
            let slot = other as usize - 1;
            if other == mine || slot >= self.entries.len() || !reap_if_dead(slot)? {
                return Ok(());
            }
        }
        for (slot, entry) in self.entries.iter().enumerate() {
            let word = entry.load(Acquire);
            let orphan = Entry::of(word);
            if orphan.state != ORPHAN {
                continue;
            }
            if orphan.tag == self.tag && !self.has_copy(slot, orphan.number) {
                // A copy that is not found may have been consumed, and this one been cleared before it.
                if entry.load(Acquire) != word {
                    continue;
                }
                if let Some(next) = self.give_to_oldest(orphan.number, PASSED) {
                    self.wake::<P>(next);
                }
            }
            self.replace(entry, word, IDLE);
        }
        self.passing.store(0, Release);
        Ok(())
    }

    /// Returns whether another slot than `slot` has this notification of a dead one.
    fn has_copy(&self, slot: usize, number: u64) -> bool {
        let [passed, orphan] = [PASSED, ORPHAN].map(|state| self.word(number, state));
        let has_it = |entry: &AtomicU64| {
            // Acquire. Partner: the release store in `consume`.
            let word = entry.load(Acquire);
            word == passed || word == orphan
        };
        self.entries.iter().enumerate().any(|(other, entry)| other != slot && has_it(entry))
    }
}
