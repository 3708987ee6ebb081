//! A futex out of loom's mutex and condition variable, on which nothing but a wake-up ends a sleep.

use loom::sync::{Condvar, Mutex};
use std::sync::atomic::{AtomicU64 as PlainU64, Ordering::SeqCst};
use std::time::Duration;
use turnlock_core::sync::{AtomicU32, Ordering::Relaxed};
use turnlock_core::wait::Platform;

loom::lazy_static! {
    /// The words on which threads sleep, by their addresses.
    static ref ASLEEP: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    static ref WOKEN: Condvar = Condvar::new();
    /// No step of the model.
    static ref NOW: PlainU64 = PlainU64::new(1_000_000_000);
}

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
        asleep.push(address);
        while asleep.contains(&address) {
            asleep = WOKEN.wait(asleep).unwrap();
        }
        false
    }

    fn wake_all(word: &AtomicU32) -> bool {
        let address = std::ptr::from_ref(word).addr();
        let mut asleep = ASLEEP.lock().unwrap();
        let before = asleep.len();
        asleep.retain(|sleeper| *sleeper != address);
        WOKEN.notify_all();
        asleep.len() < before
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
