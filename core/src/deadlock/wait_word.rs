//! What a slot says of its participant's wait.

use super::graph::WaitGraph;
use crate::mutants::{Mutant, full_fence_unless, release_unless};
use crate::sync::{
    AtomicU64,
    Ordering::{Acquire, Relaxed},
};

/// The word of a wait without a limit, of a thread's own slot: region + 1 in the low 16 bits, or 0; whether the wait may be told of a
/// deadlock; and how often the word was written.
///
/// Written by the thread alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WaitWord(u64);

const REGION: u64 = 0xffff;
const MAY_BE_TOLD: u64 = 1 << 16;
const ONE: u64 = 1 << 17;

impl WaitWord {
    /// No wait.
    pub const NONE: Self = Self(0);

    /// Says, in the slot's word, that the thread waits for the lock in `region`, without a limit. Returns what stood there, for
    /// [`WaitWord::end`].
    pub fn begin(wait: &AtomicU64, region: usize, may_be_told: bool) -> Self {
        let before = Self(wait.load(Relaxed));
        let told = if may_be_told { MAY_BE_TOLD } else { 0 };
        let word = before.next() | (region as u64 + 1) | told;
        // Release. Partner: the acquire load in `of`: a reader of the word sees all that the thread holds, and its claim.
        wait.store(word, release_unless(Mutant::RelaxedWait));
        before
    }

    /// Says that it does not any more, but as `before` says: a signal handler's wait ends inside the one that it interrupted.
    pub fn end(wait: &AtomicU64, before: Self) {
        let now = Self(wait.load(Relaxed));
        wait.store(now.next() | before.0 & (ONE - 1), Relaxed);
        // Partner: the full fence between the two readings. If ours comes first, the second reading does not read the wait; if theirs
        // does, the wait was under way between the two.
        full_fence_unless(Mutant::NoFenceAfterWait);
    }

    fn next(self) -> u64 {
        (self.0 & !(ONE - 1)).wrapping_add(ONE)
    }

    /// Returns the word of `slot`, if its participant is a thread that waits.
    pub fn of(graph: &impl WaitGraph, slot: usize) -> Option<Self> {
        if !graph.is_of_thread(slot) {
            return None;
        }
        // Acquire. Partner: the release store in `begin`.
        let word = Self(graph.wait(slot).load(Acquire));
        word.region(graph).map(|_| word)
    }

    /// Returns the lock that is waited for.
    pub fn region(self, graph: &impl WaitGraph) -> Option<usize> {
        let region = ((self.0 & REGION) as usize).checked_sub(1)?;
        graph.has_lock(region).then_some(region)
    }

    /// Returns whether the wait may end by the error that says so.
    pub fn may_be_told(self) -> bool {
        self.0 & MAY_BE_TOLD != 0
    }
}
