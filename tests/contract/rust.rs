//! The bakery mutex through the Rust API: by threads, and by explicit participants.

use crate::way::{Cancel, Held, Party, Wait, Way};
use std::{fs::File, marker::PhantomData, path::Path, sync::Arc, time::Duration};
use turnlock::{
    DeathPolicy, Error, LockFile, LockFileOptions, Mutex, MutexAlgorithm, MutexGuard, Participant,
    ParticipantGuard, TurnGuard, TurnParticipantGuard,
    inspect::{Holder, LockStatus, WaiterState},
};

/// How the locks of a file are made.
pub trait Make: Send + Sync + 'static {
    /// Biased acquisitions have full fences, as where several processes take part, or membarrier is missing.
    const FULL_FENCES: bool;
    /// How long waiters let others pass; `None`: as if nothing were said.
    const PATIENCE: Option<Duration>;
    /// The file is opened by a descriptor, and made a lock file of an empty one.
    const BY_DESCRIPTOR: bool = false;
    /// The locks are recursive.
    const RECURSIVE: bool = false;
    /// Which algorithm they run; `None`: nothing is said.
    const ALGORITHM: Option<MutexAlgorithm> = None;
    /// The same number in C; 0: nothing is said.
    const ALGORITHM_IN_C: u32 = 0;
    /// How often each of a crowd takes the lock.
    const ROUNDS: u64 = 400;
}

/// By messages the order is that of stamps and numbers, or of the token's round, which is not written down.
pub const fn is_served_as_shown<M: Make>() -> bool {
    matches!(M::ALGORITHM, None | Some(MutexAlgorithm::Bakery))
}

/// Stamps and numbers are told by messages; a token goes round from its holder.
pub const fn asks_for_its_place<M: Make>() -> bool {
    matches!(M::ALGORITHM, Some(MutexAlgorithm::MessageBakery | MutexAlgorithm::LamportQueue))
}

/// As if nothing were said.
pub struct Default;

impl Make for Default {
    const FULL_FENCES: bool = false;
    const PATIENCE: Option<Duration> = None;
}

/// Strict first come first served.
pub struct Strict;

impl Make for Strict {
    const FULL_FENCES: bool = false;
    const PATIENCE: Option<Duration> = Some(Duration::ZERO);
}

/// A thread that has one may take it again.
pub struct Recursive;

impl Make for Recursive {
    const FULL_FENCES: bool = false;
    const PATIENCE: Option<Duration> = None;
    const RECURSIVE: bool = true;
}

/// As where several processes take part, or membarrier is missing.
pub struct Fenced;

impl Make for Fenced {
    const FULL_FENCES: bool = true;
    const PATIENCE: Option<Duration> = None;
}

/// By a descriptor of the file.
pub struct ByDescriptor;

impl Make for ByDescriptor {
    const FULL_FENCES: bool = false;
    const PATIENCE: Option<Duration> = None;
    const BY_DESCRIPTOR: bool = true;
}

macro_rules! by_messages {
    ($($(#[$doc:meta])* $name:ident = $algorithm:ident, $in_c:ident, $rounds:literal)*) => { $(
        $(#[$doc])*
        pub struct $name;

        impl Make for $name {
            const FULL_FENCES: bool = false;
            const PATIENCE: Option<Duration> = None;
            const ALGORITHM: Option<MutexAlgorithm> = Some(MutexAlgorithm::$algorithm);
            const ALGORITHM_IN_C: u32 = turnlock::capi::$in_c;
            const ROUNDS: u64 = $rounds;
        }
    )* };
}
by_messages! {
    /// Lamport's queue.
    LamportQueue = LamportQueue, TURNLOCK_ALGORITHM_LAMPORT_QUEUE, 50
    /// A token on a mesh.
    RicartAgrawala = RicartAgrawala, TURNLOCK_ALGORITHM_RICART_AGRAWALA, 50
    /// Misra's tokens on a ring.
    TokenRing = TokenRing, TURNLOCK_ALGORITHM_TOKEN_RING, 50
    /// Lamport's bakery by messages, which takes more than a hundred of them for each entry of a crowd.
    MessageBakery = MessageBakery, TURNLOCK_ALGORITHM_MESSAGE_BAKERY, 20
}

/// A descriptor of the file at `path`, which is empty if it was not there.
pub fn descriptor_of(path: &Path) -> File {
    File::options().read(true).write(true).create(true).truncate(false).open(path).unwrap()
}

/// Participants of locks by messages have mailboxes, as many as can have some.
fn options_of<M: Make>(participants: u32, locks: u32) -> LockFileOptions {
    let mut options = LockFile::options();
    options.participants(participants).locks(locks);
    if M::ALGORITHM.is_some() {
        options.mailboxes(participants.min(16));
    }
    options
}

fn mutex<M: Make>(file: &LockFile, name: &str) -> Result<Mutex, i32> {
    mutex_with::<M>(file, name, None)
}

fn mutex_with<M: Make>(file: &LockFile, name: &str, death_policy: Option<DeathPolicy>) -> Result<Mutex, i32> {
    let mut options = file.mutex_options();
    if let Some(patience) = M::PATIENCE {
        options.patience(patience);
    }
    if let Some(algorithm) = M::ALGORITHM {
        options.algorithm(algorithm);
    }
    if let Some(death_policy) = death_policy {
        options.death_policy(death_policy);
    }
    options.recursive(M::RECURSIVE).open(name).map_err(code)
}

/// Who has the lock: fencing token, process, thread.
pub fn holder(status: turnlock::Result<LockStatus>) -> Option<(u64, u32, u32)> {
    let status = status.unwrap();
    assert!(status.holders.len() < 2, "{status:?}");
    let told = |holder: &Holder| (holder.fencing_token, holder.participant.pid, holder.participant.thread);
    status.holders.first().map(told)
}

/// Who waits for the lock: threads.
pub fn waiters(status: turnlock::Result<LockStatus>) -> Vec<(u32, WaiterState)> {
    status.unwrap().queue.iter().map(|waiter| (waiter.participant.thread, waiter.state)).collect()
}

pub fn open(path: &Path, participants: u32, locks: u32) -> Result<Arc<LockFile>, i32> {
    LockFile::options().participants(participants).locks(locks).open(path).map(Arc::new).map_err(code)
}

pub fn code(error: Error) -> i32 {
    error.code()
}

fn previous_owner(mutex: &Mutex) -> Option<(u64, u32, u32, String)> {
    mutex.previous_owner().map(|dead| (dead.fencing_token, dead.pid, dead.thread, dead.label))
}

macro_rules! held_by_guard {
    ($guard:ident) => {
        impl Held for $guard<'_> {
            fn fencing_token(&self) -> u64 {
                $guard::fencing_token(self)
            }

            fn previous_owner_died(&self) -> bool {
                self.acquired().previous_owner_died
            }

            fn mark_consistent(&mut self) -> Result<(), i32> {
                $guard::mark_consistent(self).map_err(code)
            }

            fn is_contended(&self) -> bool {
                $guard::is_contended(self)
            }

            fn unlock(self) -> Result<(), i32> {
                $guard::unlock(self).map_err(code)
            }
        }
    };
}
held_by_guard!(MutexGuard);
held_by_guard!(ParticipantGuard);
held_by_guard!(TurnGuard);
held_by_guard!(TurnParticipantGuard);

impl Cancel for Participant {
    fn cancel(&self) {
        Participant::cancel(self);
    }

    fn take_back(&self) {
        self.clear_cancel();
    }
}

/// The bakery mutex, by threads.
pub struct BakeryByThreads<M = Default>(Arc<LockFile>, PhantomData<M>);

pub struct ThreadAtMutex<M> {
    file: Arc<LockFile>,
    mutex: Mutex,
    _made: PhantomData<M>,
}

impl<M: Make> Way for BakeryByThreads<M> {
    type Party = ThreadAtMutex<M>;
    type ByThreads = Self;
    const ROUNDS: u64 = M::ROUNDS;
    const AS_SHOWN: bool = is_served_as_shown::<M>();
    const ASKS_FOR_ITS_PLACE: bool = asks_for_its_place::<M>();

    fn open(path: &Path, participants: u32, locks: u32) -> Result<Self, i32> {
        let mut options = options_of::<M>(participants, locks);
        options.full_fences(M::FULL_FENCES);
        let opened = match M::BY_DESCRIPTOR {
            true => options.open_descriptor(descriptor_of(path)),
            false => options.open(path),
        };
        let file = opened.map_err(code)?;
        Ok(Self(Arc::new(file), PhantomData))
    }

    fn party(&self, name: &str) -> Result<ThreadAtMutex<M>, i32> {
        Ok(ThreadAtMutex { mutex: mutex::<M>(&self.0, name)?, file: self.0.clone(), _made: PhantomData })
    }

    fn party_where_death_releases(&self, name: &str) -> Result<ThreadAtMutex<M>, i32> {
        mutex_with::<M>(&self.0, name, Some(DeathPolicy::Release))?;
        self.party(name)
    }
}

impl<M: Make> Party for ThreadAtMutex<M> {
    type Held<'a> = MutexGuard<'a>;
    type Canceller = Participant;

    fn at(&self, name: &str) -> Self {
        Self { mutex: mutex::<M>(&self.file, name).unwrap(), file: self.file.clone(), _made: PhantomData }
    }

    fn lock(&self, wait: Wait) -> Result<MutexGuard<'_>, i32> {
        match wait {
            Wait::Never => self.mutex.try_lock(),
            Wait::For(limit) => self.mutex.lock_for(limit),
            Wait::Forever => self.mutex.lock(),
        }
        .map_err(code)
    }

    fn canceller(&self) -> Participant {
        self.file.current_participant().unwrap()
    }

    fn reset(&self, wait: Wait) -> Result<(), i32> {
        match wait {
            Wait::Never => self.mutex.try_reset(),
            Wait::For(limit) => self.mutex.reset_for(limit),
            Wait::Forever => self.mutex.reset(),
        }
        .map_err(code)
    }

    fn holder(&self) -> Option<(u64, u32, u32)> {
        holder(self.mutex.status())
    }

    fn waiters(&self) -> Vec<(u32, WaiterState)> {
        waiters(self.mutex.status())
    }

    fn previous_owner(&self) -> Option<(u64, u32, u32, String)> {
        previous_owner(&self.mutex)
    }
}

/// The bakery mutex, by explicit participants.
pub struct BakeryByParticipants<M = Default>(Arc<LockFile>, PhantomData<M>);

pub struct ParticipantAtMutex<M = Default> {
    pub participant: Participant,
    file: Arc<LockFile>,
    mutex: Mutex,
    _made: PhantomData<M>,
}

impl<M: Make> Way for BakeryByParticipants<M> {
    type Party = ParticipantAtMutex<M>;
    type ByThreads = BakeryByThreads<M>;
    const ROUNDS: u64 = M::ROUNDS;
    const AS_SHOWN: bool = is_served_as_shown::<M>();
    const ASKS_FOR_ITS_PLACE: bool = asks_for_its_place::<M>();

    fn open(path: &Path, participants: u32, locks: u32) -> Result<Self, i32> {
        let file = options_of::<M>(participants, locks).open(path).map_err(code)?;
        Ok(Self(Arc::new(file), PhantomData))
    }

    fn party(&self, name: &str) -> Result<ParticipantAtMutex<M>, i32> {
        let mutex = mutex::<M>(&self.0, name)?;
        let participant = self.0.participant().map_err(code)?;
        Ok(ParticipantAtMutex { participant, mutex, file: self.0.clone(), _made: PhantomData })
    }

    fn party_where_death_releases(&self, name: &str) -> Result<ParticipantAtMutex<M>, i32> {
        mutex_with::<M>(&self.0, name, Some(DeathPolicy::Release))?;
        self.party(name)
    }
}

impl<M: Make> Party for ParticipantAtMutex<M> {
    type Held<'a> = ParticipantGuard<'a>;
    type Canceller = Participant;

    fn at(&self, name: &str) -> Self {
        let mutex = mutex::<M>(&self.file, name).unwrap();
        let (participant, file) = (self.participant.clone(), self.file.clone());
        Self { participant, mutex, file, _made: PhantomData }
    }

    fn lock(&self, wait: Wait) -> Result<ParticipantGuard<'_>, i32> {
        match wait {
            Wait::Never => self.mutex.try_lock_as(&self.participant),
            Wait::For(limit) => self.mutex.lock_for_as(&self.participant, limit),
            Wait::Forever => self.mutex.lock_as(&self.participant),
        }
        .map_err(code)
    }

    fn canceller(&self) -> Participant {
        self.participant.clone()
    }

    fn reset(&self, wait: Wait) -> Result<(), i32> {
        match wait {
            Wait::Never => self.mutex.try_reset(),
            Wait::For(limit) => self.mutex.reset_for(limit),
            Wait::Forever => self.mutex.reset(),
        }
        .map_err(code)
    }

    fn holder(&self) -> Option<(u64, u32, u32)> {
        holder(self.mutex.status())
    }

    fn waiters(&self) -> Vec<(u32, WaiterState)> {
        waiters(self.mutex.status())
    }

    fn previous_owner(&self) -> Option<(u64, u32, u32, String)> {
        previous_owner(&self.mutex)
    }
}
