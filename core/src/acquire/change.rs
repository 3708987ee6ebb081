//! Changing a claim in its place in the queue: an upgrade, a downgrade, permits that are given back.

use super::{
    attempt::Attempt,
    link,
    local::Holding,
    operations::Acquisition,
    queue::QueueWait,
    readers::{give_up_revocation, have_all_outside},
    site::{Limit, Lock, Overwritten, Site},
};
use crate::algorithm::{
    Place, Protocol,
    bakery::Registers,
    claim::{Claim, ClaimCell, InCells, Mode},
    eviction::Skipped,
    ownership::Health,
};
use crate::error::{Error, Result};
use crate::event::{Event, Happening};

impl<'a, S, C> Attempt<S>
where
    S: Site,
    C: ClaimCell + 'a,
    S::Lock: Lock<Claims = InCells<'a, C>>,
{
    /// Makes an upgradable hold exclusive, in its place in the queue: no other participant changes anything in between.
    /// Waits as long as `limit` says for the readers that are inside, and for earlier ones.
    ///
    /// # Errors
    /// As [`Attempt::begin_unlock`]; [`Error::NotUpgradable`]; as [`Attempt::lock`]: then the lock is held upgradable as before.
    pub fn upgrade(mut self, limit: Limit) -> Result<Acquisition> {
        let holding = self.begin_change()?;
        let upgraded = if self.claim.mode == Mode::Upgradable {
            self.upgrade_and_note(limit)
        } else {
            Err(Error::NotUpgradable)
        };
        // A child that was forked in the wait holds nothing.
        let token = *upgraded.as_ref().unwrap_or(&holding.token);
        if upgraded.is_ok() {
            self.site.note_claim(Claim { mode: Mode::Exclusive, ..self.claim });
        }
        self.site.local().record(Some(Holding { token, ..holding }));
        upgraded.map(|token| Acquisition { token, owner_dead: self.health() == Health::Inconsistent })
    }

    fn upgrade_and_note(&self, limit: Limit) -> Result<u64> {
        self.note_as(Event::Asked, false, 0);
        match self.upgrade_when_alone(limit) {
            Ok(token) => {
                self.note_as(Event::Acquired, false, token);
                Ok(token)
            }
            Err(error) => Err(self.give_up(error, Claim { mode: Mode::Exclusive, ..self.claim })),
        }
    }

    fn note_as(&self, event: Event, shared: bool, token: u64) {
        self.site.note(Happening { event, slot: self.site.me(), shared, value: token });
    }

    fn upgrade_when_alone(&self, limit: Limit) -> Result<u64> {
        let (site, lock, me) = (&self.site, self.site.lock(), self.site.me());
        let Place::Numbered(number) = lock.queue().place(me) else {
            let value = lock.queue().registers.read_word(me);
            return Err(site.overwritten(Overwritten::Number { slot: me, value }));
        };
        let claims = lock.queue().claims;
        // An earlier waiter that would have kept it out was passed over, and may wait for us to be outside.
        let mut skipped = Skipped::NONE;
        lock.queue().each_before(me, number, |slot, place| {
            if place != Place::Choosing {
                skipped.insert(slot);
            }
        });
        claims.set_mode(me, Mode::Upgrading, self.claim.weight);
        lock.shared_bias().upgrade();
        let mut waiter = site.waiter(limit, 0, true);
        let alone = QueueWait::go_on(self, &mut waiter, number, skipped)
            .and_then(|()| have_all_outside(self, &mut waiter));
        if alone.is_err() && !site.is_ours() {
            return alone.map(|()| 0);
        }
        let token = alone.and_then(|()| link::check_upgrade(self)).and_then(|()| {
            let token = lock.ownership().claim_token(lock.held(me));
            token.ok_or_else(|| site.overwritten(Overwritten::Token))
        });
        // Death before it is that of one that has changed nothing.
        let mode = if token.is_ok() { Mode::Exclusive } else { Mode::Upgradable };
        claims.set_mode(me, mode, self.claim.weight);
        if token.is_ok() {
            // The bias word goes on saying so: a reader may have looked at the modes before all this.
            lock.set_since(me, site.now());
        } else {
            give_up_revocation(self);
            lock.unpark_waiters_of(me);
        }
        token
    }

    /// Makes an exclusive hold upgradable or shared, or an upgradable one shared, in its place in the queue.
    ///
    /// # Errors
    /// As [`Attempt::begin_unlock`]; [`Error::NotUpgradable`] if it is held so already, or as less.
    pub fn downgrade(mut self, mode: Mode) -> Result<()> {
        let holding = self.begin_change()?;
        let less = match (self.claim.mode, mode) {
            (Mode::Exclusive, Mode::Upgradable | Mode::Shared) => {
                self.site.lock().ownership().end_changes();
                true
            }
            (from, to) => from == Mode::Upgradable && to == Mode::Shared,
        };
        if less {
            let (lock, me) = (self.site.lock(), self.site.me());
            // Of a hold that was upgraded; else the bias word is 0. First: by the new mode another participant may
            // enter and upgrade, and this would be written over that. A reader that looked at the modes long ago may
            // enter already, and reads what was written.
            if self.claim.mode == Mode::Exclusive && lock.shared_bias().is_upgraded() {
                lock.shared_bias().end();
            }
            lock.queue().claims.set_mode(me, mode, self.claim.weight);
            self.site.note_claim(Claim { mode, ..self.claim });
            self.note_as(Event::Acquired, true, holding.token);
            lock.unpark_waiters_of(me);
            lock.unpark_standby(me, true);
        }
        // By the new mode no place is retained: it leaves as one that came in by the queue.
        self.site.local().record(Some(Holding {
            unbiased: holding.unbiased || less,
            among_readers: holding.among_readers && !less,
            ..holding
        }));
        if less { Ok(()) } else { Err(Error::NotUpgradable) }
    }

    /// Gives `permits` of the permits of a semaphore back.
    ///
    /// # Errors
    /// As [`Attempt::begin_unlock`] and [`check_release`]; [`Error::LeaseEnded`], and they are given back all the same; if it was all of them, as
    /// [`Attempt::unlock`].
    pub fn give_back(mut self, permits: u32) -> Result<()> {
        let holding = self.begin_change()?;
        let has = self.claim.weight;
        if let Err(error) = check_release(permits, has) {
            self.site.local().record(Some(holding));
            return Err(error);
        }
        if permits == has {
            self.site.local().go_on_to_unlock();
            return self.end(holding);
        }
        let has_lease_ended = link::has_lease_ended(&self);
        let claim = Claim { weight: has - permits, ..self.claim };
        let (lock, me) = (self.site.lock(), self.site.me());
        lock.queue().claims.set_mode(me, claim.mode, claim.weight);
        self.site.note_claim(claim);
        lock.unpark_waiters_of(me);
        lock.unpark_standby(me, true);
        // As in `downgrade`.
        self.site.local().record(Some(Holding { unbiased: true, among_readers: false, ..holding }));
        if has_lease_ended { Err(Error::LeaseEnded) } else { Ok(()) }
    }
}

/// Checks that a holder of `held` permits can give `given` of them back.
///
/// # Errors
/// [`Error::NotOwner`], [`Error::InvalidArgument`], [`Error::TooManyReleased`].
pub fn check_release(given: u32, held: u32) -> Result<()> {
    match given {
        _ if held == 0 => Err(Error::NotOwner),
        0 => Err(Error::InvalidArgument("no permits were to be given back".into())),
        given if given > held => Err(Error::TooManyReleased { given, held }),
        _ => Ok(()),
    }
}
