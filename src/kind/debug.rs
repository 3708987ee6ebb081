//! What `{:?}` shows of files, locks, participants and guards: what they are called.

use super::{
    barrier::Barrier,
    condition::Condition,
    event::Event,
    file::LockFile,
    group_lock::GroupLock,
    guard::{Guard, GuardAs},
    handle::{Handle, LockKind},
    keyed_lock::KeyedLock,
    mutex::Mutex,
    once::Once,
    participant::Participant,
    range_lock::RangeLock,
    ring::TurnRing,
    rwlock::RwLock,
    semaphore::Semaphore,
};
use crate::attach::{file_handle::FileHandle, open_file::OpenFile};
use std::fmt::{Debug, Formatter, Result};

impl Debug for OpenFile {
    fn fmt(&self, to: &mut Formatter) -> Result {
        Debug::fmt(&self.reopen().path(), to)
    }
}

impl Debug for FileHandle {
    fn fmt(&self, to: &mut Formatter) -> Result {
        Debug::fmt(&self.open, to)
    }
}

impl Debug for LockFile {
    fn fmt(&self, to: &mut Formatter) -> Result {
        to.debug_struct("LockFile").field("path", &self.file).finish_non_exhaustive()
    }
}

impl Debug for Participant {
    fn fmt(&self, to: &mut Formatter) -> Result {
        let file = &self.attachment.file;
        to.debug_struct("Participant").field("path", file).field("slot", &self.slot()).finish_non_exhaustive()
    }
}

impl<K: LockKind> Handle<K> {
    /// Returns what the lock is called; empty: it was removed.
    pub(super) fn called(&self) -> String {
        let entry = &self.file.open.view().directory()[self.name.region - 1];
        let name = entry.name.get();
        if self.still_exists() { name } else { String::new() }
    }

    fn show(&self, kind: &str, to: &mut Formatter) -> Result {
        let name = self.called();
        to.debug_struct(kind).field("name", &name).field("path", &self.file).finish_non_exhaustive()
    }
}

macro_rules! shows_its_name {
    ($($lock:ident)*) => { $(impl Debug for $lock {
        fn fmt(&self, to: &mut Formatter) -> Result {
            self.0.show(stringify!($lock), to)
        }
    })* };
}

shows_its_name!(Mutex TurnRing RwLock Semaphore RangeLock KeyedLock GroupLock Condition Event Once);

impl Debug for Barrier {
    fn fmt(&self, to: &mut Formatter) -> Result {
        self.0.show("Barrier", to)
    }
}

impl<K: LockKind> Debug for Handle<K> {
    fn fmt(&self, to: &mut Formatter) -> Result {
        self.show(K::NAME, to)
    }
}

impl<K: LockKind> Debug for Guard<'_, K> {
    fn fmt(&self, to: &mut Formatter) -> Result {
        let (lock, acquired) = (self.handle.called(), self.acquired());
        to.debug_struct("Guard").field(K::NAME, &lock).field("acquired", &acquired).finish_non_exhaustive()
    }
}

impl<K: LockKind> Debug for GuardAs<'_, K> {
    fn fmt(&self, to: &mut Formatter) -> Result {
        to.debug_struct("GuardAs")
            .field(K::NAME, &self.handle.called())
            .field("participant", self.participant)
            .field("acquired", &self.acquired())
            .finish_non_exhaustive()
    }
}
