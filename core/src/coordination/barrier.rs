//! The barrier: participants wait until all parties of a generation have arrived; then all of them go on.
//!
//! State and entries:
//!
//! ```text
//! state    generation (31 bits) | tag (12) | value (13) | cause (6) | phase (2): OPEN, value = how many have arrived;
//!                                                       BREAKING or BROKEN, value = the slot at which it broke
//! entry    NONE; ARRIVED(g); MEMBER(g), it has left generation g and may come again; BREACHED(g); DIED(g)
//!
//! wait           entry = ARRIVED(g); state (g, OPEN, k) -> (g, OPEN, k + 1), of the last one -> (g + 1, OPEN, 0); wake all
//! break          state (g, OPEN, k) -> (g, BREAKING); every entry ARRIVED(g) -> BREACHED(g); state -> (g, BROKEN); wake all
//! reset          break, if any have arrived or died; every DIED(up to g) -> NONE; state (g, BROKEN) -> (g + 1, OPEN, 0)
//! reap           ARRIVED, MEMBER, BREACHED -> DIED(generation of the state by now)
//! ```
//!
//! A participant that was counted in g reads the state before its entry: BREACHED(g) comes before any state that is later than
//! (g, BREAKING), so that a later generation with the entry still ARRIVED(g) means that g was complete. Breaking is finished by
//! any participant that finds it begun, and a reset by any that arrives.

mod observed;
mod outcome;

pub use observed::{Party, Progress};
pub use outcome::{Arrival, Breach, Cause, Standing};

use super::entry::{Entry, Tag, in_use};
use crate::error::Result;
use crate::event::{Event, Happening, Recorder, in_generation};
use crate::sync::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use crate::wait::Platform;

const NONE: u64 = 0;
const ARRIVED: u64 = 1;
const MEMBER: u64 = 2;
const BREACHED: u64 = 3;
const DIED: u64 = 4;

const OPEN: u64 = 0;
const BREAKING: u64 = 1;
const BROKEN: u64 = 2;

const DEATH: u64 = 0;
const GIVEN_UP: u64 = 1;
const ABORT: u64 = 2;
const RESET: u64 = 3;

const CAUSE_AT: u32 = 2;
const VALUE_AT: u32 = 8;
const TAG_AT: u32 = 21;
const GENERATION_AT: u32 = 33;
const GENERATION_MASK: u64 = (1 << (64 - GENERATION_AT)) - 1;
const VALUE_MASK: u64 = (1 << (TAG_AT - VALUE_AT)) - 1;
const CAUSE_MASK: u64 = (1 << (VALUE_AT - CAUSE_AT)) - 1;

/// The words of a barrier.
#[derive(Clone, Copy)]
pub struct Barrier<'a> {
    /// Its generation, and how many have arrived or at whom it broke.
    pub state: &'a AtomicU64,
    /// Futex word: changes when a generation is complete, or broken.
    pub wake: &'a AtomicU32,
    /// Each slot's entry.
    pub entries: &'a [AtomicU64],
    /// One more than the highest slot in use.
    pub slots_in_use: &'a AtomicU32,
    /// Of the barrier's name.
    pub tag: Tag,
    /// How many must arrive.
    pub parties: u32,
    /// What is told of arrivals and breaches; `None`: nothing is.
    pub recorder: Option<&'a dyn Recorder>,
}

#[derive(Clone, Copy)]
struct State {
    generation: u64,
    value: u64,
    cause: u64,
    phase: u64,
}

impl State {
    fn breach(self) -> Breach {
        let cause = match self.cause {
            DEATH => Cause::Died,
            GIVEN_UP => Cause::GaveUp,
            ABORT => Cause::Aborted,
            _ => Cause::Reset,
        };
        Breach { cause, slot: self.value as usize }
    }
}

impl Barrier<'_> {
    /// Returns the state of a barrier of this name at which none has arrived.
    pub const fn new_state(tag: Tag) -> u64 {
        tag.bits() << TAG_AT
    }

    /// Returns the state, and its word; `None`: it is that of another name.
    fn read(&self) -> Option<(u64, State)> {
        // Acquire. Partner: the exchanges of the state: a participant that goes on sees what all the others did before they arrived.
        let word = self.state.load(Acquire);
        let state = State {
            generation: word >> GENERATION_AT,
            value: (word >> VALUE_AT) & VALUE_MASK,
            cause: (word >> CAUSE_AT) & CAUSE_MASK,
            phase: word & 3,
        };
        (Tag::of_bits(word >> TAG_AT) == self.tag).then_some((word, state))
    }

    fn word(&self, state: State) -> u64 {
        let State { generation, value, cause, phase } = state;
        (generation << GENERATION_AT)
            | (self.tag.bits() << TAG_AT)
            | (value << VALUE_AT)
            | (cause << CAUSE_AT)
            | phase
    }

    fn open(&self, generation: u64, arrived: u64) -> u64 {
        self.word(State { generation, value: arrived, cause: 0, phase: OPEN })
    }

    fn change(&self, old: u64, new: u64) -> bool {
        self.state.compare_exchange(old, new, AcqRel, Relaxed).is_ok()
    }

    fn entry(&self, number: u64, state: u64) -> u64 {
        Entry { number, tag: self.tag, state }.word()
    }

    /// Returns the parts of a slot's entry, if it is of this barrier.
    fn read_entry(&self, entry: &AtomicU64) -> Option<(u64, Entry)> {
        // Acquire. Partners: the release stores of entries.
        let word = entry.load(Acquire);
        let entry = Entry::of(word);
        (entry.state != NONE && entry.tag == self.tag).then_some((word, entry))
    }

    fn set_entry(&self, me: usize, number: u64, state: u64) {
        // Release. Partner: the acquire loads in `read_entry`.
        self.entries[me].store(self.entry(number, state), Release);
    }

    /// Tells the recorder what happened to the participant of `slot`.
    fn record(&self, event: Event, slot: usize, value: u64) {
        if let Some(recorder) = self.recorder {
            recorder.record(Happening { event, slot, shared: false, value });
        }
    }

    fn wake<P: Platform>(&self) {
        // Release. Partner: the acquire load in `sleep_until`.
        self.wake.fetch_add(1, Release);
        P::wake_all(self.wake);
    }

    /// Has `me` arrive.
    pub fn arrive<P: Platform>(&self, me: usize) -> Arrival {
        loop {
            let Some((word, state)) = self.read() else { return Arrival::Removed };
            if state.phase != OPEN && state.cause == RESET {
                // Another participant is about to open it anew, or has died before it did.
                self.finish_breaking::<P>(word, state);
                self.open_anew(word, state);
                continue;
            }
            if state.phase != OPEN {
                self.finish_breaking::<P>(word, state);
                // It may have said that it arrived, and was not counted.
                if self.is_in_wait(me) {
                    self.set_entry(me, state.generation, MEMBER);
                }
                return Arrival::Broken(state.breach());
            }
            // The former participant of the slot died as a party.
            if self.read_entry(&self.entries[me]).is_some_and(|(_, entry)| entry.state == DIED) {
                self.break_as::<P>(word, state, Cause::Died, me);
                continue;
            }
            let generation = state.generation;
            // Before it is counted: a death in between breaks the barrier without need, one between the other way round would go
            // unseen.
            self.set_entry(me, generation, ARRIVED);
            let is_last = state.value + 1 >= u64::from(self.parties);
            // One that arrived and died is counted: those that come are told of its death, and do not go on without it.
            if is_last && let Some(dead) = self.dead_party() {
                self.break_as::<P>(word, state, Cause::Died, dead);
                continue;
            }
            let next =
                if is_last { self.open(generation + 1, 0) } else { self.open(generation, state.value + 1) };
            if !self.change(word, next) {
                continue;
            }
            self.record(Event::Arrived, me, in_generation(generation, state.value + 1));
            if is_last {
                self.record(Event::Completed, me, in_generation(generation, state.value + 1));
                self.set_entry(me, generation, MEMBER);
                self.wake::<P>();
                return Arrival::Last;
            }
            return Arrival::Waits(generation);
        }
    }

    /// Returns where `me` stands, which has arrived in `generation`. Unless it waits on, its part in the generation is over.
    pub fn standing<P: Platform>(&self, me: usize, generation: u64) -> Standing {
        let Some((word, state)) = self.read() else { return Standing::Removed };
        // After the state.
        let breached = self.entries[me].load(Acquire) != self.entry(generation, ARRIVED);
        let of_this = state.generation == generation & GENERATION_MASK;
        let standing = match state.phase {
            OPEN if of_this && !breached => return Standing::Waits,
            // Broken, and reset by now: why is not known any more.
            OPEN if breached => Standing::Broken(Breach { cause: Cause::Reset, slot: me }),
            _ if breached || of_this => {
                self.finish_breaking::<P>(word, state);
                Standing::Broken(state.breach())
            }
            _ => Standing::Passed,
        };
        // Also where it broke: it is a party still, whose death would keep the others waiting after a reset.
        self.set_entry(me, generation, MEMBER);
        standing
    }

    /// Returns whether a participant that has arrived in `generation` may have to sleep on. If not, [`Barrier::standing`] says why.
    pub fn is_waiting(&self, generation: u64) -> bool {
        self.read().is_some_and(|(_, state)| state.phase == OPEN && state.generation == generation)
    }

    /// Breaks the barrier, unless it is broken.
    pub fn break_at<P: Platform>(&self, cause: Cause, slot: usize) {
        while let Some((word, state)) = self.read() {
            if state.phase != OPEN {
                return self.finish_breaking::<P>(word, state);
            }
            self.break_as::<P>(word, state, cause, slot);
        }
    }

    /// Breaks generation `generation`, unless it is over. Returns whether it was not.
    pub fn break_generation<P: Platform>(&self, generation: u64, cause: Cause, slot: usize) -> bool {
        while let Some((word, state)) = self.read() {
            if state.phase != OPEN || state.generation != generation {
                return false;
            }
            if self.break_as::<P>(word, state, cause, slot) {
                return true;
            }
        }
        false
    }

    fn break_as<P: Platform>(&self, word: u64, state: State, cause: Cause, slot: usize) -> bool {
        let cause = match cause {
            Cause::Died => DEATH,
            Cause::GaveUp => GIVEN_UP,
            Cause::Aborted => ABORT,
            Cause::Reset => RESET,
        };
        let breaking = State { value: slot as u64, cause, phase: BREAKING, ..state };
        let new = self.word(breaking);
        let is_mine = self.change(word, new);
        if is_mine {
            let event = match cause {
                DEATH => Some(Event::BrokenByDeath),
                GIVEN_UP => Some(Event::BrokenByGivingUp),
                ABORT => Some(Event::Aborted),
                _ => None,
            };
            if let Some(event) = event {
                self.record(event, slot, in_generation(state.generation, state.value));
            }
            self.finish_breaking::<P>(new, breaking);
        }
        is_mine
    }

    fn finish_breaking<P: Platform>(&self, word: u64, state: State) {
        if state.phase != BREAKING {
            return;
        }
        let [arrived, breached] = [ARRIVED, BREACHED].map(|entry| self.entry(state.generation, entry));
        for entry in self.entries {
            // Release. Partner: the acquire load in `standing`. Before the state goes on.
            _ = entry.compare_exchange(arrived, breached, Release, Relaxed);
        }
        if self.change(word, self.word(State { phase: BROKEN, ..state })) {
            self.wake::<P>();
        }
    }

    /// Opens the barrier anew; participants that wait are told that it broke. The deaths so far are forgotten, once the dead are reaped.
    /// `None`: it was removed.
    pub fn reset<P: Platform>(&self, me: usize) -> Option<()> {
        // The generation that this call has broken, or found broken.
        let mut broken = None;
        loop {
            let (word, state) = self.read()?;
            if broken.is_some_and(|generation| generation != state.generation) {
                // Another participant has opened it, and those that wait by now came after that.
                return Some(());
            }
            if state.phase != OPEN {
                broken = Some(state.generation);
                self.finish_breaking::<P>(word, state);
                self.open_anew(word, state);
            } else if state.value == 0 && self.dead_party().is_none() {
                return Some(());
            } else if self.break_as::<P>(word, state, Cause::Reset, me) {
                // Deaths are forgotten behind a break alone: one that comes later counts for those that have arrived by then.
                broken = Some(state.generation);
            }
        }
    }

    /// Opens the next generation of a barrier that is broken, unless another participant is faster.
    fn open_anew(&self, word: u64, state: State) {
        // Also from a phase that no participant writes.
        if state.phase != BREAKING {
            self.forget_deaths(state.generation);
            self.change(word, self.open(state.generation + 1, 0));
        }
    }

    /// Returns the slot of a party that is written down as dead.
    fn dead_party(&self) -> Option<usize> {
        let is_died =
            |entry: &AtomicU64| self.read_entry(entry).is_some_and(|(_, entry)| entry.state == DIED);
        // All of them, also those above the bound, which may have been lowered since the death.
        self.entries.iter().position(is_died)
    }

    /// Forgets the deaths up to `generation`, not those that a slow call would forget for participants that have arrived since.
    fn forget_deaths(&self, generation: u64) {
        for entry in self.entries {
            if let Some((word, Entry { state: DIED, number, .. })) = self.read_entry(entry)
                && generation.wrapping_sub(number) & GENERATION_MASK <= GENERATION_MASK / 2
            {
                _ = entry.compare_exchange(word, NONE, Relaxed, Relaxed);
            }
        }
    }

    /// Returns whether the barrier is broken, and how; `None`: it is not, is about to be open anew, or was removed.
    pub fn breach(&self) -> Option<Breach> {
        let (_, state) = self.read()?;
        (state.phase != OPEN && state.cause != RESET).then(|| state.breach())
    }

    /// Returns whether the participant of `slot` is in a wait.
    pub fn is_in_wait(&self, slot: usize) -> bool {
        self.read_entry(&self.entries[slot]).is_some_and(|(_, entry)| entry.state == ARRIVED)
    }

    /// Returns whether a participant that had `slot` is written down as dead.
    pub fn is_dead(&self, slot: usize) -> bool {
        self.read_entry(&self.entries[slot]).is_some_and(|(_, entry)| entry.state == DIED)
    }

    /// Returns whether the participant of `slot` waits, or has waited here and may come again.
    pub fn is_party(&self, slot: usize) -> bool {
        self.read_entry(&self.entries[slot]).is_some_and(|(_, entry)| entry.state != DIED)
    }

    /// Returns how many wait.
    pub fn arrived(&self) -> u32 {
        self.read().map_or(0, |(_, state)| if state.phase == OPEN { state.value as u32 } else { 0 })
    }

    /// Looks in a nap of `me`, which has arrived in `generation`, whether a party died, and breaks the barrier then. `reap_if_dead`
    /// checks whether a slot's participant is dead, reaps it then, and returns whether it did. Each looks at those behind it, up to
    /// the next that waits too: so there is one that looks at each.
    ///
    /// # Errors
    /// Those of `reap_if_dead`.
    pub fn look_after<P: Platform>(
        &self,
        me: usize,
        generation: u64,
        mut reap_if_dead: impl FnMut(usize) -> Result<bool>,
    ) -> Result<()> {
        let entries = in_use(self.entries, self.slots_in_use);
        let arrived = self.entry(generation, ARRIVED);
        for slot in (me + 1..entries.len()).chain(0..me.min(entries.len())) {
            let Some((word, entry)) = self.read_entry(&entries[slot]) else { continue };
            if entry.state != DIED {
                let is_dead = reap_if_dead(slot)?;
                if !is_dead && word == arrived {
                    break;
                }
            }
        }
        if let Some(slot) = self.dead_party() {
            self.break_generation::<P>(generation, Cause::Died, slot);
        }
        Ok(())
    }

    /// Writes down that the participant of `slot` died, if it was a party. With the slot's byte lock in hand, so that its death is
    /// proved; repeatable.
    pub fn reap(&self, slot: usize) {
        let own = &self.entries[slot];
        let Some((word, entry)) = self.read_entry(own) else {
            // Nothing, or of a removed barrier.
            return own.store(NONE, Release);
        };
        let dead = match (entry.state, self.read()) {
            (ARRIVED | MEMBER | BREACHED, Some((_, state))) => self.entry(state.generation, DIED),
            (DIED, _) => return,
            _ => NONE,
        };
        // A participant that breaks the barrier may be faster.
        if own.compare_exchange(word, dead, Release, Relaxed).is_err() {
            self.reap(slot);
        }
    }

    /// Has `me` be a party no longer: it leaves in good order. The death of the slot's former participant stays written down.
    pub fn leave(&self, me: usize) {
        let own = &self.entries[me];
        while let Some((word, entry)) = self.read_entry(own) {
            if entry.state == DIED || own.compare_exchange(word, NONE, Release, Relaxed).is_ok() {
                return;
            }
        }
    }
}
