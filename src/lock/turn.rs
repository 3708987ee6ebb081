//! Waiting for the turn: in the line until nobody is before us, then for the privilege, if another slot retains it.

use super::{
    engine::At,
    liveness::{LivenessCheck, out_of_time},
    open_file::NO_MEMBARRIER,
};
use crate::algorithm::{Blocker, Corrupt, Place, Protocol, bias::BiasOwner};
use crate::error::{Error, Result};
use crate::layout::LockView;
use crate::mutants::{Mutant, planted};
use crate::os::{clock, liveness_lock::Probe, membarrier};
use crate::recovery::{self, bakery, privilege, spot, standby};
use crate::sync::{
    AtomicU64,
    Ordering::{Acquire, Relaxed},
    full_fence, spin_hint,
};
use crate::trace::{self, Step};
use crate::wait::{Limit, Outcome, Stop, Waiter};
use std::time::Duration;

/// What a look at who is before us came to.
enum Came<T> {
    /// Nobody is, any more.
    There(T),
    /// We are to let others pass: out of the line, and come back when this is over.
    Aside(Hindrance),
}

/// Whom we let pass.
enum Hindrance {
    /// Somebody before us in the line.
    InLine(Blocker),
    /// The one who retains the privilege, and uses it.
    Retaining(BiasOwner),
}

/// One wait for the turn.
pub struct Turn<'a> {
    at: &'a At<'a>,
    waiter: Waiter<'a>,
    watch: LivenessCheck<'a>,
}

impl<'a> Turn<'a> {
    /// Behind the doorway. Waits as long as `limit` says, and lets others pass for `patience` nanoseconds.
    pub fn new(at: &'a At<'a>, limit: Limit, patience: u64, stop: Stop<'a>) -> Self {
        let since = &at.lock.cells[at.attachment.slot].since;
        Self {
            at,
            waiter: Waiter::new(limit, patience, at.attachment.slot, (stop, &at.attachment.awake), since),
            watch: LivenessCheck::new(at),
        }
    }

    /// [`At::come`], with what the doorway said.
    pub fn come(&mut self, ticket: std::result::Result<u64, Corrupt>) -> Result<bool> {
        let mut ticket = ticket.or_else(|corrupt| self.repair(corrupt).and_then(|()| self.doorway()))?;
        loop {
            let came = self.come_to_the_head(ticket).and_then(|came| match came {
                Came::There(()) => self.come_by_the_privilege(),
                Came::Aside(hindrance) => Ok(Came::Aside(hindrance)),
            });
            match came {
                Ok(Came::There(in_demand)) => {
                    // Asleep, we could not be named to who left. From now on the next one is awake when its turn comes.
                    if self.waiter.was_asleep() {
                        spot(&self.at.lock, self.at.region, self.at.attachment.slot).unpark_early();
                    }
                    return Ok(in_demand);
                }
                Ok(Came::Aside(hindrance)) => {
                    self.let_others_pass(&hindrance)?;
                    ticket = self.doorway()?;
                }
                Err(error) => {
                    self.at.withdraw();
                    return Err(error);
                }
            }
        }
    }

    fn doorway(&self) -> Result<u64> {
        let ticket = loop {
            match bakery(&self.at.lock).doorway(self.at.attachment.slot) {
                Ok(ticket) => break ticket,
                Err(corrupt) => self.repair(corrupt)?,
            }
        };
        trace::at(Step::Wait);
        Ok(ticket)
    }

    fn come_to_the_head(&mut self, ticket: u64) -> Result<Came<()>> {
        let At { attachment, lock, region, .. } = self.at;
        let protocol = bakery(lock);
        loop {
            let blocker = match protocol.blocker(attachment.slot, ticket) {
                Ok(None) => return Ok(Came::There(())),
                Ok(Some(blocker)) => blocker,
                Err(corrupt) => {
                    self.repair(corrupt)?;
                    continue;
                }
            };
            let unchanged = || protocol.still_blocks(&blocker);
            let step = match self.waiter.limit() {
                Limit::Never => try_once(&protocol, &blocker),
                _ => self.waiter.step(unchanged, spot(lock, *region, blocker.slot), &blocker),
            };
            match step {
                Outcome::LookAgain => {}
                Outcome::StepAside => return Ok(Came::Aside(Hindrance::InLine(blocker))),
                Outcome::Cancelled => return Err(Error::Cancelled),
                Outcome::Interrupted | Outcome::Forked => return Err(Error::Interrupted),
                Outcome::TimedOut | Outcome::AskWhetherAlive => {
                    // Whatever somebody else wrote over our number: those behind us look at it.
                    protocol.insist(attachment.slot, ticket);
                    // Also when the time is up: a dead one must not outlive everybody's patience.
                    let reaped = self.watch.check(blocker.slot)?;
                    if step == Outcome::TimedOut && !reaped && unchanged() {
                        return Err(out_of_time(self.waiter.limit()));
                    }
                }
            }
        }
    }

    /// At the head of the line.
    fn come_by_the_privilege(&mut self) -> Result<Came<bool>> {
        match self.retainer() {
            None => Ok(Came::There(false)),
            Some(retainer) => self.take_from(retainer),
        }
    }

    fn retainer(&self) -> Option<BiasOwner> {
        let At { attachment, lock, .. } = self.at;
        privilege(lock.words).retainer(attachment.slot, lock.cells.iter().map(|cell| &cell.held))
    }

    fn take_from(&mut self, retainer: BiasOwner) -> Result<Came<bool>> {
        let lock = &self.at.lock;
        let held = &lock.cells[retainer.slot].held;
        let in_demand = is_busy(held);
        if in_demand {
            if self.waiter.is_polite() {
                return Ok(Came::Aside(Hindrance::Retaining(retainer)));
            }
            // A try that will fail should not disturb the one who is inside.
            if self.waiter.limit() == Limit::Never
                && held.load(Acquire) != 0
                && !self.watch.check(retainer.slot)?
            {
                return Err(Error::WouldBlock);
            }
        }
        lock.words.asked_since.store(clock::coarse_monotonic_ns(), Relaxed);
        privilege(lock.words).ask(retainer);
        let outside = self.behind_the_barrier(retainer).and_then(|()| self.wait_until_outside(retainer));
        // A child that was forked in the wait has asked nobody.
        if outside.is_err() && !self.at.attachment.is_ours() {
            return outside.map(|()| Came::There(in_demand));
        }
        lock.words.asked_since.store(0, Relaxed);
        if let Err(error) = outside {
            // Those behind us will ask too: until they do, the retainer should not pass them.
            if planted(Mutant::TakesBackOverHeads) || !self.at.does_anybody_else_insist() {
                privilege(lock.words).take_back(retainer);
            }
            return Err(error);
        }
        privilege(lock.words).learn(lock.words.token.load(Relaxed));
        Ok(Came::There(in_demand))
    }

    /// The heavy barrier between asking and looking whether the retainer is inside.
    fn behind_the_barrier(&mut self, retainer: BiasOwner) -> Result<()> {
        // Partner: the barrier in `Bias::enter` and `Bias::leave`.
        full_fence();
        if retainer.fenced || planted(Mutant::NoMembarrier) {
            return Ok(());
        }
        match membarrier::everywhere() {
            // Refused from now on, by a filter that came after the file was opened. Of a dead one everything has been
            // seen since its byte lock was free; of a living one nothing is known, and nothing else makes it known.
            Err(_) if self.watch.check(retainer.slot)? => Ok(()),
            Err(_) => Err(Error::Unsupported(NO_MEMBARRIER)),
            Ok(()) => Ok(()),
        }
    }

    fn wait_until_outside(&mut self, retainer: BiasOwner) -> Result<()> {
        let At { lock, region, .. } = self.at;
        trace::at(Step::AskWait);
        // Acquire. Partner: the release stores of 0 in `Bias::leave` and `Bias::enter`, and a reaper's.
        let inside = || lock.cells[retainer.slot].held.load(Acquire) != 0;
        self.waiter.insist();
        while inside() {
            let blocker = Blocker { slot: retainer.slot, seen: 0, ahead: 1 };
            let step = match self.waiter.limit() {
                Limit::Never => Outcome::TimedOut,
                _ => self.waiter.step(inside, spot(lock, *region, retainer.slot), &blocker),
            };
            match step {
                Outcome::LookAgain | Outcome::StepAside => {}
                Outcome::Cancelled => return Err(Error::Cancelled),
                Outcome::Interrupted | Outcome::Forked => return Err(Error::Interrupted),
                Outcome::TimedOut | Outcome::AskWhetherAlive => {
                    let reaped = self.watch.check(retainer.slot)?;
                    if step == Outcome::TimedOut && !reaped && inside() {
                        return Err(out_of_time(self.waiter.limit()));
                    }
                }
            }
        }
        Ok(())
    }

    fn let_others_pass(&mut self, hindrance: &Hindrance) -> Result<()> {
        let lock = &self.at.lock;
        self.at.withdraw();
        trace::at(Step::Polite);
        let (slot, unchanged): (usize, &dyn Fn() -> bool) = match hindrance {
            Hindrance::InLine(blocker) => (blocker.slot, &|| bakery(lock).still_blocks(blocker)),
            // It goes in and out all the time: that it is outside at one moment says nothing.
            Hindrance::Retaining(retainer) => (retainer.slot, &|| true),
        };
        let retains = matches!(hindrance, Hindrance::Retaining(_));
        // Relaxed: a guess.
        let participants = lock.header.slots_in_use.load(Relaxed);
        match self.waiter.step_aside(retains, participants, standby(lock), unchanged) {
            Outcome::Cancelled => Err(Error::Cancelled),
            Outcome::Interrupted | Outcome::Forked => Err(Error::Interrupted),
            Outcome::AskWhetherAlive if is_inside(lock, hindrance) => self.watch.check(slot).map(drop),
            _ => Ok(()),
        }
    }

    /// An impossible number: of a dead slot, it is cleared like anything a dead one leaves; of a live one, an error.
    #[cold]
    fn repair(&self, Corrupt { slot, value }: Corrupt) -> Result<()> {
        let At { attachment, region, lock, .. } = self.at;
        let probe = Probe::new(attachment.file.reopen(), attachment.slot);
        // Somebody else may be removing the dead one, or a newcomer may be about to, in its slot.
        for _ in 0..LOOKS_AT_THE_CORRUPT {
            if recovery::reap(attachment.file.view(), &probe, slot)?
                || bakery(lock).place(slot) != Place::Corrupt(value)
            {
                return Ok(());
            }
            std::thread::sleep(BETWEEN_THEM);
        }
        Err(attachment.file.damaged(format!(
            "slot {slot} of its lock {region} holds the impossible number {value:#x} while its participant is alive: \
             something else than turnlock writes to the file; stop its users, delete it and let it be created anew"
        )))
    }
}

const LOOKS_AT_THE_CORRUPT: u32 = 20;
const BETWEEN_THEM: Duration = Duration::from_millis(1);

/// Without waiting, except for somebody who is in its doorway: that takes some hundred instructions.
fn try_once(protocol: &impl Protocol, blocker: &Blocker) -> Outcome {
    for _ in 0..1000 {
        if !protocol.still_blocks(blocker) {
            return Outcome::LookAgain;
        }
        if protocol.place(blocker.slot) != Place::Choosing {
            break;
        }
        spin_hint();
    }
    Outcome::TimedOut
}

/// Could the one we let pass have died inside?
fn is_inside(lock: &LockView, hindrance: &Hindrance) -> bool {
    match hindrance {
        Hindrance::InLine(_) => true,
        Hindrance::Retaining(retainer) => lock.cells[retainer.slot].held.load(Relaxed) != 0,
    }
}

/// Is the retainer inside at some moment of a microsecond or two?
fn is_busy(held: &AtomicU64) -> bool {
    const LOOKS: u32 = 32;
    (0..LOOKS).any(|_| {
        let inside = held.load(Relaxed) != 0;
        spin_hint();
        inside
    })
}
