//! One mailbox: a ring of entries between one producer and one consumer, either of which may die at any instruction.
//!
//! ```text
//! put:    never waits: if tail - head = entries, it is full
//!         write the words of entry tail; tail = tail + 1
//! first:  if tail - head = 0, it is empty; read the words of entry head
//! take:   head = head + 1
//! ```
//!
//! | word | its writer |
//! |---|---|
//! | `tail` | the producer; after its death the participant that acts for it |
//! | `head` | the consumer, likewise |
//! | the entries from `head` to `tail` | none |
//! | the others | the producer |
//!
//! A message is published by one store, that of `tail`. A producer that dies before it has left nothing; the next one in its
//! place writes over what it had begun. A consumer that dies before `take` has taken nothing; what it read is read again by
//! the next one in its place, which knows by the lives in it that it is not its own.

use crate::mutants::{Mutant, release_unless};
use crate::sync::{
    AtomicU64,
    Ordering::{Acquire, Relaxed},
};
use crate::trace::{self, Step};

/// A mailbox whose entries have `W` words.
#[derive(Clone, Copy)]
pub struct Ring<'a, const W: usize> {
    /// How many messages were put in.
    pub tail: &'a AtomicU64,
    /// How many were taken out.
    pub head: &'a AtomicU64,
    /// Where message k is, modulo their number.
    pub entries: &'a [[AtomicU64; W]],
}

/// Something else than turnlock wrote into a mailbox: no two ends of one have these counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overwritten;

impl<const W: usize> Ring<'_, W> {
    /// Puts a message in, for the producer. Returns whether there was room.
    ///
    /// # Errors
    /// [`Overwritten`].
    pub fn put(&self, message: &[u64; W]) -> Result<bool, Overwritten> {
        let tail = self.tail.load(Relaxed);
        // Acquire. Partner: the release in `take`: the consumer that took what was there has read it.
        let there = tail.wrapping_sub(self.head.load(Acquire));
        if there >= self.entries.len() as u64 {
            return if there == self.entries.len() as u64 { Ok(false) } else { Err(Overwritten) };
        }
        // Relaxed: the consumer does not look at them before the store below.
        for (word, value) in self.entry(tail).iter().zip(message) {
            word.store(*value, Relaxed);
        }
        trace::at(Step::Put);
        // Release. Partner: the acquire in `first`.
        self.tail.store(tail.wrapping_add(1), release_unless(Mutant::RelaxedPut));
        Ok(true)
    }

    /// Reads the message that is to be taken next, for the consumer. Returns whether there is one.
    ///
    /// # Errors
    /// [`Overwritten`].
    pub fn first(&self, into: &mut [u64; W]) -> Result<bool, Overwritten> {
        let head = self.head.load(Relaxed);
        // Acquire. Partner: the release in `put`: a producer whose message is counted has written all of it.
        let there = self.tail.load(Acquire).wrapping_sub(head);
        if there == 0 {
            return Ok(false);
        }
        if there > self.entries.len() as u64 {
            return Err(Overwritten);
        }
        for (value, word) in into.iter_mut().zip(self.entry(head)) {
            *value = word.load(Relaxed);
        }
        Ok(true)
    }

    /// Takes the message out that [`Ring::first`] read, for the consumer. Returns whether the producer may have found no room.
    pub fn take(&self) -> bool {
        let head = self.head.load(Relaxed);
        trace::at(Step::Take);
        let was_full = self.tail.load(Relaxed).wrapping_sub(head) >= self.entries.len() as u64;
        // Release. Partner: the acquire in `put`: the entry is free once its words are read.
        self.head.store(head.wrapping_add(1), release_unless(Mutant::RelaxedTake));
        was_full
    }

    /// Returns whether there is nothing to be taken, for the consumer.
    pub fn is_empty(&self) -> bool {
        // Acquire, as in `first`.
        self.tail.load(Acquire) == self.head.load(Relaxed)
    }

    /// Returns whether there is no room, for the producer.
    pub fn is_full(&self) -> bool {
        // Acquire, as in `put`.
        self.tail.load(Relaxed).wrapping_sub(self.head.load(Acquire)) >= self.entries.len() as u64
    }

    /// Returns how many messages the producer has put in so far.
    pub fn count(&self) -> u64 {
        // Acquire. Partner: the release in `put`.
        self.tail.load(Acquire)
    }

    fn entry(&self, count: u64) -> &[AtomicU64; W] {
        &self.entries[(count % self.entries.len() as u64) as usize]
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Words {
        tail: AtomicU64,
        head: AtomicU64,
        entries: [[AtomicU64; 3]; 4],
    }

    impl Words {
        fn ring(&self) -> Ring<'_, 3> {
            Ring { tail: &self.tail, head: &self.head, entries: &self.entries }
        }

        fn next(&self) -> Option<[u64; 3]> {
            let mut message = [0; 3];
            self.ring().first(&mut message).unwrap().then(|| {
                self.ring().take();
                message
            })
        }
    }

    #[test]
    fn messages_come_whole_once_and_in_order() {
        let words = Words::default();
        for start in [0, u64::MAX - 5] {
            words.tail.store(start, Relaxed);
            words.head.store(start, Relaxed);
            let (mut sent, mut received) = (0, 0);
            for round in 0..40 {
                for _ in 0..round % 6 {
                    if words.ring().put(&[sent, sent + 1, sent + 2]).unwrap() {
                        sent += 1;
                    }
                }
                while let Some(message) = words.next() {
                    assert_eq!(message, [received, received + 1, received + 2]);
                    received += 1;
                }
                assert!(sent == received && words.ring().is_empty());
            }
            assert!(sent > 60);
        }
    }

    #[test]
    fn a_full_one_takes_nothing_and_loses_nothing() {
        let words = Words::default();
        for sent in 0..4 {
            assert!(!words.ring().is_full());
            assert_eq!(words.ring().put(&[sent; 3]), Ok(true));
        }
        assert!(words.ring().is_full());
        assert_eq!(words.ring().put(&[9; 3]), Ok(false));
        assert!(words.ring().take(), "its producer may wait for room");
        assert!(!words.ring().take());
        assert_eq!(words.ring().put(&[4; 3]), Ok(true));
        assert_eq!([words.next(), words.next(), words.next()], [Some([2; 3]), Some([3; 3]), Some([4; 3])]);
        assert_eq!(words.next(), None);
    }

    /// After each of the stores of a `put`: what a producer leaves that dies there, and what comes of it.
    #[test]
    fn a_producer_that_dies_in_the_midst_leaves_nothing() {
        for written in 0..=3 {
            let words = Words::default();
            words.ring().put(&[1; 3]).unwrap();
            // The first `written` stores of the second message.
            words.entries[1][..written].iter().for_each(|word| word.store(2, Relaxed));
            assert_eq!((words.next(), words.next()), (Some([1; 3]), None));
            // The next participant in its place.
            words.ring().put(&[3; 3]).unwrap();
            assert_eq!((words.next(), words.next()), (Some([3; 3]), None));
        }
    }

    #[test]
    fn a_consumer_that_dies_before_it_takes_has_taken_nothing() {
        let words = Words::default();
        words.ring().put(&[1; 3]).unwrap();
        assert_eq!(words.ring().first(&mut [0; 3]), Ok(true));
        assert_eq!((words.next(), words.next()), (Some([1; 3]), None));
    }

    #[test]
    fn counts_that_cannot_be_are_noticed_and_index_nothing() {
        let words = Words::default();
        for (tail, head) in [(5, 0), (0, 1), (u64::MAX, 3), (1 << 60, 0)] {
            words.tail.store(tail, Relaxed);
            words.head.store(head, Relaxed);
            assert_eq!(words.ring().put(&[1; 3]), Err(Overwritten), "{tail} {head}");
            assert_eq!(words.ring().first(&mut [0; 3]), Err(Overwritten), "{tail} {head}");
        }
    }
}
