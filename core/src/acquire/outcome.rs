//! How long a call may wait, and what comes of a wait: plain values, between an acquisition and its site.

use crate::error::{Awaited, Error, LockedBy};
use std::time::Duration;

/// How long a call may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Not at all.
    Never,
    /// This long, from when waiting begins.
    For(Duration),
    /// Until the turn comes.
    Forever,
}

impl Limit {
    /// Returns the error of a wait for a lock whose time is up. Who has it is said where the call ends: `Attempt::give_up`.
    #[inline]
    pub fn passed(self) -> Error {
        self.passed_before(Awaited::Lock)
    }

    /// Returns the error of a wait whose time was up before `awaited` came.
    #[inline]
    pub fn passed_before(self, awaited: Awaited) -> Error {
        let by = LockedBy::none_for(awaited);
        if self == Limit::Never { Error::WouldBlock(by) } else { Error::TimedOut(by) }
    }
}

/// What a part of a wait came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The register changed, or may have: look again which slot blocks.
    LookAgain,
    /// Nothing changed for a while: check whether the blocker is alive.
    CheckAlive,
    /// The time limit passed.
    TimedOut,
    /// Another thread cancelled the wait.
    Cancelled,
    /// The interrupt ended the wait.
    Interrupted,
    /// The caller is a forked child: the wait is its parent's.
    Forked,
    /// Others may still pass: leave the queue ([`super::site::Waiter::back_off`]), and come back.
    BackOff,
}

/// Whether those before a waiter should have come by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overdue {
    /// There is time yet.
    No,
    /// They should be called, in case they sleep.
    Call,
    /// It takes too long for one that runs: those that are stopped are to be passed over.
    IfStopped,
    /// The first of them does not come, whatever the reason: it is to be passed over.
    Yes,
}

/// What [`super::site::Lock::unpark_waiters_of`] found at a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unparked {
    /// No waiter, or one that has just come.
    NoWaiter,
    /// A waiter that slept, and is awake now. Should it give up, it unparks the designated waker.
    Parked,
    /// The successor hint named this slot, which waits awake or did a moment ago; others may have been unparked too. The hint may
    /// be stale: the slot may not be in the queue any more.
    Awake(usize),
}

/// A value that no participant writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwritten {
    /// The lock's fencing token.
    Token,
    /// The number of a slot whose participant is alive.
    Number {
        /// The slot.
        slot: usize,
        /// What it holds.
        value: u64,
    },
}
