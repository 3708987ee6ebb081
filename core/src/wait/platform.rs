//! What waiting asks of the operating system.

use crate::sync::AtomicU32;
use std::time::Duration;

/// The operating system, as far as waiting needs it: a futex (futex(2)), clocks, and the identity of the process. Concurrency Kit's
/// `ck_ec_ops` is a relative. turnlock has one for Linux; the model checkers have one in which time passes when all sleep.
pub trait Platform {
    /// How many pauses of the processor ([`crate::sync::spin_hint`]) take as long as a wake-up, roughly.
    const SPINS: u32;

    /// Sleeps while `word` is `seen`, at most for `at_most`. May return early for no reason. Returns whether a signal handler ran.
    fn wait(word: &AtomicU32, seen: u32, at_most: Duration) -> bool;
    /// Wakes all that sleep on `word`, in any process. Returns whether there were any.
    fn wake_all(word: &AtomicU32) -> bool;

    /// Returns the time by a clock that never jumps, in nanoseconds.
    fn monotonic_ns() -> u64;
    /// The same, to within a few milliseconds, at a lower price.
    fn coarse_monotonic_ns() -> u64 {
        Self::monotonic_ns()
    }

    /// Lets another thread have the processor.
    fn yield_now();

    /// Returns a number that differs in a forked child.
    fn process_mark() -> u64;
}

#[cfg(all(test, not(any(loom, shuttle))))]
pub(super) mod tests {
    use super::*;
    use std::time::Instant;

    /// For tests in which no thread sleeps, or one does, though none waits.
    pub struct Asleep<const ANY: bool>;
    pub type NoneAsleep = Asleep<false>;

    impl<const ANY: bool> Platform for Asleep<ANY> {
        const SPINS: u32 = 250;

        fn wait(_: &AtomicU32, _: u32, _: Duration) -> bool {
            unreachable!()
        }
        fn wake_all(_: &AtomicU32) -> bool {
            ANY
        }
        fn monotonic_ns() -> u64 {
            use std::sync::LazyLock;
            static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
            BEGAN.elapsed().as_nanos() as u64
        }
        fn yield_now() {
            std::thread::yield_now();
        }
        fn process_mark() -> u64 {
            1
        }
    }
}
