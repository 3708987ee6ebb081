//! A part of a range lock or a keyed lock.

use crate::layout::KeyBeginning;
use turnlock_core::algorithm::claim::{Claim, Extent, Mode};

/// A range, or a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granule {
    /// The range, or the hash of the key.
    pub extent: Extent,
    /// What the key begins with, for observers.
    pub key: KeyBeginning,
}

impl From<Extent> for Granule {
    /// A range.
    fn from(extent: Extent) -> Self {
        Self { extent, key: KeyBeginning::NONE }
    }
}

/// A part that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// What is claimed.
    pub claim: Claim,
    /// What the key begins with, for observers.
    pub key: KeyBeginning,
}

impl Part {
    /// Returns the part that is this granule, in this mode.
    pub(crate) fn new(mode: Mode, granule: impl Into<Granule>) -> Self {
        let Granule { extent, key } = granule.into();
        Self { claim: Claim { mode, weight: 1, extent }, key }
    }
}
