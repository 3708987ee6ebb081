//! Lock, unlock and what a holder may do, written once for every kind of lock, every algorithm and every site.
//!
//! The steps have the names of [`crate::trace::Step`], which the models in `spec/` use too.

use super::{
    asking, eviction, link, liveness,
    local::{Holding, Idle},
    site::{Attempt, ClaimOf, HeadOf, Limit, Lock, QueueHead, Site},
};
use crate::algorithm::{claim::HoldClass, ownership::Health};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::sync::Ordering::Acquire;
use crate::trace::{self, Step};

/// An acquisition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquisition {
    /// The fencing token.
    pub token: u64,
    /// The previous holder died inside.
    pub owner_dead: bool,
}

impl<S: Site> Attempt<S> {
    /// Takes the lock, or waits for it as long as `limit` says.
    ///
    /// # Errors
    /// [`Error::NotRecoverable`]; [`Error::Deadlock`] if the participant holds it already; [`Error::WouldBlock`],
    /// [`Error::TimedOut`], [`Error::Cancelled`], [`Error::Interrupted`]; what the site's checks give.
    #[inline]
    pub fn lock(&self, limit: Limit) -> Result<Acquisition> {
        // Another core had them last, as a rule: both lines come at once, while we do the rest.
        self.site.prefetch();
        self.note_asked();
        match self.try_lock_or_wait(limit) {
            Ok(acquisition) => {
                self.note(Event::Acquired, acquisition.token);
                Ok(acquisition)
            }
            Err(error) => Err(self.give_up(error, self.claim)),
        }
    }

    #[inline]
    fn try_lock_or_wait(&self, limit: Limit) -> Result<Acquisition> {
        if self.health() == Health::NotRecoverable && link::is_closed(self) {
            return Err(Error::NotRecoverable);
        }
        let token = self.acquire(limit)?;
        match self.health() {
            Health::NotRecoverable => {
                let mut held = *self;
                let holding = held.begin_unlock(None)?;
                held.leave(holding);
                Err(Error::NotRecoverable)
            }
            Health::Inconsistent => {
                if self.config.release_on_death {
                    self.site.lock().ownership().mark_consistent();
                    self.note(Event::Recovered, token);
                }
                Ok(Acquisition { token, owner_dead: true })
            }
            Health::Consistent => {
                self.reap_members();
                let owner_dead = self.site.lock().is_told_of_death(self.site.me(), self.claim);
                if owner_dead && self.config.release_on_death {
                    self.site.lock().mark_deaths_consistent(self.site.me(), self.claim, true);
                    self.note(Event::Recovered, token);
                }
                Ok(Acquisition { token, owner_dead })
            }
        }
    }

    /// Acts for members of a group that died inside: one of the same group, which does not wait for them, is to be told of their
    /// deaths all the same.
    #[inline]
    fn reap_members(&self) {
        let (lock, me) = (self.site.lock(), self.site.me());
        // Acquire. Partner: the release in `Ownership::forget`: if a reaper has cleared it, we see that it counted the death.
        let is_inside = |slot: usize| lock.held(slot).load(Acquire) != 0;
        if self.hold_class() == HoldClass::Member && lock.queue().is_another_queued(me, is_inside) {
            let mut waiter = self.site.waiter(Limit::Never, 0, false);
            // One that cannot be looked at now is taken to be alive.
            let _ = eviction::reap_insiders(self, &mut waiter);
        }
    }

    /// Takes the lock, and opens it again if it was not recoverable (or inconsistent). Errors as [`Attempt::lock`].
    pub fn lock_and_reset(&self, limit: Limit) -> Result<Acquisition> {
        self.note_asked();
        match self.acquire_and_reset(limit) {
            Ok(acquisition) => {
                self.note(Event::Acquired, acquisition.token);
                self.note(Event::Recovered, acquisition.token);
                Ok(acquisition)
            }
            Err(error) => Err(self.give_up(error, self.claim)),
        }
    }

    fn acquire_and_reset(&self, limit: Limit) -> Result<Acquisition> {
        if self.health() == Health::NotRecoverable && link::is_closed(self) {
            let local = self.site.local();
            let Some(idle) = local.begin() else { return Err(Error::Deadlock) };
            if idle != Idle::Bare {
                HeadOf::<S>::forgo(self, idle);
            }
            let renewed = self.config.discipline.renew(self, limit);
            local.record(None);
            renewed?;
        }
        let token = self.acquire(limit)?;
        self.site.lock().ownership().mark_consistent();
        self.site.lock().mark_deaths_consistent(self.site.me(), self.claim, false);
        Ok(Acquisition { token, owner_dead: false })
    }

    /// Notes for observers that an acquisition of `claim` came to nothing. Returns the error, which says who has the lock if that
    /// is why.
    #[cold]
    pub fn give_up(&self, error: Error, claim: ClaimOf<S>) -> Error {
        if matches!(error, Error::WouldBlock(_)) {
            asking::note_failed_try(self);
        }
        let (event, error) = match error {
            Error::WouldBlock(_) => (Event::WouldBlock, Error::WouldBlock(self.site.locked_by(claim))),
            Error::TimedOut(_) => (Event::TimedOut, Error::TimedOut(self.site.locked_by(claim))),
            Error::CircularWait(_) => (Event::CircularWait, error),
            error => (Event::GaveUp, error),
        };
        self.note(event, 0);
        error
    }

    fn acquire(&self, limit: Limit) -> Result<u64> {
        self.site.check_intact()?;
        let local = self.site.local();
        let Some(left) = local.idle() else { return Err(Error::Deadlock) };
        if let Some(token) = self.config.discipline.retake(self, left) {
            return Ok(token);
        }
        // If a signal handler has come meanwhile, it is what that one left.
        let Some(idle) = local.begin() else { return Err(Error::Deadlock) };
        self.site.note_claim(self.claim);
        let entered = self.config.discipline.acquire(self, limit, idle);
        local.record(entered.as_ref().ok().copied());
        entered.map(|holding| holding.token)
    }

    /// Unlocks (the acquisition with this very token, where one is named).
    ///
    /// # Errors
    /// As [`Attempt::begin_unlock`]; after the unlock, what the site's checks give, and [`Error::LeaseEnded`].
    #[inline]
    pub fn unlock(mut self, token: Option<u64>) -> Result<()> {
        let holding = self.begin_unlock(token)?;
        self.end(holding)
    }

    /// Unlocks what [`Attempt::begin_unlock`] or [`Attempt::begin_change`] found.
    #[inline]
    pub fn end(&self, holding: Holding) -> Result<()> {
        self.note(Event::Released, holding.token);
        // Before: as soon as it is left, its agent may bring it home anew.
        let has_lease_ended = link::has_lease_ended(self);
        self.leave(holding);
        // After: the unlock may be the first to touch what a truncated file has no more.
        self.site.check_after_unlock()?;
        if has_lease_ended { Err(Error::LeaseEnded) } else { Ok(()) }
    }

    /// Completes an unlock by the fast path that found the bias revoked, or the reservation lost: unparks the waiters
    /// for that.
    #[cold]
    pub fn complete_unlock(&self) -> Result<()> {
        HeadOf::<S>::complete_leave(self);
        self.site.lock().unpark_waiters_of(self.site.me());
        self.site.check_after_unlock()
    }

    /// Unlocks as a dying holder does: the next one gets the owner-dead notice. Errors as [`Attempt::unlock`].
    pub fn abandon(mut self, token: Option<u64>) -> Result<()> {
        self.begin_unlock(token)?;
        liveness::clear(self.site.lock(), self.site.me());
        self.config.discipline.abandon(&self);
        self.site.local().record(None);
        Ok(())
    }

    /// Has the participant, which does not hold the lock, wait for it no more: a member for every turn leaves its ring.
    ///
    /// # Errors
    /// [`Error::StillHeld`].
    pub fn depart(&self) -> Result<()> {
        let local = self.site.local();
        let Some(idle) = local.begin() else { return Err(Error::StillHeld) };
        self.config.discipline.depart(self, idle);
        local.record(None);
        Ok(())
    }

    /// Marks the data that a dead owner left as consistent.
    ///
    /// # Errors
    /// As [`Attempt::begin_unlock`]; [`Error::NotExclusive`] if it is held as by a reader; [`Error::NotInconsistent`]
    /// if no holder died, unless a death needs no repair here.
    pub fn mark_consistent(mut self) -> Result<()> {
        let holding = self.begin_change()?;
        let marked = self.mark_as_holder();
        if matches!(marked, Ok(true)) {
            self.note(Event::Recovered, holding.token);
        }
        self.site.local().record(Some(holding));
        match marked {
            Ok(false) if !self.config.release_on_death => Err(Error::NotInconsistent),
            marked => marked.map(drop),
        }
    }

    /// Returns whether there was anything to mark.
    fn mark_as_holder(&self) -> Result<bool> {
        let lock = self.site.lock();
        match self.hold_class() {
            HoldClass::Reader | HoldClass::Upgradable => Err(Error::NotExclusive),
            HoldClass::Permits => Ok(false),
            HoldClass::Granule | HoldClass::Member => {
                Ok(lock.mark_deaths_consistent(self.site.me(), self.claim, false))
            }
            HoldClass::Alone => {
                let inconsistent = self.health() == Health::Inconsistent;
                if inconsistent {
                    lock.ownership().mark_consistent();
                }
                Ok(inconsistent)
            }
        }
    }

    /// Checks that the participant holds the lock (with this very token, where one is named).
    ///
    /// # Errors
    /// As [`Attempt::begin_unlock`].
    #[inline]
    pub fn check_owner(&self, token: Option<u64>) -> Result<()> {
        self.site.local().check_held(token)
    }

    /// Gives up what [`Attempt::begin_unlock`] found.
    fn leave(&self, holding: Holding) {
        if holding.unbiased {
            trace::at(Step::Exit);
            self.config.discipline.leave(self);
        } else {
            HeadOf::<S>::leave_retaken(self);
        }
    }
}
