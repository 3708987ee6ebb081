//! The share that one host has of a linked semaphore's permits, from the side of those that want permits; what
//! the agent does is in [`super::drain`].
//!
//! The permits of a linked semaphore are shared out among hosts. The number of permits in the file is this host's *share*, which may be 0; the
//! total over all hosts is a word of its own ([`crate::algorithm::link::Link::total`]). An engine of all hosts knows of each share; the agent
//! keeps the share in the file no larger than what the engine has for this host:
//!
//! ```text
//! grow       the engine first; then the share, and all that wait look again
//! shrink     the share; then, whenever fewer permits are inside: BARRIER, look; then the engine, to no less than these and the share
//! entry      the number of permits changed since the doorway? then by the present one, as after any change of it
//! no room    a claim of more than the share, at the head of the queue: it waits in its place until the share has grown
//! ```
//! - *Invariant*: whatever participant is inside, it and all those before it in the queue want no more permits than the share, or than the one
//!   before it, until the agent has found that those fit. For each enters by that sum, and no participant's number becomes smaller than one that
//!   stands. So it is enough to look at the last participant that is inside, and at those before it: that set loses members, and gains none
//!   but by entries that were measured by the new share.
//! - The shares of all hosts are no more than the total together, so neither are the permits that are inside anywhere.
//! - A participant that stores `held` and then looks at the number of permits, and the agent, which stores that number and then looks at
//!   `held`, have a barrier between on each side. If the agent's comes first, the participant sees the new share; if the participant's does,
//!   the agent sees that it is inside.
//! - A place in the queue that is reserved, and not used, is taken away as by any waiter. It must be: its participant re-enters if the
//!   number of permits is that of its doorway, which it may be again after some changes, with others inside that the agent measured without
//!   it.
//! - A waiter that lost its place does not enter by it; it counts for nothing, once it is seen outside after the barrier.
//! - A *lease* ([`crate::algorithm::link`]) begins while the share is 0 and drained, twice: after the first time no participant is inside that
//!   looked before, and might reserve its place; after the second no place is reserved still. Who enters has seen the larger share that was written after it, and looks
//!   at its end in the entry step. After its end no program of the host enters, and those inside are told so; the share stays.
//! - The agent stands in no queue. It holds nothing, and its death leaves a share that is no more than what the engine has for this host.

use super::{
    bias,
    site::{Attempt, Lock, Site},
};
use crate::algorithm::claim::Claims;
use crate::error::Result;
use crate::sync::Ordering::Relaxed;
use crate::trace::{self, Step};

/// Returns how much the participant wants and how much there is in all, over all hosts, if that is less.
pub fn shortage<S: Site>(attempt: &Attempt<S>) -> Option<(u32, u32)> {
    let lock = attempt.site.lock();
    let (wanted, here) = lock.queue().claims.shortage(attempt.claim)?;
    // Relaxed: it is never changed.
    let total =
        lock.link().filter(|_| attempt.config.is_linked).map_or(here, |link| link.total.load(Relaxed));
    (wanted > total).then_some((wanted, total))
}

/// Tells the agent of a linked semaphore that permits are wanted that are not free here, unless all permits are this host's.
#[cold]
pub fn tell_agent<S: Site>(attempt: &Attempt<S>) {
    let lock = attempt.site.lock();
    let wanted = lock.queue().claims.permits_wanted(attempt.claim).filter(|_| attempt.config.is_linked);
    let Some(((wanted, here), link)) = wanted.zip(lock.link()) else { return };
    if here < link.total.load(Relaxed)
        && let Some(agent) = link.want_permits(wanted)
    {
        lock.wake_agent(agent);
    }
}

/// Does what [`tell_agent`] does, once for each number in the queue.
#[inline]
pub fn tell_agent_once<S: Site>(attempt: &Attempt<S>, was_told: &mut bool) {
    if attempt.config.is_linked && !std::mem::replace(was_told, true) {
        tell_agent(attempt);
    }
}

/// Waits, at the head of the queue and outside of the entry step, until the share of this host is as much as the participant wants.
#[cold]
pub fn wait_if_too_small<S: Site>(attempt: &Attempt<S>, waiter: &mut S::Waiter) -> Result<()> {
    let (lock, me) = (attempt.site.lock(), attempt.site.me());
    let is_too_small = || lock.queue().claims.shortage(attempt.claim).is_some();
    let Some(link) = lock.link().filter(|_| attempt.config.is_linked && is_too_small()) else {
        return Ok(());
    };
    if shortage(attempt).is_some() {
        return Ok(());
    }
    trace::at(Step::LinkWait);
    tell_agent(attempt);
    // As in `link::wait_until_admitted`.
    let spot = || link.agent().filter(|slot| *slot < lock.slots()).unwrap_or(me);
    bias::wait_in_place(waiter, spot, is_too_small)
}
