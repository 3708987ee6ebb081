//! How long it is worth to stay awake while waiting.

use crate::sync::{AtomicU32, Ordering::Relaxed, spin_hint};

// A hand-over between two running processes takes about 0.2 microseconds, a wake-up about 5, a pause about 0.04.
const SPINS_AT_LEAST: u32 = 250;
const SPINS_AT_MOST: u32 = 500;

/// How long it is worth to spin, as one participant has found: up to twice as long where it was enough before. Never less than
/// twice what a wake-up takes: two who alternate would otherwise go on sleeping once they have begun to, each hand-over taking
/// a wake-up, during which the other gives up spinning.
#[derive(Debug)]
pub struct Spins(AtomicU32);

impl Default for Spins {
    fn default() -> Self {
        Self(AtomicU32::new(SPINS_AT_LEAST))
    }
}

impl Spins {
    /// Spins while `unchanged`; was it enough?
    pub fn spin(&self, unchanged: impl Fn() -> bool) -> bool {
        // Relaxed: a guess, of one participant that waits for one lock at a time.
        let budget = self.0.load(Relaxed);
        let enough = spin_at_most(budget, unchanged);
        let wanted = enough.map_or(SPINS_AT_LEAST, |spins| 2 * spins);
        let next = (budget * 7 + wanted) / 8;
        self.0.store(next.clamp(SPINS_AT_LEAST, SPINS_AT_MOST), Relaxed);
        enough.is_some()
    }
}

/// How many spins it took until `unchanged` was false; `None`: more than `budget`.
pub fn spin_at_most(budget: u32, unchanged: impl Fn() -> bool) -> Option<u32> {
    (0..budget).find(|_| {
        let changed = !unchanged();
        if !changed {
            spin_hint();
        }
        changed
    })
}
