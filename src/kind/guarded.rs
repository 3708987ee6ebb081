//! Values that are reached through the guard of a mutex alone.

use super::{
    acquired::{Acquired, PreviousOwner},
    mutex::{Mutex, MutexGuard},
};
use std::{
    fmt::{Debug, Formatter},
    ops::{Deref, DerefMut},
    sync::{Mutex as ThreadMutex, MutexGuard as ThreadGuard, TryLockError},
    time::{Duration, Instant},
};
use turnlock_core::error::{Error, Result};

/// A value, such as an open file or a mapped one, that is reached while a [`Mutex`] is held and at no other time.
///
/// The mutex excludes other processes from what the value stands for; the compiler sees to it that this program takes the mutex
/// first. Two values for one lock, in one process or several, exclude each other as any two handles of it do. In a forked child the
/// value is a copy; what it stands for is not.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let (path, data) = (folder.path().join("app.lock"), folder.path().join("data"));
/// use std::{fs::OpenOptions, io::Write};
/// let file = turnlock::LockFile::open(&path)?;
/// let data = OpenOptions::new().append(true).create(true).open(&data)?;
/// let journal = turnlock::Guarded::new(file.mutex("journal")?, data);
/// let mut guard = journal.lock()?;
/// if guard.acquired().previous_owner_died {
///     // look at the file, repair it, and say so
///     guard.mark_consistent()?;
/// }
/// writeln!(guard, "one line, and no other process writes between its bytes")?;
/// # drop(guard);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Without the lock there is no way to the value:
///
/// ```compile_fail,E0599
/// # fn none(journal: turnlock::Guarded<std::fs::File>) {
/// use std::io::Write;
/// writeln!(journal, "unprotected");
/// # }
/// ```
///
/// ```compile_fail,E0505
/// # fn none(journal: turnlock::Guarded<Vec<u8>>) -> turnlock::Result<()> {
/// let mut guard = journal.lock()?;
/// let bytes: &mut Vec<u8> = &mut guard;
/// drop(guard); // unlocked: `bytes` must not outlive it
/// bytes.push(1);
/// # Ok(())
/// # }
/// ```
pub struct Guarded<T> {
    mutex: Mutex,
    // The threads of this process exclude each other by `mutex` already, so this is always free but for a second time of one that has
    // a recursive mutex: then a second `&mut` to the value is an error.
    value: ThreadMutex<T>,
}

/// A guard of a [`Guarded`], which gives access to its value: the mutex is unlocked when it is dropped, and abandoned when a
/// panic drops it.
#[must_use = "the lock is unlocked as soon as the guard is dropped"]
pub struct GuardedGuard<'a, T> {
    // Dropped first: the next thread of this process may want it as soon as the mutex is free.
    value: ThreadGuard<'a, T>,
    mutex: MutexGuard<'a>,
}

impl<T> Guarded<T> {
    /// Protects `value` by `mutex`.
    pub fn new(mutex: Mutex, value: T) -> Self {
        Self { mutex, value: ThreadMutex::new(value) }
    }

    /// Takes the mutex, waiting without a limit. Errors as [`Mutex::lock`]; [`Error::Deadlock`] also if this thread has the
    /// value already by a recursive mutex.
    pub fn lock(&self) -> Result<GuardedGuard<'_, T>> {
        self.with(self.mutex.lock()?)
    }

    /// Takes the mutex if that needs no wait, else [`Error::WouldBlock`]. Other errors as [`Guarded::lock`].
    pub fn try_lock(&self) -> Result<GuardedGuard<'_, T>> {
        self.with(self.mutex.try_lock()?)
    }

    /// Takes the mutex, waiting for at most `limit`; then [`Error::TimedOut`]. Other errors as [`Guarded::lock`].
    pub fn try_lock_for(&self, limit: Duration) -> Result<GuardedGuard<'_, T>> {
        self.with(self.mutex.try_lock_for(limit)?)
    }

    /// Takes the mutex, waiting until `deadline`; then [`Error::TimedOut`]. Other errors as [`Guarded::lock`].
    pub fn try_lock_until(&self, deadline: Instant) -> Result<GuardedGuard<'_, T>> {
        self.with(self.mutex.try_lock_until(deadline)?)
    }

    /// Returns the mutex, for its status, say.
    pub fn mutex(&self) -> &Mutex {
        &self.mutex
    }

    /// Returns the mutex and the value, which is no longer protected.
    pub fn into_inner(self) -> (Mutex, T) {
        (self.mutex, self.value.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    fn with<'a>(&'a self, mutex: MutexGuard<'a>) -> Result<GuardedGuard<'a, T>> {
        match self.value.try_lock() {
            Ok(value) => Ok(GuardedGuard { value, mutex }),
            // A thread that panicked has left an owner-dead notice, which says the same.
            Err(TryLockError::Poisoned(poisoned)) => Ok(GuardedGuard { value: poisoned.into_inner(), mutex }),
            Err(TryLockError::WouldBlock) => Err(Error::Deadlock),
        }
    }
}

impl<T> GuardedGuard<'_, T> {
    /// Returns what came with the acquisition.
    pub fn acquired(&self) -> Acquired {
        self.mutex.acquired()
    }

    /// Returns this acquisition's fencing token.
    pub fn fencing_token(&self) -> u64 {
        self.mutex.fencing_token()
    }

    /// Returns the previous holder, if it died inside.
    pub fn previous_owner(&self) -> Option<PreviousOwner> {
        self.mutex.previous_owner()
    }

    /// Marks the value as consistent after a holder's death. [`Error::NotInconsistent`] if no holder died.
    pub fn mark_consistent(&mut self) -> Result<()> {
        self.mutex.mark_consistent()
    }

    /// Unlocks, and returns the error that dropping the guard cannot. Errors as [`super::Guard::unlock`].
    pub fn unlock(self) -> Result<()> {
        let Self { value, mutex } = self;
        drop(value);
        mutex.unlock()
    }
}

impl<T> Deref for GuardedGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for GuardedGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Debug for Guarded<T> {
    fn fmt(&self, to: &mut Formatter) -> std::fmt::Result {
        to.debug_struct("Guarded").field("mutex", &self.mutex).finish_non_exhaustive()
    }
}

impl<T: Debug> Debug for GuardedGuard<'_, T> {
    fn fmt(&self, to: &mut Formatter) -> std::fmt::Result {
        Debug::fmt(&**self, to)
    }
}
