//! A futex out of loom's mutex and condition variable, on which nothing but a wake-up ends a sleep.

use loom::sync::{Condvar, Mutex};
use std::sync::atomic::{AtomicU64 as PlainU64, Ordering::SeqCst};
use std::time::Duration;
use turnlock_core::sync::{AtomicU32, Ordering::Relaxed};
use turnlock_core::wait::Platform;

loom::lazy_static! {
    /// Who sleeps, and how many ever did.
    static ref ASLEEP: Mutex<(Vec<Sleeper>, usize)> = Mutex::new((Vec::new(), 0));
    static ref WOKEN: Condvar = Condvar::new();
    /// No step of the model.
    static ref NOW: PlainU64 = PlainU64::new(1_000_000_000);
}

/// A thread that sleeps: on which word, by its address, and the how manyth of all sleeps it is.
type Sleeper = (usize, usize);

pub struct Loom;

impl Platform for Loom {
    const SPINS: u32 = 0;

    fn wait(word: &AtomicU32, seen: u32, _: Duration) -> bool {
        let address = std::ptr::from_ref(word).addr();
        let mut asleep = ASLEEP.lock().unwrap();
        // The look and falling asleep are one step, as in the kernel.
        if word.load(Relaxed) != seen {
            return false;
        }
        asleep.1 += 1;
        let sleeper = (address, asleep.1);
        asleep.0.push(sleeper);
        while asleep.0.contains(&sleeper) {
            asleep = WOKEN.wait(asleep).unwrap();
        }
        false
    }

    fn wake_all(word: &AtomicU32) -> bool {
        let address = std::ptr::from_ref(word).addr();
        let mut asleep = ASLEEP.lock().unwrap();
        let before = asleep.0.len();
        asleep.0.retain(|(other, _)| *other != address);
        WOKEN.notify_all();
        asleep.0.len() < before
    }

    /// A second later each time: no waiter stays awake for the sake of a turn that comes soon.
    fn monotonic_ns() -> u64 {
        NOW.fetch_add(1_000_000_000, SeqCst)
    }

    /// Nothing: loom would let the other thread run to its end.
    fn yield_now() {}

    fn process_mark() -> u64 {
        1
    }
}
