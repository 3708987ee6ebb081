//! An engine as etcd is: keys with revisions, transactions, leases, watches that tell once.

use support::hosts::{Leases, Watch, Watches};
use turnlock_link_agent::{
    Compare, Data, Failed, Held, Host, Key, Nanoseconds, Operation, Place, Reader, Reply, Request, Snapshot,
    State, Watched,
};

/// Those who are to be told that something changed.
pub type Told = support::hosts::Told<Watched>;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Store {
    revision: u64,
    pub held: Option<Held>,
    held_lease: Option<u64>,
    pub state: Option<State>,
    places: Vec<(Place, u64)>,
    /// With the lease that they have.
    pub readers: Vec<(Reader, Option<u64>)>,
    read_by: Vec<Reader>,
    writer: Option<(Host, u64)>,
    leases: Leases,
    watches: Watches<Watched>,
}

impl Store {
    pub fn place_of(&self, host: &Host) -> Option<&Place> {
        self.places.iter().map(|(place, _)| place).find(|place| place.host == *host)
    }

    /// What a host has of the privilege to read.
    pub fn reader(&self, host: &Host) -> Option<&Reader> {
        self.readers.iter().map(|(reader, _)| reader).find(|reader| reader.host == *host)
    }

    /// The revision of the oldest place.
    pub fn first_place(&self) -> Option<u64> {
        self.places.iter().map(|(place, _)| place.created).min()
    }

    /// How many keys and watches there are.
    pub fn size(&self) -> (u64, u64) {
        let keys = self.places.len()
            + self.readers.len()
            + self.read_by.len()
            + usize::from(self.held.is_some())
            + usize::from(self.state.is_some())
            + usize::from(self.writer.is_some());
        (keys as u64, self.watches.count() as u64)
    }

    /// When the next lease ends.
    pub fn next_end(&self) -> Option<Nanoseconds> {
        self.leases.next_end()
    }

    fn revision_of(&self, host: &Host, key: Key, modified: bool) -> u64 {
        match key {
            Key::Held => self.held.as_ref().map_or(0, |held| held.created),
            Key::State if modified => self.state.as_ref().map_or(0, |state| state.modified),
            Key::State => unreachable!("no transaction compares when it was created"),
            Key::Place => self.place_of(host).map_or(0, |place| place.created),
            Key::Reading if modified => self.reader(host).map_or(0, |reader| reader.modified),
            Key::ReadBy if modified => {
                self.read_by.iter().find(|reader| reader.host == *host).map_or(0, |reader| reader.modified)
            }
            Key::Reading | Key::ReadBy | Key::Writer => unreachable!("no transaction compares that"),
        }
    }

    /// Carries a request out. `None`: it has no reply.
    pub fn carry_out(
        &mut self,
        now: Nanoseconds,
        host: &Host,
        (at, life, number): (usize, u32, u64),
        request: &Request,
        told: &mut Told,
    ) -> Option<Result<Reply, Failed>> {
        match request {
            Request::List => Some(Ok(Reply::Listed(Snapshot {
                revision: self.revision,
                held: self.held.clone(),
                state: self.state.clone(),
                places: self.places.iter().map(|(place, _)| place.clone()).collect(),
                readers: self.readers.iter().map(|(reader, _)| reader.clone()).collect(),
                read_by: self.read_by.clone(),
                writer: self.writer.as_ref().map(|(host, _)| host.clone()),
            }))),
            Request::Transaction { compares, then } => {
                let holds = |compare: &Compare| match *compare {
                    Compare::Created(key, revision) => self.revision_of(host, key, false) == revision,
                    Compare::Modified(key, revision) => self.revision_of(host, key, true) == revision,
                    Compare::NoReaders => self.readers.is_empty(),
                };
                if !compares.iter().all(holds) {
                    return Some(Ok(Reply::Committed(false)));
                }
                let has_lease = |operation: &Operation| match operation {
                    Operation::Queue { lease }
                    | Operation::CallReaders { lease }
                    | Operation::Hold { lease: Some(lease) }
                    | Operation::Read { lease: Some(lease) } => self.leases.has(*lease),
                    _ => true,
                };
                if !then.iter().all(has_lease) {
                    return Some(Err(Failed));
                }
                self.revision += 1;
                for operation in then {
                    self.operate(host, *operation, told);
                }
                Some(Ok(Reply::Committed(true)))
            }
            Request::Grant { length } => Some(Ok(Reply::Granted { lease: self.leases.grant(now, *length) })),
            Request::KeepAlive { lease } => Some(Ok(Reply::Alive(self.leases.keep_alive(now, *lease)))),
            Request::Revoke { lease } => {
                self.end_leases(|one| one == *lease, told);
                None
            }
            Request::Watch { what, from } => {
                self.watches.set(Watch { host: at, life, number, what: what.clone() }, *from, told);
                None
            }
        }
    }

    fn operate(&mut self, host: &Host, operation: Operation, told: &mut Told) {
        let revision = self.revision;
        match operation {
            Operation::Hold { lease } => {
                self.held_lease = lease;
                let created = self.held.as_ref().map_or(revision, |held| held.created);
                self.held = Some(Held { host: host.clone(), created });
                self.changed(&Watched::Held, told);
            }
            Operation::Put { reserved, data, mode, is_taken } => {
                let taken_by = is_taken.then(|| host.clone());
                self.state = Some(State { modified: revision, reserved, data, mode, taken_by });
            }
            Operation::Queue { lease } => {
                if self.place_of(host).is_none() {
                    self.places.push((Place { host: host.clone(), created: revision }, lease));
                    self.changed(&Watched::Queue, told);
                }
            }
            Operation::Delete(Key::Held) => {
                self.held = None;
                self.changed(&Watched::Held, told);
            }
            Operation::Read { lease } => {
                let reader = Reader { host: host.clone(), modified: revision };
                self.readers.retain(|(reader, _)| reader.host != *host);
                self.readers.push((reader.clone(), lease));
                self.changed(&Watched::Reader(host.clone()), told);
                if lease.is_some() {
                    self.read_by.retain(|reader| reader.host != *host);
                    self.read_by.push(reader);
                }
            }
            Operation::CallReaders { lease } => {
                self.writer = Some((host.clone(), lease));
                self.changed(&Watched::Writer, told);
            }
            Operation::ForgetReaders => self.read_by.clear(),
            Operation::Delete(Key::Reading) => {
                self.readers.retain(|(reader, _)| reader.host != *host);
                self.changed(&Watched::Reader(host.clone()), told);
            }
            Operation::Delete(Key::ReadBy) => self.read_by.retain(|reader| reader.host != *host),
            Operation::Delete(Key::Writer) => {
                self.writer = None;
                self.changed(&Watched::Writer, told);
            }
            Operation::Delete(Key::State) => unreachable!("no agent deletes it"),
            Operation::Delete(Key::Place) => self.delete_place(&host.clone(), told),
        }
    }

    fn delete_place(&mut self, host: &Host, told: &mut Told) {
        self.places.retain(|(place, _)| place.host != *host);
        self.changed(&Watched::Place(host.clone()), told);
        self.changed(&Watched::Queue, told);
    }

    fn changed(&mut self, what: &Watched, told: &mut Told) {
        self.watches.changed(self.revision, what, told);
    }

    fn end_leases(&mut self, ends: impl Fn(u64) -> bool, told: &mut Told) {
        self.leases.end(&ends);
        if self.held.is_some() && self.held_lease.is_some_and(&ends) {
            self.revision += 1;
            self.held = None;
            self.changed(&Watched::Held, told);
        }
        let gone: Vec<Host> = self
            .readers
            .iter()
            .filter(|(_, lease)| lease.is_some_and(&ends))
            .map(|(reader, _)| reader.host.clone())
            .collect();
        for host in gone {
            self.revision += 1;
            self.readers.retain(|(reader, _)| reader.host != host);
            self.changed(&Watched::Reader(host.clone()), told);
        }
        if self.writer.take_if(|(_, lease)| ends(*lease)).is_some() {
            self.revision += 1;
            self.changed(&Watched::Writer, told);
        }
        let gone: Vec<Host> = self
            .places
            .iter()
            .filter(|(_, lease)| ends(*lease))
            .map(|(place, _)| place.host.clone())
            .collect();
        for host in gone {
            self.revision += 1;
            self.delete_place(&host, told);
        }
    }

    /// Ends what is over by now.
    pub fn tick(&mut self, now: Nanoseconds, told: &mut Told) {
        let over = self.leases.over(now);
        self.end_leases(|lease| over.contains(&lease), told);
    }

    /// Ends the lease that the privilege has, or the first to read, as a member does that was the leader and does not know that others kept it since (etcd#15247).
    pub fn end_early(&mut self, told: &mut Told) {
        let of_reader = self.readers.first().and_then(|(_, lease)| *lease);
        let of_held = self.held_lease.filter(|_| self.held.is_some());
        if let Some(ended) = of_held.or(of_reader) {
            self.end_leases(|lease| lease == ended, told);
        }
    }

    /// Forgets how it came to what is now.
    pub fn compact(&mut self, told: &mut Told) {
        self.watches.compact(self.revision, told);
    }

    /// A person forgets a host that is gone, after it was fenced: if it may have written, the next one is told of a death.
    pub fn forget(&mut self, host: &Host, skips: u64, told: &mut Told) {
        self.revision += 1;
        if self.held.take_if(|held| held.host == *host).is_some() {
            if let Some(state) = &mut self.state {
                state.modified = self.revision;
                state.reserved += skips;
                state.data = state.data.max(Data::Inconsistent);
                state.taken_by = None;
            }
            self.changed(&Watched::Held, told);
        }
        self.read_by.retain(|reader| reader.host != *host);
        self.readers.retain(|(reader, _)| reader.host != *host);
        self.changed(&Watched::Reader(host.clone()), told);
    }
}
