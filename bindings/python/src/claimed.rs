//! `turnlock.RWLock`, `Semaphore`, `RangeLock`, `KeyedLock` and `GroupLock`: several hold them at a time, so what is held is
//! an object of its own, a `Hold`.

use crate::any::{AnyGuard, Limit, OpenLock, Plan, Want};
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

/// A lock that several have at a time.
#[pyclass(frozen, subclass, module = "turnlock._native")]
pub struct Claimed {
    plan: Plan,
    /// `None` once it was closed. Neither is held while the GIL is given up.
    lock: Mutex<Option<Arc<OpenLock>>>,
    /// What was acquired through the object itself: a semaphore's permits.
    held: Mutex<Vec<Held>>,
}

/// What is wanted, as Python says it: a tuple of a word and its arguments.
fn want(of: &Bound<PyTuple>) -> PyResult<Want> {
    let word: String = of.get_item(0)?.extract()?;
    Ok(match word.as_str() {
        "read" => Want::Read,
        "upgradable" => Want::Upgradable,
        "write" => Want::Write,
        "permits" => Want::Permits(of.get_item(1)?.extract()?),
        "range" => Want::Range {
            write: of.get_item(1)?.extract()?,
            first: of.get_item(2)?.extract()?,
            end: of.get_item(3)?.extract()?,
        },
        "group" => Want::Group(of.get_item(1)?.extract()?),
        _ => Want::Key { write: of.get_item(1)?.extract()?, key: of.get_item(2)?.extract()? },
    })
}

impl Claimed {
    fn open(&self, py: Python) -> PyResult<Arc<OpenLock>> {
        let lock = locked(&self.lock).clone();
        lock.ok_or(Error::Closed).or_raise(py)
    }

    fn acquire(&self, py: Python, want: &Want, limit: Limit) -> PyResult<Option<Held>> {
        let lock = self.open(py)?;
        let taken = match Held::now(&lock, want) {
            Err(Error::WouldBlock(_)) if limit != Limit::Never => Held::wait(py, &lock, want, limit),
            taken => taken,
        };
        match taken {
            Ok(held) => Ok(Some(held)),
            Err(Error::WouldBlock(by) | Error::TimedOut(by)) => {
                refusal::note(by);
                Ok(None)
            }
            Err(error) => Err(raise(py, error)),
        }
    }
}

#[pymethods]
impl Claimed {
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
        Ok(Self { plan, lock: Mutex::new(Some(Arc::new(lock))), held: Mutex::default() })
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        plan::arguments(py, &self.plan)
    }

    /// Takes what is wanted; `None` if it was not to be had in time.
    fn _take(
        &self,
        py: Python,
        of: &Bound<PyTuple>,
        blocking: Blocking,
        timeout: f64,
    ) -> PyResult<Option<Hold>> {
        Ok(self.acquire(py, &want(of)?, limit(blocking.0, timeout)?)?.map(Hold::new))
    }

    /// Takes what is wanted for the object itself. Returns whether it was to be had in time.
    fn _acquire(&self, py: Python, of: &Bound<PyTuple>, blocking: Blocking, timeout: f64) -> PyResult<bool> {
        let held = self.acquire(py, &want(of)?, limit(blocking.0, timeout)?)?;
        let is_acquired = held.is_some();
        locked(&self.held).extend(held);
        Ok(is_acquired)
    }

    /// Gives back what the object itself has, so many times.
    fn _release(&self, py: Python, times: usize) -> PyResult<()> {
        let (given_back, stale) = {
            let mut held = locked(&self.held);
            // What a forked child remembers of its parent.
            let stale: Vec<Held> = held.extract_if(.., |held| !held.is_ours()).collect();
            let enough = held.len() >= times;
            let kept = held.len().saturating_sub(times);
            (if enough { Ok(held.split_off(kept)) } else { Err(Error::NotOwner) }, stale)
        };
        drop(stale);
        given_back.and_then(|held| held.into_iter().try_for_each(Held::unlock)).or_raise(py)
    }

    /// A wait for what is wanted that another thread may cancel.
    fn _wait(&self, py: Python, of: &Bound<PyTuple>) -> PyResult<Wait> {
        let answer = |py: Python, held: Option<Held>| match held {
            Some(held) => Hold::new(held).into_py_any(py),
            None => Ok(py.None()),
        };
        Wait::new(self.open(py)?, want(of)?, answer).or_raise(py)
    }

    /// How many permits a semaphore has, taken or not.
    fn _permits(&self, py: Python) -> PyResult<u32> {
        self.open(py)?.permits().or_raise(py)
    }

    /// How many permits of a semaphore are free. It may be out of date at once.
    fn _free(&self, py: Python) -> PyResult<u32> {
        let lock = self.open(py)?;
        let free = lock.permits().and_then(|permits| {
            let holders = lock.lock.status()?.holders;
            let taken = holders.iter().filter_map(|holder| holder.claim.permits).fold(0, u32::saturating_add);
            Ok(permits.saturating_sub(taken))
        });
        free.or_raise(py)
    }

    /// Makes a semaphore have so many permits.
    fn _resize(&self, py: Python, permits: u32) -> PyResult<()> {
        self.open(py)?.resize(permits).or_raise(py)
    }

    /// Opens a lock that is not recoverable again, in its turn, or marks all its parts. Returns whether that was in time.
    #[pyo3(signature = (timeout = -1.0), text_signature = "($self, timeout=-1)")]
    fn reset(&self, py: Python, timeout: f64) -> PyResult<bool> {
        let (lock, limit) = (self.open(py)?, limit(true, timeout)?);
        match py.detach(|| lock.lock.reset(limit)) {
            Err(Error::WouldBlock(_) | Error::TimedOut(_)) => Ok(false),
            reset => reset.map(|()| true).or_raise(py),
        }
    }

    /// Returns who holds the lock or parts of it: a list of `Holder`.
    fn holders<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        facts::holders(py, &self.open(py)?.lock.status().or_raise(py)?)
    }

    /// Returns who waits: a list of `Waiter`.
    fn waiters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        facts::waiters(py, &self.open(py)?.lock.status().or_raise(py)?)
    }

    /// Closes the file. Done by itself when the object is no longer used. An error while the object itself holds something.
    fn close(&self, py: Python) -> PyResult<()> {
        if locked(&self.held).iter().any(Held::is_ours) {
            return Err(raise(py, Error::StillHeld));
        }
        let closed = (locked(&self.lock).take(), std::mem::take(&mut *locked(&self.held)));
        drop(closed);
        Ok(())
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
        Ok(plan::name_of(self.open(py)?.lock.death_policy()))
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

/// What is held of a lock that several may have at a time, until it is released: a context manager.
#[pyclass(frozen, module = "turnlock._native")]
pub struct Hold {
    /// `None` once it was released. Never held while the GIL is given up.
    held: Mutex<Option<Held>>,
}

impl Hold {
    pub fn new(held: Held) -> Self {
        Self { held: Mutex::new(Some(held)) }
    }

    fn with_guard<R>(
        &self,
        act: impl FnOnce(&mut AnyGuard<'static>) -> turnlock::Result<R>,
    ) -> turnlock::Result<R> {
        let mut held = locked(&self.held);
        held.as_mut().ok_or(Error::NotOwner).and_then(Held::guard).and_then(act)
    }

    /// Waits at a condition with a reader/writer lock that is held to write.
    pub fn wait_at(&self, py: Python, condition: &Condition, limit: Limit) -> PyResult<bool> {
        let mut held = self.take(py)?;
        let waited = py.detach(|| held.wait_at(condition, limit));
        if !waited::has_lost_the_lock(&waited) {
            *locked(&self.held) = Some(held);
        }
        waited::notified(py, waited)
    }

    fn take(&self, py: Python) -> PyResult<Held> {
        let held = locked(&self.held).take_if(|held| held.is_ours());
        held.ok_or(Error::NotOwner).or_raise(py)
    }
}

#[pymethods]
impl Hold {
    fn __enter__(slf: Bound<Self>) -> Bound<Self> {
        slf
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
        self.release(py)
    }

    /// Releases it, from any thread of the process.
    fn release(&self, py: Python) -> PyResult<()> {
        self.take(py)?.release(py)
    }

    /// Releases it as a dying owner does, since the data were left half-done.
    fn abandon(&self, py: Python) -> PyResult<()> {
        self.take(py)?.abandon().or_raise(py)
    }

    /// Releases it for one that has gone: a death that it was told of is told to the next one.
    fn _give_back(&self, py: Python) -> PyResult<()> {
        self.take(py)?.give_back().or_raise(py)
    }

    /// Whether it is held still, by this process.
    #[getter]
    fn held(&self) -> bool {
        locked(&self.held).as_ref().is_some_and(Held::is_ours)
    }

    /// "read", "upgradable" or "write" of a reader/writer lock; else `None`.
    #[getter]
    fn mode(&self) -> Option<&'static str> {
        self.with_guard(|guard| Ok(guard.mode())).ok().flatten()
    }

    /// Has an upgradable one become the writer, when the readers beside it have gone. Returns whether that was in time; if
    /// not, it is as it was.
    #[pyo3(signature = (blocking = Blocking(true), timeout = -1.0), text_signature = "($self, blocking=True, timeout=-1)")]
    fn upgrade(&self, py: Python, blocking: Blocking, timeout: f64) -> PyResult<bool> {
        let limit = limit(blocking.0, timeout)?;
        let mut held = self.take(py)?;
        let upgraded = py.detach(|| {
            held.change(|guard| {
                let (guard, upgraded) = guard.upgraded(limit);
                (Some(guard), upgraded)
            })
        });
        *locked(&self.held) = Some(held);
        match upgraded {
            Err(Error::WouldBlock(_) | Error::TimedOut(_)) => Ok(false),
            upgraded => upgraded.map(|()| true).or_raise(py),
        }
    }

    /// Has a writer become a reader, or with `upgradable` one that may write again; and such a one a reader.
    #[pyo3(signature = (*, upgradable = false))]
    fn downgrade(&self, py: Python, upgradable: bool) -> PyResult<()> {
        let mut held = self.take(py)?;
        let downgraded = held.change(|guard| match guard.downgraded(upgradable) {
            Ok(guard) => (Some(guard), Ok(())),
            Err(error) => (None, Err(error)),
        });
        *locked(&self.held) = Some(held);
        downgraded.or_raise(py)
    }

    /// The fencing token of this acquisition; `None` once it was released.
    #[getter]
    fn fencing_token(&self) -> Option<u64> {
        self.with_guard(|guard| Ok(guard.acquired().fencing_token)).ok()
    }

    /// Whether it came from a writer that died: look at the data before trusting them.
    #[getter]
    fn previous_owner_died(&self) -> bool {
        self.with_guard(|guard| Ok(guard.acquired().previous_owner_died)).unwrap_or(false)
    }

    /// The participant that died, where `previous_owner_died`; else `None`.
    #[getter]
    fn previous_owner<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let owner = self.with_guard(|guard| Ok(guard.previous_owner())).ok().flatten();
        owner.map(|owner| facts::previous_owner(py, owner)).transpose()
    }

    /// Says that the data that a dead owner left are in order again.
    fn mark_consistent(&self, py: Python) -> PyResult<()> {
        self.with_guard(|guard| guard.mark_consistent()).or_raise(py)
    }

    /// Returns whether another participant waits for what it holds.
    fn is_contended(&self, py: Python) -> PyResult<bool> {
        self.with_guard(|guard| Ok(guard.is_contended())).or_raise(py)
    }
}
