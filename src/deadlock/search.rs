//! The search for circles, and the second reading.

use super::{
    cycle::Cycle,
    edge::{Edge, lock_in, wait_of},
    wait_word::{self, WaitWord},
};
use crate::layout::View;
use crate::os::liveness_lock::Seen;
use turnlock_core::acquire::site::Lock;
use turnlock_core::algorithm::{claim::Relation, eviction::Skipped, ownership::token_in};
use turnlock_core::sync::{Ordering::Relaxed, full_fence};

/// How the life of a slot's participant is asked for.
pub type Look<'a> = &'a dyn Fn(usize) -> Seen;

/// Looks for a circle that the wait by slot `last` closed: of the waits in it that may be told, `last` began its own after all others. Returns
/// whether there is one, which is in `cycle` then. It was there at one moment: two readings agree on each edge, and all in it are
/// alive. Takes no memory from the allocator.
pub fn find(view: View, last: usize, look: Look, cycle: &mut Cycle) -> bool {
    let Some(closed) = Began::of(view, last) else { return false };
    let mut search = Search { view, closed, seen: [Skipped::NONE, Skipped::NONE] };
    if !search.read_first(cycle) {
        return false;
    }
    // Between the last load of the first reading and the first of the second one.
    full_fence();
    stands(view, cycle.edges(), |edge| edge.waiter == last || look(edge.waiter) == Seen::Alive)
}

/// The second reading: whether each edge is as it was, and then whether each waiter lives.
fn stands(view: View, edges: &[Edge], is_alive: impl Fn(&Edge) -> bool) -> bool {
    let is_unchanged = |edge: &Edge| Edge::read(view, edge.waiter, edge.blocker, edge.next) == Some(*edge);
    edges.iter().all(is_unchanged) && edges.iter().all(is_alive)
}

/// Returns a circle for each wait that closed one, as [`find`] does.
pub fn all(view: View, look: Look) -> Vec<Cycle> {
    let closed_by = |slot: usize| {
        let mut cycle = Cycle::default();
        find(view, slot, look, &mut cycle).then_some(cycle)
    };
    (0..view.slots_bound()).filter_map(closed_by).collect()
}

/// When a wait began: those that may be told are told in the order of this.
#[derive(Clone, Copy)]
struct Began {
    may_be_told: bool,
    since: u64,
    slot: usize,
}

impl Began {
    fn of(view: View, slot: usize) -> Option<Self> {
        wait_of(view, slot).map(|(since, may_be_told)| Self { may_be_told, since, slot })
    }

    /// Returns whether this wait, and not `other`, is the one that closed a circle in which both are.
    fn closed_after(self, other: Self) -> bool {
        (self.may_be_told, self.since, self.slot) > (other.may_be_told, other.since, other.slot)
    }
}

/// The first reading.
struct Search<'a> {
    view: View<'a>,
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

impl Search<'_> {
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
        let is_later = Began::of(self.view, edge.next).is_none_or(|next| next.closed_after(self.closed));
        // What was come to by a hold went on by either.
        let is_known = self.seen[0].has(edge.next) || by_queue && self.seen[1].has(edge.next);
        if !is_later && !is_known {
            self.seen[usize::from(by_queue)].insert(edge.next);
        }
        !is_later && !is_known
    }

    fn next_edge(&self, node: &mut Node) -> Option<Edge> {
        let view = self.view;
        let lock = lock_in(view, WaitWord::of(view, node.slot)?.region(view)?);
        if lock.claims.relation == Relation::Permits {
            return None;
        }
        // Relaxed: who comes later is found at the next search.
        let bound = (lock.lock.header.slots_in_use.load(Relaxed) as usize).min(view.slots_bound());
        let end = if node.by_queue { bound } else { 2 * bound };
        while node.next < end {
            let (by_holding, blocker) = (node.next < bound, node.next % bound);
            node.next += 1;
            let may_block = match by_holding {
                true => token_in(lock.held(blocker).load(Relaxed)).is_some(),
                false => blocker != node.slot && WaitWord::of(view, blocker).is_some(),
            };
            let next = if may_block { waiting_slot_of(view, blocker) } else { None };
            let edge = next.and_then(|next| Edge::read(view, node.slot, blocker, next));
            if let Some(edge) = edge.filter(|edge| edge.is_by_holding() == by_holding) {
                return Some(edge);
            }
        }
        None
    }
}

/// Returns the slot by which the thread waits that has slot `slot`, if it waits: that slot as a rule. A thread that holds several
/// parts has several slots.
fn waiting_slot_of(view: View, slot: usize) -> Option<usize> {
    let record = &view.slots()[slot];
    if !wait_word::is_of_thread(record) {
        return None;
    }
    let waits = |other: &usize| {
        WaitWord::of(view, *other).is_some() && wait_word::is_same_thread(record, &view.slots()[*other])
    };
    std::iter::once(slot).chain(0..view.slots_bound()).find(waits)
}
