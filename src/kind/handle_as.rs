//! Handles used as a participant that is not a thread.

use super::{
    acquired::Acquired,
    handle::{BiasUse, ClaimOf, Handle, LockKind},
    participant::Participant,
};
use crate::attach::{
    attachment::Attachment,
    calls::{AtHome, Doing},
    fast_path::{self, UnlockOutcome},
    site::FileSite,
};
use crate::registers::FileClaims;
use std::sync::Arc;
use turnlock_core::acquire::{attempt::Attempt, site::Limit};
use turnlock_core::error::{Error, Result};

impl<K: LockKind> Handle<K> {
    /// Does what [`Handle::acquire`] does, as `participant`.
    pub fn acquire_as(&self, participant: &Participant, claim: ClaimOf<K>, limit: Limit) -> Result<Acquired> {
        let attachment = self.attachment_of(participant)?;
        let _call = attachment.begin_taking(self.lock.region)?;
        self.acquire_at(attachment, claim, limit)
    }

    /// Takes the lock as `participant`.
    #[inline(always)]
    pub fn lock_as(&self, participant: &Participant, limit: Limit) -> Result<Acquired> {
        match self.lock_biased_as(participant) {
            Some(fencing_token) => Ok(Acquired { fencing_token, previous_owner_died: false }),
            None => self.lock_slowly_as(participant, limit),
        }
    }

    /// Does what [`Handle::lock_biased`] does, as `participant`, if the calling thread is its home thread.
    #[inline(always)]
    pub fn lock_biased_as(&self, participant: &Participant) -> Option<u64> {
        let attachment = &participant.attachment;
        self.take_at_home(attachment, &attachment.begin_at_home(Doing::TAKING)?)
    }

    /// Does what [`Handle::lock_biased`] does, as a participant on which the calling thread is in a call at home.
    #[inline(always)]
    pub(super) fn take_at_home(&self, attachment: &Attachment, call: &AtHome) -> Option<u64> {
        if K::BIAS != BiasUse::Owner {
            return None;
        }
        // SAFETY: this handle keeps the file open.
        unsafe { fast_path::take_as(self.lock, attachment, call) }
    }

    /// Takes the lock where [`Handle::lock_biased_as`] did not.
    #[cold]
    #[inline(never)]
    pub fn lock_slowly_as(&self, participant: &Participant, limit: Limit) -> Result<Acquired> {
        self.acquire_as(participant, K::everything(), limit)
    }

    /// Unlocks as `participant`.
    #[inline(always)]
    pub fn unlock_as(&self, participant: &Participant, token: Option<u64>) -> Result<()> {
        match self.unlock_biased_as(participant, token) {
            Some(UnlockOutcome::Done) => Ok(()),
            left => self.unlock_slowly_as(participant, left, token),
        }
    }

    /// Does what [`Handle::unlock_biased`] does, as `participant`, if the calling thread is its home thread.
    #[inline(always)]
    pub fn unlock_biased_as(&self, participant: &Participant, token: Option<u64>) -> Option<UnlockOutcome> {
        let (lock, attachment) = (self.lock, &participant.attachment);
        let at_home = || attachment.begin_at_home(Doing::leaving(lock.region));
        match K::BIAS {
            BiasUse::None => None,
            // SAFETY: this handle keeps the file open.
            BiasUse::Owner => unsafe { fast_path::leave_as(lock, attachment, &at_home()?, token) },
            // SAFETY: likewise.
            BiasUse::Reservations => unsafe {
                fast_path::leave_permits_as(lock, attachment, &at_home()?, token)
            },
            // SAFETY: likewise.
            BiasUse::Readers => unsafe {
                fast_path::leave_in_mode_as(lock, attachment, &at_home()?, self.claims.readers(), token)
            },
        }
    }

    /// Does what [`Handle::unlock_slowly`] does, as `participant`.
    #[cold]
    #[inline(never)]
    pub fn unlock_slowly_as(
        &self,
        participant: &Participant,
        left: Option<UnlockOutcome>,
        token: Option<u64>,
    ) -> Result<()> {
        match left {
            Some(_) => self.attempt_of_holder(self.attachment_of(participant)?).complete_unlock(),
            None => self.as_holder(participant, |attempt| attempt.unlock(token)),
        }
    }

    /// Does what [`Handle::abandon`] does, as `participant`.
    pub fn abandon_as(&self, participant: &Participant, token: Option<u64>) -> Result<()> {
        self.as_holder(participant, |attempt| attempt.abandon(token))
    }

    /// Does what [`Handle::mark_consistent`] does, as `participant`.
    pub fn mark_consistent_as(&self, participant: &Participant) -> Result<()> {
        self.as_holder(participant, |attempt| attempt.mark_consistent())
    }

    /// Does what [`Handle::depart`] does, as `participant`.
    pub fn depart_as(&self, participant: &Participant) -> Result<()> {
        let attachment = self.attachment_of(participant)?;
        let _call = attachment.begin_taking(self.lock.region)?;
        match self.owned(attachment) {
            Ok(attempt) => attempt.depart(),
            // A member had left before the ring was removed.
            Err(_) => Ok(()),
        }
    }

    /// Does what [`Handle::is_contended`] does, as `participant`.
    pub fn is_contended_as(&self, participant: &Participant) -> Result<bool> {
        let attachment = self.attachment_of(participant)?;
        attachment.check()?;
        self.is_contended_at(attachment)
    }

    /// Returns the fencing token by which `participant` holds the lock.
    #[cfg(feature = "capi")]
    pub fn token_as(&self, participant: &Participant) -> Result<u64> {
        let attachment = self.attachment_of(participant)?;
        self.owned(attachment)?;
        let local = attachment.local(self.lock.region);
        local.check_held(None)?;
        // None: another call changes how it is held.
        local.holding().map(|holding| holding.token).ok_or(Error::ParticipantBusy)
    }

    fn as_holder(
        &self,
        participant: &Participant,
        act: impl FnOnce(Attempt<FileSite<K::Claims>>) -> Result<()>,
    ) -> Result<()> {
        let attachment = self.attachment_of(participant)?;
        attachment.begin_leaving(self.lock.region)?;
        act(self.owned(attachment)?)
    }

    pub(super) fn attachment_of<'a>(&self, participant: &'a Participant) -> Result<&'a Attachment> {
        if !Arc::ptr_eq(&participant.attachment.file, &self.file.open) {
            return Err(Error::InvalidArgument(format!(
                "the participant belongs to {} and the {} to {}: open a participant of the same file",
                participant.attachment.file.reopen().path().display(),
                K::NAME,
                self.file.open.reopen().path().display()
            )));
        }
        if participant.attachment.of_thread {
            return Err(Error::InvalidArgument(
                "this is a thread's own participant, which is only for cancelling that thread's waits: lock without \
                 naming a participant, or open one of its own"
                    .into(),
            ));
        }
        Ok(&participant.attachment)
    }
}
