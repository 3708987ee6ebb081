//! `turnlock.Condition`, `Event`, `Barrier` and `Once`.

use crate::any::{AnyLock, Limit, OpenLock, Plan};
use crate::arguments::limit;
use crate::claimed::Hold;
use crate::coordinated::Coordinated;
use crate::error::{OrRaise, raise};
use crate::exclusive::Exclusive;
use crate::recursive::Recursive;
use crate::shared_file::locked;
use crate::{facts, plan, thread};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyDict, PyTuple},
};
use std::{
    mem::{self, ManuallyDrop},
    sync::{Arc, Mutex},
    time::Duration,
};
use turnlock::{Barrier, Condition, Error, Event, Once, OnceRun, Result};

/// A condition, an event, a barrier or a once.
#[pyclass(frozen, subclass, module = "turnlock._native")]
pub struct Coordination {
    plan: Plan,
    /// `None` once it was closed. Neither is held while the GIL is given up.
    lock: Mutex<Option<Arc<OpenLock>>>,
    run: Mutex<Option<Running>>,
}

/// The work of a once, which a thread of this process is at.
struct Running {
    /// Borrows from `lock`. For its thread alone: elsewhere it is forgotten, and the thread is at it until it ends.
    run: ManuallyDrop<OnceRun<'static>>,
    owner: u64,
    lock: Arc<OpenLock>,
}

// SAFETY: the run is used and dropped only by the thread that began it, see `into_run`; the rest is `Send`.
unsafe impl Send for Running {}

impl Running {
    /// Begins the work as the calling thread. `None`: it is done.
    fn begin(lock: &Arc<OpenLock>, limit: Limit) -> Result<Option<Self>> {
        let AnyLock::Coordinated(Coordinated::Once(once)) = &lock.lock else { return Err(of_another_kind()) };
        let run = match limit {
            Limit::Never => once.begin_for(Duration::ZERO)?,
            Limit::For(time) => once.begin_for(time)?,
            Limit::Forever => once.begin()?,
        };
        Ok(run.map(|run| {
            // SAFETY: it borrows what `lock` points to, which the same struct keeps.
            let run = unsafe { mem::transmute::<OnceRun<'_>, OnceRun<'static>>(run) };
            Self { run: ManuallyDrop::new(run), owner: thread::number(), lock: lock.clone() }
        }))
    }

    /// Whether the calling thread is at it. A forked child's threads are others.
    fn is_mine(&self) -> bool {
        self.owner == thread::number()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.is_mine() {
            // SAFETY: it is taken here, or in `_complete`, which forgets all of this. It is not done then.
            drop(unsafe { ManuallyDrop::take(&mut self.run) });
        }
    }
}

fn of_another_kind() -> Error {
    Error::Internal("what is called is of another kind".into())
}

/// How long a call may wait: None is for ever, and what is negative not at all, as in `threading`.
pub fn within(timeout: Option<f64>) -> PyResult<Limit> {
    match timeout {
        None => Ok(Limit::Forever),
        Some(seconds) if seconds < 0.0 => Ok(Limit::Never),
        Some(seconds) => limit(true, seconds),
    }
}

macro_rules! kind {
    ($open:ident, $kind:ident) => {
        match &$open.lock {
            AnyLock::Coordinated(Coordinated::$kind(object)) => Ok(object),
            _ => Err(of_another_kind()),
        }
    };
}

impl Coordination {
    fn open(&self, py: Python) -> PyResult<Arc<OpenLock>> {
        let lock = locked(&self.lock).clone();
        lock.ok_or(Error::Closed).or_raise(py)
    }

    /// What the calling thread is at.
    fn take_run(&self, py: Python) -> PyResult<Running> {
        let run = locked(&self.run).take_if(|run| run.is_mine());
        run.ok_or(Error::NotOwner).or_raise(py)
    }
}

#[pymethods]
impl Coordination {
    #[new]
    #[pyo3(signature = (path, name, **options))]
    fn new(
        py: Python,
        path: std::path::PathBuf,
        name: String,
        options: Option<&Bound<PyDict>>,
    ) -> PyResult<Self> {
        let plan = plan::of(path, name, options)?;
        let lock = plan.clone().open(py).or_raise(py)?;
        Ok(Self { plan, lock: Mutex::new(Some(Arc::new(lock))), run: Mutex::default() })
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        plan::arguments(py, &self.plan)
    }

    /// Waits at a condition with a lock, or with a `Hold`. Returns whether it was notified.
    fn _wait_with(&self, py: Python, held: &Bound<PyAny>, timeout: Option<f64>) -> PyResult<bool> {
        let limit = within(timeout)?;
        let open = self.open(py)?;
        let condition = kind!(open, Condition).or_raise(py)?;
        if let Ok(lock) = held.cast::<Exclusive>() {
            lock.get().wait_at(py, condition, limit)
        } else if let Ok(lock) = held.cast::<Recursive>() {
            lock.get().wait_at(py, condition, limit)
        } else if let Ok(hold) = held.cast::<Hold>() {
            hold.get().wait_at(py, condition, limit)
        } else {
            Err(PyTypeError::new_err(format!(
                "a condition waits with a turnlock.Lock, a turnlock.RLock or a Hold of a turnlock.RWLock's write(), and not \
                 with a {}",
                held.get_type().name()?
            )))
        }
    }

    /// Notifies the participant that has waited longest at a condition. Returns how many were notified, 0 or 1.
    fn _notify(&self, py: Python) -> PyResult<u32> {
        let open = self.open(py)?;
        kind!(open, Condition).and_then(Condition::notify_one).or_raise(py)
    }

    /// Notifies all that wait at a condition. Returns how many.
    fn _notify_all(&self, py: Python) -> PyResult<u32> {
        let open = self.open(py)?;
        kind!(open, Condition).and_then(Condition::notify_all).or_raise(py)
    }

    /// How many wait at a condition or a barrier.
    fn _waiting(&self, py: Python) -> PyResult<usize> {
        let open = self.open(py)?;
        let waiting = match &open.lock {
            AnyLock::Coordinated(Coordinated::Condition(condition)) => condition.waiters(),
            AnyLock::Coordinated(Coordinated::Barrier(barrier)) => {
                barrier.waiting().map(|parties| parties as usize)
            }
            _ => Err(of_another_kind()),
        };
        waiting.or_raise(py)
    }

    /// Sets an event.
    fn _set(&self, py: Python) -> PyResult<bool> {
        let open = self.open(py)?;
        kind!(open, Event).and_then(Event::set).or_raise(py)
    }

    /// Clears it.
    fn _clear(&self, py: Python) -> PyResult<bool> {
        let open = self.open(py)?;
        kind!(open, Event).and_then(Event::clear).or_raise(py)
    }

    /// Whether it is set.
    fn _is_set(&self, py: Python) -> PyResult<bool> {
        let open = self.open(py)?;
        kind!(open, Event).and_then(Event::is_set).or_raise(py)
    }

    /// Waits until an event is set. Returns whether that was within the time.
    fn _wait_until_set(&self, py: Python, timeout: Option<f64>) -> PyResult<bool> {
        let limit = within(timeout)?;
        let open = self.open(py)?;
        let event = kind!(open, Event).or_raise(py)?;
        if limit == Limit::Never || event.is_set().or_raise(py)? {
            return event.is_set().or_raise(py);
        }
        let waited = open.file.wait_as_thread(py, |participant| match limit {
            Limit::For(time) => event.wait_for_as(participant, time),
            _ => event.wait_as(participant),
        });
        match waited {
            Err(Error::TimedOut(_) | Error::WouldBlock(_)) => Ok(false),
            waited => waited.map(|()| true).or_raise(py),
        }
    }

    /// Waits for the other parties of a barrier. Returns whether this one was the last; `None`: the time was over, and the barrier
    /// is broken.
    fn _wait_for_all(&self, py: Python, timeout: Option<f64>) -> PyResult<Option<bool>> {
        let limit = within(timeout)?;
        let open = self.open(py)?;
        let barrier = kind!(open, Barrier).or_raise(py)?;
        let waited = open.file.wait_as_thread(py, |participant| match limit {
            Limit::Never => barrier.wait_for_as(participant, Duration::ZERO),
            Limit::For(time) => barrier.wait_for_as(participant, time),
            Limit::Forever => barrier.wait_as(participant),
        });
        match waited {
            Err(Error::TimedOut(_) | Error::WouldBlock(_)) => Ok(None),
            waited => waited.map(Some).or_raise(py),
        }
    }

    /// How many parties a barrier has.
    fn _parties(&self, py: Python) -> PyResult<u32> {
        let open = self.open(py)?;
        kind!(open, Barrier).map(Barrier::parties).or_raise(py)
    }

    /// Whether a barrier is broken.
    fn _broken(&self, py: Python) -> PyResult<bool> {
        let open = self.open(py)?;
        match kind!(open, Barrier).and_then(Barrier::check) {
            Err(Error::BrokenBarrier(_)) => Ok(true),
            whole => whole.map(|()| false).or_raise(py),
        }
    }

    /// Breaks a barrier.
    fn _abort(&self, py: Python) -> PyResult<()> {
        let open = self.open(py)?;
        kind!(open, Barrier).and_then(Barrier::abort).or_raise(py)
    }

    /// Opens a barrier anew; has a once be done again, waiting while a participant is at it.
    fn _reset(&self, py: Python) -> PyResult<()> {
        let open = self.open(py)?;
        let reset = match &open.lock {
            AnyLock::Coordinated(Coordinated::Barrier(barrier)) => barrier.reset(),
            AnyLock::Coordinated(Coordinated::Once(once)) => py.detach(|| once.reset()),
            _ => Err(of_another_kind()),
        };
        reset.or_raise(py)
    }

    /// Whether a once is done.
    fn _is_done(&self, py: Python) -> PyResult<bool> {
        let open = self.open(py)?;
        kind!(open, Once).and_then(Once::is_done).or_raise(py)
    }

    /// Begins the work of a once, waiting while another participant is at it. Returns whether there is something to do; `None`: the
    /// time was over.
    fn _begin(&self, py: Python, timeout: Option<f64>) -> PyResult<Option<bool>> {
        let limit = within(timeout)?;
        let open = self.open(py)?;
        if kind!(open, Once).and_then(Once::is_done).or_raise(py)? {
            return Ok(Some(false));
        }
        match py.detach(|| Running::begin(&open, limit)) {
            Ok(None) => Ok(Some(false)),
            Ok(Some(running)) => {
                let stale = locked(&self.run).replace(running);
                // Of a thread that ended at it, or of the parent process.
                drop(stale);
                Ok(Some(true))
            }
            Err(Error::TimedOut(_) | Error::WouldBlock(_)) => Ok(None),
            Err(error) => Err(raise(py, error)),
        }
    }

    /// Says that the work is done, which the calling thread has begun.
    fn _complete(&self, py: Python) -> PyResult<()> {
        let mut running = self.take_run(py)?;
        // SAFETY: `running` is forgotten, so it is not taken a second time; `lock` is handed on likewise, and once.
        let (run, _lock) = unsafe { (ManuallyDrop::take(&mut running.run), std::ptr::read(&running.lock)) };
        mem::forget(running);
        run.complete().or_raise(py)
    }

    /// Gives the work up, which the calling thread has begun: the next one does it.
    fn _give_up(&self, py: Python) -> PyResult<()> {
        self.take_run(py).map(drop)
    }

    /// Whether the calling thread is at the work of a once.
    fn _is_running(&self) -> bool {
        locked(&self.run).as_ref().is_some_and(Running::is_mine)
    }

    /// Who was at the work before the calling thread and died; else `None`.
    fn _previous_runner<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let runner = {
            let run = locked(&self.run);
            run.as_ref().filter(|run| run.is_mine()).and_then(|run| run.run.previous_runner())
        };
        runner.map(|runner| facts::previous_owner(py, runner)).transpose()
    }

    /// Closes the file. Done by itself when the object is no longer used. An error while the calling thread is at a once's work.
    fn close(&self, py: Python) -> PyResult<()> {
        if locked(&self.run).as_ref().is_some_and(Running::is_mine) {
            return Err(raise(py, Error::StillHeld));
        }
        let closed = (locked(&self.run).take(), locked(&self.lock).take());
        drop(closed);
        Ok(())
    }

    /// The absolute path of the lock file.
    #[getter]
    fn path(&self) -> std::ffi::OsString {
        self.plan.file.path.clone().into_os_string()
    }

    /// The name in the file.
    #[getter]
    fn name(&self) -> &str {
        &self.plan.name
    }

    /// Whether the object was closed.
    #[getter]
    fn closed(&self) -> bool {
        locked(&self.lock).is_none()
    }

    fn __repr__(slf: &Bound<Self>) -> PyResult<String> {
        let state = if slf.get().closed() { "closed" } else { "open" };
        plan::representation(slf.as_any(), state, &slf.get().plan)
    }
}
