//! One participant's attempt at one lock, as configured.

use super::{
    local::Holding,
    site::{Lock, Site},
};
use crate::algorithm::{
    Blocker,
    bias::BiasOwner,
    ownership::Health,
    ring::{Membership, Rule},
};
use crate::error::{Error, Result};

/// How a handle acquires the lock: what the file fixes and, for a ring, what this handle wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockConfig {
    /// For how long a waiter lets others pass, in nanoseconds.
    pub patience: u64,
    /// Whether the lock may be biased.
    pub may_be_biased: bool,
    /// Whether a holder's death needs no repair: the next one is told, and that is all.
    pub release_on_death: bool,
    /// Who comes after whom.
    pub discipline: Discipline,
}

/// What orders those who want a lock: a queue or a rotation. What it does stands in [`super::discipline`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// First come first served: the bakery's queue, with a bias.
    Queue,
    /// Each in turn: a ring.
    Ring {
        /// The ring's rule.
        rule: Rule,
        /// What the participant wants of it.
        membership: Membership,
    },
}

/// What an unfinished acquisition waits for.
#[derive(Clone, Copy, Debug)]
pub enum BlockedBy {
    /// An earlier participant in the queue.
    Queue(Blocker),
    /// The bias owner, which uses the lock.
    Bias(BiasOwner),
}

/// What a part of an acquisition came to.
pub enum Progress<T> {
    /// It is done.
    Done(T),
    /// Others may still pass: leave the queue and come back.
    BackOff(BlockedBy),
    /// Others passed over us: queue again.
    Evicted,
}

/// One participant at one lock.
#[derive(Clone, Copy)]
pub struct Attempt<S> {
    /// Participant and lock.
    pub site: S,
    /// How the lock is acquired.
    pub config: LockConfig,
}

impl<S: Site> Attempt<S> {
    /// Returns whether the data that the lock protects can be trusted, as far as the lock knows.
    #[inline]
    pub fn health(&self) -> Health {
        self.site.lock().ownership().health()
    }

    /// Begins an unlock, or something else that only the holder may do.
    ///
    /// # Errors
    /// [`Error::NotOwner`] if the participant does not hold the lock (with this very token, where one is named).
    #[inline]
    pub fn begin_unlock(&self, token: Option<u64>) -> Result<Holding> {
        self.site.local().begin_unlock(token, self.site.is_shared()).ok_or(Error::NotOwner)
    }

    /// Returns whether another participant is queued for good. Those that still let others pass only look in, and leave
    /// the queue again.
    pub fn is_another_queued_for_good(&self) -> bool {
        let for_good = |slot: usize| self.config.patience == 0 || self.site.lock().since(slot) != 0;
        self.site.lock().queue().is_another_queued(self.site.me(), for_good)
    }
}
