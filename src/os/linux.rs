//! What waiting asks of Linux.

use super::{clock, fork, futex};
use std::time::Duration;
use turnlock_core::{sync::AtomicU32, wait::Platform};

/// Linux.
#[derive(Clone, Copy, Debug)]
pub struct Linux;

impl Platform for Linux {
    /// A pause takes about 0.04 microseconds, a wake-up 10.
    const SPINS: u32 = 250;

    #[inline]
    fn wait(word: &AtomicU32, seen: u32, at_most: Duration) -> bool {
        futex::wait(word, seen, at_most)
    }

    #[inline]
    fn wake_all(word: &AtomicU32) -> bool {
        futex::wake_all(word)
    }

    #[inline]
    fn monotonic_ns() -> u64 {
        clock::monotonic_ns()
    }

    #[inline]
    fn coarse_monotonic_ns() -> u64 {
        clock::coarse_monotonic_ns()
    }

    fn yield_now() {
        std::thread::yield_now();
    }

    #[inline]
    fn process_mark() -> u64 {
        fork::process_mark()
    }
}
