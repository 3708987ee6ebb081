//! A lock of either kind, for tests that treat both alike.

use std::time::Duration;
use turnlock::{
    Acquired, LockFile, Mutex, MutexAlgorithm, MutexGuard, Participant, ParticipantGuard, PreviousOwner,
    Result, RingAlgorithm, TurnGuard, TurnParticipantGuard, TurnRing,
};

/// Which kind.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A mutex whose waiters let others pass for so long.
    Mutex { patience: Duration },
    /// A turn ring.
    Ring(RingAlgorithm),
    /// A mutex by messages.
    Messages(MutexAlgorithm),
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

    /// On a ring, to take part as a member.
    pub fn open_as_member(self, file: &LockFile, name: &str) -> Result<Lock> {
        self.open_to_take_part(true, file, name)
    }

    fn open_to_take_part(self, member: bool, file: &LockFile, name: &str) -> Result<Lock> {
        match self {
            Kind::Mutex { patience } => file.mutex_options().patience(patience).open(name).map(Lock::Mutex),
            Kind::Messages(algorithm) => {
                file.mutex_options().algorithm(algorithm).open(name).map(Lock::Mutex)
            }
            Kind::Ring(algorithm) => {
                file.ring_options().algorithm(algorithm).member(member).open(name).map(Lock::Ring)
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

/// A guard of either kind.
#[must_use]
pub enum Held<'a> {
    Mutex(MutexGuard<'a>),
    Ring(TurnGuard<'a>),
}

/// Likewise, of a participant.
#[must_use]
pub enum HeldAs<'a> {
    Mutex(ParticipantGuard<'a>),
    Ring(TurnParticipantGuard<'a>),
}

/// The same call of whichever guard it is.
macro_rules! guard_methods {
    ($($guard:ident)*) => { $(impl $guard<'_> {
        pub fn acquired(&self) -> Acquired {
            match self {
                $guard::Mutex(guard) => guard.acquired(),
                $guard::Ring(guard) => guard.acquired(),
            }
        }

        pub fn fencing_token(&self) -> u64 {
            self.acquired().fencing_token
        }

        pub fn previous_owner(&self) -> Option<PreviousOwner> {
            match self {
                $guard::Mutex(guard) => guard.previous_owner(),
                $guard::Ring(guard) => guard.previous_owner(),
            }
        }

        pub fn mark_consistent(&mut self) -> Result<()> {
            match self {
                $guard::Mutex(guard) => guard.mark_consistent(),
                $guard::Ring(guard) => guard.mark_consistent(),
            }
        }

        pub fn unlock(self) -> Result<()> {
            match self {
                $guard::Mutex(guard) => guard.unlock(),
                $guard::Ring(guard) => guard.unlock(),
            }
        }

        pub fn abandon(self) -> Result<()> {
            match self {
                $guard::Mutex(guard) => guard.abandon(),
                $guard::Ring(guard) => guard.abandon(),
            }
        }
    })* };
}
guard_methods!(Held HeldAs);

/// The same acquisition of whichever lock it is.
macro_rules! acquire {
    ($lock:expr, $held:ident, $call:ident($($with:expr),*)) => {
        match $lock {
            Lock::Mutex(mutex) => mutex.$call($($with),*).map($held::Mutex),
            Lock::Ring(ring) => ring.$call($($with),*).map($held::Ring),
        }
    };
}

impl Lock {
    pub fn lock(&self) -> Result<Held<'_>> {
        acquire!(self, Held, lock())
    }

    pub fn try_lock(&self) -> Result<Held<'_>> {
        acquire!(self, Held, try_lock())
    }

    pub fn lock_for(&self, limit: Duration) -> Result<Held<'_>> {
        acquire!(self, Held, lock_for(limit))
    }

    pub fn lock_as<'a>(&'a self, participant: &'a Participant) -> Result<HeldAs<'a>> {
        acquire!(self, HeldAs, lock_as(participant))
    }

    pub fn lock_for_as<'a>(&'a self, participant: &'a Participant, limit: Duration) -> Result<HeldAs<'a>> {
        acquire!(self, HeldAs, lock_for_as(participant, limit))
    }

    /// A mutex has no members.
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
