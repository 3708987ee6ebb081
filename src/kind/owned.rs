//! Owned guards, which can be stored, and sent to another thread.

use super::{
    acquired::{Acquired, PreviousOwner},
    group_lock::{GroupKind, GroupLock},
    handle::{Handle, LockKind},
    keyed_lock::{KeyedKind, KeyedLock, granule_of_key},
    mutex::{Mutex, MutexKind},
    part::{Granule, Part},
    participant::{Participant, ParticipantOptions},
    range_lock::{RangeKind, RangeLock, extent_of},
    rwlock::{RwLock, RwLockKind},
    rwlock_guard::Upgradable,
    semaphore::{Semaphore, SemaphoreKind},
};
use crate::attach::idle;
use std::{
    fmt::{Debug, Formatter},
    ops::RangeBounds,
    time::Duration,
};
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::{Claim, Extent, Mode};
#[cfg(doc)]
use turnlock_core::error::Error;
use turnlock_core::error::Result;

/// A guard that is `Send` and has no lifetime: the lock is unlocked when it is dropped, on any thread, and abandoned when a
/// panic drops it.
///
/// It holds the lock as a participant of its own ([`Participant`]), with a slot of the file; up to eight of these are kept for
/// later guards. A thread that takes the same lock a second time gets no [`Error::Deadlock`]: it waits for itself.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// let guard = file.mutex("accounts")?.lock_owned()?;
/// let worker = std::thread::spawn(move || {
///     println!("alone, with fencing token {}", guard.fencing_token());
///     guard.unlock() // or at the end of the thread
/// });
/// worker.join().unwrap()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "the lock is unlocked as soon as the guard is dropped"]
pub struct OwnedGuard<K: LockKind> {
    pub(super) handle: Handle<K>,
    /// `None`: it is unlocked.
    pub(super) participant: Option<Participant>,
    pub(super) acquired: Acquired,
    /// Whether the thread was unwinding already when it took the lock.
    panicking: bool,
}

/// A mutex that is held, see [`OwnedGuard`].
pub type OwnedMutexGuard = OwnedGuard<MutexKind>;
/// A reader/writer lock that is held shared or exclusively, see [`OwnedGuard`].
pub type OwnedRwLockGuard = OwnedGuard<RwLockKind>;
/// Permits of a semaphore, see [`OwnedGuard`].
pub type OwnedPermits = OwnedGuard<SemaphoreKind>;
/// A range that is held, see [`OwnedGuard`].
pub type OwnedRangeGuard = OwnedGuard<RangeKind>;
/// A key that is held, see [`OwnedGuard`].
pub type OwnedKeyGuard = OwnedGuard<KeyedKind>;
/// A place inside a group lock, see [`OwnedGuard`].
pub type OwnedGroupGuard = OwnedGuard<GroupKind>;

impl<K: LockKind> OwnedGuard<K> {
    /// Returns a participant for a guard of this lock.
    pub(super) fn participant_for(handle: &Handle<K>) -> Result<Participant> {
        let file = &handle.file.open;
        match idle::take(file) {
            Some(attachment) => Ok(Participant { attachment }),
            None => ParticipantOptions::new(file).open(),
        }
    }

    /// Returns the guard of what `participant` has acquired.
    pub(super) fn of(handle: &Handle<K>, participant: Participant, acquired: Acquired) -> Self {
        let (handle, panicking) = (handle.clone(), std::thread::panicking());
        Self { handle, participant: Some(participant), acquired, panicking }
    }

    pub(super) fn take(
        handle: &Handle<K>,
        acquire: impl FnOnce(&Participant) -> Result<Acquired>,
    ) -> Result<Self> {
        let participant = Self::participant_for(handle)?;
        match acquire(&participant) {
            Ok(acquired) => Ok(Self::of(handle, participant, acquired)),
            Err(error) => {
                idle::keep(participant.attachment);
                Err(error)
            }
        }
    }

    /// Returns what came with the acquisition.
    pub fn acquired(&self) -> Acquired {
        self.acquired
    }

    /// Returns the fencing token of this acquisition.
    pub fn fencing_token(&self) -> u64 {
        self.acquired.fencing_token
    }

    /// Returns the previous holder, if it died inside.
    pub fn previous_owner(&self) -> Option<PreviousOwner> {
        self.handle.previous_owner().filter(|_| self.acquired.previous_owner_died)
    }

    /// Returns whether another participant is queued behind this one. As [`super::Guard::is_contended`].
    pub fn is_contended(&self) -> bool {
        let contended = |participant| self.handle.is_contended_as(participant).unwrap_or(false);
        self.participant.as_ref().is_some_and(contended)
    }

    /// Marks the data as consistent after a holder's death. [`Error::NotInconsistent`] if no holder died.
    pub fn mark_consistent(&mut self) -> Result<()> {
        self.participant.as_ref().map_or(Ok(()), |participant| self.handle.mark_consistent_as(participant))
    }

    /// Unlocks, and returns the error that dropping the guard cannot. Errors as [`super::Guard::unlock`].
    pub fn unlock(mut self) -> Result<()> {
        self.end(false)
    }

    /// Unlocks as a dying owner does, as [`super::Guard::abandon`].
    pub fn abandon(mut self) -> Result<()> {
        self.end(true)
    }

    /// Unlocks for one that was not there any more to see it: a death that it would have been told of is told to the next.
    #[cfg(feature = "async")]
    pub(super) fn return_unseen(mut self) -> Result<()> {
        self.end(self.acquired.previous_owner_died)
    }

    fn end(&mut self, is_half_done: bool) -> Result<()> {
        let Some(participant) = self.participant.take() else { return Ok(()) };
        let token = Some(self.acquired.fencing_token);
        let ended = if is_half_done {
            self.handle.abandon_as(&participant, token)
        } else {
            self.handle.unlock_as(&participant, token)
        };
        // After an error it may still hold the lock: then it is detached, and the lock passes on.
        if ended.is_ok() {
            idle::keep(participant.attachment);
        }
        ended
    }
}

impl<K: LockKind> Drop for OwnedGuard<K> {
    fn drop(&mut self) {
        // A forked child's copy of a guard is not the owner; the error that says so is dropped.
        let _ = self.end(std::thread::panicking() && !self.panicking);
    }
}

impl<K: LockKind> Debug for OwnedGuard<K> {
    fn fmt(&self, to: &mut Formatter) -> std::fmt::Result {
        to.debug_struct("OwnedGuard").field("acquired", &self.acquired).finish_non_exhaustive()
    }
}

impl Mutex {
    fn owned(&self, limit: Limit) -> Result<OwnedMutexGuard> {
        OwnedGuard::take(&self.0, |participant| self.0.lock_as(participant, limit))
    }

    /// Takes the lock, for a guard that can be stored and sent. Errors as [`Mutex::lock`], but for a deadlock of the thread with
    /// itself; [`Error::ParticipantsFull`].
    pub fn lock_owned(&self) -> Result<OwnedMutexGuard> {
        self.owned(Limit::Forever)
    }

    /// Does what [`Mutex::lock_owned`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_lock_owned(&self) -> Result<OwnedMutexGuard> {
        self.owned(Limit::Never)
    }

    /// Does what [`Mutex::lock_owned`] does, waiting for at most `limit`; then [`Error::TimedOut`].
    pub fn try_lock_owned_for(&self, limit: Duration) -> Result<OwnedMutexGuard> {
        self.owned(Limit::For(limit))
    }
}

impl RwLock {
    fn owned(&self, mode: Mode, limit: Limit) -> Result<OwnedRwLockGuard> {
        OwnedGuard::take(&self.0, |participant| self.0.lock_in_mode_as(participant, mode, limit))
    }

    /// Takes the lock shared, for a guard that can be stored and sent. Errors as [`Mutex::lock_owned`].
    pub fn read_owned(&self) -> Result<OwnedRwLockGuard> {
        self.owned(Mode::Shared, Limit::Forever)
    }

    /// Does what [`RwLock::read_owned`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_read_owned(&self) -> Result<OwnedRwLockGuard> {
        self.owned(Mode::Shared, Limit::Never)
    }

    /// Does what [`RwLock::read_owned`] does, waiting for at most `limit`; then [`Error::TimedOut`].
    pub fn try_read_owned_for(&self, limit: Duration) -> Result<OwnedRwLockGuard> {
        self.owned(Mode::Shared, Limit::For(limit))
    }

    /// Takes the lock upgradable, as [`RwLock::upgradable`], for a guard that can be stored and sent. Errors as
    /// [`Mutex::lock_owned`].
    pub fn upgradable_owned(&self) -> Result<Upgradable<OwnedRwLockGuard>> {
        self.owned(Mode::Upgradable, Limit::Forever).map(Upgradable)
    }

    /// Does what [`RwLock::upgradable_owned`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_upgradable_owned(&self) -> Result<Upgradable<OwnedRwLockGuard>> {
        self.owned(Mode::Upgradable, Limit::Never).map(Upgradable)
    }

    /// Does what [`RwLock::upgradable_owned`] does, waiting for at most `limit`; then [`Error::TimedOut`].
    pub fn try_upgradable_owned_for(&self, limit: Duration) -> Result<Upgradable<OwnedRwLockGuard>> {
        self.owned(Mode::Upgradable, Limit::For(limit)).map(Upgradable)
    }

    /// Takes the lock exclusively, for a guard that can be stored and sent. Errors as [`Mutex::lock_owned`].
    pub fn write_owned(&self) -> Result<OwnedRwLockGuard> {
        self.owned(Mode::Exclusive, Limit::Forever)
    }

    /// Does what [`RwLock::write_owned`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_write_owned(&self) -> Result<OwnedRwLockGuard> {
        self.owned(Mode::Exclusive, Limit::Never)
    }

    /// Does what [`RwLock::write_owned`] does, waiting for at most `limit`; then [`Error::TimedOut`].
    pub fn try_write_owned_for(&self, limit: Duration) -> Result<OwnedRwLockGuard> {
        self.owned(Mode::Exclusive, Limit::For(limit))
    }
}

impl Semaphore {
    fn owned(&self, permits: u32, limit: Limit) -> Result<OwnedPermits> {
        OwnedGuard::take(&self.0, |participant| self.0.acquire_permits_as(participant, permits, limit))
    }

    /// Takes `permits`, for a guard that can be stored and sent. Errors as [`Semaphore::acquire`] and [`Mutex::lock_owned`].
    pub fn acquire_owned(&self, permits: u32) -> Result<OwnedPermits> {
        self.owned(permits, Limit::Forever)
    }

    /// Does what [`Semaphore::acquire_owned`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_acquire_owned(&self, permits: u32) -> Result<OwnedPermits> {
        self.owned(permits, Limit::Never)
    }

    /// Does what [`Semaphore::acquire_owned`] does, waiting for at most `limit`; then [`Error::TimedOut`].
    pub fn try_acquire_owned_for(&self, permits: u32, limit: Duration) -> Result<OwnedPermits> {
        self.owned(permits, Limit::For(limit))
    }
}

impl RangeLock {
    fn owned(&self, mode: Mode, extent: Extent, limit: Limit) -> Result<OwnedRangeGuard> {
        let part = Part::new(mode, extent);
        OwnedGuard::take(&self.0, |participant| self.0.acquire_part_as(participant, part, limit))
    }

    /// Takes a range shared, for a guard that can be stored and sent. Errors as [`RangeLock::read`] and [`Mutex::lock_owned`].
    pub fn lock_shared_owned(&self, range: impl RangeBounds<u64>) -> Result<OwnedRangeGuard> {
        self.owned(Mode::Shared, extent_of(range)?, Limit::Forever)
    }

    /// Does what [`RangeLock::lock_shared_owned`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_lock_shared_owned(&self, range: impl RangeBounds<u64>) -> Result<OwnedRangeGuard> {
        self.owned(Mode::Shared, extent_of(range)?, Limit::Never)
    }

    /// Does what [`RangeLock::lock_shared_owned`] does, waiting for at most `limit`; then [`Error::TimedOut`].
    pub fn try_lock_shared_owned_for(
        &self,
        range: impl RangeBounds<u64>,
        limit: Duration,
    ) -> Result<OwnedRangeGuard> {
        self.owned(Mode::Shared, extent_of(range)?, Limit::For(limit))
    }

    /// Takes a range exclusively, for a guard that can be stored and sent. Errors as [`RangeLock::write`] and [`Mutex::lock_owned`].
    pub fn lock_exclusive_owned(&self, range: impl RangeBounds<u64>) -> Result<OwnedRangeGuard> {
        self.owned(Mode::Exclusive, extent_of(range)?, Limit::Forever)
    }

    /// Does what [`RangeLock::lock_exclusive_owned`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_lock_exclusive_owned(&self, range: impl RangeBounds<u64>) -> Result<OwnedRangeGuard> {
        self.owned(Mode::Exclusive, extent_of(range)?, Limit::Never)
    }

    /// Does what [`RangeLock::lock_exclusive_owned`] does, waiting for at most `limit`; then [`Error::TimedOut`].
    pub fn try_lock_exclusive_owned_for(
        &self,
        range: impl RangeBounds<u64>,
        limit: Duration,
    ) -> Result<OwnedRangeGuard> {
        self.owned(Mode::Exclusive, extent_of(range)?, Limit::For(limit))
    }
}

impl KeyedLock {
    fn owned(&self, mode: Mode, key: Granule, limit: Limit) -> Result<OwnedKeyGuard> {
        let part = Part::new(mode, key);
        OwnedGuard::take(&self.0, |participant| self.0.acquire_part_as(participant, part, limit))
    }

    /// Takes a key shared, for a guard that can be stored and sent. Errors as [`KeyedLock::read`] and [`Mutex::lock_owned`].
    pub fn lock_shared_owned(&self, key: impl AsRef<[u8]>) -> Result<OwnedKeyGuard> {
        self.owned(Mode::Shared, granule_of_key(key.as_ref()), Limit::Forever)
    }

    /// Does what [`KeyedLock::lock_shared_owned`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_lock_shared_owned(&self, key: impl AsRef<[u8]>) -> Result<OwnedKeyGuard> {
        self.owned(Mode::Shared, granule_of_key(key.as_ref()), Limit::Never)
    }

    /// Does what [`KeyedLock::lock_shared_owned`] does, waiting for at most `limit`; then [`Error::TimedOut`].
    pub fn try_lock_shared_owned_for(&self, key: impl AsRef<[u8]>, limit: Duration) -> Result<OwnedKeyGuard> {
        self.owned(Mode::Shared, granule_of_key(key.as_ref()), Limit::For(limit))
    }

    /// Takes a key exclusively, for a guard that can be stored and sent. Errors as [`KeyedLock::write`] and [`Mutex::lock_owned`].
    pub fn lock_exclusive_owned(&self, key: impl AsRef<[u8]>) -> Result<OwnedKeyGuard> {
        self.owned(Mode::Exclusive, granule_of_key(key.as_ref()), Limit::Forever)
    }

    /// Does what [`KeyedLock::lock_exclusive_owned`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_lock_exclusive_owned(&self, key: impl AsRef<[u8]>) -> Result<OwnedKeyGuard> {
        self.owned(Mode::Exclusive, granule_of_key(key.as_ref()), Limit::Never)
    }

    /// Does what [`KeyedLock::lock_exclusive_owned`] does, waiting for at most `limit`; then [`Error::TimedOut`].
    pub fn try_lock_exclusive_owned_for(
        &self,
        key: impl AsRef<[u8]>,
        limit: Duration,
    ) -> Result<OwnedKeyGuard> {
        self.owned(Mode::Exclusive, granule_of_key(key.as_ref()), Limit::For(limit))
    }
}

impl GroupLock {
    fn owned(&self, group: u64, limit: Limit) -> Result<OwnedGroupGuard> {
        let claim = Claim::of_group(group);
        OwnedGuard::take(&self.0, |participant| self.0.acquire_as(participant, claim, limit))
    }

    /// Enters as a member of `group`, for a guard that can be stored and sent. Errors as [`GroupLock::lock`] and
    /// [`Mutex::lock_owned`].
    pub fn lock_owned(&self, group: u64) -> Result<OwnedGroupGuard> {
        self.owned(group, Limit::Forever)
    }

    /// Does what [`GroupLock::lock_owned`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_lock_owned(&self, group: u64) -> Result<OwnedGroupGuard> {
        self.owned(group, Limit::Never)
    }

    /// Does what [`GroupLock::lock_owned`] does, waiting for at most `limit`; then [`Error::TimedOut`].
    pub fn try_lock_owned_for(&self, group: u64, limit: Duration) -> Result<OwnedGroupGuard> {
        self.owned(group, Limit::For(limit))
    }
}
