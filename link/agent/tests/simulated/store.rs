//! An engine as etcd is: keys with revisions, transactions, leases, watches that tell once.

use turnlock_link_agent::{
    Compare, Data, Failed, Held, Host, Key, Nanoseconds, Operation, Place, Reader, Reply, Request, Snapshot,
    State, Watched,
};

/// A watch, and the life of the agent that it is of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Watch {
    pub host: usize,
    pub life: u32,
    pub number: u64,
    pub what: Watched,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Lease {
    number: u64,
    length: Nanoseconds,
    ends: Nanoseconds,
}

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
    leases: Vec<Lease>,
    leases_granted: u64,
    watches: Vec<Watch>,
    /// What was changed at which revision, since the last compaction.
    log: Vec<(u64, Watched, Host)>,
    compacted: u64,
}

/// Those who are to be told that something changed.
pub type Told = Vec<Watch>;

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
        (keys as u64, self.watches.len() as u64)
    }

    /// When the next lease ends.
    pub fn next_end(&self) -> Option<Nanoseconds> {
        self.leases.iter().map(|lease| lease.ends).min()
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
                    | Operation::Read { lease: Some(lease) } => {
                        self.leases.iter().any(|one| one.number == *lease)
                    }
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
            Request::Grant { length } => {
                self.leases_granted += 1;
                let lease = Lease { number: self.leases_granted, length: *length, ends: now + length };
                self.leases.push(lease);
                Some(Ok(Reply::Granted { lease: lease.number }))
            }
            Request::KeepAlive { lease } => {
                let known = self.leases.iter_mut().find(|one| one.number == *lease);
                let is_alive = known.map(|lease| lease.ends = now + lease.length).is_some();
                Some(Ok(Reply::Alive(is_alive)))
            }
            Request::Revoke { lease } => {
                self.end_leases(|one| one == *lease, told);
                None
            }
            Request::Watch { what, from } => {
                self.watches.retain(|watch| watch.host != at);
                let watch = Watch { host: at, life, number, what: what.clone() };
                let is_past = self.log.iter().any(|(revision, key, _)| revision >= from && key == what);
                if *from <= self.compacted || is_past {
                    told.push(watch);
                } else {
                    self.watches.push(watch);
                }
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
                self.changed(&Watched::Held, host, told);
            }
            Operation::Put { reserved, data, mode, is_taken } => {
                let taken_by = is_taken.then(|| host.clone());
                self.state = Some(State { modified: revision, reserved, data, mode, taken_by });
            }
            Operation::Queue { lease } => {
                if self.place_of(host).is_none() {
                    self.places.push((Place { host: host.clone(), created: revision }, lease));
                    self.changed(&Watched::Queue, host, told);
                }
            }
            Operation::Delete(Key::Held) => {
                self.held = None;
                self.changed(&Watched::Held, host, told);
            }
            Operation::Read { lease } => {
                let reader = Reader { host: host.clone(), modified: revision };
                self.readers.retain(|(reader, _)| reader.host != *host);
                self.readers.push((reader.clone(), lease));
                self.changed(&Watched::Reader(host.clone()), host, told);
                if lease.is_some() {
                    self.read_by.retain(|reader| reader.host != *host);
                    self.read_by.push(reader);
                }
            }
            Operation::CallReaders { lease } => {
                self.writer = Some((host.clone(), lease));
                self.changed(&Watched::Writer, host, told);
            }
            Operation::ForgetReaders => self.read_by.clear(),
            Operation::Delete(Key::Reading) => {
                self.readers.retain(|(reader, _)| reader.host != *host);
                self.changed(&Watched::Reader(host.clone()), host, told);
            }
            Operation::Delete(Key::ReadBy) => self.read_by.retain(|reader| reader.host != *host),
            Operation::Delete(Key::Writer) => {
                self.writer = None;
                self.changed(&Watched::Writer, host, told);
            }
            Operation::Delete(Key::State) => unreachable!("no agent deletes it"),
            Operation::Delete(Key::Place) => self.delete_place(&host.clone(), told),
        }
    }

    fn delete_place(&mut self, host: &Host, told: &mut Told) {
        self.places.retain(|(place, _)| place.host != *host);
        self.changed(&Watched::Place(host.clone()), host, told);
        self.changed(&Watched::Queue, host, told);
    }

    fn changed(&mut self, what: &Watched, host: &Host, told: &mut Told) {
        self.log.push((self.revision, what.clone(), host.clone()));
        self.watches.retain(|watch| {
            let is_of_it = watch.what == *what;
            if is_of_it {
                told.push(watch.clone());
            }
            !is_of_it
        });
    }

    fn end_leases(&mut self, ends: impl Fn(u64) -> bool, told: &mut Told) {
        self.leases.retain(|lease| !ends(lease.number));
        if self.held.is_some() && self.held_lease.is_some_and(&ends) {
            self.revision += 1;
            let held = self.held.take().unwrap();
            self.changed(&Watched::Held, &held.host, told);
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
            self.changed(&Watched::Reader(host.clone()), &host, told);
        }
        if let Some((host, _)) = self.writer.take_if(|(_, lease)| ends(*lease)) {
            self.revision += 1;
            self.changed(&Watched::Writer, &host, told);
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
        let over: Vec<u64> =
            self.leases.iter().filter(|lease| lease.ends <= now).map(|lease| lease.number).collect();
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

    /// Forgets how it came to what is now; those that watch are told that they cannot be told any more. As after a member's restart, too.
    pub fn compact(&mut self, told: &mut Told) {
        self.log.clear();
        self.compacted = self.revision;
        told.append(&mut self.watches);
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
            self.changed(&Watched::Held, host, told);
        }
        self.read_by.retain(|reader| reader.host != *host);
        self.readers.retain(|(reader, _)| reader.host != *host);
        self.changed(&Watched::Reader(host.clone()), host, told);
    }
}
