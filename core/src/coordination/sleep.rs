//! Sleeping until another participant has done something: with a limit, by naps, and so that other threads and signals end it.

use crate::acquire::site::Limit;
use crate::error::Result;
use crate::sync::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed},
    full_fence,
};
use crate::wait::{AdaptiveSpin, Platform, Stop};
use std::time::Duration;

/// The first nap, in nanoseconds. Each further one is twice as long. Not shorter: where the alarm would be the next one of its processor,
/// the kernel sets the processor's timer for it, and once more when the sleep ends before; that costs as much as a context switch.
const FIRST_NAP: u64 = 20_000_000;
/// The longest: a death or a lost wake-up is noticed at its end.
const LONGEST_NAP: u64 = 50_000_000;
/// Between two questions whether a wait is to end, if no signal comes.
const ASK_INTERRUPT: u64 = 20_000_000;

/// Where a participant waits, for how long, and what ends the wait. ([`crate::wait::ParkingSpot`] is that of a lock.)
pub struct WaitContext<'a> {
    /// Futex word: changes when the participant should look again.
    pub wake: &'a AtomicU32,
    /// Says that it may sleep; `None`: it sleeps where others do too.
    pub asleep: Option<&'a AtomicU32>,
    /// Where observers find since when it waits.
    pub waiting_since: &'a AtomicU64,
    /// By which [`crate::wait::Cancel`] names it.
    pub name: u64,
    /// How long it may wait.
    pub limit: Limit,
    /// What ends the wait before.
    pub stop: Stop<'a>,
    /// How it stays awake first, and for how long; `None`: not at all.
    pub adaptive: Option<(Awake, &'a AdaptiveSpin)>,
}

/// How a participant stays awake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awake {
    /// It spins: those that it waits for have processors of their own.
    Spinning,
    /// It yields its processor to those that it waits for.
    Yielding,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept {
    /// What it waited for has come.
    Over,
    /// The time limit passed.
    TimedOut,
    /// Another thread cancelled the wait.
    Cancelled,
    /// The interrupt ended the wait.
    Interrupted,
    /// The caller is a forked child: the wait is its parent's.
    Forked,
}

/// Sleeps until `is_over`, or something else ends the wait. `nap` is called after each nap in which nothing came.
///
/// # Errors
/// Those of `nap`.
pub fn sleep_until<P: Platform>(
    context: &WaitContext,
    is_over: impl Fn() -> bool,
    mut nap: impl FnMut() -> Result<()>,
) -> Result<Slept> {
    if is_over() {
        return Ok(Slept::Over);
    }
    if context.limit == Limit::Never {
        return Ok(Slept::TimedOut);
    }
    if let Some((Awake::Spinning, adaptive)) = context.adaptive
        && adaptive.spin_for_others::<P>(|| !is_over())
    {
        return Ok(Slept::Over);
    }
    let (process, began) = (P::process_mark(), P::monotonic_ns());
    if let Some((Awake::Yielding, adaptive)) = context.adaptive
        && adaptive.yield_for_others::<P>(began, || !is_over())
    {
        return Ok(Slept::Over);
    }
    context.waiting_since.store(began.max(1), Relaxed);
    let slept = sleep::<P>(context, (process, began), is_over, &mut nap);
    if P::process_mark() == process {
        if let (Some((Awake::Yielding, adaptive)), Ok(Slept::Over)) = (context.adaptive, &slept) {
            adaptive.slept_for_others(P::monotonic_ns().saturating_sub(began));
        }
        context.waiting_since.store(0, Relaxed);
        if let Some(asleep) = context.asleep {
            asleep.store(0, Relaxed);
        }
    }
    slept
}

fn sleep<P: Platform>(
    context: &WaitContext,
    (process, began): (u64, u64),
    is_over: impl Fn() -> bool,
    nap: &mut impl FnMut() -> Result<()>,
) -> Result<Slept> {
    let (mut length, mut asked) = (FIRST_NAP, began);
    loop {
        let left = match context.limit {
            Limit::For(limit) => {
                let waited = P::monotonic_ns().saturating_sub(began);
                u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX).saturating_sub(waited)
            }
            _ => u64::MAX,
        };
        if left == 0 {
            return Ok(Slept::TimedOut);
        }
        // Acquire. Partner: the release of the one that wakes; read before the last look, so that a wake after it counts.
        let seen = context.wake.load(Acquire);
        if let Some(asleep) = context.asleep {
            asleep.store(1, Relaxed);
        }
        context.stop.about_to_park(context.name);
        // Partner: the fence in `Cancel::request`. (The wake itself needs none: `wake` changes before the kernel is asked.)
        full_fence();
        let by_signal = !context.stop.is_requested()
            && !is_over()
            && P::wait(context.wake, seen, Duration::from_nanos(length.min(left)));
        context.stop.unparked();
        if P::process_mark() != process {
            return Ok(Slept::Forked);
        }
        if is_over() {
            return Ok(Slept::Over);
        }
        if let Some(interrupt) = context.stop.interrupt {
            let now = P::coarse_monotonic_ns();
            if by_signal || now.saturating_sub(asked) >= ASK_INTERRUPT {
                asked = now;
                if interrupt.should_stop() {
                    return Ok(if P::process_mark() == process { Slept::Interrupted } else { Slept::Forked });
                }
            }
        }
        if context.stop.take_request() {
            return Ok(Slept::Cancelled);
        }
        if context.wake.load(Relaxed) == seen {
            nap()?;
            length = (length * 2).min(LONGEST_NAP);
        }
    }
}
