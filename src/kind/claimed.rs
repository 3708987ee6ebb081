//! Handles of the kinds with claims: rwlocks, semaphores, range locks and keyed locks.

use super::{
    acquired::Acquired,
    directory::{self, Found, Plan},
    handle::{Handle, LockKind},
    mutex::DEFAULT_PATIENCE,
    participant::Participant,
    settings::SettingOptions,
};
use crate::attach::{attachment::Attachment, file_handle::FileHandle, thread};
use crate::layout::{Algorithm, Kind};
use crate::registers::{Claimed, FileClaims, FileLock};
use std::time::{Duration, Instant};
use turnlock_core::acquire::{
    attempt::Discipline, change::check_release, operations::Acquisition, site::Limit,
};
use turnlock_core::algorithm::claim::{Claim, Mode};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::full_fence;

/// The options that these kinds have in common.
#[derive(Clone, Debug)]
pub struct ClaimedOptions<'a> {
    pub(super) file: &'a FileHandle,
    pub(super) kind: Kind,
    pub(super) settings: SettingOptions,
    pub(super) permits: u32,
    pub(super) must_exist: bool,
}

impl<'a> ClaimedOptions<'a> {
    pub(super) fn new(file: &'a FileHandle, kind: Kind) -> Self {
        // Each part is a lock of its own, and one waiter at a time that is queued for good is not enough: the holder of the
        // part that it waits for may wait for another one.
        let in_parts = matches!(kind, Kind::RangeLock | Kind::KeyedLock);
        let settings = SettingOptions::new(if in_parts { Duration::ZERO } else { DEFAULT_PATIENCE });
        Self { file, kind, settings, permits: 0, must_exist: false }
    }

    pub(super) fn open<K: LockKind>(&self, name: &str) -> Result<Handle<K>> {
        let plan = Plan {
            kind: self.kind,
            algorithm: Algorithm::Bakery,
            ring_step: 0,
            permits: self.permits,
            whichever: false,
            settings: self.settings.settings(),
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
            /// Sets how long a waiter lets others pass, as [`super::MutexOptions::patience`].
            pub fn patience(&mut self, patience: std::time::Duration) -> &mut Self {
                self.0.settings.patience = Some(patience);
                self
            }
        }
    };
}
pub(super) use with_patience;

/// The options of what a holder's death means, likewise.
macro_rules! with_death_policy {
    ($options:ident) => {
        impl $options<'_> {
            /// Sets what the death of an exclusive holder means, as [`super::MutexOptions::death_policy`].
            pub fn death_policy(&mut self, death_policy: crate::layout::DeathPolicy) -> &mut Self {
                self.0.settings.death_policy = Some(death_policy);
                self
            }

            /// Sets the death policy of a lock that is created now, as [`super::MutexOptions::default_death_policy`].
            pub fn default_death_policy(&mut self, death_policy: crate::layout::DeathPolicy) -> &mut Self {
                self.0.settings.default_death_policy = death_policy;
                self
            }
        }
    };
}
pub(super) use with_death_policy;

/// The options that every one of these kinds has, likewise.
macro_rules! claimed_options {
    ($options:ident) => {
        impl $options<'_> {
            /// Sets whether opening fails where there is no lock of the name, instead of creating it.
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

    /// Does what [`Handle::upgrade`] does, as `participant`.
    pub fn upgrade_as(&self, participant: &Participant, limit: Limit) -> Result<Acquired> {
        let attachment = self.attachment_of(participant)?;
        let _call = attachment.begin_taking(self.lock.region)?;
        self.upgrade_at(attachment, limit)
    }

    fn upgrade_at(&self, attachment: &Attachment, limit: Limit) -> Result<Acquired> {
        let acquisition: Acquisition = self.owned(attachment)?.upgrade(limit)?;
        Ok(acquisition.into())
    }

    /// Makes the calling thread's hold less than it is, in its place.
    pub fn downgrade(&self, mode: Mode) -> Result<()> {
        self.with_holder(None, |attachment| self.owned(attachment)?.downgrade(mode))
    }

    /// Does what [`Handle::downgrade`] does, as `participant`.
    pub fn downgrade_as(&self, participant: &Participant, mode: Mode) -> Result<()> {
        let attachment = self.attachment_of(participant)?;
        attachment.begin_leaving(self.lock.region)?;
        self.owned(attachment)?.downgrade(mode)
    }

    /// Returns how many permits the semaphore has.
    ///
    /// # Errors
    /// [`Error::NotFound`] if it was removed.
    pub fn permits(&self) -> Result<u32> {
        self.read_named(|| self.claims.over(self.file.open.view().lock(self.lock.region)).permits())
    }

    /// Changes the number of permits of a semaphore.
    pub fn resize(&self, permits: u32) -> Result<()> {
        self.check_exists()?;
        check_permits(permits)?;
        let mut resized = false;
        let done = thread::with_thread_attachment(&self.file.open, |attachment| {
            // With this lock the semaphore is not removed meanwhile, and no other lock named in its region.
            directory::with_directory_lock(attachment, || {
                let fewer = permits < self.permits()?;
                // Where it is refused nothing is done yet.
                let barrier = || if fewer { self.file.open.heavy_barrier(true) } else { Ok(()) };
                full_fence();
                barrier()?;
                let lock = FileLock::claimed(self.file.open.view(), self.lock.region, self.claims);
                lock.resize(permits);
                resized = true;
                // Partners: the barriers of the entry step and in `Reservation::reenter`. If ours comes first, a participant
                // that enters sees the new number; if theirs does, it was inside already. An error would be that of a filter
                // that came this moment.
                full_fence();
                let _ = barrier();
                lock.unpark_resized();
                Ok(())
            })
        });
        if resized { Ok(()) } else { done }
    }

    /// Takes `weight` permits as the calling thread.
    pub fn acquire_permits(&self, weight: u32, limit: Limit) -> Result<Acquired> {
        let (mut own, mut under_way) = (0u64, false);
        self.each_part(|token, claim| {
            own += u64::from(claim.weight);
            under_way |= token.is_none();
        });
        let permits = self.check_weight(weight)?;
        // Only this thread gives back what it has.
        if own + u64::from(weight) > u64::from(permits) {
            return Err(if limit == Limit::Never && !under_way {
                Error::WouldBlock
            } else {
                Error::Deadlock
            });
        }
        self.acquire_beside(under_way, Claim { weight, ..Claim::whole(Mode::Shared) }, limit)
    }

    /// Does what [`Handle::acquire`] does. `under_way`: for a signal handler that has interrupted a call of its thread on this
    /// lock. It does not wait: that call may be in its doorway, where everyone waits for it, or others that this one would wait
    /// for behind it.
    fn acquire_beside(&self, under_way: bool, claim: Claim, limit: Limit) -> Result<Acquired> {
        if !under_way {
            return self.acquire(claim, limit);
        }
        self.acquire(claim, Limit::Never).map_err(|error| match error {
            Error::WouldBlock => Error::Deadlock,
            error => error,
        })
    }

    /// Does what [`Handle::acquire_permits`] does, as `participant`.
    pub fn acquire_permits_as(
        &self,
        participant: &Participant,
        weight: u32,
        limit: Limit,
    ) -> Result<Acquired> {
        self.check_weight(weight)?;
        self.acquire_as(participant, Claim { weight, ..Claim::whole(Mode::Shared) }, limit)
    }

    /// Returns how many permits there are.
    pub(super) fn check_weight(&self, weight: u32) -> Result<u32> {
        let permits = self.permits()?;
        if weight == 0 || weight > permits {
            return Err(Error::Permits { wanted: weight, permits });
        }
        Ok(permits)
    }

    /// Gives back `permits` permits of the calling thread, those that it took last first.
    pub fn release_permits(&self, permits: u32) -> Result<()> {
        let mut all = 0;
        self.each_part(|token, claim| {
            all = if token.is_some() { claim.weight.saturating_add(all) } else { all }
        });
        check_release(permits, all)?;
        let mut left = permits;
        // One after the other, without a list: a signal handler may not allocate.
        while left > 0 {
            let mut last = None;
            self.each_part(|token, claim| last = last.max(token.map(|token| (token, claim.weight))));
            let (token, weight) = last.ok_or(Error::NotOwner)?;
            if weight <= left {
                self.unlock(Some(token))?;
            } else {
                self.with_holder(Some(token), |attachment| self.owned(attachment)?.give_back(left))?;
            }
            left -= weight.min(left);
        }
        Ok(())
    }

    /// Does what [`Handle::release_permits`] does, as `participant`.
    pub fn release_permits_as(&self, participant: &Participant, permits: u32) -> Result<()> {
        let attachment = self.attachment_of(participant)?;
        attachment.begin_leaving(self.lock.region)?;
        self.owned(attachment)?.give_back(permits)
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
        found.ok_or_else(|| self.not_held())
    }

    /// Calls `look` for each acquisition of this lock that the calling thread holds, with its token; and, without one, for each
    /// that is under way, as a signal handler finds it. What the latter claims is in place before others see any of it.
    fn each_part(&self, mut look: impl FnMut(Option<u64>, Claim)) {
        let region = self.lock.region;
        // A removed lock has no holders: what the thread has in its region is another lock.
        if self.file.open.is_others(&self.name) {
            return;
        }
        let cells = self.file.open.view().lock(region).cells;
        thread::each_attachment(&self.file.open, |attachment| {
            let local = attachment.local(region);
            let holding = local.holding();
            if holding.is_some() || local.is_under_way() {
                let claim = Claimed::claimed(attachment.mode_word(region), &cells[attachment.slot]);
                look(holding.map(|holding| holding.token), claim);
            }
        });
    }

    /// Takes several parts as the calling thread. See [`take_in_order`].
    pub fn acquire_parts(&self, claims: Vec<Claim>, limit: Limit) -> Result<Vec<Acquired>> {
        let take = |_, claim, limit| self.acquire_part(claim, limit);
        let give_back = |_, taken: Acquired| self.unlock_unheard(taken.fencing_token);
        take_in_order(claims, limit, take, give_back)
    }
}

/// Takes several parts, one after the other in their order, so that two who do so do not wait for each other.
///
/// One that wants more in one piece, such as all of the lock, may stand in the queue behind one of our parts and before another:
/// then each would wait for the other. So the wait beside parts that are held already is short. If it is over, all are given
/// back, and the part that was missing is waited for first, with none held.
///
/// `take` and `give_back` are told the how manyth part it is that is taken, counted from 0.
pub(super) fn take_in_order(
    mut claims: Vec<Claim>,
    limit: Limit,
    take: impl Fn(usize, Claim, Limit) -> Result<Acquired>,
    give_back: impl Fn(usize, Acquired),
) -> Result<Vec<Acquired>> {
    claims.sort_by_key(|claim| (claim.extent.first, claim.extent.last));
    let began = Instant::now();
    let mut first = 0;
    loop {
        let order = std::iter::once(first).chain((0..claims.len()).filter(|at| *at != first));
        let mut taken: Vec<(usize, Acquired)> = Vec::with_capacity(claims.len());
        let mut failed = None;
        for at in order.take(claims.len()) {
            match take(taken.len(), claims[at], left_of(limit, began, !taken.is_empty())) {
                Ok(one) => taken.push((at, one)),
                Err(error) => {
                    failed = Some((at, error));
                    break;
                }
            }
        }
        let Some((at, error)) = failed else {
            taken.sort_by_key(|(at, _)| *at);
            return Ok(taken.into_iter().map(|(_, one)| one).collect());
        };
        let held_some = !taken.is_empty();
        taken.into_iter().enumerate().for_each(|(nth, (_, one))| give_back(nth, one));
        let is_over = matches!(limit, Limit::For(limit) if began.elapsed() >= limit);
        if !matches!(error, Error::TimedOut) || !held_some || is_over {
            return Err(error);
        }
        first = at;
    }
}

/// A wait beside parts that are held takes so long at most.
const HOLD_AND_WAIT: Duration = Duration::from_millis(20);

/// Returns how long the next part may be waited for, of `limit` for all of them, since `began`.
fn left_of(limit: Limit, began: Instant, holds_some: bool) -> Limit {
    let left = match limit {
        Limit::Never => return limit,
        Limit::For(limit) => limit.saturating_sub(began.elapsed()),
        Limit::Forever if holds_some => HOLD_AND_WAIT,
        Limit::Forever => return limit,
    };
    Limit::For(if holds_some { left.min(HOLD_AND_WAIT) } else { left })
}

/// Checks that a semaphore can have so many permits.
///
/// # Errors
/// [`Error::InvalidArgument`].
pub(super) fn check_permits(permits: u32) -> Result<()> {
    if permits == 0 || permits == u32::MAX {
        return Err(Error::InvalidArgument(format!(
            "a semaphore of {permits} permits was asked for: it has 1 to {}",
            u32::MAX - 1
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
