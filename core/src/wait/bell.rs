//! A bell: what wakes a thread that sleeps until one of several words, in whichever locks, says that there is something to do.

use super::Platform;
use crate::mutants::{self, Mutant};
use crate::sync::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
use std::time::Duration;

/// The words of one thread's bell.
#[derive(Clone, Copy)]
pub struct Bell<'a> {
    /// The futex word: changes with each ring.
    pub bell: &'a AtomicU32,
    /// Not 0: the thread may be asleep. Written by that thread alone: were it cleared by the one that rings, and that one died before the
    /// wake-up, the thread would sleep on.
    pub asleep: &'a AtomicU32,
}

impl Bell<'_> {
    /// Sleeps until it is rung, for at most `at_most`, unless `has_come` says by then that there is something to do. May return early for
    /// no reason. Returns what `has_come` said.
    pub fn sleep<P: Platform>(&self, at_most: Duration, has_come: impl FnOnce() -> bool) -> bool {
        // Acquire. Partner: the release in `ring`; read before the look, so that a ring after it counts.
        let seen = self.bell.load(Acquire);
        self.asleep.store(1, Relaxed);
        // Partner: the fence in `Link::want`. If ours comes first, the program sees whom to wake; if theirs does, our look sees what it
        // wants.
        mutants::full_fence_unless(Mutant::NoFenceBeforeBell);
        let has_come = has_come();
        if !has_come && !at_most.is_zero() {
            P::wait(self.bell, seen, at_most);
        }
        self.asleep.store(0, Relaxed);
        has_come
    }

    /// Wakes the thread, if it may be asleep. After a full fence.
    pub fn ring_if_asleep<P: Platform>(&self) {
        if self.asleep.load(Relaxed) != 0 {
            self.ring::<P>();
        }
    }

    /// Wakes the thread, asleep or not.
    pub fn ring<P: Platform>(&self) {
        self.bell.fetch_add(1, Release);
        P::wake_all(self.bell);
    }
}
