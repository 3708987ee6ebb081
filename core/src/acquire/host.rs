//! What a participant at a lock has beside what exclusion rests on: what observers read, when a bias pays, whether a file is in
//! order.
//!
//! Each method answers here as where none of that is: nothing is observed, and all that there is is in order. That is what a model
//! checker's site has; it writes down what differs. The mapped file has answers of its own for nearly all (`attach::site`).

use super::outcome::{Limit, Overwritten};
use crate::error::{Error, Result};
use crate::event::Happening;

/// What a participant at a lock has besides.
pub trait Host: Copy {
    /// Returns whether several threads use this participant.
    fn is_shared(&self) -> bool {
        false
    }
    /// Returns whether the participant is the calling process's own, and not one that a forked child remembers.
    fn is_ours(&self) -> bool {
        true
    }
    /// Returns the time, in nanoseconds, to the precision of a clock tick; never 0.
    fn now(&self) -> u64 {
        1
    }
    /// Returns the time, in nanoseconds, as exactly as can be.
    fn exact_now(&self) -> u64 {
        self.now()
    }
    /// Returns the time since the boot, in nanoseconds, that it was suspended included: the clock of a leased lock.
    fn boot_time(&self) -> u64 {
        0
    }
    /// Fetches the cache lines that an unbiased acquisition writes to.
    fn prefetch(&self) {}
    /// Lets about a millisecond pass.
    fn pause(&self) {}

    /// Checks that the registers are still those of the lock that was opened.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    fn check_intact(&self) -> Result<()> {
        Ok(())
    }
    /// Checks that the lock still is the one that the participant's handle was opened for, and was not removed. Where
    /// no participant can remove it: at the queue head.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    fn check_exists(&self) -> Result<()> {
        Ok(())
    }
    /// Checks after an unlock that it was the right lock that was held.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Replaced`].
    fn check_after_unlock(&self) -> Result<()> {
        Ok(())
    }
    /// Returns the error for a value that no participant writes.
    fn overwritten(&self, what: Overwritten) -> Error {
        Error::Internal(format!("no participant writes that: {what:?}"))
    }

    /// Returns whether the holder, whose claim conflicts with others now and then, should reserve its place in the queue.
    /// `in_demand`: it took it from a participant that used it all the time.
    fn wants_reservation(&self, _in_demand: bool) -> bool {
        false
    }
    /// Notes that the bias, or a reservation, begins with fencing token `token`.
    fn bias_begins(&self, _token: u64) {}
    /// Notes that another participant's bias was revoked, or its reservation taken away.
    fn bias_was_revoked(&self) {}
    /// Notes that the bias towards readers was revoked, beginning at `began` ([`Host::exact_now`]).
    fn readers_were_revoked(&self, _began: u64) {}

    /// Notes that the participant came through the queue without a wait.
    fn entered_at_once(&self) {}
    /// Notes that the participant has waited for the lock and is inside. Returns whether its last such section at this lock was
    /// shorter than a wake-up.
    fn begin_section(&self) -> bool {
        false
    }
    /// Notes how long the section took, if it began by [`Host::begin_section`].
    fn end_section(&self) {}
    /// Notes what happens, for observers. Nothing depends on it.
    fn note(&self, _happening: Happening) {}

    /// Returns whether slot `slot`'s participant is stopped, as far as can be seen.
    fn is_stopped(&self, _slot: usize) -> bool {
        true
    }

    /// Acquires by the participant's machine in `turnlock::message`, waiting as long as `limit` says. Returns the fencing token
    /// that came with a token of the algorithm, if it has one.
    ///
    /// # Errors
    /// [`Error::WouldBlock`], [`Error::TimedOut`], [`Error::Cancelled`], [`Error::Interrupted`]; what the site's checks give.
    fn acquire_by_messages(&self, _limit: Limit) -> Result<Option<u64>> {
        Err(Error::Internal("this site has no mailboxes".into()))
    }
    /// Releases by the machine that acquired.
    fn release_by_messages(&self) {}
}
