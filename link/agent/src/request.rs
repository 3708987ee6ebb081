//! What an agent asks of the engine, and what that answers, whatever the keys are.

use crate::Nanoseconds;

/// A call to the engine: `C` is what a transaction rests on, `O` what it does, `W` what is watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Request<C, O, W> {
    /// All keys, by a read that is not out of date.
    List,
    /// All operations, if all comparisons hold; else nothing.
    Transaction {
        /// What must hold.
        compares: Vec<C>,
        /// What is done then.
        then: Vec<O>,
    },
    /// A lease, which ends so long after it was kept last, or later, and never earlier.
    Grant {
        /// Its length. Where the engine counts in larger units, it is rounded up.
        length: Nanoseconds,
    },
    /// Keeps a lease.
    KeepAlive {
        /// The lease.
        lease: u64,
    },
    /// Ends a lease, and what has it. Nothing is done with the reply.
    Revoke {
        /// The lease.
        lease: u64,
    },
    /// Says [`crate::Event::Changed`] once, when something of it changes from this revision on, or when it cannot be told any more: the
    /// revision was compacted, the connection is lost. It takes the place of the agent's watch before. No reply.
    Watch {
        /// What.
        what: W,
        /// From which revision on.
        from: u64,
    },
}

/// What the engine answers. `S`: the keys at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reply<S> {
    /// To [`Request::List`].
    Listed(S),
    /// To [`Request::Transaction`]: whether all comparisons held.
    Committed(bool),
    /// To [`Request::Grant`].
    Granted {
        /// The lease.
        lease: u64,
    },
    /// To [`Request::KeepAlive`]: whether there is such a lease.
    Alive(bool),
}

/// A call was not carried out, or it is not known whether it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Failed;
