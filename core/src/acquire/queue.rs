//! The queue: through the doorway to its head, from there to the lock, and out again.

use super::{
    attempt::{Attempt, BlockedBy, Progress},
    bias, eviction,
    local::{Holding, Idle},
    readers,
    reservation::{self, Revocations, RevokeOutcome},
    site::{Limit, Lock, Outcome, Overwritten, Site, Unparked, Waiter},
};
use crate::algorithm::{
    Blocker, Corrupt, Place, Protocol, bakery::Registers, claim::Claims, eviction::Skipped, ownership::Health,
};
use crate::error::{Error, Result};
use crate::sync::{Ordering::Relaxed, full_fence, spin_hint};
use crate::trace::{self, Step};

/// Whether every two claims at the lock of this site conflict.
const fn always_conflict<S: Site>() -> bool {
    <<S::Lock as Lock>::Claims as Claims>::ALWAYS_CONFLICT
}

/// Takes the lock, or waits for it as long as `limit` says. `idle`: what is left of this participant's last acquisition.
pub fn acquire<S: Site>(attempt: &Attempt<S>, limit: Limit, idle: Idle) -> Result<Holding> {
    let enter_biased = if always_conflict::<S>() { bias::enter } else { readers::enter };
    // A reader whose handle may not be used by the fast path holds nothing that another handle could give back by it.
    if idle == Idle::Biased
        && (always_conflict::<S>() || attempt.config.may_be_biased)
        && let Some(token) = enter_biased(attempt)
    {
        return Ok(Holding { token, unbiased: false });
    }
    if let Some(token) = reservation::enter_or_give_up(attempt, idle) {
        return Ok(Holding { token, unbiased: false });
    }
    attempt.write_claim();
    if limit == Limit::Never {
        look_before_trying(attempt)?;
    }
    let entered = acquire_by_queue(attempt, limit);
    // A child that was forked in the wait stands nowhere.
    if entered.is_err() && attempt.site.is_ours() {
        give_up(attempt);
    }
    entered
}

/// Passes on the wake-up that a participant with an error may have been given: the holder before may have seen it in the queue, or
/// unparked it, and then left the designated waker asleep.
#[cold]
fn give_up<S: Site>(attempt: &Attempt<S>) {
    let (lock, me) = (attempt.site.lock(), attempt.site.me());
    // Partner: the fence in the `unpark` of `leave`. If ours comes first, the participant that leaves sees that we are not in the
    // queue, and unparks the designated waker; if theirs does, we see that it has left.
    full_fence();
    let is_free = !lock.queue().is_another_queued(me, |_| true);
    lock.unpark_standby(me, is_free);
}

fn acquire_by_queue<S: Site>(attempt: &Attempt<S>, limit: Limit) -> Result<Holding> {
    let in_demand = join_queue(attempt, limit, attempt.config.patience, true)?;
    // Before anything is written that others look at.
    if let Err(error) = attempt.site.check_intact().and_then(|()| attempt.site.check_exists()) {
        attempt.withdraw();
        return Err(error);
    }
    trace::at(Step::Won);
    if always_conflict::<S>() { settle(attempt, in_demand) } else { readers::settle(attempt, in_demand) }
}

/// Passes through the queue, revokes the bias of others, and takes the entry step. With an error, nothing of the participant
/// is left in the queue. Afterwards it excludes everybody else until its `held` is 0 again and its number is cleared.
///
/// Returns whether the bias was in demand: revoked from an owner that used it all the time.
#[inline]
pub fn join_queue<S: Site>(
    attempt: &Attempt<S>,
    limit: Limit,
    patience: u64,
    may_be_ended: bool,
) -> Result<bool> {
    let (queue, me) = (attempt.site.lock().queue(), attempt.site.me());
    attempt.site.lock().eviction(me).begin();
    let number = queue.doorway(me);
    if let Ok(number) = number {
        trace::at(Step::Wait);
        // Nobody has had the time to pass over us; but a thread can be stopped anywhere.
        if queue.is_next(me, number) && take_at_once(attempt, number) {
            return Ok(false);
        }
    }
    wait(attempt, limit, patience, may_be_ended, number)
}

/// Takes the entry step of the head of the queue, if nothing is to be waited for.
#[inline]
fn take_at_once<S: Site>(attempt: &Attempt<S>, number: u64) -> bool {
    if !always_conflict::<S>() {
        return readers::take_at_once(attempt, number);
    }
    let (bias, me) = (attempt.site.lock().bias(), attempt.site.me());
    if bias.is_free_for(me) && eviction::publish_trying(attempt) {
        if bias.is_free_for(me) {
            return true;
        }
        eviction::step_back(attempt);
    }
    false
}

#[cold]
#[inline(never)]
fn wait<S: Site>(
    attempt: &Attempt<S>,
    limit: Limit,
    patience: u64,
    may_be_ended: bool,
    number: std::result::Result<u64, Corrupt>,
) -> Result<bool> {
    let mut waiter = attempt.site.waiter(limit, patience, may_be_ended);
    let acquired =
        QueueWait { attempt, waiter: &mut waiter, skipped: Skipped::NONE, revocations: Revocations::NONE }
            .acquire(number);
    // At the beginning of the section: by its end the next designated waker is awake and in the queue, and the participant,
    // should it come back at once, is behind that one. Not where the section is shorter than the wake-up: there the next
    // designated waker is called at the end, and others come in meanwhile, which keeps the lock fast with many waiters.
    if acquired.is_ok() && !attempt.site.begin_section() {
        attempt.site.lock().unpark_standby(attempt.site.me(), false);
    }
    acquired
}

/// One wait in the queue.
pub struct QueueWait<'a, S: Site> {
    attempt: &'a Attempt<S>,
    waiter: &'a mut S::Waiter,
    /// Whom it passed over since its number was published.
    skipped: Skipped,
    /// What it did about the reservations before it.
    revocations: Revocations,
}

impl<'a, S: Site> QueueWait<'a, S> {
    /// Waits until nobody but those that it `passed` over is before `number`, by which the participant is inside already,
    /// and wants more.
    pub fn go_on(
        attempt: &'a Attempt<S>,
        waiter: &'a mut S::Waiter,
        number: u64,
        skipped: Skipped,
    ) -> Result<()> {
        waiter.queue_for_good();
        QueueWait { attempt, waiter, skipped, revocations: Revocations::NONE }
            .reach_the_head(number)
            .map(drop)
    }

    /// [`acquire`], with what the doorway said.
    fn acquire(&mut self, number: std::result::Result<u64, Corrupt>) -> Result<bool> {
        let site = &self.attempt.site;
        let mut number =
            number.or_else(|corrupt| repair(self.attempt, corrupt).and_then(|()| self.doorway()))?;
        loop {
            let progress = self.reach_the_head(number).and_then(|progress| match progress {
                Progress::Done(()) => self.take_as_head(number),
                Progress::BackOff(blocked_by) => Ok(Progress::BackOff(blocked_by)),
                Progress::Evicted => Ok(Progress::Evicted),
                Progress::LookAgain => Ok(Progress::LookAgain),
            });
            match progress {
                Ok(Progress::Done(in_demand)) => {
                    // Parked, we could not be named as the successor. From now on the next one is awake when its turn comes.
                    if self.waiter.was_parked() {
                        site.lock().unpark_early(site.me());
                    }
                    if !always_conflict::<S>() {
                        readers::let_others_in(self.attempt);
                    }
                    return Ok(in_demand || self.revocations.in_demand);
                }
                Ok(Progress::LookAgain) => {}
                Ok(Progress::BackOff(_)) if self.would_be_passed_for_long() => self.waiter.queue_for_good(),
                Ok(Progress::BackOff(blocked_by)) => {
                    self.back_off(&blocked_by)?;
                    number = self.doorway()?;
                }
                Ok(Progress::Evicted) => {
                    trace::at(Step::Evicted);
                    self.attempt.withdraw();
                    number = self.doorway()?;
                }
                Err(error) => {
                    self.attempt.withdraw();
                    return Err(error);
                }
            }
        }
    }

    fn take_as_head(&mut self, number: u64) -> Result<Progress<bool>> {
        if always_conflict::<S>() {
            bias::take_as_head(self.attempt, self.waiter)
        } else {
            readers::take_as_head(self.attempt, self.waiter, number, &self.skipped)
        }
    }

    fn doorway(&mut self) -> Result<u64> {
        let site = &self.attempt.site;
        self.skipped = Skipped::NONE;
        self.revocations.forget();
        site.lock().eviction(site.me()).begin();
        let number = loop {
            match site.lock().queue().doorway(site.me()) {
                Ok(number) => break number,
                Err(corrupt) => repair(self.attempt, corrupt)?,
            }
        };
        trace::at(Step::Wait);
        Ok(number)
    }

    fn reach_the_head(&mut self, number: u64) -> Result<Progress<()>> {
        let (queue, me) = (self.attempt.site.lock().queue(), self.attempt.site.me());
        loop {
            self.check_shortage()?;
            let blocker = match queue.blocker(me, number, |slot| self.skipped.has(slot)) {
                Ok(None) => return Ok(Progress::Done(())),
                Ok(Some(blocker)) => blocker,
                Err(corrupt) => {
                    repair(self.attempt, corrupt)?;
                    continue;
                }
            };
            if !always_conflict::<S>() {
                let (skipped, revocations) = (&mut self.skipped, &mut self.revocations);
                match reservation::end_others(self.attempt, self.waiter, number, skipped, revocations)? {
                    RevokeOutcome::None => {}
                    RevokeOutcome::Some => continue,
                    RevokeOutcome::Busy(owner) => return Ok(Progress::BackOff(owner)),
                }
                readers::suspend_bias(self.attempt, self.waiter);
            }
            // Claims may change in place, and of several others it may be another one that leaves enough room.
            let unchanged = || {
                queue.still_blocks(&blocker)
                    && (always_conflict::<S>()
                        || queue.1.shortage(self.attempt.claim).is_none()
                            && !queue.is_next(me, number)
                            && (self.revocations.in_vain
                                || !reservation::may_pass(self.attempt, blocker.slot)))
            };
            let outcome = match self.waiter.limit() {
                Limit::Never => try_once(&queue, &blocker),
                _ => self.waiter.wait(&blocker, unchanged),
            };
            match outcome {
                Outcome::LookAgain => {}
                Outcome::BackOff => return Ok(Progress::BackOff(BlockedBy::Queue(blocker))),
                Outcome::Cancelled => return Err(Error::Cancelled),
                Outcome::Interrupted | Outcome::Forked => return Err(Error::Interrupted),
                Outcome::TimedOut | Outcome::CheckAlive => {
                    // Whatever somebody else wrote over our number: those behind us look at it.
                    queue.restore(me, number);
                    if !always_conflict::<S>() && eviction::reap_insiders(self.attempt, self.waiter)? {
                        continue;
                    }
                    // Also when the time is up: a dead blocker must not outlive every caller's limit.
                    let reaped = self.waiter.check_alive(blocker.slot)?;
                    if outcome == Outcome::TimedOut && unchanged() {
                        return Err(self.waiter.limit().passed());
                    }
                    if outcome == Outcome::CheckAlive && !reaped {
                        eviction::pass_over(self.attempt, self.waiter, number, &mut self.skipped)?;
                    }
                }
            }
        }
    }

    /// Checks that there is as much as the participant wants, also after others have changed how much there is.
    fn check_shortage(&self) -> Result<()> {
        let Some((wanted, permits)) = self.attempt.site.lock().queue().1.shortage(self.attempt.claim) else {
            return Ok(());
        };
        // Else it is another lock that has so many.
        self.attempt.site.check_exists()?;
        Err(Error::Permits { wanted, permits })
    }

    /// Returns whether the participant wants most permits of a semaphore, and others have or want fewer: as long as any of those
    /// is inside, more of them can pass, and their coming and going leaves it no room.
    fn would_be_passed_for_long(&self) -> bool {
        let queue = self.attempt.site.lock().queue();
        let takes_fewer =
            |slot: usize| queue.place(slot) != Place::Idle && !queue.1.wants_most(queue.1.read(slot));
        !always_conflict::<S>()
            && queue.1.wants_most(self.attempt.claim)
            && (0..queue.0.bound()).any(takes_fewer)
    }

    fn back_off(&mut self, blocked_by: &BlockedBy) -> Result<()> {
        let site = &self.attempt.site;
        self.attempt.withdraw();
        trace::at(Step::BackOff);
        let queue = site.lock().queue();
        let (slot, by_bias) = match blocked_by {
            BlockedBy::Queue(blocker) => (blocker.slot, false),
            BlockedBy::Bias(owner) => (owner.slot, true),
        };
        let unchanged = || match blocked_by {
            BlockedBy::Queue(blocker) => queue.still_blocks(blocker),
            // It goes in and out all the time: that it is outside at one moment says nothing.
            BlockedBy::Bias(_) => true,
        };
        match self.waiter.back_off(unchanged) {
            Outcome::Cancelled => Err(Error::Cancelled),
            Outcome::Interrupted | Outcome::Forked => Err(Error::Interrupted),
            // Of a bias owner only one that died inside is in the way.
            Outcome::CheckAlive if !by_bias || site.lock().held(slot).load(Relaxed) != 0 => {
                self.waiter.check_alive(slot).map(drop)
            }
            _ => Ok(()),
        }
    }
}

/// Writes the queue head, which nobody excludes any more, down as the holder: unbiased, or with the bias.
fn settle<S: Site>(attempt: &Attempt<S>, in_demand: bool) -> Result<Holding> {
    trace::at(Step::Settle);
    let site = &attempt.site;
    let me = site.me();
    // Not over the heads of those behind us: until the next of them is awake and revokes it, we might acquire the lock a
    // thousand times.
    let biased = site.wants_bias(in_demand)
        && attempt.config.may_be_biased
        && attempt.health() == Health::Consistent
        && !attempt.is_another_queued_for_good();
    if site.lock().revoking_since() != 0 {
        site.lock().set_revoking_since(0);
    }
    // Of biased acquisitions nobody writes down since when.
    site.lock().set_since(me, if biased { 0 } else { site.now() });
    if !biased {
        site.lock().bias().unbias();
    }
    let Some(token) = site.lock().ownership().claim_token(site.lock().held(me)) else {
        attempt.withdraw();
        return Err(site.overwritten(Overwritten::Token));
    };
    if biased {
        site.bias_begins(token);
        site.lock().bias().begin(site.mark());
        site.lock().queue().leave(me);
        site.lock().unpark(me);
        // It was the queue that they backed off from, and nobody will leave it now. The fence is in `unpark`.
        site.lock().unpark_standby(me, true);
    }
    trace::at(Step::Section);
    Ok(Holding { token, unbiased: !biased })
}

/// Leaves the queue, after the section of an unbiased holder.
pub fn leave<S: Site>(attempt: &Attempt<S>) {
    let site = &attempt.site;
    let me = site.me();
    site.end_section();
    if !always_conflict::<S>() && reservation::leave(attempt) {
        return;
    }
    readers::exit(attempt);
    trace::at(Step::Leave);
    site.lock().set_since(me, 0);
    site.lock().queue().leave(me);
    readers::record_left(attempt);
    trace::at(Step::Wake);
    let unparked = site.lock().unpark(me);
    // Where a successor is in the queue, the designated waker would find it there, and back off again. A successor that gives up
    // unparks the designated waker itself, in `give_up`.
    let is_free = match unparked {
        Unparked::Nobody => true,
        Unparked::Parked => false,
        Unparked::Awake(successor) => !is_queued(site, successor),
    };
    site.lock().unpark_standby(me, is_free);
}

/// Returns whether the slot that a successor hint names stands in the queue. A waiter that gave up, backed off or entered from
/// behind another blocker may have left its hint where it waited last.
fn is_queued<S: Site>(site: &S, successor: usize) -> bool {
    let queue = site.lock().queue();
    successor < queue.0.bound() && queue.place(successor) != Place::Idle
}

/// A try that will fail should not disturb the queue: looks first, and reaps the dead.
fn look_before_trying<S: Site>(attempt: &Attempt<S>) -> Result<()> {
    let (queue, me) = (attempt.site.lock().queue(), attempt.site.me());
    if !always_conflict::<S>() && !queue.is_next(me, u64::MAX) {
        eviction::reap_insiders(attempt, &mut attempt.site.waiter(Limit::Never, 0, false))?;
    }
    // As if it had come last: everybody who is numbered is before it.
    // A reservation is taken away, unless somebody is inside by it.
    let passes = |slot: usize| !always_conflict::<S>() && reservation::may_pass(attempt, slot);
    while let Ok(Some(blocker)) = queue.blocker(me, u64::MAX, passes) {
        if queue.place(blocker.slot) == Place::Choosing {
            return Ok(());
        }
        let mut waiter = attempt.site.waiter(Limit::Never, 0, false);
        if !waiter.check_alive(blocker.slot)? && queue.still_blocks(&blocker) {
            return Err(Error::WouldBlock);
        }
    }
    Ok(())
}

/// Waits for nothing but a participant in its doorway: that takes some hundred instructions.
fn try_once(queue: &impl Protocol, blocker: &Blocker) -> Outcome {
    const LOOKS: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 1000 };
    for _ in 0..LOOKS {
        if !queue.still_blocks(blocker) {
            return Outcome::LookAgain;
        }
        if queue.place(blocker.slot) != Place::Choosing {
            break;
        }
        spin_hint();
    }
    Outcome::TimedOut
}

/// Removes an impossible number: that of a dead slot is cleared like anything that a dead participant leaves; that of a
/// living one is an error.
#[cold]
fn repair<S: Site>(attempt: &Attempt<S>, Corrupt { slot, value }: Corrupt) -> Result<()> {
    const LOOKS: u32 = 20;
    let site = &attempt.site;
    // Somebody else may be reaping the slot, or a newcomer may be about to, in its own.
    for _ in 0..LOOKS {
        let reaped = site.reap(slot)?;
        // Also of one that was reaped: nothing here may go on for ever.
        if site.lock().queue().place(slot) != Place::Corrupt(value) {
            return Ok(());
        }
        if !reaped {
            site.pause();
        }
    }
    Err(site.overwritten(Overwritten::Number { slot, value }))
}
