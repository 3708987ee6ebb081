//! The permits of a semaphore, as its handle gives them out.

use super::{
    acquired::Acquired,
    claimed::acquire_beside,
    directory,
    handle::Handle,
    participant::Participant,
    semaphore::{SemaphoreKind, check_permits},
};
use crate::attach::thread;
use crate::registers::{FileClaims, FileLock};
use turnlock_core::acquire::{change::check_release, site::Limit};
use turnlock_core::algorithm::claim::{Claim, Mode};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::{Ordering::Acquire, full_fence};

impl Handle<SemaphoreKind> {
    /// Returns how many permits the semaphore has, over all hosts if it is linked.
    ///
    /// # Errors
    /// [`Error::NotFound`] if it was removed.
    pub fn permits(&self) -> Result<u32> {
        self.read_named(|| {
            let words = self.file.open.view().lock(self.lock.region).words;
            let permits = if self.config.is_linked { &words.total } else { &words.permits };
            // Acquire. Partner: the release store of the participant that resized it.
            permits.load(Acquire)
        })
    }

    /// Returns how many of the permits this host has, which are all if it is not linked.
    ///
    /// # Errors
    /// As [`Handle::permits`].
    pub fn share(&self) -> Result<u32> {
        self.read_named(|| self.claims.over(self.file.open.view().lock(self.lock.region)).permits())
    }

    /// Changes the number of permits of a semaphore.
    pub fn resize(&self, permits: u32) -> Result<()> {
        self.check_exists()?;
        check_permits(permits)?;
        if self.is_linked() {
            return Err(Error::InvalidArgument(
                "the semaphore is linked, and the number of its permits is what all hosts agree on: create one of another name that has as \
                 many as you want"
                    .into(),
            ));
        }
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
            return Err(if limit == Limit::Never && !under_way { limit.passed() } else { Error::Deadlock });
        }
        let claim = Claim { weight, ..Claim::whole(Mode::Shared) };
        acquire_beside(under_way, limit, |limit| self.acquire(claim, limit))
    }

    /// Does what [`Handle::acquire_permits`] does, as `participant`.
    pub fn acquire_permits_as(
        &self,
        participant: &Participant,
        weight: u32,
        limit: Limit,
    ) -> Result<Acquired> {
        if let Some(fencing_token) = self.permits_by_reservation_as(participant, weight) {
            return Ok(Acquired { fencing_token, previous_owner_died: false });
        }
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
        let (mut left, mut has_lease_ended) = (permits, false);
        // One after the other, without a list: a signal handler may not allocate.
        while left > 0 {
            let mut last = None;
            self.each_part(|token, claim| last = last.max(token.map(|token| (token, claim.weight))));
            let (token, weight) = last.ok_or(Error::NotOwner)?;
            let released = if weight <= left {
                self.unlock(Some(token))
            } else {
                self.with_holder(Some(token), |attachment| self.owned(attachment)?.give_back(left))
            };
            match released {
                // They are given back all the same, and so are the others.
                Err(Error::LeaseEnded) => has_lease_ended = true,
                released => released?,
            }
            left -= weight.min(left);
        }
        if has_lease_ended { Err(Error::LeaseEnded) } else { Ok(()) }
    }

    /// Does what [`Handle::release_permits`] does, as `participant`.
    pub fn release_permits_as(&self, participant: &Participant, permits: u32) -> Result<()> {
        let attachment = self.attachment_of(participant)?;
        attachment.begin_leaving(self.lock.region)?;
        self.owned(attachment)?.give_back(permits)
    }
}
