//! Reopening: going over to the file that a lock file's path names by now.
//!
//! Where a lock file was deleted, or replaced by a rename, programs that have the old one open and programs that open
//! the path do not exclude each other. A waiter gets [`Error::Replaced`], and may go over to the new file.

use super::{
    directory::{self, Plan},
    guard::Guard,
    handle::{Handle, LockKind},
    mutex::{Mutex, MutexGuard},
    ring::{TurnGuard, TurnRing},
};
use crate::attach::file_handle::FileHandle;
use turnlock_core::acquire::{attempt::Discipline, site::Limit};
use turnlock_core::error::{Error, Result};

impl<K: LockKind> Handle<K> {
    /// Returns the lock of this name in the file that the path names by now.
    pub fn reopened(&self) -> Result<Self> {
        // Else its name is gone.
        if !self.file.open.is_intact() {
            return Err(self.file.open.not_intact());
        }
        let open = self.file.open.reopened()?;
        let (name, plan) = directory::plan_of(&self.file.open, &self.name)?;
        let found = directory::find_or_name(&open, &name, &Plan { may_create: true, ..plan })?;
        let discipline = match self.config.discipline {
            Discipline::Queue | Discipline::Messages => found.discipline(),
            Discipline::Ring { rule, membership } => {
                Discipline::Ring { rule: found.rule.unwrap_or(rule), membership }
            }
        };
        Ok(Self::new(
            FileHandle::new(open, self.file.interrupt.clone(), self.file.ends_deadlocks),
            found,
            discipline,
        ))
    }

    fn lock_or_reopen(&mut self) -> Result<Guard<'_, K>> {
        loop {
            match self.lock(Limit::Forever) {
                Err(Error::Replaced { .. }) => *self = self.reopened()?,
                locked => return locked.map(|acquired| Guard::new(self, acquired)),
            }
        }
    }
}

impl Mutex {
    /// Opens the lock of this name in the file that the path names by now. File and lock are created, with the capacities,
    /// permissions and options of these, if they are not there. If the path still names this file, it is the same lock again.
    ///
    /// # Errors
    /// As opening the file and the lock.
    pub fn reopened(&self) -> Result<Mutex> {
        self.0.reopened().map(Mutex)
    }

    /// Does what [`Mutex::lock`] does, or reopens the lock: where the wait finds that the file was deleted or replaced, this
    /// handle goes over to the file that the path names by now. A holder in the old file does not keep it out.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("app.lock");
    /// let mut mutex = turnlock::LockFile::open(&path)?.mutex("accounts")?;
    /// # std::thread::spawn({ let mutex = mutex.clone(); move || drop(mutex.lock()) }).join().unwrap();
    /// std::fs::remove_file(&path)?; // by a cleaner, say
    /// drop(mutex.lock_or_reopen()?); // in a file that was created anew
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Mutex::lock`] and [`Mutex::reopened`].
    pub fn lock_or_reopen(&mut self) -> Result<MutexGuard<'_>> {
        self.0.lock_or_reopen()
    }
}

impl TurnRing {
    /// Opens the ring of this name anew, as [`Mutex::reopened`].
    pub fn reopened(&self) -> Result<TurnRing> {
        self.0.reopened().map(TurnRing)
    }

    /// Takes the turn or reopens the ring, as [`Mutex::lock_or_reopen`].
    pub fn lock_or_reopen(&mut self) -> Result<TurnGuard<'_>> {
        self.0.lock_or_reopen()
    }
}
