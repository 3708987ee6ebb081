//! A wait that another thread may cancel: what the forms for asyncio are made of.

use crate::any::{OpenLock, Want};
use crate::arguments::limit;
use crate::error::raise;
use crate::hold::Held;
use crate::refusal;
use crate::shared_file::{Slot, locked};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex};
use turnlock::Error;

/// What a wait gives for what it acquired, or for nothing: after the time limit, or a `cancel`.
type Answer = Box<dyn Fn(Python, Option<Held>) -> PyResult<Py<PyAny>> + Send + Sync>;

/// One wait for a lock, by a participant of its own. A thread calls `acquire`, another one may call `cancel`.
#[pyclass(frozen, module = "turnlock._native")]
pub struct Wait {
    lock: Arc<OpenLock>,
    want: Want,
    answer: Answer,
    /// `None` once the wait is over. Never held while the GIL is given up.
    slot: Mutex<Option<Arc<Slot>>>,
}

impl Wait {
    /// A wait for what is wanted of the lock, which gives what `answer` makes of it.
    pub fn new(
        lock: Arc<OpenLock>,
        want: Want,
        answer: impl Fn(Python, Option<Held>) -> PyResult<Py<PyAny>> + Send + Sync + 'static,
    ) -> turnlock::Result<Self> {
        let slot = Mutex::new(Some(lock.file.spare_slot()?));
        Ok(Self { lock, want, answer: Box::new(answer), slot })
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
        match taken {
            Ok(held) => (self.answer)(py, Some(held)),
            Err(Error::TimedOut(by) | Error::WouldBlock(by)) => {
                refusal::note(by);
                (self.answer)(py, None)
            }
            Err(Error::Cancelled) => (self.answer)(py, None),
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
