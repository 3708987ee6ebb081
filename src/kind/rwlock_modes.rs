//! Changes of the mode in which a rwlock is held.

use super::{
    acquired::Acquired,
    guard::{Guard, GuardAs},
    handle::Handle,
    owned::OwnedGuard,
    participant::Participant,
    rwlock::RwLockKind,
    rwlock_guard::{ChangesMode, HowLong},
};
use crate::attach::attachment::Attachment;
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::Mode;
use turnlock_core::error::{Error, Result};

impl Handle<RwLockKind> {
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

    /// Checks that the calling thread holds it exclusively.
    ///
    /// # Errors
    /// [`Error::NotOwner`], [`Error::NotExclusive`].
    pub fn check_exclusive(&self) -> Result<()> {
        self.with_holder(None, |attachment| self.check_exclusive_at(attachment))
    }

    /// Does what [`Handle::check_exclusive`] does, as `participant`.
    pub fn check_exclusive_as(&self, participant: &Participant) -> Result<()> {
        self.check_exclusive_at(self.attachment_of(participant)?)
    }

    fn check_exclusive_at(&self, attachment: &Attachment) -> Result<()> {
        let attempt = self.owned(attachment)?;
        attempt.check_owner(None)?;
        if attempt.claim.mode == Mode::Exclusive { Ok(()) } else { Err(Error::NotExclusive) }
    }

    fn upgrade_at(&self, attachment: &Attachment, limit: Limit) -> Result<Acquired> {
        Ok(self.owned(attachment)?.upgrade(limit)?.into())
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
}

impl ChangesMode for Guard<'_, RwLockKind> {
    fn make_exclusive(&mut self, limit: HowLong) -> Result<()> {
        self.set_acquired(self.handle.upgrade(limit.0)?);
        Ok(())
    }

    fn make_upgradable(&mut self) -> Result<()> {
        self.handle.downgrade(Mode::Upgradable)
    }

    fn make_shared(&mut self) -> Result<()> {
        self.handle.downgrade(Mode::Shared)
    }

    fn end(self) -> Result<()> {
        self.unlock()
    }

    fn die(self) -> Result<()> {
        self.abandon()
    }
}

impl ChangesMode for GuardAs<'_, RwLockKind> {
    fn make_exclusive(&mut self, limit: HowLong) -> Result<()> {
        self.set_acquired(self.handle.upgrade_as(self.participant, limit.0)?);
        Ok(())
    }

    fn make_upgradable(&mut self) -> Result<()> {
        self.handle.downgrade_as(self.participant, Mode::Upgradable)
    }

    fn make_shared(&mut self) -> Result<()> {
        self.handle.downgrade_as(self.participant, Mode::Shared)
    }

    fn end(self) -> Result<()> {
        self.unlock()
    }

    fn die(self) -> Result<()> {
        self.abandon()
    }
}

impl OwnedGuard<RwLockKind> {
    fn held_by(&self) -> Result<&Participant> {
        self.participant.as_ref().ok_or(Error::NotOwner)
    }
}

impl ChangesMode for OwnedGuard<RwLockKind> {
    fn make_exclusive(&mut self, limit: HowLong) -> Result<()> {
        self.acquired = self.handle.upgrade_as(self.held_by()?, limit.0)?;
        Ok(())
    }

    fn make_upgradable(&mut self) -> Result<()> {
        self.handle.downgrade_as(self.held_by()?, Mode::Upgradable)
    }

    fn make_shared(&mut self) -> Result<()> {
        self.handle.downgrade_as(self.held_by()?, Mode::Shared)
    }

    fn end(self) -> Result<()> {
        self.unlock()
    }

    fn die(self) -> Result<()> {
        self.abandon()
    }
}
