//! `turnlock.RLock`: a recursive mutex, which belongs to the thread that acquired it.
//!
//! The core's own recursion is used, so that two objects of the same lock in one thread do not wait for each other. The
//! object counts what comes through itself.

use crate::any::{AnyLock, Limit, OpenLock, Plan};
use crate::arguments::{Blocking, limit};
use crate::error::{OrRaise, raise, warn_if_closed};
use crate::shared_file::locked;
use crate::{any, facts, plan, refusal, thread, waited};
use pyo3::{
    prelude::*,
    types::{PyDict, PyList, PyTuple},
};
use std::{
    mem::{self, ManuallyDrop},
    sync::{Arc, Mutex},
};
use turnlock::{Condition, Error, MutexGuard, Result};

/// A lock that its owner may acquire again. `turnlock.RLock` is made of it.
#[pyclass(frozen, subclass, module = "turnlock._native")]
pub struct Recursive {
    plan: Plan,
    /// Never held while the GIL is given up, so a forked child finds it free.
    state: Mutex<State>,
}

struct State {
    owned: Option<Owned>,
    /// `None` once it was closed.
    lock: Option<Arc<OpenLock>>,
}

/// What one thread has acquired.
struct Owned {
    /// Borrows from `lock`. For the owner alone: elsewhere it is forgotten, and the thread has the lock until it ends.
    guard: ManuallyDrop<MutexGuard<'static>>,
    owner: u64,
    count: usize,
    lock: Arc<OpenLock>,
}

// SAFETY: the guard is used and dropped only by the thread that made it, see `is_mine`; the rest is `Send`.
unsafe impl Send for Owned {}

impl Owned {
    /// Takes `lock` as the calling thread.
    #[inline]
    fn acquire(lock: &Arc<OpenLock>, limit: Limit) -> Result<Self> {
        let AnyLock::Mutex(mutex) = &lock.lock else {
            return Err(Error::Internal("an RLock of a ring".into()));
        };
        let guard = match limit {
            Limit::Never => mutex.try_lock()?,
            Limit::For(time) => mutex.lock_for(time)?,
            Limit::Forever => mutex.lock()?,
        };
        // SAFETY: it borrows what `lock` points to, which the same struct keeps.
        let guard = unsafe { mem::transmute::<MutexGuard<'_>, MutexGuard<'static>>(guard) };
        Ok(Self { guard: ManuallyDrop::new(guard), owner: thread::number(), count: 1, lock: lock.clone() })
    }

    /// Whether the calling thread is the owner. A forked child's threads are others.
    #[inline]
    fn is_mine(&self) -> bool {
        self.owner == thread::number()
    }

    /// Unlocks, however often the owner has acquired it, waits until `condition` is notified, and locks again.
    fn wait_at(&mut self, condition: &Condition, limit: Limit) -> Result<()> {
        if !self.is_mine() {
            return Err(Error::NotOwner);
        }
        any::wait_at(condition, &mut *self.guard, limit)
    }

    /// The guard, of the owner's.
    #[inline]
    fn into_guard(mut self) -> Option<(MutexGuard<'static>, Arc<OpenLock>)> {
        if !self.is_mine() {
            return None;
        }
        // SAFETY: `self` is forgotten, so it is not taken a second time; `lock` is handed on likewise, and once.
        let taken = unsafe { (ManuallyDrop::take(&mut self.guard), std::ptr::read(&self.lock)) };
        mem::forget(self);
        Some(taken)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if self.is_mine() {
            // SAFETY: it is dropped here, or taken by `into_guard`, which forgets all of this.
            let guard = unsafe { ManuallyDrop::take(&mut self.guard) };
            // It was not released: the next one is to be told.
            let _ = guard.abandon();
        }
    }
}

impl State {
    #[inline]
    fn lock(&self) -> Result<&Arc<OpenLock>> {
        self.lock.as_ref().ok_or(Error::Closed)
    }

    #[inline]
    fn owned(&mut self) -> Result<&mut Owned> {
        self.lock()?;
        self.owned.as_mut().filter(|owned| owned.is_mine()).ok_or(Error::NotOwner)
    }
}

impl Recursive {
    fn lock(&self, py: Python) -> PyResult<Arc<OpenLock>> {
        let lock = locked(&self.state).lock().cloned();
        lock.or_raise(py)
    }

    #[inline]
    fn acquire_within(&self, py: Python, limit: Limit) -> PyResult<bool> {
        let lock = {
            let mut state = locked(&self.state);
            if let Ok(owned) = state.owned() {
                owned.count += 1;
                return Ok(true);
            }
            let now = state.lock().and_then(|lock| Owned::acquire(lock, Limit::Never));
            match now {
                Ok(owned) => {
                    let stale = state.owned.replace(owned);
                    drop(state);
                    drop(stale);
                    return Ok(true);
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
        match py.detach(|| Owned::acquire(&lock, limit)) {
            Ok(owned) => self.keep(py, owned).map(|()| true),
            Err(Error::TimedOut(by)) => {
                refusal::note(by);
                Ok(false)
            }
            Err(error) => Err(raise(py, error)),
        }
    }

    /// Keeps what was acquired. The object may have been closed meanwhile.
    fn keep(&self, py: Python, owned: Owned) -> PyResult<()> {
        let mut state = locked(&self.state);
        if state.lock.is_none() {
            drop(state);
            // If the previous owner died, the next one is told in this one's place.
            let died = owned.guard.acquired().previous_owner_died;
            let (guard, _lock) = owned.into_guard().ok_or(Error::NotOwner).or_raise(py)?;
            if died { guard.abandon() } else { guard.unlock() }.or_raise(py)?;
            return Err(raise(py, Error::Closed));
        }
        let stale = state.owned.replace(owned);
        drop(state);
        // Of a thread that ended with it, or of the parent process.
        drop(stale);
        Ok(())
    }

    /// Unlocks, and warns where that has closed the lock for everyone.
    #[inline]
    fn unlock(py: Python, owned: Owned) -> PyResult<()> {
        let (guard, lock) = owned.into_guard().ok_or(Error::NotOwner).or_raise(py)?;
        let died = guard.acquired().previous_owner_died;
        guard.unlock().or_raise(py)?;
        if died { warn_if_closed(py, &lock) } else { Ok(()) }
    }

    /// Waits at a condition with what the calling thread has, and has it as often afterwards.
    pub fn wait_at(&self, py: Python, condition: &Condition, limit: Limit) -> PyResult<bool> {
        let owned = {
            let mut state = locked(&self.state);
            match state.owned() {
                Ok(_) => state.owned.take().ok_or(Error::NotOwner),
                Err(error) => Err(error),
            }
        };
        let mut owned = owned.or_raise(py)?;
        let waited = py.detach(|| owned.wait_at(condition, limit));
        if !waited::has_lost_the_lock(&waited) {
            self.keep(py, owned)?;
        }
        waited::notified(py, waited)
    }

    #[inline]
    fn release_now(&self, py: Python) -> PyResult<()> {
        let last = {
            let mut state = locked(&self.state);
            match state.owned() {
                Ok(owned) if owned.count > 1 => {
                    owned.count -= 1;
                    return Ok(());
                }
                Ok(_) => state.owned.take().ok_or(Error::NotOwner),
                Err(error) => Err(error),
            }
        };
        Self::unlock(py, last.or_raise(py)?)
    }
}

#[pymethods]
impl Recursive {
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
        Ok(Self { plan, state: Mutex::new(State { owned: None, lock: Some(Arc::new(lock)) }) })
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        plan::arguments(py, &self.plan)
    }

    /// Acquires the lock, waiting at most `timeout` seconds (-1: as long as it takes); at once if this thread has it. Returns
    /// whether it was acquired.
    #[pyo3(signature = (blocking = Blocking(true), timeout = -1.0), text_signature = "($self, blocking=True, timeout=-1)")]
    fn acquire(&self, py: Python, blocking: Blocking, timeout: f64) -> PyResult<bool> {
        self.acquire_within(py, limit(blocking.0, timeout)?)
    }

    /// Releases the lock once; it is free when its owner has released it as often as acquired.
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
        if locked(&self.state).owned().is_ok() {
            return Ok(true);
        }
        Ok(facts::is_held(&self.lock(py)?.lock.status().or_raise(py)?))
    }

    /// Whether the calling thread acquired the lock through this object. `threading.Condition` asks.
    fn _is_owned(&self) -> bool {
        locked(&self.state).owned().is_ok()
    }

    /// How often the calling thread has it through this object.
    fn _recursion_count(&self) -> usize {
        locked(&self.state).owned().map_or(0, |owned| owned.count)
    }

    /// Releases it altogether; returns what `_acquire_restore` wants. `threading.Condition` calls it.
    fn _release_save(&self, py: Python) -> PyResult<usize> {
        let (count, owned) = {
            let mut state = locked(&self.state);
            match state.owned() {
                Ok(owned) => (owned.count, state.owned.take().ok_or(Error::NotOwner)),
                Err(error) => (0, Err(error)),
            }
        };
        Self::unlock(py, owned.or_raise(py)?)?;
        Ok(count)
    }

    /// As that of `threading.RLock`, for a child after a fork: what the calling thread has is released. What the parent has it
    /// keeps: the child has nothing of it.
    fn _at_fork_reinit(&self, py: Python) -> PyResult<()> {
        let owned = {
            let mut state = locked(&self.state);
            if state.owned().is_ok() { state.owned.take() } else { None }
        };
        owned.map_or(Ok(()), |owned| Self::unlock(py, owned))
    }

    /// Acquires it as often as it was before `_release_save`.
    fn _acquire_restore(&self, py: Python, count: usize) -> PyResult<()> {
        self.acquire_within(py, Limit::Forever)?;
        let restored = locked(&self.state).owned().map(|owned| owned.count = count);
        restored.or_raise(py)
    }

    /// The fencing token of what this thread has, larger than all before it; `None` if it has nothing.
    #[getter]
    fn fencing_token(&self) -> Option<u64> {
        locked(&self.state).owned().ok().map(|owned| owned.guard.fencing_token())
    }

    /// Whether the lock came from a holder that died with it: look at the data before trusting them.
    #[getter]
    fn previous_owner_died(&self) -> bool {
        locked(&self.state).owned().is_ok_and(|owned| owned.guard.acquired().previous_owner_died)
    }

    /// The participant that died, where `previous_owner_died`; else `None`.
    #[getter]
    fn previous_owner<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let owner = locked(&self.state).owned().ok().and_then(|owned| owned.guard.previous_owner());
        owner.map(|owner| facts::previous_owner(py, owner)).transpose()
    }

    /// Says that the data that a dead owner left are in order again.
    fn mark_consistent(&self, py: Python) -> PyResult<()> {
        let marked = locked(&self.state).owned().and_then(|owned| owned.guard.mark_consistent());
        marked.or_raise(py)
    }

    /// Releases the lock, however often it was acquired, as a dying owner does: the next holder is told.
    fn abandon(&self, py: Python) -> PyResult<()> {
        let owned = {
            let mut state = locked(&self.state);
            match state.owned() {
                Ok(_) => state.owned.take().and_then(Owned::into_guard).ok_or(Error::NotOwner),
                Err(error) => Err(error),
            }
        };
        owned.and_then(|(guard, _lock)| guard.abandon()).or_raise(py)
    }

    /// Returns whether another participant waits for the lock that this thread has.
    fn is_contended(&self, py: Python) -> PyResult<bool> {
        let contended = locked(&self.state).owned().map(|owned| owned.guard.is_contended());
        contended.or_raise(py)
    }

    /// Returns whether this host has the lock still that this thread has: not, once the lease of a linked lock has ended, from
    /// when on another host may have it. What goes out to others needs the fencing token besides.
    fn still_owner(&self, py: Python) -> PyResult<bool> {
        let still = locked(&self.state).owned().map(|owned| owned.guard.still_owner());
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

    /// Closes the file. Done by itself when the object is no longer used. An error while the calling thread has the lock.
    fn close(&self, py: Python) -> PyResult<()> {
        let closed = {
            let mut state = locked(&self.state);
            if state.owned().is_ok() {
                Err(Error::StillHeld)
            } else {
                Ok((state.owned.take(), state.lock.take()))
            }
        };
        closed.map(drop).or_raise(py)
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
