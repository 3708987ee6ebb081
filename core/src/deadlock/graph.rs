//! What a search reads of the threads that wait, and of the locks that they wait for.

use crate::algorithm::{
    Place,
    claim::{Claim, Relation},
};
use crate::sync::{AtomicU32, AtomicU64};

/// The words of all slots and locks, which others change meanwhile. A slot is less than [`WaitGraph::slots_bound`].
pub trait WaitGraph {
    /// One of the locks.
    type Lock<'a>: WaitedLock
    where
        Self: 'a;

    /// Returns how many slots there are.
    fn slots_bound(&self) -> usize;
    /// Returns the word that goes up by one whenever the slot changes hands.
    fn generation(&self, slot: usize) -> &AtomicU64;
    /// Returns the slot's [`super::WaitWord`].
    fn wait(&self, slot: usize) -> &AtomicU64;
    /// Returns whether the slot is a thread's own, so that no other thread takes or releases a lock by it.
    fn is_of_thread(&self, slot: usize) -> bool;
    /// Returns whether two slots are of one thread: one that holds several parts has several slots.
    fn is_same_thread(&self, one: usize, other: usize) -> bool;

    /// Returns whether there is a lock of this number. A wait word may have any, since other programs may write the file.
    fn has_lock(&self, region: usize) -> bool;
    /// Returns the lock of this number, which is there.
    fn lock(&self, region: usize) -> Self::Lock<'_>;
}

/// One lock, whatever its kind.
pub trait WaitedLock {
    /// Returns which claims conflict, as its kind says.
    fn relation(&self) -> Relation;
    /// Returns whether the two keep each other out.
    fn conflict(&self, one: Claim, other: Claim) -> bool;
    /// Returns whether its waiters stand in the bakery's queue for it.
    fn has_queue(&self) -> bool;
    /// Returns how many slots may have been used. One that is more is found at the next search.
    fn slots_in_use(&self) -> usize;

    /// Returns since when the slot has waited, in nanoseconds; 0: it does not.
    fn waiting_since(&self, slot: usize) -> u64;
    /// Returns what the slot has or wants of the lock, by acquire loads.
    fn claim(&self, slot: usize) -> Claim;
    /// Returns the slot's `held` word, see [`crate::algorithm::ownership`].
    fn held(&self, slot: usize) -> &AtomicU64;

    /// Returns where the slot stands in the queue.
    fn place(&self, slot: usize) -> Place;
    /// Returns since when the slot has held the lock or has been queued for good, in nanoseconds; 0: unknown.
    fn since(&self, slot: usize) -> u64;
    /// Returns whether the slot's present doorway lost its place.
    fn is_evicted(&self, slot: usize) -> bool;
    /// Returns the word that is not 0 while the slot is in the passive set.
    fn passive(&self, slot: usize) -> &AtomicU64;
    /// Returns the word with the slot of the designated waker + 1, or 0.
    fn designated_waker(&self) -> &AtomicU32;
}
