//! One participant's attempt at one lock, as configured.

use super::{
    fast_path::FastPath,
    local::Holding,
    site::{Lock, Site},
};
use crate::algorithm::{
    Place, Protocol,
    claim::{Claims, HoldClass},
    eviction::Eviction,
    light_barrier::LightBarrier,
    ownership::Health,
};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::event::{Event, Happening};
use crate::sync::Ordering::Relaxed;
use crate::trace::{self, Step};

pub use super::site::{Attempt, BlockedBy, Discipline, LockConfig, Progress};

impl<S: Site> Attempt<S> {
    /// Returns whether the data that the lock protects can be trusted, as far as the lock knows.
    #[inline]
    pub fn health(&self) -> Health {
        self.site.lock().ownership().health()
    }

    /// Returns what the fast path takes of the participant.
    #[inline]
    pub fn fast_path(&self) -> FastPath<'_, impl LightBarrier> {
        let (site, lock) = (&self.site, self.site.lock());
        FastPath {
            local: site.local(),
            held: lock.held(site.me()),
            ownership: lock.ownership(),
            light: site.light(),
        }
    }

    /// Returns what the claim means for its holder.
    #[inline]
    pub fn hold_class(&self) -> HoldClass {
        self.site.lock().queue().claims.hold_class(self.claim)
    }

    /// Notes for observers what happens to this participant.
    #[inline]
    pub fn note(&self, event: Event, value: u64) {
        let (slot, shared) = (self.site.me(), self.hold_class().is_shared());
        self.site.note(Happening { event, slot, shared, value });
    }

    /// Notes for observers that this participant wants the lock.
    #[inline]
    pub fn note_asked(&self) {
        match self.site.lock().queue().claims.group(self.claim) {
            Some(group) => self.note(Event::AskedInGroup, group),
            None => self.note(Event::Asked, 0),
        }
    }

    /// Writes the claim down, before the doorway.
    #[inline]
    pub fn write_claim(&self) {
        self.site.lock().queue().claims.write(self.site.me(), self.claim);
    }

    /// Begins an unlock. Returns how the lock is held, and has this attempt say the claim by which it is. Another call may
    /// have changed that before; from here on none does.
    ///
    /// # Errors
    /// [`Error::NotOwner`] if the participant does not hold the lock (with this very token, where one is named);
    /// [`Error::ParticipantBusy`] if another call changes how it holds it.
    #[inline]
    pub fn begin_unlock(&mut self, token: Option<u64>) -> Result<Holding> {
        let holding = self.site.local().begin_unlock(token, self.site.is_shared())?;
        self.claim = self.site.claimed(self.claim);
        Ok(holding)
    }

    /// Begins something else that only the holder may do. As [`Attempt::begin_unlock`].
    #[inline]
    pub fn begin_change(&mut self) -> Result<Holding> {
        let holding = self.site.local().begin_change(None, self.site.is_shared())?;
        self.claim = self.site.claimed(self.claim);
        Ok(holding)
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
        lock.unpark_waiters_of(me);
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
                && !lock.queue().claims.is_reserved(slot)
        })
    }
}
