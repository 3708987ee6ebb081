//! Several parts of a range lock or a keyed lock by one hold.

use super::{by::By, participant};
use crate::attach::attachment::AttachOptions;
use crate::kind::{
    acquired::Acquired, claimed::take_in_order, handle::Handle, part::Part, participant::Participant,
    parts::GranuleKind,
};
use crate::slots;
use turnlock_core::acquire::site::Limit;
use turnlock_core::error::{Error, Result};

impl By<'_> {
    /// Takes several parts, each by a participant. A wait beside parts that are held is short; the long ones, with none held, are
    /// those of the hold's own participant, which is the one that is cancelled.
    pub(super) fn acquire_parts<K: GranuleKind>(
        &self,
        more: &mut Vec<Participant>,
        handle: &Handle<K>,
        parts: Vec<Part>,
        limit: Limit,
    ) -> Result<Acquired> {
        let has = more.len();
        let taken = self
            .attach_more(more, parts.len())
            .and_then(|()| self.acquire_parts_by(more, handle, parts, limit));
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
        // The slot that was chosen is that of its own participant.
        let options = self.options.cloned().map(|options| AttachOptions { slot: None, ..options });
        while more.len() + 1 < parts {
            more.push(participant(self.file, options.as_ref())?);
        }
        Ok(())
    }

    fn acquire_parts_by<K: GranuleKind>(
        &self,
        more: &[Participant],
        handle: &Handle<K>,
        parts: Vec<Part>,
        limit: Limit,
    ) -> Result<Acquired> {
        let region = handle.region();
        let take = |nth: usize, part: Part, limit: Limit| match nth.checked_sub(1) {
            None => handle.acquire_part_at(&self.own.attachment, &part, limit),
            Some(nth) => {
                let attachment = &more[nth].attachment;
                let _calls = attachment.begin_taking(region)?;
                let taken = handle.acquire_part_at(attachment, &part, limit);
                let is_cancelled = matches!(taken, Err(Error::TimedOut(_))) && self.own.clear_cancel();
                if is_cancelled { Err(Error::Cancelled) } else { taken }
            }
        };
        let give_back = |nth: usize, _| {
            let participant = nth.checked_sub(1).map_or(self.own, |nth| &more[nth]);
            // With an error it is not held.
            let _ = handle.unlock_as(participant, None);
        };
        let acquired = take_in_order(parts, limit, take, give_back)?;
        Ok(Acquired {
            // An earlier holder of any of them had a smaller one, and a later holder has a larger one.
            fencing_token: acquired.iter().map(|one| one.fencing_token).max().unwrap_or(0),
            previous_owner_died: acquired.iter().any(|one| one.previous_owner_died),
        })
    }
}
