//! A lock of either kind, for tests that treat both alike.

use std::time::Duration;
use turnlock::{
    LockFile, Mutex, MutexGuard, Participant, ParticipantGuard, PreviousOwner, Result, RingAlgorithm,
    TurnRing,
};

/// Which kind.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A mutex whose waiters let others pass for so long.
    Mutex { patience: Duration },
    /// A turn ring.
    Ring(RingAlgorithm),
}

/// One that is open.
#[derive(Clone)]
pub enum Lock {
    Mutex(Mutex),
    Ring(TurnRing),
}

impl Kind {
    /// On a ring, to take part on demand.
    pub fn open(self, file: &LockFile, name: &str) -> Result<Lock> {
        self.open_to_take_part(false, file, name)
    }

    /// On a ring, to take part standing.
    pub fn open_standing(self, file: &LockFile, name: &str) -> Result<Lock> {
        self.open_to_take_part(true, file, name)
    }

    fn open_to_take_part(self, standing: bool, file: &LockFile, name: &str) -> Result<Lock> {
        match self {
            Kind::Mutex { patience } => file.mutex_options().patience(patience).open(name).map(Lock::Mutex),
            Kind::Ring(algorithm) => {
                file.ring_options().algorithm(algorithm).standing(standing).open(name).map(Lock::Ring)
            }
        }
    }
}

/// The same call of whichever it is.
macro_rules! either {
    ($lock:expr, $call:ident($($with:expr),*)) => {
        match $lock {
            Lock::Mutex(mutex) => mutex.$call($($with),*),
            Lock::Ring(ring) => ring.$call($($with),*),
        }
    };
}

impl Lock {
    pub fn lock(&self) -> Result<MutexGuard<'_>> {
        either!(self, lock())
    }

    pub fn try_lock(&self) -> Result<MutexGuard<'_>> {
        either!(self, try_lock())
    }

    pub fn lock_for(&self, limit: Duration) -> Result<MutexGuard<'_>> {
        either!(self, lock_for(limit))
    }

    pub fn lock_as<'a>(&'a self, participant: &'a Participant) -> Result<ParticipantGuard<'a>> {
        either!(self, lock_as(participant))
    }

    pub fn lock_for_as<'a>(
        &'a self,
        participant: &'a Participant,
        limit: Duration,
    ) -> Result<ParticipantGuard<'a>> {
        either!(self, lock_for_as(participant, limit))
    }

    /// A mutex has nobody standing.
    pub fn leave(&self) -> Result<()> {
        match self {
            Lock::Mutex(_) => Ok(()),
            Lock::Ring(ring) => ring.leave(),
        }
    }

    pub fn reset(&self) -> Result<()> {
        either!(self, reset())
    }

    pub fn reset_for(&self, limit: Duration) -> Result<()> {
        either!(self, reset_for(limit))
    }

    pub fn previous_owner(&self) -> Option<PreviousOwner> {
        either!(self, previous_owner())
    }
}
