//! A ring's registers as the checker has them, with deaths before any store, and with a second record of them that knows
//! at once when the privilege is lost or several have it.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU32 as PlainU32, AtomicU64 as PlainU64, Ordering::SeqCst};
use turnlock_core::algorithm::ring::{
    InWords, LinkWord, MachineCell, MachineWords, Machines, Membership, Ring, Rule,
};
use turnlock_core::sync::{AtomicU32, AtomicU64};

/// One slot's words of the lock.
pub struct Cell {
    pub state: AtomicU64,
    pub link: AtomicU64,
    pub membership: AtomicU32,
    pub held: AtomicU64,
    pub doorway: AtomicU64,
    pub evicted: AtomicU64,
}

impl Cell {
    pub fn new() -> Self {
        let word = || AtomicU64::new(0);
        Cell {
            state: word(),
            link: word(),
            membership: AtomicU32::new(0),
            held: word(),
            doorway: word(),
            evicted: word(),
        }
    }
}

impl MachineCell for Cell {
    fn machine(&self) -> MachineWords<'_> {
        MachineWords { state: &self.state, link: &self.link, membership: &self.membership }
    }
}

/// Unwinds the stack of a participant that dies.
pub struct Dead;

/// How many more stores to the machines a participant makes before it dies.
pub struct Lifetime(PlainU32);

impl Lifetime {
    const ENDLESS: u32 = u32::MAX;

    pub fn endless() -> Self {
        Lifetime(PlainU32::new(Self::ENDLESS))
    }

    pub fn set(&self, stores: u32) {
        self.0.store(stores, SeqCst);
    }

    fn before_a_store(&self) {
        match self.0.load(SeqCst) {
            Self::ENDLESS => {}
            0 => resume_unwind(Box::new(Dead)),
            stores => self.0.store(stores - 1, SeqCst),
        }
    }
}

/// What is in the registers, in the order of the stores: no step of the model, and nothing is ordered by it.
pub struct Record {
    rule: Rule,
    words: Vec<(PlainU64, PlainU64, PlainU32)>,
    has_begun: AtomicBool,
}

impl Record {
    pub fn new(rule: Rule, machines: usize) -> Self {
        let words = (0..machines).map(|_| Default::default()).collect();
        Record { rule, words, has_begun: AtomicBool::new(false) }
    }

    /// One machine has the privilege after each store, ever since one had it first.
    fn check(&self) {
        let ring = Ring { rule: self.rule, machines: self };
        let privileged = (0..self.words.len()).filter(|machine| ring.has_privilege(*machine)).count();
        assert!(privileged < 2, "several have the privilege");
        assert!(privileged == 1 || !self.has_begun.load(SeqCst), "the privilege is lost");
        self.has_begun.fetch_or(privileged == 1, SeqCst);
    }
}

impl Machines for &Record {
    fn count(&self) -> usize {
        self.words.len()
    }
    fn bound(&self) -> usize {
        self.words.len()
    }
    fn cover(&self, _: usize) {}
    fn state(&self, machine: usize) -> u64 {
        self.words[machine].0.load(SeqCst)
    }
    fn set_state(&self, machine: usize, state: u64) {
        self.words[machine].0.store(state, SeqCst);
        self.check();
    }
    fn link(&self, machine: usize) -> LinkWord {
        LinkWord(self.words[machine].1.load(SeqCst))
    }
    fn set_link(&self, machine: usize, link: LinkWord) {
        self.words[machine].1.store(link.0, SeqCst);
        self.check();
    }
    fn membership(&self, machine: usize) -> Membership {
        Membership::of(self.words[machine].2.load(SeqCst))
    }
    fn set_membership(&self, machine: usize, membership: Membership) {
        self.words[machine].2.store(membership as u32, SeqCst);
    }
}

/// The machines as one participant uses them.
#[derive(Clone, Copy)]
pub struct Watched<'a> {
    pub inner: InWords<'a, Cell>,
    pub record: &'a Record,
    pub lifetime: &'a Lifetime,
    pub user: usize,
    /// Whether others, too, end its membership: then it has to look.
    pub evicts: bool,
}

impl Machines for Watched<'_> {
    fn count(&self) -> usize {
        self.inner.count()
    }
    fn bound(&self) -> usize {
        self.inner.bound()
    }
    fn cover(&self, machine: usize) {
        self.lifetime.before_a_store();
        self.inner.cover(machine);
    }
    fn state(&self, machine: usize) -> u64 {
        self.inner.state(machine)
    }
    fn set_state(&self, machine: usize, state: u64) {
        self.lifetime.before_a_store();
        self.inner.set_state(machine, state);
        self.record.set_state(machine, state);
    }
    fn link(&self, machine: usize) -> LinkWord {
        self.inner.link(machine)
    }
    fn set_link(&self, machine: usize, link: LinkWord) {
        self.lifetime.before_a_store();
        self.inner.set_link(machine, link);
        self.record.set_link(machine, link);
    }
    fn membership(&self, machine: usize) -> Membership {
        // Of a word, loom knows the last access only: a participant's look at its own membership, before it stores it,
        // would hide from loom that the store races with another's look, and no participant would ever join a ring on
        // which another takes its turns. What its own last store was it knows without a look.
        if cfg!(loom) && machine == self.user && !self.evicts {
            self.record.membership(machine)
        } else {
            self.inner.membership(machine)
        }
    }
    fn set_membership(&self, machine: usize, membership: Membership) {
        self.lifetime.before_a_store();
        self.inner.set_membership(machine, membership);
        self.record.set_membership(machine, membership);
    }
}
