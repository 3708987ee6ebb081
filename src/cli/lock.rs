//! A lock of a file, whichever its kind, as the commands take it.

use super::wanted::Wanted;
use std::time::Duration;
use turnlock::{
    Acquired, DEFAULT_PATIENCE, DeathPolicy, Error, KeyParticipantGuard, KeyedLock, LockFile, Mutex,
    MutexAlgorithm, Participant, ParticipantGuard, ParticipantPermits, PreviousOwner, RangeLock,
    RangeParticipantGuard, Result, RingAlgorithm, RwLock, RwLockReadParticipantGuard,
    RwLockWriteParticipantGuard, Semaphore, TurnParticipantGuard, TurnRing,
};

/// A named lock.
pub enum Lock {
    Mutex(Mutex),
    Ring(TurnRing),
    RwLock(RwLock),
    Semaphore(Semaphore),
    Ranges(RangeLock),
    Keys(KeyedLock),
}

/// A lock that is held, or a part of it.
pub enum Guard<'a> {
    Mutex(ParticipantGuard<'a>),
    Ring(TurnParticipantGuard<'a>),
    Reader(RwLockReadParticipantGuard<'a>),
    Writer(RwLockWriteParticipantGuard<'a>),
    Permits(ParticipantPermits<'a>),
    Range(RangeParticipantGuard<'a>),
    Key(KeyParticipantGuard<'a>),
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
    /// by messages, Lamport's queue: by time stamps
    LamportQueue,
    /// by messages, a token on a mesh (Ricart and Agrawala; Suzuki and Kasami)
    RicartAgrawala,
    /// by messages, Misra's two tokens on a ring
    TokenRing,
    /// by messages, Lamport's bakery
    MessageBakery,
}

impl Algorithm {
    /// Of a mutex.
    fn of_mutex(self) -> Option<MutexAlgorithm> {
        match self {
            Algorithm::Bakery => Some(MutexAlgorithm::Bakery),
            Algorithm::LamportQueue => Some(MutexAlgorithm::LamportQueue),
            Algorithm::RicartAgrawala => Some(MutexAlgorithm::RicartAgrawala),
            Algorithm::TokenRing => Some(MutexAlgorithm::TokenRing),
            Algorithm::MessageBakery => Some(MutexAlgorithm::MessageBakery),
            Algorithm::KState | Algorithm::Raynal | Algorithm::Sum => None,
        }
    }

    /// Whether its participants need mailboxes.
    pub fn is_by_messages(self) -> bool {
        self.of_mutex().is_some_and(|algorithm| algorithm != MutexAlgorithm::Bakery)
    }
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
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    pub algorithm: Option<Algorithm>,
    /// A ring, whichever it is.
    pub turn: bool,
    /// To stand in it, if it is a ring.
    pub standing: bool,
    pub step: Option<u32>,
    pub patience: Option<Duration>,
    pub on_death: OnDeath,
    pub wanted: Wanted,
    pub must_exist: bool,
}

impl OpenOptions {
    fn death_policy(&self) -> DeathPolicy {
        match self.on_death {
            OnDeath::Inform => DeathPolicy::Inform,
            OnDeath::Release => DeathPolicy::Release,
        }
    }
}

impl Lock {
    /// The lock called `name`. If only all of it is wanted: whatever it is, and if it is created now a rwlock where others
    /// shall share it, else a mutex.
    pub fn open(file: &LockFile, name: &str, options: &OpenOptions) -> Result<Self> {
        let made = Self::of_the_kind(file, name, options);
        match (&options.wanted, options.algorithm) {
            (Wanted::Everything | Wanted::Exclusively | Wanted::Shared, None) if !options.turn => {
                made.or_else(|error| Self::of_another_kind(file, name, options, error))
            }
            _ => made,
        }
    }

    /// The lock, of the kind that it is to be if it is created now.
    fn of_the_kind(file: &LockFile, name: &str, options: &OpenOptions) -> Result<Self> {
        let (death, must_exist) = (options.death_policy(), options.must_exist);
        let patience = options.patience.unwrap_or(DEFAULT_PATIENCE);
        match &options.wanted {
            Wanted::Everything => Self::mutex_or_ring(file, name, options),
            Wanted::Exclusively | Wanted::Shared => {
                let mut rwlock = file.rwlock_options();
                rwlock.patience(patience).death_policy(death).must_exist(must_exist);
                rwlock.open(name).map(Lock::RwLock)
            }
            Wanted::Permits { of, .. } => {
                let mut semaphore = file.semaphore_options();
                semaphore.permits(*of).patience(patience).must_exist(must_exist);
                semaphore.open(name).map(Lock::Semaphore)
            }
            Wanted::Range { .. } => {
                let mut ranges = file.range_lock_options();
                ranges.death_policy(death).must_exist(must_exist).open(name).map(Lock::Ranges)
            }
            Wanted::Key { .. } => {
                let mut keys = file.keyed_lock_options();
                keys.death_policy(death).must_exist(must_exist).open(name).map(Lock::Keys)
            }
        }
    }

    fn mutex_or_ring(file: &LockFile, name: &str, options: &OpenOptions) -> Result<Self> {
        let algorithm = match options.algorithm {
            None if options.turn => None,
            Some(Algorithm::KState) => Some(RingAlgorithm::KState),
            Some(Algorithm::Raynal) => Some(RingAlgorithm::Raynal),
            Some(Algorithm::Sum) => Some(RingAlgorithm::Sum { step: options.step.unwrap_or(1) }),
            of_mutex => {
                let mut mutex = file.mutex_options();
                if let Some(algorithm) = of_mutex.and_then(Algorithm::of_mutex) {
                    mutex.algorithm(algorithm);
                }
                mutex.patience(options.patience.unwrap_or(DEFAULT_PATIENCE));
                mutex.death_policy(options.death_policy()).must_exist(options.must_exist);
                return mutex.open(name).map(Lock::Mutex);
            }
        };
        let mut ring = file.ring_options();
        ring.death_policy(options.death_policy()).must_exist(options.must_exist).standing(options.standing);
        if let Some(algorithm) = algorithm {
            ring.algorithm(algorithm);
        }
        ring.open(name).map(Lock::Ring)
    }

    /// The lock, if it exists and is of a kind that what is wanted can be had of, though it would have been created as
    /// another one. `error`: that it is another one.
    fn of_another_kind(file: &LockFile, name: &str, options: &OpenOptions, error: Error) -> Result<Self> {
        if !matches!(error, Error::Kind { .. }) {
            return Err(error);
        }
        let ranges = || file.range_lock_options().must_exist(true).open(name).map(Lock::Ranges);
        if matches!(options.wanted, Wanted::Shared) {
            return ranges().map_err(|_| error);
        }
        let found = [
            &(|| file.mutex_options().must_exist(true).open(name).map(Lock::Mutex))
                as &dyn Fn() -> Result<Self>,
            &|| file.ring_options().must_exist(true).open(name).map(Lock::Ring),
            &|| file.rwlock_options().must_exist(true).open(name).map(Lock::RwLock),
            &|| file.semaphore_options().must_exist(true).open(name).map(Lock::Semaphore),
            &ranges,
            &|| file.keyed_lock_options().must_exist(true).open(name).map(Lock::Keys),
        ];
        found.into_iter().find_map(|open| open().ok()).ok_or(error)
    }

    /// Acquires what is wanted of it as `participant`: at once, within a limit, or however long it takes.
    pub fn acquire<'a>(
        &'a self,
        participant: &'a Participant,
        wanted: &Wanted,
        limit: Option<Duration>,
    ) -> Result<Guard<'a>> {
        macro_rules! within_limit {
            ($lock:ident: $forever:ident $try:ident $for:ident $(, $of:expr)?) => {
                match limit {
                    None => $lock.$forever(participant $(, $of)?),
                    Some(Duration::ZERO) => $lock.$try(participant $(, $of)?),
                    Some(limit) => $lock.$for(participant $(, $of)?, limit),
                }
            };
        }
        match (self, wanted) {
            (Lock::Mutex(mutex), _) => {
                within_limit!(mutex: lock_as try_lock_as lock_for_as).map(Guard::Mutex)
            }
            (Lock::Ring(ring), _) => within_limit!(ring: lock_as try_lock_as lock_for_as).map(Guard::Ring),
            (Lock::RwLock(rwlock), Wanted::Shared) => {
                within_limit!(rwlock: read_as try_read_as read_for_as).map(Guard::Reader)
            }
            (Lock::RwLock(rwlock), _) => {
                within_limit!(rwlock: write_as try_write_as write_for_as).map(Guard::Writer)
            }
            (Lock::Semaphore(semaphore), Wanted::Permits { weight, .. }) => {
                let weight = *weight;
                within_limit!(semaphore: acquire_as try_acquire_as acquire_for_as, weight).map(Guard::Permits)
            }
            (Lock::Semaphore(semaphore), _) => {
                let all = semaphore.permits()?;
                within_limit!(semaphore: acquire_as try_acquire_as acquire_for_as, all).map(Guard::Permits)
            }
            (Lock::Ranges(ranges), wanted) => {
                let (range, shared) = match wanted {
                    Wanted::Range { range, shared } => (range.clone(), *shared),
                    wanted => (0..=u64::MAX, matches!(wanted, Wanted::Shared)),
                };
                match shared {
                    true => within_limit!(ranges: read_as try_read_as read_for_as, range.clone()),
                    false => within_limit!(ranges: write_as try_write_as write_for_as, range.clone()),
                }
                .map(Guard::Range)
            }
            (Lock::Keys(keys), Wanted::Key { key, shared: true }) => {
                within_limit!(keys: read_as try_read_as read_for_as, key).map(Guard::Key)
            }
            (Lock::Keys(keys), Wanted::Key { key, .. }) => {
                within_limit!(keys: write_as try_write_as write_for_as, key).map(Guard::Key)
            }
            (Lock::Keys(_), _) => Err(Error::InvalidArgument(
                "this is a keyed lock, of which nobody holds more than single keys: say which one, with --key".into(),
            )),
        }
    }

    /// Whether a death releases it, and leaves nothing to repair.
    pub fn releases_on_death(&self) -> bool {
        let policy = match self {
            Lock::Mutex(mutex) => mutex.death_policy(),
            Lock::Ring(ring) => ring.death_policy(),
            Lock::RwLock(rwlock) => rwlock.death_policy(),
            Lock::Semaphore(_) => DeathPolicy::Release,
            Lock::Ranges(ranges) => ranges.death_policy(),
            Lock::Keys(keys) => keys.death_policy(),
        };
        policy == DeathPolicy::Release
    }

    /// Opens it again after nobody repaired its data. Nothing is wrong with a semaphore at any time.
    pub fn reset_for(&self, limit: Duration) -> Result<()> {
        match self {
            Lock::Mutex(mutex) => mutex.reset_for(limit),
            Lock::Ring(ring) => ring.reset_for(limit),
            Lock::RwLock(rwlock) => rwlock.reset_for(limit),
            Lock::Semaphore(_) => Ok(()),
            Lock::Ranges(ranges) => ranges.reset_for(limit),
            Lock::Keys(keys) => keys.reset_for(limit),
        }
    }
}

macro_rules! whichever {
    ($guard:ident: $held:ident => $what:expr) => {
        match $guard {
            Guard::Mutex($held) => $what,
            Guard::Ring($held) => $what,
            Guard::Reader($held) => $what,
            Guard::Writer($held) => $what,
            Guard::Permits($held) => $what,
            Guard::Range($held) => $what,
            Guard::Key($held) => $what,
        }
    };
}

impl Guard<'_> {
    /// What came with the acquisition.
    pub fn acquired(&self) -> Acquired {
        whichever!(self: held => held.acquired())
    }

    /// Who died last holding the lock, if this one was told of a death.
    pub fn previous_owner(&self) -> Option<PreviousOwner> {
        whichever!(self: held => held.previous_owner())
    }

    /// Whether it is a part of a lock, whose dead holder need not be the last that died holding the lock.
    pub fn is_part(&self) -> bool {
        matches!(self, Guard::Range(_) | Guard::Key(_))
    }

    /// Marks the data as consistent, as far as this one may: a reader has repaired nothing, and who holds another part than
    /// the dead one has not repaired all of it.
    pub fn mark_consistent(&mut self) -> Result<()> {
        match whichever!(self: held => held.mark_consistent()) {
            Err(Error::NotExclusive) => Ok(()),
            Err(Error::NotInconsistent) if self.is_part() => Ok(()),
            marked => marked,
        }
    }

    /// Unlocks.
    pub fn unlock(self) -> Result<()> {
        whichever!(self: held => held.unlock())
    }

    /// Unlocks as a dying owner does.
    pub fn abandon(self) -> Result<()> {
        whichever!(self: held => held.abandon())
    }
}
