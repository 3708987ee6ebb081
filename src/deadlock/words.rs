//! How people read a circle.

use crate::layout::{SlotRecord, View};
use crate::os::clock;
use crate::registers::Claimed;
use std::fmt::Write;
use turnlock_core::algorithm::claim::{Claim, Mode, Relation};
use turnlock_core::deadlock::{Blocks, Cycle, Edge};
use turnlock_core::sync::Ordering::Relaxed;

/// Returns a circle in a sentence: each participant, what it holds and what it waits for, first the one that closed it.
pub fn in_words(cycle: &Cycle, view: View) -> String {
    let now = clock::monotonic_ns();
    let mut text = String::new();
    // What it has of the edge that leads to it.
    let before = cycle.edges().iter().cycle().skip(cycle.edges().len() - 1);
    for (into, edge) in before.zip(cycle.edges()) {
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

fn who(record: &SlotRecord) -> String {
    let (label, program) = (record.label.get(), record.program.get());
    let (pid, tid) = (record.pid.load(Relaxed), record.tid.load(Relaxed));
    let named = if label == program || label.is_empty() { String::new() } else { format!("{label:?}, ") };
    format!("{} ({named}pid {pid}, thread {tid})", program.escape_debug())
}

/// Returns a lock, and what of it is claimed.
fn part(view: View, edge: &Edge, claim: Claim) -> String {
    let name = view.directory()[edge.region - 1].name.get();
    let relation = Claimed::in_region(view, edge.region).relation;
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
