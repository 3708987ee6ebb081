//! Parts of a lock.

/// What of a lock is claimed: a range, first and last included; or the two halves of a key's hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// The first, or the upper half.
    pub first: u64,
    /// The last, or the lower half.
    pub last: u64,
}

impl Extent {
    /// All of it.
    pub const WHOLE: Self = Self { first: 0, last: u64::MAX };

    /// Returns whether the two, as ranges, have something in common.
    #[inline]
    pub fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// Returns whether `other` lies in it, as ranges.
    #[inline]
    pub fn covers(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }
}
