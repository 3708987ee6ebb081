//! One participant's attempt at one lock, as configured.

use super::{
    local::Holding,
    site::{ClaimOf, Lock, Site},
};
use crate::algorithm::{
    Blocker, Place, Protocol,
    bias::BiasOwner,
    claim::{Claims, HoldClass},
    eviction::Eviction,
    ownership::Health,
    ring::{Membership, Rule},
};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::event::{Event, Happening};
use crate::sync::Ordering::Relaxed;
use crate::trace::{self, Step};

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

/// What orders those who want a lock: a queue, a rotation, or messages. What it does stands in [`super::discipline`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// First come first served among claims that conflict: the bakery's queue, with a bias.
    Queue,
    /// Each in turn: a ring.
    Ring {
        /// The ring's rule.
        rule: Rule,
        /// What the participant wants of it.
        membership: Membership,
    },
    /// By messages: a machine of `turnlock::message`, at the site.
    Messages,
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
    /// Somebody before us has changed what it claims: look again, from the same place.
    LookAgain,
}

/// One participant at one lock.
#[derive(Clone, Copy)]
pub struct Attempt<S: Site> {
    /// Participant and lock.
    pub site: S,
    /// How the lock is acquired.
    pub config: LockConfig,
    /// What of the lock it wants, or has.
    pub claim: ClaimOf<S>,
}

impl<S: Site> Attempt<S> {
    /// Returns whether the data that the lock protects can be trusted, as far as the lock knows.
    #[inline]
    pub fn health(&self) -> Health {
        self.site.lock().ownership().health()
    }

    /// Returns what the claim means for its holder.
    #[inline]
    pub fn hold_class(&self) -> HoldClass {
        self.site.lock().queue().1.hold_class(self.claim)
    }

    /// Notes for observers what happens to this participant.
    #[inline]
    pub fn note(&self, event: Event, token: u64) {
        let (slot, shared) = (self.site.me(), self.hold_class().is_shared());
        self.site.note(Happening { event, slot, shared, token });
    }

    /// Writes the claim down, before the doorway.
    #[inline]
    pub fn write_claim(&self) {
        self.site.lock().queue().1.write(self.site.me(), self.claim);
    }

    /// Begins an unlock. Returns how the lock is held, and the attempt with the claim by which it is: only from here on nobody
    /// else changes that.
    ///
    /// # Errors
    /// [`Error::NotOwner`] if the participant does not hold the lock (with this very token, where one is named);
    /// [`Error::ParticipantBusy`] if another call changes how it holds it.
    #[inline]
    pub fn begin_unlock(&self, token: Option<u64>) -> Result<(Self, Holding)> {
        let holding = self.site.local().begin_unlock(token, self.site.is_shared())?;
        Ok((self.as_claimed(), holding))
    }

    /// Begins something else that only the holder may do. As [`Attempt::begin_unlock`].
    #[inline]
    pub fn begin_change(&self) -> Result<(Self, Holding)> {
        let holding = self.site.local().begin_change(None, self.site.is_shared())?;
        Ok((self.as_claimed(), holding))
    }

    #[inline]
    fn as_claimed(&self) -> Self {
        Self { claim: self.site.claimed(self.claim), ..*self }
    }

    /// Gives up in the queue.
    #[cold]
    pub fn withdraw(&self) {
        let (site, lock, me) = (&self.site, self.site.lock(), self.site.me());
        // A child that was forked in the wait stands in no queue.
        if !site.is_ours() {
            return;
        }
        trace::at(Step::Withdraw);
        Eviction::step_back(lock.held(me));
        lock.queue().withdraw(me);
        lock.set_since(me, 0);
        lock.unpark(me);
    }

    /// Returns whether another participant is queued for good. Those that still let others pass only look in, and leave
    /// the queue again.
    pub fn is_another_queued_for_good(&self) -> bool {
        let for_good = |slot: usize| self.config.patience == 0 || self.site.lock().since(slot) != 0;
        self.site.lock().queue().is_another_queued(self.site.me(), for_good)
    }

    /// Returns whether another participant stands in the queue that is not inside.
    pub fn is_another_waiting(&self) -> bool {
        let lock = self.site.lock();
        lock.queue().is_another_queued(self.site.me(), |slot| {
            lock.held(slot).load(Relaxed) == 0
                && lock.queue().place(slot) != Place::Idle
                && !lock.queue().1.is_reserved(slot)
        })
    }
}
