//! A linked lock, from the side of the queue head and of the agent ([`crate::algorithm::link`]).

use super::{
    bias, eviction,
    local::Idle,
    queue,
    site::{Attempt, HeadOf, Limit, Lock, QueueHead, Site},
};
use crate::algorithm::Protocol;
use crate::error::{Error, Result};
use crate::trace::{self, Step};

/// Returns whether the participant may enter. In its entry step, from which on that stays so.
#[inline]
pub fn is_admitted<S: Site>(attempt: &Attempt<S>) -> bool {
    !attempt.config.is_linked || attempt.site.lock().link().is_none_or(|link| link.admits())
}

/// Returns whether the lock is linked and away.
#[inline]
pub fn is_away<S: Site>(attempt: &Attempt<S>) -> bool {
    attempt.config.is_linked && attempt.site.lock().link().is_some_and(|link| link.is_away())
}

/// Returns whether the holder may have the lock biased to it, as far as the tokens that are left decide it.
#[inline]
pub fn may_begin_bias<S: Site>(attempt: &Attempt<S>) -> bool {
    !attempt.config.is_linked || attempt.site.lock().link().is_none_or(|link| link.has_tokens_for_bias())
}

/// Waits at the head of the queue, outside of the entry step, until programs are admitted.
#[cold]
pub fn wait_until_admitted<S: Site>(attempt: &Attempt<S>, waiter: &mut S::Waiter) -> Result<()> {
    let (lock, me) = (attempt.site.lock(), attempt.site.me());
    let Some(link) = lock.link() else { return Ok(()) };
    trace::at(Step::LinkWait);
    lock.call_agent();
    // The agent unparks those that are parked at its slot. Without one the participant sleeps at its own slot, from nap to nap; so it does
    // where the word was written over.
    let spot = || link.agent().filter(|slot| *slot < lock.slots()).unwrap_or(me);
    bias::wait_in_place(waiter, spot, || !link.admits())
}

impl<S: Site> Attempt<S> {
    /// Moves a linked lock away, as its agent: waits at most `limit` for the lock like any participant, ends the bias, and says that it is
    /// away. The agent holds nothing then. A lock that is away already stays so.
    ///
    /// # Errors
    /// As [`Attempt::lock`], but for [`Error::NotRecoverable`]; the lock is home then, unless it was away.
    pub fn move_away(&self, limit: Limit) -> Result<()> {
        let (site, lock, me) = (&self.site, self.site.lock(), self.site.me());
        // No other participant writes that. The head of the queue waits for us then, and we would wait for it.
        if lock.link().is_some_and(|link| link.is_away()) {
            return Ok(());
        }
        let idle = site.local().begin().ok_or(Error::Deadlock)?;
        if idle != Idle::Bare {
            HeadOf::<S>::forgo(self, idle);
        }
        self.write_claim();
        let moved = queue::enter_as_head(self, limit).map(|()| {
            if lock.revoking_since() != 0 {
                lock.set_revoking_since(0);
            }
            // Before the word: should we die between the two, the lock is home, and unbiased.
            lock.bias().unbias();
            if let Some(link) = lock.link() {
                link.move_away();
            }
            trace::at(Step::LinkAway);
            eviction::step_back(self);
            lock.queue().leave(me);
            lock.unpark_waiters_of(me);
            lock.unpark_standby(me, true);
        });
        site.local().record(None);
        moved
    }
}
