//! What range locks and keyed locks have in common: their parts.

use super::{
    guard::{Guard, GuardAs},
    handle::{Handle, LockKind},
    participant::Participant,
};
use crate::registers::Claimed;
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::{Claim, Extent, Mode};
use turnlock_core::error::Result;

/// Returns the claim of a part.
pub(crate) fn claim_of(mode: Mode, extent: Extent) -> Claim {
    Claim { mode, weight: 1, extent }
}

impl<K: LockKind<Claims = Claimed>> Handle<K> {
    pub(super) fn take_part(&self, claim: Claim, limit: Limit) -> Result<Guard<'_, K>> {
        Ok(Guard::new(self, self.acquire_part(claim, limit)?))
    }

    pub(super) fn take_part_as<'a>(
        &'a self,
        participant: &'a Participant,
        claim: Claim,
        limit: Limit,
    ) -> Result<GuardAs<'a, K>> {
        Ok(GuardAs::new(self, participant, self.acquire_as(participant, claim, limit)?))
    }

    /// Takes disjoint parts, in this order.
    pub(super) fn take_parts(&self, mode: Mode, extents: Vec<Extent>) -> Result<Vec<Guard<'_, K>>> {
        let claims = extents.into_iter().map(|extent| claim_of(mode, extent)).collect();
        let acquired = self.acquire_parts(claims, Limit::Forever)?;
        Ok(acquired.into_iter().map(|acquired| Guard::new(self, acquired)).collect())
    }
}
