//! Parts of a lock.

/// What of a lock is claimed: a range, first and last included; the two halves of a key's hash; or a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// The first, the upper half, or the group.
    pub first: u64,
    /// The last, or the lower half. Of a claim of a group in its cell: the deaths of which its holder is told
    /// ([`super::super::member_deaths`]).
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
