//! The time limits of requests that wait: one thread for all of the process, begun with the first of them.

use super::lines::{Line, begin_thread};
use crate::os::fork::{ForkGuard, ForkGuarded, process_mark};
use std::{
    collections::BTreeMap,
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};
use turnlock_core::error::{Error, LockedBy};

/// The thread ends when there has been no limit for so long.
const IDLE: Duration = Duration::from_secs(2);

/// The deadlines of one process.
#[derive(Default)]
struct Deadlines {
    state: Mutex<State>,
    /// Notified when there is an earlier one than those before.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The number of the one that was set last.
    last: u64,
    /// By their moments, and their numbers: which request fails then.
    set: BTreeMap<(Instant, u64), (Weak<Line>, u64)>,
    has_thread: bool,
}

/// The process, and its deadlines.
static DEADLINES: ForkGuarded<(u64, Option<Arc<Deadlines>>)> = ForkGuarded::new((0, None));

fn of_process() -> Arc<Deadlines> {
    let process = process_mark();
    DEADLINES.with(&ForkGuard::enter(), |(owner, deadlines)| {
        if mem::replace(owner, process) != process {
            // The parent's, which a child does not touch.
            mem::forget(deadlines.take());
        }
        deadlines.get_or_insert_default().clone()
    })
}

/// A deadline that was set.
pub struct Deadline {
    all: Arc<Deadlines>,
    at: (Instant, u64),
}

/// Has request `number` of the line fail at `moment`, if it still waits then. Without a thread for that it fails now.
pub fn set(moment: Instant, line: &Arc<Line>, number: u64) -> Deadline {
    let all = of_process();
    let mut state = all.state();
    state.last += 1;
    let at = (moment, state.last);
    state.set.insert(at, (Arc::downgrade(line), number));
    let is_first = state.set.first_key_value().is_some_and(|(first, _)| *first == at);
    let needs_thread = !mem::replace(&mut state.has_thread, true);
    drop(state);
    if needs_thread {
        let its = all.clone();
        if let Err(error) =
            begin_thread("turnlock time", "keeps the time limits of this process's waits", move || its.keep())
        {
            all.state().has_thread = false;
            line.fail(number, error);
        }
    } else if is_first {
        all.changed.notify_one();
    }
    Deadline { all, at }
}

impl Deadline {
    /// The request does not wait any more.
    pub fn forget(self) {
        let forgotten = self.all.state().set.remove(&self.at);
        drop(forgotten);
    }
}

impl Deadlines {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the requests fail whose time is over, until there has been none with a limit for as long as [`IDLE`].
    fn keep(&self) {
        let mut state = self.state();
        loop {
            let now = Instant::now();
            let first = state.set.first_key_value().map(|((moment, _), _)| *moment);
            if first.is_some_and(|first| first <= now) {
                let over = state.set.pop_first();
                drop(state);
                if let Some((_, (line, number))) = over
                    && let Some(line) = line.upgrade()
                {
                    line.fail(number, Error::TimedOut(LockedBy::UNKNOWN));
                }
                state = self.state();
                continue;
            }
            let sleeps = first.map_or(IDLE, |first| first - now);
            let waited = self.changed.wait_timeout(state, sleeps).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            if first.is_none() && waited.1.timed_out() && state.set.is_empty() {
                state.has_thread = false;
                return;
            }
        }
    }
}
