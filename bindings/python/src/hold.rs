//! An acquisition: a participant, and the guard of what it has.

use crate::any::{AnyGuard, Limit, OpenLock, Want};
use crate::error::{OrRaise, warn_if_closed};
use crate::shared_file::Slot;
use crate::thread;
use pyo3::prelude::*;
use std::{mem, sync::Arc};
use turnlock::{Condition, Error, LockedBy, Result};

/// A lock that this process holds.
pub struct Held {
    /// Borrows from `lock` and `slot`, which stay where they are as long as this does. `None` once it was let go of.
    guard: Option<AnyGuard<'static>>,
    slot: Arc<Slot>,
    /// Whether the slot came from those to spare.
    is_spare: bool,
    lock: Arc<OpenLock>,
}

impl Held {
    /// Takes `lock` as the participant of `slot`.
    #[inline]
    fn acquire(
        lock: &Arc<OpenLock>,
        want: &Want,
        slot: &Arc<Slot>,
        is_spare: bool,
        limit: Limit,
    ) -> Result<Self> {
        let guard = lock.lock.acquire_as(&slot.participant, want, limit)?;
        // SAFETY: it borrows what two `Arc`s point to, and both are kept in the same struct, which drops it first.
        let guard = unsafe { mem::transmute::<AnyGuard<'_>, AnyGuard<'static>>(guard) };
        Ok(Self { guard: Some(guard), slot: slot.clone(), is_spare, lock: lock.clone() })
    }

    /// Takes the lock, as the calling thread's participant, if that needs no waiting.
    #[inline]
    pub fn now(lock: &Arc<OpenLock>, want: &Want) -> Result<Self> {
        let taken =
            lock.file.with_slot_of_thread(|slot| Self::acquire(lock, want, slot, false, Limit::Never));
        match taken {
            Err(error) if is_slots_fault(&error) || want.is_beside(&error) => {
                Self::acquire_to_spare(lock, want, lock.file.spare_slot()?, Limit::Never)
            }
            // The participant has it, or awaits it.
            Err(Error::Deadlock) => Err(Error::WouldBlock(LockedBy::UNKNOWN)),
            taken => taken,
        }
    }

    /// Takes the lock, waiting for it without the GIL; but with it where this process's own locks are touched, since a
    /// child may be forked whenever no thread has it.
    pub fn wait(py: Python, lock: &Arc<OpenLock>, want: &Want, limit: Limit) -> Result<Self> {
        let slot = lock.file.with_slot_of_thread(|slot| Ok(slot.clone()))?;
        match py.detach(|| Self::acquire(lock, want, &slot, false, limit)) {
            // Another thread may release what this one has.
            Err(error) if is_slots_fault(&error) || matches!(error, Error::Deadlock) => {
                Self::wait_as(py, lock, want, lock.file.spare_slot()?, limit)
            }
            taken => taken,
        }
    }

    /// Takes the lock as the participant of `slot`, one to spare, waiting for it without the GIL.
    pub fn wait_as(
        py: Python,
        lock: &Arc<OpenLock>,
        want: &Want,
        slot: Arc<Slot>,
        limit: Limit,
    ) -> Result<Self> {
        let taken = py.detach(|| Self::acquire(lock, want, &slot, true, limit));
        taken.inspect_err(|_| lock.file.spare(slot))
    }

    /// Takes the lock as the participant of `slot`, one to spare, if that needs no waiting for long.
    pub fn acquire_to_spare(
        lock: &Arc<OpenLock>,
        want: &Want,
        slot: Arc<Slot>,
        limit: Limit,
    ) -> Result<Self> {
        let taken = Self::acquire(lock, want, &slot, true, limit);
        taken.inspect_err(|_| lock.file.spare(slot))
    }

    /// Whether this process took it, and is not a child that remembers what its parent had.
    #[inline]
    pub fn is_ours(&self) -> bool {
        self.slot.process == thread::process()
    }

    /// The guard of an acquisition that is ours.
    pub fn guard(&mut self) -> Result<&mut AnyGuard<'static>> {
        if self.is_ours() { self.guard.as_mut().ok_or(Error::NotOwner) } else { Err(Error::NotOwner) }
    }

    /// Unlocks.
    #[inline]
    pub fn unlock(mut self) -> Result<()> {
        match self.guard.take() {
            Some(guard) if self.is_ours() => guard.unlock(),
            _ => Err(Error::NotOwner),
        }
    }

    /// Unlocks for a program, and warns it where that has closed the lock for everyone.
    #[inline]
    pub fn release(self, py: Python) -> PyResult<()> {
        let told = self.guard.as_ref().is_some_and(AnyGuard::may_close).then(|| self.lock.clone());
        self.unlock().or_raise(py)?;
        told.map_or(Ok(()), |lock| warn_if_closed(py, &lock))
    }

    /// Unlocks what is not going to be used: if the previous owner died, the next one is told in this one's place.
    pub fn give_back(self) -> Result<()> {
        match &self.guard {
            Some(guard) if guard.acquired().previous_owner_died => self.abandon(),
            _ => self.unlock(),
        }
    }

    /// Runs `change`, which takes the guard and gives it back, perhaps as another one. `None`: what it had is lost.
    pub fn change<R>(
        &mut self,
        change: impl FnOnce(AnyGuard<'static>) -> (Option<AnyGuard<'static>>, Result<R>),
    ) -> Result<R> {
        match self.guard.take() {
            Some(guard) if self.is_ours() => {
                let (guard, result) = change(guard);
                self.guard = guard;
                result
            }
            _ => Err(Error::NotOwner),
        }
    }

    /// Unlocks, waits until `condition` is notified, and locks again.
    pub fn wait_at(&mut self, condition: &Condition, limit: Limit) -> Result<()> {
        self.guard()?.wait_at(condition, limit)
    }

    /// Unlocks as a dying owner does.
    pub fn abandon(mut self) -> Result<()> {
        match self.guard.take() {
            Some(guard) if self.is_ours() => guard.abandon(),
            _ => Err(Error::NotOwner),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // It was not released: the next one is to be told.
        if let Some(guard) = self.guard.take() {
            let _ = guard.abandon();
        }
        if self.is_spare {
            self.lock.file.spare(self.slot.clone());
        }
    }
}

/// Whether another participant of the process could take the lock: the thread waits already, and a signal handler comes by;
/// or the file was replaced by another one between its opening and the look at its identity.
fn is_slots_fault(error: &Error) -> bool {
    matches!(error, Error::ParticipantBusy | Error::InvalidArgument(_))
}

impl Want {
    /// Whether `error` says that the participant has something of the lock already, beside which another participant may
    /// have this: a second reader, more permits, another range, another member of the group.
    fn is_beside(&self, error: &Error) -> bool {
        !matches!(self, Want::Whole) && matches!(error, Error::Deadlock)
    }
}
