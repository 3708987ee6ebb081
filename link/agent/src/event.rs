//! What happens to an agent, and what it wants done.

use crate::Nanoseconds;
use crate::engine::{Data, Failed, Reply, Request};

/// How an agent goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// For how long programs of this host may go on after another host was seen to want the lock.
    pub hold: Nanoseconds,
    /// So many fencing tokens are reserved at a time.
    pub block: u64,
    /// The length of the lease of a place in the queue.
    pub lease: Nanoseconds,
    /// How long a call may take before the keys are listed again.
    pub answer: Nanoseconds,
    /// How old what is known may become, while something is waited for.
    pub fresh: Nanoseconds,
    /// Likewise, while the lock is home and no other host was seen to want it: the watch says when one does, and this is for one that was
    /// lost unnoticed.
    pub fresh_at_home: Nanoseconds,
}

impl Default for Config {
    /// 20 ms of local entries, blocks of 2^36 tokens, leases of 10 s, answers within 2 s, a look at least every 5 s, at home every 10 minutes.
    fn default() -> Self {
        const MILLISECOND: Nanoseconds = 1_000_000;
        Self {
            hold: 20 * MILLISECOND,
            block: 1 << 36,
            lease: 10_000 * MILLISECOND,
            answer: 2_000 * MILLISECOND,
            fresh: 5_000 * MILLISECOND,
            fresh_at_home: 600_000 * MILLISECOND,
        }
    }
}

/// What an agent finds in the lock file when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Found {
    /// Whether the lock is home.
    pub is_home: bool,
    /// The last fencing token that this host gave out.
    pub last_token: u64,
    /// The last one that is reserved for it.
    pub token_end: u64,
    /// What this host knows of the data.
    pub data: Data,
    /// Whether a program wants the lock and was not admitted.
    pub is_wanted: bool,
}

/// What happens to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A program of this host wants the lock, which is away.
    Wanted,
    /// The lock is away, as [`Action::MoveAway`] asked for.
    MovedAway {
        /// The last fencing token that this host gave out.
        last_token: u64,
        /// What this host knows of the data.
        data: Data,
    },
    /// The last fencing token that was given out at home. To be told now and then, so that the block is extended in time.
    Used {
        /// The token.
        last_token: u64,
    },
    /// An answer to the call of this number.
    Answered {
        /// The number.
        call: u64,
        /// The answer.
        reply: Result<Reply, Failed>,
    },
    /// What the watch of this number is about has changed, or the watch is broken.
    Changed {
        /// The number.
        watch: u64,
    },
    /// The time has come that was asked for.
    Time,
}

/// What an agent wants done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A call to the engine, or a watch, with this number.
    Call {
        /// The number.
        number: u64,
        /// What is asked.
        request: Request,
    },
    /// Moves the lock of this host away; then comes [`Event::MovedAway`].
    MoveAway,
    /// Brings it home, at once.
    BringHome {
        /// The first token of the block.
        first: u64,
        /// The last one.
        last: u64,
        /// What is known of the data.
        data: Data,
    },
    /// Has the block end later.
    Extend {
        /// Its last token.
        last: u64,
    },
    /// Says [`Event::Time`] at this time, or at the one that is named next.
    WakeAt(Nanoseconds),
    /// The lock was home, and its host did not have the privilege any more: it was taken from it by a person. To be told to people; a
    /// [`Action::MoveAway`] comes with it.
    Robbed,
}
