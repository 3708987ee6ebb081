//! What workers write down of what they hold, and the data that they protect.
//!
//! A worker writes down what it holds when it has it, and strikes that out before it gives it back. So two entries that
//! conflict are two holders that were inside at once, unless one of them has died: it is condemned before it is killed,
//! and its entries are struck out before the next worker in its place is not.

use super::{super::arena::Arena, super::arena::MAX_WORKERS};
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
    compiler_fence,
};
use support::forked::shared_with_children;

/// Two plain words that agree unless a writer is writing them.
#[repr(C)]
pub struct Record {
    a: AtomicU64,
    b: AtomicU64,
}

/// How many records there are: numbers of a range lock, or keys.
pub const RECORDS: usize = 16;
/// So many low bits of a section's word are its group.
const BITS_OF_GROUP: u32 = 3;
/// What one worker can hold at once.
pub const HOLDS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Shared = 1,
    Upgradable,
    Exclusive,
    /// Of a group, whose number is the record's.
    Group,
}

/// What a worker holds: records, in a mode.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    pub mode: Mode,
    pub first: usize,
    pub last: usize,
}

impl Hold {
    pub const fn all(mode: Mode) -> Self {
        Self { mode, first: 0, last: RECORDS - 1 }
    }

    fn word(self) -> u64 {
        self.mode as u64 | (self.first as u64) << 8 | (self.last as u64) << 16
    }

    fn of(word: u64) -> Option<Self> {
        let mode = match word & 0xff {
            1 => Mode::Shared,
            2 => Mode::Upgradable,
            3 => Mode::Exclusive,
            4 => Mode::Group,
            _ => return None,
        };
        Some(Self { mode, first: (word >> 8 & 0xff) as usize, last: (word >> 16 & 0xff) as usize })
    }

    fn conflicts(self, other: Self) -> bool {
        use Mode::*;
        if (self.mode, other.mode) == (Group, Group) {
            return self.first != other.first;
        }
        let compatible =
            matches!((self.mode, other.mode), (Shared, Shared | Upgradable) | (Upgradable, Shared));
        !compatible && self.first <= other.last && other.first <= self.last
    }
}

#[repr(C)]
pub struct Ledger {
    pub records: [Record; RECORDS],
    /// The largest fencing token of a writer.
    pub last_token: AtomicU64,
    /// What each worker holds: [`Hold::word`]s; of a semaphore, permits, and how many there were above bit 32.
    holds: [[AtomicU64; HOLDS]; MAX_WORKERS],
    /// 1: a worker's death may be told of, since it may be inside as a writer.
    risks: [AtomicU32; MAX_WORKERS],
    /// How many such workers have died.
    risky_deaths: AtomicU64,
    /// So many of them at most are told of no more: everything was marked consistent since.
    accounted: AtomicU64,
    /// How many permits there are: even numbers of changes.
    pub permits: AtomicU64,
    pub resizes: AtomicU64,
    /// Of groups: each worker's last section, its fencing token above the group.
    sections: [AtomicU64; MAX_WORKERS],
    /// 1: keys, or the records of groups, may be torn without a notice, since a reset has marked what no holder had looked at.
    pub amnesty: AtomicU32,
}

impl Ledger {
    /// In memory that forked children share; never unmapped.
    pub fn new() -> &'static Self {
        // SAFETY: it has only atomic integers.
        unsafe { shared_with_children() }
    }

    /// Worker `me` holds `hold` from now on, in its place number `at`. Returns whether that conflicts with what others hold.
    #[must_use]
    pub fn enters(&self, arena: &Arena, me: usize, at: usize, hold: Hold) -> bool {
        self.holds[me][at].store(hold.word(), SeqCst);
        let conflicts = |other: usize, at: usize| {
            let is = || self.holds[other][at].load(SeqCst);
            let word = is();
            Hold::of(word).is_some_and(|other| other.conflicts(hold))
                // If it was struck out meanwhile, the next worker there may not be condemned.
                && arena.workers[other].condemned.load(SeqCst) == 0
                && is() == word
        };
        (0..MAX_WORKERS).any(|other| other != me && (0..HOLDS).any(|at| conflicts(other, at)))
    }

    /// Worker `me` has so many permits from now on, in its place number `at`, when there were at most `of`. Returns how many are
    /// taken, and of how many.
    pub fn has_permits(&self, arena: &Arena, me: usize, at: usize, permits: u32, of: u32) -> (u32, u32) {
        self.holds[me][at].store(u64::from(permits) | u64::from(of) << 32, SeqCst);
        let (mut taken, mut most) = (0, 0);
        for (worker, holds) in self.holds.iter().enumerate() {
            let words = [holds[0].load(SeqCst), holds[1].load(SeqCst)];
            if arena.workers[worker].condemned.load(SeqCst) != 0 {
                continue;
            }
            // Those that were struck out meanwhile do not count.
            for (word, hold) in words.iter().zip(holds) {
                if hold.load(SeqCst) == *word {
                    taken += *word as u32;
                    most = most.max((*word >> 32) as u32);
                }
            }
        }
        (taken, most)
    }

    /// Worker `me` begins a section with its group.
    pub fn begins_section(&self, me: usize, group: u64, token: u64) {
        self.sections[me].store(token << BITS_OF_GROUP | group, SeqCst);
    }

    /// Returns the group of a worker's last section, and its fencing token.
    pub fn section_of(&self, worker: usize) -> (u64, u64) {
        let word = self.sections[worker].load(SeqCst);
        (word & ((1 << BITS_OF_GROUP) - 1), word >> BITS_OF_GROUP)
    }

    /// Strikes out what worker `me` holds in its place number `at`.
    pub fn leaves(&self, me: usize, at: usize) {
        compiler_fence(SeqCst);
        self.holds[me][at].store(0, SeqCst);
    }

    pub fn leaves_everything(&self, me: usize) {
        (0..HOLDS).for_each(|at| self.leaves(me, at));
    }

    /// Says whether the death of worker `me` may be told of.
    pub fn risks(&self, me: usize, may_be_told_of: bool) {
        self.risks[me].store(may_be_told_of.into(), SeqCst);
    }

    /// Worker `me` has died, and is condemned still.
    pub fn buries(&self, me: usize) {
        if self.risks[me].load(SeqCst) != 0 {
            self.risky_deaths.fetch_add(1, SeqCst);
        }
        self.risks(me, false);
        self.leaves_everything(me);
    }

    /// A worker is about to leave as a dying writer does.
    pub fn counts_as_dead(&self) {
        self.risky_deaths.fetch_add(1, SeqCst);
    }

    /// Returns whether a worker may have died inside as a writer since everything was marked consistent.
    pub fn may_be_told(&self, arena: &Arena) -> bool {
        let is_dying = |worker: usize| {
            arena.workers[worker].condemned.load(SeqCst) != 0 && self.risks[worker].load(SeqCst) != 0
        };
        // In this order: who is not dying any more is counted.
        (0..MAX_WORKERS).any(is_dying) || self.risky_deaths() > self.accounted.load(SeqCst)
    }

    pub fn risky_deaths(&self) -> u64 {
        self.risky_deaths.load(SeqCst)
    }

    /// Everything was marked consistent when so many had died.
    pub fn accounts_for(&self, risky_deaths: u64) {
        self.accounted.store(risky_deaths, SeqCst);
    }
}

impl Record {
    /// Both words.
    pub fn read(&self) -> (u64, u64) {
        let a = self.a.load(Relaxed);
        compiler_fence(SeqCst);
        (a, self.b.load(Relaxed))
    }

    pub fn is_torn(&self) -> bool {
        let (a, b) = self.read();
        a != b
    }

    /// What a dead writer left half-done is done.
    pub fn repair(&self) {
        self.b.store(self.a.load(Relaxed), Relaxed);
    }

    pub fn begin_to_write(&self) {
        self.a.store(self.a.load(Relaxed) + 1, Relaxed);
        compiler_fence(SeqCst);
    }

    pub fn end_writing(&self) {
        compiler_fence(SeqCst);
        self.b.store(self.b.load(Relaxed) + 1, Relaxed);
    }
}
