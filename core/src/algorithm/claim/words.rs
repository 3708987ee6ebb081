//! The words of a claim, and what has them in it.

use super::{
    Claim,
    extent::Extent,
    mode::{Mode, mode_word},
};
use crate::sync::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// The words of one claim, as memory.
#[derive(Clone, Copy)]
pub struct ClaimWords<'a> {
    /// Mode in the low half, weight in the high one.
    pub mode_word: &'a AtomicU64,
    /// [`Extent::first`].
    pub first: &'a AtomicU64,
    /// [`Extent::last`].
    pub last: &'a AtomicU64,
}

impl ClaimWords<'_> {
    /// Writes mode and weight.
    #[inline]
    pub(super) fn set_mode(&self, mode: Mode, weight: u32) {
        // Release. Partner: the acquire load in `get`: a reader of it has what the slot did before, see above.
        self.mode_word.store(mode_word(mode, weight), Release);
    }

    #[inline]
    pub(super) fn set(&self, Claim { mode, weight, extent }: Claim) {
        self.first.store(extent.first, Release);
        self.last.store(extent.last, Release);
        self.set_mode(mode, weight);
    }

    /// Returns mode and weight.
    #[inline(always)]
    pub(super) fn mode(&self) -> (Mode, u32) {
        // Acquire, as in `get`.
        let mode_word = self.mode_word.load(Acquire);
        (Mode::of(mode_word as u32), (mode_word >> 32) as u32)
    }

    /// Returns the claim.
    #[inline]
    pub fn get(&self) -> Claim {
        // Acquire, all three. Partners: the release stores in `set` and `set_mode`.
        let (mode, weight) = self.mode();
        let extent = Extent { first: self.first.load(Acquire), last: self.last.load(Acquire) };
        Claim { mode, weight, extent }
    }
}

/// Something that has the words of a slot's claim in it.
pub trait ClaimCell {
    /// Returns them.
    fn claim(&self) -> ClaimWords<'_>;

    // What the slot's own participant asks on its way in, for cells that can say so sooner. Relaxed: its own words.

    /// Returns whether the mode is this one of a reservation's.
    #[inline(always)]
    fn is_reserved_as(&self, mode: Mode) -> bool {
        self.claim().mode_word.load(Relaxed) as u32 == mode as u32
    }

    /// Returns whether the weight is this.
    #[inline(always)]
    fn has_weight(&self, weight: u32) -> bool {
        (self.claim().mode_word.load(Relaxed) >> 32) as u32 == weight
    }

    /// Returns whether the first half of the extent is this.
    #[inline(always)]
    fn has_first(&self, first: u64) -> bool {
        self.claim().first.load(Relaxed) == first
    }
}
