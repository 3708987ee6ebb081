//! One lock among several hosts: what the agent of a host decides.
//!
//! An [`Agent`] is one host's part in one linked lock. It takes an [`Event`] and returns the [`Action`]s that this leads to: [`Request`]s to an
//! engine that all hosts share, and what is to be done with the lock of this host. It does no I/O and reads no clock. The engine is
//! shaped as etcd is: [`Key`]s with a revision of creation and one of their last change, transactions that compare those, leases,
//! watches.
//!
//! *The privilege* of the lock is the key [`Key::Held`]. In [`Mode::Kept`] it has no lease: a host that cannot be reached keeps it, and is robbed by
//! no other; one that is gone for good is for a person to forget. In [`Mode::Leased`] it has one, and programs of the host are admitted up to a
//! deadline before its end alone, which the agent has put into the lock file ([`Action::Lease`]): entries compare the clock with it, so that a
//! host whose agent is stopped or dead fails closed. A host that wants the privilege stands once in the queue, as [`Key::Place`], in the order of
//! creation; it watches the one before it alone. A place has a lease, so that a host that died waiting keeps no other from its turn.
//!
//! Several hosts may have the privilege *to read*: [`Key::Reading`] of each. Who takes one compares that no host has the privilege; who takes
//! the privilege, that none has it to read. Both stand in one queue, and only its head takes.
//!
//! *What is not known is asked.* An agent has at most one call under way, besides those that keep its lease. After a call that was not
//! answered in time, a transaction that was refused, a watch that says that something changed or that it is broken, it lists the keys again, and
//! decides by that. Each transaction compares the revisions that the decision rests on, so one that comes late changes nothing.
//!
//! Of a semaphore each host has some of the permits: [`shares`] is about those.
//!
//! `docs/hosts.md` says what the lock of a host promises to its agent.

mod agent;
mod client;
mod decision;
mod engine;
mod event;
mod lease;
mod reading;
pub mod request;
pub mod shares;

pub use agent::Agent;
pub use engine::{
    Compare, Data, Held, Host, Key, Mode, Operation, Place, Reader, Reply, Request, Snapshot, State, Watched,
    Wish,
};
pub use event::{Action, Config, Event, Found};
pub use request::Failed;

/// A time, or a span, in nanoseconds. Of a clock that goes on while the host is suspended (`CLOCK_BOOTTIME`).
pub type Nanoseconds = u64;

/// The deadline of a lock that has none.
pub const NO_DEADLINE: Nanoseconds = Nanoseconds::MAX;
