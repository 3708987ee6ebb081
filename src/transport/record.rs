//! The record of a token, of a mesh or of a ring: one word of the lock that says which participant has it, so that a death does
//! not lose it. A ring has one for each of its two tokens.
//!
//! | the word says | the token is | its writer |
//! |---|---|---|
//! | 0 | lost | the one that makes it anew, by a compare-exchange to its own name |
//! | a participant, in a life that goes on | there, or on its way there | that participant: to the one that it sends it to |
//! | a participant, in a life that is over | lost | the one that ended that life, and the one that sent it there: to 0 |
//! | a participant, to which a dead one was sending it | with the dead one | the reaper that ends that one's life: to the dead one |
//!
//! So a token is made anew for one reason only: the life that had it was ended by the holder of its slot's byte lock. Each
//! change is a compare-exchange from what was seen, and no name comes back, since lives are counted on: of two that make the
//! same change the second changes nothing.
//!
//! ```text
//! x sends the token to y:  sends_at[x] = tail of x's mailbox to y; sends_to[x] = y's name        (1)
//!                          record: x -> y; put the token into the mailbox                        (2)
//!                          fence; if y's life is over: record: y -> 0                            (3)
//!                          sends_to[x] = 0
//! y's life is ended:       fence; if sends_to[y] = z and (the token is not in the mailbox, or z's life is over):
//!                              record: z -> y;  sends_to[y] = 0                                 (4)
//!                          life[y] is over; fence; record: y -> 0                                (5)
//! ```
//! If y's life ends while x sends: x's fence comes after the record says y, and the ending one's after the life is over, so one
//! of them sees both. If x dies between (1) and (3), the reaper that ends x's life does what x would have done.
//!
//! (4) comes before (5). As long as y's life is not over only y changes a record that says y, so if it says z at (4), y has
//! sent it there. Once y's life is over, the sender of the token to y, late with its look (3), may clear the record; the token
//! may have been made anew by then, and have come to z on another way. And it goes back to y first, so that (4) may be repeated
//! when the reaper that ends y's life dies over it: cleared at once, it could be made anew and come to z before that.

use turnlock_core::sync::{
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
    /// Returns it as a word.
    pub fn word(self) -> u64 {
        u64::from(self.life) << 16 | (self.participant as u64 + 1)
    }

    /// Returns what a word says; `None`: no participant.
    pub fn of(word: u64) -> Option<Self> {
        let participant = (word as u16 as usize).checked_sub(1)?;
        Some(Self { participant, life: (word >> 16) as u32 })
    }
}

/// The record of one token.
#[derive(Clone, Copy)]
pub struct Record<'a>(pub &'a AtomicU64);

impl Record<'_> {
    /// Returns which participant has the token.
    pub fn at(self) -> Option<At> {
        // Acquire. Partner: the exchange in `change`.
        At::of(self.0.load(Acquire))
    }

    /// Returns whether the token is lost, and to be made anew.
    pub fn is_nobodys(self) -> bool {
        // Acquire, as in `at`.
        self.0.load(Acquire) == 0
    }

    /// Moves the token from one participant to another. Returns whether it was there.
    pub fn move_token(self, from: At, to: At) -> bool {
        self.change(from.word(), to.word())
    }

    /// Marks the token that `lost` had as lost. Returns whether it was there.
    pub fn mark_lost(self, lost: At) -> bool {
        self.change(lost.word(), 0)
    }

    /// Takes a lost token, which the taker makes anew. Returns whether it was lost.
    pub fn take(self, by: At) -> bool {
        self.0.load(Relaxed) == 0 && self.change(0, by.word())
    }

    fn change(self, from: u64, to: u64) -> bool {
        // Acquire and release. Partner: the exchange before, so that the one that takes the token sees all that was done with
        // it.
        self.0.compare_exchange(from, to, AcqRel, Relaxed).is_ok()
    }
}

/// Returns the word that says where a token is sent.
pub fn sends_to(to: At, token: usize) -> u64 {
    to.word() | (token as u64) << 48
}

/// Returns which token such a word names.
pub fn token_sent(word: u64) -> usize {
    (word >> 48) as usize
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
        assert!(record.move_token(a, b) && !record.move_token(a, b) && !record.mark_lost(a));
        assert!(record.mark_lost(b) && !record.mark_lost(b));
        assert!(record.take(b) && record.at() == Some(b));
        // Of an earlier life.
        assert!(!record.mark_lost(At { life: 2, ..b }));
    }
}
