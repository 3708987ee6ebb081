//! The waiter: spin, yield, then sleep. Safety never depends on it; only who burns how much while it waits.
//!
//! A waiter sleeps on the wake word of the slot right before it in the line, so that a hand-over wakes one process: the
//! next in line, if it sleeps; else the one after it, ahead of time, to be awake when its own turn comes. Every sleep
//! has an end, since the one waited for may die, or die between its unlock and its wake: then the waiter asks whether
//! it is alive. How often it asks:
//!
//! | waiting | the one next in line asks every | with k before it, it asks every |
//! |---|---|---|
//! | up to 6.4 ms | 1/8 of the time waited, at least 0.05 ms | k/8 of the time waited, at least k x 0.05 ms, at most 50 ms |
//! | up to 19 ms | 0.8 ms | the same |
//! | longer | 1/24 of the time waited, at most 50 ms | the same |
//!
//! Those further back ask too, since nobody else does: who unlocks finds no sleeper where the next in line has died.

mod adaptive;
mod cancel;
mod parking;
mod stop;

pub use adaptive::AdaptiveSpin;
pub use cancel::Cancel;
use parking::{AHEAD_OF_TIME, IN_TIME};
pub use parking::{Next, ParkingSpot, Standby};
pub use stop::{Interrupt, Stop};

use crate::algorithm::Blocker;
use crate::os::{clock, fork, futex};
use crate::sync::{
    AtomicU64,
    Ordering::{Acquire, Relaxed},
    full_fence,
};
use adaptive::Stage;
use std::time::Duration;

// The shares of the time waited keep both small: the wake-ups (some 130 in the first second, of 10 to 25 microseconds
// each) and the delay of the news, in proportion to a wait that has been long already.
const ASK_FIRST: u64 = 50_000;
const ASK_EARLY_SHARE: u64 = 8;
const ASK_NEXT: u64 = 800_000;
const ASK_NEXT_SHARE: u64 = 24;
const ASK_AT_MOST: u64 = 50_000_000;
// Whoever leaves the line calls one of those back who stepped aside, unless somebody else is next; their naps are for
// deaths then. Each takes somebody's core for a moment: with sixteen processes and sections of 20 microseconds, naps of
// 50 microseconds and more cost a fifth of all entries. So the more there may be, the longer they sleep: all together
// look as often.
const ASIDE_FOR_EACH: u64 = 50_000;
const ASIDE_FOR_ALL: u64 = 250_000;
// Somebody who retains the privilege calls nobody, so one who stepped aside for it looks by itself, at a third of the
// time it has waited: a long patience should cost little too.
const ASIDE_AT_LEAST: u64 = 100_000;
const ASIDE_AT_MOST: u64 = 1_000_000;

/// Between two questions whether a wait is to end, if no signal comes.
const ASK_INTERRUPT: u64 = 20_000_000;

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

/// What a step on the waiter came to.
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
    /// What was to be asked between sleeps ended the wait.
    Interrupted,
    /// We are a forked child: the wait is our parent's.
    Forked,
    /// Not to insist yet: step out of the line, [`Waiter::step_aside`], and come back.
    StepAside,
}

/// A number to spread things by, from a time in nanoseconds (Steele, Lea and Flood's SplitMix64).
fn at_random(time: u64) -> u64 {
    let mixed = time.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^ (mixed >> 27)
}

/// One wait, from the first look to the turn.
pub struct Waiter<'a> {
    limit: Limit,
    patience: u64,
    stop: Stop<'a>,
    /// When the interrupt was asked last, or waiting began.
    asked: u64,
    awake: &'a AdaptiveSpin,
    /// The process (by its mark) that waits.
    process: u64,
    /// Our slot, plus 1.
    me: u32,
    stage: Option<(Blocker, Stage)>,
    /// Was it asleep when what it waited for last came about?
    woken: bool,
    began: Option<u64>,
    /// Where others find since when it waits, once it insists on its place in the line.
    since: &'a AtomicU64,
}

impl<'a> Waiter<'a> {
    /// At the foot. For at most `patience` nanoseconds it lets others pass, and at least for half of that.
    pub fn new(
        limit: Limit,
        patience: u64,
        me: usize,
        (stop, awake): (Stop<'a>, &'a AdaptiveSpin),
        since: &'a AtomicU64,
    ) -> Self {
        Self {
            limit,
            patience,
            stop,
            asked: 0,
            awake,
            process: fork::process_mark(),
            me: me as u32 + 1,
            stage: None,
            woken: false,
            began: None,
            since,
        }
    }

    /// How long a call may wait in all.
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// Was it asleep when its turn came?
    pub fn was_asleep(&self) -> bool {
        self.woken
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

    /// For how long, by now; the first time waiting begins, and the patience is drawn.
    fn waited(&mut self) -> u64 {
        let now = clock::monotonic_ns();
        match self.began {
            Some(began) => now - began,
            None => {
                self.began = Some(now);
                self.asked = now;
                // With the same patience for everybody, processes that take turns would come back in the same order and
                // distances for ever, and who once had the longest turn would have it always.
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

    /// Waits a little for `unchanged` to become false, which `blocker` brings about; `spot` is its spot.
    pub fn step(&mut self, unchanged: impl Fn() -> bool, spot: ParkingSpot, blocker: &Blocker) -> Outcome {
        let next = blocker.ahead <= 1;
        // Not at once: two who alternate have no use for it, and would pay for the cache line.
        if self.began.is_some() {
            if next {
                spot.successor.store(self.me, Relaxed);
            }
            if self.waited() >= self.patience {
                self.say_since_when();
            }
        }
        self.woken = false;
        if self.awake.spin(next, &unchanged) {
            return Outcome::LookAgain;
        }
        let waited = self.waited();
        let Some(left) = self.left(waited) else { return Outcome::TimedOut };
        if waited < self.patience {
            return Outcome::StepAside;
        }
        if next {
            spot.successor.store(self.me, Relaxed);
        }
        self.say_since_when();
        let now = self.began.unwrap_or(0) + waited;
        let stage = self.stage_of(blocker, now);
        match self.awake.yield_on(stage, now, &unchanged) {
            Some(true) => return Outcome::LookAgain,
            // That was as long as a nap.
            Some(false) if next => return Outcome::AskWhetherAlive,
            _ => {}
        }
        let ahead = blocker.ahead.max(1) as u64;
        let early = (waited / ASK_EARLY_SHARE).max(ASK_FIRST) * ahead;
        let nap =
            if ahead > 1 { early } else { early.min(ASK_NEXT).max(waited / ASK_NEXT_SHARE) }.min(ASK_AT_MOST);
        let outcome = self.sleep(&unchanged, spot, !next, Duration::from_nanos(nap.min(left)));
        // Not if it was only woken ahead of time, or by somebody who wants it to look again.
        if outcome == Outcome::LookAgain && !unchanged() {
            self.woken = true;
            self.awake.slept_until(stage, clock::monotonic_ns());
        }
        outcome
    }

    /// To those who look on, and to those before it in the line: it insists on its place.
    fn say_since_when(&self) {
        // Not 0: that would say that nothing is known.
        self.since.store(self.began.unwrap_or(0).max(1), Relaxed);
    }

    /// The stage that this wait is in.
    fn stage_of(&mut self, blocker: &Blocker, now: u64) -> Stage {
        let next = blocker.ahead <= 1;
        let same = |(then, stage): &(Blocker, Stage)| {
            (then.slot, then.seen, stage.next) == (blocker.slot, blocker.seen, next)
        };
        match self.stage.filter(same) {
            Some((_, stage)) => stage,
            None => self.stage.insert((*blocker, Stage { next, began: now })).1,
        }
    }

    /// Out of the line: sleeps until somebody calls, `unchanged` is false, or a short time is over. The one we let pass
    /// is one of `participants`, and calls when it leaves unless it `retains` the privilege.
    pub fn step_aside(
        &mut self,
        retains: bool,
        participants: u32,
        standby: Standby,
        unchanged: impl Fn() -> bool,
    ) -> Outcome {
        let waited = self.waited();
        let nap = if retains {
            (waited / 3).clamp(ASIDE_AT_LEAST, ASIDE_AT_MOST)
        } else {
            (u64::from(participants) * ASIDE_FOR_EACH).min(ASIDE_FOR_ALL)
        };
        let left = self.left(waited).unwrap_or(0).min(self.patience.saturating_sub(waited)).min(nap);
        // Acquire. Partner: the release in `Standby::unpark_one`; read before the last look, so that a call after it
        // counts.
        let seen = standby.event.load(Acquire);
        standby.polite.store(1, Relaxed);
        // Partners: the fence before `Standby::unpark_one`, and that in `Cancel::request`.
        full_fence();
        // A request that comes after this look is seen at the next one: naps are short.
        if self.stop.cancel.clear() {
            return Outcome::Cancelled;
        }
        if left == 0 || !unchanged() {
            return Outcome::LookAgain;
        }
        let by_signal = futex::wait(standby.event, seen, Duration::from_nanos(left));
        if let Some(ended) = self.is_interrupted(by_signal) {
            return ended;
        }
        if standby.event.load(Relaxed) != seen {
            // Others may be asleep there still: whoever leaves next calls one of them.
            standby.polite.store(1, Relaxed);
            return Outcome::LookAgain;
        }
        if unchanged() { Outcome::AskWhetherAlive } else { Outcome::LookAgain }
    }

    /// What the wait is ended by, if the interrupt says so, or if a handler or the interrupt has forked and we are the
    /// child. `by_signal`: a signal handler has just run.
    fn is_interrupted(&mut self, by_signal: bool) -> Option<Outcome> {
        let mut is_to_end = false;
        if let Some(interrupt) = self.stop.interrupt {
            let now = clock::coarse_monotonic_ns();
            if by_signal || now.saturating_sub(self.asked) >= ASK_INTERRUPT {
                self.asked = now;
                is_to_end = interrupt.is_to_end();
            }
        }
        if fork::process_mark() != self.process {
            return Some(Outcome::Forked);
        }
        is_to_end.then_some(Outcome::Interrupted)
    }

    fn sleep(
        &mut self,
        unchanged: impl Fn() -> bool,
        spot: ParkingSpot,
        further_back: bool,
        nap: Duration,
    ) -> Outcome {
        // Acquire. Partner: the release in `ParkingSpot::unpark_all`; read before the last look, so that a wake after it counts.
        let seen = spot.wake.load(Acquire);
        let ahead_of_time = further_back && self.awake.is_eager();
        spot.parked.store(if ahead_of_time { AHEAD_OF_TIME } else { IN_TIME }, Relaxed);
        let cancel = self.stop.cancel;
        cancel.about_to_sleep(spot.name);
        // Partners: the fences in `ParkingSpot::unpark` and `Cancel::request`, as said there.
        full_fence();
        let by_signal = !cancel.is_requested() && unchanged() && futex::wait(spot.wake, seen, nap);
        cancel.awake();
        if let Some(ended) = self.is_interrupted(by_signal) {
            ended
        } else if cancel.clear() {
            Outcome::Cancelled
        } else if unchanged() && spot.wake.load(Relaxed) == seen {
            Outcome::AskWhetherAlive
        } else {
            Outcome::LookAgain
        }
    }
}
