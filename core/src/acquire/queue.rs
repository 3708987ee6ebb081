//! The queue: through the doorway to its head, from there to the lock, and out again.

use super::{
    asking, eviction,
    local::{Holding, Idle},
    share,
    site::{
        Attempt, BlockedBy, HeadOf, Limit, Lock, Outcome, Overwritten, Progress, QueueHead, RevokeOutcome,
        Site, Unparked, Waiter,
    },
};
use crate::algorithm::{
    Blocker, Corrupt, Place, Protocol, bakery::Registers, claim::Claims, eviction::Skipped,
};
use crate::error::{Error, Result};
use crate::sync::{Ordering::Relaxed, full_fence, spin_hint};
use crate::trace::{self, Step};
use std::cell::Cell;

/// Takes the lock, or waits for it as long as `limit` says. `idle`: what is left of this participant's last acquisition.
pub fn acquire<S: Site>(attempt: &Attempt<S>, limit: Limit, idle: Idle) -> Result<Holding> {
    if idle != Idle::Bare {
        HeadOf::<S>::forgo(attempt, idle);
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
    // Partner: the fence in the `unpark_waiters_of` of `leave`. If ours comes first, the participant that leaves sees that
    // we are not in the queue, and unparks the designated waker; if theirs does, we see that it has left.
    full_fence();
    let is_free = !lock.queue().is_another_queued(me, |_| true);
    lock.unpark_standby(me, is_free);
}

/// Takes the entry step, for what is done at the head of the queue without holding the lock. With an error, nothing of the participant is
/// left in the queue.
pub fn enter_as_head<S: Site>(attempt: &Attempt<S>, limit: Limit) -> Result<()> {
    let entered = queue_and_enter(attempt, limit, 0, true).and_then(|_| {
        let checked = attempt.site.check_intact().and_then(|()| attempt.site.check_exists());
        checked.inspect_err(|_| attempt.withdraw())
    });
    if entered.is_err() && attempt.site.is_ours() {
        give_up(attempt);
    }
    entered
}

fn acquire_by_queue<S: Site>(attempt: &Attempt<S>, limit: Limit) -> Result<Holding> {
    let in_demand = queue_and_enter(attempt, limit, attempt.config.patience, true)?;
    // Before anything is written that others look at.
    if let Err(error) = attempt.site.check_intact().and_then(|()| attempt.site.check_exists()) {
        attempt.withdraw();
        return Err(error);
    }
    trace::at(Step::Won);
    HeadOf::<S>::settle(attempt, in_demand)
}

/// Passes through the queue, revokes the bias of others, and takes the entry step. With an error, nothing of the participant
/// is left in the queue. Afterwards it excludes all that conflict with it until its `held` is 0 again and its number is cleared.
///
/// Returns whether what was in the way was in demand: a bias, say, that its owner used all the time.
#[inline]
pub fn queue_and_enter<S: Site>(
    attempt: &Attempt<S>,
    limit: Limit,
    patience: u64,
    may_be_ended: bool,
) -> Result<bool> {
    let (queue, me) = (attempt.site.lock().queue(), attempt.site.me());
    attempt.site.lock().eviction(me).begin_doorway();
    let number = queue.doorway(me);
    if let Ok(number) = number {
        trace::at(Step::Wait);
        // We have only just queued, so being skipped is unlikely; the entry step looks all the same.
        if queue.is_next(me, number) && HeadOf::<S>::take_at_once(attempt, number) {
            attempt.site.entered_at_once();
            return Ok(false);
        }
    }
    wait(attempt, limit, patience, may_be_ended, number)
}

/// Waits for the head of the queue and the entry step, from what the doorway said. Returns what [`queue_and_enter`] does.
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
    let acquired = QueueWait::new(attempt, &mut waiter, Skipped::NONE).acquire(number);
    // Wakes the next designated waker now, so that it is queued by the end of the section, and this participant is behind it should it
    // come back at once. Where the last section was shorter than a wake-up, the unlock does it instead: others barge in meanwhile, which
    // keeps the lock fast with many waiters.
    if acquired.is_ok() && !attempt.site.begin_section() {
        attempt.site.lock().unpark_standby(attempt.site.me(), false);
    }
    acquired
}

/// One wait in the queue.
pub struct QueueWait<'a, S: Site> {
    attempt: &'a Attempt<S>,
    waiter: &'a mut S::Waiter,
    /// The slots that it passed over since its number was published.
    skipped: Skipped,
    /// What it did about the reservations before it.
    revocations: <HeadOf<S> as QueueHead>::Revocations,
    /// Whether it told the agent of a linked lock that it waits, behind others.
    agent_was_told: Cell<bool>,
}

impl<'a, S: Site> QueueWait<'a, S> {
    fn new(attempt: &'a Attempt<S>, waiter: &'a mut S::Waiter, skipped: Skipped) -> Self {
        QueueWait {
            attempt,
            waiter,
            skipped,
            revocations: Default::default(),
            agent_was_told: Cell::new(false),
        }
    }

    /// Waits until none but those that it has `skipped` is before `number`, by which the participant is inside already,
    /// and wants more.
    pub fn go_on(
        attempt: &'a Attempt<S>,
        waiter: &'a mut S::Waiter,
        number: u64,
        skipped: Skipped,
    ) -> Result<()> {
        waiter.queue_for_good();
        QueueWait::new(attempt, waiter, skipped).reach_the_head(number).map(drop)
    }

    /// Goes through the queue until the entry step is taken: to its head, out and back in where it backs off or was skipped. `number` is
    /// what the doorway said. Returns whether what was in the way was in demand.
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
                    // While we were parked no participant could wake our successor early. Wake it now, so that it is awake when we
                    // leave.
                    if self.waiter.was_parked() {
                        site.lock().unpark_early(site.me());
                    }
                    HeadOf::<S>::let_others_in(self.attempt);
                    return Ok(in_demand);
                }
                Ok(Progress::LookAgain) => {}
                Ok(Progress::BackOff(_)) if HeadOf::<S>::would_be_passed_for_long(self.attempt) => {
                    self.waiter.queue_for_good();
                }
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

    /// Takes the entry step as the head of the queue, once a bias or reservation of another is revoked.
    fn take_as_head(&mut self, number: u64) -> Result<Progress<bool>> {
        HeadOf::<S>::take_as_head(self.attempt, self.waiter, number, &self.skipped, &self.revocations)
    }

    /// Takes a new number: what was seen of others with the last one counts no more.
    fn doorway(&mut self) -> Result<u64> {
        let site = &self.attempt.site;
        self.skipped = Skipped::NONE;
        HeadOf::<S>::forget_revocations(&mut self.revocations);
        self.agent_was_told.set(false);
        site.lock().eviction(site.me()).begin_doorway();
        let number = loop {
            match site.lock().queue().doorway(site.me()) {
                Ok(number) => break number,
                Err(corrupt) => repair(self.attempt, corrupt)?,
            }
        };
        trace::at(Step::Wait);
        Ok(number)
    }

    /// Waits until none that conflicts is before `number`, but those that were skipped.
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
            let (skipped, revocations) = (&mut self.skipped, &mut self.revocations);
            match HeadOf::<S>::clear_the_way(self.attempt, self.waiter, number, skipped, revocations)? {
                RevokeOutcome::None => {}
                RevokeOutcome::Some => continue,
                RevokeOutcome::Busy(blocked_by) => return Ok(Progress::BackOff(blocked_by)),
            }
            let must_wait = || {
                queue.still_blocks(&blocker)
                    && HeadOf::<S>::still_waits_for(self.attempt, number, blocker.slot, &self.revocations)
            };
            let outcome = match self.waiter.limit() {
                Limit::Never => try_once(&queue, &blocker),
                _ => self.waiter.wait(&blocker, must_wait),
            };
            match outcome {
                Outcome::LookAgain => {}
                Outcome::BackOff => return Ok(Progress::BackOff(BlockedBy::Queue(blocker))),
                Outcome::Cancelled => return Err(Error::Cancelled),
                Outcome::Interrupted | Outcome::Forked => return Err(Error::Interrupted),
                Outcome::TimedOut | Outcome::CheckAlive => {
                    // Should something else have written over our number: those behind us look at it.
                    queue.restore(me, number);
                    asking::tell_agent_once(self.attempt, &self.agent_was_told);
                    if HeadOf::<S>::reap_insiders(self.attempt, self.waiter)? {
                        continue;
                    }
                    // Also when the time is up: a dead blocker must not outlive every caller's limit.
                    let reaped = self.waiter.check_alive(blocker.slot)?;
                    if outcome == Outcome::TimedOut && must_wait() {
                        return Err(self.waiter.limit().passed());
                    }
                    if outcome == Outcome::CheckAlive && !reaped {
                        self.waiter.check_circle()?;
                        eviction::pass_over(self.attempt, self.waiter, number, &mut self.skipped)?;
                    }
                }
            }
        }
    }

    /// Checks that there is as much as the participant wants, also after others have changed how much there is.
    fn check_shortage(&self) -> Result<()> {
        if self.attempt.site.lock().queue().claims.shortage(self.attempt.claim).is_none() {
            return Ok(());
        }
        let Some((wanted, permits)) = share::shortage(self.attempt) else { return Ok(()) };
        // Else it is another lock that has so many.
        self.attempt.site.check_exists()?;
        Err(Error::Permits { wanted, permits })
    }

    /// Leaves the queue, in which it would block others that may pass it, and sleeps in the standby queue until the lock may be free.
    fn back_off(&mut self, blocked_by: &BlockedBy) -> Result<()> {
        let site = &self.attempt.site;
        self.attempt.withdraw();
        trace::at(Step::BackOff);
        let queue = site.lock().queue();
        let (slot, by_bias) = match blocked_by {
            BlockedBy::Queue(blocker) => (blocker.slot, false),
            BlockedBy::Bias(owner) => (owner.slot, true),
        };
        let must_wait = || {
            // Where it is moved away later the agent sees that this participant stands by.
            asking::tell_agent_once(self.attempt, &self.agent_was_told);
            match blocked_by {
                BlockedBy::Queue(blocker) => queue.still_blocks(blocker),
                // It goes in and out all the time: that it is outside at one moment says nothing.
                BlockedBy::Bias(_) => true,
            }
        };
        match self.waiter.back_off(must_wait) {
            Outcome::Cancelled => Err(Error::Cancelled),
            Outcome::Interrupted | Outcome::Forked => Err(Error::Interrupted),
            Outcome::CheckAlive => {
                self.waiter.check_circle()?;
                // Of a bias owner only one that died inside is in the way.
                if !by_bias || site.lock().held(slot).load(Relaxed) != 0 {
                    self.waiter.check_alive(slot)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Leaves the queue, after the section of an unbiased holder.
pub fn leave<S: Site>(attempt: &Attempt<S>) {
    let site = &attempt.site;
    let me = site.me();
    site.end_section();
    if HeadOf::<S>::exit(attempt) {
        return;
    }
    trace::at(Step::Leave);
    site.lock().set_since(me, 0);
    site.lock().queue().leave(me);
    HeadOf::<S>::record_left(attempt);
    trace::at(Step::Wake);
    let unparked = site.lock().unpark_waiters_of(me);
    // The designated waker is not woken if a successor is queued: it would back off again. If that successor gives up, it wakes the
    // designated waker itself, in `give_up`.
    let is_free = match unparked {
        Unparked::NoWaiter => true,
        Unparked::Parked => false,
        Unparked::Awake(successor) => !is_queued(site, successor),
    };
    site.lock().unpark_standby(me, is_free);
}

/// Returns whether the slot that a successor hint names stands in the queue. A waiter that gave up, backed off or entered from
/// behind another blocker may have left its hint where it waited last.
fn is_queued<S: Site>(site: &S, successor: usize) -> bool {
    let queue = site.lock().queue();
    successor < queue.registers.bound() && queue.place(successor) != Place::Idle
}

/// A try that will fail should not disturb the queue: looks first, and reaps the dead.
fn look_before_trying<S: Site>(attempt: &Attempt<S>) -> Result<()> {
    let (queue, me) = (attempt.site.lock().queue(), attempt.site.me());
    if !queue.is_next(me, u64::MAX) {
        HeadOf::<S>::reap_insiders(attempt, &mut attempt.site.waiter(Limit::Never, 0, false))?;
    }
    // As if it had come last: all that are numbered are before it.
    let passes = |slot: usize| HeadOf::<S>::may_pass(attempt, slot);
    while let Ok(Some(blocker)) = queue.blocker(me, u64::MAX, passes) {
        if queue.place(blocker.slot) == Place::Choosing {
            return Ok(());
        }
        let mut waiter = attempt.site.waiter(Limit::Never, 0, false);
        if !waiter.check_alive(blocker.slot)? && queue.still_blocks(&blocker) {
            return Err(Limit::Never.passed());
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
    // Another reaper may be at the slot, or a newcomer about to clear it as its own.
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
