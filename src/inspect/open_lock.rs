//! The status of a lock that is open.

use super::{observer::Observer, status::LockStatus};
use crate::kind::{
    Barrier, Condition, Event, GroupLock, Handle, KeyedLock, LockKind, Mutex, Once, RangeLock, RwLock,
    Semaphore, TurnRing, names_of,
};
use crate::os::{liveness_lock::Probe, memory};
use turnlock_core::error::Result;

impl<K: LockKind> Handle<K> {
    /// Returns the holders of the lock and its waiters.
    pub fn status(&self) -> Result<LockStatus> {
        let file = self.open_file();
        if !file.is_intact() {
            return Err(file.not_intact());
        }
        memory::check()?;
        // An observer needs no slot.
        let probe = Probe::new(file.reopen(), 0);
        let look = |slot| Ok(probe.look(slot).0);
        let view = file.view();
        let named = names_of(view).find(|named| named.region == self.region());
        let named = named.filter(|_| self.still_exists()).ok_or_else(|| file.removed())?;
        let status = Observer::new(view, &look).lock(named)?;
        self.check_exists().map(|()| status)
    }
}

impl Mutex {
    /// Returns the holders of the lock and its waiters, first the one that is next. Changes nothing and does not wait;
    /// the answer may be out of date when it is read.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
    /// let mutex = file.mutex("accounts")?;
    /// let guard = mutex.lock()?;
    /// let status = mutex.status()?;
    /// assert_eq!(status.holders[0].fencing_token, guard.fencing_token());
    /// assert!(status.queue.is_empty());
    /// # drop(guard);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] if the file was truncated or overwritten; [`crate::Error::NotFound`] if the lock was removed.
    pub fn status(&self) -> Result<LockStatus> {
        self.handle().status()
    }
}

macro_rules! statuses {
    ($($lock:ident)*) => { $(impl $lock {
        /// Returns its holders, as what they hold it, and its waiters. As [`Mutex::status`].
        pub fn status(&self) -> Result<LockStatus> {
            self.handle().status()
        }
    })* };
}
statuses!(RwLock Semaphore RangeLock KeyedLock GroupLock);

macro_rules! statuses_of_waits {
    ($($name:ident $what:literal)*) => { $(impl $name {
        #[doc = concat!("Returns ", $what, " As [`Mutex::status`].")]
        pub fn status(&self) -> Result<LockStatus> {
            self.handle().status()
        }
    })* };
}
statuses_of_waits! {
    Condition "those that wait for it, and which of them were notified."
    Event "whether it is set, and those that wait for it."
    Barrier "how many have arrived, or why it is broken, and those that wait."
    Once "whether it is done, the one that is at it, and those that wait."
}

impl TurnRing {
    /// Returns the participant that has the turn and those on the ring, in the order of their turns. As
    /// [`Mutex::status`].
    pub fn status(&self) -> Result<LockStatus> {
        self.handle().status()
    }
}
