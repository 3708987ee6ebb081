//! A circle of edges.

use super::edge::Edge;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A circle of waits, from the wait that closed it on. Without memory from the allocator.
pub struct Cycle {
    edges: [Edge; Self::LONGEST],
    length: usize,
}

impl Default for Cycle {
    fn default() -> Self {
        Self { edges: [Edge::NONE; Self::LONGEST], length: 0 }
    }
}

impl Cycle {
    /// How long a circle may be. A longer one is not found.
    pub const LONGEST: usize = 16;

    /// Returns its edges. Each leads to the slot from which the next one does, the last one to the first.
    pub fn edges(&self) -> &[Edge] {
        &self.edges[..self.length]
    }

    pub(super) fn push(&mut self, edge: Edge) -> bool {
        let Some(place) = self.edges.get_mut(self.length) else { return false };
        *place = edge;
        self.length += 1;
        true
    }

    pub(super) fn cut(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Returns a number that is the same for the same circle, of the same holds and waits.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.edges().hash(&mut hasher);
        hasher.finish()
    }
}
