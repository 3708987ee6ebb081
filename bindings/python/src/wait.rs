//! A wait that another thread may cancel: what the forms for asyncio are made of.

use crate::any::OpenLock;
use crate::arguments::limit;
use crate::error::raise;
use crate::exclusive::Exclusive;
use crate::file::{Slot, locked};
use crate::hold::Held;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex};
use turnlock::Error;

/// One wait for a lock, by a participant of its own. A thread calls `acquire`, another one may call `cancel`.
#[pyclass(frozen, module = "turnlock._native")]
pub struct Wait {
    lock: Arc<OpenLock>,
    object: Py<Exclusive>,
    /// `None` once the wait is over. Never held while the GIL is given up.
    slot: Mutex<Option<Arc<Slot>>>,
}

impl Wait {
    pub fn new(lock: Arc<OpenLock>, object: Py<Exclusive>) -> turnlock::Result<Self> {
        let slot = Mutex::new(Some(lock.file.spare_slot()?));
        Ok(Self { lock, object, slot })
    }
}

#[pymethods]
impl Wait {
    /// Waits for the lock, once. Returns whether the object has it: not after the time limit, nor after a `cancel`.
    #[pyo3(signature = (timeout = -1.0), text_signature = "($self, timeout=-1)")]
    fn acquire(&self, py: Python, timeout: f64) -> PyResult<bool> {
        let limit = limit(true, timeout)?;
        let Some(slot) = locked(&self.slot).clone() else { return Err(raise(py, Error::Closed)) };
        let taken = Held::wait_as(py, &self.lock, slot, limit);
        locked(&self.slot).take();
        match taken {
            Ok(held) => self.object.get().keep(py, held).map(|()| true),
            Err(Error::TimedOut | Error::WouldBlock | Error::Cancelled) => Ok(false),
            Err(error) => Err(raise(py, error)),
        }
    }

    /// Ends the wait, if it is not over: nothing of it is left in the queue.
    fn cancel(&self) {
        if let Some(slot) = &*locked(&self.slot) {
            slot.participant.cancel();
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        // It never began.
        if let Some(slot) = locked(&self.slot).take() {
            self.lock.file.spare(slot);
        }
    }
}
