//! What an agent does next, by what it knows of the keys.

use crate::agent::{Agent, Local, Purpose};
use crate::engine::{Compare, Data, Held, Key, Operation, Place, Request, Snapshot, State, Watched, Wish};
use crate::event::Action;
use crate::{NO_DEADLINE, Nanoseconds};

impl Agent {
    /// Does the next thing, by what is known.
    pub(crate) fn decide(&mut self, now: Nanoseconds, known: &Snapshot, actions: &mut Vec<Action>) {
        if let Some(state) = known.state.as_ref().filter(|state| state.mode != self.client.config.mode) {
            return self.refuse(now, known, state, actions);
        }
        self.is_refused = false;
        self.note_the_end(now, known);
        let ours = known.held.as_ref().filter(|held| held.host == self.host);
        let others_want = known.places.iter().any(|place| place.host != self.host);
        if !self.is_pressed(known) {
            self.wished_since = None;
        }
        match (self.local, ours) {
            (Local::Leaving { .. }, _) => {}
            (Local::Reading, _) => self.decide_while_reading(now, known, actions),
            (Local::Home { .. }, None) => self.is_robbed(now, actions),
            (Local::Home { first, last_token, token_end }, Some(held)) => {
                let home = Home { first, last_token, token_end, others_want };
                self.decide_at_home(now, known, held, home, actions);
            }
            (Local::Away { first, last_token, data, gives }, Some(held)) => {
                if gives || (others_want && self.wants.is_none()) {
                    self.give_up(now, known, held.created, (first, last_token), (data, gives), actions);
                } else if self.wants.is_some() {
                    // It was taken, and the answer did not come; or an agent before this one took it, or did not give it up: which of these
                    // cannot be told, so the worse counts.
                    let data = known.state.as_ref().map_or(data, |state| state.data.max(data));
                    let compares = [Compare::Created(Key::Held, held.created)];
                    self.come_home(now, known, last_token, data, &compares, false, actions);
                } else {
                    self.client.watch(Watched::Queue, known, actions);
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
                if !self.decide_after_reading(now, known, (last_token, data), actions) {
                    self.decide_in_the_queue(now, known, (last_token, data), actions);
                }
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
            return self.leave_the_queue(now, known, place.created, actions);
        }
        if home.others_want && self.has_held_on(now) {
            return self.leave(Some(now), actions);
        }
        if self.client.is_leased() && !self.client.has_held {
            let is_ours = Compare::Created(Key::Held, held.created);
            return self.attach(now, known, (is_ours, Key::Held), actions);
        }
        self.client.clear_the_deadline(actions);
        let (reserved, modified, data) = of_state(known);
        if home.token_end.saturating_sub(home.last_token) < self.client.config.block / 2 {
            if reserved > home.token_end {
                // No other host reserves while this one has the privilege, so all up to it are ours.
                self.local =
                    Local::Home { first: home.first, last_token: home.last_token, token_end: reserved };
                actions.push(Action::Extend { last: reserved });
            } else {
                let compares =
                    [Compare::Created(Key::Held, held.created), Compare::Modified(Key::State, modified)];
                let put = self.put(home.token_end.max(reserved) + self.client.config.block, data, true);
                return self.change(now, &compares, &[put], actions);
            }
        }
        self.client.watch(Watched::Queue, known, actions);
    }

    /// Has the privilege have the lease of this agent, which the one before it took or which was found without one. Until that is known to be so
    /// the file admits programs no longer than by either.
    pub(crate) fn attach(
        &mut self,
        now: Nanoseconds,
        known: &Snapshot,
        (is_ours, key): (Compare, Key),
        actions: &mut Vec<Action>,
    ) {
        let (reserved, modified, data) = of_state(known);
        match self.client.lease.map(|lease| (lease.number, self.client.deadline_of(lease.number))) {
            // The file of a lock that is leased has a deadline.
            _ if self.client.until == NO_DEADLINE => {
                self.client.admit_no_later_than(now, actions);
                self.keep_the_deadline(now, actions);
            }
            // It is kept first.
            Some((_, Some(until))) if now >= until => {}
            Some((lease, Some(until))) => {
                self.client.admit_no_later_than(until, actions);
                let compares = [is_ours, Compare::Modified(Key::State, modified)];
                let lease_of = Some(lease);
                let (holds, is_taken) = match key {
                    Key::Reading => (Operation::Read { lease: lease_of }, false),
                    _ => (Operation::Hold { lease: lease_of }, true),
                };
                // The state is written so that a call of the agent before this one, which comes late, is refused.
                let then = vec![holds, self.put(reserved, data, is_taken)];
                let request = Request::Transaction { compares: compares.into(), then };
                self.client.call(now, Purpose::Attach { lease }, request, actions);
            }
            _ => self.client.ask_for_a_lease(now, Purpose::Lease, actions),
        }
    }

    /// Returns whether programs of this host have gone on for long enough while another one is pressing.
    pub(crate) fn has_held_on(&mut self, now: Nanoseconds) -> bool {
        now >= *self.wished_since.get_or_insert(now) + self.hold
    }

    /// Gives the place up that was created then.
    pub(crate) fn leave_the_queue(
        &mut self,
        now: Nanoseconds,
        known: &Snapshot,
        created: u64,
        actions: &mut Vec<Action>,
    ) {
        let compare = Compare::Created(Key::Place, created);
        self.change(now, &[compare], &self.out_of_the_queue(known), actions);
    }

    /// What goes with the place. Another host calls readers only once this one has no place.
    pub(crate) fn out_of_the_queue(&self, known: &Snapshot) -> Vec<Operation> {
        let has_called = known.writer.as_ref() == Some(&self.host);
        let keys = [Key::Place, Key::Writer];
        keys[..1 + usize::from(has_called)].iter().map(|key| Operation::Delete(*key)).collect()
    }

    /// The hosts have the lock in another mode: as if no agent were here, but for its place, which keeps others waiting.
    fn refuse(&mut self, now: Nanoseconds, known: &Snapshot, state: &State, actions: &mut Vec<Action>) {
        if !self.is_refused {
            self.is_refused = true;
            actions.push(Action::Refused { mode: state.mode });
        }
        (self.client.watch, self.wished_since) = (None, None);
        if !self.client.has_held {
            self.client.revoke_the_lease(actions);
        }
        if let Some(place) = self.own_place(known) {
            self.leave_the_queue(now, known, place.created, actions);
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
            (None, None) => {
                self.client.watch = None;
                self.client.revoke_the_lease(actions);
            }
            // Of an agent before this one, or of a call that came late. While it stands, a call to take the privilege may come late too.
            (Some(place), None) => self.leave_the_queue(now, known, place.created, actions),
            (None, Some(_)) => match self.client.lease {
                None => self.client.ask_for_a_lease(now, Purpose::Lease, actions),
                Some(lease) => {
                    let compare = Compare::Created(Key::Place, 0);
                    let then = vec![Operation::Queue { lease: lease.number }];
                    let request = Request::Transaction { compares: vec![compare], then };
                    self.client.call(now, Purpose::Queue, request, actions);
                }
            },
            (Some(place), Some(wish)) => {
                // No host keeps that one alive: it is given up, and the next one has a lease of ours.
                let Some(lease) = self.client.lease.map(|lease| lease.number) else {
                    return self.leave_the_queue(now, known, place.created, actions);
                };
                let before = known.places.iter().rev().find(|other| other.created < place.created);
                match (before, &known.held, known.readers.last()) {
                    (Some(before), ..) => {
                        self.client.watch(Watched::Place(before.host.clone()), known, actions)
                    }
                    (None, Some(_), _) => self.client.watch(Watched::Held, known, actions),
                    (None, None, _) if self.may_have_ended_early(now, wish) => {}
                    (None, None, Some(reader)) if wish == Wish::Write => {
                        self.call_readers(now, known, place.created, lease, reader.host.clone(), actions);
                    }
                    (None, None, _) => {
                        let data = self.data_to_come(known, data);
                        if wish == Wish::Read {
                            let compares =
                                [Compare::Created(Key::Held, 0), Compare::Created(Key::Place, place.created)];
                            return self.come_to_read(
                                now,
                                known,
                                (last_token, data),
                                &compares,
                                true,
                                actions,
                            );
                        }
                        let compares = [
                            Compare::Created(Key::Held, 0),
                            Compare::NoReaders,
                            Compare::Created(Key::Place, place.created),
                        ];
                        self.come_home(now, known, last_token, data, &compares, true, actions);
                    }
                }
            }
        }
    }

    /// Returns what is known of the data, if no host has the privilege.
    fn data_to_come(&self, known: &Snapshot, data: Data) -> Data {
        match &known.state {
            None => data,
            // The lease of another host ended: whether a program was inside, and died, cannot be told.
            Some(State { taken_by: Some(other), data: stored, .. }) if *other != self.host => {
                (*stored).max(Data::Inconsistent)
            }
            Some(State { taken_by: Some(_), data: stored, .. }) => data.max(*stored),
            Some(state) => state.data,
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
        let Ok((lease, _)) = self.client.lease_to_come_by(now, Purpose::Lease, actions) else { return };
        let (reserved, modified, _) = of_state(known);
        // Above all that any host was given, and above what this one gave out before it was linked to others.
        let first = reserved.max(last_token) + 1;
        let last = first + self.client.config.block - 1;
        let compares = [compares, &[Compare::Modified(Key::State, modified)]].concat();
        let mut then = Vec::new();
        if takes || self.client.is_leased() {
            then.push(Operation::Hold { lease });
        }
        if takes {
            then.extend(self.out_of_the_queue(known));
            if !known.read_by.is_empty() {
                then.push(Operation::ForgetReaders);
            }
        }
        then.push(self.put(last, data, true));
        let request = Request::Transaction { compares, then };
        self.client.call(now, Purpose::Come { first, last, data, lease }, request, actions);
    }

    /// Writes the state of a privilege that is taken, or given up.
    pub(crate) fn put(&self, reserved: u64, data: Data, is_taken: bool) -> Operation {
        Operation::Put {
            reserved,
            data,
            mode: self.client.config.mode,
            is_taken: is_taken && self.client.is_leased(),
        }
    }

    /// Returns whether this host took the privilege last, and has not given it up.
    fn is_recorded(&self, known: &Snapshot) -> bool {
        known.state.as_ref().is_some_and(|state| state.taken_by.as_ref() == Some(&self.host))
    }

    pub(crate) fn own_place<'a>(&self, known: &'a Snapshot) -> Option<&'a Place> {
        known.places.iter().find(|place| place.host == self.host)
    }
}

/// What is reserved, the revision of the state, what is known of the data.
pub(crate) fn of_state(known: &Snapshot) -> (u64, u64, Data) {
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
