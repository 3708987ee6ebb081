//! A lock of a file, whichever its kind, as the commands take it.

use super::wanted::Wanted;
use std::time::Duration;
use turnlock::{
    Acquired, DeathPolicy, Error, GroupLock, GroupParticipantGuard, KeyParticipantGuard, KeyedLock, LockFile,
    Mutex, MutexAlgorithm, Participant, ParticipantGuard, ParticipantPermits, PreviousOwner, RangeLock,
    RangeParticipantGuard, Result, RingAlgorithm, RwLock, RwLockReadParticipantGuard,
    RwLockWriteParticipantGuard, Semaphore, TurnParticipantGuard, TurnRing,
};

/// The name of the lock that is meant where none is said.
pub const DEFAULT: &str = "default";

/// A named lock.
pub enum Lock {
    Mutex(Mutex),
    Ring(TurnRing),
    RwLock(RwLock),
    Semaphore(Semaphore),
    Ranges(RangeLock),
    Keys(KeyedLock),
    Groups(GroupLock),
}

/// A lock that is held, or a part of it.
pub enum Guard<'a> {
    Mutex(ParticipantGuard<'a>),
    /// A mutex that is held for one that only reads.
    ReaderOfMutex(ParticipantGuard<'a>),
    Ring(TurnParticipantGuard<'a>),
    Reader(RwLockReadParticipantGuard<'a>),
    Writer(RwLockWriteParticipantGuard<'a>),
    Permits(ParticipantPermits<'a>),
    Range(RangeParticipantGuard<'a>),
    Key(KeyParticipantGuard<'a>),
    InGroup(GroupParticipantGuard<'a>),
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

    /// Returns whether its participants need mailboxes.
    pub fn is_by_messages(self) -> bool {
        self.of_mutex().is_some_and(|algorithm| algorithm != MutexAlgorithm::Bakery)
    }
}

/// What a holder's death means for a lock.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum OnDeath {
    /// the next holder is told, and has to say that the data are consistent before it unlocks
    Inform,
    /// the next holder is told, and nothing has to be repaired
    Release,
}

impl From<OnDeath> for DeathPolicy {
    fn from(policy: OnDeath) -> Self {
        match policy {
            OnDeath::Inform => DeathPolicy::Inform,
            OnDeath::Release => DeathPolicy::Release,
        }
    }
}

/// How a lock is to be opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    pub algorithm: Option<Algorithm>,
    /// A ring, whichever it is.
    pub turn: bool,
    /// To be a member of it, if it is a ring.
    pub member: bool,
    pub step: Option<u32>,
    /// What it must have; nothing: what it has, and one millisecond if it is created now.
    pub patience: Option<Duration>,
    /// What it must have; nothing: what it has, and release if it is created now.
    pub on_death: Option<OnDeath>,
    pub wanted: Wanted,
    pub must_exist: bool,
}

/// Puts what was asked for, of what several kinds have, into the options of a lock.
macro_rules! put {
    ($asked:ident into $options:ident: $($what:ident)*) => {{
        $options.must_exist($asked.must_exist);
        $(put!(@ $what $asked $options);)*
    }};
    (@ patience $asked:ident $options:ident) => {
        if let Some(patience) = $asked.patience {
            $options.patience(patience);
        }
    };
    (@ on_death $asked:ident $options:ident) => {
        $options.default_death_policy(DeathPolicy::Release);
        if let Some(policy) = $asked.on_death {
            $options.death_policy(policy.into());
        }
    };
}

/// A kind of lock, with what is asked of that kind alone.
enum Kind {
    Mutex(Option<MutexAlgorithm>),
    Ring(Option<RingAlgorithm>),
    RwLock,
    Semaphore { permits: u32 },
    Ranges,
    Keys,
    Groups,
}

impl Kind {
    /// Returns the lock called `name`, which must be of this kind, with what is asked for.
    fn open(&self, file: &LockFile, name: &str, asked: &OpenOptions) -> Result<Lock> {
        self.refuse_what_it_has_not(file, name, asked)?;
        match self {
            Kind::Mutex(algorithm) => {
                let mut mutex = file.mutex_options();
                if let Some(algorithm) = algorithm {
                    mutex.algorithm(*algorithm);
                }
                put!(asked into mutex: patience on_death);
                mutex.open(name).map(Lock::Mutex)
            }
            Kind::Ring(algorithm) => {
                let mut ring = file.ring_options();
                if let Some(algorithm) = algorithm {
                    ring.algorithm(*algorithm);
                }
                put!(asked into ring: on_death);
                ring.member(asked.member).open(name).map(Lock::Ring)
            }
            Kind::RwLock => {
                let mut rwlock = file.rwlock_options();
                put!(asked into rwlock: patience on_death);
                rwlock.open(name).map(Lock::RwLock)
            }
            Kind::Semaphore { permits } => {
                let mut semaphore = file.semaphore_options();
                put!(asked into semaphore: patience);
                semaphore.permits(*permits).open(name).map(Lock::Semaphore)
            }
            Kind::Ranges => {
                let mut ranges = file.range_lock_options();
                put!(asked into ranges: on_death);
                ranges.open(name).map(Lock::Ranges)
            }
            Kind::Keys => {
                let mut keys = file.keyed_lock_options();
                put!(asked into keys: on_death);
                keys.open(name).map(Lock::Keys)
            }
            Kind::Groups => {
                let mut groups = file.group_lock_options();
                put!(asked into groups: on_death);
                groups.open(name).map(Lock::Groups)
            }
        }
    }

    /// What such a lock has none of is not ignored.
    fn refuse_what_it_has_not(&self, file: &LockFile, name: &str, asked: &OpenOptions) -> Result<()> {
        let (is, option) = match self {
            Kind::Ring(_) if asked.patience.is_some() => ("ring, on which no waiter overtakes", "--patience"),
            Kind::Ranges if asked.patience.is_some() => ("range lock, whose order is strict", "--patience"),
            Kind::Keys if asked.patience.is_some() => ("keyed lock, whose order is strict", "--patience"),
            Kind::Groups if asked.patience.is_some() => ("group lock, whose order is strict", "--patience"),
            Kind::Semaphore { .. } if asked.on_death.is_some() => {
                ("semaphore, whose permits come back", "--on-death")
            }
            _ => return Ok(()),
        };
        let why = format!("its lock {name:?} is a {is}: leave {option} out, or use another name");
        Err(Error::Kind { path: file.path(), why })
    }
}

impl Lock {
    /// Returns the lock called `name`. If only all of it is wanted: whatever it is, and if it is created now a rwlock where
    /// others shall share it, else a mutex.
    pub fn open(file: &LockFile, name: &str, asked: &OpenOptions) -> Result<Self> {
        let made = Self::of_the_kind(file, name, asked);
        match (&asked.wanted, asked.algorithm) {
            (Wanted::Everything | Wanted::Exclusively | Wanted::Shared, None) if !asked.turn => {
                made.or_else(|error| Self::of_another_kind(file, name, asked, error))
            }
            _ => made,
        }
    }

    /// Returns the lock, of the kind that it is to be if it is created now.
    fn of_the_kind(file: &LockFile, name: &str, asked: &OpenOptions) -> Result<Self> {
        let kind = match &asked.wanted {
            Wanted::Everything => return Self::mutex_or_ring(file, name, asked),
            Wanted::Exclusively | Wanted::Shared => Kind::RwLock,
            Wanted::Permits { of, .. } => Kind::Semaphore { permits: *of },
            Wanted::Range { .. } => Kind::Ranges,
            Wanted::Key { .. } => Kind::Keys,
            Wanted::InGroup(_) => Kind::Groups,
        };
        kind.open(file, name, asked)
    }

    fn mutex_or_ring(file: &LockFile, name: &str, asked: &OpenOptions) -> Result<Self> {
        let algorithm = match asked.algorithm {
            None if asked.turn => None,
            Some(Algorithm::KState) => Some(RingAlgorithm::KState),
            Some(Algorithm::Raynal) => Some(RingAlgorithm::Raynal),
            Some(Algorithm::Sum) => Some(RingAlgorithm::Sum { step: asked.step.unwrap_or(1) }),
            of_mutex => {
                return Kind::Mutex(of_mutex.and_then(Algorithm::of_mutex)).open(file, name, asked);
            }
        };
        Kind::Ring(algorithm).open(file, name, asked)
    }

    /// Returns the lock, if it exists and is of a kind that what is wanted can be had of, though it would have been created as
    /// another one. `error`: that it is another one.
    fn of_another_kind(file: &LockFile, name: &str, asked: &OpenOptions, error: Error) -> Result<Self> {
        if !matches!(error, Error::Kind { .. }) {
            return Err(error);
        }
        let kinds: &[Kind] = match asked.wanted {
            // As with flock(1), whose first use decides nothing: a mutex is taken alone, by readers too.
            Wanted::Shared if name == DEFAULT => &[Kind::Ranges, Kind::Mutex(None)],
            Wanted::Shared => &[Kind::Ranges],
            _ => &[
                Kind::Mutex(None),
                Kind::Ring(None),
                Kind::RwLock,
                Kind::Semaphore { permits: 1 },
                Kind::Ranges,
                Kind::Keys,
                Kind::Groups,
            ],
        };
        let whatever_it_has = OpenOptions { must_exist: true, ..OpenOptions::default() };
        match kinds.iter().find(|kind| kind.open(file, name, &whatever_it_has).is_ok()) {
            Some(kind) => kind.open(file, name, &OpenOptions { must_exist: true, ..asked.clone() }),
            None => Err(error),
        }
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
            (Lock::Mutex(mutex), wanted) => {
                let held = within_limit!(mutex: lock_as try_lock_as lock_for_as);
                let only_reads = matches!(wanted, Wanted::Shared);
                held.map(|held| if only_reads { Guard::ReaderOfMutex(held) } else { Guard::Mutex(held) })
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
                "this is a keyed lock, which is held by single keys only: say which one, with --key".into(),
            )),
            (Lock::Groups(groups), Wanted::InGroup(group)) => {
                let group = *group;
                within_limit!(groups: lock_as try_lock_as lock_for_as, group).map(Guard::InGroup)
            }
            (Lock::Groups(_), _) => Err(Error::InvalidArgument(
                "this is a group lock, which is held by members of a group only: say which one, with --in-group".into(),
            )),
        }
    }

    /// Returns whether a death releases it, and leaves nothing to repair.
    pub fn releases_on_death(&self) -> bool {
        let policy = match self {
            Lock::Mutex(mutex) => mutex.death_policy(),
            Lock::Ring(ring) => ring.death_policy(),
            Lock::RwLock(rwlock) => rwlock.death_policy(),
            Lock::Semaphore(_) => DeathPolicy::Release,
            Lock::Ranges(ranges) => ranges.death_policy(),
            Lock::Keys(keys) => keys.death_policy(),
            Lock::Groups(groups) => groups.death_policy(),
        };
        policy == DeathPolicy::Release
    }

    /// Opens it again after a holder died and its data were not repaired. A semaphore is never closed.
    pub fn reset_for(&self, limit: Duration) -> Result<()> {
        match self {
            Lock::Mutex(mutex) => mutex.reset_for(limit),
            Lock::Ring(ring) => ring.reset_for(limit),
            Lock::RwLock(rwlock) => rwlock.reset_for(limit),
            Lock::Semaphore(_) => Ok(()),
            Lock::Ranges(ranges) => ranges.reset_for(limit),
            Lock::Keys(keys) => keys.reset_for(limit),
            Lock::Groups(groups) => groups.reset_for(limit),
        }
    }
}

/// Unlocks a mutex as a reader, however that one ended: it leaves nothing to repair, and has repaired nothing. Of a death that it was
/// told of, the next holder is told too.
fn end_as_reader(held: ParticipantGuard) -> Result<()> {
    if held.acquired().previous_owner_died { held.abandon() } else { held.unlock() }
}

macro_rules! whichever {
    ($guard:ident: $held:ident => $what:expr) => {
        match $guard {
            Guard::Mutex($held) | Guard::ReaderOfMutex($held) => $what,
            Guard::Ring($held) => $what,
            Guard::Reader($held) => $what,
            Guard::Writer($held) => $what,
            Guard::Permits($held) => $what,
            Guard::Range($held) => $what,
            Guard::Key($held) => $what,
            Guard::InGroup($held) => $what,
        }
    };
}

impl Guard<'_> {
    /// Returns what came with the acquisition.
    pub fn acquired(&self) -> Acquired {
        whichever!(self: held => held.acquired())
    }

    /// Returns who died last holding the lock, if this one was told of a death.
    pub fn previous_owner(&self) -> Option<PreviousOwner> {
        whichever!(self: held => held.previous_owner())
    }

    /// Returns whether it is a part of a lock, whose dead holder need not be the last that died holding the lock.
    pub fn is_part(&self) -> bool {
        matches!(self, Guard::Range(_) | Guard::Key(_))
    }

    /// Marks the data as consistent, as far as this one may: a reader has repaired nothing, and a holder of another
    /// part than the dead one has not repaired all of it.
    pub fn mark_consistent(&mut self) -> Result<()> {
        if matches!(self, Guard::ReaderOfMutex(_)) {
            return Ok(());
        }
        match whichever!(self: held => held.mark_consistent()) {
            Err(Error::NotExclusive) => Ok(()),
            // Or another member, which was told too, has marked it.
            Err(Error::NotInconsistent) if self.is_part() || matches!(self, Guard::InGroup(_)) => Ok(()),
            marked => marked,
        }
    }

    /// Unlocks.
    pub fn unlock(self) -> Result<()> {
        match self {
            Guard::ReaderOfMutex(held) => end_as_reader(held),
            guard => whichever!(guard: held => held.unlock()),
        }
    }

    /// Unlocks as a dying owner does.
    pub fn abandon(self) -> Result<()> {
        match self {
            Guard::ReaderOfMutex(held) => end_as_reader(held),
            guard => whichever!(guard: held => held.abandon()),
        }
    }
}
