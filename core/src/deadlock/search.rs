//! The search for circles, and the second reading.

use super::{
    cycle::Cycle,
    edge::{Edge, wait_of},
    graph::{WaitGraph, WaitedLock},
    wait_word::WaitWord,
};
use crate::algorithm::{claim::Relation, eviction::Skipped, ownership::token_in};
use crate::mutants::{Mutant, full_fence_unless};
use crate::sync::Ordering::Relaxed;

/// Looks for a circle that the wait by slot `last` closed: of the waits in it that may be told, `last` began its own after all others. Returns
/// whether there is one, which is in `cycle` then. It was there at one moment: two readings agree on each edge, and all in it are
/// alive, which `is_alive` is asked of those of other slots. Takes no memory from the allocator.
pub fn find<G: WaitGraph>(
    graph: &G,
    last: usize,
    is_alive: &dyn Fn(usize) -> bool,
    cycle: &mut Cycle,
) -> bool {
    let Some(closed) = Began::of(graph, last) else { return false };
    let mut search = Search { graph, closed, seen: [Skipped::NONE, Skipped::NONE] };
    if !search.read_first(cycle) {
        return false;
    }
    // Partner: the full fence in `WaitWord::end`.
    full_fence_unless(Mutant::NoFenceBetweenReadings);
    stands(graph, cycle.edges(), |edge| edge.waiter == last || is_alive(edge.waiter))
}

/// The second reading: whether each edge is as it was, and then whether each waiter lives.
fn stands(graph: &impl WaitGraph, edges: &[Edge], is_alive: impl Fn(&Edge) -> bool) -> bool {
    let is_unchanged = |edge: &Edge| Edge::read(graph, edge.waiter, edge.blocker, edge.next) == Some(*edge);
    edges.iter().all(is_unchanged) && edges.iter().all(is_alive)
}

/// Returns a circle for each wait that closed one, as [`find`] does.
pub fn all(graph: &impl WaitGraph, is_alive: &dyn Fn(usize) -> bool) -> Vec<Cycle> {
    let closed_by = |slot: usize| {
        let mut cycle = Cycle::default();
        find(graph, slot, is_alive, &mut cycle).then_some(cycle)
    };
    (0..graph.slots_bound()).filter_map(closed_by).collect()
}

/// When a wait began: those that may be told are told in the order of this.
#[derive(Clone, Copy)]
struct Began {
    may_be_told: bool,
    since: u64,
    slot: usize,
}

impl Began {
    fn of(graph: &impl WaitGraph, slot: usize) -> Option<Self> {
        wait_of(graph, slot).map(|(since, may_be_told)| Self { may_be_told, since, slot })
    }

    /// Returns whether this wait, and not `other`, is the one that closed a circle in which both are.
    fn closed_after(self, other: Self) -> bool {
        (self.may_be_told, self.since, self.slot) > (other.may_be_told, other.since, other.slot)
    }
}

/// The first reading.
struct Search<'a, G> {
    graph: &'a G,
    /// The wait that is to have closed the circle.
    closed: Began,
    /// The slots from which no way leads back: those that were come to by a hold, and those that were come to through the queue.
    seen: [Skipped; 2],
}

/// How far the search has come at one node.
#[derive(Clone, Copy)]
struct Node {
    slot: usize,
    /// Whether the way came to it through the queue: it goes on by what keeps it out, which is a hold.
    by_queue: bool,
    /// Which slot is looked at next, first of all that hold, then of all that are queued.
    next: usize,
}

impl<G: WaitGraph> Search<'_, G> {
    /// Finds a way from the first slot back to it, depth first.
    fn read_first(&mut self, cycle: &mut Cycle) -> bool {
        let first = Node { slot: self.closed.slot, by_queue: false, next: 0 };
        let mut nodes = [first; Cycle::LONGEST];
        let mut depth = 0;
        cycle.cut(0);
        loop {
            cycle.cut(depth);
            match self.next_edge(&mut nodes[depth]) {
                Some(edge) if edge.next == self.closed.slot => {
                    // One that is come to through the queue is kept out by the next edge: here the first.
                    let goes_on =
                        edge.is_by_holding() || cycle.edges().first().is_some_and(Edge::is_by_holding);
                    if goes_on && cycle.push(edge) {
                        return true;
                    }
                }
                Some(edge) if depth + 1 < Cycle::LONGEST && self.is_to_be_seen(&edge) && cycle.push(edge) => {
                    depth += 1;
                    nodes[depth] = Node { slot: edge.next, by_queue: !edge.is_by_holding(), next: 0 };
                }
                Some(_) => {}
                None if depth == 0 => return false,
                None => depth -= 1,
            }
        }
    }

    /// Returns whether the way goes on by an edge: not to a wait that began later, nor where it has been.
    fn is_to_be_seen(&mut self, edge: &Edge) -> bool {
        let by_queue = !edge.is_by_holding();
        let is_later = Began::of(self.graph, edge.next).is_none_or(|next| next.closed_after(self.closed));
        // What was come to by a hold went on by either.
        let is_known = self.seen[0].has(edge.next) || by_queue && self.seen[1].has(edge.next);
        if !is_later && !is_known {
            self.seen[usize::from(by_queue)].insert(edge.next);
        }
        !is_later && !is_known
    }

    fn next_edge(&self, node: &mut Node) -> Option<Edge> {
        let graph = self.graph;
        let lock = graph.lock(WaitWord::of(graph, node.slot)?.region(graph)?);
        if lock.relation() == Relation::Permits {
            return None;
        }
        let bound = lock.slots_in_use().min(graph.slots_bound());
        let end = if node.by_queue { bound } else { 2 * bound };
        while node.next < end {
            let (by_holding, blocker) = (node.next < bound, node.next % bound);
            node.next += 1;
            let may_block = match by_holding {
                true => token_in(lock.held(blocker).load(Relaxed)).is_some(),
                false => blocker != node.slot && WaitWord::of(graph, blocker).is_some(),
            };
            let next = if may_block { waiting_slot_of(graph, blocker) } else { None };
            let edge = next.and_then(|next| Edge::read(graph, node.slot, blocker, next));
            if let Some(edge) = edge.filter(|edge| edge.is_by_holding() == by_holding) {
                return Some(edge);
            }
        }
        None
    }
}

/// Returns the slot by which the thread waits that has slot `slot`, if it waits: that slot as a rule. A thread that holds several
/// parts has several slots.
fn waiting_slot_of(graph: &impl WaitGraph, slot: usize) -> Option<usize> {
    if !graph.is_of_thread(slot) {
        return None;
    }
    let waits = |other: &usize| WaitWord::of(graph, *other).is_some() && graph.is_same_thread(slot, *other);
    std::iter::once(slot).chain(0..graph.slots_bound()).find(waits)
}
