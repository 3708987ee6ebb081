//! Busy work of a given length: what a program does inside a section, or between two.
//!
//! It is counted in processor time: a worker that loses its core still has the rest to do, but one whose core is slower
//! for a while (a busy neighbour on the same physical core halves its speed) has no more to do than others. Otherwise
//! long sections would measure the neighbours.

use crate::clock;

/// A longer step of the clock than this is time in which the worker had no core.
pub const NO_CORE_NS: u64 = 2_000;

/// So many nanoseconds.
#[derive(Clone, Copy)]
pub struct Work(pub u64);

impl Work {
    #[inline]
    pub fn run(self) {
        let mut left = self.0;
        let mut then = if left > 0 { clock::now() } else { 0 };
        while left > 0 {
            let now = clock::now();
            let passed = now - then;
            then = now;
            if passed < NO_CORE_NS {
                left = left.saturating_sub(passed);
            }
        }
    }
}
