//! The group lock: any number of participants of one group, and none of another.

use super::{
    acquired::PreviousOwner,
    claimed::{ClaimedOptions, claimed_options, with_death_policy},
    file::LockFile,
    guard::{Guard, GuardAs},
    handle::{BiasUse, Handle, LockKind},
    participant::Participant,
};
use crate::attach::file_handle::FileHandle;
use crate::layout::{DeathPolicy, Kind};
use crate::registers::Claimed;
use std::time::Duration;
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::Claim;
#[cfg(doc)]
use turnlock_core::error::Error;
use turnlock_core::error::Result;

/// The kind of a [`GroupLock`].
#[derive(Debug)]
pub enum GroupKind {}

impl LockKind for GroupKind {
    type Claims = Claimed;
    const BIAS: BiasUse = BiasUse::None;
    const KIND: Kind = Kind::GroupLock;
    const NAME: &'static str = "group lock";

    fn claims(generation: u64) -> Claimed {
        Claimed::of(Kind::GroupLock, generation)
    }

    fn everything() -> Claim {
        Claim::EVERYTHING
    }
}

/// A group lock in a lock file: any number of participants of one group are inside at once, and never two of different groups
/// (group mutual exclusion: Y.-J. Joung, 1998; the rooms of G. E. Blelloch, P. Cheng and P. B. Gibbons, 2001).
///
/// A group is any number. Groups need not be created, and there may be as many as there are numbers. For programs that agree
/// within a group and not across: two versions of a format, the phases of a batch, the contexts of a device.
///
/// Strictly first come first served: a participant that comes later waits behind an earlier one of another group, also if
/// its own group is inside. A thread holds a group lock once; a second time is [`Error::Deadlock`].
///
/// The members of a group are not excluded from one another: what they change together they protect among themselves.
///
/// Each of them may change what the lock protects, so its death is told: every participant that enters afterwards gets the notice,
/// whatever its group, until one that had it marks the data consistent. Those that are inside already are not told, and cannot mark
/// it. The lock is not closed if a holder unlocks without marking. To enter beside others takes a look at each of them, a
/// microsecond or two, since no participant of their group would wait for a dead one.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// let store = file.group_lock("store")?;
/// const FORMAT: u64 = 2;
/// let guard = store.lock(FORMAT)?; // beside all others that write format 2
/// let other = std::thread::scope(|s| s.spawn(|| store.try_lock(1).err()).join().unwrap());
/// assert!(matches!(other, Some(turnlock::Error::WouldBlock(_))));
/// # drop(guard);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct GroupLock(pub(super) Handle<GroupKind>);

/// The calling thread's place inside a [`GroupLock`], until the guard is dropped.
pub type GroupGuard<'a> = Guard<'a, GroupKind>;
/// The place of a [`Participant`] inside a [`GroupLock`], until the guard is dropped.
pub type GroupParticipantGuard<'a> = GuardAs<'a, GroupKind>;

/// Options for opening or creating a group lock.
#[derive(Clone, Debug)]
pub struct GroupLockOptions<'a>(pub(super) ClaimedOptions<'a>);

claimed_options!(GroupLockOptions);
with_death_policy!(GroupLockOptions);

impl LockFile {
    /// Opens the group lock called `name`, created if the file has no lock of that name. Errors as [`super::MutexOptions::open`].
    pub fn group_lock(&self, name: &str) -> Result<GroupLock> {
        self.group_lock_options().open(name)
    }

    /// Returns options for opening a group lock.
    pub fn group_lock_options(&self) -> GroupLockOptions<'_> {
        GroupLockOptions::new(&self.file)
    }
}

impl<'a> GroupLockOptions<'a> {
    pub(super) fn new(file: &'a FileHandle) -> Self {
        Self(ClaimedOptions::new(file, Kind::GroupLock))
    }

    /// Opens the lock called `name`. Names have 1 to 63 bytes. Errors as [`super::MutexOptions::open`].
    pub fn open(&self, name: &str) -> Result<GroupLock> {
        Ok(GroupLock(self.0.open(name)?))
    }
}

impl GroupLock {
    /// Enters as a member of `group`, waiting for earlier participants of other groups without a limit.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if this thread is inside already, in whichever group; others as [`super::Mutex::lock`].
    pub fn lock(&self, group: u64) -> Result<GroupGuard<'_>> {
        self.take(group, Limit::Forever)
    }

    /// Does what [`GroupLock::lock`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_lock(&self, group: u64) -> Result<GroupGuard<'_>> {
        self.take(group, Limit::Never)
    }

    /// Does what [`GroupLock::lock`] does, waiting for at most `limit`, then [`Error::TimedOut`].
    pub fn lock_for(&self, group: u64, limit: Duration) -> Result<GroupGuard<'_>> {
        self.take(group, Limit::For(limit))
    }

    /// Does what [`GroupLock::lock`] does, as `participant`, which is inside once at a time.
    pub fn lock_as<'a>(
        &'a self,
        participant: &'a Participant,
        group: u64,
    ) -> Result<GroupParticipantGuard<'a>> {
        self.take_as(participant, group, Limit::Forever)
    }

    /// Does what [`GroupLock::try_lock`] does, as `participant`.
    pub fn try_lock_as<'a>(
        &'a self,
        participant: &'a Participant,
        group: u64,
    ) -> Result<GroupParticipantGuard<'a>> {
        self.take_as(participant, group, Limit::Never)
    }

    /// Does what [`GroupLock::lock_for`] does, as `participant`.
    pub fn lock_for_as<'a>(
        &'a self,
        participant: &'a Participant,
        group: u64,
        limit: Duration,
    ) -> Result<GroupParticipantGuard<'a>> {
        self.take_as(participant, group, Limit::For(limit))
    }

    fn take(&self, group: u64, limit: Limit) -> Result<GroupGuard<'_>> {
        Ok(Guard::new(&self.0, self.0.acquire(Claim::of_group(group), limit)?))
    }

    fn take_as<'a>(
        &'a self,
        participant: &'a Participant,
        group: u64,
        limit: Limit,
    ) -> Result<GroupParticipantGuard<'a>> {
        let acquired = self.0.acquire_as(participant, Claim::of_group(group), limit)?;
        Ok(GuardAs::new(&self.0, participant, acquired))
    }

    /// Returns what a member's death means for this lock.
    pub fn death_policy(&self) -> DeathPolicy {
        self.0.death_policy()
    }

    /// Marks what dead members left as consistent, once no other participant is inside: the data were repaired, or are given
    /// up.
    pub fn reset(&self) -> Result<()> {
        self.0.reset(Limit::Forever)
    }

    /// Does what [`GroupLock::reset`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_reset(&self) -> Result<()> {
        self.0.reset(Limit::Never)
    }

    /// Does what [`GroupLock::reset`] does, waiting for at most `limit`.
    pub fn reset_for(&self, limit: Duration) -> Result<()> {
        self.0.reset(Limit::For(limit))
    }

    /// Returns the last participant that died inside; `None` if none did.
    pub fn previous_owner(&self) -> Option<PreviousOwner> {
        self.0.previous_owner()
    }

    /// Returns the handle, for observers.
    pub(crate) fn handle(&self) -> &Handle<GroupKind> {
        &self.0
    }

    /// Returns the handle, for the C ABI.
    #[cfg(feature = "capi")]
    pub(crate) fn into_handle(self) -> Handle<GroupKind> {
        self.0
    }
}
