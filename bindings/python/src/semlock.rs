//! The semaphore under the locks of `turnlock.multiprocessing`, with the interface of `_multiprocessing.SemLock`: any process may
//! release it, and what a process had is free again once it is dead.

use crate::any::Limit;
use crate::arena::{Arena, OpenArena, PLACES, Place};
use crate::arguments::Blocking;
use crate::coordination::within;
use crate::error::{OrRaise, raise};
use crate::shared_file::locked;
use crate::thread;
use crate::waited::has_lost_the_lock;
use pyo3::{
    exceptions::{PyAssertionError, PyValueError},
    prelude::*,
};
use std::{
    sync::{Arc, Mutex, OnceLock, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};
use turnlock::{Condition, Error, ExclusiveGuard, Result};

/// After how long a waiter looks whether a process that has a permit has died; and, should one have died between a release and its
/// notification, whether a permit is free.
const NAP: Duration = Duration::from_millis(50);

/// A semaphore, or a recursive lock, in an arena.
#[pyclass(frozen, module = "turnlock._native")]
pub struct SemLock {
    arena: Arc<OpenArena>,
    number: usize,
    max: u32,
    is_recursive: bool,
    /// Whether a permit belongs to the process that acquired it, until one is released.
    is_owned: bool,
    condition: OnceLock<Condition>,
    /// Never held while the GIL is given up.
    local: Mutex<Local>,
}

/// What this process has acquired by the object, less what it has released.
#[derive(Default)]
struct Local {
    process: u64,
    count: i64,
    /// The thread that acquired it last.
    thread: u64,
}

impl SemLock {
    fn place(&self) -> Place<'_> {
        self.arena.place(self.number)
    }

    fn local<R>(&self, act: impl FnOnce(&mut Local) -> R) -> R {
        let mut local = locked(&self.local);
        if local.process != thread::process() {
            *local = Local { process: thread::process(), ..Local::default() };
        }
        act(&mut local)
    }

    /// The condition of its waiters, made when the first one waits.
    fn condition(&self) -> Result<&Condition> {
        if let Some(condition) = self.condition.get() {
            return Ok(condition);
        }
        let condition = self.arena.file().file.condition(&format!("free {}", self.number))?;
        Ok(self.condition.get_or_init(|| condition))
    }

    /// Takes a permit, with the stripe locked, if there is one.
    fn take(&self, me: usize) -> Result<bool> {
        let place = self.place();
        // More than the most: what a process has sent was got, and the process has not said yet that it was sent, or never will.
        if place.value() == 0 || place.total().load(Relaxed) > self.max {
            self.take_from_the_dead(me)?;
        }
        if place.value() == 0 {
            return Ok(false);
        }
        if self.is_owned {
            let held = place.held(me);
            held.store(held.load(Relaxed) + 1, Relaxed);
        } else {
            place.total().store(place.total().load(Relaxed) - 1, Relaxed);
        }
        Ok(true)
    }

    fn take_from_the_dead(&self, me: usize) -> Result<()> {
        let place = self.place();
        for process in place.holders().filter(|process| *process != me) {
            self.arena.if_dead(process, || {
                place.held(process).store(0, Relaxed);
                // It had sent something, which was got since, and died before it could say so.
                if place.value() > self.max {
                    place.total().store(self.max.saturating_add(place.all_held()), Relaxed);
                }
            })?;
        }
        Ok(())
    }

    /// Gives a permit back, with the stripe locked: one of this process, or else of another one, or else one more.
    fn give(&self, me: usize) -> Result<bool> {
        let place = self.place();
        if place.value() >= self.max {
            return Ok(false);
        }
        let held_by = |process: &usize| place.held(*process).load(Relaxed) != 0;
        match [me].into_iter().find(held_by).or_else(|| place.holders().next()) {
            Some(process) => place.held(process).store(place.held(process).load(Relaxed) - 1, Relaxed),
            None => place.total().store(place.total().load(Relaxed) + 1, Relaxed),
        }
        self.wake()?;
        Ok(true)
    }

    fn wake(&self) -> Result<()> {
        let waiters = self.place().waiters();
        if waiters.load(Relaxed) != 0 && self.condition()?.notify_one()? == 0 {
            waiters.store(0, Relaxed);
        }
        Ok(())
    }

    /// Waits for a permit with the guard of the stripe.
    fn wait(&self, guard: &mut impl ExclusiveGuard, me: usize, limit: Limit) -> Result<bool> {
        let began = Instant::now();
        loop {
            if self.take(me)? {
                return Ok(true);
            }
            let nap = match limit {
                Limit::Never => return Ok(false),
                Limit::Forever => NAP,
                Limit::For(time) => match time.checked_sub(began.elapsed()) {
                    None | Some(Duration::ZERO) => return Ok(false),
                    Some(left) => NAP.min(left),
                },
            };
            let (condition, waiters) = (self.condition()?, self.place().waiters());
            waiters.store(waiters.load(Relaxed).saturating_add(1), Relaxed);
            let waited = condition.wait_for(guard, nap);
            if !has_lost_the_lock(&waited) {
                waiters.store(waiters.load(Relaxed).saturating_sub(1), Relaxed);
            }
            match waited {
                Ok(()) if thread::has_raised() => {
                    // The notification is for another one.
                    self.wake()?;
                    return Err(Error::Interrupted);
                }
                Ok(()) | Err(Error::TimedOut(_) | Error::WouldBlock(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Does what is wanted with the stripe locked.
    fn act(&self, guard: &mut impl ExclusiveGuard, me: usize, act: Act) -> Result<u32> {
        let place = self.place();
        Ok(match act {
            Act::Acquire(limit) => u32::from(self.wait(guard, me, limit)?),
            Act::Give => u32::from(self.give(me)?),
            Act::GiveGot => {
                if place.total().load(Relaxed) >= self.max {
                    self.take_from_the_dead(me)?;
                }
                // It may be that of a process that died after it had sent this, and then it is free already.
                if place.value() < self.max {
                    place.total().store(place.total().load(Relaxed) + 1, Relaxed);
                    self.wake()?;
                }
                1
            }
            Act::Disown => {
                let held = place.held(me);
                if held.load(Relaxed) != 0 {
                    // In this order: if it dies between the two, its death gives back what is taken twice here.
                    place.total().store(place.total().load(Relaxed).saturating_sub(1), Relaxed);
                    held.store(held.load(Relaxed) - 1, Relaxed);
                }
                1
            }
            Act::Draw => {
                let drawn = place.total().load(Relaxed);
                place.total().store(drawn.wrapping_add(1), Relaxed);
                drawn
            }
            Act::Value => {
                if self.is_owned && place.value() == 0 {
                    self.take_from_the_dead(me)?;
                }
                place.value()
            }
        })
    }

    fn run(&self, py: Python, act: Act) -> Result<u32> {
        let me = self.arena.me()?;
        let stripe = self.arena.stripe(self.number);
        // What needs no wait is done with the GIL.
        let at_once = match (stripe.try_lock(), act) {
            (Ok(mut guard), Act::Acquire(limit)) => {
                let taken = self.act(&mut guard, me, Act::Acquire(Limit::Never));
                guard.unlock()?;
                match taken {
                    Ok(0) if limit != Limit::Never => None,
                    taken => Some(taken),
                }
            }
            (Ok(mut guard), act) => {
                let done = self.act(&mut guard, me, act);
                guard.unlock()?;
                Some(done)
            }
            (Err(Error::WouldBlock(_) | Error::ParticipantBusy | Error::Deadlock), _) => None,
            (Err(error), _) => Some(Err(error)),
        };
        if let Some(done) = at_once {
            return done;
        }
        loop {
            let as_thread = py.detach(|| {
                let mut guard = stripe.lock()?;
                let done = self.act(&mut guard, me, act);
                guard.unlock().and(done)
            });
            let done = match as_thread {
                // A signal handler has interrupted a call of its thread.
                Err(Error::ParticipantBusy | Error::Deadlock) => {
                    let slot = self.arena.file().spare_slot()?;
                    let done = py.detach(|| {
                        let mut guard = stripe.lock_as(&slot.participant)?;
                        let done = self.act(&mut guard, me, act);
                        guard.unlock().and(done)
                    });
                    self.arena.file().spare(slot);
                    done
                }
                done => done,
            };
            match done {
                // It is done all the same; the caller raises what the handler did.
                Err(Error::Interrupted) if !matches!(act, Act::Acquire(_)) => {}
                done => return done,
            }
        }
    }

    fn run_or_raise(&self, py: Python, act: Act) -> PyResult<u32> {
        let done = self.run(py, act);
        match thread::take_raised() {
            Some(raised) if done.is_err() || !matches!(act, Act::Acquire(_)) => Err(raised),
            _ => done.or_raise(py),
        }
    }

    fn give_back(&self, py: Python) -> PyResult<()> {
        if self.is_recursive {
            if !self._is_mine() {
                return Err(PyAssertionError::new_err(
                    "attempt to release recursive lock not owned by thread",
                ));
            }
            if self.local(|local| local.count) > 1 {
                self.local(|local| local.count -= 1);
                return Ok(());
            }
        }
        match self.run_or_raise(py, Act::Give)? {
            TOO_OFTEN => Err(PyValueError::new_err("semaphore or lock released too many times")),
            _ => {
                self.local(|local| local.count -= 1);
                Ok(())
            }
        }
    }
}

/// What is done with the stripe locked.
#[derive(Clone, Copy)]
enum Act {
    Acquire(Limit),
    Give,
    /// Gives a permit back that belongs to no process any more.
    GiveGot,
    /// Has a permit of this process belong to none.
    Disown,
    /// Counts, and gives the number before.
    Draw,
    Value,
}

/// What [`Act::Give`] says of a semaphore of which no permit is out.
const TOO_OFTEN: u32 = 0;

#[pymethods]
impl SemLock {
    #[new]
    fn new(
        py: Python,
        arena: &Arena,
        number: usize,
        max: u32,
        is_recursive: bool,
        is_owned: bool,
    ) -> PyResult<Self> {
        if number >= PLACES {
            return Err(PyValueError::new_err(format!(
                "an arena has {PLACES} places, and no place {number}"
            )));
        }
        let arena = arena.open.clone();
        arena.me().map_err(|error| raise(py, error))?;
        let condition = OnceLock::new();
        Ok(Self { arena, number, max, is_recursive, is_owned, condition, local: Mutex::default() })
    }

    /// Acquires it, waiting for at most `timeout` seconds. Returns whether it was acquired.
    #[pyo3(signature = (block = Blocking(true), timeout = None), text_signature = "($self, block=True, timeout=None)")]
    fn acquire(&self, py: Python, block: Blocking, timeout: Option<f64>) -> PyResult<bool> {
        if self.is_recursive && self._is_mine() {
            self.local(|local| local.count += 1);
            return Ok(true);
        }
        let limit = if block.0 { within(timeout)? } else { Limit::Never };
        let taken = self.run_or_raise(py, Act::Acquire(limit))? != 0;
        if taken {
            self.local(|local| {
                local.count += 1;
                local.thread = thread::number();
            });
        }
        Ok(taken)
    }

    /// Releases it; a recursive one only its thread.
    fn release(&self, py: Python) -> PyResult<()> {
        self.give_back(py)
    }

    fn __enter__(&self, py: Python) -> PyResult<bool> {
        self.acquire(py, Blocking(true), None)
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
        self.give_back(py)
    }

    /// How often this process has acquired it by the object, less how often it has released it.
    fn _count(&self) -> i64 {
        self.local(|local| local.count)
    }

    /// Whether the calling thread acquired it last, and has it.
    fn _is_mine(&self) -> bool {
        self.local(|local| local.count > 0 && local.thread == thread::number())
    }

    /// How many permits are free.
    fn _get_value(&self, py: Python) -> PyResult<u32> {
        self.run_or_raise(py, Act::Value)
    }

    /// Whether none is.
    fn _is_zero(&self, py: Python) -> PyResult<bool> {
        Ok(self._get_value(py)? == 0)
    }

    /// In a forked child: it has not acquired it.
    fn _after_fork(&self) {}

    /// Gives a permit back that belongs to no process any more.
    fn _give_got(&self, py: Python) -> PyResult<()> {
        self.run_or_raise(py, Act::GiveGot).map(drop)
    }

    /// Has a permit of this process belong to none, so that its death does not give it back.
    fn _disown(&self, py: Python) -> PyResult<()> {
        self.run_or_raise(py, Act::Disown).map(drop)
    }

    /// Counts, and gives the number before.
    fn _draw(&self, py: Python) -> PyResult<u32> {
        self.run_or_raise(py, Act::Draw)
    }

    /// Its place in the arena.
    #[getter]
    fn handle(&self) -> usize {
        self.number
    }

    /// The most permits there are.
    #[getter]
    fn maxvalue(&self) -> u32 {
        self.max
    }

    /// 0: recursive, 1: a semaphore.
    #[getter]
    fn kind(&self) -> u32 {
        u32::from(!self.is_recursive)
    }
}
