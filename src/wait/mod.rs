//! The ladder: spin, then sleep. Safety never depends on it; only who burns how much while it waits.
//!
//! A waiter sleeps on the wake word of the slot right before it in the line, so that a hand-over wakes one process.
//! Every sleep has an end, since the one waited for may die, or die between its unlock and its wake: then the waiter
//! asks whether it is alive. How often it asks:
//!
//! | waiting | the one next in line asks every | with k before it, it asks every |
//! |---|---|---|
//! | up to 6.4 ms | 1/8 of the time waited, at least 0.05 ms | k/8 of the time waited, at least k x 0.05 ms, at most 50 ms |
//! | up to 19 ms | 0.8 ms | the same |
//! | longer | 1/24 of the time waited, at most 50 ms | the same |
//!
//! Those further back ask too, since nobody else does: who unlocks finds no sleeper where the next in line has died.

mod awake;
mod bed;

pub use awake::Spins;
pub use bed::{Bed, Lobby};

use crate::algorithm::Blocker;
use crate::os::{clock, futex};
use crate::sync::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed},
    full_fence,
};
use awake::spin_at_most;
use std::time::Duration;

const SPINS_FURTHER_BACK: u32 = 20;
// No `sched_yield` between spinning and sleeping: beside busy neighbours it puts us behind one of them for a whole time
// slice, while a futex sleeper is woken ahead of them (3,625 turns of five programs, four hogs on two cores: 19 to 30 s
// with two yields, 4 s with none).

// The shares of the time waited keep both small: the wake-ups (some 130 in the first second, of 10 to 25 microseconds each) and
// the delay of the news, in proportion to a wait that has been long already.
const ASK_FIRST: u64 = 50_000;
const ASK_EARLY_SHARE: u64 = 8;
const ASK_NEXT: u64 = 800_000;
const ASK_NEXT_SHARE: u64 = 24;
const ASK_AT_MOST: u64 = 50_000_000;
// Somebody who retains the privilege calls nobody back, so one who stepped aside looks by itself.
// At half of the time it has waited, so that a long patience costs little too.
const ASIDE_AT_LEAST: u64 = 50_000;
const ASIDE_AT_MOST: u64 = 1_000_000;

/// How long a call may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Not at all.
    Never,
    /// This long, from when waiting begins.
    For(Duration),
    /// Until the turn comes.
    Forever,
}

/// Another thread's wish that a wait should end. Once requested it stays until a wait takes it, so that it is never
/// lost; it does not disturb a call that need not wait.
#[derive(Debug, Default)]
pub struct Cancel {
    requested: AtomicBool,
    bed: AtomicU64,
}

impl Cancel {
    /// Requests it; gives the name of the bed that must be shaken, if the waiter may be asleep.
    pub fn request(&self) -> Option<u64> {
        self.requested.store(true, Relaxed);
        // Partner: the fence in `Ladder::sleep`. If ours comes first, the waiter sees the request before it sleeps; if
        // theirs comes first, we see its bed.
        full_fence();
        match self.bed.load(Relaxed) {
            0 => None,
            bed => Some(bed),
        }
    }

    /// Takes a request back that no wait has taken. Was there one?
    pub fn clear(&self) -> bool {
        self.requested.swap(false, Relaxed)
    }
}

/// What a step on the ladder came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The register changed, or may have: ask who blocks now.
    LookAgain,
    /// Nothing changed for a while: ask whether the one waited for is alive.
    AskWhetherAlive,
    /// The time limit passed.
    TimedOut,
    /// Another thread cancelled the wait.
    Cancelled,
    /// Not to insist yet: step out of the line, [`Ladder::step_aside`], and come back.
    StepAside,
}

/// A number to spread things by, from a time in nanoseconds (Steele, Lea and Flood's SplitMix64).
fn at_random(time: u64) -> u64 {
    let mixed = time.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^ (mixed >> 27)
}

/// One wait, from the first look to the turn.
pub struct Ladder<'a> {
    limit: Limit,
    patience: u64,
    cancel: &'a Cancel,
    spins: &'a Spins,
    began: Option<u64>,
    /// Where those who look on find since when it waits, once it sleeps in the line.
    since: &'a AtomicU64,
}

impl<'a> Ladder<'a> {
    /// At the foot. For at most `patience` nanoseconds it lets others pass, and at least for half of that: with the same
    /// patience for everybody, processes that take turns would come back in the same order and distances for ever, and who
    /// once had the longest turn would have it always.
    pub fn new(
        limit: Limit,
        patience: u64,
        (cancel, spins): (&'a Cancel, &'a Spins),
        since: &'a AtomicU64,
    ) -> Self {
        Self { limit, patience, cancel, spins, began: None, since }
    }

    /// How long a call may wait in all.
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// Does it still let others pass?
    pub fn is_polite(&mut self) -> bool {
        if self.patience == 0 {
            return false;
        }
        let waited = self.waited();
        waited < self.patience && self.left(waited).is_some()
    }

    /// From now on it insists on its place.
    pub fn insist(&mut self) {
        self.patience = 0;
    }

    fn waited(&mut self) -> u64 {
        let now = clock::monotonic_ns();
        match self.began {
            Some(began) => now - began,
            None => {
                self.began = Some(now);
                self.patience -= at_random(now) % (self.patience / 2 + 1);
                0
            }
        }
    }

    /// How much of the limit is left after `waited`; `None`: nothing.
    fn left(&self, waited: u64) -> Option<u64> {
        match self.limit {
            Limit::Never => None,
            Limit::For(limit) => {
                let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
                Some(limit.saturating_sub(waited)).filter(|left| *left > 0)
            }
            Limit::Forever => Some(u64::MAX),
        }
    }

    /// Waits a little for `unchanged` to become false, which `blocker` brings about; `bed` is its bed.
    pub fn step(&mut self, unchanged: impl Fn() -> bool, bed: Bed, blocker: &Blocker) -> Outcome {
        let changed = match blocker.ahead {
            0..=1 => self.spins.spin(&unchanged),
            _ => spin_at_most(SPINS_FURTHER_BACK, &unchanged).is_some(),
        };
        if changed {
            return Outcome::LookAgain;
        }
        let waited = self.waited();
        let Some(left) = self.left(waited) else { return Outcome::TimedOut };
        if waited < self.patience {
            return Outcome::StepAside;
        }
        // Not 0: that would say that nothing is known.
        self.since.store(self.began.unwrap_or(0).max(1), Relaxed);
        let ahead = blocker.ahead.max(1) as u64;
        let early = (waited / ASK_EARLY_SHARE).max(ASK_FIRST) * ahead;
        let nap =
            if ahead > 1 { early } else { early.min(ASK_NEXT).max(waited / ASK_NEXT_SHARE) }.min(ASK_AT_MOST);
        self.sleep(unchanged, bed, Duration::from_nanos(nap.min(left)))
    }

    /// Out of the line: sleeps until somebody calls, `unchanged` is false, or a short time is over.
    pub fn step_aside(&mut self, lobby: Lobby, unchanged: impl Fn() -> bool) -> Outcome {
        let waited = self.waited();
        let nap = (waited / 2).clamp(ASIDE_AT_LEAST, ASIDE_AT_MOST);
        let left = self.left(waited).unwrap_or(0).min(self.patience.saturating_sub(waited)).min(nap);
        // Acquire. Partner: the release in `Lobby::call_one`; read before the last look, so that a call after it counts.
        let seen = lobby.event.load(Acquire);
        lobby.polite.store(1, Relaxed);
        // Partners: the fence before `Lobby::call_one`, and that in `Cancel::request`.
        full_fence();
        // A request that comes after this look is seen at the next one: naps are short.
        if self.cancel.clear() {
            return Outcome::Cancelled;
        }
        if left > 0 && unchanged() {
            futex::wait(lobby.event, seen, Duration::from_nanos(left));
            if lobby.event.load(Relaxed) == seen && unchanged() {
                return Outcome::AskWhetherAlive;
            }
        }
        Outcome::LookAgain
    }

    fn sleep(&self, unchanged: impl Fn() -> bool, bed: Bed, nap: Duration) -> Outcome {
        // Acquire. Partner: the release in `Bed::shake`; read before the last look, so that a wake after it counts.
        let seen = bed.wake.load(Acquire);
        bed.sleepers.store(1, Relaxed);
        self.cancel.bed.store(bed.name, Relaxed);
        // Partners: the fences in `Bed::wake_sleepers` and `Cancel::request`, as said there.
        full_fence();
        let cancelled = self.cancel.requested.load(Relaxed);
        if !cancelled && unchanged() {
            futex::wait(bed.wake, seen, nap);
        }
        self.cancel.bed.store(0, Relaxed);
        if self.cancel.clear() {
            Outcome::Cancelled
        } else if unchanged() {
            Outcome::AskWhetherAlive
        } else {
            Outcome::LookAgain
        }
    }
}
