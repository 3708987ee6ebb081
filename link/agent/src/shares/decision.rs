//! What an agent of a semaphore does next, by what it knows of the keys.

use super::agent::{Action, Demand, Purpose, ShareAgent};
use super::engine::{Compare, Key, Operation, Place, Snapshot, Total, Watched};
use crate::Nanoseconds;

/// How much longer than [`crate::Config::hold`] the hosts are waited for that have more than an equal part, before all give.
const LONGER: Nanoseconds = 8;
/// So often what programs have and want is looked at while a host waits for permits.
const LOOK: Nanoseconds = 50_000_000;

/// What a host wants: the share with which the first of its waiters gets in, and the one with which all do.
struct Wish {
    needs: u32,
    wants: u32,
}

impl ShareAgent {
    /// Does the next thing, by what is known.
    pub(super) fn decide(
        &mut self,
        now: Nanoseconds,
        demand: Demand,
        known: &Snapshot,
        actions: &mut Vec<Action>,
    ) {
        let mode = self.client.config.mode;
        let others = known.total.filter(|total| (total.permits, total.mode) != (self.total, mode));
        if let Some(Total { permits, mode, .. }) = others
            && !std::mem::replace(&mut self.is_refused, true)
        {
            actions.push(Action::Refused { total: permits, mode });
        }
        self.is_refused = others.is_some();
        if others.is_some_and(|total| total.mode != mode) {
            return self.stand_aside(now, known, actions);
        }
        self.note_the_ends(now, known);
        if !self.holds_by_its_lease(now, demand, known, actions) {
            return;
        }
        let (has, modified) =
            known.share_of(&self.host).map_or((0, 0), |share| (share.permits, share.modified));
        let lease = self.client.lease.filter(|_| self.client.is_leased()).map(|lease| lease.number);
        if has < self.share {
            actions.push(Action::Robbed);
            self.set_share(has, actions);
        }
        let keep = self.keeps(now, demand, has, known);
        if keep < self.share {
            self.set_share(keep, actions);
        }
        if self.share < has {
            if keep > self.share {
                // By a transaction, though the engine knows of all these: a call that gives some back may be under way, and this one has it refused.
                let compare = Compare::Modified(Key::Share, modified);
                return self.write_share(now, compare, (has, keep), actions);
            }
            if let Some(left) = self.drained.filter(|left| *left < has) {
                let compares = vec![Compare::Modified(Key::Share, modified)];
                let then = match left {
                    0 if lease.is_some() => {
                        vec![Operation::Delete(Key::Share), Operation::Delete(Key::TakenBy)]
                    }
                    0 => vec![Operation::Delete(Key::Share)],
                    permits => vec![Operation::PutShare { permits, lease }],
                };
                return self.client.change(now, Purpose::Change, (compares, then), actions);
            }
            if self.drain.is_none() {
                self.begin_to_drain(has, actions);
            }
        }
        self.decide_in_the_queue(now, demand, has, known, actions);
    }

    /// Returns how much the programs want in all.
    pub(super) fn wanted(&self, demand: Demand) -> u32 {
        demand.used.saturating_add(demand.awaited.max(self.tried)).min(self.total)
    }

    fn equal_part(&self, known: &Snapshot) -> u32 {
        let others =
            known.shares.iter().map(|share| &share.host).chain(known.places.iter().map(|place| &place.host));
        let mut others: Vec<_> = others.filter(|host| **host != self.host).collect();
        others.sort_unstable();
        others.dedup();
        (self.total / (others.len() as u32 + 1)).max(1)
    }

    /// Returns what the programs want beyond what this host has.
    fn wish(&self, demand: Demand, has: u32, known: &Snapshot) -> Option<Wish> {
        let first = demand.first.max(self.tried);
        if first == 0 || self.leaves || self.is_refused {
            return None;
        }
        let wanted = self.wanted(demand);
        let part = wanted.min(self.equal_part(known));
        let needs = demand.used.saturating_add(first).min(self.total).max(part);
        (needs > has).then_some(Wish { needs, wants: wanted.max(needs) })
    }

    /// Returns how many of the permits that it has this host keeps.
    pub(super) fn keeps(&mut self, now: Nanoseconds, demand: Demand, has: u32, known: &Snapshot) -> u32 {
        let seen = self.wish.take();
        if self.leaves || self.is_refused {
            return 0;
        }
        let Some(other) = known.places.iter().find(|place| place.host != self.host) else { return has };
        if has == 0 {
            return 0;
        }
        self.look_at = Some(now + LOOK);
        let theirs = known.share_of(&other.host).map_or(0, |share| share.permits);
        let would_have = theirs.saturating_add(self.free(now, known));
        let idle = has.saturating_sub(self.wanted(demand));
        let given = idle.min(other.wants.saturating_sub(would_have));
        let lacks = other.needs.saturating_sub(would_have);
        let is_before = known.place_of(&self.host).is_none_or(|own| other.created < own.created);
        if lacks == 0 || !is_before {
            return has - given;
        }
        let since = seen.filter(|(created, _)| *created == other.created).map_or(now, |(_, since)| since);
        self.wish = Some((other.created, since));
        let (hold, all_give) =
            (since + self.client.config.hold, since + self.client.config.hold.saturating_mul(LONGER));
        let next = [hold, all_give].into_iter().filter(|at| *at > now).min();
        self.look_at = self.look_at.min(next.or(self.look_at));
        if now < hold {
            return has - given;
        }
        let part = self.equal_part(known);
        let more = |permits: u32| permits.saturating_sub(part);
        let of_others = known.shares.iter().filter(|share| share.host != other.host);
        let all_more: u64 = of_others.map(|share| u64::from(more(share.permits))).sum();
        let is_enough = all_more >= u64::from(lacks) && now < all_give;
        let gives = if is_enough { more(has) } else { has };
        has - given.max(gives.min(lacks))
    }

    fn decide_in_the_queue(
        &mut self,
        now: Nanoseconds,
        demand: Demand,
        has: u32,
        known: &Snapshot,
        actions: &mut Vec<Action>,
    ) {
        let wish = self.wish(demand, has, known);
        if wish.is_none() && self.share >= self.wanted(demand) {
            self.tried = 0;
        }
        match (known.place_of(&self.host), wish) {
            (None, None) => {
                if has == 0 || !self.client.is_leased() {
                    self.client.revoke_the_lease(actions);
                }
                if has > 0 {
                    self.client.watch(Watched::Queue, known, actions);
                } else {
                    self.client.watch = None;
                    if self.leaves && self.share == 0 && !std::mem::replace(&mut self.has_left, true) {
                        actions.push(Action::Left);
                    }
                }
            }
            // Of an agent before this one, of a call that came late, or of a program that waits no more.
            (Some(place), None) => self.leave_the_queue(now, place, actions),
            (None, Some(wish)) => match self.client.lease {
                None => self.client.ask_for_a_lease(now, Purpose::Lease, actions),
                Some(lease) => self.queue(now, lease.number, &wish, 0, actions),
            },
            // No host keeps that one alive: it is given up, and the next one has a lease of ours.
            (Some(place), Some(_)) if self.client.lease.is_none() => {
                self.leave_the_queue(now, place, actions)
            }
            (Some(place), Some(wish)) => self.decide_at_place(now, place, &wish, has, known, actions),
        }
    }

    fn decide_at_place(
        &mut self,
        now: Nanoseconds,
        place: &Place,
        wish: &Wish,
        has: u32,
        known: &Snapshot,
        actions: &mut Vec<Action>,
    ) {
        self.look_at = Some(self.look_at.map_or(now + LOOK, |at| at.min(now + LOOK)));
        let before = known.places.iter().rev().find(|other| other.created < place.created);
        let takes = self.free(now, known).min(wish.wants - has);
        // What is being given back is not a matter of what was wanted since.
        if before.is_none() && takes > 0 && self.share == has {
            let Ok((lease, until)) = self.client.lease_to_come_by(now, Purpose::Lease, actions) else {
                return;
            };
            let share = has + takes;
            let written = known.total.map_or(0, |total| total.modified);
            let none_since = if lease.is_some() { Compare::NoneTakenSince } else { Compare::NoShareSince };
            let compares = vec![
                Compare::Created(Key::Place, place.created),
                none_since(known.revision),
                Compare::Modified(Key::Total, written),
            ];
            let mut then = vec![Operation::PutShare { permits: share, lease }];
            then.extend(self.take_from_the_ended(now, known, takes));
            if known.total.is_none() {
                then.push(Operation::PutTotal { permits: self.total, mode: self.client.config.mode });
            }
            if share >= wish.needs {
                then.push(Operation::Delete(Key::Place));
            }
            self.client.admit_no_later_than(until, actions);
            return self.client.change(
                now,
                Purpose::Grow { permits: share, lease },
                (compares, then),
                actions,
            );
        }
        if let Some(lease) = self.client.lease
            && (place.needs < wish.needs || place.wants < wish.wants)
        {
            return self.queue(now, lease.number, wish, place.created, actions);
        }
        match before {
            None => self.client.watch(Watched::Shares, known, actions),
            Some(before) if has == 0 => {
                self.client.watch(Watched::Place(before.host.clone()), known, actions)
            }
            Some(_) => self.client.watch(Watched::Queue, known, actions),
        }
    }

    /// Takes a place in the queue, or says in the one that was created at this revision what is wanted by now.
    fn queue(&mut self, now: Nanoseconds, lease: u64, wish: &Wish, created: u64, actions: &mut Vec<Action>) {
        let Wish { needs, wants } = *wish;
        let change =
            (vec![Compare::Created(Key::Place, created)], vec![Operation::Queue { lease, needs, wants }]);
        self.client.change(now, Purpose::Queue, change, actions);
    }

    pub(super) fn leave_the_queue(&mut self, now: Nanoseconds, place: &Place, actions: &mut Vec<Action>) {
        let change = (vec![Compare::Created(Key::Place, place.created)], vec![Operation::Delete(Key::Place)]);
        self.client.change(now, Purpose::Change, change, actions);
    }
}
