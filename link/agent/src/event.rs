//! What happens to an agent, and what it wants done.

use crate::Nanoseconds;
use crate::engine::{Data, Mode, Reply, Request, Wish};
use crate::request::Failed;

/// How an agent goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// What becomes of the privilege of a host that cannot be reached. The same at all hosts.
    pub mode: Mode,
    /// For how long programs of this host may go on after another host was seen to want the lock.
    pub hold: Nanoseconds,
    /// To what that may grow; it does not, if this is no longer. It doubles each time that a program of this host wants the lock again within
    /// it after the lock was moved away for another host, and begins anew when none does.
    pub hold_most: Nanoseconds,
    /// So many fencing tokens are reserved at a time.
    pub block: u64,
    /// The length of the lease of a place in the queue and, if the lock is leased, of the privilege.
    pub lease: Nanoseconds,
    /// Leased: how long before the lease can end programs are admitted no more, and those inside are told. It is what the drift of two clocks
    /// amounts to over a lease, and the time in which a program that is told gets out.
    pub margin: Nanoseconds,
    /// Leased: how long the privilege of a host is left alone whose lease ended before that host gave it up; 0: it is not. An engine that may
    /// end a lease before its time leaves that host's programs inside meanwhile: they are admitted, and not told, until the deadline, so the
    /// length of the lease is what is needed, and what two clocks differ by in that time.
    pub distrust: Nanoseconds,
    /// How long a call may take before the keys are listed again.
    pub answer: Nanoseconds,
    /// How old what is known may become, while something is waited for.
    pub fresh: Nanoseconds,
    /// Likewise, while the lock is home and no other host was seen to want it: the watch says when one does, and this is for one that was
    /// lost unnoticed.
    pub fresh_at_home: Nanoseconds,
}

impl Default for Config {
    /// Kept; 20 ms of local entries, which do not grow, blocks of 2^36 tokens, leases of 10 s, of which the last 2 s are margin, and which end no
    /// earlier; answers within 2 s, a look at least every 5 s, at home every 10 minutes.
    fn default() -> Self {
        const MILLISECOND: Nanoseconds = 1_000_000;
        Self {
            mode: Mode::Kept,
            hold: 20 * MILLISECOND,
            hold_most: 0,
            block: 1 << 36,
            lease: 10_000 * MILLISECOND,
            margin: 2_000 * MILLISECOND,
            distrust: 0,
            answer: 2_000 * MILLISECOND,
            fresh: 5_000 * MILLISECOND,
            fresh_at_home: 600_000 * MILLISECOND,
        }
    }
}

impl Config {
    /// Of a lease at least this part is margin. Two clocks that run 0.05 % too fast and too slow, which is the most that Linux corrects one by,
    /// differ by a tenth of it at the end.
    const LEAST_MARGIN: Nanoseconds = 100;

    /// Returns what is wrong with it, for people; an agent must not begin with one of which something is.
    ///
    /// # Errors
    /// A block is empty; a leased lock has a margin of less than a hundredth of the lease, or more than half of it.
    pub fn check(&self) -> Result<(), String> {
        let Self { block, lease, margin, .. } = *self;
        if block == 0 {
            return Err("a block of no fencing tokens was asked for: give at least 1".into());
        }
        let least = lease / Self::LEAST_MARGIN;
        if self.mode == Mode::Leased && !(least.max(1)..=lease / 2).contains(&margin) {
            return Err(format!(
                "a lease of {lease} ns was asked for, of which the last {margin} ns are margin: give from {least} ns, for clocks that drift, to \
                 {} ns, so that it can be kept in time",
                lease / 2
            ));
        }
        Ok(())
    }
}

/// What an agent finds in the lock file when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Found {
    /// Whether the lock is home.
    pub is_home: bool,
    /// Whether it is home to read.
    pub is_home_to_read: bool,
    /// The last fencing token that this host gave out.
    pub last_token: u64,
    /// The last one that is reserved for it.
    pub token_end: u64,
    /// What this host knows of the data.
    pub data: Data,
    /// What programs want that were not admitted.
    pub wanted: Option<Wish>,
    /// The time from which on the file admits no program, as [`Action::Lease`] set it last; [`crate::NO_DEADLINE`]: none is set.
    pub until: Nanoseconds,
}

/// What happens to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A program of this host wants the lock, which does not admit it.
    Wanted {
        /// What for: the most that any wants.
        wish: Wish,
    },
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
    /// Moves the lock of this host away, which is home or home to read; then comes [`Event::MovedAway`].
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
    /// Brings it home to read, at once.
    BringHomeToRead {
        /// The token that readers have: no smaller than that of any writer before.
        token: u64,
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
    /// Has the lock file admit programs before this time and no more from it on, and has those inside be told then. It takes the place of the
    /// time before, and may be earlier. [`crate::NO_DEADLINE`]: there is none.
    Lease {
        /// The time, of the agent's clock.
        until: Nanoseconds,
    },
    /// The lock was home, and its host did not have the privilege any more: it was taken from it by a person. To be told to people; a
    /// [`Action::MoveAway`] comes with it.
    Robbed,
    /// The lease of the privilege may be over, and the lock could not be moved away yet: a program is inside, which was told, and another host
    /// may have the lock. To be told to people. [`Event::MovedAway`] comes when the program has left.
    Lost,
    /// The hosts have the lock in this mode, which is not that of [`Config::mode`]. To be told to people. This agent does nothing until the
    /// mode is its own.
    Refused {
        /// The mode of the other hosts.
        mode: Mode,
    },
}
