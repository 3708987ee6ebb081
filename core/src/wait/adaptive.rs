//! How long it is worth to stay awake while waiting: first spinning, then yielding the processor to another runnable
//! thread.
//!
//! A hand-over between two running processes takes about 0.2 microseconds, a wake-up 5 to 10, and 40 where the core had
//! nothing to do. So a waiter whose turn comes soon had better not sleep. Each participant learns whether it does:
//! where staying awake was in vain it does so half as long the next time; where it was enough, or the turn came soon
//! after all, as long as ever.
//!
//! Yielding is for machines with more waiters than cores: the participant that has to act next gets the core, without a
//! wake-up. Beside programs that compute it would cost whole time slices. Then it is paid back: no more of it for a
//! hundred times as long, and for longer where that happens again.
//!
//! Two participants that come back at once could spin for one another for ever, each entry a hand-over, where the lock
//! would be ten times as fast if one entered time and again until the other's patience is over. So one that had to spin so
//! often in a row leaves the queue once.

use super::platform::Platform;
use crate::sync::{AtomicU32, AtomicU64, Ordering::Relaxed, spin_hint};

/// A waiter that is not the next one spins for this share of a wake-up.
const FURTHER_BACK_SHARE: u32 = 12;
/// Where a turn comes sooner than this, staying awake is cheaper than sleeping, for the waiter and for those
/// behind it.
const SOON: u64 = 100_000;
/// Shorter than this is not worth beginning.
const TOO_SHORT: u64 = 10_000;
/// A waiter that lost its core for longer yielded to a thread that computes.
const COSTLY: u64 = 100_000;
/// A waiter that lost it for longer was stopped; that is no cost of yielding.
const MOST_COSTLY: u64 = 100_000_000;
/// So often in a row a participant spins in vain for what is no lock; after that it spins each so many waits only.
const VAIN_AT_MOST: u32 = 3;
const SPINS_AGAIN: u32 = 64;
/// So often in a row a participant waits for a hand-over by spinning, where others may pass it; then it lets them pass once.
const ALTERNATIONS: u32 = 64;
/// Only where its sections are shorter than this, which is as long as a hand-over: longer ones lose little by one.
const HAND_OVER: u64 = 500;
/// For so many times as long there is no more yielding then: at first, and where that happens again and again. At first
/// more would be wrong, since the waiters for a lock with longer sections take their time as well.
const PAID_BACK_AT_LEAST: u64 = 100;
const PAID_BACK_AT_MOST: u64 = 6_400;

/// What one participant has learned. It waits for one lock at a time.
#[derive(Debug)]
pub struct AdaptiveSpin {
    /// How many pauses to spin for when next in the queue; 0: not known yet.
    spins: AtomicU32,
    next: Learned,
    further_back: Learned,
    /// Where what it waits for is no lock.
    others: Learned,
    no_yields_before: AtomicU64,
    paid_back: AtomicU64,
    /// How often in a row it was in vain to spin for what is no lock.
    vain: AtomicU32,
    /// How often in a row its turn came while it spun for a lock.
    alternations: AtomicU32,
}

/// How long to yield, in nanoseconds.
#[derive(Debug)]
struct Learned(AtomicU64);

impl Default for AdaptiveSpin {
    fn default() -> Self {
        Self {
            spins: AtomicU32::new(0),
            next: Learned(AtomicU64::new(SOON)),
            further_back: Learned(AtomicU64::new(SOON)),
            others: Learned(AtomicU64::new(SOON)),
            no_yields_before: AtomicU64::new(0),
            paid_back: AtomicU64::new(PAID_BACK_AT_LEAST),
            vain: AtomicU32::new(0),
            alternations: AtomicU32::new(0),
        }
    }
}

/// A part of a wait, with the same one to wait for.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// Whether no other waiter is between.
    pub next: bool,
    /// When it began, by the monotonic clock.
    pub began: u64,
}

impl AdaptiveSpin {
    /// Spins while `must_wait`. Returns whether that was enough.
    ///
    /// A waiter that is `next` in the queue spins for twice the time of a wake-up at least, and for up to twice as long where that
    /// was enough before: two participants that alternate would otherwise go on sleeping once they have begun to, each
    /// hand-over taking a wake-up, during which the other gives up spinning.
    pub fn spin<P: Platform>(&self, next: bool, must_wait: impl Fn() -> bool) -> bool {
        if !next {
            return spin_at_most(P::SPINS / FURTHER_BACK_SHARE, must_wait).is_some();
        }
        let (at_least, at_most) = (P::SPINS, 2 * P::SPINS);
        // Relaxed, here and below: a guess.
        let budget = self.spins.load(Relaxed).max(at_least);
        let enough = spin_at_most(budget, must_wait);
        let wanted = enough.map_or(at_least, |spins| 2 * spins);
        let spins = (budget * 7 + wanted) / 8;
        self.spins.store(spins.clamp(at_least, at_most), Relaxed);
        enough.is_some()
    }

    /// Notes how a wait began: whether it was over before the spinning was.
    pub fn note_wait(&self, was_short: bool) {
        let alternations = if was_short { self.alternations.load(Relaxed).saturating_add(1) } else { 0 };
        self.alternations.store(alternations, Relaxed);
    }

    /// Notes how long a section took that was waited for, in nanoseconds.
    pub fn note_section(&self, took: u64) {
        if took > HAND_OVER {
            self.alternations.store(0, Relaxed);
        }
    }

    /// Notes that the lock was there to be had.
    #[inline]
    pub fn note_no_wait(&self) {
        self.alternations.store(0, Relaxed);
    }

    /// Returns whether the participant should let others pass now, since they and it only hand the lock to and fro.
    pub fn has_alternated(&self) -> bool {
        let has = self.alternations.load(Relaxed) >= ALTERNATIONS;
        if has {
            self.alternations.store(0, Relaxed);
        }
        has
    }

    /// Spins while `must_wait`, for something that may take long: an event, or the last one at a barrier. Returns whether that was
    /// enough. Where it is in vain time and again, it spins seldom: with more parties than processors, it keeps the others from
    /// coming.
    pub fn spin_for_others<P: Platform>(&self, must_wait: impl Fn() -> bool) -> bool {
        let vain = self.vain.load(Relaxed);
        let is_worth_a_try = vain < VAIN_AT_MOST || vain.is_multiple_of(SPINS_AGAIN);
        let enough = is_worth_a_try && spin_at_most(P::SPINS, must_wait).is_some();
        self.vain.store(if enough { 0 } else { vain.wrapping_add(1) }, Relaxed);
        enough
    }

    /// Yields while `must_wait`, as long as it is worth in this stage. Returns whether that was enough; `None`: it was not
    /// worth beginning. `now` is the time.
    pub fn yield_on<P: Platform>(
        &self,
        stage: Stage,
        now: u64,
        must_wait: impl Fn() -> bool,
    ) -> Option<bool> {
        self.yield_by((self.learned(stage.next), stage.began), now, must_wait, yield_once::<P>)
    }

    /// Likewise for something else than a lock, since `began`: the last one at a barrier. Returns whether that was enough.
    pub fn yield_for_others<P: Platform>(&self, began: u64, must_wait: impl Fn() -> bool) -> bool {
        self.yield_by((&self.others, began), began, must_wait, yield_once::<P>) == Some(true)
    }

    /// Yields while `must_wait`, for as long as is learned, since `began`. `yields` yields once and returns the time after it.
    fn yield_by(
        &self,
        (learned, began): (&Learned, u64),
        mut now: u64,
        must_wait: impl Fn() -> bool,
        yields: impl Fn() -> u64,
    ) -> Option<bool> {
        let until = began + learned.length();
        if now >= until || now < self.no_yields_before.load(Relaxed) {
            return None;
        }
        let times = self.paid_back.load(Relaxed);
        loop {
            let then = now;
            now = yields();
            let changed = !must_wait();
            if now - then > COSTLY {
                self.no_yields_before.store(now + times * (now - then).min(MOST_COSTLY), Relaxed);
                self.paid_back.store((times * 4).min(PAID_BACK_AT_MOST), Relaxed);
                return Some(changed);
            }
            if changed {
                self.paid_back.store((times - times / 64).max(PAID_BACK_AT_LEAST), Relaxed);
                learned.was_enough();
                return Some(true);
            }
            if now >= until {
                learned.was_in_vain();
                return Some(false);
            }
        }
    }

    /// Learns from a stage that is over by now, after the waiter was parked: whether it should not have been.
    pub fn parked_until(&self, stage: Stage, now: u64) {
        if now - stage.began < SOON {
            self.learned(stage.next).was_enough();
        }
    }

    /// Likewise after a sleep until what is no lock has come.
    pub fn slept_for_others(&self, slept: u64) {
        if slept < SOON {
            self.others.was_enough();
        }
    }

    /// Returns whether it is of use to be awake as soon as one is next in the queue.
    pub fn is_eager(&self) -> bool {
        self.next.length() > 0
    }

    fn learned(&self, next: bool) -> &Learned {
        if next { &self.next } else { &self.further_back }
    }
}

impl Learned {
    fn length(&self) -> u64 {
        Some(self.0.load(Relaxed)).filter(|length| *length >= TOO_SHORT).unwrap_or(0)
    }

    fn was_enough(&self) {
        self.0.store(SOON, Relaxed);
    }

    fn was_in_vain(&self) {
        self.0.store(self.0.load(Relaxed) / 2, Relaxed);
    }
}

/// Yields once, and returns the time after it.
fn yield_once<P: Platform>() -> u64 {
    P::yield_now();
    P::monotonic_ns()
}

/// How many spins it took until `must_wait` was false; `None`: more than `budget`.
fn spin_at_most(budget: u32, must_wait: impl Fn() -> bool) -> Option<u32> {
    (0..budget).find(|_| {
        let changed = !must_wait();
        if !changed {
            spin_hint();
        }
        changed
    })
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A clock that each yield puts forward.
    struct Clock(Cell<u64>);

    impl Clock {
        /// Yields in a stage that begins now, each for `step`, while `must_wait`.
        fn yields(
            &self,
            adaptive: &AdaptiveSpin,
            next: bool,
            step: u64,
            must_wait: impl Fn() -> bool,
        ) -> Option<bool> {
            let began = self.0.get();
            let yields = || {
                self.0.set(self.0.get() + step);
                self.0.get()
            };
            adaptive.yield_by((adaptive.learned(next), began), began, must_wait, yields)
        }
    }

    #[test]
    fn in_vain_less_and_less_until_a_turn_comes_soon_again() {
        let (adaptive, clock) = (AdaptiveSpin::default(), Clock(Cell::new(1)));
        let yields_in_vain = |next| clock.yields(&adaptive, next, 1000, || true);
        let tries = (0..1000).take_while(|_| yields_in_vain(true) == Some(false)).count();
        assert!((4..20).contains(&tries), "{tries}");
        assert_eq!(yields_in_vain(true), None);
        assert!(!adaptive.is_eager());
        assert_eq!(yields_in_vain(false), Some(false), "further back is another matter");
        let soon = Stage { next: true, began: clock.0.get() };
        adaptive.parked_until(soon, soon.began + SOON);
        assert!(!adaptive.is_eager(), "that was not soon");
        adaptive.parked_until(soon, soon.began + SOON - 1);
        assert!(adaptive.is_eager());
        let looks = Cell::new(3);
        let comes_after_three_looks = || looks.replace(looks.get() - 1) > 0;
        assert_eq!(clock.yields(&adaptive, true, 1000, comes_after_three_looks), Some(true));
    }

    #[test]
    fn one_that_alternates_lets_others_pass_once() {
        let adaptive = AdaptiveSpin::default();
        let alternates = || {
            adaptive.note_wait(true);
            adaptive.note_section(HAND_OVER);
        };
        for _ in 0..2 {
            for _ in 0..ALTERNATIONS {
                assert!(!adaptive.has_alternated());
                alternates();
            }
            assert!(adaptive.has_alternated());
        }
        let ends: [fn(&AdaptiveSpin); 3] = [
            |adaptive| adaptive.note_wait(false),
            |adaptive| adaptive.note_section(HAND_OVER + 1),
            AdaptiveSpin::note_no_wait,
        ];
        for end in ends {
            (1..ALTERNATIONS).for_each(|_| alternates());
            end(&adaptive);
            (1..ALTERNATIONS).for_each(|_| alternates());
            assert!(!adaptive.has_alternated());
            end(&adaptive);
        }
    }

    #[test]
    fn a_lost_core_is_paid_back_and_more_so_each_time() {
        const LOST: u64 = 500 * COSTLY;
        let (adaptive, clock) = (AdaptiveSpin::default(), Clock(Cell::new(1)));
        for times in [100, 400, 1_600, 6_400, 6_400] {
            assert_eq!(adaptive.paid_back.load(Relaxed), times);
            adaptive.next.was_enough();
            assert_eq!(clock.yields(&adaptive, true, LOST, || true), Some(false));
            let again = clock.0.get() + times * LOST.min(MOST_COSTLY);
            assert_eq!(adaptive.no_yields_before.load(Relaxed), again);
            clock.0.set(again - 1);
            assert_eq!(clock.yields(&adaptive, true, 1, || false), None);
            clock.0.set(again);
        }
    }
}
