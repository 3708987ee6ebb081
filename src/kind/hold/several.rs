//! Several parts of a range lock or a keyed lock by one hold.

use super::{Hold, participant};
use crate::kind::{
    acquired::Acquired,
    claimed::{take_in_order, with_room},
    handle::{Handle, LockKind},
    participant::Participant,
    parts::claim_of,
};
use crate::registers::Claimed;
use crate::slots;
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::{Claim, Extent, Mode};
use turnlock_core::error::{Error, Result};

impl Hold {
    /// Takes several parts, each by a participant. A wait beside parts that are held is short; the long ones, with none held, are
    /// those of the hold's own participant, which is the one that is cancelled.
    pub(super) fn acquire_parts<K: LockKind<Claims = Claimed>>(
        &self,
        more: &mut Vec<Participant>,
        handle: &Handle<K>,
        mode: Mode,
        parts: Vec<Extent>,
        limit: Limit,
    ) -> Result<Acquired> {
        let has = more.len();
        let taken = self
            .attach_more(more, parts.len())
            .and_then(|()| self.acquire_parts_by(more, handle, mode, parts, limit));
        if taken.is_err() {
            // It has nothing now, and others may want the slots.
            more.drain(has..).for_each(|one| self.give_up(one));
        }
        taken
    }

    /// Has a participant for each of so many parts.
    fn attach_more(&self, more: &mut Vec<Participant>, parts: usize) -> Result<()> {
        let open = &self.file.open;
        if parts > open.geometry().participants() as usize {
            return Err(slots::too_many(open.reopen(), open.view(), parts));
        }
        more.try_reserve_exact(parts.saturating_sub(more.len() + 1)).map_err(|_| Error::OutOfMemory)?;
        while more.len() + 1 < parts {
            more.push(participant(&self.file, self.options.as_ref())?);
        }
        Ok(())
    }

    fn acquire_parts_by<K: LockKind<Claims = Claimed>>(
        &self,
        more: &[Participant],
        handle: &Handle<K>,
        mode: Mode,
        parts: Vec<Extent>,
        limit: Limit,
    ) -> Result<Acquired> {
        let region = handle.region();
        let take = |nth: usize, claim: Claim, limit: Limit| match nth.checked_sub(1) {
            None => handle.acquire_at(&self.own.attachment, claim, limit),
            Some(nth) => {
                let attachment = &more[nth].attachment;
                let _calls = attachment.begin_taking(region)?;
                let taken = handle.acquire_at(attachment, claim, limit);
                let is_cancelled = matches!(taken, Err(Error::TimedOut(_))) && self.own.clear_cancel();
                if is_cancelled { Err(Error::Cancelled) } else { taken }
            }
        };
        let give_back = |nth: usize, _| {
            let participant = nth.checked_sub(1).map_or(&self.own, |nth| &more[nth]);
            // With an error it is not held.
            let _ = handle.unlock_as(participant, None);
        };
        let mut claims = with_room(parts.len())?;
        claims.extend(parts.into_iter().map(|part| claim_of(mode, part)));
        let acquired = take_in_order(claims, limit, take, give_back)?;
        Ok(Acquired {
            // An earlier holder of any of them had a smaller one, and a later holder has a larger one.
            fencing_token: acquired.iter().map(|one| one.fencing_token).max().unwrap_or(0),
            previous_owner_died: acquired.iter().any(|one| one.previous_owner_died),
        })
    }
}
