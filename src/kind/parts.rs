//! What range locks and keyed locks have in common: their parts.

use super::{
    acquired::Acquired,
    claimed::take_in_order,
    guard::{Guard, GuardAs},
    handle::{Handle, LockKind},
    participant::Participant,
};
use crate::registers::{Claimed, FileClaims};
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::{Claim, Extent, Mode};
use turnlock_core::error::{Error, Result};

/// Returns the claim of a part.
pub(crate) fn claim_of(mode: Mode, extent: Extent) -> Claim {
    Claim { mode, weight: 1, extent }
}

/// The kinds of which a participant locks granules, ranges or keys, beside others that lock other ones.
pub trait GranuleKind: LockKind<Claims = Claimed> {}

impl<K: GranuleKind> Handle<K> {
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

    /// Takes several parts as the calling thread. See [`take_in_order`].
    pub fn acquire_parts(&self, claims: Vec<Claim>, limit: Limit) -> Result<Vec<Acquired>> {
        let take = |_, claim, limit| self.acquire_part(claim, limit);
        let give_back = |_, taken: Acquired| self.unlock_unheard(taken.fencing_token);
        take_in_order(claims, limit, take, give_back)
    }

    pub(super) fn lock_part(&self, claim: Claim, limit: Limit) -> Result<Guard<'_, K>> {
        Ok(Guard::new(self, self.acquire_part(claim, limit)?))
    }

    pub(super) fn lock_part_as<'a>(
        &'a self,
        participant: &'a Participant,
        claim: Claim,
        limit: Limit,
    ) -> Result<GuardAs<'a, K>> {
        Ok(GuardAs::new(self, participant, self.acquire_as(participant, claim, limit)?))
    }

    /// Takes disjoint parts, in this order.
    pub(super) fn lock_parts(&self, mode: Mode, extents: Vec<Extent>) -> Result<Vec<Guard<'_, K>>> {
        let claims = extents.into_iter().map(|extent| claim_of(mode, extent)).collect();
        let acquired = self.acquire_parts(claims, Limit::Forever)?;
        Ok(acquired.into_iter().map(|acquired| Guard::new(self, acquired)).collect())
    }
}
