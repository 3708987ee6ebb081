//! The bias, from the side of the queue head, which revokes it. Its owner's acquisitions are the fast path's
//! ([`super::fast_path`]).

use super::{
    eviction,
    site::{Attempt, BlockedBy, Limit, Lock, Outcome, Progress, Site, Waiter},
};
use crate::algorithm::{Blocker, bias::BiasOwner};
use crate::error::{Error, Result};
use crate::sync::{
    AtomicU64,
    Ordering::{Acquire, Relaxed},
    full_fence, spin_hint,
};
use crate::trace::{self, Step};

/// Takes the entry step of the queue head, with the lock biased to no other participant and none inside by a bias. Returns whether
/// the bias was in demand: revoked from an owner that used it all the time.
pub fn take_as_head<S: Site>(attempt: &Attempt<S>, waiter: &mut S::Waiter) -> Result<Progress<bool>> {
    let (site, bias) = (&attempt.site, attempt.site.lock().bias());
    let other = || bias.owner_other_than(site.me(), HeldWords { lock: site.lock(), next: 0 });
    let mut revoked: Option<(BiasOwner, bool)> = None;
    loop {
        let before = other();
        // If we have lost our place, we see that in our next entry step; until then nothing here does harm.
        if let Some(owner) = before.filter(|owner| revoked.is_none_or(|(revoked, _)| revoked != *owner)) {
            let lock = site.lock();
            let in_demand = use_of(lock.held(owner.slot), || lock.ownership().last_token()) != Use::Little;
            if in_demand {
                if waiter.lets_pass() {
                    return Ok(Progress::BackOff(BlockedBy::Bias(owner)));
                }
                // A try that will fail should not disturb an owner that is inside.
                let is_inside = || site.lock().held(owner.slot).load(Acquire) != 0;
                if waiter.limit() == Limit::Never && is_inside() && !waiter.check_alive(owner.slot)? {
                    return Err(Limit::Never.passed());
                }
            }
            if !revoke(attempt, waiter, owner)? {
                return Ok(Progress::Evicted);
            }
            revoked = Some((owner, in_demand));
            continue;
        }
        if !eviction::publish_trying(attempt) {
            return Ok(Progress::Evicted);
        }
        // If a waiter had passed over us before this entry step, we would have seen it there; none can after it. So no other head has
        // written the bias word since we became the head, and the look holds.
        if other().is_none_or(|owner| revoked.is_some_and(|(revoked, _)| revoked == owner)) {
            return Ok(Progress::Done(revoked.is_some_and(|(_, in_demand)| in_demand)));
        }
        eviction::step_back(attempt);
    }
}

/// Revokes the bias, and waits until its owner is outside. `false`: others passed over us.
fn revoke<S: Site>(attempt: &Attempt<S>, waiter: &mut S::Waiter, owner: BiasOwner) -> Result<bool> {
    let site = &attempt.site;
    // Only a queue head writes the bias word.
    if !eviction::publish_trying(attempt) {
        return Ok(false);
    }
    site.lock().set_revoking_since(site.now());
    site.lock().bias().revoke(owner);
    eviction::step_back(attempt);
    let outside = pass_the_barrier(attempt, waiter, owner)
        .and_then(|()| wait_until_outside(attempt, waiter, owner.slot));
    // A child that was forked in the wait has revoked nothing.
    if outside.is_err() && !site.is_ours() {
        return outside.map(|()| true);
    }
    if let Err(error) = outside {
        cancel_revocation(attempt, owner);
        return Err(error);
    }
    site.bias_was_revoked();
    Ok(true)
}

/// The queue head gives up.
fn cancel_revocation<S: Site>(attempt: &Attempt<S>, owner: BiasOwner) {
    let site = &attempt.site;
    // If another participant has passed over us, the revocation is its own now.
    if !eviction::publish_trying(attempt) {
        return;
    }
    site.lock().set_revoking_since(0);
    // Those behind us will revoke it too: until they do, the owner should not pass them.
    if !attempt.is_another_queued_for_good() {
        site.lock().bias().cancel_revocation(owner);
    }
    eviction::step_back(attempt);
}

/// The heavy barrier between the revocation and the look whether the owner is inside.
fn pass_the_barrier<S: Site>(attempt: &Attempt<S>, waiter: &mut S::Waiter, owner: BiasOwner) -> Result<()> {
    // Partner: the barrier in `Bias::take_as_owner`, between its `held` = TRYING and its look at the bias word. If ours comes first,
    // the owner sees the revocation, and stays outside; if theirs does, we see its `held`, and wait for it. In a file of one process
    // that of `Bias::leave` too: if ours comes first, the owner that leaves sees the revocation and unparks us; if theirs does, we see
    // that it is outside.
    full_fence();
    match attempt.site.heavy_barrier() {
        Ok(()) => Ok(()),
        // Refused from now on, by a filter that came after the file was opened. Of a dead owner everything has been seen
        // since its byte lock was free; of a living one nothing is known, and nothing else makes it known.
        Err(error) => waiter.check_alive(owner.slot)?.then_some(()).ok_or(error),
    }
}

/// Waits until `slot`, which cannot enter any more, is outside.
pub fn wait_until_outside<S: Site>(attempt: &Attempt<S>, waiter: &mut S::Waiter, slot: usize) -> Result<()> {
    trace::at(Step::RevokeWait);
    let held = attempt.site.lock().held(slot);
    // Acquire. Partner: the release stores of 0, by an owner that leaves or steps back, or by its reaper. If we read that 0, its section
    // is before ours; if not, we wait.
    wait_in_place(waiter, || slot, || held.load(Acquire) != 0)
}

/// Waits at the head of the queue until `must_wait` is false, parked at `spot`, and looks whether the participant of that slot is alive.
pub fn wait_in_place(
    waiter: &mut impl Waiter,
    spot: impl Fn() -> usize,
    must_wait: impl Fn() -> bool,
) -> Result<()> {
    waiter.queue_for_good();
    while must_wait() {
        let slot = spot();
        let blocker = Blocker { slot, seen: 0, ahead: 1 };
        let outcome = match waiter.limit() {
            Limit::Never => Outcome::TimedOut,
            _ => waiter.wait(&blocker, &must_wait),
        };
        match outcome {
            Outcome::LookAgain | Outcome::BackOff => {}
            Outcome::Cancelled => return Err(Error::Cancelled),
            Outcome::Interrupted | Outcome::Forked => return Err(Error::Interrupted),
            Outcome::TimedOut | Outcome::CheckAlive => {
                waiter.check_alive(slot)?;
                if outcome == Outcome::TimedOut && must_wait() {
                    return Err(waiter.limit().passed());
                }
                if outcome == Outcome::CheckAlive {
                    waiter.check_circle()?;
                }
            }
        }
    }
    Ok(())
}

/// How one uses the lock to which it is biased, or in which it has a reserved place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It is outside for longer than a microsecond or two.
    Little,
    /// It goes in and out all the time.
    InAndOut,
    /// It stays inside.
    Inside,
}

/// Looks for some ten microseconds how the lock is used by the participant whose `held` this is. `token`: the last fencing token of
/// the lock, if no other participant takes any meanwhile.
///
/// Where the line of `held` goes over slowly, each look may find it outside that was inside in between: then the token is another.
pub fn use_of(held: &AtomicU64, token: impl Fn() -> u64) -> Use {
    const OUTSIDE_FOR: u32 = 32;
    const LOOKS: u32 = 600;
    if cfg!(any(loom, shuttle)) {
        let is_inside = held.load(Relaxed) != 0;
        spin_hint();
        return if is_inside { Use::Inside } else { Use::Little };
    }
    let (mut outside, mut how, mut last) = (0, Use::Inside, token());
    for _ in 0..LOOKS {
        if held.load(Relaxed) != 0 {
            outside = 0;
        } else {
            (outside, how) = (outside + 1, Use::InAndOut);
        }
        spin_hint();
        if outside == OUTSIDE_FOR {
            let now = token();
            if now == last {
                return Use::Little;
            }
            (outside, last) = (0, now);
        }
    }
    how
}

/// The `held` words of all slots.
struct HeldWords<'a, L> {
    lock: &'a L,
    next: usize,
}

impl<'a, L: Lock> Iterator for HeldWords<'a, L> {
    type Item = &'a AtomicU64;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let slot = self.next;
        self.next += 1;
        (slot < self.lock.slots()).then(|| self.lock.held(slot))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.lock.slots().saturating_sub(self.next);
        (left, Some(left))
    }
}

impl<L: Lock> ExactSizeIterator for HeldWords<'_, L> {}
