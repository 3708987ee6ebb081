//! The bakery's registers as the paper has them: `choosing` and `number` of a slot are two words.
//!
//! The lock file packs both into one word ([`Line`](super::Line)), which takes a memory that loads and stores such a
//! word as a whole. This form needs less of the memory (in the paper, not even that a read which overlaps a write
//! returns the old value or the new one), and costs a second load for each slot looked at and a second store in the
//! doorway. The full fences A and B of the doorway are enough for it too; beyond them it needs two orders that one word
//! has by itself:
//!
//! - the doorway's stores: `number[i]` before `choosing[i] = 0`;
//! - the loads of another slot: `choosing[j]` before `number[j]`.
//!
//! A release store and an acquire load of `choosing` keep them. Without either, a waiter finds that slot `i` has done
//! choosing, and misses its number. The loom suite searches this form as well, and catches the loss of each.

use super::{CHOOSING, IDLE, Place, Registers, bound_of, place_of};
use crate::mutants::{self, Mutant};
use crate::sync::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// `choosing` and `number` of every slot in a word each. Each word is written by the owner of its slot only.
#[derive(Clone, Copy)]
pub struct TwoRegisters<'a> {
    /// For each slot: 0, or anything else while it is in its doorway.
    pub choosing: &'a [AtomicU64],
    /// For each slot: 0, or its number.
    pub number: &'a [AtomicU64],
    /// One more than the highest slot in use.
    pub bound: &'a AtomicU32,
}

impl Registers for TwoRegisters<'_> {
    fn bound(&self) -> usize {
        bound_of(self.bound, self.number.len())
    }

    fn set_choosing(&self, me: usize) {
        // Relaxed: fence A comes next, and a participant that reads the 1 only waits.
        self.choosing[me].store(1, Relaxed);
    }

    fn set_number(&self, me: usize, number: u64) {
        // Release. Partner: the acquire load of `number` in `read_word` of a waiter whose number is smaller, and which
        // may enter by this one: it has everything from before it, a former critical section of mine too. In the
        // doorway fence A does as much.
        self.number[me].store(number, Release);
        // Release. Partner: the acquire load of `choosing` in `read_word`. If ours comes first, the other reads this
        // number next, or a later value; if theirs does, they read that I am choosing, or a value from before my
        // `choosing = 1`, and then my scan of the doorway has seen their number (fences A and B).
        self.choosing[me].store(0, Release);
    }

    fn clear(&self, me: usize) {
        // Release. Partner: the acquire load of `number` in `read_word` of the slot that enters after me.
        self.number[me].store(0, mutants::release_unless(Mutant::RelaxedLeave));
        // A leaver is not choosing any more. This is for a participant that gives up in the doorway, or died there.
        // Release, so that a participant that reads this 0 does not read a number from before the line above.
        self.choosing[me].store(0, Release);
    }

    fn end(&self, slot: usize, number: u64) {
        // Release, as in `Line`.
        let _ = self.number[slot].compare_exchange(number, 0, Release, Relaxed);
    }

    fn read(&self, slot: usize) -> Place {
        place_of(self.read_word(slot))
    }

    /// The two, as they would stand in one word. A number that is there while its owner is still choosing is left out:
    /// the owner's fence B comes later, so the owner waits for a participant whose doorway missed the number.
    fn read_word(&self, slot: usize) -> u64 {
        // Acquire. Partner: the release stores of `choosing` in `set_number` and `clear`; it keeps the load below after
        // this one.
        if self.choosing[slot].load(Acquire) != 0 {
            return CHOOSING;
        }
        // Acquire. Partner: the release stores of `number` in `set_number` and `clear`.
        match self.number[slot].load(Acquire) {
            0 => IDLE,
            // What does not fit into the word is one of the impossible numbers.
            number => number.saturating_add(1),
        }
    }
}
