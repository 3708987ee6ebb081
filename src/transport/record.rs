//! Whose the token of a mesh is: one word of the lock, so that a death does not lose the token, and nobody guesses.
//!
//! | the word says | the token is | who may change it |
//! |---|---|---|
//! | 0 | nobody's | whoever wants it makes it anew, having written its own name there by a compare-exchange |
//! | a participant, in a life that goes on | there, or on its way there | that participant: to the one that it sends it to |
//! | a participant, in a life that is over | lost | whoever ended that life, and whoever sent it there: to 0 |
//!
//! So a token is made anew for one reason only: the life that had it was ended by whoever has its slot's byte lock. Each
//! change is a compare-exchange from what was seen, and no name comes back, since lives are counted on: who comes second
//! changes nothing.
//!
//! ```text
//! x sends the token to y:  sends_at[x] = tail of x's mailbox to y; sends_to[x] = y's name        (1)
//!                          record: x -> y; put the token into the mailbox                        (2)
//!                          fence; if y's life is over: record: y -> 0                            (3)
//!                          sends_to[x] = 0
//! y's life is ended:       life[y] is over; fence; if sends_to[y] = z and (the token is not in the mailbox, or z's life is
//!                          over): record: z -> 0;  record: y -> 0
//! ```
//! If y's life ends while x sends: x's fence comes after the record says y, and the ending one's after the life is over, so
//! one of them sees both. If x dies between (1) and (3), whoever ends x's life does what x would have done.

use crate::sync::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed},
};

/// A participant in one of its lives; never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// Which participant.
    pub participant: usize,
    /// Which life of it.
    pub life: u32,
}

impl At {
    /// As a word.
    pub fn word(self) -> u64 {
        u64::from(self.life) << 16 | (self.participant as u64 + 1)
    }

    /// What a word says; `None`: nobody.
    pub fn of(word: u64) -> Option<Self> {
        let participant = (word as u16 as usize).checked_sub(1)?;
        Some(Self { participant, life: (word >> 16) as u32 })
    }
}

/// The word.
#[derive(Clone, Copy)]
pub struct Record<'a>(pub &'a AtomicU64);

impl Record<'_> {
    /// Returns whose the token is said to be.
    pub fn at(self) -> Option<At> {
        At::of(self.0.load(Acquire))
    }

    /// The token goes from one to another. Returns whether it was there.
    pub fn moves(self, from: At, to: At) -> bool {
        self.change(from.word(), to.word())
    }

    /// Nobody has the token that `lost` had. Returns whether it was there.
    pub fn is_lost(self, lost: At) -> bool {
        self.change(lost.word(), 0)
    }

    /// Takes the token, if it is nobody's: it is to be made anew then.
    pub fn take(self, by: At) -> bool {
        self.0.load(Relaxed) == 0 && self.change(0, by.word())
    }

    fn change(self, from: u64, to: u64) -> bool {
        // Acquire and release: partner is the exchange before: who takes the token sees all that was done with it.
        self.0.compare_exchange(from, to, AcqRel, Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_as_they_were() {
        for at in [
            At { participant: 0, life: 0 },
            At { participant: 15, life: 1 },
            At { participant: 4095, life: u32::MAX },
        ] {
            assert!(at.word() != 0 && At::of(at.word()) == Some(at));
        }
        assert_eq!(At::of(0), None);
    }

    #[test]
    fn a_token_is_made_by_one_alone_and_lost_once() {
        let word = AtomicU64::new(0);
        let (record, [a, b]) = (Record(&word), [0, 1].map(|participant| At { participant, life: 3 }));
        assert!(record.take(a) && !record.take(b));
        assert!(record.moves(a, b) && !record.moves(a, b) && !record.is_lost(a));
        assert!(record.is_lost(b) && !record.is_lost(b));
        assert!(record.take(b) && record.at() == Some(b));
        // Of an earlier life.
        assert!(!record.is_lost(At { life: 2, ..b }));
    }
}
