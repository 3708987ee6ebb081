//! A handle of a lock, whatever its kind.

use super::{
    barrier::BarrierKind, condition::ConditionKind, event::EventKind, group_lock::GroupKind, handle::Handle,
    keyed_lock::KeyedKind, mutex::MutexKind, once::OnceKind, range_lock::RangeKind, ring::RingKind,
    rwlock::RwLockKind, semaphore::SemaphoreKind,
};
use crate::attach::open_file::OpenFile;
use std::sync::Arc;

/// A handle, owned.
#[derive(Clone)]
pub enum AnyHandle {
    /// Of a mutex.
    Mutex(Handle<MutexKind>),
    /// Of a turn ring.
    TurnRing(Handle<RingKind>),
    /// Of a reader/writer lock.
    RwLock(Handle<RwLockKind>),
    /// Of a semaphore.
    Semaphore(Handle<SemaphoreKind>),
    /// Of a range lock.
    RangeLock(Handle<RangeKind>),
    /// Of a keyed lock.
    KeyedLock(Handle<KeyedKind>),
    /// Of a group lock.
    GroupLock(Handle<GroupKind>),
    /// Of a condition.
    Condition(Handle<ConditionKind>),
    /// Of an event.
    Event(Handle<EventKind>),
    /// Of a barrier.
    Barrier(Handle<BarrierKind>),
    /// Of a once.
    Once(Handle<OnceKind>),
}

/// A handle, borrowed.
#[derive(Clone, Copy)]
pub enum AnyHandleRef<'a> {
    /// Of a mutex.
    Mutex(&'a Handle<MutexKind>),
    /// Of a turn ring.
    TurnRing(&'a Handle<RingKind>),
    /// Of a reader/writer lock.
    RwLock(&'a Handle<RwLockKind>),
    /// Of a semaphore.
    Semaphore(&'a Handle<SemaphoreKind>),
    /// Of a range lock.
    RangeLock(&'a Handle<RangeKind>),
    /// Of a keyed lock.
    KeyedLock(&'a Handle<KeyedKind>),
    /// Of a group lock.
    GroupLock(&'a Handle<GroupKind>),
    /// Of a condition.
    Condition(&'a Handle<ConditionKind>),
    /// Of an event.
    Event(&'a Handle<EventKind>),
    /// Of a barrier.
    Barrier(&'a Handle<BarrierKind>),
    /// Of a once.
    Once(&'a Handle<OnceKind>),
}

/// Does the same with the handle of whichever kind is in an [`AnyHandle`] or an [`AnyHandleRef`].
macro_rules! of_any {
    ($any:ident, $which:expr, $handle:pat => $act:expr) => {
        match $which {
            $any::Mutex($handle) => $act,
            $any::TurnRing($handle) => $act,
            $any::RwLock($handle) => $act,
            $any::Semaphore($handle) => $act,
            $any::RangeLock($handle) => $act,
            $any::KeyedLock($handle) => $act,
            $any::GroupLock($handle) => $act,
            $any::Condition($handle) => $act,
            $any::Event($handle) => $act,
            $any::Barrier($handle) => $act,
            $any::Once($handle) => $act,
        }
    };
}
pub(crate) use of_any;

impl AnyHandle {
    /// Returns it, borrowed.
    pub fn borrowed(&self) -> AnyHandleRef<'_> {
        match self {
            Self::Mutex(handle) => AnyHandleRef::Mutex(handle),
            Self::TurnRing(handle) => AnyHandleRef::TurnRing(handle),
            Self::RwLock(handle) => AnyHandleRef::RwLock(handle),
            Self::Semaphore(handle) => AnyHandleRef::Semaphore(handle),
            Self::RangeLock(handle) => AnyHandleRef::RangeLock(handle),
            Self::KeyedLock(handle) => AnyHandleRef::KeyedLock(handle),
            Self::GroupLock(handle) => AnyHandleRef::GroupLock(handle),
            Self::Condition(handle) => AnyHandleRef::Condition(handle),
            Self::Event(handle) => AnyHandleRef::Event(handle),
            Self::Barrier(handle) => AnyHandleRef::Barrier(handle),
            Self::Once(handle) => AnyHandleRef::Once(handle),
        }
    }
}

impl AnyHandleRef<'_> {
    /// Returns a handle of its own of the same lock.
    pub fn to_owned(self) -> AnyHandle {
        match self {
            Self::Mutex(handle) => AnyHandle::Mutex(handle.clone()),
            Self::TurnRing(handle) => AnyHandle::TurnRing(handle.clone()),
            Self::RwLock(handle) => AnyHandle::RwLock(handle.clone()),
            Self::Semaphore(handle) => AnyHandle::Semaphore(handle.clone()),
            Self::RangeLock(handle) => AnyHandle::RangeLock(handle.clone()),
            Self::KeyedLock(handle) => AnyHandle::KeyedLock(handle.clone()),
            Self::GroupLock(handle) => AnyHandle::GroupLock(handle.clone()),
            Self::Condition(handle) => AnyHandle::Condition(handle.clone()),
            Self::Event(handle) => AnyHandle::Event(handle.clone()),
            Self::Barrier(handle) => AnyHandle::Barrier(handle.clone()),
            Self::Once(handle) => AnyHandle::Once(handle.clone()),
        }
    }

    /// Returns the open file that the lock is in.
    pub(super) fn file(&self) -> &Arc<OpenFile> {
        of_any!(AnyHandleRef, self, handle => &handle.file.open)
    }

    /// Returns the lock's number in the file.
    pub fn region(&self) -> usize {
        of_any!(AnyHandleRef, self, handle => handle.region())
    }
}
