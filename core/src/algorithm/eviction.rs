//! Eviction: passing over a waiter that does not come.
//!
//! A place in the bakery's queue is a wish. It becomes a right by an *entry step*, which can be refused: that way a
//! waiter that is stopped holds up others only from that step on, until it is outside again. (Time-published queue
//! locks pass over waiters without a processor likewise: He, Scherer, Scott, HiPC 2005.)
//!
//! ```text
//! doorway      doorway[i] += 1, before choosing[i] = 1
//! entry step   from the head: held[i] = TRYING; BARRIER; evicted[i] == doorway[i]? then held[i] = 0, and queue again
//! evict j      d = doorway[j]; evicted[j] = max(evicted[j], d), as one read-modify-write; HEAVY BARRIER
//!              held[j] == 0? then j's present doorway is passed over. Else it is in, or on the way in
//! ```
//! The argument is that of the bias ([`super::bias`]): if j's store comes first, the evicting participant sees
//! `held[j] != 0`; if theirs does, j sees that it was evicted. Therefore:
//!
//! - A participant that passes over j does its own barrier and its own look. That another participant evicted j says
//!   nothing of j's `held`.
//! - `evicted[j]` never falls. With a plain store, a late evicting participant would take a later eviction back, on
//!   which a third participant relies.
//! - It names a doorway and not a bakery number: those begin again at 1, and j would lose a place that it has just taken.
//! - One look at each slot is enough: a doorway that j begins after the waiter's number was published draws a larger
//!   number.
//! - What else only the queue head may do (writing the bias word) it does in an entry step.
//!
//! `spec/biased_tso.pml` goes through every execution, each of these rules broken as well.

use super::{light_barrier::LightBarrier, ownership::TRYING};
use crate::sync::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};

/// Most slots that a lock may have.
pub const MOST_SLOTS: usize = 4096;

/// One slot's words for it, as its participant looks at them: where they lie in its cell, or anywhere.
pub trait EvictionWords: Copy {
    /// Returns whether the slot's present doorway lost its place: whether `evicted` is `doorway`. For observers it may be out of date by
    /// the time it is read. Relaxed: nothing else is read by it.
    fn is_evicted(&self) -> bool;

    /// The entry step: no participant passes over the slot any more, until `held` is 0 again. `false`: it lost its
    /// place, and nothing was done.
    #[inline(always)]
    fn publish_trying(&self, held: &AtomicU64, light: impl LightBarrier) -> bool {
        held.store(TRYING, Relaxed);
        // Partner: the barrier between the two halves of `evict`. If theirs comes first, we see that we lost our place; if
        // ours does, they see that we enter.
        light.pass();
        if !self.is_evicted() {
            return true;
        }
        Eviction::step_back(held);
        false
    }
}

/// One slot's words for it.
#[derive(Clone, Copy)]
pub struct Eviction<'a> {
    /// The number of its doorway. Written by the slot's participant.
    pub doorway: &'a AtomicU64,
    /// The latest of its doorways that others pass over.
    pub evicted: &'a AtomicU64,
}

impl EvictionWords for Eviction<'_> {
    #[inline(always)]
    fn is_evicted(&self) -> bool {
        Eviction::is_evicted(self)
    }
}

impl Eviction<'_> {
    /// Begins the slot's next doorway, before its register says so.
    #[inline]
    pub fn begin_doorway(&self) {
        // Release. Partner: the acquire load in `evict`: a participant that passes over the new doorway has what came
        // before it. That it is seen by a participant that sees us choose, where it matters, is the work of fences A
        // and B.
        self.doorway.store(self.doorway.load(Relaxed).wrapping_add(1), Release);
    }

    /// Takes an entry step back: what only the queue head may do is done, and it goes on waiting.
    #[inline]
    pub fn step_back(held: &AtomicU64) {
        // Release. Partner: the acquire load in `is_outside`: a participant that passes over us has what we did.
        held.store(0, Release);
    }

    /// Tells the slot that its present doorway lost its place. Returns which it is; `None`: that cannot be told. The heavy
    /// barrier comes next, then [`Eviction::is_outside`].
    #[inline]
    pub fn evict(&self) -> Option<u64> {
        // Acquire. Partner: the release store in `begin`.
        let doorway = self.doorway.load(Acquire);
        // It matters that it never falls, not what it orders. Evicting participants alone write it, so what is larger
        // than any doorway is rubbish, or the slot has gone on.
        let before = self.evicted.fetch_max(doorway, SeqCst);
        (before <= doorway).then_some(doorway)
    }

    /// Returns whether that doorway is passed over, after the barrier: its participant has not entered, and cannot.
    #[inline]
    pub fn is_outside(&self, held: &AtomicU64) -> bool {
        // Acquire. Partner: the release stores of 0.
        held.load(Acquire) == 0
    }

    /// See [`EvictionWords::is_evicted`].
    #[inline]
    pub fn is_evicted(&self) -> bool {
        self.evicted.load(Relaxed) == self.doorway.load(Relaxed)
    }

    /// Makes the words such that they can be used, whatever wrote over them. With the slot's byte lock in hand.
    #[inline]
    pub fn mend(&self) {
        let doorway = self.doorway.load(Relaxed);
        if self.evicted.load(Relaxed) > doorway {
            self.evicted.store(doorway, Relaxed);
        }
    }
}

/// The slots that a waiter has passed over since its number was published.
#[derive(Debug)]
pub struct Skipped([u64; MOST_SLOTS / 64]);

impl Default for Skipped {
    fn default() -> Self {
        Self::NONE
    }
}

impl Skipped {
    /// None.
    pub const NONE: Self = Self([0; MOST_SLOTS / 64]);

    /// One more.
    #[inline]
    pub fn insert(&mut self, slot: usize) {
        self.0[slot / 64] |= 1 << (slot % 64);
    }

    /// All of `others` more.
    #[inline]
    pub fn add(&mut self, others: &Self) {
        self.0.iter_mut().zip(others.0).for_each(|(words, more)| *words |= more);
    }

    /// Returns whether `slot` is one of them.
    #[inline]
    pub fn has(&self, slot: usize) -> bool {
        self.0[slot / 64] & (1 << (slot % 64)) != 0
    }
}
