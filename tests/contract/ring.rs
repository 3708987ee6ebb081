//! The turn rings through the Rust API: by threads, and by explicit participants.

use crate::{
    rust::{code, holder, open, waiters},
    way::{Party, Wait, Way},
};
use std::{marker::PhantomData, path::Path, sync::Arc};
use turnlock::{
    DeathPolicy, LockFile, Participant, RingAlgorithm, TurnGuard, TurnParticipantGuard, TurnRing,
    inspect::WaiterState,
};

/// Which ring.
pub trait Make: Send + Sync + 'static {
    fn algorithm(participants: u32) -> RingAlgorithm;
}

/// Dijkstra's.
pub struct KState;
/// Raynal's.
pub struct Raynal;
/// Raynal's sum ring, in reverse.
pub struct Sum;

impl Make for KState {
    fn algorithm(_: u32) -> RingAlgorithm {
        RingAlgorithm::KState
    }
}
impl Make for Raynal {
    fn algorithm(_: u32) -> RingAlgorithm {
        RingAlgorithm::Raynal
    }
}
impl Make for Sum {
    fn algorithm(participants: u32) -> RingAlgorithm {
        RingAlgorithm::Sum { step: participants - 1 }
    }
}

fn ring<M: Make>(file: &LockFile, name: &str) -> Result<TurnRing, i32> {
    file.ring_options().algorithm(M::algorithm(file.participants())).open(name).map_err(code)
}

fn create_where_death_releases<M: Make>(file: &LockFile, name: &str) -> Result<(), i32> {
    let mut options = file.ring_options();
    options.algorithm(M::algorithm(file.participants())).death_policy(DeathPolicy::Release);
    options.open(name).map(drop).map_err(code)
}

fn previous_owner(ring: &TurnRing) -> Option<(u64, u32, u32, String)> {
    ring.previous_owner().map(|dead| (dead.fencing_token, dead.pid, dead.thread, dead.label))
}

/// A ring, by threads.
pub struct ByThreads<M>(Arc<LockFile>, PhantomData<M>);

pub struct ThreadAtRing<M> {
    file: Arc<LockFile>,
    ring: TurnRing,
    _made: PhantomData<M>,
}

impl<M: Make> Way for ByThreads<M> {
    type Party = ThreadAtRing<M>;
    type ByThreads = Self;

    fn open(path: &Path, participants: u32, locks: u32) -> Result<Self, i32> {
        Ok(Self(open(path, participants, locks)?, PhantomData))
    }

    fn party(&self, name: &str) -> Result<ThreadAtRing<M>, i32> {
        Ok(ThreadAtRing { ring: ring::<M>(&self.0, name)?, file: self.0.clone(), _made: PhantomData })
    }

    fn party_where_death_releases(&self, name: &str) -> Result<ThreadAtRing<M>, i32> {
        create_where_death_releases::<M>(&self.0, name)?;
        self.party(name)
    }
}

impl<M: Make> Party for ThreadAtRing<M> {
    type Held<'a> = TurnGuard<'a>;
    type Canceller = Participant;

    fn at(&self, name: &str) -> Self {
        Self { ring: ring::<M>(&self.file, name).unwrap(), file: self.file.clone(), _made: PhantomData }
    }

    fn lock(&self, wait: Wait) -> Result<TurnGuard<'_>, i32> {
        match wait {
            Wait::Never => self.ring.try_lock(),
            Wait::For(limit) => self.ring.lock_for(limit),
            Wait::Forever => self.ring.lock(),
        }
        .map_err(code)
    }

    fn canceller(&self) -> Participant {
        self.file.current_participant().unwrap()
    }

    fn reset(&self, wait: Wait) -> Result<(), i32> {
        match wait {
            Wait::Never => self.ring.try_reset(),
            Wait::For(limit) => self.ring.reset_for(limit),
            Wait::Forever => self.ring.reset(),
        }
        .map_err(code)
    }

    fn holder(&self) -> Option<(u64, u32, u32)> {
        holder(self.ring.status())
    }

    fn waiters(&self) -> Vec<(u32, WaiterState)> {
        waiters(self.ring.status())
    }

    fn previous_owner(&self) -> Option<(u64, u32, u32, String)> {
        previous_owner(&self.ring)
    }
}

/// A ring, by explicit participants.
pub struct ByParticipants<M>(Arc<LockFile>, PhantomData<M>);

pub struct ParticipantAtRing<M> {
    participant: Participant,
    file: Arc<LockFile>,
    ring: TurnRing,
    _made: PhantomData<M>,
}

impl<M: Make> Way for ByParticipants<M> {
    type Party = ParticipantAtRing<M>;
    type ByThreads = ByThreads<M>;

    fn open(path: &Path, participants: u32, locks: u32) -> Result<Self, i32> {
        Ok(Self(open(path, participants, locks)?, PhantomData))
    }

    fn party(&self, name: &str) -> Result<ParticipantAtRing<M>, i32> {
        let ring = ring::<M>(&self.0, name)?;
        let participant = self.0.participant().map_err(code)?;
        Ok(ParticipantAtRing { participant, ring, file: self.0.clone(), _made: PhantomData })
    }

    fn party_where_death_releases(&self, name: &str) -> Result<ParticipantAtRing<M>, i32> {
        create_where_death_releases::<M>(&self.0, name)?;
        self.party(name)
    }
}

impl<M: Make> Party for ParticipantAtRing<M> {
    type Held<'a> = TurnParticipantGuard<'a>;
    type Canceller = Participant;

    fn at(&self, name: &str) -> Self {
        let ring = ring::<M>(&self.file, name).unwrap();
        Self { participant: self.participant.clone(), ring, file: self.file.clone(), _made: PhantomData }
    }

    fn lock(&self, wait: Wait) -> Result<TurnParticipantGuard<'_>, i32> {
        match wait {
            Wait::Never => self.ring.try_lock_as(&self.participant),
            Wait::For(limit) => self.ring.lock_for_as(&self.participant, limit),
            Wait::Forever => self.ring.lock_as(&self.participant),
        }
        .map_err(code)
    }

    fn canceller(&self) -> Participant {
        self.participant.clone()
    }

    fn reset(&self, wait: Wait) -> Result<(), i32> {
        match wait {
            Wait::Never => self.ring.try_reset(),
            Wait::For(limit) => self.ring.reset_for(limit),
            Wait::Forever => self.ring.reset(),
        }
        .map_err(code)
    }

    fn holder(&self) -> Option<(u64, u32, u32)> {
        holder(self.ring.status())
    }

    fn waiters(&self) -> Vec<(u32, WaiterState)> {
        waiters(self.ring.status())
    }

    fn previous_owner(&self) -> Option<(u64, u32, u32, String)> {
        previous_owner(&self.ring)
    }
}
