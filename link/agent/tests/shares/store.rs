//! An engine as etcd is, with the keys of one semaphore: revisions, transactions, leases, watches that tell once.

use support::hosts::{Leases, Watch, Watches};
use turnlock_link_agent::shares::{
    Compare, Key, Operation, Place, Reply, Request, Share, Snapshot, Total, Watched,
};
use turnlock_link_agent::{Failed, Host, Nanoseconds};

/// Those who are to be told that something changed.
pub type Told = support::hosts::Told<Watched>;

#[derive(Clone, Debug, Default)]
pub struct Store {
    pub now: Snapshot,
    /// The lease of each place, by its host.
    of_places: Vec<(Host, u64)>,
    /// Likewise of each share that has one.
    of_shares: Vec<(Host, u64)>,
    leases: Leases,
    watches: Watches<Watched>,
}

impl Store {
    /// When the next lease ends.
    pub fn next_end(&self) -> Option<Nanoseconds> {
        self.leases.next_end()
    }

    /// How many keys and watches there are.
    pub fn size(&self) -> (usize, usize) {
        let Snapshot { total, shares, taken, places, .. } = &self.now;
        (usize::from(total.is_some()) + shares.len() + taken.len() + places.len(), self.watches.count())
    }

    fn holds(&self, host: &Host, compare: Compare) -> bool {
        match compare {
            Compare::Created(Key::Place, at) => {
                self.now.place_of(host).map_or(0, |place| place.created) == at
            }
            Compare::Modified(Key::Share, at) => {
                self.now.share_of(host).map_or(0, |share| share.modified) == at
            }
            Compare::Modified(Key::TakenBy, at) => {
                self.now.taken_by(host).map_or(0, |record| record.modified) == at
            }
            Compare::Modified(Key::Total, at) => self.now.total.map_or(0, |total| total.modified) == at,
            Compare::NoShareSince(at) => self.now.shares.iter().all(|share| share.modified <= at),
            Compare::NoneTakenSince(at) => self.now.taken.iter().all(|record| record.modified <= at),
            other => unreachable!("{other:?} is compared by no agent"),
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
        Some(Ok(match request {
            Request::List => Reply::Listed(self.now.clone()),
            Request::Transaction { compares, then } => {
                if !compares.iter().all(|compare| self.holds(host, *compare)) {
                    return Some(Ok(Reply::Committed(false)));
                }
                let has_lease = |operation: &Operation| match operation {
                    Operation::Queue { lease, .. } | Operation::PutShare { lease: Some(lease), .. } => {
                        self.leases.has(*lease)
                    }
                    _ => true,
                };
                if !then.iter().all(has_lease) {
                    return Some(Err(Failed));
                }
                self.now.revision += 1;
                then.iter().for_each(|operation| self.operate(host, operation.clone(), told));
                Reply::Committed(true)
            }
            Request::Grant { length } => Reply::Granted { lease: self.leases.grant(now, *length) },
            Request::KeepAlive { lease } => Reply::Alive(self.leases.keep_alive(now, *lease)),
            Request::Revoke { lease } => {
                self.end_leases(|one| one == *lease, told);
                return None;
            }
            Request::Watch { what, from } => {
                self.watches.set(Watch { host: at, life, number, what: what.clone() }, *from, told);
                return None;
            }
        }))
    }

    fn operate(&mut self, host: &Host, operation: Operation, told: &mut Told) {
        let revision = self.now.revision;
        match operation {
            Operation::PutTotal { permits, mode } => {
                self.now.total = Some(Total { permits, mode, modified: revision });
            }
            Operation::PutShare { permits, lease } => {
                let share = Share { host: host.clone(), permits, modified: revision };
                self.now.shares.retain(|share| share.host != *host);
                self.now.shares.push(share.clone());
                self.of_shares.retain(|(other, _)| other != host);
                if let Some(lease) = lease {
                    self.of_shares.push((host.clone(), lease));
                    self.forget_record(host);
                    self.now.taken.push(share);
                }
                self.changed(&Watched::Shares, told);
            }
            Operation::Queue { lease, needs, wants } => {
                let known = self.now.places.iter_mut().find(|place| place.host == *host);
                match known {
                    Some(place) => (place.needs, place.wants) = (needs, wants),
                    None => {
                        self.now.places.push(Place { host: host.clone(), created: revision, needs, wants });
                    }
                }
                self.of_places.retain(|(other, _)| other != host);
                self.of_places.push((host.clone(), lease));
                self.changed(&Watched::Queue, told);
                self.changed(&Watched::Place(host.clone()), told);
            }
            Operation::Delete(Key::Share) => self.delete_share(host, told),
            Operation::Delete(Key::TakenBy) => self.forget_record(host),
            Operation::Forget(other) => self.forget_record(&other),
            Operation::Delete(_) => self.delete_place(host, told),
        }
    }

    fn delete_share(&mut self, host: &Host, told: &mut Told) {
        self.now.shares.retain(|share| share.host != *host);
        self.of_shares.retain(|(other, _)| other != host);
        self.changed(&Watched::Shares, told);
    }

    fn forget_record(&mut self, host: &Host) {
        self.now.taken.retain(|record| record.host != *host);
    }

    fn delete_place(&mut self, host: &Host, told: &mut Told) {
        self.now.places.retain(|place| place.host != *host);
        self.of_places.retain(|(other, _)| other != host);
        self.changed(&Watched::Place(host.clone()), told);
        self.changed(&Watched::Queue, told);
    }

    fn changed(&mut self, what: &Watched, told: &mut Told) {
        self.watches.changed(self.now.revision, what, told);
    }

    fn end_leases(&mut self, ends: impl Fn(u64) -> bool, told: &mut Told) {
        self.leases.end(&ends);
        let gone: Vec<Host> =
            self.of_shares.iter().filter(|(_, lease)| ends(*lease)).map(|(host, _)| host.clone()).collect();
        for host in gone {
            self.now.revision += 1;
            self.delete_share(&host, told);
        }
        let gone: Vec<Host> =
            self.of_places.iter().filter(|(_, lease)| ends(*lease)).map(|(host, _)| host.clone()).collect();
        for host in gone {
            self.now.revision += 1;
            self.delete_place(&host, told);
        }
    }

    /// Ends what is over by now.
    pub fn tick(&mut self, now: Nanoseconds, told: &mut Told) {
        let over = self.leases.over(now);
        self.end_leases(|lease| over.contains(&lease), told);
    }

    /// Ends the lease of a host's share, as a member does that was the leader and does not know that others kept it since (etcd#15247).
    pub fn end_early(&mut self, host: &Host, told: &mut Told) {
        if let Some((_, ended)) = self.of_shares.iter().find(|(other, _)| other == host).cloned() {
            self.end_leases(|lease| lease == ended, told);
        }
    }

    /// Forgets how it came to what is now.
    pub fn compact(&mut self, told: &mut Told) {
        self.watches.compact(self.now.revision, told);
    }

    /// A person has a host forgotten that is gone.
    pub fn forget(&mut self, host: &Host, told: &mut Told) {
        self.now.revision += 1;
        self.delete_share(host, told);
        self.forget_record(host);
        self.delete_place(host, told);
    }
}
