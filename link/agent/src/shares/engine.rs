//! What an agent of a semaphore asks of the engine: the keys of one semaphore, and what is done with them.

use crate::{Host, Mode};

/// The keys of a semaphore, below a prefix of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// `permits`: how many permits there are over all hosts, and the mode. Never changed.
    Total,
    /// `shares/HOST`: how many of them this agent's host has; it is not there where that is none. With a lease if they are [`Mode::Leased`].
    Share,
    /// `taken_by/HOST`: [`Mode::Leased`] alone, and without a lease: likewise, until the host gives them back, or another one takes some of
    /// them after the lease has ended.
    TakenBy,
    /// `queue/HOST`: this agent's host wants more. With a lease.
    Place,
}

/// How many permits there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Total {
    /// So many.
    pub permits: u32,
    /// What becomes of those of a host that cannot be reached.
    pub mode: Mode,
    /// The revision at which that was written.
    pub modified: u64,
}

/// What one host has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    /// The host.
    pub host: Host,
    /// So many permits.
    pub permits: u32,
    /// The revision of the key's last change.
    pub modified: u64,
}

/// One place in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Whose.
    pub host: Host,
    /// The revision at which the key was created: the order of the queue.
    pub created: u64,
    /// The share with which the first of its waiters gets in.
    pub needs: u32,
    /// The share with which all of them do.
    pub wants: u32,
}

/// The keys of a semaphore at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Snapshot {
    /// The revision of that moment.
    pub revision: u64,
    /// `None`: no host ever had a permit.
    pub total: Option<Total>,
    /// What the hosts have.
    pub shares: Vec<Share>,
    /// Leased: what they took, and have not given back. The lease of one that is not among the shares ended before it did.
    pub taken: Vec<Share>,
    /// The queue, by revision of creation.
    pub places: Vec<Place>,
}

impl Snapshot {
    /// Returns what this host has.
    pub fn share_of(&self, host: &Host) -> Option<&Share> {
        self.shares.iter().find(|share| share.host == *host)
    }

    /// Returns what this host took, and has not given back.
    pub fn taken_by(&self, host: &Host) -> Option<&Share> {
        self.taken.iter().find(|share| share.host == *host)
    }

    /// Returns what the hosts but this one had whose leases ended.
    pub fn ended<'a>(&'a self, host: &'a Host) -> impl Iterator<Item = &'a Share> {
        self.taken.iter().filter(move |record| record.host != *host && self.share_of(&record.host).is_none())
    }

    /// Returns the place of this host.
    pub fn place_of(&self, host: &Host) -> Option<&Place> {
        self.places.iter().find(|place| place.host == *host)
    }

    /// Returns how many of so many permits are no host's share.
    pub fn free(&self, total: u32) -> u32 {
        let taken: u64 = self.shares.iter().map(|share| u64::from(share.permits)).sum();
        u64::from(total).saturating_sub(taken) as u32
    }
}

/// What a transaction rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compare {
    /// The key was created at this revision; 0: it is not there.
    Created(Key, u64),
    /// The key was changed last at this revision; 0: it is not there.
    Modified(Key, u64),
    /// No share of any host that is there was changed after this revision.
    NoShareSince(u64),
    /// Likewise, of what hosts took and have not given back.
    NoneTakenSince(u64),
}

/// What a transaction does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Writes [`Key::Total`].
    PutTotal {
        /// How many permits there are.
        permits: u32,
        /// The mode.
        mode: Mode,
    },
    /// Writes [`Key::Share`]; and, with a lease, [`Key::TakenBy`]. The transaction fails if the lease is over.
    PutShare {
        /// How many this host has.
        permits: u32,
        /// The lease that [`Key::Share`] has from then on, and no other.
        lease: Option<u64>,
    },
    /// Writes [`Key::Place`], with this lease; it stays the place that it was if it is there. The transaction fails if the lease is over.
    Queue {
        /// The lease.
        lease: u64,
        /// [`Place::needs`].
        needs: u32,
        /// [`Place::wants`].
        wants: u32,
    },
    /// Deletes a key.
    Delete(Key),
    /// Deletes [`Key::TakenBy`] of another host, whose lease ended.
    Forget(Host),
}

/// What is watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Watched {
    /// All shares: by the first of the queue.
    Shares,
    /// All places: by a host that has permits.
    Queue,
    /// The place of a host: the one before this one.
    Place(Host),
}

/// A call to the engine.
pub type Request = crate::request::Request<Compare, Operation, Watched>;

/// What the engine answers.
pub type Reply = crate::request::Reply<Snapshot>;
