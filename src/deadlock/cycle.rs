//! A circle, and how people read it.

use super::edge::{Blocks, Edge, lock_in};
use crate::layout::{SlotRecord, View};
use crate::os::clock;
use std::{
    fmt::Write,
    hash::{DefaultHasher, Hash, Hasher},
};
use turnlock_core::algorithm::claim::{Claim, Mode, Relation};
use turnlock_core::sync::Ordering::Relaxed;

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

    /// Returns it in a sentence: each participant, what it holds and what it waits for, first the one that closed it.
    pub fn in_words(&self, view: View) -> String {
        let now = clock::monotonic_ns();
        let mut text = String::new();
        // What it has of the edge that leads to it.
        let before = self.edges().iter().cycle().skip(self.length - 1);
        for (into, edge) in before.zip(self.edges()) {
            if !text.is_empty() {
                text.push_str("; ");
            }
            let seconds = now.saturating_sub(edge.since) as f64 / 1e9;
            let has = part(view, into, into.has);
            let _ = write!(text, "{} ", who(&view.slots()[edge.waiter]));
            let _ = match into.blocks {
                Blocks::ByHolding(token) => write!(text, "holds {has}, fencing token {token},"),
                Blocks::ByQueueing(..) => write!(text, "is next to have {has}"),
            };
            let _ = write!(text, " and has waited for {} for {seconds:.1} s", part(view, edge, edge.wants));
        }
        text
    }
}

fn who(record: &SlotRecord) -> String {
    let (label, program) = (record.label.get(), record.program.get());
    let (pid, tid) = (record.pid.load(Relaxed), record.tid.load(Relaxed));
    let named = if label == program || label.is_empty() { String::new() } else { format!("{label:?}, ") };
    format!("{} ({named}pid {pid}, thread {tid})", program.escape_debug())
}

/// Returns a lock, and what of it is claimed.
fn part(view: View, edge: &Edge, claim: Claim) -> String {
    let name = view.directory()[edge.region - 1].name.get();
    let relation = lock_in(view, edge.region).claims.relation;
    if relation == Relation::Always {
        return format!("{name:?}");
    }
    let mode = match claim.mode.held() {
        Mode::Shared => "shared",
        Mode::Upgradable => "upgradable",
        Mode::Upgrading => "exclusively, by an upgrade",
        _ => "exclusively",
    };
    let extent = claim.extent;
    match relation {
        Relation::Ranges => format!("{}-{} of {name:?} {mode}", extent.first, extent.last),
        Relation::Keys => {
            format!("the key of hash {:016x}{:016x} of {name:?} {mode}", extent.first, extent.last)
        }
        _ => format!("{name:?} {mode}"),
    }
}
