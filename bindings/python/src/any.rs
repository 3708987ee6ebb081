//! A lock of any kind that one participant has at a time, and the guard of its acquisition.

use crate::file::{FileOptions, OpenFile};
use pyo3::Python;
use std::{thread, time::Duration};
use turnlock::{
    Acquired, DeathPolicy, Error, LockFile, Mutex, Participant, ParticipantGuard, PreviousOwner, Result,
    RingAlgorithm, TurnParticipantGuard, TurnRing, inspect::LockStatus,
};

/// How long an acquisition may wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    Never,
    For(Duration),
    Forever,
}

/// Which lock is to be opened, or created.
#[derive(Clone)]
pub enum Kind {
    Mutex { patience: Option<Duration>, recursive: bool },
    Ring { algorithm: Option<RingAlgorithm>, standing: bool },
}

/// What a lock object was made with.
#[derive(Clone)]
pub struct Plan {
    pub file: FileOptions,
    pub name: String,
    pub kind: Kind,
    pub death_policy: DeathPolicy,
}

/// A lock in an open file.
pub struct OpenLock {
    // First, so that it is dropped first: with the last handle of a file turnlock gives the thread's slot back.
    pub lock: AnyLock,
    pub file: OpenFile,
    pub plan: Plan,
}

/// A lock of some kind.
pub enum AnyLock {
    Mutex(Mutex),
    Ring(TurnRing),
}

/// The guard of one.
pub enum AnyGuard<'a> {
    Mutex(ParticipantGuard<'a>),
    Ring(TurnParticipantGuard<'a>),
}

impl Plan {
    /// Opens the file and the lock, without the GIL.
    pub fn open(self, py: Python) -> Result<OpenLock> {
        let file = self.file.clone().open(py)?;
        let lock = py.detach(|| match self.open_in(&file.file, true) {
            Err(Error::NotFound { .. }) if !self.file.must_exist => self.create_in(&file.file),
            opened => opened,
        })?;
        Ok(OpenLock { lock, file, plan: self })
    }

    /// Creates the lock, in a thread of its own: naming a lock takes a slot of the file, which the thread gives back when it
    /// ends, and this one would keep beside its participant's.
    fn create_in(&self, file: &LockFile) -> Result<AnyLock> {
        thread::scope(|threads| {
            match thread::Builder::new().spawn_scoped(threads, || self.open_in(file, false)) {
                Ok(creator) => creator.join().unwrap_or_else(|_| Err(Error::Internal("a panic".into()))),
                Err(_) => self.open_in(file, false),
            }
        })
    }

    fn open_in(&self, file: &LockFile, must_exist: bool) -> Result<AnyLock> {
        Ok(match &self.kind {
            Kind::Mutex { patience, recursive } => {
                let mut options = file.mutex_options();
                if let Some(patience) = patience {
                    options.patience(*patience);
                }
                let options = options.recursive(*recursive).death_policy(self.death_policy);
                AnyLock::Mutex(options.must_exist(must_exist).open(&self.name)?)
            }
            Kind::Ring { algorithm, standing } => {
                let mut options = file.ring_options();
                if let Some(algorithm) = algorithm {
                    options.algorithm(*algorithm);
                }
                let options = options.standing(*standing).death_policy(self.death_policy);
                AnyLock::Ring(options.must_exist(must_exist).open(&self.name)?)
            }
        })
    }
}

/// Runs the same on whichever kind it is.
macro_rules! each {
    ($any:expr, $one:ident => $act:expr) => {
        match $any {
            Self::Mutex($one) => $act,
            Self::Ring($one) => $act,
        }
    };
}

/// One of the three ways to take `$lock`, and the guard of that kind.
macro_rules! acquired_as {
    ($guard:path, $lock:ident, $participant:ident, $limit:ident) => {
        $guard(match $limit {
            Limit::Never => $lock.try_lock_as($participant)?,
            Limit::For(time) => $lock.lock_for_as($participant, time)?,
            Limit::Forever => $lock.lock_as($participant)?,
        })
    };
}

impl AnyLock {
    /// Takes the lock as `participant`.
    #[inline]
    pub fn acquire_as<'a>(&'a self, participant: &'a Participant, limit: Limit) -> Result<AnyGuard<'a>> {
        Ok(match self {
            Self::Mutex(lock) => acquired_as!(AnyGuard::Mutex, lock, participant, limit),
            Self::Ring(lock) => acquired_as!(AnyGuard::Ring, lock, participant, limit),
        })
    }

    /// Returns who has the lock, and who waits for it.
    pub fn status(&self) -> Result<LockStatus> {
        each!(self, lock => lock.status())
    }

    /// Opens a lock that is not recoverable again, in its turn.
    pub fn reset(&self, limit: Limit) -> Result<()> {
        each!(self, lock => match limit {
            Limit::Never => lock.try_reset(),
            Limit::For(time) => lock.reset_for(time),
            Limit::Forever => lock.reset(),
        })
    }

    /// Returns what a holder's death means here.
    pub fn death_policy(&self) -> DeathPolicy {
        each!(self, lock => lock.death_policy())
    }

    /// Returns who died holding the lock, last.
    pub fn previous_owner(&self) -> Option<PreviousOwner> {
        each!(self, lock => lock.previous_owner())
    }
}

impl AnyGuard<'_> {
    /// Returns what came with the acquisition.
    #[inline]
    pub fn acquired(&self) -> Acquired {
        each!(self, guard => guard.acquired())
    }

    /// Returns who died, if the previous holder did.
    pub fn previous_owner(&self) -> Option<PreviousOwner> {
        each!(self, guard => guard.previous_owner())
    }

    /// Returns whether another participant waits.
    pub fn is_contended(&self) -> bool {
        each!(self, guard => guard.is_contended())
    }

    /// Marks the data as consistent after a holder's death.
    pub fn mark_consistent(&mut self) -> Result<()> {
        each!(self, guard => guard.mark_consistent())
    }

    /// Unlocks.
    #[inline]
    pub fn unlock(self) -> Result<()> {
        each!(self, guard => guard.unlock())
    }

    /// Unlocks as a dying owner does.
    pub fn abandon(self) -> Result<()> {
        each!(self, guard => guard.abandon())
    }
}

impl OpenLock {
    /// Has the calling thread leave a ring that it stands in.
    pub fn leave(&self, py: Python) -> Result<()> {
        match &self.lock {
            AnyLock::Mutex(_) => Ok(()),
            AnyLock::Ring(ring) => {
                let slot = self.file.with_slot_of_thread(|slot| Ok(slot.clone()))?;
                py.detach(|| ring.leave_as(&slot.participant))
            }
        }
    }
}
