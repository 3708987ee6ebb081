//! What an agent does next, by what it knows of the keys.

use crate::agent::{Agent, Local, Purpose};
use crate::engine::{Compare, Data, Held, Key, Operation, Place, Request, Snapshot, State, Watched};
use crate::event::Action;
use crate::{NO_DEADLINE, Nanoseconds};

impl Agent {
    /// Does the next thing, by what is known.
    pub(crate) fn decide(&mut self, now: Nanoseconds, known: &Snapshot, actions: &mut Vec<Action>) {
        if let Some(state) = known.state.as_ref().filter(|state| state.mode != self.config.mode) {
            return self.refuse(now, known, state, actions);
        }
        self.is_refused = false;
        self.note_the_end(now, known);
        let ours = known.held.as_ref().filter(|held| held.host == self.host);
        let others_want = known.places.iter().any(|place| place.host != self.host);
        if !others_want || !matches!(self.local, Local::Home { .. }) {
            self.wished_since = None;
        }
        match (self.local, ours) {
            (Local::Leaving { .. }, _) => {}
            (Local::Home { first, .. }, None) => {
                if self.is_leased() {
                    self.has_held = false;
                    self.admit_no_later_than(now, actions);
                }
                self.local = Local::Leaving { first, since: None };
                actions.extend([Action::Robbed, Action::MoveAway]);
            }
            (Local::Home { first, last_token, token_end }, Some(held)) => {
                let home = Home { first, last_token, token_end, others_want };
                self.decide_at_home(now, known, held, home, actions);
            }
            (Local::Away { first, last_token, data, gives }, Some(held)) => {
                if gives || (others_want && !self.wants) {
                    self.give_up(now, known, held.created, (first, last_token), (data, gives), actions);
                } else if self.wants {
                    // It was taken, and the answer did not come; or an agent before this one took it, or did not give it up: which of these
                    // cannot be told, so the worse counts.
                    let data = known.state.as_ref().map_or(data, |state| state.data.max(data));
                    let compares = [Compare::Created(Key::Held, held.created)];
                    self.come_home(now, known, last_token, data, &compares, false, actions);
                } else {
                    self.watch(Watched::Queue, known, actions);
                }
            }
            // Its lease ended before the privilege was given up, and no host has taken it since: what is known here still counts.
            (Local::Away { first, last_token, data, gives: true }, None)
                if known.held.is_none() && self.is_recorded(known) =>
            {
                self.give_up(now, known, 0, (first, last_token), (data, true), actions);
            }
            (Local::Away { last_token, data, .. }, None) => {
                self.local = Local::Away { first: None, last_token, data, gives: false };
                self.decide_in_the_queue(now, known, (last_token, data), actions);
            }
        }
    }

    fn decide_at_home(
        &mut self,
        now: Nanoseconds,
        known: &Snapshot,
        held: &Held,
        home: Home,
        actions: &mut Vec<Action>,
    ) {
        if let Some(place) = self.own_place(known) {
            // Of a call that came late.
            let compare = Compare::Created(Key::Place, place.created);
            return self.change(now, &[compare], &[Operation::Delete(Key::Place)], actions);
        }
        if home.others_want {
            let since = *self.wished_since.get_or_insert(now);
            if now >= since + self.hold {
                self.local = Local::Leaving { first: home.first, since: Some(now) };
                self.wished_since = None;
                return actions.push(Action::MoveAway);
            }
        }
        if self.is_leased() && !self.has_held {
            return self.attach(now, known, held, actions);
        }
        if !self.is_leased() && self.until != NO_DEADLINE {
            self.until = NO_DEADLINE;
            actions.push(Action::Lease { until: NO_DEADLINE });
        }
        let (reserved, modified, data) = of_state(known);
        if home.token_end.saturating_sub(home.last_token) < self.config.block / 2 {
            if reserved > home.token_end {
                // No other host reserves while this one has the privilege, so all up to it are ours.
                self.local =
                    Local::Home { first: home.first, last_token: home.last_token, token_end: reserved };
                actions.push(Action::Extend { last: reserved });
            } else {
                let compares =
                    [Compare::Created(Key::Held, held.created), Compare::Modified(Key::State, modified)];
                let put = self.put(home.token_end.max(reserved) + self.config.block, data, true);
                return self.change(now, &compares, &[put], actions);
            }
        }
        self.watch(Watched::Queue, known, actions);
    }

    /// Has the privilege have the lease of this agent, which the one before it took or which was found without one. Until that is known to be so
    /// the file admits programs no longer than by either.
    fn attach(&mut self, now: Nanoseconds, known: &Snapshot, held: &Held, actions: &mut Vec<Action>) {
        let (reserved, modified, data) = of_state(known);
        match self.lease.map(|lease| (lease.number, self.deadline_of(lease.number))) {
            // The file of a lock that is leased has a deadline.
            _ if self.until == NO_DEADLINE => {
                self.admit_no_later_than(now, actions);
                self.keep_the_deadline(now, actions);
            }
            // It is kept first.
            Some((_, Some(until))) if now >= until => {}
            Some((lease, Some(until))) => {
                self.admit_no_later_than(until, actions);
                let compares =
                    [Compare::Created(Key::Held, held.created), Compare::Modified(Key::State, modified)];
                // The state is written so that a call of the agent before this one, which comes late, is refused.
                let then = vec![Operation::Hold { lease: Some(lease) }, self.put(reserved, data, true)];
                let request = Request::Transaction { compares: compares.into(), then };
                self.call(now, Purpose::Attach { lease }, request, actions);
            }
            _ => self.ask_for_a_lease(now, actions),
        }
    }

    fn ask_for_a_lease(&mut self, now: Nanoseconds, actions: &mut Vec<Action>) {
        let request = Request::Grant { length: self.config.lease };
        self.call(now, Purpose::Lease, request, actions);
    }

    /// The hosts have the lock in another mode: as if no agent were here, but for its place, which keeps others waiting.
    fn refuse(&mut self, now: Nanoseconds, known: &Snapshot, state: &State, actions: &mut Vec<Action>) {
        if !self.is_refused {
            self.is_refused = true;
            actions.push(Action::Refused { mode: state.mode });
        }
        (self.watch, self.wished_since) = (None, None);
        if !self.has_held {
            self.revoke_the_lease(actions);
        }
        if let Some(place) = self.own_place(known) {
            let compare = Compare::Created(Key::Place, place.created);
            self.change(now, &[compare], &[Operation::Delete(Key::Place)], actions);
        }
    }

    /// Gives the privilege up, and what is left of the block. The transaction names the time that it was taken; 0: its lease is over.
    fn give_up(
        &mut self,
        now: Nanoseconds,
        known: &Snapshot,
        created: u64,
        (first, last_token): (Option<u64>, u64),
        (data, is_ours): (Data, bool),
        actions: &mut Vec<Action>,
    ) {
        let (reserved, modified, stored) = of_state(known);
        // Of a block that an agent before this one set it is not known where it begins, so nothing of it is given back.
        let reserved = first.map_or(reserved, |first| last_token.max(first - 1)).max(last_token);
        // Where another agent moved the lock away, it may have been before or after this state was written.
        let data = if is_ours { data } else { stored.max(data) };
        let compares = [Compare::Created(Key::Held, created), Compare::Modified(Key::State, modified)];
        let then = [self.put(reserved, data, false), Operation::Delete(Key::Held)];
        self.change(now, &compares, &then[..1 + usize::from(created != 0)], actions);
    }

    fn decide_in_the_queue(
        &mut self,
        now: Nanoseconds,
        known: &Snapshot,
        (last_token, data): (u64, Data),
        actions: &mut Vec<Action>,
    ) {
        match (self.own_place(known).cloned(), self.wants) {
            (None, false) => {
                self.watch = None;
                self.revoke_the_lease(actions);
            }
            // Of an agent before this one, or of a call that came late. While it stands, a call to take the privilege may come late too.
            (Some(place), false) => {
                let compare = Compare::Created(Key::Place, place.created);
                self.change(now, &[compare], &[Operation::Delete(Key::Place)], actions);
            }
            (None, true) => match self.lease {
                None => self.ask_for_a_lease(now, actions),
                Some(lease) => {
                    let compare = Compare::Created(Key::Place, 0);
                    let then = vec![Operation::Queue { lease: lease.number }];
                    let request = Request::Transaction { compares: vec![compare], then };
                    self.call(now, Purpose::Queue, request, actions);
                }
            },
            // Nobody keeps that one alive: it is given up, and the next one has a lease of ours.
            (Some(place), true) if self.lease.is_none() => {
                let compare = Compare::Created(Key::Place, place.created);
                self.change(now, &[compare], &[Operation::Delete(Key::Place)], actions);
            }
            (Some(place), true) => {
                let before = known.places.iter().rev().find(|other| other.created < place.created);
                match (before, &known.held) {
                    (Some(before), _) => self.watch(Watched::Place(before.host.clone()), known, actions),
                    (None, Some(_)) => self.watch(Watched::Held, known, actions),
                    (None, None) if self.may_have_ended_early(now) => {}
                    (None, None) => {
                        let data = match &known.state {
                            None => data,
                            // The lease of another host ended: whether a program was inside, and died, cannot be told.
                            Some(State { taken_by: Some(other), data: stored, .. })
                                if *other != self.host =>
                            {
                                (*stored).max(Data::Inconsistent)
                            }
                            Some(State { taken_by: Some(_), data: stored, .. }) => data.max(*stored),
                            Some(state) => state.data,
                        };
                        let compares =
                            [Compare::Created(Key::Held, 0), Compare::Created(Key::Place, place.created)];
                        self.come_home(now, known, last_token, data, &compares, true, actions);
                    }
                }
            }
        }
    }

    /// Takes the privilege, or goes on with it, and reserves a block; then the lock comes home.
    #[expect(clippy::too_many_arguments, reason = "the two transactions that differ in two of them")]
    fn come_home(
        &mut self,
        now: Nanoseconds,
        known: &Snapshot,
        last_token: u64,
        data: Data,
        compares: &[Compare],
        takes: bool,
        actions: &mut Vec<Action>,
    ) {
        let lease = self.lease.filter(|_| self.is_leased()).map(|lease| lease.number);
        if self.is_leased() {
            match lease.map(|lease| self.deadline_of(lease)) {
                None => return self.ask_for_a_lease(now, actions),
                // It is kept first.
                Some(until) if until.is_none_or(|until| now >= until) => return,
                Some(_) => {}
            }
        }
        let (reserved, modified, _) = of_state(known);
        // Above all that any host was given, and above what this one gave out before it was linked to others.
        let first = reserved.max(last_token) + 1;
        let last = first + self.config.block - 1;
        let compares = [compares, &[Compare::Modified(Key::State, modified)]].concat();
        let mut then = Vec::new();
        if takes || self.is_leased() {
            then.push(Operation::Hold { lease });
        }
        if takes {
            then.push(Operation::Delete(Key::Place));
        }
        then.push(self.put(last, data, true));
        let request = Request::Transaction { compares, then };
        self.call(now, Purpose::Come { first, last, data, lease }, request, actions);
    }

    /// Writes the state of a privilege that is taken, or given up.
    fn put(&self, reserved: u64, data: Data, is_taken: bool) -> Operation {
        Operation::Put { reserved, data, mode: self.config.mode, is_taken: is_taken && self.is_leased() }
    }

    /// Notes since when the privilege of another host is gone that has not given it up.
    fn note_the_end(&mut self, now: Nanoseconds, known: &Snapshot) {
        let modified = known
            .state
            .as_ref()
            .filter(|state| state.taken_by.as_ref().is_some_and(|other| *other != self.host))
            .filter(|_| known.held.is_none())
            .map(|state| state.modified);
        let seen = self.ended.filter(|(seen, _)| Some(*seen) == modified);
        self.ended = seen.or(modified.map(|modified| (modified, now)));
    }

    /// Returns whether the host that had the privilege may admit programs still, if the engine ended its lease before the time.
    fn may_have_ended_early(&self, now: Nanoseconds) -> bool {
        self.ended.is_some_and(|(_, since)| now < since + self.config.distrust)
    }

    /// Returns whether this host took the privilege last, and has not given it up.
    fn is_recorded(&self, known: &Snapshot) -> bool {
        known.state.as_ref().is_some_and(|state| state.taken_by.as_ref() == Some(&self.host))
    }

    fn own_place<'a>(&self, known: &'a Snapshot) -> Option<&'a Place> {
        known.places.iter().find(|place| place.host == self.host)
    }
}

/// What is reserved, the revision of the state, what is known of the data.
fn of_state(known: &Snapshot) -> (u64, u64, Data) {
    known
        .state
        .as_ref()
        .map_or((0, 0, Data::Consistent), |state| (state.reserved, state.modified, state.data))
}

/// What a lock at home is like.
struct Home {
    first: Option<u64>,
    last_token: u64,
    token_end: u64,
    others_want: bool,
}
