//! The part of a lock that a participant held when it died, until that part is marked consistent.
//!
//! A dead holder of a whole lock makes the lock inconsistent ([`super::ownership`]). A dead holder of a range or a key
//! makes only that part inconsistent. Its reaper writes the part down, and a holder of a part that conflicts with it is
//! told, until a holder that has all of it exclusively marks it consistent. Each slot has a place for one such part.
//! The reaper takes the place of the dead participant's slot or, where the part of an earlier death still stands there,
//! a free one. Where all places are taken, one of them becomes everything, so nothing is forgotten.
//!
//! ```text
//! NONE  ->  EVERYTHING (being written)  by a reaper, by a compare-exchange: the place is its own from here on
//!       ->  PART                        by it, when the part is written; a death before that leaves everything
//!       ->  NONE                        by an exclusive holder of all of the part, by a compare-exchange
//! ```
//! A number in the word changes with each death, so that no exchange succeeds that was meant for an earlier one.

use super::claim::Extent;
use crate::sync::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

const NONE: u32 = 0;
const PART: u32 = 1;
const EVERYTHING: u32 = 2;
/// What of the word is not a number that changes with each death.
const KIND: u32 = 3;

/// One slot's words for it.
#[derive(Clone, Copy)]
pub struct DeadClaim<'a> {
    /// Whether there is one, and of what; with a number that changes with each death.
    pub word: &'a AtomicU32,
    /// [`Extent::first`].
    pub first: &'a AtomicU64,
    /// [`Extent::last`].
    pub last: &'a AtomicU64,
}

/// The part that a dead participant held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadPart {
    /// This one.
    Of(Extent),
    /// More than can be said.
    Everything,
}

impl DeadClaim<'_> {
    /// Returns what is written here, and the word that said so.
    fn read(&self) -> Option<(u32, DeadPart)> {
        // Acquire. Partner: the release stores in `write`.
        let word = self.word.load(Acquire);
        let part = Extent { first: self.first.load(Relaxed), last: self.last.load(Relaxed) };
        // Partner: the fence in `write`: a reader of a part that is being written sees another word here.
        fence(Acquire);
        match word & KIND {
            NONE => None,
            PART if self.word.load(Relaxed) == word => Some((word, DeadPart::Of(part))),
            _ => Some((word, DeadPart::Everything)),
        }
    }

    /// Returns what is written here.
    pub fn get(&self) -> Option<DeadPart> {
        self.read().map(|(_, part)| part)
    }

    /// Writes `part` down, of a participant that died. Returns `false` if something stands here already.
    pub fn record(&self, part: Extent) -> bool {
        // Relaxed: what stands here matters only in the exchange.
        let before = self.word.load(Relaxed);
        let number = (before & !KIND).wrapping_add(KIND + 1);
        // Acquire. Partner: the release in `mark_consistent`: our stores come after what was read of the last part.
        let is_ours = before & KIND == NONE
            && self.word.compare_exchange(before, number | EVERYTHING, Acquire, Relaxed).is_ok();
        if is_ours {
            // Partner: the fence in `read`: a reader of one of these has the word before them.
            fence(Release);
            self.first.store(part.first, Relaxed);
            self.last.store(part.last, Relaxed);
            self.word.store(number | PART, Release);
        }
        is_ours
    }

    /// Makes what stands here everything.
    pub fn record_everything(&self) {
        loop {
            let before = self.word.load(Relaxed);
            let number = (before & !KIND).wrapping_add(KIND + 1);
            let everything = before & KIND == EVERYTHING;
            if everything || self.word.compare_exchange(before, number | EVERYTHING, Release, Relaxed).is_ok()
            {
                return;
            }
        }
    }

    /// Marks it consistent if `covers` says that the caller holds all of it. Returns whether it was.
    pub fn mark_consistent(&self, covers: impl FnOnce(DeadPart) -> bool) -> bool {
        let Some((word, part)) = self.read() else { return false };
        // Release: should we die right after, the repair is there before the word that claims it.
        covers(part) && self.word.compare_exchange(word, word & !KIND, Release, Relaxed).is_ok()
    }

    /// As if no holder had died here.
    pub fn clear(&self) {
        if self.word.load(Relaxed) != NONE {
            self.word.store(NONE, Relaxed);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_told_until_it_is_marked() {
        let (word, first, last) = (AtomicU32::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let dead = DeadClaim { word: &word, first: &first, last: &last };
        assert_eq!(dead.get(), None);
        let part = Extent { first: 3, last: 5 };
        assert!(dead.record(part));
        assert_eq!(dead.get(), Some(DeadPart::Of(part)));
        assert!(!dead.record(Extent { first: 8, last: 9 }), "it is taken");
        assert!(!dead.mark_consistent(|_| false));
        assert!(dead.mark_consistent(|found| found == DeadPart::Of(part)));
        assert_eq!(dead.get(), None);
        assert!(dead.record(Extent { first: 1, last: 1 }));
        dead.record_everything();
        assert_eq!(dead.get(), Some(DeadPart::Everything));
    }

    #[test]
    fn one_that_died_while_writing_leaves_everything() {
        let (word, first, last) = (AtomicU32::new(8 | EVERYTHING), AtomicU64::new(7), AtomicU64::new(7));
        let dead = DeadClaim { word: &word, first: &first, last: &last };
        assert!(!dead.record(Extent { first: 1, last: 1 }));
        assert_eq!(dead.get(), Some(DeadPart::Everything));
        assert!(dead.mark_consistent(|found| found == DeadPart::Everything));
    }
}
