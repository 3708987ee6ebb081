//! What nearly every test needs: a folder of its own, a limit, a look at the queue, a thread, a die.

use super::{limit, watchdog};
use std::{
    path::{Path, PathBuf},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread,
    time::{Duration, Instant},
};
use turnlock::inspect::{self, Waiter, WaiterState};

/// How long an event may take that usually takes microseconds, in seconds: only against hangs.
const PATIENCE: u64 = 100;

/// A folder of its own for a test, removed at the end, and the path of a lock file in it.
pub struct Place {
    folder: tempfile::TempDir,
}

#[allow(clippy::new_without_default, reason = "it makes a folder")]
impl Place {
    pub fn new() -> Self {
        watchdog::a_test_begins();
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// One in this folder rather than in the one for temporary files.
    pub fn inside(folder: &Path) -> Self {
        Self { folder: tempfile::tempdir_in(folder).unwrap() }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn lock_file(&self) -> PathBuf {
        self.at("test.lock")
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// No test is ended as one that hangs before this, in seconds: a slow machine, or one that does much else, takes its time.
const LEAST: u64 = 180;

/// Ends the whole test program, with a report, if it is not dropped in time: a wait that never ends can be neither
/// caught nor joined.
pub struct NoHang {
    _alive: Sender<()>,
}

impl NoHang {
    pub fn for_seconds(seconds: u64) -> Self {
        let (alive, dropped) = mpsc::channel();
        let test = thread::current().name().unwrap_or("a test").to_owned();
        watchdog::a_test_begins();
        let limit = limit::seconds(seconds.max(LEAST));
        thread::spawn(move || {
            if dropped.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                watchdog::give_up(&format!("{test} has not ended after {limit:?}"));
            }
        });
        Self { _alive: alive }
    }
}

/// Waits until `done` says so.
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    until_some(what, || done().then_some(()));
}

/// Waits until `look` sees something, and returns that. What a second look would see may be another thing: a waiter that looks
/// round by itself, say, is in no queue for a moment.
pub fn until_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let (began, limit) = (Instant::now(), limit::seconds(PATIENCE));
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(began.elapsed() < limit, "after {limit:?} still not so: {what}");
        thread::sleep(Duration::from_micros(200));
    }
}

/// The waiters for the lock called `name`, the next one first; none where there is no such file or lock.
pub fn queue_at(path: &Path, name: &str) -> Vec<Waiter> {
    let Ok(status) = inspect::snapshot(path) else { return Vec::new() };
    status.locks.into_iter().find(|lock| lock.name == name).map(|lock| lock.queue).unwrap_or_default()
}

/// Whether the waiter is past the doorway and its first look, and lets no participant pass.
pub fn is_queued_for_good(waiter: &Waiter) -> bool {
    waiter.state == WaiterState::Queued && waiter.for_seconds.is_some()
}

/// Waits until exactly `how_many` wait for the lock called `name`, all of them past the doorway and queued for good: asleep
/// soon, if not yet.
pub fn until_waiting(path: &Path, name: &str, how_many: usize) {
    until(&format!("{how_many} wait for {name}"), || {
        let queue = queue_at(path, name);
        queue.len() == how_many && queue.iter().all(is_queued_for_good)
    });
}

/// Runs `act` on a thread of its own and waits for the thread's very end, thread-local destructors included.
pub fn elsewhere<R: Send>(act: impl FnOnce() -> R + Send) -> R {
    thread::scope(|threads| join(threads.spawn(act)))
}

/// The result of a thread; its panic becomes ours.
pub fn join<R>(thread: thread::ScopedJoinHandle<R>) -> R {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A small generator of random numbers (SplitMix64, S. Vigna), seeded by the test, so that a failure can be repeated.
pub struct Dice(pub u64);

impl Dice {
    /// One of many that have the same seed.
    pub fn of_stream(seed: u64, stream: u64) -> Self {
        Self(seed ^ stream.wrapping_mul(0xbf58_476d_1ce4_e5b9))
    }

    pub fn in_hundred(&mut self, percent: u64) -> bool {
        self.roll(100) < percent
    }

    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }
}
