//! Lamport's bakery (L. Lamport, "A New Solution of Dijkstra's Concurrent Programming Problem", CACM 17(8), 1974).
//!
//! ```text
//! lock:   choosing[i] = 1; FENCE A; number[i] = 1 + max number[*]; choosing[i] = 0; FENCE B
//!         for each j: wait until not choosing[j]; wait until number[j] = 0 or (number[i],i) < (number[j],j)
//! unlock: number[i] = 0
//! ```
//! First come first served: whoever finishes its doorway before another begins its own goes first.
//!
//! The protocol is written over [`Registers`], which say what `choosing` and `number` are made of. [`Line`] packs
//! both into one 64-bit word, since every machine we run on loads and stores 64 bits at once: one cache line for
//! eight slots instead of two, and `choosing` ends in the very store that publishes the number. On registers without
//! that property the two must stay apart, and the paper's proof holds for those.

use super::{
    Blocker, Corrupt, Place, Protocol,
    claim::{Always, Conflicts},
};
use crate::mutants::{self, Mutant};
use crate::sync::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    full_fence,
};
use crate::trace::{self, Step};

/// A number of 2^62 or more is not one that anybody took: at 10^9 entries a second that takes 146 years.
pub const NUMBER_LIMIT: u64 = 1 << 62;

/// What the bakery is written over: for each slot, `choosing` and `number`, written by that slot alone.
pub trait Registers {
    /// One more than the highest slot that may be taking part. Read anew at each scan, after the fence before it.
    fn bound(&self) -> usize;
    /// Looks at every slot below the bound, or leaves some out whose registers read `Idle` just now, as by
    /// [`Registers::read`]; until `look` says no. Has it never?
    fn all(&self, look: impl FnMut(usize) -> bool) -> bool {
        (0..self.bound()).all(look)
    }
    /// `choosing[me] = 1`.
    fn set_choosing(&self, me: usize);
    /// `number[me] = number; choosing[me] = 0`, in that order, with release order.
    fn set_number(&self, me: usize, number: u64);
    /// `number[me] = 0; choosing[me] = 0`, with release order.
    fn clear(&self, me: usize);
    /// `choosing[slot]`, then `number[slot]`, with acquire order.
    fn read(&self, slot: usize) -> Place;
    /// The same as one word, to be compared for equality only.
    fn read_word(&self, slot: usize) -> u64;
}

/// The bakery over some registers, among claims that conflict always or now and then.
#[derive(Clone, Copy)]
pub struct Bakery<R, C = Always>(pub R, pub C);

impl<R: Registers, C: Conflicts> Bakery<R, C> {
    /// Returns whether another slot that `counts` stands in the queue, or is on the way into it.
    pub fn is_another_queued(&self, me: usize, counts: impl Fn(usize) -> bool) -> bool {
        !self.0.all(|slot| slot == me || self.0.read(slot) == Place::Idle || !counts(slot))
    }
}

impl<R: Registers, C: Conflicts> Protocol for Bakery<R, C> {
    #[inline]
    fn doorway(&self, me: usize) -> Result<u64, Corrupt> {
        self.0.set_choosing(me);
        trace::at(Step::Doorway);
        // FENCE A. Partner: the other's fence B. If their fence B comes first, the scan below sees their number and
        // mine gets larger; if ours comes first, their wait sees that I am choosing and waits for my number.
        mutants::full_fence_unless(Mutant::NoFenceAfterChoosing);
        let (mut largest, mut corrupt) = (0, None);
        self.0.all(|slot| {
            match self.0.read(slot) {
                Place::Numbered(number) => largest = largest.max(number),
                Place::Corrupt(value) => corrupt = Some(Corrupt { slot, value }),
                Place::Idle | Place::Choosing => {}
            }
            corrupt.is_none()
        });
        if let Some(corrupt) = corrupt {
            self.0.clear(me);
            return Err(corrupt);
        }
        let number = largest + 1;
        self.0.set_number(me, number);
        // FENCE B. Partner: the other's fence A, as above.
        mutants::full_fence_unless(Mutant::NoFenceBeforeWait);
        Ok(number)
    }

    #[inline]
    fn is_next(&self, me: usize, number: u64) -> bool {
        self.0.all(|slot| match self.0.read(slot) {
            Place::Idle => true,
            Place::Numbered(theirs) => (theirs, slot) >= (number, me) || !self.1.conflicts(me, slot),
            Place::Choosing | Place::Corrupt(_) => false,
        })
    }

    fn blocker(&self, me: usize, number: u64) -> Result<Option<Blocker>, Corrupt> {
        // The latest of those before me: when it leaves, everybody before it has left, except those who were choosing
        // a moment ago.
        let mut latest = None;
        let mut chooser = None;
        let mut ahead = 0;
        for slot in (0..self.0.bound()).filter(|slot| *slot != me) {
            match self.0.read(slot) {
                Place::Idle => {}
                Place::Choosing => chooser = Some(slot),
                Place::Numbered(theirs) => {
                    if (theirs, slot) < (number, me) && self.1.conflicts(me, slot) {
                        ahead += 1;
                        latest = latest.max(Some((theirs, slot)));
                    }
                }
                Place::Corrupt(value) => return Err(Corrupt { slot, value }),
            }
        }
        // Somebody who leaves and returns between this scan and the read below only makes `still_blocks` say no
        // a little later, never wrongly yes: its word differs from then on.
        Ok(match (latest, chooser) {
            (Some((theirs, slot)), _) => {
                Some(Blocker { slot, seen: word_of(Place::Numbered(theirs)), ahead })
            }
            (None, Some(slot)) => Some(Blocker { slot, seen: word_of(Place::Choosing), ahead: 1 }),
            (None, None) => None,
        })
    }

    #[inline]
    fn still_blocks(&self, blocker: &Blocker) -> bool {
        self.0.read_word(blocker.slot) == blocker.seen
    }

    fn restore(&self, me: usize, number: u64) {
        if self.0.read(me) != Place::Numbered(number) {
            self.0.set_number(me, number);
            full_fence();
        }
    }

    #[inline]
    fn leave(&self, me: usize) {
        self.0.clear(me);
    }

    fn withdraw(&self, me: usize) {
        self.0.clear(me);
    }

    fn forget(&self, dead: usize) {
        self.0.clear(dead);
    }

    fn place(&self, slot: usize) -> Place {
        self.0.read(slot)
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

/// `choosing` and `number` of every slot in one word each, side by side.
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
        // Relaxed: a newcomer raises it by a read-modify-write before its own fence A, so to read the old value is to
        // read that newcomer's register as idle, and fences A and B order that read like any other.
        (self.bound.load(Relaxed) as usize).min(self.words.len())
    }

    #[inline]
    fn all(&self, mut look: impl FnMut(usize) -> bool) -> bool {
        let bound = self.bound();
        if bound <= FEW {
            return (0..bound).all(look);
        }
        // A cache line at a time: of many slots in use few stand in the line.
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
        // Release: whoever reads this number has everything from before it, a former critical section of mine too.
        self.words[me].store(word_of(Place::Numbered(number)), Release);
    }

    #[inline]
    fn clear(&self, me: usize) {
        // Release. Partner: the acquire load in `read` of whoever enters after me.
        self.words[me].store(IDLE, mutants::release_unless(Mutant::RelaxedLeave));
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
mod tests {
    use super::*;

    fn line(words: &[AtomicU64], bound: &AtomicU32) -> Bakery<Line<'static>> {
        // SAFETY: not needed; leaked for the test.
        let words: &'static [AtomicU64] = Box::leak(
            words.iter().map(|w| AtomicU64::new(w.load(Relaxed))).collect::<Vec<_>>().into_boxed_slice(),
        );
        let bound: &'static AtomicU32 = Box::leak(Box::new(AtomicU32::new(bound.load(Relaxed))));
        Bakery(Line { words, bound }, Always)
    }

    fn empty(slots: usize) -> Bakery<Line<'static>> {
        let words: Vec<_> = (0..slots).map(|_| AtomicU64::new(0)).collect();
        line(&words, &AtomicU32::new(slots as u32))
    }

    #[test]
    fn served_in_order_of_arrival_whatever_the_slots() {
        serves_in_order(4, &[2, 0, 3, 1]);
        serves_in_order(FEW + 1, &[FEW, 2, 0, 3]);
        serves_in_order(5 * FEW, &[5 * FEW - 1, 7, 8, 2 * FEW, 0, 3 * FEW + 5]);
    }

    fn serves_in_order(slots: usize, order: &[usize]) {
        let bakery = empty(slots);
        let tickets: Vec<u64> = order.iter().map(|slot| bakery.doorway(*slot).unwrap()).collect();
        for (turn, (slot, ticket)) in order.iter().zip(&tickets).enumerate() {
            for (later, later_ticket) in order.iter().zip(&tickets).skip(turn + 1) {
                let blocker = bakery.blocker(*later, *later_ticket).unwrap().unwrap();
                let before = order.iter().position(|s| s == later).unwrap() - 1;
                assert_eq!((blocker.slot, blocker.ahead), (order[before], before - turn + 1));
                assert!(!bakery.is_next(*later, *later_ticket));
            }
            assert!(bakery.is_next(*slot, *ticket));
            assert_eq!(bakery.blocker(*slot, *ticket), Ok(None));
            bakery.leave(*slot);
        }
    }

    #[test]
    fn an_impossible_number_is_named_and_nothing_is_left_behind() {
        let bakery = empty(3);
        bakery.0.words[2].store(NUMBER_LIMIT + 1, Relaxed);
        assert_eq!(bakery.doorway(0), Err(Corrupt { slot: 2, value: NUMBER_LIMIT + 1 }));
        assert_eq!(bakery.place(0), Place::Idle);
        bakery.0.words[2].store(NUMBER_LIMIT, Relaxed);
        assert_eq!(bakery.doorway(0), Ok(NUMBER_LIMIT));
        assert_eq!(bakery.place(0), Place::Corrupt(NUMBER_LIMIT + 1), "the last number is taken only once");
    }

    #[test]
    fn slots_beyond_the_bound_are_not_looked_at() {
        let bakery = empty(4);
        bakery.0.words[3].store(9, Relaxed);
        bakery.0.bound.store(2, Relaxed);
        assert_eq!(bakery.doorway(0), Ok(1));
        assert_eq!(bakery.blocker(0, 1), Ok(None));
        bakery.0.bound.store(u32::MAX, Relaxed);
        assert_eq!(bakery.doorway(0), Ok(9));
    }
}
