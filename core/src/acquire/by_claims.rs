//! The head of a queue in which the claims say which of them conflict: of rwlocks, semaphores, range locks, keyed locks
//! and group locks. It may be inside beside others, the lock may be biased to its readers ([`super::readers`]), and places in the queue may be reserved
//! ([`super::reservation`]).

use super::{
    eviction,
    local::{Holding, Idle},
    readers,
    reservation::{self, Revocations},
    share,
    site::{Attempt, Lock, Progress, QueueHead, RevokeOutcome, Site},
};
use crate::algorithm::{
    Place, Protocol,
    bakery::Registers,
    claim::{ClaimCell, Claims, InCells},
    eviction::Skipped,
};
use crate::error::Result;
use crate::sync::Ordering::Acquire;

impl<C: ClaimCell> QueueHead for InCells<'_, C> {
    type Revocations = Revocations;

    fn retake<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>, idle: Idle) -> Option<u64> {
        match idle {
            // A reader whose handle may not be used by the fast path holds nothing that another handle could give back by it.
            Idle::Biased if attempt.config.may_be_biased => readers::retake(attempt),
            Idle::Reserved => reservation::retake(attempt),
            Idle::Biased | Idle::Bare => None,
        }
    }

    fn forgo<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>, idle: Idle) {
        match idle {
            Idle::Biased => readers::forgo(attempt),
            Idle::Reserved => reservation::give_up(attempt),
            Idle::Bare => {}
        }
    }

    fn may_pass<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>, slot: usize) -> bool {
        reservation::may_pass(attempt, slot)
    }

    #[inline]
    fn take_at_once<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>, number: u64) -> bool {
        readers::take_at_once(attempt, number)
    }

    fn take_as_head<S: Site<Lock: Lock<Claims = Self>>>(
        attempt: &Attempt<S>,
        waiter: &mut S::Waiter,
        number: u64,
        skipped: &Skipped,
        revocations: &Revocations,
    ) -> Result<Progress<bool>> {
        let progress = readers::take_as_head(attempt, waiter, number, skipped)?;
        let is_done = matches!(progress, Progress::Done(_));
        Ok(if is_done { Progress::Done(revocations.in_demand) } else { progress })
    }

    fn let_others_in<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>) {
        readers::let_others_in(attempt);
    }

    fn settle<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>, in_demand: bool) -> Result<Holding> {
        readers::settle(attempt, in_demand)
    }

    fn clear_the_way<S: Site<Lock: Lock<Claims = Self>>>(
        attempt: &Attempt<S>,
        waiter: &mut S::Waiter,
        number: u64,
        skipped: &mut Skipped,
        revocations: &mut Revocations,
    ) -> Result<RevokeOutcome> {
        share::tell_agent_once(attempt, &mut revocations.agent_was_told);
        let outcome = reservation::revoke_others(attempt, waiter, number, skipped, revocations)?;
        if matches!(outcome, RevokeOutcome::None) {
            readers::suspend_bias(attempt, waiter);
        }
        Ok(outcome)
    }

    fn forget_revocations(revocations: &mut Revocations) {
        revocations.forget();
    }

    fn still_waits_for<S: Site<Lock: Lock<Claims = Self>>>(
        attempt: &Attempt<S>,
        number: u64,
        blocker: usize,
        revocations: &Revocations,
    ) -> bool {
        // Claims may change in place, and of several claims ahead another than the latest may be the one that leaves
        // enough room.
        let queue = attempt.site.lock().queue();
        share::shortage(attempt).is_none()
            && !queue.is_next(attempt.site.me(), number)
            && (revocations.in_vain || !reservation::may_pass(attempt, blocker))
    }

    fn reap_insiders<S: Site<Lock: Lock<Claims = Self>>>(
        attempt: &Attempt<S>,
        waiter: &mut S::Waiter,
    ) -> Result<bool> {
        eviction::reap_insiders(attempt, waiter)
    }

    /// Where the participant wants most permits of a semaphore, and others have or want fewer: as long as any of those is inside,
    /// more of them can pass, and their coming and going leaves it no room.
    fn would_be_passed_for_long<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>) -> bool {
        let queue = attempt.site.lock().queue();
        let takes_fewer = |slot: usize| {
            queue.place(slot) != Place::Idle && !queue.claims.wants_most(queue.claims.read(slot))
        };
        queue.claims.wants_most(attempt.claim) && (0..queue.registers.bound()).any(takes_fewer)
    }

    fn may_wait<L: Lock<Claims = Self>>(lock: &L, slot: usize) -> bool {
        lock.held(slot).load(Acquire) == 0
    }

    fn is_kept_waiting<L: Lock<Claims = Self>>(lock: &L, first: usize, me: Option<usize>) -> bool {
        if lock.link().is_some_and(|link| link.is_away()) {
            return true;
        }
        let is_inside = |slot: usize| Some(slot) != me && lock.held(slot).load(Acquire) != 0;
        let queue = lock.queue();
        let claim = queue.claims.read(first);
        let insiders = (0..queue.registers.bound()).filter(|slot| *slot != first && is_inside(*slot));
        let taken: u64 = insiders.map(|slot| queue.claims.cost(claim, slot)).sum();
        // Of a linked semaphore, this host's share may be less than it wants.
        taken > queue.claims.capacity(claim) || queue.claims.shortage(claim).is_some()
    }

    fn exit<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>) -> bool {
        if reservation::leave(attempt) {
            return true;
        }
        readers::exit(attempt);
        false
    }

    fn record_left<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>) {
        readers::record_left(attempt);
    }

    fn end_bias<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>) {
        readers::end_bias(attempt);
    }

    fn leave_retaken<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>) {
        let (lock, me) = (attempt.site.lock(), attempt.site.me());
        if lock.queue().claims.is_reserved(me) {
            reservation::leave_retaken(attempt);
        } else {
            readers::leave_retaken(attempt);
        }
    }

    fn complete_leave<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>) {
        reservation::complete_leave(attempt);
    }
}
