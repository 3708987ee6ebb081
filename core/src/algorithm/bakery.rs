//! Lamport's bakery (L. Lamport, "A New Solution of Dijkstra's Concurrent Programming Problem", CACM 17(8), 1974).
//!
//! ```text
//! lock:   choosing[i] = 1; FENCE A; number[i] = 1 + max number[*]; choosing[i] = 0; FENCE B
//!         repeat
//!             look once at each j != i: choosing[j], then number[j]
//!             blocker = of those with number[j] != 0 and (number[j], j) < (number[i], i) the one with the largest pair;
//!                       if there is none, a slot that is choosing
//!             if there is no blocker: in
//!             wait until the blocker's registers differ from what was seen
//! unlock: number[i] = 0
//! ```
//! The paper waits at each j in turn; `docs/algorithms.md` says why one look that finds no slot ahead is the same.
//! First come first served: a participant that finishes its doorway before another begins its own goes first.
//!
//! The protocol is written over [`Registers`], which say what `choosing` and `number` are made of. `TwoRegisters` has
//! a word for each, as the paper does. [`Line`] packs both into one word of 64 bits, and is what the lock file has: one
//! cache line for eight slots instead of two lines, and `choosing` ends in the very store that publishes the number. A
//! packed word asks more of the memory than the paper does: a special value of the number in the place of `choosing` is
//! right only if a word is stored and loaded as a whole (an atomic operation, though no read-modify-write). Every machine
//! that turnlock runs on does that with an aligned word of 64 bits.

#[cfg(any(test, loom, shuttle))]
mod two_registers;

#[cfg(any(test, loom, shuttle))]
pub use two_registers::TwoRegisters;

use super::{
    Blocker, Corrupt, Place, Protocol,
    claim::{Always, Claims},
};
use crate::mutants::{self, Mutant};
use crate::sync::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    full_fence,
};
use crate::trace::{self, Step};

/// A number of 2^62 or more is not one that a participant ever took: at 10^9 entries a second that takes 146 years.
pub const NUMBER_LIMIT: u64 = 1 << 62;

/// What the bakery is written over: for each slot, `choosing` and `number`, written by that slot alone.
pub trait Registers {
    /// One more than the highest slot that may be taking part. Read anew at each scan, after the fence before it.
    fn bound(&self) -> usize;
    /// Looks at every slot below the bound until `look` says no; it may leave out some whose registers read `Idle` just
    /// now, as by [`Registers::read`]. Returns whether `look` never said no.
    fn all(&self, look: impl FnMut(usize) -> bool) -> bool {
        (0..self.bound()).all(look)
    }
    /// `choosing[me] = 1`.
    fn set_choosing(&self, me: usize);
    /// `number[me] = number; choosing[me] = 0`, in that order, with release order.
    fn set_number(&self, me: usize, number: u64);
    /// `number[me] = 0; choosing[me] = 0`, with release order.
    fn clear(&self, me: usize);
    /// `number[slot] = 0` if it is `number`, as one compare-exchange with release order: of a place that its participant
    /// retained and others ended ([`super::reservation`]).
    fn end(&self, slot: usize, number: u64);
    /// `choosing[slot]`, then `number[slot]`, with acquire order.
    fn read(&self, slot: usize) -> Place;
    /// The same as one word, to be compared for equality only.
    fn read_word(&self, slot: usize) -> u64;
}

/// The bakery over some registers, among claims that conflict always or now and then ([`super::claim`]).
#[derive(Clone, Copy)]
pub struct Bakery<R, C = Always> {
    /// Each slot's number, or that it is choosing one.
    pub registers: R,
    /// What each slot wants, by which two conflict or not.
    pub claims: C,
}

impl<R: Registers, C: Claims> Bakery<R, C> {
    /// Returns whether another slot that `counts` stands in the queue, or is on the way into it.
    pub fn is_another_queued(&self, me: usize, counts: impl Fn(usize) -> bool) -> bool {
        !self.registers.all(|slot| slot == me || self.registers.read(slot) == Place::Idle || !counts(slot))
    }
}

impl<R: Registers, C: Claims> Protocol for Bakery<R, C> {
    #[inline]
    fn doorway(&self, me: usize) -> Result<u64, Corrupt> {
        self.registers.set_choosing(me);
        trace::at(Step::Doorway);
        // FENCE A. Partner: the other's fence B. If their fence B comes first, the scan below sees their number and
        // mine gets larger; if ours comes first, their wait sees that I am choosing and waits for my number.
        mutants::full_fence_unless(Mutant::NoFenceAfterChoosing);
        let (mut largest, mut corrupt) = (0, None);
        self.registers.all(|slot| {
            match self.registers.read(slot) {
                Place::Numbered(number) => largest = largest.max(number),
                Place::Corrupt(value) => corrupt = Some(Corrupt { slot, value }),
                Place::Idle | Place::Choosing => {}
            }
            corrupt.is_none()
        });
        if let Some(corrupt) = corrupt {
            self.registers.clear(me);
            return Err(corrupt);
        }
        let number = largest + 1;
        self.registers.set_number(me, number);
        // FENCE B. Partner: the other's fence A, as above.
        mutants::full_fence_unless(Mutant::NoFenceBeforeWait);
        Ok(number)
    }

    #[inline]
    fn is_next(&self, me: usize, number: u64) -> bool {
        let mine = self.claims.read(me);
        let (room, mut taken) = (self.claims.capacity(mine), 0);
        self.registers.all(|slot| match self.registers.read(slot) {
            Place::Idle => true,
            Place::Numbered(theirs) if (theirs, slot) >= (number, me) => true,
            Place::Numbered(_) => {
                taken += self.claims.cost(mine, slot);
                taken <= room
            }
            Place::Choosing | Place::Corrupt(_) => false,
        })
    }

    fn blocker(
        &self,
        me: usize,
        number: u64,
        passes: impl Fn(usize) -> bool,
    ) -> Result<Option<Blocker>, Corrupt> {
        // The latest of the slots before me: when it leaves, every slot before it has left, except those that were
        // choosing a moment ago.
        let mut latest = None;
        let mut chooser = None;
        let mut ahead = 0;
        let mine = self.claims.read(me);
        let (room, mut taken) = (self.claims.capacity(mine), 0);
        for slot in (0..self.registers.bound()).filter(|slot| *slot != me) {
            match self.registers.read(slot) {
                Place::Idle => {}
                Place::Choosing | Place::Numbered(_) if passes(slot) => {}
                Place::Choosing => chooser = Some(slot),
                Place::Numbered(theirs) if (theirs, slot) < (number, me) => {
                    let takes = self.claims.cost(mine, slot);
                    if takes > 0 {
                        taken += takes;
                        ahead += 1;
                        latest = latest.max(Some((theirs, slot)));
                    }
                }
                Place::Numbered(_) => {}
                Place::Corrupt(value) => return Err(Corrupt { slot, value }),
            }
        }
        // The slots before me leave me enough room.
        let latest = latest.filter(|_| taken > room);
        // A participant that leaves and returns between this scan and the read below only makes `still_blocks` say no
        // a little later, never wrongly yes: its word differs from then on.
        Ok(match (latest, chooser) {
            (Some((theirs, slot)), _) => {
                Some(Blocker { slot, seen: word_of(Place::Numbered(theirs)), ahead })
            }
            (None, Some(slot)) => Some(Blocker { slot, seen: word_of(Place::Choosing), ahead: 1 }),
            (None, None) => None,
        })
    }

    fn each_before(&self, me: usize, number: u64, mut look: impl FnMut(usize, Place)) {
        let mine = self.claims.read(me);
        for slot in (0..self.registers.bound()).filter(|slot| *slot != me) {
            let place = self.registers.read(slot);
            let is_before = match place {
                Place::Choosing => true,
                Place::Numbered(theirs) => (theirs, slot) < (number, me) && self.claims.cost(mine, slot) > 0,
                Place::Idle | Place::Corrupt(_) => false,
            };
            if is_before {
                look(slot, place);
            }
        }
    }

    #[inline]
    fn still_blocks(&self, blocker: &Blocker) -> bool {
        self.registers.read_word(blocker.slot) == blocker.seen
    }

    fn restore(&self, me: usize, number: u64) {
        if self.registers.read(me) != Place::Numbered(number) {
            self.registers.set_number(me, number);
            full_fence();
        }
    }

    #[inline]
    fn leave(&self, me: usize) {
        self.registers.clear(me);
    }

    fn withdraw(&self, me: usize) {
        self.registers.clear(me);
    }

    fn forget(&self, dead: usize) {
        self.registers.clear(dead);
    }

    fn place(&self, slot: usize) -> Place {
        self.registers.read(slot)
    }
}

/// Of so many slots in use each is looked at.
const FEW: usize = 16;

// The packed word: 0 = idle, 1 = choosing, n + 1 = number n.
const IDLE: u64 = 0;
const CHOOSING: u64 = 1;

fn word_of(place: Place) -> u64 {
    match place {
        Place::Idle => IDLE,
        Place::Choosing => CHOOSING,
        Place::Numbered(number) => number + 1,
        Place::Corrupt(word) => word,
    }
}

fn place_of(word: u64) -> Place {
    match word {
        IDLE => Place::Idle,
        CHOOSING => Place::Choosing,
        word if word <= NUMBER_LIMIT => Place::Numbered(word - 1),
        word => Place::Corrupt(word),
    }
}

/// How many slots are to be scanned, of `slots`: the register `bound`, as far as it can be.
#[inline]
fn bound_of(bound: &AtomicU32, slots: usize) -> usize {
    // Relaxed: a newcomer raises it by a read-modify-write before its own fence A, so to read the old value is to
    // read that newcomer's registers as idle, and fences A and B order that read like any other.
    (bound.load(Relaxed) as usize).min(slots)
}

/// `choosing` and `number` of every slot packed into one word, side by side.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    /// One word for each slot.
    pub words: &'a [AtomicU64],
    /// One more than the highest slot in use.
    pub bound: &'a AtomicU32,
}

impl Registers for Line<'_> {
    #[inline]
    fn bound(&self) -> usize {
        bound_of(self.bound, self.words.len())
    }

    #[inline]
    fn all(&self, mut look: impl FnMut(usize) -> bool) -> bool {
        let bound = self.bound();
        if bound <= FEW {
            return (0..bound).all(look);
        }
        // A cache line at a time: of many slots in use few stand in the queue.
        self.words[..bound].chunks(8).enumerate().all(|(line, words)| {
            let any = words.iter().fold(IDLE, |any, word| any | word.load(Acquire));
            any == IDLE || (line * 8..line * 8 + words.len()).all(&mut look)
        })
    }

    #[inline]
    fn set_choosing(&self, me: usize) {
        self.words[me].store(CHOOSING, Relaxed);
    }

    #[inline]
    fn set_number(&self, me: usize, number: u64) {
        // Release. Partner: the acquire load in `read_word` of a waiter whose number is smaller, and which may enter by
        // this one: it has everything from before it, a former critical section of mine too. In the doorway fence A
        // does as much.
        self.words[me].store(word_of(Place::Numbered(number)), Release);
    }

    #[inline]
    fn clear(&self, me: usize) {
        // Release. Partner: the acquire load in `read` of the next slot to enter.
        self.words[me].store(IDLE, mutants::release_unless(Mutant::RelaxedLeave));
    }

    fn end(&self, slot: usize, number: u64) {
        // Release. Partner: the acquire load in `read`: a participant that enters after us has the sections of the one
        // whose place it was, as we have by its `held`. That it is another number by now is for its participant to
        // know.
        let _ = self.words[slot].compare_exchange(word_of(Place::Numbered(number)), IDLE, Release, Relaxed);
    }

    #[inline]
    fn read(&self, slot: usize) -> Place {
        place_of(self.read_word(slot))
    }

    #[inline]
    fn read_word(&self, slot: usize) -> u64 {
        // Acquire. Partner: the release store in `clear` and `set_number` of the slot's owner.
        self.words[slot].load(Acquire)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
