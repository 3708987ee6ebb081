//! A lock of a file, whichever its kind, as the commands take it.

use std::time::Duration;
use turnlock::{
    DEFAULT_PATIENCE, Error, LockFile, Mutex, Participant, ParticipantGuard, Result, RingAlgorithm, TurnRing,
};

/// A named lock.
pub enum Lock {
    Mutex(Mutex),
    Ring(TurnRing),
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

/// What is asked for when a lock is opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish {
    pub algorithm: Option<Algorithm>,
    pub step: Option<u32>,
    pub patience: Option<Duration>,
    pub must_exist: bool,
}

impl Lock {
    /// The lock called `name`. If no algorithm is asked for: whatever it is, and a mutex if it is created now.
    pub fn open(file: &LockFile, name: &str, wish: Wish) -> Result<Self> {
        let ring = file.ring_options().must_exist(wish.must_exist);
        let algorithm = match wish.algorithm {
            None | Some(Algorithm::Bakery) => {
                let patience = wish.patience.unwrap_or(DEFAULT_PATIENCE);
                let mutex = file.mutex_options().patience(patience).must_exist(wish.must_exist).open(name);
                return match mutex {
                    Err(Error::Kind { .. }) if wish.algorithm.is_none() => ring.open(name).map(Lock::Ring),
                    mutex => mutex.map(Lock::Mutex),
                };
            }
            Some(Algorithm::KState) => RingAlgorithm::KState,
            Some(Algorithm::Raynal) => RingAlgorithm::Raynal,
            Some(Algorithm::Sum) => RingAlgorithm::Sum { step: wish.step.unwrap_or(1) },
        };
        ring.algorithm(algorithm).open(name).map(Lock::Ring)
    }

    /// Takes it as `participant`: at once, within a limit, or however long it takes.
    pub fn take<'a>(
        &'a self,
        participant: &'a Participant,
        limit: Option<Duration>,
    ) -> Result<ParticipantGuard<'a>> {
        match (self, limit) {
            (Lock::Mutex(mutex), None) => mutex.lock_as(participant),
            (Lock::Mutex(mutex), Some(Duration::ZERO)) => mutex.try_lock_as(participant),
            (Lock::Mutex(mutex), Some(limit)) => mutex.lock_for_as(participant, limit),
            (Lock::Ring(ring), None) => ring.lock_as(participant),
            (Lock::Ring(ring), Some(Duration::ZERO)) => ring.try_lock_as(participant),
            (Lock::Ring(ring), Some(limit)) => ring.lock_for_as(participant, limit),
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
