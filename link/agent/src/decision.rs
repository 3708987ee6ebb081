//! What an agent does next, by what it knows of the keys.

use crate::Nanoseconds;
use crate::agent::{Agent, Local, Purpose};
use crate::engine::{Compare, Data, Held, Key, Operation, Place, Request, Snapshot, Watched};
use crate::event::Action;

impl Agent {
    /// Does the next thing, by what is known.
    pub(crate) fn decide(&mut self, now: Nanoseconds, known: &Snapshot, actions: &mut Vec<Action>) {
        let ours = known.held.as_ref().filter(|held| held.host == self.host);
        let others_want = known.places.iter().any(|place| place.host != self.host);
        if !others_want || !matches!(self.local, Local::Home { .. }) {
            self.wished_since = None;
        }
        match (self.local, ours) {
            (Local::Leaving { .. }, _) => {}
            (Local::Home { first, .. }, None) => {
                self.local = Local::Leaving { first };
                actions.extend([Action::Robbed, Action::MoveAway]);
            }
            (Local::Home { first, last_token, token_end }, Some(held)) => {
                let home = Home { first, last_token, token_end, others_want };
                self.decide_at_home(now, known, held, home, actions);
            }
            (Local::Away { first, last_token, data, gives }, Some(held)) => {
                if gives || (others_want && !self.wants) {
                    self.give_up(now, known, held, (first, last_token), (data, gives), actions);
                } else if self.wants {
                    // It was taken, and the answer did not come; or an agent before this one took it, or did not give it up: which of these
                    // cannot be told, so the worse counts.
                    let data = known.state.map_or(data, |state| state.data.max(data));
                    let compares = [Compare::Created(Key::Held, held.created)];
                    self.come_home(now, known, last_token, data, &compares, &[], actions);
                } else {
                    self.watch(Watched::Queue, known, actions);
                }
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
            if now >= since + self.config.hold {
                self.local = Local::Leaving { first: home.first };
                self.wished_since = None;
                return actions.push(Action::MoveAway);
            }
        }
        let (reserved, modified, data) = known
            .state
            .map_or((0, 0, Data::Consistent), |state| (state.reserved, state.modified, state.data));
        if home.token_end.saturating_sub(home.last_token) < self.config.block / 2 {
            if reserved > home.token_end {
                // No other host reserves while this one has the privilege, so all up to it are ours.
                self.local =
                    Local::Home { first: home.first, last_token: home.last_token, token_end: reserved };
                actions.push(Action::Extend { last: reserved });
            } else {
                let compares =
                    [Compare::Created(Key::Held, held.created), Compare::Modified(Key::State, modified)];
                let put = Operation::Put { reserved: home.token_end.max(reserved) + self.config.block, data };
                return self.change(now, &compares, &[put], actions);
            }
        }
        self.watch(Watched::Queue, known, actions);
    }

    /// Gives the privilege up, and what is left of the block. The transaction names the time that it was taken.
    fn give_up(
        &mut self,
        now: Nanoseconds,
        known: &Snapshot,
        held: &Held,
        (first, last_token): (Option<u64>, u64),
        (data, is_ours): (Data, bool),
        actions: &mut Vec<Action>,
    ) {
        let (reserved, modified, stored) = known
            .state
            .map_or((0, 0, Data::Consistent), |state| (state.reserved, state.modified, state.data));
        // Of a block that an agent before this one set it is not known where it begins, so nothing of it is given back.
        let reserved = first.map_or(reserved, |first| last_token.max(first - 1)).max(last_token);
        // Where another agent moved the lock away, it may have been before or after this state was written.
        let data = if is_ours { data } else { stored.max(data) };
        let compares = [Compare::Created(Key::Held, held.created), Compare::Modified(Key::State, modified)];
        let then = [Operation::Put { reserved, data }, Operation::Delete(Key::Held)];
        self.change(now, &compares, &then, actions);
    }

    fn decide_in_the_queue(
        &mut self,
        now: Nanoseconds,
        known: &Snapshot,
        (last_token, data): (u64, Data),
        actions: &mut Vec<Action>,
    ) {
        match (self.own_place(known).cloned(), self.wants) {
            (None, false) => self.watch = None,
            // Of an agent before this one, or of a call that came late. While it stands, a call to take the privilege may come late too.
            (Some(place), false) => {
                let compare = Compare::Created(Key::Place, place.created);
                self.change(now, &[compare], &[Operation::Delete(Key::Place)], actions);
            }
            (None, true) => match self.lease {
                None => {
                    let request = Request::Grant { length: self.config.lease };
                    self.call(now, Purpose::Lease, request, actions);
                }
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
                    (None, None) => {
                        let stored = known.state.map_or(data, |state| state.data);
                        let compares =
                            [Compare::Created(Key::Held, 0), Compare::Created(Key::Place, place.created)];
                        let then = [Operation::Hold, Operation::Delete(Key::Place)];
                        self.come_home(now, known, last_token, stored, &compares, &then, actions);
                    }
                }
            }
        }
    }

    /// Reserves a block, besides what else the transaction compares and does; then the lock comes home.
    #[expect(clippy::too_many_arguments, reason = "the two transactions that differ in two of them")]
    fn come_home(
        &mut self,
        now: Nanoseconds,
        known: &Snapshot,
        last_token: u64,
        data: Data,
        compares: &[Compare],
        then: &[Operation],
        actions: &mut Vec<Action>,
    ) {
        let (reserved, modified, stored) =
            known.state.map_or((0, 0, data), |state| (state.reserved, state.modified, state.data));
        // Above all that any host was given, and above what this one gave out before it was linked to others.
        let first = reserved.max(last_token) + 1;
        let last = first + self.config.block - 1;
        let compares = [compares, &[Compare::Modified(Key::State, modified)]].concat();
        let then = [then, &[Operation::Put { reserved: last, data: stored }]].concat();
        let request = Request::Transaction { compares, then };
        self.call(now, Purpose::Come { first, last, data }, request, actions);
    }

    fn own_place<'a>(&self, known: &'a Snapshot) -> Option<&'a Place> {
        known.places.iter().find(|place| place.host == self.host)
    }
}

/// What a lock at home is like.
struct Home {
    first: Option<u64>,
    last_token: u64,
    token_end: u64,
    others_want: bool,
}
