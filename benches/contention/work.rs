//! Busy work of a given length: what a program does inside a section, or between two.
//!
//! It is counted in steps of computing, not by the clock: a worker that loses its core still has the rest to do.

use crate::clock;
use std::hint::black_box;

/// So many steps.
#[derive(Clone, Copy)]
pub struct Work(u64);

impl Work {
    #[inline]
    pub fn run(self) {
        let mut value = 1u64;
        for _ in 0..self.0 {
            value = black_box(value.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
    }
}

/// How fast this machine works.
pub struct Speed {
    steps_per_ns: f64,
}

impl Speed {
    /// The best of several tries: the one that nobody disturbed.
    pub fn measure() -> Self {
        const STEPS: u64 = 200_000;
        let once = || {
            let began = clock::now();
            Work(STEPS).run();
            clock::now() - began
        };
        let best = (0..50).map(|_| once()).min().unwrap_or(STEPS).max(1);
        Self { steps_per_ns: STEPS as f64 / best as f64 }
    }

    pub fn work(&self, ns: u64) -> Work {
        Work((ns as f64 * self.steps_per_ns).round() as u64)
    }
}
