//! A kernel for waiters that sleep: futexes, and a clock. Time passes when all sleep, and a little whenever it is asked for.
//!
//! Nothing of it is a step of the model. All tasks of an execution are coroutines of one thread, so what is between two steps
//! happens at once.

use crate::oracle::Oracle;
use crate::scheduler::Lifetimes;
use shuttle::thread;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64 as PlainU64, Ordering::SeqCst};
use std::time::Duration;
use turnlock_core::sync::{AtomicU32, Ordering::Relaxed};
use turnlock_core::wait::Platform;

/// So long, in nanoseconds, it takes to ask what time it is, and to let another thread have the processor.
const ASKING: u64 = 1_000;
const YIELDING: u64 = 30_000;

pub struct Kernel {
    now: PlainU64,
    sleepers: Mutex<Vec<Sleeper>>,
    lifetimes: Lifetimes,
}

/// A task that sleeps on a futex word.
struct Sleeper {
    task: usize,
    /// The word's address.
    word: usize,
    /// When it wakes up by itself.
    until: u64,
}

impl Kernel {
    pub fn new(lifetimes: &Lifetimes) -> Self {
        Self { now: PlainU64::new(1), sleepers: Mutex::default(), lifetimes: lifetimes.clone() }
    }

    pub fn now(&self) -> u64 {
        self.now.load(SeqCst)
    }

    /// The task that runs falls asleep on `word`, until it is woken or for `at_most`.
    pub fn fall_asleep(&self, task: usize, word: &AtomicU32, at_most: Duration) {
        let until = self.now().saturating_add(at_most.as_nanos() as u64);
        self.sleepers.lock().unwrap().push(Sleeper { task, word: std::ptr::from_ref(word).addr(), until });
        self.lifetimes.set_asleep(task, true);
    }

    /// Wakes all that sleep on `word`. Returns whether there were any.
    pub fn wake_all(&self, word: &AtomicU32) -> bool {
        self.wake(|sleeper| sleeper.word == std::ptr::from_ref(word).addr())
    }

    /// Asks what time it is, which takes a little.
    pub fn ask(&self) -> u64 {
        self.now.fetch_add(ASKING, SeqCst) + ASKING
    }

    /// Lets a little time pass, while another task has the processor.
    pub fn yields(&self) {
        self.now.fetch_add(YIELDING, SeqCst);
    }

    fn wake(&self, is_meant: impl Fn(&Sleeper) -> bool) -> bool {
        let mut sleepers = self.sleepers.lock().unwrap();
        let before = sleepers.len();
        sleepers.retain(|sleeper| {
            let wakes = is_meant(sleeper);
            if wakes {
                self.lifetimes.set_asleep(sleeper.task, false);
            }
            !wakes
        });
        sleepers.len() < before
    }

    /// The task is dead: nothing can wake it.
    pub fn forget(&self, task: usize) {
        self.sleepers.lock().unwrap().retain(|sleeper| sleeper.task != task);
        self.lifetimes.set_asleep(task, false);
    }

    /// Returns when the first sleeper wakes up by itself, of those that are not stopped.
    pub fn first_alarm(&self) -> Option<u64> {
        let sleepers = self.sleepers.lock().unwrap();
        let awaited = sleepers.iter().filter(|sleeper| !self.lifetimes.is_stopped(sleeper.task));
        awaited.map(|sleeper| sleeper.until).min()
    }

    /// Lets time pass until `then`, and wakes those whose time is up.
    pub fn pass(&self, then: u64) {
        self.now.fetch_max(then, SeqCst);
        self.wake(|sleeper| sleeper.until <= then);
    }
}

/// See [`turnlock_core::wait::Platform`]: the kernel of the execution that runs.
#[derive(Clone, Copy)]
pub struct Simulated;

impl Platform for Simulated {
    // That spinning is enough is for other suites: here each look is a step.
    const SPINS: u32 = 1;

    fn wait(word: &AtomicU32, seen: u32, at_most: Duration) -> bool {
        let oracle = Oracle::present();
        // The look and falling asleep are one step.
        if oracle.watch(word.load(Relaxed)) != seen {
            return false;
        }
        oracle.kernel.fall_asleep(crate::oracle::task(), word, at_most);
        thread::yield_now();
        oracle.watch(false)
    }

    fn wake_all(word: &AtomicU32) -> bool {
        Oracle::present().kernel.wake_all(word)
    }

    fn monotonic_ns() -> u64 {
        Oracle::present().kernel.ask()
    }

    fn yield_now() {
        let oracle = Oracle::present();
        oracle.kernel.yields();
        thread::yield_now();
        oracle.end_if_over();
    }

    fn process_mark() -> u64 {
        1
    }
}
