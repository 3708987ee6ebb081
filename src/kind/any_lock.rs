//! A lock of any kind.

use super::{
    barrier::Barrier,
    condition::Condition,
    directory::{check_name, no_such_lock},
    event::Event,
    file::LockFile,
    group_lock::GroupLock,
    keyed_lock::KeyedLock,
    mutex::Mutex,
    named::names_of,
    once::Once,
    range_lock::RangeLock,
    ring::TurnRing,
    rwlock::RwLock,
    semaphore::Semaphore,
};
use crate::layout::Kind;
use turnlock_core::error::{Error, Result};

/// A lock, or what else has a name in a lock file, that was opened by its name alone ([`LockFile::open_any`]).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyLock {
    /// A mutex.
    Mutex(Mutex),
    /// A turn ring.
    TurnRing(TurnRing),
    /// A reader/writer lock.
    RwLock(RwLock),
    /// A semaphore.
    Semaphore(Semaphore),
    /// A range lock.
    RangeLock(RangeLock),
    /// A keyed lock.
    KeyedLock(KeyedLock),
    /// A group lock.
    GroupLock(GroupLock),
    /// A condition.
    Condition(Condition),
    /// An event.
    Event(Event),
    /// A barrier.
    Barrier(Barrier),
    /// A once.
    Once(Once),
}

impl LockFile {
    /// Opens the existing lock called `name`, of any kind.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
    /// use turnlock::AnyLock;
    /// file.semaphore("jobs")?;
    /// match file.open_any("jobs")? {
    ///     AnyLock::Mutex(mutex) => drop(mutex.lock()?),
    ///     AnyLock::Semaphore(jobs) => drop(jobs.acquire(1)?),
    ///     other => println!("{other:?} is not for this"),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadName`]; [`Error::NotFound`]; [`Error::Kind`] if it is of a kind that this version does not know;
    /// [`Error::Damaged`].
    pub fn open_any(&self, name: &str) -> Result<AnyLock> {
        let mut kind = self.kind_of(name)?;
        loop {
            let opened = match kind {
                Kind::Mutex => self.mutex_options().must_exist(true).open(name).map(AnyLock::Mutex),
                Kind::TurnRing => self.ring_options().must_exist(true).open(name).map(AnyLock::TurnRing),
                Kind::RwLock => self.rwlock_options().must_exist(true).open(name).map(AnyLock::RwLock),
                Kind::Semaphore => {
                    self.semaphore_options().must_exist(true).open(name).map(AnyLock::Semaphore)
                }
                Kind::RangeLock => {
                    self.range_lock_options().must_exist(true).open(name).map(AnyLock::RangeLock)
                }
                Kind::KeyedLock => {
                    self.keyed_lock_options().must_exist(true).open(name).map(AnyLock::KeyedLock)
                }
                Kind::GroupLock => {
                    self.group_lock_options().must_exist(true).open(name).map(AnyLock::GroupLock)
                }
                Kind::Condition => {
                    self.condition_options().must_exist(true).open(name).map(AnyLock::Condition)
                }
                Kind::Event => self.event_options().must_exist(true).open(name).map(AnyLock::Event),
                Kind::Barrier => self.barrier_options().must_exist(true).open(name).map(AnyLock::Barrier),
                Kind::Once => self.once_options().must_exist(true).open(name).map(AnyLock::Once),
            };
            let was = kind;
            // It may have been removed since the look, and created anew as another kind.
            if matches!(opened, Err(Error::Kind { .. })) {
                kind = self.kind_of(name)?;
            }
            if kind == was {
                return opened;
            }
        }
    }

    /// Returns the kind of the lock called `name`.
    fn kind_of(&self, name: &str) -> Result<Kind> {
        let file = &self.file.open;
        check_name(name)?;
        if !file.is_intact() {
            return Err(file.not_intact());
        }
        let named = names_of(file.view()).find(|named| named.name == name);
        let named = named.ok_or_else(|| no_such_lock(file, name))?;
        named.kind.ok_or_else(|| Error::Kind {
            path: file.reopen().path(),
            why: format!("its lock {name:?} is of a kind that this version of turnlock does not know"),
        })
    }
}
