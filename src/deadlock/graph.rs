//! The words of a file that a search reads.

use crate::layout::{Algorithm, Kind, SlotState, View};
use crate::registers::{Claimed, FileLock};
use turnlock_core::acquire::site::Lock;
use turnlock_core::algorithm::{
    Place, Protocol,
    claim::{Claim, Claims, Relation},
};
use turnlock_core::deadlock::{WaitGraph, WaitedLock};
use turnlock_core::sync::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed},
};

impl WaitGraph for View<'_> {
    type Lock<'a>
        = FileLock<'a, Claimed>
    where
        Self: 'a;

    fn slots_bound(&self) -> usize {
        View::slots_bound(self)
    }

    fn generation(&self, slot: usize) -> &AtomicU64 {
        &self.slots()[slot].generation
    }

    fn wait(&self, slot: usize) -> &AtomicU64 {
        &self.slots()[slot].wait
    }

    fn is_of_thread(&self, slot: usize) -> bool {
        let record = &self.slots()[slot];
        let generation = record.generation.load(Acquire) as u32;
        // Acquire. Partner of the second: the release store in `slots::occupy`: a newcomer's mark is not read with the wait of the one
        // before.
        generation != 0
            && record.thread_generation.load(Acquire) == generation
            && record.state.load(Acquire) == SlotState::InUse as u32
    }

    fn is_same_thread(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.slots()[one], &self.slots()[other]);
        std::ptr::eq(one, other)
            || one.tid.load(Relaxed) == other.tid.load(Relaxed)
                && one.pid.load(Relaxed) == other.pid.load(Relaxed)
                && one.pid_namespace.load(Relaxed) == other.pid_namespace.load(Relaxed)
    }

    fn has_lock(&self, region: usize) -> bool {
        (1..=self.locks_bound()).contains(&region)
    }

    fn lock(&self, region: usize) -> FileLock<'_, Claimed> {
        FileLock::of_any_kind(*self, region)
    }
}

impl WaitedLock for FileLock<'_, Claimed> {
    fn relation(&self) -> Relation {
        self.claims.relation
    }

    fn conflict(&self, one: Claim, other: Claim) -> bool {
        self.queue().claims.conflict(one, other)
    }

    /// That of a ring, or of a lock by messages, is for something else.
    fn has_queue(&self) -> bool {
        let entry = &self.view.directory()[self.region - 1];
        let by_messages = Algorithm::of(entry.algorithm.load(Relaxed)).is_some_and(Algorithm::is_by_messages);
        !by_messages && Kind::of(entry.kind.load(Relaxed)) != Some(Kind::TurnRing)
    }

    fn slots_in_use(&self) -> usize {
        self.lock.header.slots_in_use.load(Relaxed) as usize
    }

    fn waiting_since(&self, slot: usize) -> u64 {
        FileLock::waiting_since(self, slot)
    }

    fn claim(&self, slot: usize) -> Claim {
        self.queue().claims.read(slot)
    }

    fn held(&self, slot: usize) -> &AtomicU64 {
        Lock::held(self, slot)
    }

    fn place(&self, slot: usize) -> Place {
        self.queue().place(slot)
    }

    fn since(&self, slot: usize) -> u64 {
        Lock::since(self, slot)
    }

    fn is_evicted(&self, slot: usize) -> bool {
        self.eviction(slot).is_evicted()
    }

    fn passive(&self, slot: usize) -> &AtomicU64 {
        &self.lock.passive()[slot]
    }

    fn designated_waker(&self) -> &AtomicU32 {
        &self.lock.words.designated_waker
    }
}
