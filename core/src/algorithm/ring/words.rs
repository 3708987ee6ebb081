//! The machines' registers as atomic words.

use super::{LinkWord, Machines, Membership};
use crate::mutants::{self, Mutant};
use crate::sync::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// One machine's words.
#[derive(Clone, Copy)]
pub struct MachineWords<'a> {
    /// S.
    pub state: &'a AtomicU64,
    /// VG, k and a version.
    pub link: &'a AtomicU64,
    /// A [`Membership`].
    pub membership: &'a AtomicU32,
}

/// What holds one machine's words.
pub trait MachineCell {
    /// Returns the words.
    fn machine(&self) -> MachineWords<'_>;
}

/// The machines of one ring, each in a cell.
pub struct InWords<'a, C> {
    /// The cells: as many as Raynal's n.
    pub cells: &'a [C],
    /// One more than the highest slot in use.
    pub slots_in_use: &'a AtomicU32,
    /// One more than the highest machine that ever was on the ring.
    pub ring_bound: &'a AtomicU32,
}

impl<C> Clone for InWords<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C> Copy for InWords<'_, C> {}

impl<C: MachineCell> Machines for InWords<'_, C> {
    fn count(&self) -> usize {
        self.cells.len()
    }

    #[inline]
    fn bound(&self) -> usize {
        // Relaxed: a participant raises the first before it asks, under a lock that orders it; the second is raised
        // before the link that it is for, which is read with acquire order.
        let bound = self.slots_in_use.load(Relaxed).max(self.ring_bound.load(Relaxed));
        (bound as usize).min(self.cells.len())
    }

    fn cover(&self, machine: usize) {
        if (self.ring_bound.load(Relaxed) as usize) <= machine {
            self.ring_bound.store(machine as u32 + 1, Release);
        }
    }

    #[inline]
    fn state(&self, machine: usize) -> u64 {
        // Acquire. Partner: the release in `set_state`: the section of the machine that passed the privilege on, and
        // the links it renewed.
        self.cells[machine].machine().state.load(Acquire)
    }

    #[inline]
    fn set_state(&self, machine: usize, state: u64) {
        self.cells[machine].machine().state.store(state, mutants::release_unless(Mutant::RelaxedLeave));
    }

    #[inline]
    fn link(&self, machine: usize) -> LinkWord {
        // Acquire. Partner: the release in `set_link`: the newcomer's state, which is stored before a link leads to it.
        LinkWord(self.cells[machine].machine().link.load(Acquire))
    }

    fn set_link(&self, machine: usize, link: LinkWord) {
        self.cells[machine].machine().link.store(link.0, Release);
    }

    #[inline]
    fn membership(&self, machine: usize) -> Membership {
        // Acquire. Partner: the release in `set_membership`: a participant that took its membership back has passed the
        // privilege on before.
        Membership::of(self.cells[machine].machine().membership.load(Acquire))
    }

    #[inline]
    fn set_membership(&self, machine: usize, membership: Membership) {
        self.cells[machine].machine().membership.store(membership as u32, Release);
    }
}

/// A ring's registers, where there is no ring.
#[derive(Clone, Copy, Debug)]
pub struct NoRing;

impl Machines for NoRing {
    fn count(&self) -> usize {
        0
    }
    fn bound(&self) -> usize {
        0
    }
    fn cover(&self, _: usize) {}
    fn state(&self, _: usize) -> u64 {
        0
    }
    fn set_state(&self, _: usize, _: u64) {}
    fn link(&self, _: usize) -> LinkWord {
        LinkWord(0)
    }
    fn set_link(&self, _: usize, _: LinkWord) {}
    fn membership(&self, _: usize) -> Membership {
        Membership::None
    }
    fn set_membership(&self, _: usize, _: Membership) {}
}
