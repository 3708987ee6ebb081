//! The reader/writer lock: several readers, or one writer.

use super::{
    acquired::PreviousOwner,
    claimed::{ClaimedOptions, claimed_options, with_death_policy, with_patience},
    guard::{Guard, GuardAs},
    handle::{BiasUse, Handle, LockKind},
    participant::Participant,
    rwlock_guard::{Reading, Upgradable, Writing},
};
use crate::attach::{
    attachment::Attachment,
    cached::ThreadLine,
    calls::{AtHome, Doing},
    fast_path,
    file_handle::FileHandle,
};
use crate::layout::{DeathPolicy, Kind};
use crate::registers::{Claimed, FileClaims};
use std::time::Duration;
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::{Claim, Mode};
#[cfg(doc)]
use turnlock_core::error::Error;
use turnlock_core::error::Result;

/// The kind of a [`RwLock`].
#[derive(Debug)]
pub enum RwLockKind {}

impl LockKind for RwLockKind {
    type Claims = Claimed;
    const BIAS: BiasUse = BiasUse::Readers;
    const KIND: Kind = Kind::RwLock;
    const NAME: &'static str = "rwlock";

    fn claims(generation: u64) -> Claimed {
        Claimed::of(Kind::RwLock, generation)
    }

    fn everything() -> Claim {
        Claim::whole(Mode::Exclusive)
    }
}

/// A reader/writer lock in a lock file.
///
/// A participant holds it *shared*, beside other readers; *exclusively*, alone; or *upgradable*, beside readers, with the right
/// to make that exclusive without another writer in between. Each participant waits for earlier ones that conflict with it,
/// whether these hold the lock or wait for it: neither readers nor writers starve, and a waiting writer lets no later reader
/// pass once its patience is over.
///
/// While only readers come, the lock is *biased* to them: a reader enters and leaves without writing anything that another
/// reader writes. A writer ends that, and waits for the readers inside. A thread that writes again and again reserves its
/// place, and re-enters without the queue, as a writer or a reader, until another participant wants the lock.
///
/// A reader that dies is removed without a notice. A writer that dies leaves an owner-dead notice, as with a [`super::Mutex`]:
/// each next holder is told until a writer calls [`Guard::mark_consistent`].
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// let cache = file.rwlock("cache")?;
/// let reader = cache.read()?;
/// println!("what was written with fencing token {}", reader.fencing_token());
/// drop(reader);
/// let candidate = cache.upgradable()?; // others may still read
/// let writer = candidate.upgrade().map_err(turnlock::Error::from)?; // and now none
/// let reader = writer.downgrade()?; // no writer came in between
/// # drop(reader);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A thread (or [`Participant`]) holds it once at a time: a second [`RwLock::read`] is [`Error::Deadlock`], since it
/// would wait for a writer that waits for the first.
#[derive(Clone)]
pub struct RwLock(pub(super) Handle<RwLockKind>);

/// Options for opening or creating a rwlock.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// let cache = file.rwlock_options().patience(std::time::Duration::ZERO).open("cache")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RwLockOptions<'a>(pub(super) ClaimedOptions<'a>);

claimed_options!(RwLockOptions);
with_patience!(RwLockOptions);
with_death_policy!(RwLockOptions);

impl<'a> RwLockOptions<'a> {
    pub(super) fn new(file: &'a FileHandle) -> Self {
        Self(ClaimedOptions::new(file, Kind::RwLock))
    }

    /// Sets whether the lock must be *linked*, as [`super::MutexOptions::linked`]: its writers are of one host at a time, its readers of several while no host writes. It is
    /// away when it is created. A lock that exists and is not linked is [`Error::Kind`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
    /// let cache = file.rwlock_options().linked(true).open("cache")?;
    /// let Err(refused) = cache.try_read() else { panic!("it is away") };
    /// assert!(refused.to_string().contains("no agent is attached to it"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn linked(&mut self, linked: bool) -> &mut Self {
        self.0.linked = linked;
        self
    }

    /// Opens the rwlock called `name`. Names have 1 to 63 bytes. Errors as [`super::MutexOptions::open`].
    pub fn open(&self, name: &str) -> Result<RwLock> {
        Ok(RwLock(self.0.open(name)?))
    }
}

/// A guard of the calling thread: the lock is held shared until it is dropped.
pub type RwLockReadGuard<'a> = Reading<Guard<'a, RwLockKind>>;
/// A guard of the calling thread: the lock is held upgradable until it is dropped.
pub type RwLockUpgradableGuard<'a> = Upgradable<Guard<'a, RwLockKind>>;
/// A guard of the calling thread: the lock is held exclusively until it is dropped.
pub type RwLockWriteGuard<'a> = Writing<Guard<'a, RwLockKind>>;
/// A guard of a [`Participant`]: the lock is held shared until it is dropped.
pub type RwLockReadParticipantGuard<'a> = Reading<GuardAs<'a, RwLockKind>>;
/// A guard of a [`Participant`]: the lock is held upgradable until it is dropped.
pub type RwLockUpgradableParticipantGuard<'a> = Upgradable<GuardAs<'a, RwLockKind>>;
/// A guard of a [`Participant`]: the lock is held exclusively until it is dropped.
pub type RwLockWriteParticipantGuard<'a> = Writing<GuardAs<'a, RwLockKind>>;

impl RwLock {
    /// Takes the lock shared, waiting for earlier writers without a limit. The guard's fencing token is that of the last
    /// writer: two readers with the same one read the same.
    ///
    /// # Errors
    /// As [`super::Mutex::lock`].
    #[inline]
    pub fn read(&self) -> Result<RwLockReadGuard<'_>> {
        Ok(Reading(self.take(Mode::Shared, Limit::Forever)?))
    }

    /// Does what [`RwLock::read`] does if that needs no wait, else [`Error::WouldBlock`].
    #[inline]
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_>> {
        Ok(Reading(self.take(Mode::Shared, Limit::Never)?))
    }

    /// Does what [`RwLock::read`] does, waiting for at most `limit`, then [`Error::TimedOut`].
    #[inline]
    pub fn read_for(&self, limit: Duration) -> Result<RwLockReadGuard<'_>> {
        Ok(Reading(self.take(Mode::Shared, Limit::For(limit))?))
    }

    /// Does what [`RwLock::read`] does, as `participant`.
    pub fn read_as<'a>(&'a self, participant: &'a Participant) -> Result<RwLockReadParticipantGuard<'a>> {
        Ok(Reading(self.take_as(participant, Mode::Shared, Limit::Forever)?))
    }

    /// Does what [`RwLock::try_read`] does, as `participant`.
    pub fn try_read_as<'a>(&'a self, participant: &'a Participant) -> Result<RwLockReadParticipantGuard<'a>> {
        Ok(Reading(self.take_as(participant, Mode::Shared, Limit::Never)?))
    }

    /// Does what [`RwLock::read_for`] does, as `participant`.
    pub fn read_for_as<'a>(
        &'a self,
        participant: &'a Participant,
        limit: Duration,
    ) -> Result<RwLockReadParticipantGuard<'a>> {
        Ok(Reading(self.take_as(participant, Mode::Shared, Limit::For(limit))?))
    }

    /// Takes the lock upgradable: shared, with the right to make that exclusive later, which one participant at a time has.
    /// Waits without a limit. Errors as [`super::Mutex::lock`].
    #[inline]
    pub fn upgradable(&self) -> Result<RwLockUpgradableGuard<'_>> {
        Ok(Upgradable(self.take(Mode::Upgradable, Limit::Forever)?))
    }

    /// Does what [`RwLock::upgradable`] does if that needs no wait, else [`Error::WouldBlock`].
    #[inline]
    pub fn try_upgradable(&self) -> Result<RwLockUpgradableGuard<'_>> {
        Ok(Upgradable(self.take(Mode::Upgradable, Limit::Never)?))
    }

    /// Does what [`RwLock::upgradable`] does, waiting for at most `limit`, then [`Error::TimedOut`].
    #[inline]
    pub fn upgradable_for(&self, limit: Duration) -> Result<RwLockUpgradableGuard<'_>> {
        Ok(Upgradable(self.take(Mode::Upgradable, Limit::For(limit))?))
    }

    /// Does what [`RwLock::upgradable`] does, as `participant`.
    pub fn upgradable_as<'a>(
        &'a self,
        participant: &'a Participant,
    ) -> Result<RwLockUpgradableParticipantGuard<'a>> {
        Ok(Upgradable(self.take_as(participant, Mode::Upgradable, Limit::Forever)?))
    }

    /// Does what [`RwLock::try_upgradable`] does, as `participant`.
    pub fn try_upgradable_as<'a>(
        &'a self,
        participant: &'a Participant,
    ) -> Result<RwLockUpgradableParticipantGuard<'a>> {
        Ok(Upgradable(self.take_as(participant, Mode::Upgradable, Limit::Never)?))
    }

    /// Does what [`RwLock::upgradable_for`] does, as `participant`.
    pub fn upgradable_for_as<'a>(
        &'a self,
        participant: &'a Participant,
        limit: Duration,
    ) -> Result<RwLockUpgradableParticipantGuard<'a>> {
        Ok(Upgradable(self.take_as(participant, Mode::Upgradable, Limit::For(limit))?))
    }

    /// Takes the lock exclusively, waiting without a limit. Errors as [`super::Mutex::lock`].
    #[inline]
    pub fn write(&self) -> Result<RwLockWriteGuard<'_>> {
        Ok(Writing(self.take(Mode::Exclusive, Limit::Forever)?))
    }

    /// Does what [`RwLock::write`] does if that needs no wait, else [`Error::WouldBlock`].
    #[inline]
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_>> {
        Ok(Writing(self.take(Mode::Exclusive, Limit::Never)?))
    }

    /// Does what [`RwLock::write`] does, waiting for at most `limit`, then [`Error::TimedOut`].
    #[inline]
    pub fn write_for(&self, limit: Duration) -> Result<RwLockWriteGuard<'_>> {
        Ok(Writing(self.take(Mode::Exclusive, Limit::For(limit))?))
    }

    /// Does what [`RwLock::write`] does, as `participant`.
    pub fn write_as<'a>(&'a self, participant: &'a Participant) -> Result<RwLockWriteParticipantGuard<'a>> {
        Ok(Writing(self.take_as(participant, Mode::Exclusive, Limit::Forever)?))
    }

    /// Does what [`RwLock::try_write`] does, as `participant`.
    pub fn try_write_as<'a>(
        &'a self,
        participant: &'a Participant,
    ) -> Result<RwLockWriteParticipantGuard<'a>> {
        Ok(Writing(self.take_as(participant, Mode::Exclusive, Limit::Never)?))
    }

    /// Does what [`RwLock::write_for`] does, as `participant`.
    pub fn write_for_as<'a>(
        &'a self,
        participant: &'a Participant,
        limit: Duration,
    ) -> Result<RwLockWriteParticipantGuard<'a>> {
        Ok(Writing(self.take_as(participant, Mode::Exclusive, Limit::For(limit))?))
    }

    #[inline(always)]
    fn take(&self, mode: Mode, limit: Limit) -> Result<Guard<'_, RwLockKind>> {
        Ok(Guard::new(&self.0, self.0.lock_in_mode(mode, limit)?))
    }

    fn take_as<'a>(
        &'a self,
        participant: &'a Participant,
        mode: Mode,
        limit: Limit,
    ) -> Result<GuardAs<'a, RwLockKind>> {
        Ok(GuardAs::new(&self.0, participant, self.0.lock_in_mode_as(participant, mode, limit)?))
    }

    /// Returns how long a waiter lets others pass before it is queued for good.
    pub fn patience(&self) -> Duration {
        self.0.patience()
    }

    /// Returns whether it is linked ([`RwLockOptions::linked`]).
    pub fn is_linked(&self) -> bool {
        self.0.is_linked()
    }

    /// Returns for how long this host has the lock yet, if it is linked and leased ([`super::LinkedLock::set_lease_end`]); zero: the lease
    /// has ended.
    pub fn lease_left(&self) -> Option<Duration> {
        self.0.lease_left()
    }

    /// Returns what a writer's death means for this lock.
    pub fn death_policy(&self) -> DeathPolicy {
        self.0.death_policy()
    }

    /// Opens a lock again that is not recoverable, as a writer: the data were repaired, or are given up.
    pub fn reset(&self) -> Result<()> {
        self.0.reset(Limit::Forever)
    }

    /// Does what [`RwLock::reset`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_reset(&self) -> Result<()> {
        self.0.reset(Limit::Never)
    }

    /// Does what [`RwLock::reset`] does, waiting for at most `limit`.
    pub fn reset_for(&self, limit: Duration) -> Result<()> {
        self.0.reset(Limit::For(limit))
    }

    /// Returns the last writer that died holding this lock; `None` if none did.
    pub fn previous_owner(&self) -> Option<PreviousOwner> {
        self.0.previous_owner()
    }

    /// Returns the handle, for observers.
    pub(crate) fn handle(&self) -> &Handle<RwLockKind> {
        &self.0
    }

    /// Returns the handle, for the C ABI.
    pub(crate) fn into_handle(self) -> Handle<RwLockKind> {
        self.0
    }
}

impl Handle<RwLockKind> {
    /// Takes the lock in this mode, as the calling thread.
    #[inline(always)]
    pub fn lock_in_mode(&self, mode: Mode, limit: Limit) -> Result<super::Acquired> {
        match self.lock_biased_in(mode) {
            Some(fencing_token) => Ok(super::Acquired { fencing_token, previous_owner_died: false }),
            None => self.lock_in_mode_slowly(mode, limit),
        }
    }

    #[cold]
    #[inline(never)]
    fn lock_in_mode_slowly(&self, mode: Mode, limit: Limit) -> Result<super::Acquired> {
        if self.reload_cache()
            && let Some(fencing_token) = self.lock_biased_in(mode)
        {
            return Ok(super::Acquired { fencing_token, previous_owner_died: false });
        }
        self.acquire(Claim::whole(mode), limit)
    }

    /// [`Handle::lock_in_mode`], as `participant`.
    pub fn lock_in_mode_as(
        &self,
        participant: &Participant,
        mode: Mode,
        limit: Limit,
    ) -> Result<super::Acquired> {
        match self.lock_biased_in_as(participant, mode) {
            Some(fencing_token) => Ok(super::Acquired { fencing_token, previous_owner_died: false }),
            None => self.acquire_as(participant, Claim::whole(mode), limit),
        }
    }

    /// Does what [`Handle::lock_biased_in`] does, as `participant`, if the calling thread is its home thread.
    #[inline(always)]
    pub fn lock_biased_in_as(&self, participant: &Participant, mode: Mode) -> Option<u64> {
        let attachment = &participant.attachment;
        self.take_in_mode_at_home(attachment, &attachment.begin_at_home(Doing::TAKING)?, mode)
    }

    /// Does what [`Handle::lock_biased_in`] does, as a participant on which the calling thread is in a call at home.
    #[inline(always)]
    pub(super) fn take_in_mode_at_home(
        &self,
        attachment: &Attachment,
        call: &AtHome,
        mode: Mode,
    ) -> Option<u64> {
        // SAFETY: this handle keeps the file open.
        unsafe { fast_path::take_in_mode_as(self.lock, attachment, call, self.claims.readers(), mode) }
    }

    /// Takes the lock in this mode by the bias towards readers, or by the calling thread's reservation. Returns the fencing
    /// token. Neither panics nor calls anything.
    #[inline(always)]
    pub fn lock_biased_in(&self, mode: Mode) -> Option<u64> {
        // SAFETY: found by this lock's key.
        unsafe { self.lock_biased_in_at(self.lock.key.find()?, mode) }
    }

    /// [`Handle::lock_biased_in`], by the calling thread's line.
    ///
    /// # Safety
    /// As [`Handle::lock_biased_at`].
    #[inline(always)]
    pub unsafe fn lock_biased_in_at(&self, line: &ThreadLine, mode: Mode) -> Option<u64> {
        // SAFETY: this handle keeps the file open; and the caller's promise.
        unsafe { fast_path::take_in_mode(self.lock, line, self.claims.readers(), mode) }
    }
}
