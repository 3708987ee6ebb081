//! The word that says of one slot what its participant waits for.
//!
//! ```text
//! number (49 bits) | tag (12 bits) | state (3 bits)
//! ```

use crate::sync::{AtomicU32, AtomicU64, Ordering::Relaxed};
use crate::wait::CalledWord;

/// A slot's words besides its entry. Its participant sleeps on the word by which it is called ([`CalledWord::called`]).
pub trait SleeperCell: CalledWord {
    /// Returns the word that is not 0 while the participant may sleep there.
    fn asleep(&self) -> &AtomicU32;
}

/// Tells the words of a name from those that a handle of a removed name wrote in the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag(u64);

const STATE_BITS: u32 = 3;
const TAG_BITS: u32 = 12;
const TAG_MASK: u64 = (1 << TAG_BITS) - 1;
/// Larger than every number of an entry.
const NUMBER_LIMIT: u64 = 1 << (64 - STATE_BITS - TAG_BITS);

impl Tag {
    /// Of a name with this generation. Names that follow one another in a place have generations of the same parity.
    pub const fn of(generation: u64) -> Self {
        Self((generation >> 1) & TAG_MASK)
    }

    /// Returns it as a number of 12 bits.
    pub(super) const fn bits(self) -> u64 {
        self.0
    }

    /// Of 12 bits.
    pub(super) const fn of_bits(bits: u64) -> Self {
        Self(bits & TAG_MASK)
    }
}

/// An entry in its parts. `state` is below 8; what it means is the condition's or the barrier's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub number: u64,
    pub tag: Tag,
    pub state: u64,
}

impl Entry {
    pub const fn word(self) -> u64 {
        ((self.number % NUMBER_LIMIT) << (STATE_BITS + TAG_BITS)) | (self.tag.0 << STATE_BITS) | self.state
    }

    pub const fn of(word: u64) -> Self {
        Self {
            number: word >> (STATE_BITS + TAG_BITS),
            tag: Tag::of_bits(word >> STATE_BITS),
            state: word & ((1 << STATE_BITS) - 1),
        }
    }
}

/// Returns the entries of the slots that may be in use: those below the bound.
pub(super) fn in_use<'a>(entries: &'a [AtomicU64], slots_in_use: &AtomicU32) -> &'a [AtomicU64] {
    // Relaxed: a participant raises the bound before it can wait, and a notifier that must not miss the waiter learns of it by the
    // lock that both have held.
    &entries[..(slots_in_use.load(Relaxed) as usize).min(entries.len())]
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_its_parts_back() {
        for (number, generation, state) in [(0, 1, 0), (1, 3, 5), (NUMBER_LIMIT - 1, 8191, 7)] {
            let entry = Entry { number, tag: Tag::of(generation), state };
            assert_eq!(Entry::of(entry.word()), entry);
        }
        assert_ne!(Tag::of(1), Tag::of(3));
        assert_eq!(Entry { number: 0, tag: Tag(0), state: 0 }.word(), 0, "zeros are an entry");
    }
}
