//! Taking and giving back, written once for every kind of lock and every algorithm.
//!
//! The steps have the names of [`crate::trace::Step`], which the models in `spec/` use too.

use super::{
    attachment::{Attachment, Have},
    liveness::LivenessCheck,
    rotation,
    turn::Turn,
};
use crate::algorithm::{
    Corrupt, Place, Protocol,
    ownership::Health,
    ring::{Rule, Wish},
};
use crate::error::{Error, Result};
use crate::layout::LockView;
use crate::mutants::{Mutant, planted};
use crate::os::clock;
use crate::recovery::{self, bakery, ownership, privilege, standby, wake_next};
use crate::sync::{
    Ordering::{Acquire, Relaxed},
    prefetch_for_writing,
};
use crate::trace::{self, Step};
use crate::wait::{Interrupt, Limit, Next, Stop};

/// A lock that was just taken.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The fencing token.
    pub token: u64,
    /// The previous holder died inside.
    pub owner_dead: bool,
}

/// How a lock is to be taken, by everyone alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockConfig {
    /// How long a waiter lets others pass, in nanoseconds.
    pub patience: u64,
    /// May the privilege be retained?
    pub retains: bool,
    /// Who comes after whom.
    pub order: Order,
}

/// Who comes after whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// First come first served: the bakery.
    Arrival,
    /// Each in turn: a ring.
    Rotation {
        /// Which.
        rule: Rule,
        /// Every turn, or one.
        wish: Wish,
    },
}

/// One participant at one lock.
#[derive(Clone, Copy)]
pub struct At<'a> {
    pub(super) attachment: &'a Attachment,
    pub(super) region: usize,
    pub(super) lock: LockView<'a>,
    pub(super) config: LockConfig,
    interrupt: Option<&'a Interrupt>,
}

impl<'a> At<'a> {
    /// Participant `attachment` at the lock in `region`.
    #[inline]
    pub fn new(attachment: &'a Attachment, region: usize, config: LockConfig) -> Self {
        Self { attachment, region, lock: attachment.file.view().lock(region), config, interrupt: None }
    }

    /// Its waits are ended by this too.
    #[inline]
    pub fn interrupted_by(self, interrupt: Option<&'a Interrupt>) -> Self {
        Self { interrupt, ..self }
    }

    /// What ends its waits.
    pub(super) fn stop(&self) -> Stop<'a> {
        Stop { cancel: &self.attachment.cancel, interrupt: self.interrupt }
    }

    /// Takes the lock, or waits for it as long as `limit` says.
    #[inline]
    pub fn take(&self, limit: Limit) -> Result<Taken> {
        // Another core had them last, as a rule: both come at once, while we do the rest.
        prefetch_for_writing(&self.lock.numbers[self.attachment.slot]);
        prefetch_for_writing(&self.lock.words.control);
        if self.health() == Health::NotRecoverable {
            return Err(Error::NotRecoverable);
        }
        let taken = self.take_whatever_its_health(limit)?;
        match self.health() {
            Health::NotRecoverable => {
                self.give_back(self.attachment.begin_giving_back(self.region, None)?);
                Err(Error::NotRecoverable)
            }
            health => Ok(Taken { token: taken, owner_dead: health == Health::Inconsistent }),
        }
    }

    /// Takes the lock, and opens it again if it was not recoverable (or inconsistent).
    pub fn take_and_reset(&self, limit: Limit) -> Result<Taken> {
        if let Order::Rotation { rule, .. } = self.config.order
            && self.health() == Health::NotRecoverable
        {
            self.attachment.own(self.region).begin().ok_or(Error::Deadlock)?;
            let renewed = rotation::renew(self, rule, limit);
            self.attachment.own(self.region).note(None);
            renewed?;
        }
        let token = self.take_whatever_its_health(limit)?;
        ownership(self.lock.words).mark_consistent();
        Ok(Taken { token, owner_dead: false })
    }

    fn take_whatever_its_health(&self, limit: Limit) -> Result<u64> {
        if !self.attachment.file.is_intact() {
            return Err(self.attachment.file.not_intact());
        }
        let Some(may_retain) = self.attachment.own(self.region).begin() else { return Err(Error::Deadlock) };
        let taken = self.enter(limit, may_retain);
        self.attachment.own(self.region).note(taken.as_ref().ok().copied());
        taken.map(|has| has.token)
    }

    fn enter(&self, limit: Limit, may_retain: bool) -> Result<Have> {
        if let Order::Rotation { rule, wish } = self.config.order {
            return rotation::enter(self, rule, wish, limit);
        }
        if may_retain && let Some(token) = self.enter_retained() {
            return Ok(Have { token, plainly: false });
        }
        if limit == Limit::Never {
            self.look_before_trying()?;
        }
        let in_demand = self.come(limit, self.config.patience, self.stop())?;
        if !self.attachment.file.is_intact() {
            self.withdraw();
            return Err(self.attachment.file.not_intact());
        }
        trace::at(Step::Won);
        self.settle(in_demand)
    }

    /// Goes through the line, and comes by the privilege. With an error, nothing of us is left in the line.
    ///
    /// Gives whether the privilege is in demand: it was taken from one who used it all the time.
    #[inline]
    pub(super) fn come(&self, limit: Limit, patience: u64, stop: Stop) -> Result<bool> {
        let line = bakery(&self.lock);
        match line.doorway(self.attachment.slot) {
            Ok(ticket) => {
                trace::at(Step::Wait);
                let free = line.is_next(self.attachment.slot, ticket)
                    && privilege(self.lock.words).is_free_for(self.attachment.slot);
                if free { Ok(false) } else { self.wait(limit, patience, stop, Ok(ticket)) }
            }
            corrupt => self.wait(limit, patience, stop, corrupt),
        }
    }

    #[cold]
    #[inline(never)]
    fn wait(
        &self,
        limit: Limit,
        patience: u64,
        stop: Stop,
        ticket: std::result::Result<u64, Corrupt>,
    ) -> Result<bool> {
        Turn::new(self, limit, patience, stop).come(ticket)
    }

    /// As the one who retains the privilege, if we do.
    fn enter_retained(&self) -> Option<u64> {
        let (privilege, cell) = (privilege(self.lock.words), &self.lock.cells[self.attachment.slot]);
        if privilege.seen() != Some(self.attachment.slot) {
            return None;
        }
        let mark = self.attachment.mark;
        let token = if privilege.is_unasked(mark) {
            privilege.enter(&cell.held, mark, &ownership(self.lock.words))
        } else {
            None
        };
        if token.is_none() {
            if planted(Mutant::ControlByNonCandidate) {
                privilege.hold_plainly();
            }
            // The candidate may have seen us try.
            wake_next(&self.lock, self.region, self.attachment.slot);
        } else {
            trace::at(Step::Section);
        }
        token
    }

    /// The privilege is ours: written down as the holder, plainly or retaining it.
    fn settle(&self, in_demand: bool) -> Result<Have> {
        trace::at(Step::Settle);
        let (privilege, cell) = (privilege(self.lock.words), &self.lock.cells[self.attachment.slot]);
        // Not over the heads of those behind us: until the next of them is awake and asks, we might enter a thousand
        // times.
        let retains = privilege.should_retain(self.attachment.slot, in_demand)
            && self.config.retains
            && self.health() == Health::Consistent
            && (planted(Mutant::RetainsOverHeads) || !self.does_anybody_else_insist());
        if self.lock.words.asked_since.load(Relaxed) != 0 {
            self.lock.words.asked_since.store(0, Relaxed);
        }
        // Of retained entries nobody writes down since when.
        cell.since.store(if retains { 0 } else { clock::coarse_monotonic_ns() }, Relaxed);
        if !retains {
            privilege.hold_plainly();
        } else if planted(Mutant::LeaveBeforeControl) {
            bakery(&self.lock).leave(self.attachment.slot);
        }
        let Some(token) = ownership(self.lock.words).enter(&cell.held) else {
            self.withdraw();
            return Err(self.impossible_token());
        };
        if retains {
            privilege.retain(self.attachment.mark, token);
            bakery(&self.lock).leave(self.attachment.slot);
            wake_next(&self.lock, self.region, self.attachment.slot);
            // It was the line they stepped out of, and nobody will leave it now. The fence is in `wake_next`.
            standby(&self.lock).unpark_one();
        }
        trace::at(Step::Section);
        Ok(Have { token, plainly: !retains })
    }

    /// Does anybody else insist on its place in the line? Those who have patience left only look in, and step out again.
    pub(super) fn does_anybody_else_insist(&self) -> bool {
        let insists =
            |slot: usize| self.config.patience == 0 || self.lock.cells[slot].since.load(Relaxed) != 0;
        bakery(&self.lock).is_anybody_else_there(self.attachment.slot, insists)
    }

    pub(super) fn impossible_token(&self) -> Error {
        self.attachment.file.damaged(format!(
            "the fencing token of its lock {} is impossible: the file was overwritten; delete it while nobody uses it and \
             let it be created anew",
            self.region
        ))
    }

    /// Gives the lock back, if we have it (with this very token, where one is named).
    #[inline]
    pub fn unlock(&self, token: Option<u64>) -> Result<()> {
        self.give_back(self.attachment.begin_giving_back(self.region, token)?);
        self.after_leaving()
    }

    /// A retainer has left and is asked, or was: wakes who waits for that.
    #[cold]
    pub fn left_disturbed(&self) -> Result<()> {
        wake_next(&self.lock, self.region, self.attachment.slot);
        self.after_leaving()
    }

    fn after_leaving(&self) -> Result<()> {
        // After: giving back may be the first to touch what a truncated file has no more.
        let file = &self.attachment.file;
        if !file.is_intact() {
            Err(file.not_intact())
        } else if file.is_said_to_be_unlinked() && file.is_unlinked() {
            Err(Error::Replaced { path: file.reopen().path() })
        } else {
            Ok(())
        }
    }

    /// Gives the lock back as a dying owner does: the next holder has the news.
    pub fn abandon(&self, token: Option<u64>) -> Result<()> {
        self.attachment.begin_giving_back(self.region, token)?;
        recovery::recover_in_lock(self.attachment.file.view(), self.region, self.attachment.slot);
        self.attachment.own(self.region).note(None);
        Ok(())
    }

    /// A standing participant leaves the ring.
    pub fn leave_ring(&self) -> Result<()> {
        let own = self.attachment.own(self.region);
        own.begin().ok_or(Error::StillHeld)?;
        if let Order::Rotation { rule, .. } = self.config.order {
            rotation::leave(self, rule);
        }
        own.note(None);
        Ok(())
    }

    /// The data that a dead owner left are well again.
    pub fn mark_consistent(&self) -> Result<()> {
        let has = self.attachment.begin_giving_back(self.region, None)?;
        let inconsistent = self.health() == Health::Inconsistent;
        if inconsistent {
            ownership(self.lock.words).mark_consistent();
        }
        self.attachment.own(self.region).note(Some(has));
        if inconsistent { Ok(()) } else { Err(Error::NotInconsistent) }
    }

    /// Do we have the lock (with this very token, where one is named)?
    #[inline]
    pub fn check_owner(&self, token: Option<u64>) -> Result<()> {
        match self.attachment.own(self.region).has() {
            None => Err(Error::NotOwner),
            Some(has) if token.is_some_and(|token| token != has.token) => Err(Error::NotOwner),
            Some(_) => Ok(()),
        }
    }

    #[inline]
    fn health(&self) -> Health {
        ownership(self.lock.words).health()
    }

    /// Gives back what [`Attachment::begin_giving_back`] found.
    fn give_back(&self, has: Have) {
        let cell = &self.lock.cells[self.attachment.slot];
        trace::at(Step::Exit);
        if !has.plainly {
            let quietly = privilege(self.lock.words).leave(&cell.held, self.attachment.mark);
            self.attachment.own(self.region).note_retaining();
            if !quietly {
                wake_next(&self.lock, self.region, self.attachment.slot);
            }
            return;
        }
        ownership(self.lock.words).exit(&cell.held);
        trace::at(Step::Leave);
        if let Order::Rotation { rule, wish } = self.config.order {
            return rotation::pass_on(self, rule, wish);
        }
        cell.since.store(0, Relaxed);
        bakery(&self.lock).leave(self.attachment.slot);
        self.attachment.own(self.region).note(None);
        trace::at(Step::Wake);
        // Whoever is called would find somebody in the line, and step aside again.
        if wake_next(&self.lock, self.region, self.attachment.slot) == Next::Nobody {
            standby(&self.lock).unpark_one();
        }
    }

    #[cold]
    pub(super) fn withdraw(&self) {
        // A child that was forked in the wait stands in no line.
        if !self.attachment.is_ours() {
            return;
        }
        trace::at(Step::Withdraw);
        bakery(&self.lock).withdraw(self.attachment.slot);
        self.lock.cells[self.attachment.slot].since.store(0, Relaxed);
        wake_next(&self.lock, self.region, self.attachment.slot);
    }

    /// A try that will fail should not disturb the line: look first, and bury the dead.
    fn look_before_trying(&self) -> Result<()> {
        // As if I had come last: everybody who is numbered is before me.
        while let Ok(Some(blocker)) = bakery(&self.lock).blocker(self.attachment.slot, u64::MAX) {
            if bakery(&self.lock).place(blocker.slot) == Place::Choosing {
                return Ok(());
            }
            if !LivenessCheck::new(self).check(blocker.slot)? && bakery(&self.lock).still_blocks(&blocker) {
                return Err(Error::WouldBlock);
            }
        }
        Ok(())
    }
}

/// What the lock's words say of a dead holder.
pub fn previous_owner(lock: &LockView) -> (u64, u32, u32, String) {
    let news = &lock.words.previous_owner;
    (news.token.load(Acquire), news.pid.load(Relaxed), news.tid.load(Relaxed), news.label.get())
}
