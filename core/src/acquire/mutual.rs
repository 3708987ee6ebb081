//! The head of a queue in which every two claims conflict: of mutexes, and of a ring's reconfiguration lock. It holds the lock
//! alone, and the lock may be biased to it.

use super::{
    bias, eviction,
    fast_path::UnlockOutcome,
    link,
    local::{Holding, Idle},
    site::{Attempt, Lock, Overwritten, Progress, QueueHead, RevokeOutcome, Site},
};
use crate::algorithm::{
    Protocol,
    bakery::Registers,
    claim::Always,
    eviction::{Eviction, Skipped},
    ownership::Health,
};
use crate::error::Result;
use crate::sync::Ordering::Acquire;
use crate::trace::{self, Step};

impl QueueHead for Always {
    type Revocations = ();

    fn retake<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>, idle: Idle) -> Option<u64> {
        let (bias, mark) = (attempt.site.lock().bias(), attempt.site.mark());
        // A look first: an owner under revocation then does not raise `held` again and again, and the queue head meets it at most
        // once more, by the fast path, which does not look.
        let may_be_owner = idle == Idle::Biased && bias.is_unrevoked(mark);
        if may_be_owner { attempt.fast_path().take_as_owner(bias, &mark) } else { None }
    }

    fn forgo<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>, idle: Idle) {
        let (lock, me) = (attempt.site.lock(), attempt.site.me());
        if idle == Idle::Biased && lock.bias().owner() == Some(me) {
            // If this is a signal handler that came in the midst of an unlock, after the local state and before `held`, the queue
            // head waits for the section before it to end, and we would wait for the queue head.
            Eviction::step_back(lock.held(me));
            // And it may have seen us try, and sleep.
            lock.unpark_waiters_of(me);
        }
    }

    fn may_pass<S: Site<Lock: Lock<Claims = Self>>>(_: &Attempt<S>, _: usize) -> bool {
        false
    }

    #[inline]
    fn take_at_once<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>, _: u64) -> bool {
        let (bias, me) = (attempt.site.lock().bias(), attempt.site.me());
        if bias.is_free_for(me) && eviction::publish_trying(attempt) {
            // Again. If a head that passed over us biased the lock before our entry step, we see that here; after it no head can pass
            // over us.
            if bias.is_free_for(me) && link::is_admitted(attempt) {
                return true;
            }
            eviction::step_back(attempt);
        }
        false
    }

    fn take_as_head<S: Site<Lock: Lock<Claims = Self>>>(
        attempt: &Attempt<S>,
        waiter: &mut S::Waiter,
        _: u64,
        _: &Skipped,
        (): &(),
    ) -> Result<Progress<bool>> {
        loop {
            let progress = bias::take_as_head(attempt, waiter)?;
            if !matches!(progress, Progress::Done(_)) || link::is_admitted(attempt) {
                return Ok(progress);
            }
            eviction::step_back(attempt);
            // Where a person has a mutex home to read, it admits no one until it is away.
            if !link::wait_until_admitted(attempt, waiter)? {
                return Ok(Progress::Evicted);
            }
        }
    }

    fn let_others_in<S: Site<Lock: Lock<Claims = Self>>>(_: &Attempt<S>) {}

    fn settle<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>, in_demand: bool) -> Result<Holding> {
        trace::at(Step::Settle);
        let site = &attempt.site;
        let me = site.me();
        // Not over the heads of those behind us: until the next of them is awake and revokes it, we might acquire the lock a
        // thousand times.
        let biased = site.wants_bias(in_demand)
            && attempt.config.may_be_biased
            && attempt.health() == Health::Consistent
            && site.lock().ownership().has_tokens_for_bias()
            && link::may_begin_bias(attempt)
            && !attempt.is_another_queued_for_good();
        // Since when a biased acquisition lasts is not written down.
        site.lock().set_since(me, if biased { 0 } else { site.now() });
        // Whether it is biased again below or not: if this participant dies between the two, the word no longer names the former
        // owner, whom a head that gives up its revocation would let in again without the notice.
        Self::end_bias(attempt);
        let Some(token) = site.lock().ownership().claim_token(site.lock().held(me)) else {
            attempt.withdraw();
            return Err(site.overwritten(Overwritten::Token));
        };
        if biased {
            site.bias_begins(token);
            site.lock().bias().begin(site.mark());
            site.lock().queue().leave(me);
            site.lock().unpark_waiters_of(me);
            // It was the queue that they backed off from, and no holder will leave it now. The fence is in
            // `unpark_waiters_of`.
            site.lock().unpark_standby(me, true);
        }
        trace::at(Step::Section);
        Ok(Holding { token, unbiased: !biased, among_readers: false })
    }

    #[inline(always)]
    fn clear_the_way<S: Site<Lock: Lock<Claims = Self>>>(
        _: &Attempt<S>,
        _: &mut S::Waiter,
        _: u64,
        _: &mut Skipped,
        (): &mut (),
    ) -> Result<RevokeOutcome> {
        Ok(RevokeOutcome::None)
    }

    #[inline(always)]
    fn forget_revocations((): &mut ()) {}

    #[inline(always)]
    fn still_waits_for<S: Site<Lock: Lock<Claims = Self>>>(
        _: &Attempt<S>,
        _: u64,
        _: usize,
        (): &(),
    ) -> bool {
        true
    }

    #[inline(always)]
    fn reap_insiders<S: Site<Lock: Lock<Claims = Self>>>(_: &Attempt<S>, _: &mut S::Waiter) -> Result<bool> {
        Ok(false)
    }

    #[inline(always)]
    fn would_be_passed_for_long<S: Site<Lock: Lock<Claims = Self>>>(_: &Attempt<S>) -> bool {
        false
    }

    #[inline(always)]
    fn may_wait<L: Lock<Claims = Self>>(_: &L, _: usize) -> bool {
        // One that is inside is the first, or keeps the first waiting.
        true
    }

    fn is_kept_waiting<L: Lock<Claims = Self>>(lock: &L, first: usize, me: Option<usize>) -> bool {
        let is_inside = |slot: usize| Some(slot) != me && lock.held(slot).load(Acquire) != 0;
        if lock.link().is_some_and(|link| link.is_away()) {
            return true;
        }
        // As long as the lock is biased to one participant and the first has not revoked that, it waits for no other.
        if lock.bias().owner().is_some() && !lock.bias().is_being_revoked() {
            return is_inside(first);
        }
        (0..lock.queue().registers.bound()).any(is_inside)
    }

    #[inline]
    fn exit<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>) -> bool {
        let lock = attempt.site.lock();
        lock.ownership().exit(lock.held(attempt.site.me()));
        false
    }

    #[inline]
    fn record_left<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>) {
        attempt.site.local().record(None);
    }

    #[inline]
    fn end_bias<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>) {
        let lock = attempt.site.lock();
        if lock.revoking_since() != 0 {
            lock.set_revoking_since(0);
        }
        lock.bias().unbias();
    }

    fn leave_retaken<S: Site<Lock: Lock<Claims = Self>>>(attempt: &Attempt<S>) {
        let (site, lock) = (&attempt.site, attempt.site.lock());
        let left = attempt.fast_path().end_as_owner(lock.bias(), &site.mark(), site.is_shared());
        if left == UnlockOutcome::WasRevoked {
            lock.unpark_waiters_of(site.me());
        }
    }

    #[inline(always)]
    fn complete_leave<S: Site<Lock: Lock<Claims = Self>>>(_: &Attempt<S>) {}
}
