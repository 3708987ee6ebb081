//! Eviction, from both sides: the entry step of the queue head, and how a waiter passes over those that do not come.

use super::site::{Attempt, Discipline, HeadOf, Lock, Overdue, QueueHead, Site, Waiter};
use crate::algorithm::{
    Place, Protocol,
    bakery::Registers,
    eviction::{Eviction, EvictionWords, Skipped},
};
use crate::error::Result;
use crate::event::{Event, Happening};
use crate::mutants::{self, Mutant};
use crate::sync::Ordering::Acquire;
use crate::trace::{self, Step};

/// Takes the entry step, from the head of the queue. No waiter passes over the participant from then on, until its `held` is 0
/// again. `false`: it lost its place.
#[inline]
pub fn publish_trying<S: Site>(attempt: &Attempt<S>) -> bool {
    let site = &attempt.site;
    let (lock, me) = (site.lock(), site.me());
    let entered = lock.eviction(me).publish_trying(lock.held(me), site.light());
    if entered {
        trace::at(Step::Enter);
    }
    entered
}

/// Takes [`publish_trying`] back.
#[inline]
pub fn step_back<S: Site>(attempt: &Attempt<S>) {
    let site = &attempt.site;
    Eviction::step_back(site.lock().held(site.me()));
}

/// Returns the first participant before this one that is not inside, and how many are before it. Where every
/// two claims conflict, a participant that is inside is the first, or keeps the first waiting.
fn first_before<S: Site>(attempt: &Attempt<S>, number: u64, skipped: &Skipped) -> (Option<usize>, usize) {
    let site = &attempt.site;
    let (mut first, mut ahead) = (None, 0);
    let lock = site.lock();
    lock.queue().each_before(site.me(), number, |slot, place| {
        if skipped.has(slot) {
            return;
        }
        ahead += 1;
        if HeadOf::<S>::may_wait(lock, slot) {
            // One in the doorway comes after all that are numbered.
            let order = (place == Place::Choosing, place, slot);
            first = first.filter(|first| *first < order).or(Some(order));
        }
    });
    (first.map(|(_, _, slot)| slot), ahead)
}

/// Passes over those before this participant that do not come though nothing keeps them from it, and reaps those that are
/// dead: the waiters between may be stopped, and see to neither.
pub fn pass_over<S: Site>(
    attempt: &Attempt<S>,
    waiter: &mut S::Waiter,
    number: u64,
    skipped: &mut Skipped,
) -> Result<()> {
    let site = &attempt.site;
    let (lock, me) = (site.lock(), site.me());
    let (first, ahead) = first_before(attempt, number, skipped);
    let Some(first) = first else {
        return if ahead > 0 { reap_insiders(attempt, waiter).map(drop) } else { Ok(()) };
    };
    let is_kept = match attempt.config.discipline {
        // The queue of a lock by messages is for its removal.
        Discipline::Queue | Discipline::Messages => is_kept_waiting(lock, first, Some(me)),
        Discipline::Ring { .. } => is_another_reconfiguring(lock),
    };
    if is_kept {
        waiter.is_overdue(None, ahead);
        return reap_insiders(attempt, waiter).map(drop);
    }
    let overdue = waiter.is_overdue(Some((first, lock.eviction(first).doorway.load(Acquire))), ahead);
    if overdue == Overdue::No {
        return Ok(());
    }
    let mut before = Skipped::NONE;
    lock.queue().each_before(me, number, |slot, _| before.insert(slot));
    for slot in (0..lock.slots()).filter(|slot| before.has(*slot) && !skipped.has(*slot)) {
        waiter.check_alive(slot)?;
    }
    if overdue == Overdue::Call {
        lock.queue().each_before(me, number, |slot, _| {
            lock.unpark_waiters_of(slot);
        });
    } else if overdue == Overdue::Yes || site.is_stopped(first) {
        evict(attempt, number, skipped, |slot| slot == first || site.is_stopped(slot));
    }
    Ok(())
}

/// Acts for those that are inside, or on the way in, and dead. Returns whether there were any.
pub fn reap_insiders<S: Site>(attempt: &Attempt<S>, waiter: &mut S::Waiter) -> Result<bool> {
    let (lock, me) = (attempt.site.lock(), attempt.site.me());
    let mut reaped = false;
    for slot in (0..lock.queue().registers.bound()).filter(|slot| *slot != me) {
        if lock.held(slot).load(Acquire) != 0 {
            reaped |= waiter.check_alive(slot)?;
        }
    }
    Ok(reaped)
}

/// Returns whether something else than itself keeps the first of the queue from entering, as [`QueueHead::is_kept_waiting`].
pub fn is_kept_waiting<L: Lock>(lock: &L, first: usize, me: Option<usize>) -> bool {
    L::Claims::is_kept_waiting(lock, first, me)
}

/// Returns whether a participant has a ring's reconfiguration lock. The one that has its turn stands in no queue.
fn is_another_reconfiguring<L: Lock>(lock: &L) -> bool {
    let queue = lock.queue();
    (0..queue.registers.bound())
        .any(|slot| lock.held(slot).load(Acquire) != 0 && queue.place(slot) != Place::Idle)
}

/// Has those before this participant lose their places that are `lost`, unless they are inside, or on the way in.
fn evict<S: Site>(attempt: &Attempt<S>, number: u64, skipped: &mut Skipped, lost: impl Fn(usize) -> bool) {
    let site = &attempt.site;
    let (lock, me) = (site.lock(), site.me());
    let mut told = Skipped::NONE;
    lock.queue().each_before(me, number, |slot, _| {
        if !skipped.has(slot) && lost(slot) && lock.eviction(slot).evict().is_some() {
            told.insert(slot);
        }
    });
    // If it is refused, it is not known whether they are inside; they have lost their places for nothing.
    if pass_the_barrier(site).is_err() {
        return;
    }
    lock.queue().each_before(me, number, |slot, _| {
        if told.has(slot) && lock.eviction(slot).is_outside(lock.held(slot)) {
            skipped.insert(slot);
            note_passed_over(site, slot);
        }
    });
    trace::at(Step::PassedOver);
}

/// Has `slot` lose its place, unless it is inside, or on the way in. Returns whether it is outside, and cannot come in by the
/// doorway that it had.
pub fn evict_one<S: Site>(attempt: &Attempt<S>, slot: usize) -> bool {
    let (site, lock) = (&attempt.site, attempt.site.lock());
    let told = lock.eviction(slot).evict().is_some();
    let passed_over =
        told && pass_the_barrier(site).is_ok() && lock.eviction(slot).is_outside(lock.held(slot));
    if passed_over {
        note_passed_over(site, slot);
    }
    passed_over
}

fn note_passed_over<S: Site>(site: &S, slot: usize) {
    site.note(Happening { event: Event::PassedOver, slot, shared: false, value: 0 });
}

/// The barrier between the two halves of an eviction.
///
/// # Errors
/// As [`Site::heavy_barrier`]: refused from now on.
pub fn pass_the_barrier<S: Site>(site: &S) -> Result<()> {
    trace::at(Step::Evict);
    // Partner: the barrier in `EvictionWords::publish_trying`, between its `held` = TRYING and its look at `evicted`. If ours comes first, the
    // evicted participant sees that it lost its place; if theirs does, we see its `held`, and do not pass over it.
    mutants::full_fence_unless(Mutant::NoFenceToEvict);
    site.heavy_barrier()
}
