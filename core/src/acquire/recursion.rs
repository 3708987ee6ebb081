//! Taking a recursive lock again: what a thread itself counts.
//!
//! The lock is held once, whatever the count: no other participant can tell the difference. While it is taken more than once the
//! thread's [`LocalState`] says that it is held unbiased, so that the fast path, which knows nothing of this, leaves an
//! unlock to the slow one; how it is held in truth stands beside the count.

use super::local::{Holding, LocalState};
use crate::error::{Error, Result};
use crate::sync::{AtomicU64, Ordering::Relaxed};

/// Most often that a thread can have a recursive lock at once.
pub const MOST_TAKEN: u64 = 65_535;

/// How often more than once it is taken.
const AGAIN: u64 = 0xffff;
/// It is held by a biased acquisition.
const BIASED: u64 = 1 << 32;
/// It was given up as by a dead owner, when it was taken more than once.
const ABANDONED: u64 = 1 << 33;

/// How an unlock goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It was taken more than once, and is held still.
    Held,
    /// It was taken once. `abandoned`: it is to be left as by a dead owner.
    Last {
        /// See [`Left::Last`].
        abandoned: bool,
    },
}

/// How often a thread has one recursive lock. Used by that thread alone, and its signal handlers.
#[derive(Clone, Copy)]
pub struct Recursion<'a> {
    /// 0 while it is taken once, or not at all.
    pub word: &'a AtomicU64,
    /// What the thread knows of its part in the lock.
    pub local: LocalState<'a>,
}

impl Recursion<'_> {
    /// Takes the lock once more. Returns its fencing token; `None`: the thread does not have it.
    ///
    /// # Errors
    /// [`Error::RecursionLimit`].
    pub fn again(&self) -> Result<Option<u64>> {
        let Some(Holding { token, unbiased, .. }) = self.local.holding() else { return Ok(None) };
        let word = match self.word.load(Relaxed) {
            0 if !unbiased => BIASED,
            word => word,
        };
        if word & AGAIN >= MOST_TAKEN - 1 {
            return Err(Error::RecursionLimit);
        }
        // A handler that comes between takes it once more and unlocks as often.
        self.word.store(word + 1, Relaxed);
        self.local.record(Some(Holding { token, unbiased: true, among_readers: false }));
        Ok(Some(token))
    }

    /// Returns how often the thread has the lock, if it has it at all.
    pub fn taken(&self) -> u64 {
        (self.word.load(Relaxed) & AGAIN) + 1
    }

    /// Unlocks once (the acquisition with this very token, where one is named). `abandon`: as a dying owner does, which
    /// comes about at the last unlock.
    ///
    /// # Errors
    /// As [`LocalState::begin_unlock`].
    pub fn leave(&self, token: Option<u64>, abandon: bool) -> Result<Left> {
        let word = self.word.load(Relaxed) | if abandon { ABANDONED } else { 0 };
        self.local.check_held(token)?;
        // A signal handler that comes while the thread marks the data consistent finds that in the way.
        let holding = self.local.holding().ok_or(Error::ParticipantBusy)?;
        if word & AGAIN == 0 {
            self.word.store(0, Relaxed);
            return Ok(Left::Last { abandoned: word & ABANDONED != 0 });
        }
        let word = word - 1;
        self.word.store(word, Relaxed);
        // What is to be abandoned is not for the fast path.
        if word & (AGAIN | BIASED | ABANDONED) == BIASED {
            self.local.record(Some(Holding { unbiased: false, ..holding }));
            self.word.store(0, Relaxed);
        }
        Ok(Left::Held)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    struct Words([AtomicU64; 2]);

    impl Words {
        fn held(unbiased: bool) -> Self {
            let words = Self(Default::default());
            words.now().local.record(Some(Holding { token: 7, unbiased, among_readers: false }));
            words
        }

        fn now(&self) -> Recursion<'_> {
            Recursion { word: &self.0[0], local: LocalState(&self.0[1]) }
        }
    }

    #[test]
    fn it_is_left_as_often_as_it_was_taken_and_held_as_before() {
        for unbiased in [false, true] {
            let words = Words::held(unbiased);
            let now = words.now();
            for _ in 0..3 {
                assert_eq!(now.again().unwrap(), Some(7));
                assert!(!now.local.is_held_biased(None), "the fast path keeps off");
            }
            for _ in 0..3 {
                assert_eq!(now.leave(Some(7), false).unwrap(), Left::Held);
            }
            assert_eq!(now.local.holding(), Some(Holding { token: 7, unbiased, among_readers: false }));
            assert_eq!(now.leave(None, false).unwrap(), Left::Last { abandoned: false });
        }
    }

    #[test]
    fn who_does_not_have_it_takes_and_leaves_nothing() {
        let words = Words::held(true);
        assert!(matches!(words.now().leave(Some(8), false), Err(Error::NotOwner)));
        words.now().local.record(None);
        assert_eq!(words.now().again().unwrap(), None);
        assert!(matches!(words.now().leave(None, true), Err(Error::NotOwner)));
    }

    #[test]
    fn given_up_within_it_is_abandoned_at_the_end() {
        for unbiased in [false, true] {
            let words = Words::held(unbiased);
            words.now().again().unwrap();
            assert_eq!(words.now().leave(None, true).unwrap(), Left::Held);
            assert!(!words.now().local.is_held_biased(None), "the fast path keeps off");
            assert_eq!(words.now().leave(None, false).unwrap(), Left::Last { abandoned: true });
            assert_eq!(words.0[0].load(Relaxed), 0);
        }
    }

    #[test]
    fn there_is_a_limit() {
        let words = Words::held(false);
        for _ in 1..MOST_TAKEN {
            words.now().again().unwrap();
        }
        assert!(matches!(words.now().again(), Err(Error::RecursionLimit)));
        for _ in 1..MOST_TAKEN {
            assert_eq!(words.now().leave(None, false).unwrap(), Left::Held);
        }
        assert_eq!(words.now().leave(None, false).unwrap(), Left::Last { abandoned: false });
    }
}
