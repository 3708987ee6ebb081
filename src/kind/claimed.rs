//! Handles of the kinds with claims: rwlocks, semaphores, range locks, keyed locks and group locks.

use super::{
    acquired::Acquired,
    directory::{self, Found, Plan},
    handle::{Handle, LockKind},
    mutex::DEFAULT_PATIENCE,
    part::Part,
    settings::SettingOptions,
};
use crate::attach::{file_handle::FileHandle, thread};
use crate::layout::{Algorithm, Kind};
use crate::registers::{Claimed, FileClaims};
use std::time::{Duration, Instant};
use turnlock_core::acquire::{attempt::Discipline, site::Limit};
use turnlock_core::algorithm::claim::Claim;
use turnlock_core::error::{Error, Result};

/// The options that these kinds have in common.
#[derive(Clone, Debug)]
pub struct ClaimedOptions<'a> {
    pub(super) file: &'a FileHandle,
    pub(super) kind: Kind,
    pub(super) settings: SettingOptions,
    pub(super) permits: u32,
    pub(super) linked: bool,
    pub(super) must_exist: bool,
}

impl<'a> ClaimedOptions<'a> {
    pub(super) fn new(file: &'a FileHandle, kind: Kind) -> Self {
        // Each part is a lock of its own, and one waiter at a time that is queued for good is not enough: the holder of the
        // part that it waits for may wait for another part. The members of a group that come and go would pass those of all other
        // groups.
        let among_others = matches!(kind, Kind::RangeLock | Kind::KeyedLock | Kind::GroupLock);
        let is_strict = among_others || !kind.is_lock();
        let settings = SettingOptions::new(if is_strict { Duration::ZERO } else { DEFAULT_PATIENCE });
        Self { file, kind, settings, permits: 0, linked: false, must_exist: false }
    }

    pub(super) fn open<K: LockKind>(&self, name: &str) -> Result<Handle<K>> {
        self.open_with_permits(name).map(|(handle, _)| handle)
    }

    /// Does what [`ClaimedOptions::open`] does. Returns what the directory has as its permits, too.
    pub(super) fn open_with_permits<K: LockKind>(&self, name: &str) -> Result<(Handle<K>, u32)> {
        let plan = Plan {
            kind: self.kind,
            algorithm: Algorithm::Bakery,
            ring_step: 0,
            permits: self.permits,
            whichever: false,
            settings: self.settings.settings(),
            recursive: false,
            linked: self.linked,
            may_create: !self.must_exist,
        };
        let found: Found = directory::find_or_name(&self.file.open, name, &plan)?;
        let permits = found.permits;
        Ok((Handle::new(self.file.clone(), found, Discipline::Queue), permits))
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

/// Does what `acquire` does. `under_way`: for a signal handler that has interrupted a call of its thread on this lock. It does not
/// wait: that call may be in its doorway, where everyone waits for it, or others that this one would wait for behind it.
pub(super) fn acquire_beside(
    under_way: bool,
    limit: Limit,
    acquire: impl FnOnce(Limit) -> Result<Acquired>,
) -> Result<Acquired> {
    if !under_way {
        return acquire(limit);
    }
    acquire(Limit::Never).map_err(|error| match error {
        Error::WouldBlock(_) => Error::Deadlock,
        error => error,
    })
}

impl<K: LockKind<Claims = Claimed>> Handle<K> {
    /// Calls `look` for each acquisition of this lock that the calling thread holds, with its token; and, without one, for each
    /// that is under way, as a signal handler finds it. What the latter claims is in place before others see any of it.
    pub(super) fn each_part(&self, mut look: impl FnMut(Option<u64>, Claim)) {
        let region = self.lock.region;
        // A removed lock has no holders: what the thread has in its region is another lock.
        if self.file.open.is_others(&self.name) {
            return;
        }
        let cells = self.file.open.view().lock(region).cells();
        thread::each_attachment(&self.file.open, |attachment| {
            let local = attachment.local(region);
            let holding = local.holding();
            if holding.is_some() || local.is_under_way() {
                let claim = Claimed::claimed(attachment.mode_word(region), &cells[attachment.slot]);
                look(holding.map(|holding| holding.token), claim);
            }
        });
    }
}

/// Takes several parts, one after the other in their order, so that two participants that do so do not wait for each
/// other.
///
/// One that wants more in one piece, such as all of the lock, may stand in the queue behind one of our parts and before another:
/// then each would wait for the other. So the wait beside parts that are held already is short. If it is over, all are given
/// back, and the part that was missing is waited for first, with none held.
///
/// `take` and `give_back` are told the how manyth part it is that is taken, counted from 0.
pub(super) fn take_in_order(
    mut parts: Vec<Part>,
    limit: Limit,
    take: impl Fn(usize, Part, Limit) -> Result<Acquired>,
    give_back: impl Fn(usize, Acquired),
) -> Result<Vec<Acquired>> {
    parts.sort_unstable_by_key(|part| (part.claim.extent.first, part.claim.extent.last));
    let mut taken: Vec<(usize, Acquired)> = with_room(parts.len())?;
    let mut acquired = with_room(parts.len())?;
    let began = Instant::now();
    let mut first = 0;
    loop {
        let order = std::iter::once(first).chain((0..parts.len()).filter(|at| *at != first));
        let mut failed = None;
        for at in order.take(parts.len()) {
            match take(taken.len(), parts[at], left_of(limit, began, !taken.is_empty())) {
                Ok(one) => taken.push((at, one)),
                Err(error) => {
                    failed = Some((at, error));
                    break;
                }
            }
        }
        let Some((at, error)) = failed else {
            taken.sort_unstable_by_key(|(at, _)| *at);
            acquired.extend(taken.into_iter().map(|(_, one)| one));
            return Ok(acquired);
        };
        let held_some = !taken.is_empty();
        taken.drain(..).enumerate().for_each(|(nth, (_, one))| give_back(nth, one));
        let is_over = matches!(limit, Limit::For(limit) if began.elapsed() >= limit);
        if !matches!(error, Error::TimedOut(_)) || !held_some || is_over {
            return Err(error);
        }
        first = at;
    }
}

/// Returns a vector with room for so many. Too little memory is an error: C code may ask for many.
pub(crate) fn with_room<T>(count: usize) -> Result<Vec<T>> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(count).map_err(|_| Error::OutOfMemory)?;
    Ok(vector)
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

#[cfg(test)]
mod tests;
