//! What handles of the kinds can do whose participants claim a part of a lock, or hold it beside others.

use super::{
    acquired::Acquired,
    directory::{self, Found, Plan},
    handle::{Handle, LockKind},
    mutex::DEFAULT_PATIENCE,
    participant::Participant,
};
use crate::acquire::{
    attempt::Discipline,
    operations::Acquisition,
    site::{Limit, Site},
};
use crate::algorithm::claim::{Claim, Mode};
use crate::attach::{attachment::Attachment, file_handle::FileHandle, thread};
use crate::error::{Error, Result};
use crate::layout::{Algorithm, DeathPolicy, Kind};
use crate::registers::{Claimed, FileClaims, FileLock};
use crate::sync::full_fence;
use std::time::Duration;

/// What the options of these kinds have in common.
#[derive(Clone)]
pub struct ClaimedOptions<'a> {
    pub(super) file: &'a FileHandle,
    pub(super) kind: Kind,
    pub(super) patience: Duration,
    pub(super) death_policy: DeathPolicy,
    pub(super) permits: u32,
    pub(super) must_exist: bool,
}

impl<'a> ClaimedOptions<'a> {
    pub(super) fn new(file: &'a FileHandle, kind: Kind) -> Self {
        // Of a lock of parts each is a lock of its own, and one waiter at a time that insists is not enough: who holds the part
        // that it waits for may wait for another one.
        let in_parts = matches!(kind, Kind::RangeLock | Kind::KeyedLock);
        let patience = if in_parts { Duration::ZERO } else { DEFAULT_PATIENCE };
        let death_policy = DeathPolicy::default();
        Self { file, kind, patience, death_policy, permits: 0, must_exist: false }
    }

    pub(super) fn open<K: LockKind>(&self, name: &str) -> Result<Handle<K>> {
        let plan = Plan {
            kind: self.kind,
            algorithm: Algorithm::Bakery,
            ring_step: 0,
            permits: self.permits,
            whichever: false,
            patience: u64::try_from(self.patience.as_nanos()).unwrap_or(u64::MAX),
            death_policy: self.death_policy,
            recursive: false,
            may_create: !self.must_exist,
        };
        let found: Found = directory::find_or_name(&self.file.open, name, &plan)?;
        Ok(Handle::new(self.file.clone(), found, Discipline::Queue))
    }
}

/// The options of how long waiters let others pass, for a type with a [`ClaimedOptions`] in it.
macro_rules! with_patience {
    ($options:ident) => {
        impl $options<'_> {
            /// How long a waiter lets others pass before it is queued for good, if the lock is created now: a lock that
            /// exists keeps what its creator said. [`super::DEFAULT_PATIENCE`] if not said; zero is strict first come
            /// first served.
            pub fn patience(&mut self, patience: std::time::Duration) -> &mut Self {
                self.0.patience = patience;
                self
            }
        }
    };
}
pub(super) use with_patience;

/// The options that every one of these kinds has, likewise.
macro_rules! claimed_options {
    ($options:ident) => {
        impl $options<'_> {
            /// Do not create the lock.
            pub fn must_exist(&mut self, must_exist: bool) -> &mut Self {
                self.0.must_exist = must_exist;
                self
            }
        }
    };
}
pub(super) use claimed_options;

impl<K: LockKind<Claims = Claimed>> Handle<K> {
    /// Makes the calling thread's upgradable hold exclusive, in its place.
    pub fn upgrade(&self, limit: Limit) -> Result<Acquired> {
        self.with_holder(None, |attachment| self.upgrade_at(attachment, limit))
    }

    /// [`Handle::upgrade`], as `participant`.
    pub fn upgrade_as(&self, participant: &Participant, limit: Limit) -> Result<Acquired> {
        let attachment = self.attachment_of(participant)?;
        let _call = attachment.begin_taking(self.lock.region)?;
        self.upgrade_at(attachment, limit)
    }

    fn upgrade_at(&self, attachment: &Attachment, limit: Limit) -> Result<Acquired> {
        let attempt = self.owned(attachment)?;
        let acquisition: Acquisition = attempt.upgrade(limit)?;
        self.note(attachment, Claim { mode: Mode::Exclusive, ..attempt.claim });
        Ok(acquisition.into())
    }

    /// Makes the calling thread's hold less than it is, in its place.
    pub fn downgrade(&self, mode: Mode) -> Result<()> {
        self.with_holder(None, |attachment| self.downgrade_at(attachment, mode))
    }

    /// [`Handle::downgrade`], as `participant`.
    pub fn downgrade_as(&self, participant: &Participant, mode: Mode) -> Result<()> {
        let attachment = self.attachment_of(participant)?;
        attachment.begin_leaving(self.lock.region)?;
        self.downgrade_at(attachment, mode)
    }

    fn downgrade_at(&self, attachment: &Attachment, mode: Mode) -> Result<()> {
        let attempt = self.owned(attachment)?;
        attempt.downgrade(mode)?;
        self.note(attachment, Claim { mode, ..attempt.claim });
        Ok(())
    }

    fn note(&self, attachment: &Attachment, claim: Claim) {
        Claimed::note(attachment.how(self.lock.region), claim);
    }

    /// Returns how many permits the semaphore has.
    pub fn permits(&self) -> u32 {
        self.claims.over(self.file.open.view().lock(self.lock.region)).permits()
    }

    /// Makes a semaphore have so many permits.
    pub fn resize(&self, permits: u32) -> Result<()> {
        if !self.is_named() {
            return Err(self.file.open.removed());
        }
        if permits == 0 {
            return Err(Error::InvalidArgument("a semaphore has at least one permit".into()));
        }
        FileLock::claimed(self.file.open.view(), self.lock.region, self.claims).resize(permits);
        // Partner: the barrier in `RetainedPlace::enter`. Either who comes in by its place sees the new number, or it was in.
        full_fence();
        self.file.open.heavy_barrier(false)
    }

    /// Takes `weight` permits as the calling thread.
    pub fn acquire_permits(&self, weight: u32, limit: Limit) -> Result<Acquired> {
        let (mut own, mut under_way) = (0u64, false);
        self.each_part(|token, claim| {
            own += u64::from(claim.weight);
            under_way |= token.is_none();
        });
        self.check_weight(weight)?;
        // Nobody else gives back what this thread has.
        if own + u64::from(weight) > u64::from(self.permits()) {
            return Err(if limit == Limit::Never && !under_way {
                Error::WouldBlock
            } else {
                Error::Deadlock
            });
        }
        self.acquire_beside(under_way, Claim { weight, ..Claim::whole(Mode::Shared) }, limit)
    }

    /// [`Handle::acquire`]. `under_way`: by a signal handler that has interrupted a call of its thread on this lock. It does not
    /// wait: that call may be in its doorway, where everyone waits for it, or others that this one would wait for behind it.
    fn acquire_beside(&self, under_way: bool, claim: Claim, limit: Limit) -> Result<Acquired> {
        if !under_way {
            return self.acquire(claim, limit);
        }
        self.acquire(claim, Limit::Never).map_err(|error| match error {
            Error::WouldBlock => Error::Deadlock,
            error => error,
        })
    }

    /// [`Handle::acquire_permits`], as `participant`.
    pub fn acquire_permits_as(
        &self,
        participant: &Participant,
        weight: u32,
        limit: Limit,
    ) -> Result<Acquired> {
        self.check_weight(weight)?;
        self.acquire_as(participant, Claim { weight, ..Claim::whole(Mode::Shared) }, limit)
    }

    fn check_weight(&self, weight: u32) -> Result<()> {
        let permits = self.permits();
        if weight == 0 || weight > permits { Err(Error::Permits { wanted: weight, permits }) } else { Ok(()) }
    }

    /// Gives so many permits of the calling thread back: those that it took last first.
    pub fn release_permits(&self, permits: u32) -> Result<()> {
        let mut all = 0;
        self.each_part(|token, claim| {
            all = if token.is_some() { claim.weight.saturating_add(all) } else { all }
        });
        check_release(permits, all)?;
        let mut left = permits;
        // One after the other, without a list of them: this may be a signal handler, which has no memory.
        while left > 0 {
            let mut last = None;
            self.each_part(|token, claim| last = last.max(token.map(|token| (token, claim.weight))));
            let (token, weight) = last.ok_or(Error::NotOwner)?;
            if weight <= left {
                self.unlock(Some(token))?;
            } else {
                self.with_holder(Some(token), |attachment| self.keep_at(attachment, weight - left))?;
            }
            left -= weight.min(left);
        }
        Ok(())
    }

    /// [`Handle::release_permits`], as `participant`.
    pub fn release_permits_as(&self, participant: &Participant, permits: u32) -> Result<()> {
        let attachment = self.attachment_of(participant)?;
        attachment.begin_leaving(self.lock.region)?;
        let attempt = self.owned(attachment)?;
        let holds = attempt.site.local().holding().is_some();
        let weight = if holds { attempt.claim.weight } else { 0 };
        check_release(permits, weight)?;
        if permits == weight { attempt.unlock(None) } else { self.keep_at(attachment, weight - permits) }
    }

    fn keep_at(&self, attachment: &Attachment, weight: u32) -> Result<()> {
        let attempt = self.owned(attachment)?;
        attempt.keep(weight)?;
        self.note(attachment, Claim { weight, ..attempt.claim });
        Ok(())
    }

    /// Takes a part of the lock as the calling thread.
    ///
    /// # Errors
    /// As [`Handle::acquire`]. [`Error::Deadlock`] if the thread itself has what conflicts with it, or is taking it or giving it
    /// back at this moment, and this is a signal handler.
    pub fn acquire_part(&self, claim: Claim, limit: Limit) -> Result<Acquired> {
        let claims = self.claims.over(self.file.open.view().lock(self.lock.region));
        let (mut conflicts, mut under_way) = (false, false);
        self.each_part(|token, own| {
            conflicts |= claims.conflict(own, claim);
            under_way |= token.is_none();
        });
        if conflicts { Err(Error::Deadlock) } else { self.acquire_beside(under_way, claim, limit) }
    }

    /// Unlocks the part of the lock that the calling thread holds.
    ///
    /// # Errors
    /// [`Error::NotOwner`] if it does not hold just this part.
    pub fn unlock_part(&self, claim: Claim) -> Result<()> {
        self.unlock(Some(self.token_of(claim)?))
    }

    /// Marks the part of the lock that the calling thread holds as consistent.
    ///
    /// # Errors
    /// [`Error::NotOwner`], [`Error::NotInconsistent`].
    pub fn mark_part_consistent(&self, claim: Claim) -> Result<()> {
        self.mark_consistent_of(Some(self.token_of(claim)?))
    }

    /// Returns the token by which the calling thread holds just this part: the last one, which is that of a signal handler if it
    /// took what its thread reads as well.
    fn token_of(&self, claim: Claim) -> Result<u64> {
        let mut found = None;
        self.each_part(|token, held| {
            if held.extent == claim.extent {
                found = found.max(token);
            }
        });
        found.ok_or(Error::NotOwner)
    }

    /// Calls `look` for each acquisition of this lock that the calling thread holds, with its token; and, without one, for each
    /// that is under way, as a signal handler finds it. What the latter claims is in place before others see any of it.
    fn each_part(&self, mut look: impl FnMut(Option<u64>, Claim)) {
        let region = self.lock.region;
        let cells = self.file.open.view().lock(region).cells;
        thread::each_attachment(&self.file.open, |attachment| {
            let local = attachment.local(region);
            let holding = local.holding();
            if holding.is_some() || local.is_under_way() {
                let claim = Claimed::claimed(attachment.how(region), &cells[attachment.slot]);
                look(holding.map(|holding| holding.token), claim);
            }
        });
    }

    /// Takes several parts, one after the other in their order, so that two who do so do not wait for each other.
    pub fn acquire_parts(&self, mut claims: Vec<Claim>, limit: Limit) -> Result<Vec<Acquired>> {
        claims.sort_by_key(|claim| (claim.extent.first, claim.extent.last));
        let began = std::time::Instant::now();
        let mut acquired: Vec<Acquired> = Vec::new();
        for claim in claims {
            let left = match limit {
                Limit::For(limit) => Limit::For(limit.saturating_sub(began.elapsed())),
                limit => limit,
            };
            match self.acquire_part(claim, left) {
                Ok(one) => acquired.push(one),
                Err(error) => {
                    acquired.iter().for_each(|one| self.unlock_unheard(one.fencing_token));
                    return Err(error);
                }
            }
        }
        Ok(acquired)
    }
}

fn check_release(given: u32, held: u32) -> Result<()> {
    match given {
        _ if held == 0 => Err(Error::NotOwner),
        0 => Err(Error::InvalidArgument("no permits were to be given back".into())),
        given if given > held => Err(Error::TooManyReleased { given, held }),
        _ => Ok(()),
    }
}
