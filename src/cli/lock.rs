//! A lock of a file, whichever its kind, as the commands take it.

use std::time::Duration;
use turnlock::{
    Acquired, DEFAULT_PATIENCE, DeathPolicy, Error, LockFile, Mutex, Participant, ParticipantGuard,
    PreviousOwner, Result, RingAlgorithm, TurnParticipantGuard, TurnRing,
};

/// A named lock.
pub enum Lock {
    Mutex(Mutex),
    Ring(TurnRing),
}

/// A lock that is held.
pub enum Guard<'a> {
    Mutex(ParticipantGuard<'a>),
    Ring(TurnParticipantGuard<'a>),
}

/// What a lock must be, or is to be if it is created now.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
pub enum Algorithm {
    /// first come first served (Lamport); waiters have patience
    #[default]
    Bakery,
    /// in turn, Dijkstra's ring, which stabilises itself
    KState,
    /// in turn, Raynal's ring modulo n squared
    Raynal,
    /// in turn, Raynal's sum ring: in the order that --step says
    Sum,
}

/// What a holder's death means for a lock that is created now.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
pub enum OnDeath {
    /// the next holder is told, and has to say that the data are consistent before it unlocks
    Inform,
    /// the next holder is told, and nothing has to be repaired
    #[default]
    Release,
}

/// How a lock is to be opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenOptions {
    pub algorithm: Option<Algorithm>,
    pub step: Option<u32>,
    pub patience: Option<Duration>,
    pub on_death: OnDeath,
    pub must_exist: bool,
}

impl Lock {
    /// The lock called `name`. If no algorithm is asked for: whatever it is, and a mutex if it is created now.
    pub fn open(file: &LockFile, name: &str, options: OpenOptions) -> Result<Self> {
        let death_policy = match options.on_death {
            OnDeath::Inform => DeathPolicy::Inform,
            OnDeath::Release => DeathPolicy::Release,
        };
        let mut ring = file.ring_options();
        ring.death_policy(death_policy).must_exist(options.must_exist);
        let algorithm = match options.algorithm {
            None | Some(Algorithm::Bakery) => {
                let patience = options.patience.unwrap_or(DEFAULT_PATIENCE);
                let mutex = file
                    .mutex_options()
                    .patience(patience)
                    .death_policy(death_policy)
                    .must_exist(options.must_exist)
                    .open(name);
                return match mutex {
                    Err(Error::Kind { .. }) if options.algorithm.is_none() => ring.open(name).map(Lock::Ring),
                    mutex => mutex.map(Lock::Mutex),
                };
            }
            Some(Algorithm::KState) => RingAlgorithm::KState,
            Some(Algorithm::Raynal) => RingAlgorithm::Raynal,
            Some(Algorithm::Sum) => RingAlgorithm::Sum { step: options.step.unwrap_or(1) },
        };
        ring.algorithm(algorithm).open(name).map(Lock::Ring)
    }

    /// Acquires it as `participant`: at once, within a limit, or however long it takes.
    pub fn acquire<'a>(&'a self, participant: &'a Participant, limit: Option<Duration>) -> Result<Guard<'a>> {
        match self {
            Lock::Mutex(mutex) => match limit {
                None => mutex.lock_as(participant),
                Some(Duration::ZERO) => mutex.try_lock_as(participant),
                Some(limit) => mutex.lock_for_as(participant, limit),
            }
            .map(Guard::Mutex),
            Lock::Ring(ring) => match limit {
                None => ring.lock_as(participant),
                Some(Duration::ZERO) => ring.try_lock_as(participant),
                Some(limit) => ring.lock_for_as(participant, limit),
            }
            .map(Guard::Ring),
        }
    }

    /// Opens it again after nobody repaired its data.
    pub fn reset_for(&self, limit: Duration) -> Result<()> {
        match self {
            Lock::Mutex(mutex) => mutex.reset_for(limit),
            Lock::Ring(ring) => ring.reset_for(limit),
        }
    }
}

impl Guard<'_> {
    /// What came with the acquisition.
    pub fn acquired(&self) -> Acquired {
        match self {
            Guard::Mutex(guard) => guard.acquired(),
            Guard::Ring(guard) => guard.acquired(),
        }
    }

    /// Who died, if the previous holder did.
    pub fn previous_owner(&self) -> Option<PreviousOwner> {
        match self {
            Guard::Mutex(guard) => guard.previous_owner(),
            Guard::Ring(guard) => guard.previous_owner(),
        }
    }

    /// Marks the data as consistent.
    pub fn mark_consistent(&mut self) -> Result<()> {
        match self {
            Guard::Mutex(guard) => guard.mark_consistent(),
            Guard::Ring(guard) => guard.mark_consistent(),
        }
    }

    /// Unlocks.
    pub fn unlock(self) -> Result<()> {
        match self {
            Guard::Mutex(guard) => guard.unlock(),
            Guard::Ring(guard) => guard.unlock(),
        }
    }

    /// Unlocks as a dying owner does.
    pub fn abandon(self) -> Result<()> {
        match self {
            Guard::Mutex(guard) => guard.abandon(),
            Guard::Ring(guard) => guard.abandon(),
        }
    }
}
