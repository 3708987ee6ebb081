//! Waiting for the turn to come round, and passing it on: a ring in a lock's registers.
//!
//! The lock's queue is the ring's *reconfiguration lock*: under it participants say that they want a turn, and act for a
//! machine that has the privilege and whose participant does not want it, or does not come for it.
//!
//! The participant that has the privilege takes the entry step before it goes in (`algorithm::eviction`), and is on its way out until
//! the privilege is passed on. A participant on demand that does not come is *evicted*: told so, and seen outside after the
//! heavy barrier, it is no member any more. Its entry step names its last doorway, the one through which it had the
//! reconfiguration lock last; so either that is the one that was evicted, or it has had the lock since, and seen that it
//! is no member. (A participant that asks for that lock in vain gives up its membership, or is a member for every turn, and is not
//! evicted.)

use super::{
    attempt::Attempt,
    eviction,
    local::Holding,
    queue,
    site::{Limit, Lock, Outcome, Overdue, Overwritten, Site, Waiter},
};
use crate::algorithm::{
    Blocker, Protocol,
    ownership::token_in,
    ring::{Machines, Membership, Passed, Ring, Rule, Survey},
};
use crate::error::{Error, Result};
use crate::sync::{Ordering::Acquire, full_fence};
use crate::trace::{self, Step};
use std::time::Duration;

/// The reconfiguration lock is held for some hundred instructions, and a caller that has little time or none may wait for
/// that: else two that come at once could both be turned away from a ring without members. Nor does a participant wait longer
/// that only leaves: one that still waits for its turn does what was left undone.
const RECONFIGURATION_LIMIT: Duration = Duration::from_millis(20);

/// Waits for the turn as long as `limit` says, and writes the participant down as the holder.
pub fn acquire<S: Site>(
    attempt: &Attempt<S>,
    rule: Rule,
    membership: Membership,
    limit: Limit,
) -> Result<Holding> {
    let site = &attempt.site;
    let me = site.me();
    let mut wait = RingWait::new(attempt, rule, limit, true);
    wait.acquire(membership)?;
    let token = site.check_intact().and_then(|()| {
        trace::at(Step::Won);
        site.lock().set_since(me, site.now());
        site.lock()
            .ownership()
            .claim_token(site.lock().held(me))
            .ok_or_else(|| site.overwritten(Overwritten::Token))
    });
    match token {
        Ok(token) => {
            trace::at(Step::Section);
            Ok(Holding { token, unbiased: true, among_readers: false })
        }
        Err(error) => {
            eviction::step_back(attempt);
            wait.depart();
            Err(error)
        }
    }
}

/// Passes the turn on, after the section; no participant is written down as the holder.
pub fn leave<S: Site>(attempt: &Attempt<S>, rule: Rule, membership: Membership) {
    let site = &attempt.site;
    let (ring, me) = (Ring { rule, machines: site.lock().machines() }, site.me());
    // Until the privilege is passed on, no other participant may act for our machine.
    site.lock().ownership().begin_exit(site.lock().held(me));
    trace::at(Step::Leave);
    site.lock().set_since(me, 0);
    let passed = ring.pass(me, |left| {
        site.lock().unpark_waiters_of(left);
    });
    trace::at(Step::Passed);
    if membership == Membership::OneTurn {
        ring.machines.set_membership(me, Membership::None);
    }
    // Release, in there. Partner: the acquire load in `Eviction::is_outside`. If it reads our 0, the participant that evicts us
    // has what we passed on; if it reads what stood before, it leaves us alone.
    eviction::step_back(attempt);
    trace::at(Step::Wake);
    // Its fence comes before the looks below. Partner: the fence in `RingWait::depart` and that in `RingWait::join`.
    site.lock().unpark_waiters_of(me);
    let stranded = match passed {
        Passed::To(next) => ring.machines.membership(next) == Membership::None,
        Passed::ToNobody => membership == Membership::OneTurn && ring.is_wanted_beside(me),
    };
    let came_back = membership == Membership::OneTurn && passed != Passed::ToNobody && ring.has_privilege(me);
    // A waiter would find it too, a little later.
    if stranded || came_back {
        let _ = RingWait::new(attempt, rule, Limit::For(RECONFIGURATION_LIMIT), false).settle();
    }
    // Last: a signal handler that comes before finds it under way, and leaves our number in the bakery alone.
    site.local().record(None);
}

/// Has a ring that was overwritten begin anew with this participant, before a lock that is closed for everyone is opened
/// again. While it is closed no participant takes a turn, so a survey that finds nothing moving is right.
pub fn renew<S: Site>(attempt: &Attempt<S>, rule: Rule, limit: Limit) -> Result<()> {
    let wait = RingWait::new(attempt, rule, limit, true);
    wait.reconfigure(|| {
        if matches!(wait.ring.survey(), Survey::Several | Survey::Lost) && wait.nobody_is_inside() {
            wait.ring.begin(attempt.site.me());
        }
    })
}

/// Takes a member for every turn out of the ring: it is passed over from now on.
pub fn depart<S: Site>(attempt: &Attempt<S>, rule: Rule) {
    RingWait::new(attempt, rule, Limit::Forever, true).depart();
}

/// One wait for the turn.
struct RingWait<'a, S: Site> {
    attempt: &'a Attempt<S>,
    ring: Ring<<S::Lock as Lock>::Machines>,
    waiter: S::Waiter,
    may_be_ended: bool,
}

impl<'a, S: Site> RingWait<'a, S> {
    /// `may_be_ended`: what is done in leaving is not for others to end, a cancel is for the next wait.
    fn new(attempt: &'a Attempt<S>, rule: Rule, limit: Limit, may_be_ended: bool) -> Self {
        let site = &attempt.site;
        let waiter = site.waiter(limit, 0, may_be_ended);
        RingWait { attempt, ring: Ring { rule, machines: site.lock().machines() }, waiter, may_be_ended }
    }

    /// Says what the participant wants, waits until the privilege is here, and takes the entry step. With an error, a
    /// membership for one turn is given up.
    fn acquire(&mut self, membership: Membership) -> Result<()> {
        let known = self.ring.machines.membership(self.attempt.site.me());
        let is_member = known == membership || known == Membership::EveryTurn;
        let waited = if is_member { Ok(()) } else { self.join(membership) };
        let waited = waited.and_then(|()| self.reach_the_turn(membership));
        if waited.is_err() && membership == Membership::OneTurn {
            self.depart();
        }
        waited
    }

    fn reach_the_turn(&mut self, membership: Membership) -> Result<()> {
        let me = self.attempt.site.me();
        trace::at(Step::Rotate);
        loop {
            // In this order: an eviction from before we had the reconfiguration lock last is seen here, one from after
            // that in the entry step.
            let known = self.ring.machines.membership(me);
            let is_member = known != Membership::None;
            if is_member && !self.ring.has_privilege(me) {
                self.wait_a_little()?;
                continue;
            }
            if is_member && eviction::publish_trying(self.attempt) {
                return Ok(());
            }
            trace::at(Step::Evicted);
            self.join(if is_member { known } else { membership })?;
            trace::at(Step::Rotate);
        }
    }

    fn join(&self, membership: Membership) -> Result<()> {
        self.reconfigure(|| {
            self.ring.machines.set_membership(self.attempt.site.me(), membership);
            // Partner: the fence after a membership is given up. If theirs comes first, we see below that the privilege was left
            // behind; if ours does, the leaver sees that we want it.
            full_fence();
            self.settle_here();
        })
    }

    fn depart(&self) {
        let site = &self.attempt.site;
        let me = site.me();
        // A child that was forked in the wait is on no ring.
        if !site.is_ours() {
            return;
        }
        trace::at(Step::Withdraw);
        site.lock().set_since(me, 0);
        self.ring.machines.set_membership(me, Membership::None);
        // Partner: the fence in `leave`. If theirs comes first, we see that the privilege came to us; if ours does, the participant
        // that passed it sees that we are gone.
        full_fence();
        if self.ring.has_privilege(me) {
            // Not for as long as the wait that is given up, and not to be cancelled.
            let limit = Limit::For(RECONFIGURATION_LIMIT);
            let _ = RingWait::new(self.attempt, self.ring.rule, limit, false).settle();
        }
        // Those behind us were parked at our slot.
        site.lock().unpark_waiters_of(me);
    }

    /// The nearest slot below that of the participant, round the table, of which the ring has a member, or is to have one: each
    /// waiter checks a different slot.
    fn nearest_member(&self) -> Option<usize> {
        let (machines, me) = (self.ring.machines, self.attempt.site.me());
        let count = machines.count();
        (1..count)
            .map(|down| (me + count - down) % count)
            .find(|slot| machines.membership(*slot) != Membership::None)
    }

    fn wait_a_little(&mut self) -> Result<()> {
        let (ring, machines, me) = (self.ring, self.ring.machines, self.attempt.site.me());
        let link = machines.link(me);
        // On the ring, at the left neighbour's slot; else at that of the owner of the privilege, which will take us in.
        let left = link.link(machines.count()).map(|link| link.left).filter(|left| *left != me);
        let beside = left.or_else(|| ring.who()).filter(|beside| *beside != me).unwrap_or(me);
        let (state, membership) = (machines.state(beside), machines.membership(beside));
        let ahead = if ring.has_privilege(beside) { 1 } else { 2 };
        let must_wait = || {
            machines.link(me) == link
                && machines.state(beside) == state
                && machines.membership(beside) == membership
        };
        if ring.has_privilege(me) {
            return Ok(());
        }
        let limit = self.waiter.limit();
        let outcome = match limit {
            Limit::Never => Outcome::TimedOut,
            _ => self.waiter.wait(&Blocker { slot: beside, seen: state, ahead }, must_wait),
        };
        match outcome {
            Outcome::LookAgain | Outcome::BackOff => Ok(()),
            Outcome::Cancelled => Err(Error::Cancelled),
            Outcome::Interrupted | Outcome::Forked => Err(Error::Interrupted),
            Outcome::TimedOut | Outcome::CheckAlive => {
                self.check_privilege()?;
                if outcome == Outcome::CheckAlive {
                    self.waiter.check_circle()?;
                }
                match outcome {
                    Outcome::TimedOut if !ring.has_privilege(me) => Err(limit.passed()),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Finds the privilege, and checks the participant that should pass it on. Before that the member next to it, so that one that dies far
    /// from the privilege is not found only when that comes to it.
    fn check_privilege(&mut self) -> Result<()> {
        let (site, ring) = (&self.attempt.site, self.ring);
        let me = site.me();
        if let Some(beside) = self.nearest_member() {
            self.waiter.check_alive(beside)?;
        }
        if ring.rule == Rule::Raynal && ring.survey() == Survey::Several {
            return self.close();
        }
        match ring.who().filter(|machine| ring.has_privilege(*machine)) {
            Some(machine) if machine == me => Ok(()),
            Some(machine) if ring.machines.membership(machine) == Membership::None => self.settle(),
            Some(machine) => {
                if self.waiter.check_alive(machine)? {
                    self.settle()
                } else {
                    self.pass_over(machine)
                }
            }
            None => {
                // It is being moved now, or it is lost. One that is inside all the same must be out first, or dead.
                let insider = (0..site.lock().slots()).find(|slot| is_inside(site, *slot));
                let reaped = self.waiter.check_alive(insider.unwrap_or(me))?;
                if insider.is_none() || reaped { self.settle() } else { Ok(()) }
            }
        }
    }

    /// Evicts the participant of `machine`, which has the privilege and does not come for it, and acts for its machine.
    fn pass_over(&mut self, machine: usize) -> Result<()> {
        let (site, machines) = (&self.attempt.site, self.ring.machines);
        let lock = site.lock();
        let could_enter =
            machines.membership(machine) == Membership::OneTurn && lock.held(machine).load(Acquire) == 0;
        let doorway = || (machine, lock.eviction(machine).doorway.load(Acquire));
        match self.waiter.is_overdue(could_enter.then(doorway), 1) {
            Overdue::No => return Ok(()),
            Overdue::Call => {
                // It is parked beside its left neighbour.
                let left = machines.link(machine).link(machines.count()).map(|link| link.left);
                left.into_iter().for_each(|left| {
                    lock.unpark_waiters_of(left);
                });
                return Ok(());
            }
            Overdue::IfStopped if !site.is_stopped(machine) => return Ok(()),
            Overdue::IfStopped | Overdue::Yes => {}
        }
        self.reconfigure(|| {
            if machines.membership(machine) == Membership::OneTurn && self.ring.has_privilege(machine) {
                self.evict_member(machine);
            }
            self.settle_here();
        })
    }

    /// With the reconfiguration lock in hand: has `machine` without a member, unless its participant is inside, on its way
    /// in, or on its way out.
    fn evict_member(&self, machine: usize) {
        if eviction::evict_one(self.attempt, machine) {
            // No other participant makes it a member as long as we have the lock.
            self.ring.machines.set_membership(machine, Membership::None);
            trace::at(Step::PassedOver);
        }
    }

    /// Several have the privilege, which a living one cannot be asked to give up and Raynal's ring does not mend: closes
    /// the lock for everyone until a reset, since what it protects cannot be trusted.
    fn close(&mut self) -> Result<()> {
        let mut closed = false;
        self.reconfigure(|| {
            closed = self.ring.survey() == Survey::Several;
            if closed {
                self.attempt.site.lock().record_overwritten_ring();
                self.attempt.site.lock().ownership().close();
            }
        })?;
        if closed { Err(Error::NotRecoverable) } else { Ok(()) }
    }

    /// Acts for machines that have the privilege and no membership, until it is where it is wanted.
    fn settle(&self) -> Result<()> {
        self.reconfigure(|| self.settle_here())
    }

    /// Does `act` with the reconfiguration lock in hand.
    fn reconfigure(&self, act: impl FnOnce()) -> Result<()> {
        let site = &self.attempt.site;
        let limit = match self.waiter.limit() {
            Limit::Never => Limit::For(RECONFIGURATION_LIMIT),
            Limit::For(limit) => Limit::For(limit.max(RECONFIGURATION_LIMIT)),
            Limit::Forever => Limit::Forever,
        };
        queue::queue_and_enter(self.attempt, limit, 0, self.may_be_ended).map_err(|error| match error {
            Error::TimedOut(_) => self.waiter.limit().passed(),
            error => error,
        })?;
        trace::at(Step::Reconfigure);
        // No participant removes the lock meanwhile; if it was removed before, the ring is another lock's.
        let named = site.check_exists();
        if named.is_ok() {
            act();
        }
        eviction::step_back(self.attempt);
        site.lock().queue().leave(site.me());
        site.lock().unpark_waiters_of(site.me());
        named
    }

    fn settle_here(&self) {
        let site = &self.attempt.site;
        let (ring, me) = (self.ring, site.me());
        // Once round at most: what is left to do then is for the next waiter.
        for _ in 0..ring.machines.count() {
            let Some(absent) = ring.absent_with_privilege() else { break };
            let passed = ring.pass(absent, |slot| {
                site.lock().unpark_waiters_of(slot);
            });
            if passed == Passed::ToNobody {
                return;
            }
            site.lock().unpark_waiters_of(absent);
        }
        let is_member = ring.machines.membership(me) != Membership::None;
        if !is_member || ring.who().is_some_and(|slot| ring.has_privilege(slot)) {
            return;
        }
        match ring.survey() {
            Survey::Empty | Survey::Lost if self.nobody_is_inside() => ring.begin(me),
            _ => {}
        }
    }

    fn nobody_is_inside(&self) -> bool {
        let site = &self.attempt.site;
        (0..site.lock().slots()).all(|slot| !is_inside(site, slot))
    }
}

fn is_inside<S: Site>(site: &S, slot: usize) -> bool {
    token_in(site.lock().held(slot).load(Acquire)).is_some()
}
