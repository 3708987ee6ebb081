//! Taking and giving back, written once for every kind of lock and every algorithm.
//!
//! The steps have the names of [`crate::steps::Step`], which the models in `spec/` use too.

use super::seat::Seat;
use crate::algorithm::{Blocker, Corrupt, Place, Protocol, ownership::Health};
use crate::error::{Error, Result};
use crate::layout::LockView;
use crate::os::{clock, death_notice::Probe};
use crate::recovery::{self, bakery, bed, ownership};
use crate::steps::{self, Step};
use crate::sync::{
    Ordering::{Acquire, Relaxed},
    spin_hint,
};
use crate::wait::{Ladder, Limit, Outcome};

/// A lock that was just taken.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The fencing token.
    pub token: u64,
    /// The previous holder died inside.
    pub owner_dead: bool,
}

/// One participant at one lock.
#[derive(Clone, Copy)]
pub struct At<'a> {
    seat: &'a Seat,
    region: usize,
    lock: LockView<'a>,
}

impl<'a> At<'a> {
    /// Participant `seat` at the lock in `region`.
    #[inline]
    pub fn new(seat: &'a Seat, region: usize) -> Self {
        Self { seat, region, lock: seat.file.view().lock(region) }
    }

    /// Takes the lock, or waits for it as long as `limit` says.
    #[inline]
    pub fn take(&self, limit: Limit) -> Result<Taken> {
        if self.health() == Health::NotRecoverable {
            return Err(Error::NotRecoverable);
        }
        let taken = self.take_whatever_its_health(limit)?;
        match self.health() {
            Health::NotRecoverable => {
                self.give_back();
                Err(Error::NotRecoverable)
            }
            health => Ok(Taken { token: taken, owner_dead: health == Health::Inconsistent }),
        }
    }

    /// Takes the lock, and opens it again if it was not recoverable (or inconsistent).
    pub fn take_and_reset(&self, limit: Limit) -> Result<Taken> {
        let token = self.take_whatever_its_health(limit)?;
        ownership(&self.lock).mark_consistent();
        Ok(Taken { token, owner_dead: false })
    }

    fn take_whatever_its_health(&self, limit: Limit) -> Result<u64> {
        if !self.seat.file.is_whole() {
            return Err(self.seat.file.not_whole());
        }
        if !self.seat.begin(self.region) {
            return Err(Error::Deadlock);
        }
        let taken = self.enter(limit);
        self.seat.note(self.region, *taken.as_ref().unwrap_or(&0));
        taken
    }

    #[inline]
    fn enter(&self, limit: Limit) -> Result<u64> {
        let me = self.seat.slot;
        let protocol = bakery(&self.lock);
        if limit == Limit::Never {
            self.look_before_trying()?;
        }
        let ticket = self.doorway()?;
        steps::at(Step::Wait);
        match protocol.blocker(me, ticket) {
            Ok(None) => {}
            _ => self.wait(ticket, limit).inspect_err(|_| self.withdraw())?,
        }
        if !self.seat.file.is_whole() {
            self.withdraw();
            return Err(self.seat.file.not_whole());
        }
        steps::at(Step::Won);
        let cell = &self.lock.cells[me];
        cell.since.store(clock::coarse_monotonic_ns(), Relaxed);
        let Some((token, _)) = ownership(&self.lock).enter(&cell.held) else {
            self.withdraw();
            return Err(self.seat.file.damaged(format!(
                "the fencing token of its lock {} is impossible: the file was overwritten; delete it while nobody \
                 uses it and let it be created anew",
                self.region
            )));
        };
        steps::at(Step::Section);
        Ok(token)
    }

    /// Gives the lock back, if we have it (with this very token, where one is named).
    #[inline]
    pub fn unlock(&self, token: Option<u64>) -> Result<()> {
        self.check_owner(token)?;
        self.give_back();
        // After: giving back may be the first to touch what a truncated file has no more.
        if self.seat.file.is_whole() { Ok(()) } else { Err(self.seat.file.not_whole()) }
    }

    /// Gives the lock back as a dying owner does: the next holder has the news.
    pub fn abandon(&self, token: Option<u64>) -> Result<()> {
        self.check_owner(token)?;
        recovery::recover_in_lock(self.seat.file.view(), self.region, self.seat.slot);
        self.seat.note(self.region, 0);
        Ok(())
    }

    /// The data that a dead owner left are well again.
    pub fn mark_consistent(&self) -> Result<()> {
        self.check_owner(None)?;
        if self.health() != Health::Inconsistent {
            return Err(Error::NotInconsistent);
        }
        ownership(&self.lock).mark_consistent();
        Ok(())
    }

    /// Do we have the lock (with this very token, where one is named)?
    #[inline]
    pub fn check_owner(&self, token: Option<u64>) -> Result<()> {
        match self.seat.token(self.region) {
            None => Err(Error::NotOwner),
            Some(held) if token.is_some_and(|token| token != held) => Err(Error::NotOwner),
            Some(_) => Ok(()),
        }
    }

    #[inline]
    fn health(&self) -> Health {
        ownership(&self.lock).health()
    }

    #[inline]
    fn give_back(&self) {
        let cell = &self.lock.cells[self.seat.slot];
        self.seat.note(self.region, 0);
        steps::at(Step::Exit);
        ownership(&self.lock).exit(&cell.held);
        steps::at(Step::Leave);
        bakery(&self.lock).leave(self.seat.slot);
        steps::at(Step::Wake);
        bed(&self.lock, self.region, self.seat.slot).wake_sleepers();
    }

    #[cold]
    fn withdraw(&self) {
        steps::at(Step::Withdraw);
        bakery(&self.lock).withdraw(self.seat.slot);
        self.lock.cells[self.seat.slot].since.store(0, Relaxed);
        bed(&self.lock, self.region, self.seat.slot).wake_sleepers();
    }

    #[inline]
    fn doorway(&self) -> Result<u64> {
        loop {
            match bakery(&self.lock).doorway(self.seat.slot) {
                Ok(ticket) => return Ok(ticket),
                Err(corrupt) => self.repair(corrupt)?,
            }
        }
    }

    /// An impossible number: of a dead slot, it is cleared like anything a dead one leaves; of a live one, an error.
    #[cold]
    fn repair(&self, Corrupt { slot, value }: Corrupt) -> Result<()> {
        let file = &self.seat.file;
        let probe = Probe::open(file.reopen(), self.seat.slot)?;
        if recovery::reap(file.view(), &probe, slot)? {
            return Ok(());
        }
        Err(file.damaged(format!(
            "slot {slot} of its lock {} holds the impossible number {value:#x} while its participant is alive: \
             something else than turnlock writes to the file; stop its users, delete it and let it be created anew",
            self.region
        )))
    }

    /// A try that will fail should not disturb the line: look first, and bury the dead.
    fn look_before_trying(&self) -> Result<()> {
        // As if I had come last: everybody who is numbered is before me.
        while let Ok(Some(blocker)) = bakery(&self.lock).blocker(self.seat.slot, u64::MAX) {
            if bakery(&self.lock).place(blocker.slot) == Place::Choosing {
                return Ok(());
            }
            let probe = Probe::open(self.seat.file.reopen(), self.seat.slot)?;
            if !self.reap_if_dead(&probe, &blocker)? && bakery(&self.lock).still_blocks(&blocker) {
                return Err(Error::WouldBlock);
            }
        }
        Ok(())
    }

    /// `true`: it was dead and is removed now.
    fn reap_if_dead(&self, probe: &Probe, blocker: &Blocker) -> Result<bool> {
        if probe.is_alive(blocker.slot)? {
            return Ok(false);
        }
        recovery::reap(self.seat.file.view(), probe, blocker.slot)
    }

    #[cold]
    fn wait(&self, ticket: u64, limit: Limit) -> Result<()> {
        let protocol = bakery(&self.lock);
        let me = self.seat.slot;
        let mut ladder = Ladder::new(limit, &self.seat.cancel);
        let mut probe = None;
        loop {
            let blocker = match protocol.blocker(me, ticket) {
                Ok(None) => return Ok(()),
                Ok(Some(blocker)) => blocker,
                Err(corrupt) => {
                    self.repair(corrupt)?;
                    continue;
                }
            };
            let unchanged = || protocol.still_blocks(&blocker);
            let step = match limit {
                Limit::Never => try_once(&protocol, &blocker),
                _ => ladder.step(unchanged, bed(&self.lock, self.region, blocker.slot), &blocker),
            };
            match step {
                Outcome::LookAgain => {}
                Outcome::Cancelled => return Err(Error::Cancelled),
                Outcome::TimedOut | Outcome::AskWhetherAlive => {
                    if let Some(began) = ladder.began() {
                        self.lock.cells[me].since.store(began, Relaxed);
                    }
                    // Whatever somebody else wrote over our number: those behind us look at it.
                    protocol.insist(me, ticket);
                    let probe = match &mut probe {
                        Some(probe) => probe,
                        none => none.insert(Probe::open(self.seat.file.reopen(), me)?),
                    };
                    if probe.is_replaced() {
                        return Err(Error::Replaced { path: self.seat.file.reopen().path().into() });
                    }
                    if !self.seat.file.is_whole() {
                        return Err(self.seat.file.not_whole());
                    }
                    // Also when the time is up: a dead one must not outlive everybody's patience.
                    let reaped = self.reap_if_dead(probe, &blocker)?;
                    if step == Outcome::TimedOut && !reaped && unchanged() {
                        return Err(if limit == Limit::Never { Error::WouldBlock } else { Error::TimedOut });
                    }
                }
            }
        }
    }
}

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

/// What the lock's words say of a dead holder.
pub fn previous_owner(lock: &LockView) -> (u64, u32, u32, String) {
    let news = &lock.words.previous_owner;
    (news.token.load(Acquire), news.pid.load(Relaxed), news.tid.load(Relaxed), news.label.get())
}
