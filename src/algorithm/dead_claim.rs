//! What a participant held that died while it held a part of a lock, until somebody has looked after that part.
//!
//! A dead holder of a whole lock makes the lock inconsistent ([`super::ownership`]). One that held a range or a key makes only that
//! part so: its reaper writes the part into the slot, and whoever holds a part of the lock that conflicts with it is told, until
//! one that holds all of it exclusively marks it consistent. The slot may be another participant's by then; should that one
//! die too, the two parts become one that holds both (of two keys: everything), so nothing is forgotten.
//!
//! | word | who writes it | when |
//! |---|---|---|
//! | `word`, `first`, `last` | who has the slot's byte lock | after a death: everything; then the part |
//! | `word` | who holds all of the part exclusively | marking it consistent, by a compare-exchange |

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
        // Partner: the fence in `write`: who reads a part that is being written sees another word here.
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

    /// Writes down that the slot's participant died and held `part`. `together` says what holds both of two parts. Repeatable;
    /// a death on the way leaves everything. With the slot's byte lock in hand.
    pub fn record(&self, part: Extent, together: impl FnOnce(Extent, Extent) -> DeadPart) {
        let before = self.word.load(Relaxed);
        let all = match self.read() {
            None => DeadPart::Of(part),
            Some((_, DeadPart::Of(known))) => together(known, part),
            Some((_, DeadPart::Everything)) => DeadPart::Everything,
        };
        let number = (before & !KIND).wrapping_add(KIND + 1);
        self.word.store(number | EVERYTHING, Release);
        if let DeadPart::Of(part) = all {
            fence(Release);
            self.first.store(part.first, Relaxed);
            self.last.store(part.last, Relaxed);
            self.word.store(number | PART, Release);
        }
    }

    /// Marks it consistent if `covers` says that the caller holds all of it. Returns whether it was.
    pub fn mark_consistent(&self, covers: impl FnOnce(DeadPart) -> bool) -> bool {
        let Some((word, part)) = self.read() else { return false };
        // Release: should we die right after, the repair is there before the word that claims it.
        covers(part) && self.word.compare_exchange(word, word & !KIND, Release, Relaxed).is_ok()
    }

    /// As if nobody had died here.
    pub fn clear(&self) {
        if self.word.load(Relaxed) != NONE {
            self.word.store(NONE, Relaxed);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn hull(one: Extent, other: Extent) -> DeadPart {
        DeadPart::Of(Extent { first: one.first.min(other.first), last: one.last.max(other.last) })
    }

    #[test]
    fn a_part_is_told_until_it_is_marked_and_two_become_one() {
        let (word, first, last) = (AtomicU32::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let dead = DeadClaim { word: &word, first: &first, last: &last };
        assert_eq!(dead.get(), None);
        dead.record(Extent { first: 3, last: 5 }, hull);
        dead.record(Extent { first: 3, last: 5 }, hull);
        assert_eq!(dead.get(), Some(DeadPart::Of(Extent { first: 3, last: 5 })));
        assert!(!dead.mark_consistent(|_| false));
        dead.record(Extent { first: 8, last: 9 }, hull);
        assert_eq!(dead.get(), Some(DeadPart::Of(Extent { first: 3, last: 9 })));
        assert!(dead.mark_consistent(|part| part == DeadPart::Of(Extent { first: 3, last: 9 })));
        assert_eq!(dead.get(), None);
        dead.record(Extent { first: 1, last: 1 }, |_, _| DeadPart::Everything);
        dead.record(Extent { first: 2, last: 2 }, |_, _| DeadPart::Everything);
        assert_eq!(dead.get(), Some(DeadPart::Everything));
    }

    #[test]
    fn one_that_died_while_writing_leaves_everything() {
        let (word, first, last) = (AtomicU32::new(8 | EVERYTHING), AtomicU64::new(7), AtomicU64::new(7));
        let dead = DeadClaim { word: &word, first: &first, last: &last };
        dead.record(Extent { first: 1, last: 1 }, hull);
        assert_eq!(dead.get(), Some(DeadPart::Everything));
    }
}
