//! `turnlock.Lock` and `turnlock.TurnRing`: one holder at a time, and any thread may release what another one acquired.

use crate::any::{Limit, OpenLock, Plan, Want};
use crate::arguments::{Blocking, limit};
use crate::error::{OrRaise, raise};
use crate::hold::Held;
use crate::shared_file::locked;
use crate::wait::Wait;
use crate::{facts, plan, refusal, waited};
use pyo3::{
    IntoPyObjectExt,
    prelude::*,
    types::{PyDict, PyList, PyTuple},
};
use std::sync::{Arc, Mutex};
use turnlock::{Condition, Error};

/// A lock that one has at a time. `turnlock.Lock` and `turnlock.TurnRing` are made of it.
#[pyclass(frozen, subclass, module = "turnlock._native")]
pub struct Exclusive {
    plan: Plan,
    /// Never held while the GIL is given up, so a forked child finds it free.
    state: Mutex<State>,
}

struct State {
    held: Option<Held>,
    /// `None` once it was closed.
    lock: Option<Arc<OpenLock>>,
}

impl State {
    #[inline]
    fn lock(&self) -> turnlock::Result<&Arc<OpenLock>> {
        self.lock.as_ref().ok_or(Error::Closed)
    }

    /// What this process has acquired through this object.
    fn held(&mut self) -> turnlock::Result<&mut Held> {
        self.lock()?;
        self.held.as_mut().filter(|held| held.is_ours()).ok_or(Error::NotOwner)
    }

    #[inline]
    fn take(&mut self) -> turnlock::Result<Held> {
        self.lock()?;
        self.held.take_if(|held| held.is_ours()).ok_or(Error::NotOwner)
    }
}

impl Exclusive {
    /// The lock, for a call that does without the state.
    fn lock(&self, py: Python) -> PyResult<Arc<OpenLock>> {
        let lock = locked(&self.state).lock().cloned();
        lock.or_raise(py)
    }

    /// Keeps what was acquired. The object may have been closed meanwhile.
    pub fn keep(&self, py: Python, held: Held) -> PyResult<()> {
        let mut state = locked(&self.state);
        if state.lock.is_none() {
            drop(state);
            held.give_back().or_raise(py)?;
            return Err(raise(py, Error::Closed));
        }
        let stale = state.held.replace(held);
        drop(state);
        // What a parent process had, or a holder that was overtaken in a lock that was overwritten.
        drop(stale);
        Ok(())
    }

    #[inline]
    fn acquire_within(&self, py: Python, limit: Limit) -> PyResult<bool> {
        let lock = {
            let mut state = locked(&self.state);
            let now = state.lock().and_then(|lock| Held::now(lock, &Want::Whole));
            match now {
                Ok(held) if state.held.is_none() => {
                    state.held = Some(held);
                    return Ok(true);
                }
                Ok(held) => {
                    drop(state);
                    return self.keep(py, held).map(|()| true);
                }
                Err(Error::WouldBlock(by)) if limit == Limit::Never => {
                    refusal::note(by);
                    return Ok(false);
                }
                Err(Error::WouldBlock(_)) => state.lock().cloned(),
                Err(error) => Err(error),
            }
        };
        let lock = lock.or_raise(py)?;
        match Held::wait(py, &lock, &Want::Whole, limit) {
            Ok(held) => self.keep(py, held).map(|()| true),
            Err(Error::TimedOut(by)) => {
                refusal::note(by);
                Ok(false)
            }
            Err(error) => Err(raise(py, error)),
        }
    }

    /// Waits at a condition with what this object holds. Another thread may acquire the object meanwhile.
    pub fn wait_at(&self, py: Python, condition: &Condition, limit: Limit) -> PyResult<bool> {
        let held = locked(&self.state).take();
        let mut held = held.or_raise(py)?;
        let waited = py.detach(|| held.wait_at(condition, limit));
        if !waited::has_lost_the_lock(&waited) {
            self.keep(py, held)?;
        }
        waited::notified(py, waited)
    }

    #[inline]
    fn release_now(&self, py: Python) -> PyResult<()> {
        let held = locked(&self.state).take();
        held.or_raise(py)?.release(py)
    }
}

#[pymethods]
impl Exclusive {
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
        Ok(Self { plan, state: Mutex::new(State { held: None, lock: Some(Arc::new(lock)) }) })
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        plan::arguments(py, &self.plan)
    }

    /// Acquires the lock, waiting at most `timeout` seconds (-1: as long as it takes). Returns whether it was acquired.
    #[pyo3(signature = (blocking = Blocking(true), timeout = -1.0), text_signature = "($self, blocking=True, timeout=-1)")]
    fn acquire(&self, py: Python, blocking: Blocking, timeout: f64) -> PyResult<bool> {
        self.acquire_within(py, limit(blocking.0, timeout)?)
    }

    /// Releases the lock, from any thread of the process that acquired it.
    fn release(&self, py: Python) -> PyResult<()> {
        self.release_now(py)
    }

    #[inline]
    fn __enter__<'py>(slf: Bound<'py, Self>, py: Python<'py>) -> PyResult<Bound<'py, Self>> {
        slf.get().acquire_within(py, Limit::Forever)?;
        Ok(slf)
    }

    #[pyo3(signature = (exc_type = None, exc = None, traceback = None))]
    fn __exit__(
        &self,
        py: Python,
        exc_type: Option<&Bound<PyAny>>,
        exc: Option<&Bound<PyAny>>,
        traceback: Option<&Bound<PyAny>>,
    ) -> PyResult<()> {
        let _ = (exc_type, exc, traceback);
        self.release_now(py)
    }

    /// Returns whether the lock has a holder, in this process or another. It may be out of date at once.
    fn locked(&self, py: Python) -> PyResult<bool> {
        if locked(&self.state).held().is_ok() {
            return Ok(true);
        }
        Ok(facts::is_held(&self.lock(py)?.lock.status().or_raise(py)?))
    }

    /// The fencing token of the acquisition that this object holds, larger than all before it; `None` if it holds none.
    #[getter]
    fn fencing_token(&self) -> Option<u64> {
        let mut state = locked(&self.state);
        state.held().and_then(Held::guard).ok().map(|guard| guard.acquired().fencing_token)
    }

    /// Whether the lock came from a holder that died with it: look at the data before trusting them. False if this object
    /// does not hold the lock.
    #[getter]
    fn previous_owner_died(&self) -> bool {
        let mut state = locked(&self.state);
        state.held().and_then(Held::guard).is_ok_and(|guard| guard.acquired().previous_owner_died)
    }

    /// The participant that died, where `previous_owner_died`; else `None`.
    #[getter]
    fn previous_owner<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let owner = {
            let mut state = locked(&self.state);
            state.held().and_then(Held::guard).ok().and_then(|guard| guard.previous_owner())
        };
        owner.map(|owner| facts::previous_owner(py, owner)).transpose()
    }

    /// Says that the data that a dead owner left are in order again.
    fn mark_consistent(&self, py: Python) -> PyResult<()> {
        let marked =
            locked(&self.state).held().and_then(Held::guard).and_then(|guard| guard.mark_consistent());
        marked.or_raise(py)
    }

    /// Releases what was acquired for one that has gone: if the previous owner died, the next one is told in this one's place.
    fn _give_back(&self, py: Python) -> PyResult<()> {
        let held = locked(&self.state).take();
        held.and_then(Held::give_back).or_raise(py)
    }

    /// As that of `threading.Lock`, for a child after a fork: what this process has acquired through the object is released. What
    /// the parent has it keeps: the child has nothing of it.
    fn _at_fork_reinit(&self, py: Python) -> PyResult<()> {
        let held = locked(&self.state).take();
        match held.and_then(Held::give_back) {
            Err(Error::NotOwner) => Ok(()),
            given_back => given_back.or_raise(py),
        }
    }

    /// Releases the lock as a dying owner does, since the data were left half-done: the next holder is told.
    fn abandon(&self, py: Python) -> PyResult<()> {
        let held = locked(&self.state).take();
        held.and_then(Held::abandon).or_raise(py)
    }

    /// Returns whether another participant waits for the lock that this object holds.
    fn is_contended(&self, py: Python) -> PyResult<bool> {
        let contended = locked(&self.state).held().and_then(Held::guard).map(|guard| guard.is_contended());
        contended.or_raise(py)
    }

    /// Returns whether this host has the lock still that this object holds: not, once the lease of a linked lock has ended, from
    /// when on another host may have it. What goes out to others needs the fencing token besides.
    fn still_owner(&self, py: Python) -> PyResult<bool> {
        let still = locked(&self.state).held().and_then(Held::guard).map(|guard| guard.still_owner());
        still.or_raise(py)
    }

    /// Opens a lock that is not recoverable again, in its turn. Returns whether it was its turn within the time.
    #[pyo3(signature = (timeout = -1.0), text_signature = "($self, timeout=-1)")]
    fn reset(&self, py: Python, timeout: f64) -> PyResult<bool> {
        let (lock, limit) = (self.lock(py)?, limit(true, timeout)?);
        match py.detach(|| lock.lock.reset(limit)) {
            Err(Error::WouldBlock(_) | Error::TimedOut(_)) => Ok(false),
            reset => reset.map(|()| true).or_raise(py),
        }
    }

    /// Returns who holds the lock: a list of `Holder`.
    fn holders<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        facts::holders(py, &self.lock(py)?.lock.status().or_raise(py)?)
    }

    /// Returns the waiters of the lock, first the one that is next: a list of `Waiter`.
    fn waiters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        facts::waiters(py, &self.lock(py)?.lock.status().or_raise(py)?)
    }

    /// Closes the file. Done by itself when the object is no longer used. An error while it holds the lock.
    fn close(&self, py: Python) -> PyResult<()> {
        let closed = {
            let mut state = locked(&self.state);
            if state.held().is_ok() {
                Err(Error::StillHeld)
            } else {
                Ok((state.lock.take(), state.held.take()))
            }
        };
        closed.map(drop).or_raise(py)
    }

    /// Leaves a turn ring: the calling thread, if it is a member, is passed over until it asks for its next turn.
    fn _leave(&self, py: Python) -> PyResult<()> {
        let lock = self.lock(py)?;
        lock.leave(py).or_raise(py)
    }

    /// A wait that another thread may cancel, for the forms for asyncio.
    fn _wait(slf: Bound<Self>, py: Python) -> PyResult<Wait> {
        let lock = slf.get().lock(py)?;
        let object = slf.unbind();
        let answer = move |py: Python, held: Option<Held>| match held {
            Some(held) => object.get().keep(py, held).and_then(|()| true.into_py_any(py)),
            None => false.into_py_any(py),
        };
        Wait::new(lock, Want::Whole, answer).or_raise(py)
    }

    /// The absolute path of the lock file.
    #[getter]
    fn path(&self) -> std::ffi::OsString {
        self.plan.file.path.clone().into_os_string()
    }

    /// The lock's name in the file.
    #[getter]
    fn name(&self) -> &str {
        &self.plan.name
    }

    /// What a holder's death means: "inform" or "release", as the lock's creator said.
    #[getter]
    fn death_policy(&self, py: Python) -> PyResult<&'static str> {
        Ok(plan::name_of(self.lock(py)?.lock.death_policy()))
    }

    /// Whether the object was closed.
    #[getter]
    fn closed(&self) -> bool {
        locked(&self.state).lock.is_none()
    }

    fn __repr__(slf: &Bound<Self>, py: Python) -> PyResult<String> {
        let state = match slf.get().locked(py) {
            _ if slf.get().closed() => "closed",
            Ok(true) => "locked",
            Ok(false) => "unlocked",
            Err(_) => "unusable",
        };
        plan::representation(slf.as_any(), state, &slf.get().plan)
    }
}
