//! A wait that another thread may cancel: what the forms for asyncio are made of.

use crate::any::{OpenLock, Want};
use crate::arguments::limit;
use crate::claimed::Hold;
use crate::error::raise;
use crate::exclusive::Exclusive;
use crate::file::{Slot, locked};
use crate::hold::Held;
use pyo3::{IntoPyObjectExt, prelude::*};
use std::sync::{Arc, Mutex};
use turnlock::Error;

/// One wait for a lock, by a participant of its own. A thread calls `acquire`, another one may call `cancel`.
#[pyclass(frozen, module = "turnlock._native")]
pub struct Wait {
    lock: Arc<OpenLock>,
    want: Want,
    /// Who keeps what was acquired; without it, `acquire` gives it.
    object: Option<Py<Exclusive>>,
    /// `None` once the wait is over. Never held while the GIL is given up.
    slot: Mutex<Option<Arc<Slot>>>,
}

impl Wait {
    /// A wait for what `object` keeps.
    pub fn of(lock: Arc<OpenLock>, object: Py<Exclusive>) -> turnlock::Result<Self> {
        let slot = Mutex::new(Some(lock.file.spare_slot()?));
        Ok(Self { lock, want: Want::Whole, object: Some(object), slot })
    }

    /// A wait for what is wanted.
    pub fn for_claim(lock: Arc<OpenLock>, want: Want) -> turnlock::Result<Self> {
        let slot = Mutex::new(Some(lock.file.spare_slot()?));
        Ok(Self { lock, want, object: None, slot })
    }
}

#[pymethods]
impl Wait {
    /// Waits for the lock, once. Returns whether the object has it, or a `Hold`: not after the time limit, nor after a `cancel`.
    #[pyo3(signature = (timeout = -1.0), text_signature = "($self, timeout=-1)")]
    fn acquire(&self, py: Python, timeout: f64) -> PyResult<Py<PyAny>> {
        let limit = limit(true, timeout)?;
        let Some(slot) = locked(&self.slot).clone() else { return Err(raise(py, Error::Closed)) };
        let taken = Held::wait_as(py, &self.lock, &self.want, slot, limit);
        locked(&self.slot).take();
        match (taken, &self.object) {
            (Ok(held), Some(object)) => object.get().keep(py, held).and_then(|()| true.into_py_any(py)),
            (Ok(held), None) => Hold::new(held).into_py_any(py),
            (Err(Error::TimedOut | Error::WouldBlock | Error::Cancelled), Some(_)) => false.into_py_any(py),
            (Err(Error::TimedOut | Error::WouldBlock | Error::Cancelled), None) => Ok(py.None()),
            (Err(error), _) => Err(raise(py, error)),
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
