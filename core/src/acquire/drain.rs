//! The agent's part in a linked semaphore: the share of this host, and what is inside. The rules stand in [`super::share`].

use super::{
    eviction,
    local::Idle,
    reservation::is_reserved,
    site::{Attempt, HeadOf, Limit, Lock, Outcome, QueueHead, Site, Waiter},
};
use crate::algorithm::{
    Blocker, Place, Protocol,
    bakery::Registers,
    claim::{Claim, ClaimCell, Claims, Extent, InCells, Mode},
    eviction::Skipped,
};
use crate::error::{Error, Result};
use crate::sync::Ordering::{Acquire, Release};
use crate::trace::{self, Step};

/// What the programs of a host have and want of a semaphore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// The permits of those that are inside.
    pub used: u64,
    /// The permits that others wait for.
    pub awaited: u64,
    /// Those that the first of them waits for; 0: none waits.
    pub first: u32,
}

/// The claim of an agent, of [`Attempt::drain_share`]: it is for no permits.
pub const NO_PERMITS: Claim = Claim { mode: Mode::Everything, weight: 0, extent: Extent::WHOLE };

impl<'a, S, C> Attempt<S>
where
    S: Site,
    C: ClaimCell + 'a,
    S::Lock: Lock<Claims = InCells<'a, C>>,
{
    /// Waits until those that are inside fit into the share of this host, or have fewer permits than `below`, and none comes in any more that does
    /// not, as the agent. Returns how many permits programs may have from then on, at most: no less than the share.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if this participant is inside itself; others as [`Attempt::lock`] for its wait.
    pub fn drain_share(&self, below: u32, limit: Limit) -> Result<u32> {
        let local = self.site.local();
        let Some(idle) = local.begin() else { return Err(Error::Deadlock) };
        if idle != Idle::Bare {
            HeadOf::<S>::forgo(self, idle);
        }
        // It is seen to wait, and wants nothing.
        self.write_claim();
        let drained = self.wait_until_drained(below, limit);
        local.record(None);
        drained
    }

    /// Begins a lease of a semaphore of which this host has no permit and that has none, as the agent, once no participant is inside, and none
    /// can come in by a place that is reserved: no such place begins under a lease. Errors as [`Attempt::drain_share`]; it has no lease then.
    pub fn begin_lease_of_share(&self, end: u64, limit: Limit) -> Result<()> {
        self.drain_share(1, limit)?;
        // One that was inside when places were taken away may have reserved its own since, before it left. That is seen now, by the acquire load
        // of its `held`; and from here on none is inside, since the share is 0.
        self.drain_share(1, limit)?;
        if let Some(link) = self.site.lock().link() {
            link.set_lease_end(end);
            trace::at(Step::LinkLease);
        }
        Ok(())
    }

    fn wait_until_drained(&self, below: u32, limit: Limit) -> Result<u32> {
        let lock = self.site.lock();
        let mut waiter = self.site.waiter(limit, 0, true);
        let mut is_late = limit == Limit::Never;
        loop {
            self.site.check_intact().and_then(|()| self.site.check_exists())?;
            let share = lock.queue().claims.permits();
            let Some((last, permits)) = self.inside()?.filter(|(_, permits)| *permits > share) else {
                return Ok(share);
            };
            if permits < below {
                return Ok(permits);
            }
            if is_late {
                return Err(limit.passed());
            }
            let claims = lock.queue().claims;
            let (held, weight) = (lock.held(last).load(Acquire), claims.read(last).weight);
            let is_as_before =
                || held != 0 && lock.held(last).load(Acquire) == held && claims.read(last).weight == weight;
            let blocker = Blocker { slot: last, seen: 0, ahead: 1 };
            waiter.queue_for_good();
            trace::at(Step::RevokeWait);
            match waiter.wait(&blocker, is_as_before) {
                Outcome::LookAgain | Outcome::BackOff => {}
                Outcome::Cancelled => return Err(Error::Cancelled),
                Outcome::Interrupted | Outcome::Forked => return Err(Error::Interrupted),
                outcome @ (Outcome::TimedOut | Outcome::CheckAlive) => {
                    eviction::reap_insiders(self, &mut waiter)?;
                    // One look more: what was waited for may just have come.
                    is_late = outcome == Outcome::TimedOut;
                }
            }
        }
    }

    /// Returns the last participant that is inside, and how many permits it and all before it have, or want. Takes reserved places away.
    fn inside(&self) -> Result<Option<(usize, u32)>> {
        let lock = self.site.lock();
        let (queue, mut lost) = (lock.queue(), Skipped::NONE);
        let slots = || 0..queue.registers.bound();
        for slot in slots() {
            // Its number stays: those behind it end it, by a number of their own that stands meanwhile.
            if is_reserved(lock, slot) {
                lock.eviction(slot).evict();
            }
            if lock.eviction(slot).is_evicted() {
                lost.insert(slot);
            }
        }
        // Between the share and what was evicted, which are before it, and the looks at `held`. Partners: the barriers of the entry step, after
        // which it looks at both.
        eviction::pass_the_barrier(&self.site)?;
        trace::at(Step::ShareLook);
        // Acquire. Partner: the release stores of 0. If we read that 0, the section is over.
        let is_inside = |slot: usize| lock.held(slot).load(Acquire) != 0;
        // One whose number cannot be read comes after all others.
        let order = |slot: usize| match queue.place(slot) {
            Place::Numbered(number) => (number, slot),
            _ => (u64::MAX, slot),
        };
        let Some(last) = slots().filter(|slot| is_inside(*slot)).map(order).max() else { return Ok(None) };
        let before = |slot: &usize| {
            let is_in_the_queue = match queue.place(*slot) {
                Place::Numbered(number) => (number, *slot) <= last,
                Place::Corrupt(_) => true,
                Place::Choosing | Place::Idle => false,
            };
            let has_lost = lost.has(*slot) && lock.eviction(*slot).is_evicted();
            is_inside(*slot) || is_in_the_queue && !has_lost
        };
        let sum: u64 = slots().filter(before).map(|slot| u64::from(queue.claims.read(slot).weight)).sum();
        Ok(Some((last.1, u32::try_from(sum).unwrap_or(u32::MAX))))
    }
}

/// Makes the share of this host so large, as the agent of a linked semaphore. If it is larger, the waiters are to be unparked afterwards; if it is
/// smaller, [`Attempt::drain_share`] says when fewer permits are inside.
pub fn set<'a, C, L>(lock: &L, share: u32)
where
    C: ClaimCell + 'a,
    L: Lock<Claims = InCells<'a, C>>,
{
    // Release. Partner: the acquire load in `InCells::permits`.
    lock.queue().claims.permits.store(share, Release);
    trace::at(Step::ShareSet);
}

/// Returns what the programs of this host have and want: `waits` says of a slot that its participant waits, in the queue or in the standby queue.
pub fn demand<'a, L, C>(lock: &L, waits: impl Fn(usize) -> bool) -> Demand
where
    C: ClaimCell + 'a,
    L: Lock<Claims = InCells<'a, C>>,
{
    let queue = lock.queue();
    let (mut demand, mut first) = (Demand::default(), None);
    for slot in 0..queue.registers.bound() {
        let (place, claim) = (queue.place(slot), queue.claims.read(slot));
        if claim.mode == Mode::Everything {
            continue;
        }
        if lock.held(slot).load(Acquire) != 0 {
            demand.used += u64::from(claim.weight);
        } else if waits(slot) || matches!(place, Place::Numbered(_)) && !is_reserved(lock, slot) {
            demand.awaited += u64::from(claim.weight);
            let order = match place {
                Place::Numbered(number) => number,
                _ => u64::MAX,
            };
            first = first.min(Some((order, slot, claim.weight))).or(Some((order, slot, claim.weight)));
        }
    }
    demand.first = first.map_or(0, |(_, _, weight)| weight);
    demand
}
