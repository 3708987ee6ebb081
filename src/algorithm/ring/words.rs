//! The machines' registers as atomic words.

use super::{LinkWord, Machines, Wish};
use crate::mutants::{Mutant, planted};
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
    /// A [`Wish`].
    pub wish: &'a AtomicU32,
}

/// The machines of one ring: `words` gives those of each.
#[derive(Clone, Copy)]
pub struct InWords<'a, F> {
    /// Raynal's n.
    pub count: usize,
    /// One more than the highest slot in use.
    pub slots_in_use: &'a AtomicU32,
    /// One more than the highest machine that ever was on the ring.
    pub ring_bound: &'a AtomicU32,
    /// The words of a machine.
    pub words: F,
}

impl<'a, F: Fn(usize) -> MachineWords<'a>> Machines for InWords<'a, F> {
    fn count(&self) -> usize {
        self.count
    }

    #[inline]
    fn bound(&self) -> usize {
        // Relaxed: a participant raises the first before it asks, under a lock that orders it; the second is raised
        // before the link that it is for, which is read with acquire order.
        let bound = self.slots_in_use.load(Relaxed).max(self.ring_bound.load(Relaxed));
        (bound as usize).min(self.count)
    }

    fn cover(&self, machine: usize) {
        if (self.ring_bound.load(Relaxed) as usize) <= machine {
            self.ring_bound.store(machine as u32 + 1, Release);
        }
    }

    #[inline]
    fn state(&self, machine: usize) -> u64 {
        // Acquire. Partner: the release in `set_state`: the section of who passed the privilege on, and the links it
        // renewed.
        (self.words)(machine).state.load(Acquire)
    }

    #[inline]
    fn set_state(&self, machine: usize, state: u64) {
        let order = if planted(Mutant::RelaxedLeave) { Relaxed } else { Release };
        (self.words)(machine).state.store(state, order);
    }

    #[inline]
    fn link(&self, machine: usize) -> LinkWord {
        // Acquire. Partner: the release in `set_link`: the newcomer's state, which is stored before a link leads to it.
        LinkWord((self.words)(machine).link.load(Acquire))
    }

    fn set_link(&self, machine: usize, link: LinkWord) {
        (self.words)(machine).link.store(link.0, Release);
    }

    #[inline]
    fn wish(&self, machine: usize) -> Wish {
        // Acquire. Partner: the release in `set_wish`: who took its wish back has passed the privilege on before.
        Wish::of((self.words)(machine).wish.load(Acquire))
    }

    #[inline]
    fn set_wish(&self, machine: usize, wish: Wish) {
        (self.words)(machine).wish.store(wish as u32, Release);
    }
}
