//! Waiting for the turn to come round, and passing it on: a ring in a lock's region.
//!
//! The region's numbers are the ring's *reconfiguration lock*: a bakery, under which participants say that they want a
//! turn, and act for a machine that has the privilege and whose participant does not want it.

use super::{
    attachment::Have,
    engine::At,
    liveness::{LivenessCheck, out_of_time},
};
use crate::algorithm::{
    Blocker, Protocol,
    ownership::token_in,
    ring::{Machines, Passed, Ring, Rule, Survey, Wish},
};
use crate::error::{Error, Result};
use crate::layout::Cell;
use crate::mutants::{Mutant, planted};
use crate::os::clock;
use crate::recovery::{self, bakery, ownership, spot, wake_next};
use crate::sync::{Ordering::Acquire, Ordering::Relaxed, full_fence};
use crate::trace::{self, Step};
use crate::wait::{Cancel, Limit, Outcome, Stop, Waiter};
use std::time::Duration;

/// The reconfiguration lock is held for some hundred instructions, and whoever has little time or none may wait for
/// that: else two who come at once could both be turned away from a ring that nobody is on. Nor does anybody wait longer
/// who only leaves: whoever still waits for its turn will do what was left undone.
const TRY_WAITS: Duration = Duration::from_millis(20);

/// Waits for the turn as long as `limit` says, and writes us down as the holder.
pub fn enter(at: &At, rule: Rule, wish: Wish, limit: Limit) -> Result<Have> {
    let mut rotation = Rotation::new(at, rule, limit, at.stop());
    rotation.come(wish)?;
    let file = &at.attachment.file;
    let cell = &at.lock.cells[at.attachment.slot];
    let token = if file.is_intact() {
        trace::at(Step::Won);
        cell.since.store(clock::coarse_monotonic_ns(), Relaxed);
        ownership(at.lock.words).enter(&cell.held).ok_or_else(|| at.impossible_token())
    } else {
        Err(file.not_intact())
    };
    match token {
        Ok(token) => {
            trace::at(Step::Section);
            Ok(Have { token, plainly: true })
        }
        Err(error) => {
            rotation.take_wish_back();
            Err(error)
        }
    }
}

/// The section is over, and nobody is written down as the holder: the next one's turn.
pub fn pass_on(at: &At, rule: Rule, wish: Wish) {
    let (ring, me) = (recovery::ring(&at.lock, rule), at.attachment.slot);
    at.lock.cells[me].since.store(0, Relaxed);
    let passed = ring.pass(me, |left| {
        wake_next(&at.lock, at.region, left);
    });
    trace::at(Step::Passed);
    if wish == Wish::OneTurn {
        ring.machines.set_wish(me, Wish::None);
    }
    trace::at(Step::Wake);
    // Its fence comes before the looks below. Partner: the fence in `Rotation::take_wish_back` and that after a wish.
    wake_next(&at.lock, at.region, me);
    let stranded = match passed {
        Passed::To(next) => ring.machines.wish(next) == Wish::None,
        Passed::ToNobody => wish == Wish::OneTurn && ring.is_wanted_beside(me),
    };
    // Whoever waits would find it too, a little later.
    if stranded || (wish == Wish::OneTurn && passed != Passed::ToNobody && ring.has_privilege(me)) {
        let _ = Rotation::new(at, rule, Limit::For(TRY_WAITS), nothing_stops(&Cancel::default())).settle();
    }
    // Last: a signal handler that comes before finds it under way, and leaves our number in the bakery alone.
    at.attachment.own(at.region).note(None);
}

/// Before a lock that is closed for everyone is opened again: a ring that was overwritten begins anew, with us. While
/// it is closed nobody takes turns, so a look that finds nothing moving is right.
pub fn renew(at: &At, rule: Rule, limit: Limit) -> Result<()> {
    let rotation = Rotation::new(at, rule, limit, at.stop());
    rotation.reconfigure(|| {
        if matches!(rotation.ring.survey(), Survey::Several | Survey::Lost) && rotation.nobody_is_inside() {
            rotation.ring.begin(at.attachment.slot);
        }
    })
}

/// Out of the ring: it is passed over from now on.
pub fn leave(at: &At, rule: Rule) {
    Rotation::new(at, rule, Limit::Forever, at.stop()).take_wish_back();
}

/// What is done in leaving is not for others to end: a cancel is for the next wait.
fn nothing_stops(nobody: &Cancel) -> Stop<'_> {
    Stop { cancel: nobody, interrupt: None }
}

/// One wait for the turn.
struct Rotation<'a, M> {
    at: &'a At<'a>,
    ring: Ring<M>,
    waiter: Waiter<'a>,
    stop: Stop<'a>,
    watch: LivenessCheck<'a>,
}

impl<'a> Rotation<'a, ()> {
    fn new(
        at: &'a At<'a>,
        rule: Rule,
        limit: Limit,
        stop: Stop<'a>,
    ) -> Rotation<'a, impl Machines + Copy + use<'a>> {
        let since = &at.lock.cells[at.attachment.slot].since;
        let waiter = Waiter::new(limit, 0, at.attachment.slot, (stop, &at.attachment.awake), since);
        Rotation { at, ring: recovery::ring(&at.lock, rule), waiter, stop, watch: LivenessCheck::new(at) }
    }
}

impl<M: Machines + Copy> Rotation<'_, M> {
    /// Says what we want and waits until the privilege is here. With an error, a wish for one turn is taken back.
    fn come(&mut self, wish: Wish) -> Result<()> {
        let me = self.at.attachment.slot;
        let known = self.ring.machines.wish(me);
        let waited = if known == wish || known == Wish::Standing { Ok(()) } else { self.ask(wish) };
        let waited = waited.and_then(|()| {
            trace::at(Step::Rotate);
            while !self.ring.has_privilege(me) {
                self.wait_a_little()?;
            }
            Ok(())
        });
        if waited.is_err() && wish == Wish::OneTurn {
            self.take_wish_back();
        }
        waited
    }

    fn ask(&self, wish: Wish) -> Result<()> {
        let set = || {
            self.ring.machines.set_wish(self.at.attachment.slot, wish);
            // Partner: the fence after a wish is taken back. Whoever leaves the privilege behind sees that we want it,
            // or we see that it is left behind.
            full_fence();
        };
        if planted(Mutant::AskWithoutLock) {
            set();
            return Ok(());
        }
        self.reconfigure(|| {
            set();
            self.settle_here();
        })
    }

    fn take_wish_back(&self) {
        let me = self.at.attachment.slot;
        // A child that was forked in the wait has no wish.
        if !self.at.attachment.is_ours() {
            return;
        }
        trace::at(Step::Withdraw);
        self.at.lock.cells[me].since.store(0, Relaxed);
        self.ring.machines.set_wish(me, Wish::None);
        // Partner: the fence in `pass_on`. Either we see that the privilege came, or who passed it sees that we are
        // gone.
        full_fence();
        if self.ring.has_privilege(me) {
            // Not for as long as the wait that is given up, and not to be cancelled.
            let _ = Rotation::new(
                self.at,
                self.ring.rule,
                Limit::For(TRY_WAITS),
                nothing_stops(&Cancel::default()),
            )
            .settle();
        }
        // Those behind us slept beside us.
        wake_next(&self.at.lock, self.at.region, me);
    }

    fn wait_a_little(&mut self) -> Result<()> {
        let At { attachment, lock, region, .. } = self.at;
        let (ring, machines, me) = (self.ring, self.ring.machines, attachment.slot);
        let link = machines.link(me);
        // On the ring, beside the left neighbour; else beside whoever has the privilege and will take us in.
        let left = link.link(machines.count()).map(|link| link.left).filter(|left| *left != me);
        let beside = left.or_else(|| ring.who()).filter(|beside| *beside != me).unwrap_or(me);
        let (mine, theirs) = (&lock.cells[me], &lock.cells[beside]);
        // Acquire, here and in `unchanged`. Partner: the release stores of these words, as in `algorithm::ring`.
        let state = theirs.ring_state.load(Acquire);
        let wish = theirs.ring_wish.load(Acquire);
        let ahead = if ring.has_privilege(beside) { 1 } else { 2 };
        let unchanged = || {
            mine.ring_link.load(Acquire) == link.0
                && theirs.ring_state.load(Acquire) == state
                && theirs.ring_wish.load(Acquire) == wish
        };
        if ring.has_privilege(me) {
            return Ok(());
        }
        let limit = self.waiter.limit();
        let step = match limit {
            Limit::Never => Outcome::TimedOut,
            _ => {
                let blocker = Blocker { slot: beside, seen: state, ahead };
                self.waiter.step(unchanged, spot(lock, *region, beside), &blocker)
            }
        };
        match step {
            Outcome::LookAgain | Outcome::StepAside => Ok(()),
            Outcome::Cancelled => Err(Error::Cancelled),
            Outcome::Interrupted | Outcome::Forked => Err(Error::Interrupted),
            Outcome::TimedOut | Outcome::AskWhetherAlive => {
                self.look_around()?;
                match step {
                    Outcome::TimedOut if !ring.has_privilege(me) => Err(out_of_time(limit)),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Where is the privilege, and is all well with whoever should pass it on?
    fn look_around(&mut self) -> Result<()> {
        let (ring, me) = (self.ring, self.at.attachment.slot);
        let inside = |cell: &Cell| token_in(cell.held.load(Acquire)).is_some();
        if ring.rule == Rule::Raynal && ring.survey() == Survey::Several {
            return self.close();
        }
        match ring.who().filter(|machine| ring.has_privilege(*machine)) {
            Some(machine) if machine == me => Ok(()),
            Some(machine) if ring.machines.wish(machine) == Wish::None => self.settle(),
            Some(machine) => {
                if self.watch.check(machine)? {
                    self.settle()?;
                }
                Ok(())
            }
            None => {
                // Somebody moves it now, or nobody has it. Who is inside all the same must be out first, or dead.
                let insider = self.at.lock.cells.iter().position(inside);
                let buried = self.watch.check(insider.unwrap_or(me))?;
                if insider.is_none() || buried { self.settle() } else { Ok(()) }
            }
        }
    }

    /// Several have the privilege, which a living one cannot be asked to give up and Raynal's ring does not mend:
    /// closes the lock for everyone until a reset, since what it protects cannot be trusted.
    fn close(&mut self) -> Result<()> {
        let mut closed = false;
        self.reconfigure(|| {
            closed = self.ring.survey() == Survey::Several;
            if closed {
                let (words, news) = (self.at.lock.words, &self.at.lock.words.previous_owner);
                news.token.store(words.token.load(Relaxed), Relaxed);
                news.pid.store(0, Relaxed);
                news.tid.store(0, Relaxed);
                news.label.set("somebody who overwrote the ring");
                ownership(words).close();
            }
        })?;
        if closed { Err(Error::NotRecoverable) } else { Ok(()) }
    }

    /// Acts for machines that have the privilege and no wish, until it is where it is wanted.
    fn settle(&self) -> Result<()> {
        self.reconfigure(|| self.settle_here())
    }

    /// Does it with the reconfiguration lock in hand.
    fn reconfigure(&self, act: impl FnOnce()) -> Result<()> {
        let At { attachment, lock, region, .. } = self.at;
        let limit = match self.waiter.limit() {
            Limit::Never => Limit::For(TRY_WAITS),
            Limit::For(limit) => Limit::For(limit.max(TRY_WAITS)),
            Limit::Forever => Limit::Forever,
        };
        self.at.come(limit, 0, self.stop).map_err(|error| match error {
            Error::TimedOut => out_of_time(self.waiter.limit()),
            error => error,
        })?;
        trace::at(Step::Reconfigure);
        act();
        bakery(lock).leave(attachment.slot);
        wake_next(lock, *region, attachment.slot);
        Ok(())
    }

    fn settle_here(&self) {
        let At { attachment, lock, region, .. } = self.at;
        let (ring, me) = (self.ring, attachment.slot);
        let wake = |slot: usize| {
            wake_next(lock, *region, slot);
        };
        // Once round at most: what is left to do then is for the next one who waits.
        for _ in 0..ring.machines.count() {
            let Some(absent) = ring.absent_with_privilege() else { break };
            if ring.pass(absent, wake) == Passed::ToNobody {
                return;
            }
            wake(absent);
        }
        if ring.machines.wish(me) == Wish::None || ring.who().is_some_and(|slot| ring.has_privilege(slot)) {
            return;
        }
        match ring.survey() {
            Survey::Empty | Survey::Lost if self.nobody_is_inside() => ring.begin(me),
            _ => {}
        }
    }

    fn nobody_is_inside(&self) -> bool {
        self.at.lock.cells.iter().all(|cell| token_in(cell.held.load(Acquire)).is_none())
    }
}
