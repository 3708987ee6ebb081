//! What a trial's processes share: the protected data, what the victim says of itself on its way, and the order to the
//! trial and its result.

use super::order::{Order, Result};
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
    compiler_fence,
};
use support::forked::shared_with_children;

#[repr(C)]
pub struct Arena {
    /// The protected data: two plain words that agree whenever no participant is inside.
    pub a: AtomicU64,
    pub b: AtomicU64,
    /// The largest fencing token that any participant was given.
    pub token: AtomicU64,
    /// 1 from the first to the last instruction of the victim's critical section.
    pub inside: AtomicU32,
    /// 1 from before the victim's `lock` to after its `unlock` (or its failure).
    pub busy: AtomicU32,
    /// Whether the owner-dead notice of an earlier death must still come: a [`Debt`].
    pub owed: AtomicU32,
    /// Whether the lock is closed until a reset: a [`Closed`].
    pub closed: AtomicU32,
    /// 1: the victim came to the end of what it was to do.
    pub ended: AtomicU32,
    pub order: Order,
    pub result: Result,
}

/// Whether the owner-dead notice of an earlier death must still come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Debt {
    /// There is none, or it was paid.
    None = 0,
    /// It must.
    Owed = 1,
    /// It may: a holder that had it is calling `mark_consistent`.
    BeingPaid = 2,
}

/// Whether the lock is closed, since a holder got an owner-dead notice and did not repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Closed {
    No = 0,
    /// The victim is closing it, or opening it again.
    Perhaps = 1,
    Yes = 2,
}

impl Arena {
    /// In memory that forked children share; never unmapped.
    pub fn new() -> &'static Self {
        // SAFETY: it has only atomic integers.
        unsafe { shared_with_children() }
    }

    /// As at the beginning of a trial.
    pub fn clear(&self) {
        for word in [&self.a, &self.b, &self.token] {
            word.store(0, SeqCst);
        }
        for word in [&self.inside, &self.busy, &self.owed, &self.closed, &self.ended] {
            word.store(0, SeqCst);
        }
        self.result.clear();
    }

    /// A survivor that was told of the victim's death has repaired the data.
    pub fn is_repaired(&self) {
        self.b.store(self.a.load(SeqCst), SeqCst);
        for word in [&self.inside, &self.busy, &self.owed, &self.closed] {
            word.store(0, SeqCst);
        }
    }

    /// All that the victim writes here on its way.
    pub fn marks(&self) -> [u64; 8] {
        let words = [&self.a, &self.b, &self.token].map(|word| word.load(SeqCst));
        let flags = [&self.inside, &self.busy, &self.owed, &self.closed, &self.ended];
        let flags = flags.map(|word| u64::from(word.load(SeqCst)));
        [words[0], words[1], words[2], flags[0], flags[1], flags[2], flags[3], flags[4]]
    }

    /// The critical section: the two words disagree for some instructions.
    #[inline]
    pub fn section(&self, token: u64) {
        mark(&self.inside, 1);
        self.token.fetch_max(token, Relaxed);
        self.a.store(self.a.load(Relaxed) + 1, Relaxed);
        compiler_fence(SeqCst);
        self.b.store(self.b.load(Relaxed) + 1, Relaxed);
        mark(&self.inside, 0);
    }

    /// The victim's marks, each where it stands in the program.
    #[inline]
    pub fn is_busy(&self, busy: bool) {
        mark(&self.busy, busy.into());
    }

    #[inline]
    pub fn owes(&self, debt: Debt) {
        mark(&self.owed, debt as u32);
    }

    #[inline]
    pub fn is_closed(&self, closed: Closed) {
        mark(&self.closed, closed as u32);
    }

    #[inline]
    pub fn ends(&self) {
        mark(&self.ended, 1);
    }
}

/// Stores a word before everything that comes after, and after everything that comes before: a death does not reorder.
#[inline]
fn mark(word: &AtomicU32, value: u32) {
    compiler_fence(SeqCst);
    word.store(value, Relaxed);
    compiler_fence(SeqCst);
}
