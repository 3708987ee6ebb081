//! What range locks and keyed locks have in common: their parts.

use super::{
    acquired::Acquired,
    claimed::{acquire_beside, take_in_order},
    guard::{Guard, GuardAs},
    handle::{Handle, LockKind},
    part::{Granule, Part},
    participant::Participant,
};
use crate::attach::{attachment::Attachment, thread};
use crate::registers::{Claimed, FileClaims};
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::{Claim, Mode};
use turnlock_core::error::{Error, Result};

/// The kinds of which a participant locks granules, ranges or keys, beside others that lock other ones.
pub trait GranuleKind: LockKind<Claims = Claimed> {}

impl<K: GranuleKind> Handle<K> {
    /// Takes a part of the lock as the calling thread.
    ///
    /// # Errors
    /// As [`Handle::acquire`]. [`Error::Deadlock`] if the thread itself has what conflicts with it, or is taking it or giving it
    /// back at this moment, and this is a signal handler.
    pub fn acquire_part(&self, part: Part, limit: Limit) -> Result<Acquired> {
        let claims = self.claims.over(self.file.open.view().lock(self.lock.region));
        let (mut conflicts, mut under_way) = (false, false);
        self.each_part(|token, own| {
            conflicts |= claims.conflict(own, part.claim);
            under_way |= token.is_none();
        });
        if conflicts {
            return Err(Error::Deadlock);
        }
        let act = |attachment: &Attachment, limit| self.acquire_part_at(attachment, &part, limit);
        acquire_beside(under_way, limit, |limit| {
            thread::with_idle_attachment(&self.file.open, self.lock.region, |attachment| {
                act(attachment, limit)
            })
        })
    }

    /// Takes a part of the lock as the participant that this is.
    pub(super) fn acquire_part_at(
        &self,
        attachment: &Attachment,
        part: &Part,
        limit: Limit,
    ) -> Result<Acquired> {
        // One that has a part is refused, and what it has stays written down.
        if !part.key.is_none() && !attachment.local(self.lock.region).is_held() {
            self.file.open.view().slots()[attachment.slot].key.set(part.claim.extent, &part.key);
        }
        self.acquire_at(attachment, part.claim, limit)
    }

    /// Takes a part of the lock as `participant`.
    pub(super) fn acquire_part_as(
        &self,
        participant: &Participant,
        part: Part,
        limit: Limit,
    ) -> Result<Acquired> {
        let attachment = self.attachment_of(participant)?;
        let _call = attachment.begin_taking(self.lock.region)?;
        self.acquire_part_at(attachment, &part, limit)
    }

    /// Unlocks the part of the lock that the calling thread holds.
    ///
    /// # Errors
    /// [`Error::NotOwner`] if it does not hold just this part.
    pub fn unlock_part(&self, part: Part) -> Result<()> {
        self.unlock(Some(self.token_of(part.claim)?))
    }

    /// Marks the part of the lock that the calling thread holds as consistent.
    ///
    /// # Errors
    /// [`Error::NotOwner`], [`Error::NotInconsistent`].
    pub fn mark_part_consistent(&self, part: Part) -> Result<()> {
        self.mark_consistent_of(Some(self.token_of(part.claim)?))
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

    /// Takes several parts as the calling thread. See [`take_in_order`].
    pub fn acquire_parts(&self, parts: Vec<Part>, limit: Limit) -> Result<Vec<Acquired>> {
        let take = |_, part, limit| self.acquire_part(part, limit);
        let give_back = |_, taken: Acquired| self.unlock_unheard(taken.fencing_token);
        take_in_order(parts, limit, take, give_back)
    }

    pub(super) fn lock_part(&self, part: Part, limit: Limit) -> Result<Guard<'_, K>> {
        Ok(Guard::new(self, self.acquire_part(part, limit)?))
    }

    pub(super) fn lock_part_as<'a>(
        &'a self,
        participant: &'a Participant,
        part: Part,
        limit: Limit,
    ) -> Result<GuardAs<'a, K>> {
        Ok(GuardAs::new(self, participant, self.acquire_part_as(participant, part, limit)?))
    }

    /// Takes disjoint parts, in this order.
    pub(super) fn lock_parts(
        &self,
        mode: Mode,
        granules: Vec<impl Into<Granule>>,
    ) -> Result<Vec<Guard<'_, K>>> {
        let parts = granules.into_iter().map(|granule| Part::new(mode, granule)).collect();
        let acquired = self.acquire_parts(parts, Limit::Forever)?;
        Ok(acquired.into_iter().map(|acquired| Guard::new(self, acquired)).collect())
    }
}
