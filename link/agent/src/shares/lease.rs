//! Permits by a lease: who has lost them, who takes them again, and until when programs are admitted.
//!
//! [`Key::Share`] of a host has its lease, and goes when that ends. [`Key::TakenBy`] has none, and says the same: so others tell a share that
//! was given back, which has neither, from one whose lease ended, and the host itself whether any of it was taken since. Who takes some of it
//! deletes that record. Until the deadline in the file, [`crate::Config::margin`] before the earliest end, programs are admitted; they
//! are told when it has passed, and the share in the file stays until the engine says what became of it:
//!
//! - *no other host took any of it*: the host takes it again, by a lease that goes on, and those inside have their permits as before;
//! - *another host did*: the file's share becomes 0. Before this host takes permits anew none is inside, since a later deadline would tell those
//!   that their permits are their own.

use super::agent::{Action, Demand, Overdue, Purpose, ShareAgent};
use super::engine::{Compare, Key, Operation, Share, Snapshot};
use crate::{Mode, NO_DEADLINE, Nanoseconds};

impl ShareAgent {
    /// The hosts have the semaphore in another mode: as if no agent were here, but for its place, which keeps others waiting.
    pub(super) fn stand_aside(&mut self, now: Nanoseconds, known: &Snapshot, actions: &mut Vec<Action>) {
        (self.client.watch, self.wish) = (None, None);
        if !self.client.has_held {
            self.client.revoke_the_lease(actions);
        }
        if let Some(place) = known.place_of(&self.host) {
            return self.leave_the_queue(now, place, actions);
        }
        let has_none = known.share_of(&self.host).is_none() && self.share == 0;
        if self.leaves && has_none && !std::mem::replace(&mut self.has_left, true) {
            actions.push(Action::Left);
        }
    }

    /// Sees to it that what this host has is its own by the lease of this agent. Returns whether there is no more to be done about that now.
    pub(super) fn holds_by_its_lease(
        &mut self,
        now: Nanoseconds,
        demand: Demand,
        known: &Snapshot,
        actions: &mut Vec<Action>,
    ) -> bool {
        if !self.client.is_leased() {
            self.client.clear_the_deadline(actions);
            return true;
        }
        let (share, record) = (known.share_of(&self.host), known.taken_by(&self.host));
        match (share, record) {
            (Some(_), _) if self.client.has_held => true,
            (Some(share), _) => {
                // By the lease of the agent before it, or one that is not known.
                let compare = Compare::Modified(Key::Share, share.modified);
                let keeps = self.share.min(share.permits);
                self.write_share(now, compare, (share.permits, keeps), actions);
                false
            }
            (None, Some(record)) => {
                self.client.has_held = false;
                self.admit_none(now, actions);
                self.decide_after_the_lease(now, demand, record, known, actions);
                false
            }
            (None, None) => {
                self.client.has_held = false;
                if self.share > 0 {
                    if now < self.client.until {
                        actions.push(Action::Robbed);
                    }
                    self.admit_none(now, actions);
                    self.set_share(0, actions);
                }
                self.is_clear(actions)
            }
        }
    }

    /// The lease ended, and no other host has taken any of what it had: it goes on with that, or gives it back.
    fn decide_after_the_lease(
        &mut self,
        now: Nanoseconds,
        demand: Demand,
        record: &Share,
        known: &Snapshot,
        actions: &mut Vec<Action>,
    ) {
        let compare = Compare::Modified(Key::TakenBy, record.modified);
        if self.wanted(demand) > 0 && !self.leaves && !self.is_refused {
            let keep = self.keeps(now, demand, record.permits, known);
            let share = keep.max(self.share).min(record.permits);
            return self.write_share(now, compare, (record.permits, share), actions);
        }
        if self.share > 0 {
            self.set_share(0, actions);
        }
        if self.is_clear(actions) {
            let change = (vec![compare], vec![Operation::Delete(Key::TakenBy)]);
            self.client.change(now, Purpose::Change, change, actions);
        }
    }

    /// Writes how many permits the host has, with the lease of this agent if they are leased; then the file's share is so large. Until that is known to
    /// be so, the file admits programs no longer than by either lease.
    pub(super) fn write_share(
        &mut self,
        now: Nanoseconds,
        compare: Compare,
        (permits, share): (u32, u32),
        actions: &mut Vec<Action>,
    ) {
        if self.client.is_leased() && self.client.until == NO_DEADLINE {
            // A first lease begins while nothing is inside.
            if self.share > 0 {
                self.set_share(0, actions);
            }
            if !self.is_clear(actions) {
                return;
            }
        }
        let Ok((lease, until)) = self.client.lease_to_come_by(now, Purpose::Lease, actions) else { return };
        self.client.admit_no_later_than(until, actions);
        let change = (vec![compare], vec![Operation::PutShare { permits, lease }]);
        self.client.change(now, Purpose::Grow { permits: share, lease }, change, actions);
    }

    /// Has the file admit no program from now on, if it has a deadline: a first one comes while nothing is inside.
    fn admit_none(&mut self, now: Nanoseconds, actions: &mut Vec<Action>) {
        if self.client.until != NO_DEADLINE {
            self.client.admit_no_later_than(now, actions);
        }
    }

    /// Returns whether no program is inside, and none comes in: the share is 0, and was drained. If not, waits for that.
    fn is_clear(&mut self, actions: &mut Vec<Action>) -> bool {
        let is_clear = self.share == 0 && self.drained == Some(0);
        if !is_clear && self.drain.is_none() {
            self.begin_to_drain(1, actions);
        }
        is_clear
    }

    /// The answer to a call that keeps the lease: it was kept.
    pub(super) fn was_kept(&mut self, actions: &mut Vec<Action>) {
        if self.client.has_held {
            self.client.admit_until_the_deadline(actions);
        }
    }

    /// The lease is over, and with it the share, if that had it.
    pub(super) fn lease_has_ended(&mut self, now: Nanoseconds, actions: &mut Vec<Action>) {
        if std::mem::take(&mut self.client.has_held) {
            self.client.admit_no_later_than(now, actions);
        }
    }

    /// Says of permits that are inside when the lease can end that they are lost.
    pub(super) fn tell_what_is_lost(&mut self, now: Nanoseconds, demand: Demand, actions: &mut Vec<Action>) {
        if !self.client.is_leased() || now < self.client.until || demand.used == 0 {
            self.overdue = None;
            return;
        }
        let overdue = *self.overdue.get_or_insert(Overdue { since: now, was_told: false });
        if self.lost_at().is_some_and(|at| now >= at) {
            self.overdue = Some(Overdue { was_told: true, ..overdue });
            actions.push(Action::Lost);
        }
    }

    /// When that is so. One that is found inside after the host was suspended has the time in which a program would leave.
    pub(super) fn lost_at(&self) -> Option<Nanoseconds> {
        let overdue = self.overdue.filter(|overdue| !overdue.was_told)?;
        let end = self.client.until.saturating_add(self.client.config.margin);
        Some(end.max(overdue.since + self.client.config.hold))
    }

    /// When programs are told.
    pub(super) fn deadline(&self, demand: Demand) -> Option<Nanoseconds> {
        Some(self.client.until).filter(|until| {
            self.client.config.mode == Mode::Leased && *until != NO_DEADLINE && demand.used > 0
        })
    }

    /// Notes since when the share is gone of each host that has not given it back.
    pub(super) fn note_the_ends(&mut self, now: Nanoseconds, known: &Snapshot) {
        let seen = |at: u64| self.ended.iter().find(|(seen, _)| *seen == at).copied();
        let ended = known.ended(&self.host).map(|record| record.modified);
        self.ended = ended.map(|modified| seen(modified).unwrap_or((modified, now))).collect();
    }

    /// Returns whether the host is out whose share is gone, as far as that can be seen: also if the engine ended its lease before the time.
    fn is_over(&self, now: Nanoseconds, record: &Share) -> bool {
        let since = self.ended.iter().find(|(seen, _)| *seen == record.modified);
        since.is_some_and(|(_, since)| now >= since + self.client.config.distrust)
    }

    /// When that is so of another one.
    pub(super) fn trusts_at(&self, now: Nanoseconds) -> Option<Nanoseconds> {
        let ends = self.ended.iter().map(|(_, since)| since + self.client.config.distrust);
        ends.filter(|at| *at > now).min()
    }

    /// Returns how many permits no host has.
    pub(super) fn free(&self, now: Nanoseconds, known: &Snapshot) -> u32 {
        let kept = known.ended(&self.host).filter(|record| !self.is_over(now, record));
        let kept: u64 = kept.map(|record| u64::from(record.permits)).sum();
        u64::from(known.free(self.total)).saturating_sub(kept) as u32
    }

    /// Returns what goes with a transaction that takes so many: the records of as many hosts as it needs whose leases ended.
    pub(super) fn take_from_the_ended(
        &self,
        now: Nanoseconds,
        known: &Snapshot,
        takes: u32,
    ) -> Vec<Operation> {
        let all: u64 = known.ended(&self.host).map(|record| u64::from(record.permits)).sum();
        let mut have = u64::from(known.free(self.total)).saturating_sub(all);
        let over = known.ended(&self.host).filter(|record| self.is_over(now, record));
        let needed = over.take_while(|record| {
            let lacks = have < u64::from(takes);
            have += u64::from(record.permits);
            lacks
        });
        needed.map(|record| Operation::Forget(record.host.clone())).collect()
    }
}
