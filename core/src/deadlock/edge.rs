//! One edge: a thread waits for another one, which waits too.

use super::{
    graph::{WaitGraph, WaitedLock},
    wait_word::WaitWord,
};
use crate::algorithm::{
    Place,
    claim::{Claim, Mode, Relation},
    ownership::token_in,
};
use crate::sync::Ordering::Acquire;

/// A thread waits for a lock, and another one is in its way, which waits as well. Two that are equal say that nothing of it has
/// changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The slot by which it waits.
    pub waiter: usize,
    /// The lock that it waits for.
    pub region: usize,
    /// What it wants of the lock.
    pub wants: Claim,
    /// Since when it has waited (`CLOCK_MONOTONIC`, nanoseconds).
    pub since: u64,
    /// The slot that is in its way.
    pub blocker: usize,
    /// How.
    pub blocks: Blocks,
    /// What the blocker has or wants of the lock.
    pub has: Claim,
    /// The slot by which the blocker's thread waits.
    pub next: usize,
    word: WaitWord,
    next_word: WaitWord,
    /// How often the three slots changed hands.
    generations: [u64; 3],
}

/// Why a slot is in the way of a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blocks {
    /// It holds the lock, with this fencing token.
    ByHolding(u64),
    /// It stands in the queue before the waiter: its number, and the waiter's, or 0 if that is in the passive set.
    ByQueueing(u64, u64),
}

impl Edge {
    /// A place for one.
    pub(super) const NONE: Self = Self {
        waiter: 0,
        region: 0,
        wants: Claim::EVERYTHING,
        since: 0,
        blocker: 0,
        blocks: Blocks::ByHolding(0),
        has: Claim::EVERYTHING,
        next: 0,
        word: WaitWord::NONE,
        next_word: WaitWord::NONE,
        generations: [0; 3],
    };

    /// Reads the edge from the thread that waits by slot `waiter` to that of slot `blocker`, which waits by slot `next`. `None`: there is
    /// none.
    ///
    /// In this order, by acquire loads, so that none is moved before another: the waiter's wait, the hold, the wait of the thread that
    /// holds.
    pub fn read(graph: &impl WaitGraph, waiter: usize, blocker: usize, next: usize) -> Option<Self> {
        let generations = [waiter, blocker, next].map(|slot| graph.generation(slot).load(Acquire));
        let word = WaitWord::of(graph, waiter)?;
        let region = word.region(graph)?;
        let lock = graph.lock(region);
        let since = lock.waiting_since(waiter);
        let wants = lock.claim(waiter);
        let held = token_in(lock.held(blocker).load(Acquire));
        let mut has = lock.claim(blocker);
        let is_in_the_way = match held {
            // One that upgrades waits for others to be outside.
            Some(_) if blocker == waiter => return None,
            Some(token) => {
                // One that is upgrading holds the lock upgradable; that later readers wait for it is a matter of the queue.
                let mode = if has.mode == Mode::Upgrading { Mode::Upgradable } else { has.mode.held() };
                let holds = Claim { mode, ..has };
                lock.conflict(wants, holds).then(|| {
                    has = holds;
                    Blocks::ByHolding(token)
                })
            }
            None => None,
        };
        let blocks = match is_in_the_way {
            Some(blocks) => blocks,
            None => before_in_the_queue(&lock, (waiter, wants), (blocker, has))?,
        };
        let is_thread = graph.is_of_thread(blocker) && graph.is_same_thread(blocker, next);
        let next_word = WaitWord::of(graph, next).filter(|_| is_thread)?;
        let is_at_one_lock = matches!(blocks, Blocks::ByHolding(_))
            || blocker == next && next_word.region(graph) == Some(region);
        (since != 0 && is_at_one_lock).then_some(Self {
            waiter,
            region,
            wants,
            since,
            blocker,
            blocks,
            has,
            next,
            word,
            next_word,
            generations,
        })
    }

    /// Returns whether the blocker keeps the waiter out by what it holds.
    pub fn is_by_holding(&self) -> bool {
        matches!(self.blocks, Blocks::ByHolding(_))
    }
}

/// Returns when the wait of slot `slot` began, and whether it may be told of a deadlock; `None`: it is no thread that waits.
pub fn wait_of(graph: &impl WaitGraph, slot: usize) -> Option<(u64, bool)> {
    let word = WaitWord::of(graph, slot)?;
    let since = graph.lock(word.region(graph)?).waiting_since(slot);
    (since != 0).then_some((since, word.may_be_told()))
}

/// Returns the numbers of a slot that is queued for good before the waiter. One that is not queued for good may leave the queue, and one
/// that was evicted is passed over.
fn before_in_the_queue(
    lock: &impl WaitedLock,
    (waiter, wants): (usize, Claim),
    (before, theirs): (usize, Claim),
) -> Option<Blocks> {
    // Where every two claims conflict, whoever keeps the one before out keeps the waiter out too, and that is the shorter way. (And the
    // queue of a ring, or of a lock by messages, is for something else.)
    if lock.relation() == Relation::Always || !lock.has_queue() {
        return None;
    }
    let Place::Numbered(number) = lock.place(before) else { return None };
    let is_inside = lock.held(before).load(Acquire) != 0;
    let waits = !is_inside || theirs.mode == Mode::Upgrading;
    if !waits || lock.since(before) == 0 || lock.is_evicted(before) {
        return None;
    }
    match lock.place(waiter) {
        Place::Numbered(mine) => {
            let is_before = (number, before) < (mine, waiter) && lock.conflict(wants, theirs);
            is_before.then_some(Blocks::ByQueueing(number, mine))
        }
        // It does not come back from the passive set before the designated waker has had its turn, whatever the two want: as long as that
        // one is kept out by a holder, no other participant takes its place.
        Place::Idle => {
            let is_passive = lock.passive(waiter).load(Acquire) != 0;
            let designated = lock.designated_waker().load(Acquire) as usize;
            (is_passive && designated == before + 1).then_some(Blocks::ByQueueing(number, 0))
        }
        Place::Choosing | Place::Corrupt(_) => None,
    }
}
