//! The privilege to read, which several hosts may have at once.
//!
//! A reader takes it from the head of the queue, as a writer takes the privilege, and leaves the queue by that: so readers that stand one behind
//! another come in one after another, and a writer between them waits for those before it, and is waited for by those behind. The writer says
//! so in [`Key::Writer`] once it is the head, which is all that hosts that read watch: readers that come and go are nothing to them.
//!
//! A host that reads, and whose programs want more, gives the privilege to read up before it queues. So no two hosts wait for each other.
//!
//! The transaction that takes the privilege to read writes the state, as each one that takes something does: one of an agent that does not
//! know of readers, and compares the state, is refused then.

use crate::Nanoseconds;
use crate::agent::{Agent, Local, Purpose};
use crate::decision::of_state;
use crate::engine::{Compare, Data, Key, Operation, Reader, Request, Snapshot, Watched, Wish};
use crate::event::Action;

impl Agent {
    /// Returns whether another host waits for the lock to be moved away here.
    pub(crate) fn is_pressed(&self, known: &Snapshot) -> bool {
        match self.local {
            Local::Home { .. } => known.places.iter().any(|place| place.host != self.host),
            Local::Reading => known.writer.as_ref().is_some_and(|writer| *writer != self.host),
            Local::Leaving { .. } | Local::Away { .. } => false,
        }
    }

    pub(crate) fn decide_while_reading(
        &mut self,
        now: Nanoseconds,
        known: &Snapshot,
        actions: &mut Vec<Action>,
    ) {
        let Some(modified) = self.modified_at(&known.readers) else { return self.is_robbed(now, actions) };
        if let Some(place) = self.own_place(known) {
            // Of a call that came late.
            return self.leave_the_queue(now, known, place.created, actions);
        }
        if self.wants == Some(Wish::Write) || self.is_pressed(known) && self.has_held_on(now) {
            return self.leave(Some(now), actions);
        }
        if self.client.is_leased() && !self.client.has_held {
            let is_ours = Compare::Modified(Key::Reading, modified);
            return self.attach(now, known, (is_ours, Key::Reading), actions);
        }
        self.client.clear_the_deadline(actions);
        self.client.watch(Watched::Writer, known, actions);
    }

    /// The lock is away: gives the privilege to read up, or goes on with it. Returns whether there was one.
    pub(crate) fn decide_after_reading(
        &mut self,
        now: Nanoseconds,
        known: &Snapshot,
        (last_token, data): (u64, Data),
        actions: &mut Vec<Action>,
    ) -> bool {
        let (reading, read_by) = (self.modified_at(&known.readers), self.modified_at(&known.read_by));
        let is_waited_for = known.writer.as_ref().is_some_and(|writer| *writer != self.host);
        match (reading, read_by) {
            // It was taken, and the answer did not come; or by an agent before this one; or no writer waits any more.
            (Some(modified), _) if self.wants == Some(Wish::Read) && !is_waited_for => {
                let data = known.state.as_ref().map_or(data, |state| state.data.max(data));
                let compares = [Compare::Modified(Key::Reading, modified)];
                self.come_to_read(now, known, (last_token, data), &compares, false, actions);
            }
            (Some(modified), read_by) => {
                let then = [Operation::Delete(Key::Reading), Operation::Delete(Key::ReadBy)];
                let compare = Compare::Modified(Key::Reading, modified);
                self.change(now, &[compare], &then[..1 + usize::from(read_by.is_some())], actions);
            }
            // Its lease ended before. From here on others know that no program of this host reads.
            (None, Some(modified)) => {
                let compare = Compare::Modified(Key::ReadBy, modified);
                self.change(now, &[compare], &[Operation::Delete(Key::ReadBy)], actions);
            }
            (None, None) => return false,
        }
        true
    }

    /// As the head of the queue, has the hosts that read know that a writer waits, and waits until this one of them does not read any more.
    pub(crate) fn call_readers(
        &mut self,
        now: Nanoseconds,
        known: &Snapshot,
        place: u64,
        lease: u64,
        reader: crate::Host,
        actions: &mut Vec<Action>,
    ) {
        if known.writer.as_ref() == Some(&self.host) {
            return self.client.watch(Watched::Reader(reader), known, actions);
        }
        let compare = Compare::Created(Key::Place, place);
        self.change(now, &[compare], &[Operation::CallReaders { lease }], actions);
    }

    /// Takes the privilege to read, or goes on with it; then the lock comes home to read.
    pub(crate) fn come_to_read(
        &mut self,
        now: Nanoseconds,
        known: &Snapshot,
        (last_token, data): (u64, Data),
        compares: &[Compare],
        takes: bool,
        actions: &mut Vec<Action>,
    ) {
        let Ok((lease, _)) = self.client.lease_to_come_by(now, Purpose::Lease, actions) else { return };
        let (reserved, modified, _) = of_state(known);
        // Above all that any host was given, and what this one gave out before it was linked to others: no writer has one as small after.
        let token = reserved.max(last_token);
        let compares = [compares, &[Compare::Modified(Key::State, modified)]].concat();
        let mut then = vec![Operation::Read { lease }];
        if takes {
            then.extend(self.out_of_the_queue(known));
        }
        then.push(self.put(token, data, false));
        let request = Request::Transaction { compares, then };
        self.client.call(now, Purpose::Read { token, data, lease }, request, actions);
    }

    /// The privilege to read is this host's, up to this deadline.
    pub(crate) fn come_to_read_until(
        &mut self,
        until: Nanoseconds,
        (token, data): (u64, Data),
        actions: &mut Vec<Action>,
    ) {
        self.local = Local::Reading;
        // Who wants more has not got it.
        self.wants = self.wants.filter(|wish| *wish == Wish::Write);
        self.client.begin_until(until, actions);
        actions.push(Action::BringHomeToRead { token, data });
        if !self.client.has_held {
            self.client.revoke_the_lease(actions);
        }
    }

    /// Notes since when the privilege, or that to read, of another host is gone that has not given it up.
    pub(crate) fn note_the_end(&mut self, now: Nanoseconds, known: &Snapshot) {
        let modified = known
            .state
            .as_ref()
            .filter(|state| state.taken_by.as_ref().is_some_and(|other| *other != self.host))
            .filter(|_| known.held.is_none())
            .map(|state| state.modified);
        let seen = self.ended.filter(|(seen, _)| Some(*seen) == modified);
        self.ended = seen.or(modified.map(|modified| (modified, now)));
        let has_ended = |one: &&Reader| {
            one.host != self.host && !known.readers.iter().any(|reader| reader.host == one.host)
        };
        let seen = |at: u64| self.ended_reading.iter().find(|(seen, _)| *seen == at).copied();
        let ended = known.read_by.iter().filter(has_ended);
        self.ended_reading = ended.map(|one| seen(one.modified).unwrap_or((one.modified, now))).collect();
    }

    /// Returns whether a host that had the privilege may admit programs still beside which this wish cannot be, if the engine ended its
    /// lease before the time.
    pub(crate) fn may_have_ended_early(&self, now: Nanoseconds, wish: Wish) -> bool {
        let readers = self.ended_reading.iter().filter(|_| wish == Wish::Write);
        self.ended.iter().chain(readers).any(|(_, since)| now < since + self.client.config.distrust)
    }

    /// When that is over next.
    pub(crate) fn trusts_at(&self, now: Nanoseconds) -> Option<Nanoseconds> {
        let ends = self
            .ended
            .iter()
            .chain(&self.ended_reading)
            .map(|(_, since)| since + self.client.config.distrust);
        ends.filter(|at| *at > now).min()
    }

    fn modified_at(&self, readers: &[Reader]) -> Option<u64> {
        readers.iter().find(|reader| reader.host == self.host).map(|reader| reader.modified)
    }
}
