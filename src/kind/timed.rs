//! Time limits by parking_lot's names: for a duration, or until a moment.

use super::{
    group_lock::{GroupGuard, GroupLock},
    keyed_lock::{KeyGuard, KeyedLock},
    mutex::{Mutex, MutexGuard},
    range_lock::{RangeGuard, RangeLock},
    ring::{TurnGuard, TurnRing},
    rwlock::{RwLock, RwLockReadGuard, RwLockUpgradableGuard, RwLockWriteGuard},
    semaphore::{Permits, Semaphore},
};
use std::{
    ops::RangeBounds,
    time::{Duration, Instant},
};
#[cfg(doc)]
use turnlock_core::error::Error;
use turnlock_core::error::Result;

/// Returns how long it is until `deadline`; zero after it.
fn until(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

impl Mutex {
    /// Takes the lock, waiting for at most `limit`; then [`Error::TimedOut`]. The same as [`Mutex::lock_for`].
    ///
    /// ```
    /// # use std::time::{Duration, Instant};
    /// # let folder = tempfile::tempdir()?;
    /// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
    /// let mutex = file.mutex("accounts")?;
    /// let guard = mutex.try_lock_for(Duration::from_millis(50))?;
    /// # drop(guard);
    /// let deadline = Instant::now() + Duration::from_secs(1); // for all that is to be done
    /// let guard = mutex.try_lock_until(deadline)?;
    /// # drop(guard);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn try_lock_for(&self, limit: Duration) -> Result<MutexGuard<'_>> {
        self.lock_for(limit)
    }

    /// Takes the lock, waiting until `deadline`; then [`Error::TimedOut`]. Other errors as [`Mutex::lock`]. A lock that is free
    /// is taken after the deadline too.
    #[inline]
    pub fn try_lock_until(&self, deadline: Instant) -> Result<MutexGuard<'_>> {
        self.lock_for(until(deadline))
    }
}

impl TurnRing {
    /// Takes the turn, waiting for at most `limit`; then [`Error::TimedOut`]. The same as [`TurnRing::lock_for`].
    pub fn try_lock_for(&self, limit: Duration) -> Result<TurnGuard<'_>> {
        self.lock_for(limit)
    }

    /// Takes the turn, waiting until `deadline`; then [`Error::TimedOut`].
    pub fn try_lock_until(&self, deadline: Instant) -> Result<TurnGuard<'_>> {
        self.lock_for(until(deadline))
    }
}

impl RwLock {
    /// Takes the lock shared, waiting for at most `limit`; then [`Error::TimedOut`]. The same as [`RwLock::read_for`].
    #[inline]
    pub fn try_read_for(&self, limit: Duration) -> Result<RwLockReadGuard<'_>> {
        self.read_for(limit)
    }

    /// Takes the lock shared, waiting until `deadline`; then [`Error::TimedOut`].
    #[inline]
    pub fn try_read_until(&self, deadline: Instant) -> Result<RwLockReadGuard<'_>> {
        self.read_for(until(deadline))
    }

    /// Takes the lock upgradable, waiting for at most `limit`; then [`Error::TimedOut`]. The same as
    /// [`RwLock::upgradable_for`].
    #[inline]
    pub fn try_upgradable_for(&self, limit: Duration) -> Result<RwLockUpgradableGuard<'_>> {
        self.upgradable_for(limit)
    }

    /// Takes the lock upgradable, waiting until `deadline`; then [`Error::TimedOut`].
    #[inline]
    pub fn try_upgradable_until(&self, deadline: Instant) -> Result<RwLockUpgradableGuard<'_>> {
        self.upgradable_for(until(deadline))
    }

    /// Takes the lock exclusively, waiting for at most `limit`; then [`Error::TimedOut`]. The same as [`RwLock::write_for`].
    #[inline]
    pub fn try_write_for(&self, limit: Duration) -> Result<RwLockWriteGuard<'_>> {
        self.write_for(limit)
    }

    /// Takes the lock exclusively, waiting until `deadline`; then [`Error::TimedOut`].
    #[inline]
    pub fn try_write_until(&self, deadline: Instant) -> Result<RwLockWriteGuard<'_>> {
        self.write_for(until(deadline))
    }
}

impl Semaphore {
    /// Takes `permits`, waiting for at most `limit`; then [`Error::TimedOut`]. The same as [`Semaphore::acquire_for`].
    pub fn try_acquire_for(&self, permits: u32, limit: Duration) -> Result<Permits<'_>> {
        self.acquire_for(permits, limit)
    }

    /// Takes `permits`, waiting until `deadline`; then [`Error::TimedOut`].
    pub fn try_acquire_until(&self, permits: u32, deadline: Instant) -> Result<Permits<'_>> {
        self.acquire_for(permits, until(deadline))
    }
}

/// `lock_shared` and `lock_exclusive`, for what [`RangeLock::read`] and [`RangeLock::write`] do.
impl RangeLock {
    /// Takes a range shared. The same as [`RangeLock::read`].
    pub fn lock_shared(&self, range: impl RangeBounds<u64>) -> Result<RangeGuard<'_>> {
        self.read(range)
    }

    /// Takes a range shared if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_lock_shared(&self, range: impl RangeBounds<u64>) -> Result<RangeGuard<'_>> {
        self.try_read(range)
    }

    /// Takes a range shared, waiting for at most `limit`; then [`Error::TimedOut`].
    pub fn try_lock_shared_for(
        &self,
        range: impl RangeBounds<u64>,
        limit: Duration,
    ) -> Result<RangeGuard<'_>> {
        self.read_for(range, limit)
    }

    /// Takes a range shared, waiting until `deadline`; then [`Error::TimedOut`].
    pub fn try_lock_shared_until(
        &self,
        range: impl RangeBounds<u64>,
        deadline: Instant,
    ) -> Result<RangeGuard<'_>> {
        self.read_for(range, until(deadline))
    }

    /// Takes a range exclusively. The same as [`RangeLock::write`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
    /// let rows = file.range_lock("rows")?;
    /// let (mine, seen) = (rows.lock_exclusive(0..10)?, rows.lock_shared(10..)?);
    /// # drop((mine, seen));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lock_exclusive(&self, range: impl RangeBounds<u64>) -> Result<RangeGuard<'_>> {
        self.write(range)
    }

    /// Takes a range exclusively if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_lock_exclusive(&self, range: impl RangeBounds<u64>) -> Result<RangeGuard<'_>> {
        self.try_write(range)
    }

    /// Takes a range exclusively, waiting for at most `limit`; then [`Error::TimedOut`].
    pub fn try_lock_exclusive_for(
        &self,
        range: impl RangeBounds<u64>,
        limit: Duration,
    ) -> Result<RangeGuard<'_>> {
        self.write_for(range, limit)
    }

    /// Takes a range exclusively, waiting until `deadline`; then [`Error::TimedOut`].
    pub fn try_lock_exclusive_until(
        &self,
        range: impl RangeBounds<u64>,
        deadline: Instant,
    ) -> Result<RangeGuard<'_>> {
        self.write_for(range, until(deadline))
    }
}

/// `lock_shared` and `lock_exclusive`, for what [`KeyedLock::read`] and [`KeyedLock::write`] do.
impl KeyedLock {
    /// Takes a key shared. The same as [`KeyedLock::read`].
    pub fn lock_shared(&self, key: impl AsRef<[u8]>) -> Result<KeyGuard<'_>> {
        self.read(key)
    }

    /// Takes a key shared if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_lock_shared(&self, key: impl AsRef<[u8]>) -> Result<KeyGuard<'_>> {
        self.try_read(key)
    }

    /// Takes a key shared, waiting for at most `limit`; then [`Error::TimedOut`].
    pub fn try_lock_shared_for(&self, key: impl AsRef<[u8]>, limit: Duration) -> Result<KeyGuard<'_>> {
        self.read_for(key, limit)
    }

    /// Takes a key shared, waiting until `deadline`; then [`Error::TimedOut`].
    pub fn try_lock_shared_until(&self, key: impl AsRef<[u8]>, deadline: Instant) -> Result<KeyGuard<'_>> {
        self.read_for(key, until(deadline))
    }

    /// Takes a key exclusively. The same as [`KeyedLock::write`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
    /// let users = file.keyed_lock("users")?;
    /// let (ada, charles) = (users.lock_exclusive("ada")?, users.lock_shared("charles")?);
    /// # drop((ada, charles));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lock_exclusive(&self, key: impl AsRef<[u8]>) -> Result<KeyGuard<'_>> {
        self.write(key)
    }

    /// Takes a key exclusively if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_lock_exclusive(&self, key: impl AsRef<[u8]>) -> Result<KeyGuard<'_>> {
        self.try_write(key)
    }

    /// Takes a key exclusively, waiting for at most `limit`; then [`Error::TimedOut`].
    pub fn try_lock_exclusive_for(&self, key: impl AsRef<[u8]>, limit: Duration) -> Result<KeyGuard<'_>> {
        self.write_for(key, limit)
    }

    /// Takes a key exclusively, waiting until `deadline`; then [`Error::TimedOut`].
    pub fn try_lock_exclusive_until(&self, key: impl AsRef<[u8]>, deadline: Instant) -> Result<KeyGuard<'_>> {
        self.write_for(key, until(deadline))
    }
}

impl GroupLock {
    /// Enters as a member of `group`, waiting for at most `limit`; then [`Error::TimedOut`]. The same as [`GroupLock::lock_for`].
    pub fn try_lock_for(&self, group: u64, limit: Duration) -> Result<GroupGuard<'_>> {
        self.lock_for(group, limit)
    }

    /// Enters as a member of `group`, waiting until `deadline`; then [`Error::TimedOut`].
    pub fn try_lock_until(&self, group: u64, deadline: Instant) -> Result<GroupGuard<'_>> {
        self.lock_for(group, until(deadline))
    }
}
