//! Where waiters sleep, and how they are woken.

use crate::os::futex;
use crate::sync::{
    AtomicU32,
    Ordering::{Relaxed, Release},
    full_fence,
};

/// The futex words of one slot in one lock: whoever waits for that slot sleeps here.
#[derive(Clone, Copy)]
pub struct Bed<'a> {
    /// Changes whenever the sleepers should look again.
    pub wake: &'a AtomicU32,
    /// Not 0 while somebody may sleep.
    pub sleepers: &'a AtomicU32,
    /// A number for the bed, never 0, by which [`Cancel`] names it.
    pub name: u64,
}

impl Bed<'_> {
    /// Has everyone who sleeps here look again, if anyone does. Comes after the store that they wait for.
    #[inline]
    pub fn wake_sleepers(&self) {
        // Partner: the fence in `Ladder::sleep`. If ours comes first, the sleeper's last look sees what we stored and
        // it does not sleep; if theirs comes first, we see `sleepers`.
        full_fence();
        if self.sleepers.load(Relaxed) != 0 {
            self.sleepers.store(0, Relaxed);
            self.shake();
        }
    }

    /// Has everyone who sleeps here, or is about to, look again.
    pub fn shake(&self) {
        self.wake.fetch_add(1, Release);
        futex::wake_all(self.wake);
    }
}

/// Where those sleep who stepped out of the line of a lock, to let others pass.
#[derive(Clone, Copy)]
pub struct Lobby<'a> {
    /// Changes when one of them should come back.
    pub event: &'a AtomicU32,
    /// Not 0 while somebody may sleep there.
    pub polite: &'a AtomicU32,
}

impl Lobby<'_> {
    /// Has the one who has slept longest come back, if anyone sleeps. After a full fence that comes after the store which
    /// let the next one in.
    #[inline]
    pub fn call_one(&self) {
        // Partner: the fence in `Ladder::step_aside`.
        if self.polite.load(Relaxed) != 0 {
            self.polite.store(0, Relaxed);
            self.event.fetch_add(1, Release);
            futex::wake_one(self.event);
        }
    }
}
