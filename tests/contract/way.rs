//! What the contract is written against, and the ways in: an adapter for each lock and each way to take it.
//!
//! Failures are the stable numbers, the same for all of them.

use std::{path::Path, time::Duration};
use turnlock::inspect::WaiterState;

/// How long to wait for a lock.
#[derive(Clone, Copy, Debug)]
pub enum Wait {
    Never,
    For(Duration),
    Forever,
}

/// An open file, and one kind of lock in it, taken in one way.
pub trait Way: Sized + Send + Sync + 'static {
    type Party: Party + 'static;
    /// The same lock, taken by threads through the Rust API.
    type ByThreads: Way;
    /// How often each of a crowd takes the lock.
    const ROUNDS: u64 = 400;
    /// Whether waiters are served in the order in which they are shown.
    const AS_SHOWN: bool = true;
    /// Whether others may not know yet of one that is shown to wait: its place in the order takes messages.
    const ASKS_FOR_ITS_PLACE: bool = false;

    fn open(path: &Path, participants: u32, locks: u32) -> Result<Self, i32>;

    /// A participant at the lock called `name`: the calling thread, or a new one.
    fn party(&self, name: &str) -> Result<Self::Party, i32>;

    /// [`Way::party`], at a lock whose holder's death needs no repair if it is created now.
    fn party_where_death_releases(&self, name: &str) -> Result<Self::Party, i32>;
}

/// A participant at a lock.
pub trait Party: Sized {
    type Held<'a>: Held
    where
        Self: 'a;
    type Canceller: Cancel;

    /// The same participant at another lock of the same file.
    fn at(&self, name: &str) -> Self;

    fn lock(&self, wait: Wait) -> Result<Self::Held<'_>, i32>;

    /// Something by which any thread can cancel this participant's wait.
    fn canceller(&self) -> Self::Canceller;

    /// Opens the lock again after it was closed for good.
    fn reset(&self, wait: Wait) -> Result<(), i32>;

    /// Who has the lock: fencing token, process, thread.
    fn holder(&self) -> Option<(u64, u32, u32)>;

    /// The threads that wait for it, first the one that is next, and where.
    fn waiters(&self) -> Vec<(u32, WaiterState)>;

    /// Who died holding the lock, last: fencing token, process, thread, label.
    fn previous_owner(&self) -> Option<(u64, u32, u32, String)>;
}

/// The lock, held. Dropping it means nothing: the cases call `unlock`, or `forget` it.
pub trait Held {
    fn fencing_token(&self) -> u64;
    fn previous_owner_died(&self) -> bool;
    fn mark_consistent(&mut self) -> Result<(), i32>;
    fn is_contended(&self) -> bool;
    fn unlock(self) -> Result<(), i32>;
}

/// Cancels a wait.
pub trait Cancel: Send + Sync + 'static {
    fn cancel(&self);
    fn take_back(&self);
}

/// A way without guards: giving back and healing what one does not have can be said.
pub trait WithoutGuards: Party {
    /// Whether the calls name the lock: else it is whichever is held.
    fn names_the_lock(&self) -> bool;
    fn unlock_without_asking(&self) -> Result<(), i32>;
    fn mark_consistent_without_asking(&self) -> Result<(), i32>;
}
