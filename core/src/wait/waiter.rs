//! The waiter: spin; while it has patience, back off into the standby queue; then yield, then park. Safety never depends on it, only
//! how much processor time a wait takes.
//!
//! A waiter parks at the slot right before it in the queue, so that a hand-over wakes one process: the next one, if it is
//! parked; else the one after it, early, to be awake when its own turn comes. Every nap has an end, since the blocker may
//! die, or die between its unlock and its unpark: then the waiter checks whether it is alive. How often it checks:
//!
//! | waiting | the next in the queue checks every | with k before it, it checks every |
//! |---|---|---|
//! | up to 6.4 ms | 1/8 of the time waited, at least 0.05 ms | k/8 of the time waited, at least k x 0.05 ms, at most 50 ms |
//! | up to 19 ms | 0.8 ms | the same |
//! | longer | 1/24 of the time waited, at most 50 ms | the same |
//!
//! Those further back check too, since no other does: the holder that unlocks finds no waiter parked where the next one has died.

mod standby;

use super::{
    adaptive::{AdaptiveSpin, Stage},
    parking::{EARLY, ParkingSpot, WHEN_LEFT},
    platform::Platform,
    standby::{CalledWord, Standby},
    stop::Stop,
};
use crate::acquire::site::{Limit, Outcome, Overdue};
use crate::algorithm::Blocker;
use crate::mutants::{self, Mutant};
use crate::sync::{
    AtomicU64,
    Ordering::{Acquire, Relaxed},
};
use std::{marker::PhantomData, time::Duration};

// The shares of the time waited keep both small: the wake-ups (some 130 in the first second, of 10 to 25 microseconds
// each) and the delay of an owner-dead notice, in proportion to a wait that has been long already.
const CHECK_FIRST: u64 = 50_000;
const CHECK_EARLY_SHARE: u64 = 8;
const CHECK_NEXT: u64 = 800_000;
const CHECK_NEXT_SHARE: u64 = 24;
const CHECK_AT_MOST: u64 = 50_000_000;

/// If the participant ahead could enter and has not for this long, it is probably stopped: a wake-up takes 50 microseconds. The limit
/// grows with the number ahead, so that the nearest waiter acts first, and many waiters do not take every core from the one that is
/// awaited.
const OVERDUE: u64 = 2_000_000;
const OVERDUE_FOR_AT_MOST: u64 = 32;
/// In strict order a head that is not stopped is skipped only after so many times as long.
const NEVER_COMES_IN_ORDER: u64 = 25;
/// Where the lock has patience, a head is skipped after this long, stopped or not: the lock goes to a waiter that runs.
const OVERDUE_OUT_OF_ORDER: u64 = 1_000_000;

/// Between two questions whether a wait is to end, if no signal comes.
const ASK_INTERRUPT: u64 = 20_000_000;

/// A number to spread things by, from a time in nanoseconds (Steele, Lea and Flood's SplitMix64).
fn at_random(time: u64) -> u64 {
    let mixed = time.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^ (mixed >> 27)
}

/// One wait, from the first look to the turn.
pub struct Waiter<'a, P, C> {
    limit: Limit,
    patience: u64,
    /// Whether it never lets another participant pass.
    is_strict: bool,
    /// Whether it lets another pass where the two only hand the lock to and fro.
    minds_alternation: bool,
    stop: Stop<'a>,
    /// When the interrupt was asked last, or waiting began.
    asked: u64,
    adaptive: &'a AdaptiveSpin,
    /// The process (by its mark) that waits.
    process: u64,
    /// Our slot, plus 1.
    me: u32,
    stage: Option<(Blocker, Stage)>,
    /// Whether it was parked when what it waited for last came about.
    woken: bool,
    began: Option<u64>,
    /// Where others find since when it waits, once it is queued for good.
    since: &'a AtomicU64,
    /// Where observers find since when it waits.
    waiting_since: &'a AtomicU64,
    standby: Standby<'a, C>,
    /// Whether it is this wait that `waiting_since` speaks of, and not one around it.
    is_told: bool,
    /// The slot and word of a waiter that could enter and has not, since when, and for how long that is all right.
    overdue: Option<((usize, u64), u64, u64)>,
    /// The designated waker that does not come, and since when, seen from the passive set.
    missed: Option<(u32, u64)>,
    platform: PhantomData<P>,
}

impl<'a, P: Platform, C: CalledWord> Waiter<'a, P, C> {
    /// A wait that has not begun. It lets others pass for `patience` nanoseconds, and at least for half
    /// of that; then on while another waiter is the designated waker.
    pub fn new(
        limit: Limit,
        patience: u64,
        me: usize,
        (stop, adaptive): (Stop<'a>, &'a AdaptiveSpin),
        (since, waiting_since): (&'a AtomicU64, &'a AtomicU64),
        standby: Standby<'a, C>,
    ) -> Self {
        Self {
            limit,
            patience,
            is_strict: patience == 0,
            minds_alternation: false,
            stop,
            asked: 0,
            adaptive,
            process: P::process_mark(),
            me: me as u32 + 1,
            stage: None,
            woken: false,
            began: None,
            since,
            waiting_since,
            standby,
            is_told: false,
            overdue: None,
            missed: None,
            platform: PhantomData,
        }
    }

    /// Says whether the lock has one holder at a time, so that of two participants that come back at once each waits for the other:
    /// then it lets that one pass now and then.
    #[must_use]
    pub fn with_one_holder(self, has_one_holder: bool) -> Self {
        Self { minds_alternation: has_one_holder && !self.is_strict, ..self }
    }

    /// How long a call may wait in all.
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// Returns whether it was parked when its turn came.
    pub fn was_parked(&self) -> bool {
        self.woken
    }

    /// Returns whether it still lets others pass: for its patience, and as long as another waiter is the designated
    /// waker.
    pub fn lets_pass(&mut self) -> bool {
        if self.patience == 0 {
            return false;
        }
        let waited = self.waited();
        self.left(waited).is_some() && self.lets_pass_after(waited)
    }

    fn lets_pass_after(&self, waited: u64) -> bool {
        self.patience > 0 && (waited < self.patience || !self.claim_designation())
    }

    /// Has it queued for good from now on.
    pub fn queue_for_good(&mut self) {
        self.patience = 0;
    }

    /// Returns for how long it has waited; at the first call the wait begins, and the patience is drawn.
    fn waited(&mut self) -> u64 {
        let now = P::monotonic_ns();
        match self.began {
            Some(began) => now - began,
            None => {
                self.began = Some(now);
                self.asked = now;
                // A wait inside another wait, for a ring's reconfiguration lock, is a part of that.
                if self.waiting_since.load(Relaxed) == 0 && P::process_mark() == self.process {
                    self.waiting_since.store(now.max(1), Relaxed);
                    self.is_told = true;
                }
                // With the same patience for all waiters, processes that take turns would come back in the same order
                // and distances for ever, and the process that once had the longest turn would have it always.
                self.patience -= at_random(now) % (self.patience / 2 + 1);
                0
            }
        }
    }

    /// Returns for how long it has waited, in nanoseconds; 0 if the wait has not begun.
    pub fn waited_so_far(&self) -> u64 {
        self.began.map_or(0, |began| P::monotonic_ns().saturating_sub(began))
    }

    /// Returns whether those before this waiter should have come by now; see [`crate::acquire::site::Waiter::is_overdue`].
    pub fn is_overdue(&mut self, first: Option<(usize, u64)>, ahead: usize) -> Overdue {
        let Some(first) = first else {
            self.overdue = None;
            return Overdue::No;
        };
        let now = P::monotonic_ns();
        let (overdue, never) =
            if self.is_strict { (OVERDUE, NEVER_COMES_IN_ORDER) } else { (OVERDUE_OUT_OF_ORDER, 1) };
        let limit = overdue * (ahead as u64).clamp(1, OVERDUE_FOR_AT_MOST);
        let known = self.overdue.filter(|(known, ..)| *known == first);
        let since = known.map_or(now, |(_, since, _)| since);
        self.overdue = Some((first, since, limit));
        let never = limit * never;
        match now - since {
            overdue if overdue >= never => Overdue::Yes,
            overdue if overdue >= limit => Overdue::IfStopped,
            overdue if overdue >= limit / 2 => Overdue::Call,
            _ => Overdue::No,
        }
    }

    /// Says to observers that the wait is over, however it ended; not in a child that was forked in it, since it is its
    /// parent's. Returns whether they were told of it.
    pub fn end(&mut self) -> bool {
        let was_told = std::mem::take(&mut self.is_told) && P::process_mark() == self.process;
        if was_told {
            self.waiting_since.store(0, Relaxed);
        }
        was_told
    }

    /// Returns how much of the limit is left after `waited`; `None`: nothing.
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

    /// Waits a little for `must_wait` to become false, which `blocker` brings about; `spot` is the blocker's.
    pub fn wait(&mut self, must_wait: impl Fn() -> bool, spot: ParkingSpot, blocker: &Blocker) -> Outcome {
        let next = blocker.ahead <= 1;
        // Not at once: two participants that alternate have no use for it, and would pay for the cache line.
        if self.began.is_some() {
            if next {
                spot.successor.store(self.me, Relaxed);
            }
            let waited = self.waited();
            if !self.lets_pass_after(waited) {
                self.record_since();
            }
        }
        self.woken = false;
        let at_first = self.minds_alternation && self.began.is_none() && next && self.patience > 0;
        if at_first && self.adaptive.has_alternated() {
            self.waited();
            return Outcome::BackOff;
        }
        let enough = self.adaptive.spin::<P>(next, &must_wait);
        if at_first {
            self.adaptive.note_wait(enough);
        }
        if enough {
            return Outcome::LookAgain;
        }
        let waited = self.waited();
        let Some(left) = self.left(waited) else { return Outcome::TimedOut };
        if self.lets_pass_after(waited) {
            return Outcome::BackOff;
        }
        if next {
            spot.successor.store(self.me, Relaxed);
        }
        self.record_since();
        let now = self.began.unwrap_or(0) + waited;
        let stage = self.stage_of(blocker, now);
        match self.adaptive.yield_on::<P>(stage, now, &must_wait) {
            Some(true) => return Outcome::LookAgain,
            // That was as long as a nap.
            Some(false) if next => return Outcome::CheckAlive,
            _ => {}
        }
        let ahead = blocker.ahead.max(1) as u64;
        let early = (waited / CHECK_EARLY_SHARE).max(CHECK_FIRST) * ahead;
        let nap = if ahead > 1 { early } else { early.min(CHECK_NEXT).max(waited / CHECK_NEXT_SHARE) };
        let at_most = self.overdue.map_or(CHECK_AT_MOST, |(.., limit)| limit.max(OVERDUE) / 2);
        let nap = nap.min(at_most);
        // A waiter that the next one's unlock is to wake, should the next one not come, must not sleep through it.
        let early_too = !next && (self.adaptive.is_eager() || nap > OVERDUE);
        let outcome = self.park(&must_wait, spot, early_too, Duration::from_nanos(nap.min(left)));
        // Not if it was only unparked early, or by a participant that wants it to look again.
        if outcome == Outcome::LookAgain && !must_wait() {
            self.woken = true;
            self.adaptive.parked_until(stage, P::monotonic_ns());
        }
        outcome
    }

    /// Says to observers, and to those before it in the queue, that it is queued for good.
    fn record_since(&self) {
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

    /// Returns what ends the wait, if the interrupt says so, or if a handler or the interrupt has forked and we are the
    /// child. `by_signal`: a signal handler has just run.
    fn is_interrupted(&mut self, by_signal: bool) -> Option<Outcome> {
        let mut should_stop = false;
        if let Some(interrupt) = self.stop.interrupt {
            let now = P::coarse_monotonic_ns();
            if by_signal || now.saturating_sub(self.asked) >= ASK_INTERRUPT {
                self.asked = now;
                should_stop = interrupt.should_stop();
            }
        }
        if P::process_mark() != self.process {
            return Some(Outcome::Forked);
        }
        should_stop.then_some(Outcome::Interrupted)
    }

    fn park(
        &mut self,
        must_wait: impl Fn() -> bool,
        spot: ParkingSpot,
        early_too: bool,
        nap: Duration,
    ) -> Outcome {
        // Acquire. Partner: the release in `ParkingSpot::unpark_all`; read before the last look, so that a wake after it counts.
        let seen = spot.wake.load(Acquire);
        spot.parked.store(if early_too { EARLY } else { WHEN_LEFT }, Relaxed);
        self.stop.about_to_park(spot.name);
        // Partners: the fences in `ParkingSpot::unpark` and `Cancel::request`, as said there.
        mutants::full_fence_unless(Mutant::NoFenceBeforePark);
        let by_signal = !self.stop.is_requested() && must_wait() && P::wait(spot.wake, seen, nap);
        self.stop.unparked();
        if let Some(ended) = self.is_interrupted(by_signal) {
            ended
        } else if self.stop.take_request() {
            Outcome::Cancelled
        } else if must_wait() && spot.wake.load(Relaxed) == seen {
            Outcome::CheckAlive
        } else {
            Outcome::LookAgain
        }
    }
}
