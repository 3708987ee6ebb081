//! The errors: what was wrong, what was expected, what to do.

mod display;
mod kind;
mod locked_by;
pub mod status;

pub use locked_by::{Awaited, LockedBy};

use status::*;
use std::path::PathBuf;

/// What every fallible turnlock call gives.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed. Each variant has a stable number, [`Error::code`], shared with the C ABI.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// An argument is out of range or contradicts another.
    InvalidArgument(String),
    /// Another participant has the lock, or what was awaited has not come, and the call was asked not to wait.
    WouldBlock(LockedBy),
    /// The time limit passed. The place in the queue was given up.
    TimedOut(LockedBy),
    /// Another thread cancelled the wait. The place in the queue was given up.
    Cancelled,
    /// The caller already has or awaits the lock.
    Deadlock,
    /// The thread has the recursive lock as often as it can: 65,535 times.
    RecursionLimit,
    /// The caller does not have the lock.
    NotOwner,
    /// A holder died and the next one unlocked without marking the data consistent.
    NotRecoverable,
    /// The handle was closed before.
    Closed,
    /// Every participant slot is taken. The message names their participants.
    ParticipantsFull {
        /// The lock file.
        path: PathBuf,
        /// Its capacity, in slots.
        slots: usize,
        /// How many any file can have.
        most: usize,
        /// Their participants: program, pid and count, for people to read.
        holders: String,
    },
    /// Every named lock is taken.
    LocksFull {
        /// The lock file.
        path: PathBuf,
        /// Its capacity, in locks.
        locks: usize,
        /// How many any file can have.
        most: usize,
    },
    /// A lock's name cannot be stored.
    BadName {
        /// The name as given.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The path names something else than a turnlock file; it was left as it is.
    NotALockFile {
        /// The path as given.
        path: PathBuf,
        /// What it is, and what to do.
        why: String,
    },
    /// The file has another version, byte order or layout; it was left as it is.
    Version {
        /// The lock file.
        path: PathBuf,
        /// What was found, what was expected, what to do.
        why: String,
    },
    /// The file is damaged: truncated, overwritten, or it holds an impossible value.
    Damaged {
        /// The lock file.
        path: PathBuf,
        /// What was found, and what to do.
        why: String,
    },
    /// The path names another file than the one that is open.
    Replaced {
        /// The lock file.
        path: PathBuf,
    },
    /// The operating system does not allow it, or the file's permissions are unsafe.
    Permission {
        /// The path as given.
        path: PathBuf,
        /// What is missing, and what to do.
        why: String,
    },
    /// The file or the lock does not exist and was not to be created.
    NotFound {
        /// The path as given.
        path: PathBuf,
        /// What is missing, and what to do.
        why: String,
    },
    /// The file system cannot carry a lock file.
    FileSystem {
        /// The path as given.
        path: PathBuf,
        /// Which file system, why it cannot, and what to do.
        why: String,
    },
    /// No room on the disk.
    NoSpace {
        /// The path as given.
        path: PathBuf,
        /// How many bytes the file, or the part of it that is used now, needs.
        bytes: u64,
    },
    /// A call to the operating system failed.
    System {
        /// What was tried, on which path.
        what: String,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The name belongs to a lock of another kind or algorithm, or one with another patience or death policy than was asked for.
    Kind {
        /// The lock file.
        path: PathBuf,
        /// Which lock, what it is, what was asked for.
        why: String,
    },
    /// The participant (or the hold) is in another call at this moment, or the lock in another call of its holder: one of another
    /// thread, or of the thread that a signal handler has interrupted.
    ParticipantBusy,
    /// A defect of turnlock itself, caught before it could reach the caller.
    Internal(String),
    /// The handle cannot be closed, nor a hold acquire more, while a lock is held through it.
    StillHeld,
    /// There is nothing to mark consistent.
    NotInconsistent,
    /// The file exists and is smaller than the capacities asked for.
    FileTooSmall {
        /// The lock file.
        path: PathBuf,
        /// Such as "participants" or "locks".
        what: &'static str,
        /// What the file has.
        has: u32,
        /// What was asked for.
        wanted: u32,
        /// How many any file can have.
        most: u32,
    },
    /// What was to be asked between sleeps ended the wait.
    Interrupted,
    /// No memory. Nothing was done.
    OutOfMemory,
    /// The lock cannot be removed: a participant uses it, or is still to be told of a death.
    InUse {
        /// The lock file.
        path: PathBuf,
        /// Which lock, its users, and what to do.
        why: String,
    },
    /// The lock is not held in a mode from which that can be done: only an upgradable hold can be upgraded, and a hold
    /// only be downgraded to less than it is.
    NotUpgradable,
    /// The lock is held beside others, and only one that holds it exclusively can do that.
    NotExclusive,
    /// A semaphore cannot give so many permits.
    Permits {
        /// How many were asked for.
        wanted: u32,
        /// How many it has.
        permits: u32,
    },
    /// More permits were to be given back than the caller has.
    TooManyReleased {
        /// How many were to be given back.
        given: u32,
        /// How many the caller has.
        held: u32,
    },
    /// The range is empty, or its end lies before its start.
    EmptyRange {
        /// The first that was asked for.
        start: u64,
        /// The first behind it.
        end: u64,
    },
    /// The barrier is broken: a party died or gave up, or a participant broke it. It stays so until a reset.
    BrokenBarrier(String),
    /// The wait closed a circle: each participant in it waits, without a limit, for what the next one holds, so that none would
    /// ever go on. The place in the queue was given up, and what the caller holds it still holds: release it, for the others. Says
    /// who they are, what they hold and what they wait for.
    CircularWait(String),
    /// The lock was unlocked, and its lease had ended before: another host may have had it in the meantime, so that the section was not
    /// alone. A fencing token tells the two apart.
    LeaseEnded,
    /// The kernel refuses something turnlock needs.
    Unsupported(&'static str),
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::System { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl Error {
    /// The error of this status number, if it is one that its number says all of.
    #[cfg(not(any(loom, shuttle)))]
    #[doc(hidden)]
    pub fn of_status(status: i32) -> Option<Self> {
        Some(match status {
            TURNLOCK_ERROR_WOULD_BLOCK => Error::WouldBlock(LockedBy::UNKNOWN),
            TURNLOCK_ERROR_TIMED_OUT => Error::TimedOut(LockedBy::UNKNOWN),
            TURNLOCK_ERROR_CANCELLED => Error::Cancelled,
            TURNLOCK_ERROR_DEADLOCK => Error::Deadlock,
            TURNLOCK_ERROR_RECURSION_LIMIT => Error::RecursionLimit,
            TURNLOCK_ERROR_NOT_UPGRADABLE => Error::NotUpgradable,
            TURNLOCK_ERROR_NOT_EXCLUSIVE => Error::NotExclusive,
            TURNLOCK_ERROR_NOT_OWNER => Error::NotOwner,
            TURNLOCK_ERROR_NOT_RECOVERABLE => Error::NotRecoverable,
            TURNLOCK_ERROR_CLOSED => Error::Closed,
            TURNLOCK_ERROR_HOLD_BUSY => Error::ParticipantBusy,
            TURNLOCK_ERROR_STILL_HELD => Error::StillHeld,
            TURNLOCK_ERROR_NOT_INCONSISTENT => Error::NotInconsistent,
            TURNLOCK_ERROR_INTERRUPTED => Error::Interrupted,
            TURNLOCK_ERROR_NO_MEMORY => Error::OutOfMemory,
            _ => return None,
        })
    }

    /// The stable number of this error, the same as the C ABI returns: always negative.
    ///
    /// ```
    /// assert_eq!(turnlock_core::Error::Cancelled.code(), turnlock_core::error::status::TURNLOCK_ERROR_CANCELLED);
    /// ```
    pub fn code(&self) -> i32 {
        match self {
            Error::InvalidArgument(_) => TURNLOCK_ERROR_INVALID_ARGUMENT,
            Error::WouldBlock(_) => TURNLOCK_ERROR_WOULD_BLOCK,
            Error::TimedOut(_) => TURNLOCK_ERROR_TIMED_OUT,
            Error::Cancelled => TURNLOCK_ERROR_CANCELLED,
            Error::Deadlock => TURNLOCK_ERROR_DEADLOCK,
            Error::RecursionLimit => TURNLOCK_ERROR_RECURSION_LIMIT,
            Error::NotOwner => TURNLOCK_ERROR_NOT_OWNER,
            Error::NotRecoverable => TURNLOCK_ERROR_NOT_RECOVERABLE,
            Error::Closed => TURNLOCK_ERROR_CLOSED,
            Error::ParticipantsFull { .. } => TURNLOCK_ERROR_PARTICIPANTS_FULL,
            Error::LocksFull { .. } => TURNLOCK_ERROR_LOCKS_FULL,
            Error::BadName { .. } => TURNLOCK_ERROR_BAD_NAME,
            Error::NotALockFile { .. } => TURNLOCK_ERROR_NOT_A_LOCK_FILE,
            Error::Version { .. } => TURNLOCK_ERROR_VERSION,
            Error::Damaged { .. } => TURNLOCK_ERROR_DAMAGED,
            Error::Replaced { .. } => TURNLOCK_ERROR_REPLACED,
            Error::Permission { .. } => TURNLOCK_ERROR_PERMISSION,
            Error::NotFound { .. } => TURNLOCK_ERROR_NOT_FOUND,
            Error::FileSystem { .. } => TURNLOCK_ERROR_FILESYSTEM,
            Error::NoSpace { .. } => TURNLOCK_ERROR_NO_SPACE,
            Error::System { .. } => TURNLOCK_ERROR_SYSTEM,
            Error::Kind { .. } => TURNLOCK_ERROR_KIND,
            Error::ParticipantBusy => TURNLOCK_ERROR_HOLD_BUSY,
            Error::Internal(_) => TURNLOCK_ERROR_INTERNAL,
            Error::StillHeld => TURNLOCK_ERROR_STILL_HELD,
            Error::NotInconsistent => TURNLOCK_ERROR_NOT_INCONSISTENT,
            Error::FileTooSmall { .. } => TURNLOCK_ERROR_FILE_TOO_SMALL,
            Error::Interrupted => TURNLOCK_ERROR_INTERRUPTED,
            Error::OutOfMemory => TURNLOCK_ERROR_NO_MEMORY,
            Error::Unsupported(_) => TURNLOCK_ERROR_UNSUPPORTED,
            Error::InUse { .. } => TURNLOCK_ERROR_IN_USE,
            Error::NotUpgradable => TURNLOCK_ERROR_NOT_UPGRADABLE,
            Error::NotExclusive => TURNLOCK_ERROR_NOT_EXCLUSIVE,
            Error::Permits { .. } => TURNLOCK_ERROR_PERMITS,
            Error::TooManyReleased { .. } => TURNLOCK_ERROR_TOO_MANY_RELEASED,
            Error::EmptyRange { .. } => TURNLOCK_ERROR_EMPTY_RANGE,
            Error::BrokenBarrier(_) => TURNLOCK_ERROR_BROKEN_BARRIER,
            Error::LeaseEnded => TURNLOCK_ERROR_LEASE_ENDED,
            Error::CircularWait(_) => TURNLOCK_ERROR_CIRCULAR_WAIT,
        }
    }
}

/// The one-line sentence for a status number of the C ABI. Total: an unknown number has a sentence too.
///
/// ```
/// assert_eq!(turnlock_core::error::status_text(0), "done");
/// assert_eq!(turnlock_core::error::status_text(-9999), "unknown turnlock status");
/// ```
pub fn status_text(status: i32) -> &'static str {
    status::text_with_nul(status).to_str().unwrap_or("unknown turnlock status")
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_sentence_of_its_own() {
        let texts: Vec<_> = (-39..=3).map(status_text).collect();
        let mut distinct = texts.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(texts.len(), distinct.len());
        assert!(!texts.contains(&"unknown turnlock status"));
        assert_eq!(status_text(-40), "unknown turnlock status");
        assert_eq!(status_text(4), "unknown turnlock status");
        let back = |status| Error::of_status(status).is_none_or(|error| error.code() == status);
        assert!((-40..=3).all(back));
    }
}
