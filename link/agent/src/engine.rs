//! What an agent asks of the engine: the keys of one lock, and what is done with them.

use std::sync::Arc;

/// A host, by its name: no other has the same one.
pub type Host = Arc<str>;

/// The keys of a lock, below a prefix of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// `held`: the host that has the privilege. With a lease if the lock is [`Mode::Leased`].
    Held,
    /// `state`: a [`State`]. It is written by the host that has the privilege, takes it, or took it last.
    State,
    /// `queue/HOST`: this agent's host wants the privilege. With a lease.
    Place,
    /// `readers/HOST`: this agent's host has the privilege to read, as others may. With a lease if the lock is [`Mode::Leased`].
    Reading,
    /// `read_by/HOST`: [`Mode::Leased`] alone, and without a lease: this agent's host took the privilege to read, and has not given it up.
    ReadBy,
    /// `writer`: the head of the queue, which waits for hosts that read. With the lease of its place.
    Writer,
}

/// What programs want of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Wish {
    /// To read, beside readers of other hosts.
    Read,
    /// All of it.
    Write,
}

/// What becomes of the privilege of a host that cannot be reached. All hosts of a lock have the same; the first one that takes the privilege
/// writes it into [`Key::State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The host keeps it, until a person has the host forgotten.
    Kept,
    /// It ends with a lease, and the host admits no program from a deadline before that end on.
    Leased,
}

/// What is known of the data that the lock protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Data {
    /// They can be trusted.
    Consistent,
    /// A holder died inside, and the next one is to be told.
    Inconsistent,
    /// A holder that was told did not repair them: closed until a reset.
    NotRecoverable,
}

/// Who has the privilege.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Held {
    /// The host.
    pub host: Host,
    /// The revision at which the key was created: which time it is that the host has it.
    pub created: u64,
}

/// What goes along with the privilege.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The revision of its last change.
    pub modified: u64,
    /// Every fencing token up to it is reserved.
    pub reserved: u64,
    /// What the host that had it last knew of the data.
    pub data: Data,
    /// The mode of the lock.
    pub mode: Mode,
    /// Leased: the host that took the privilege last, until it gives it up. If [`Key::Held`] is not there, its lease ended before it did. Kept:
    /// `None`.
    pub taken_by: Option<Host>,
}

/// One place in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Whose.
    pub host: Host,
    /// The revision at which the key was created: the order of the queue.
    pub created: u64,
}

/// A host that has the privilege to read, or had it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reader {
    /// The host.
    pub host: Host,
    /// The revision of the key's last change: a host that goes on with what it has writes it again, so that what was to give it up before
    /// is refused.
    pub modified: u64,
}

/// The keys of a lock at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Snapshot {
    /// The revision of that moment.
    pub revision: u64,
    /// `None`: no host has the privilege.
    pub held: Option<Held>,
    /// `None`: no host ever had it.
    pub state: Option<State>,
    /// The queue, by revision of creation.
    pub places: Vec<Place>,
    /// The hosts that have the privilege to read.
    pub readers: Vec<Reader>,
    /// Leased: those that took it, and have not given it up. The lease of one that is not among the readers ended before it did.
    pub read_by: Vec<Reader>,
    /// The head of the queue, if it waits for readers.
    pub writer: Option<Host>,
}

/// What a transaction rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compare {
    /// The key was created at this revision; 0: it is not there.
    Created(Key, u64),
    /// The key was changed last at this revision; 0: it is not there.
    Modified(Key, u64),
    /// No host has the privilege to read: there is no [`Key::Reading`] of any host.
    NoReaders,
}

/// What a transaction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Writes this host's name into [`Key::Held`], which stays the key that it was if it is there. The transaction fails if the lease is over.
    Hold {
        /// The lease that the key has from then on, and no other.
        lease: Option<u64>,
    },
    /// Writes [`Key::State`].
    Put {
        /// [`State::reserved`].
        reserved: u64,
        /// [`State::data`].
        data: Data,
        /// [`State::mode`].
        mode: Mode,
        /// Whether [`State::taken_by`] is this host, or none.
        is_taken: bool,
    },
    /// Creates [`Key::Place`], with this lease. The transaction fails if the lease is over.
    Queue {
        /// The lease.
        lease: u64,
    },
    /// Writes this host's name into [`Key::Reading`], as [`Operation::Hold`] does; and, with a lease, into [`Key::ReadBy`].
    Read {
        /// The lease that [`Key::Reading`] has from then on, and no other.
        lease: Option<u64>,
    },
    /// Writes this host's name into [`Key::Writer`], with this lease. The transaction fails if the lease is over.
    CallReaders {
        /// The lease.
        lease: u64,
    },
    /// Deletes [`Key::ReadBy`] of all hosts.
    ForgetReaders,
    /// Deletes a key.
    Delete(Key),
}

/// What is watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Watched {
    /// [`Key::Held`].
    Held,
    /// The place of a host: the one before this one.
    Place(Host),
    /// All places: by the host that has the privilege.
    Queue,
    /// [`Key::Reading`] of a host: by a writer that waits for it.
    Reader(Host),
    /// [`Key::Writer`]: by the hosts that read.
    Writer,
}

/// A call to the engine.
pub type Request = crate::request::Request<Compare, Operation, Watched>;

/// What the engine answers.
pub type Reply = crate::request::Reply<Snapshot>;
