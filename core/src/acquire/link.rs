//! A linked lock, from the side of the queue head and of the agent ([`crate::algorithm::link`]).

use super::{
    asking::{ask_agent, call_agent, wish_of},
    bias, eviction,
    local::Idle,
    queue,
    site::{Attempt, HeadOf, Limit, Lock, QueueHead, Site},
};
use crate::algorithm::{
    Protocol,
    claim::Claims,
    link::{Link, Wish},
    ownership::Health,
};
use crate::error::{Error, Result};
use crate::sync::{Ordering::Relaxed, full_fence};
use crate::trace::{self, Step};
use std::cell::Cell;

/// Returns whether the participant may enter. In its entry step, from which on that stays so.
#[inline]
pub fn is_admitted<S: Site>(attempt: &Attempt<S>) -> bool {
    !attempt.config.is_linked || admits(attempt, wish_of(attempt.hold_class()))
}

#[inline]
fn admits<S: Site>(attempt: &Attempt<S>, wish: Wish) -> bool {
    attempt.site.lock().link().is_none_or(|link| link.admits(wish, || attempt.site.boot_time()))
}

/// Returns whether the lock, whose state is not that of one that is open, is closed, and not a linked one that is away.
#[cold]
pub fn is_closed<S: Site>(attempt: &Attempt<S>) -> bool {
    // By one load: it may come home between two.
    !attempt.config.is_linked || attempt.site.lock().link().is_none_or(|link| link.is_closed())
}

/// Returns whether the holder may have the lock biased to it, as far as the tokens that are left and the lease decide it.
#[inline]
pub fn may_begin_bias<S: Site>(attempt: &Attempt<S>) -> bool {
    !attempt.config.is_linked || attempt.site.lock().link().is_none_or(|link| link.may_begin_bias())
}

/// Likewise, whether a reader may have it biased to readers.
#[inline]
pub fn may_begin_readers_bias<S: Site>(attempt: &Attempt<S>) -> bool {
    !attempt.config.is_linked || attempt.site.lock().link().is_none_or(|link| link.may_begin_readers_bias())
}

/// Returns whether the lock is leased and the lease is over. By its holder, before it leaves.
#[inline]
pub fn has_lease_ended<S: Site>(attempt: &Attempt<S>) -> bool {
    attempt.config.is_linked && !lease_runs(attempt)
}

/// Returns whether the lock is leased: then no fast path may begin that does not look at the link. Whoever asks, also a participant that is not
/// kept out by the link, such as the agent.
pub fn is_leased(lock: &impl Lock) -> bool {
    lock.link().is_some_and(|link| link.is_leased())
}

/// Checks that an upgradable holder, which all others have left, may take a fencing token. No other participant has taken one since it was
/// admitted, but it may itself; and the lease may be over by now. It does not wait for the agent, which may wait for it to move the lock away.
///
/// # Errors
/// [`Error::WouldBlock`]; the agent was told.
#[inline]
pub fn check_upgrade<S: Site>(attempt: &Attempt<S>) -> Result<()> {
    if !attempt.config.is_linked || admits(attempt, Wish::Write) {
        return Ok(());
    }
    call_agent(attempt.site.lock(), Wish::Write);
    Err(Limit::Never.passed())
}

#[cold]
fn lease_runs<S: Site>(attempt: &Attempt<S>) -> bool {
    attempt.site.lock().link().is_none_or(|link| link.lease_runs(|| attempt.site.boot_time()))
}

/// Waits at the head of the queue, outside of the entry step, until the participant is admitted. `false`: the lock was home to read, and it
/// has waited outside of the queue until it was not; it queues again.
#[cold]
pub fn wait_until_admitted<S: Site>(attempt: &Attempt<S>, waiter: &mut S::Waiter) -> Result<bool> {
    let (lock, me) = (attempt.site.lock(), attempt.site.me());
    let Some(link) = lock.link() else { return Ok(true) };
    let wish = wish_of(attempt.hold_class());
    trace::at(Step::LinkWait);
    ask_agent(attempt, wish);
    // The agent unparks those that are parked at its slot. Without one the participant sleeps at its own slot, from nap to nap; so it does
    // where the word was written over.
    let spot = || link.agent().filter(|slot| *slot < lock.slots()).unwrap_or(me);
    let just_told = Cell::new(true);
    let spot_with_need = || {
        // Home, and used up or with a lease that has ended: again from nap to nap. It may have come home since, for those that passed over this
        // participant. An agent that moves it away finds it in the queue.
        if !just_told.replace(false) && !link.is_away() {
            ask_agent(attempt, wish);
        }
        spot()
    };
    let is_only_to_read = || wish == Wish::Write && link.is_home_to_read();
    bias::wait_in_place(waiter, spot_with_need, || {
        !link.admits(wish, || attempt.site.boot_time()) && !is_only_to_read()
    })?;
    if !is_only_to_read() {
        return Ok(true);
    }
    // Else the agent, which passes through the queue to move the lock away, would wait for this participant.
    attempt.withdraw();
    trace::at(Step::LinkLeave);
    let spot_with_wish = || {
        // Again from nap to nap: the agent that took it may have died, and the next one finds the queue empty.
        call_agent(lock, wish);
        spot()
    };
    // Nothing of it stands in the file: the lock may be removed meanwhile.
    let exists = || attempt.site.check_exists().is_ok();
    bias::wait_in_place(waiter, spot_with_wish, || is_only_to_read() && exists())?;
    attempt.site.check_exists().map(|()| false)
}

/// Writes `agent` down as the lock's agent, if it has none. Returns whether that was done.
pub fn attach(lock: &impl Lock, agent: usize) -> bool {
    let is_agent = lock.link().is_some_and(|link| link.name_agent(agent));
    if is_agent {
        want_for_waiters(lock, agent);
    }
    is_agent
}

/// Brings the lock home, as its agent: [`Link::bring_home`], and unparks the head of the queue.
pub fn bring_home(lock: &impl Lock, agent: usize, block: (u64, u64), health: Health) {
    let Some(link) = lock.link() else { return };
    // Before: who finds that it is used up afterwards wants it anew.
    link.wanted.store(0, Relaxed);
    link.bring_home(block, health);
    // The fence is in there. Partner: that of the waiter, after it says that it parks at the agent's slot. If ours comes first, its last
    // look sees that the lock is home; if theirs does, we see that it is parked.
    lock.unpark_waiters_of(agent);
}

/// Brings the lock home to read, as its agent: [`Link::bring_home_to_read`], and unparks the head of the queue.
pub fn bring_home_to_read(lock: &impl Lock, agent: usize, token: u64, health: Health) {
    let Some(link) = lock.link() else { return };
    // Before, as in `bring_home`. Who wants more has not got it by this.
    link.forget_readers_wish();
    link.bring_home_to_read(token, health);
    // As in `bring_home`. A writer at the head leaves the queue then.
    lock.unpark_waiters_of(agent);
}

/// Has the block of tokens end at `last`, as the agent: [`Link::extend`], and unparks the head of the queue.
pub fn extend(lock: &impl Lock, agent: usize, last: u64) {
    if let Some(link) = lock.link() {
        link.extend(last);
        lock.unpark_waiters_of(agent);
    }
}

/// Has the lease end at `end`, as the agent, where none begins that the lock does not have yet: [`Link::set_lease_end`], and unparks the head
/// of the queue.
pub fn renew_lease(lock: &impl Lock, agent: usize, end: u64) {
    if let Some(link) = lock.link() {
        link.set_lease_end(end);
        lock.unpark_waiters_of(agent);
    }
}

/// Says that the lock is wanted, if a participant other than `me` is in the queue, or lets others pass. A waiter says it once: the last agent, now
/// dead, may have taken that; and one that slept while the lock was home, and was passed over, waits as if it had been away all the time.
///
/// Of a semaphore one permit is said to be wanted: its agent counts those that wait.
fn want_for_waiters(lock: &impl Lock, me: usize) {
    let queue = lock.queue();
    let Some(link) = lock.link() else { return };
    // After the lock is away. Partners: the fences in `wait::Waiter::stand_by`, after a waiter says that it lets others pass. If ours comes first, its
    // last look sees that the lock is away; if theirs does, we see that it waits.
    full_fence();
    for wish in [Wish::Read, Wish::Write] {
        let wants = |slot: usize| wish_of(queue.claims.hold_class(queue.claims.read(slot))) == wish;
        if queue.is_another_queued(me, wants) || lock.stands_by(wants) {
            if !link.is_shared_out() {
                call_agent(lock, wish);
            } else if let Some(agent) = link.want_permits(1) {
                lock.wake_agent(agent);
            }
        }
    }
}

impl<S: Site> Attempt<S> {
    /// Moves a linked lock away, as its agent: waits at most `limit` for the lock like any participant, ends the bias, and says that it is
    /// away. The agent holds nothing then. A lock that is away already stays so.
    ///
    /// # Errors
    /// As [`Attempt::lock`], but for [`Error::NotRecoverable`]; the lock is home then, unless it was away.
    pub fn move_away(&self, limit: Limit) -> Result<()> {
        let (lock, me) = (self.site.lock(), self.site.me());
        // No other participant writes that. The head of the queue waits for us then, and we would wait for it.
        if lock.link().is_some_and(|link| link.is_away()) {
            return Ok(());
        }
        self.as_head(limit, |link| {
            link.move_away();
            trace::at(Step::LinkAway);
            want_for_waiters(lock, me);
            // Those that wait outside of the queue for that. The fence is in there. Partner: that of such a waiter, after it says that it
            // parks there. If ours comes first, its last look sees that the lock is away; if theirs does, we see that it is parked.
            if let Some(agent) = link.agent() {
                lock.unpark_waiters_of(agent);
            }
        })
    }

    /// Begins a lease of a linked lock that is home and has none, as its agent: at the head of the queue, which is waited for as by
    /// [`Attempt::move_away`]. Errors as there; the lock has no lease then.
    pub fn begin_lease(&self, end: u64, limit: Limit) -> Result<()> {
        self.as_head(limit, |link| {
            link.set_lease_end(end);
            trace::at(Step::LinkLease);
        })
    }

    /// Acts on the link in the entry step, where no other participant is inside and the lock has no bias and no reserved place any more; then
    /// leaves the queue, having held nothing. Its claim is one of the whole lock, which conflicts with every other: every place before it is
    /// revoked, and one behind it was not inside since, so that it has none.
    fn as_head(&self, limit: Limit, act: impl FnOnce(Link<'_>)) -> Result<()> {
        let (site, lock, me) = (&self.site, self.site.lock(), self.site.me());
        let Some(idle) = site.local().begin() else { return Err(Error::Deadlock) };
        if idle != Idle::Bare {
            HeadOf::<S>::forgo(self, idle);
        }
        self.write_claim();
        let entered = queue::enter_as_head(self, limit).map(|()| {
            // Before the word: should we die between the two, the lock is home, and unbiased.
            HeadOf::<S>::end_bias(self);
            if let Some(link) = lock.link() {
                act(link);
            }
            eviction::step_back(self);
            lock.queue().leave(me);
            lock.unpark_waiters_of(me);
            lock.unpark_standby(me, true);
        });
        site.local().record(None);
        entered
    }
}
