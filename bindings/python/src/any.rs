//! A lock of any kind that one participant has at a time, and the guard of its acquisition.

use crate::coordinated::Coordinated;
use crate::file::{FileOptions, OpenFile};
use pyo3::Python;
use std::{
    ops::Bound,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
    time::Duration,
};
use turnlock::{
    Acquired, Condition, DeathPolicy, Error, ExclusiveGuard, GroupLock, GroupParticipantGuard,
    KeyParticipantGuard, KeyedLock, LockFile, Mutex, NotUpgraded, Participant, ParticipantGuard,
    ParticipantPermits, PreviousOwner, RangeLock, RangeParticipantGuard, Result, RingAlgorithm, RwLock,
    RwLockReadParticipantGuard, RwLockUpgradableParticipantGuard, RwLockWriteParticipantGuard, Semaphore,
    TurnParticipantGuard, TurnRing, inspect::LockStatus,
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
    Mutex {
        patience: Option<Duration>,
        recursive: bool,
    },
    Ring {
        algorithm: Option<RingAlgorithm>,
        member: bool,
    },
    RwLock {
        patience: Option<Duration>,
    },
    Semaphore {
        permits: u32,
        patience: Option<Duration>,
    },
    Range,
    Keyed,
    Group,
    Condition,
    Event,
    /// With `None` whichever it has.
    Barrier {
        parties: Option<u32>,
    },
    Once {
        across_boots: bool,
    },
}

/// What is wanted of a lock.
#[derive(Clone, Debug)]
pub enum Want {
    /// All of a mutex or a ring.
    Whole,
    /// A reader/writer lock, to read.
    Read,
    /// A reader/writer lock, to read and perhaps to write later.
    Upgradable,
    /// A reader/writer lock, to write.
    Write,
    /// So many permits of a semaphore.
    Permits(u32),
    /// A range of numbers: the first, and the first that is not in it any more, if it has an end.
    Range { write: bool, first: u64, end: Option<u64> },
    /// A key.
    Key { write: bool, key: Vec<u8> },
    /// A place as a member of a group.
    Group(u64),
}

/// What a lock object was made with.
#[derive(Clone)]
pub struct Plan {
    pub file: FileOptions,
    pub name: String,
    pub kind: Kind,
    /// What it must be, if that was asked for.
    pub death_policy: Option<DeathPolicy>,
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
    RwLock(RwLock),
    Semaphore(Semaphore),
    Range(RangeLock),
    Keyed(KeyedLock),
    Group(GroupLock),
    Coordinated(Coordinated),
}

/// The guard of one.
pub enum AnyGuard<'a> {
    Mutex(ParticipantGuard<'a>),
    Ring(TurnParticipantGuard<'a>),
    Read(RwLockReadParticipantGuard<'a>),
    Upgradable(RwLockUpgradableParticipantGuard<'a>),
    Write(RwLockWriteParticipantGuard<'a>),
    Permits(ParticipantPermits<'a>),
    Range(RangeParticipantGuard<'a>),
    Key(KeyParticipantGuard<'a>),
    Group(GroupParticipantGuard<'a>),
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
        // What is not asked for is whatever the lock has. A new one releases: a `with` does not show the notice of a death.
        macro_rules! as_asked {
            ($options:ident) => {{
                $options.default_death_policy(DeathPolicy::Release).must_exist(must_exist);
                if let Some(policy) = self.death_policy {
                    $options.death_policy(policy);
                }
            }};
            ($options:ident, $patience:expr) => {{
                as_asked!($options);
                as_asked!($patience => $options);
            }};
            ($patience:expr => $options:ident) => {
                if let Some(patience) = $patience {
                    $options.patience(*patience);
                }
            };
        }
        Ok(match &self.kind {
            Kind::Mutex { patience, recursive } => {
                let mut options = file.mutex_options();
                as_asked!(options, patience);
                AnyLock::Mutex(options.recursive(*recursive).open(&self.name)?)
            }
            Kind::Ring { algorithm, member } => {
                let mut options = file.ring_options();
                if let Some(algorithm) = algorithm {
                    options.algorithm(*algorithm);
                }
                as_asked!(options);
                AnyLock::Ring(options.member(*member).open(&self.name)?)
            }
            Kind::RwLock { patience } => {
                let mut options = file.rwlock_options();
                as_asked!(options, patience);
                AnyLock::RwLock(options.open(&self.name)?)
            }
            Kind::Semaphore { permits, patience } => {
                let mut options = file.semaphore_options();
                as_asked!(patience => options);
                AnyLock::Semaphore(options.permits(*permits).must_exist(must_exist).open(&self.name)?)
            }
            Kind::Range => {
                let mut options = file.range_lock_options();
                as_asked!(options);
                AnyLock::Range(options.open(&self.name)?)
            }
            Kind::Keyed => {
                let mut options = file.keyed_lock_options();
                as_asked!(options);
                AnyLock::Keyed(options.open(&self.name)?)
            }
            Kind::Group => {
                let mut options = file.group_lock_options();
                as_asked!(options);
                AnyLock::Group(options.open(&self.name)?)
            }
            Kind::Condition => {
                let mut options = file.condition_options();
                AnyLock::Coordinated(Coordinated::Condition(options.must_exist(must_exist).open(&self.name)?))
            }
            Kind::Event => {
                let mut options = file.event_options();
                AnyLock::Coordinated(Coordinated::Event(options.must_exist(must_exist).open(&self.name)?))
            }
            Kind::Barrier { parties } => {
                let mut options = file.barrier_options();
                options.parties(parties.unwrap_or(0)).must_exist(must_exist);
                AnyLock::Coordinated(Coordinated::Barrier(options.open(&self.name)?))
            }
            Kind::Once { across_boots } => {
                let mut options = file.once_options();
                options.across_boots(*across_boots).must_exist(must_exist);
                AnyLock::Coordinated(Coordinated::Once(options.open(&self.name)?))
            }
        })
    }
}

/// One of the three ways to take something, and the guard of that kind.
macro_rules! taken {
    ($guard:path, $limit:ident, $try:expr, $for:expr, $lock:expr) => {
        $guard(match $limit {
            Limit::Never => $try?,
            Limit::For(time) => $for(time)?,
            Limit::Forever => $lock?,
        })
    };
}

/// A range of numbers, as the library has it.
fn bounds(first: u64, end: Option<u64>) -> (Bound<u64>, Bound<u64>) {
    (Bound::Included(first), end.map_or(Bound::Unbounded, Bound::Excluded))
}

impl AnyLock {
    /// Takes what is wanted as `participant`.
    #[inline]
    pub fn acquire_as<'a>(&'a self, p: &'a Participant, want: &Want, limit: Limit) -> Result<AnyGuard<'a>> {
        Ok(match (self, want) {
            (Self::Mutex(lock), Want::Whole) => {
                taken!(
                    AnyGuard::Mutex,
                    limit,
                    lock.try_lock_as(p),
                    |time| lock.lock_for_as(p, time),
                    lock.lock_as(p)
                )
            }
            (Self::Ring(lock), Want::Whole) => {
                taken!(
                    AnyGuard::Ring,
                    limit,
                    lock.try_lock_as(p),
                    |time| lock.lock_for_as(p, time),
                    lock.lock_as(p)
                )
            }
            _ => return self.acquire_claim_as(p, want, limit),
        })
    }

    fn acquire_claim_as<'a>(&'a self, p: &'a Participant, want: &Want, limit: Limit) -> Result<AnyGuard<'a>> {
        Ok(match (self, want) {
            (Self::RwLock(lock), Want::Read) => {
                taken!(
                    AnyGuard::Read,
                    limit,
                    lock.try_read_as(p),
                    |time| lock.read_for_as(p, time),
                    lock.read_as(p)
                )
            }
            (Self::RwLock(lock), Want::Upgradable) => {
                let wait = |time| lock.upgradable_for_as(p, time);
                taken!(AnyGuard::Upgradable, limit, lock.try_upgradable_as(p), wait, lock.upgradable_as(p))
            }
            (Self::RwLock(lock), Want::Write) => {
                taken!(
                    AnyGuard::Write,
                    limit,
                    lock.try_write_as(p),
                    |time| lock.write_for_as(p, time),
                    lock.write_as(p)
                )
            }
            (Self::Semaphore(lock), Want::Permits(permits)) => {
                let (permits, wait) = (*permits, |time| lock.acquire_for_as(p, *permits, time));
                taken!(
                    AnyGuard::Permits,
                    limit,
                    lock.try_acquire_as(p, permits),
                    wait,
                    lock.acquire_as(p, permits)
                )
            }
            (Self::Range(lock), Want::Range { write: true, first, end }) => {
                let part = bounds(*first, *end);
                let wait = |time| lock.write_for_as(p, part, time);
                taken!(AnyGuard::Range, limit, lock.try_write_as(p, part), wait, lock.write_as(p, part))
            }
            (Self::Range(lock), Want::Range { write: false, first, end }) => {
                let part = bounds(*first, *end);
                let wait = |time| lock.read_for_as(p, part, time);
                taken!(AnyGuard::Range, limit, lock.try_read_as(p, part), wait, lock.read_as(p, part))
            }
            (Self::Keyed(lock), Want::Key { write: true, key }) => {
                let wait = |time| lock.write_for_as(p, key, time);
                taken!(AnyGuard::Key, limit, lock.try_write_as(p, key), wait, lock.write_as(p, key))
            }
            (Self::Keyed(lock), Want::Key { write: false, key }) => {
                let wait = |time| lock.read_for_as(p, key, time);
                taken!(AnyGuard::Key, limit, lock.try_read_as(p, key), wait, lock.read_as(p, key))
            }
            (Self::Group(lock), Want::Group(group)) => {
                let (group, wait) = (*group, |time| lock.lock_for_as(p, *group, time));
                taken!(AnyGuard::Group, limit, lock.try_lock_as(p, group), wait, lock.lock_as(p, group))
            }
            _ => return Err(Error::Internal("what is wanted is of another kind of lock".into())),
        })
    }

    /// Returns whether the lock is closed for everyone, since a death was not repaired.
    pub fn is_closed_for_everyone(&self) -> bool {
        self.status().is_ok_and(|status| status.state == "not_recoverable")
    }

    /// Returns the holders of the lock, and its waiters.
    pub fn status(&self) -> Result<LockStatus> {
        match self {
            Self::Mutex(lock) => lock.status(),
            Self::Ring(lock) => lock.status(),
            Self::RwLock(lock) => lock.status(),
            Self::Semaphore(lock) => lock.status(),
            Self::Range(lock) => lock.status(),
            Self::Keyed(lock) => lock.status(),
            Self::Group(lock) => lock.status(),
            Self::Coordinated(_) => Err(Error::Internal("no lock".into())),
        }
    }

    /// Opens a lock that is not recoverable again, in its turn; marks all parts of one that has parts.
    pub fn reset(&self, limit: Limit) -> Result<()> {
        macro_rules! reset {
            ($lock:ident, $try:expr) => {
                match limit {
                    Limit::Never => $try,
                    Limit::For(time) => $lock.reset_for(time),
                    Limit::Forever => $lock.reset(),
                }
            };
        }
        match self {
            Self::Mutex(lock) => reset!(lock, lock.try_reset()),
            Self::Ring(lock) => reset!(lock, lock.try_reset()),
            Self::RwLock(lock) => reset!(lock, lock.try_reset()),
            // Its holders' deaths need no repair.
            Self::Semaphore(_) => Ok(()),
            Self::Range(lock) => reset!(lock, lock.reset_for(Duration::ZERO)),
            Self::Keyed(lock) => reset!(lock, lock.reset_for(Duration::ZERO)),
            Self::Group(lock) => reset!(lock, lock.try_reset()),
            Self::Coordinated(_) => Err(Error::Internal("no lock".into())),
        }
    }

    /// Returns what a holder's death means here.
    pub fn death_policy(&self) -> DeathPolicy {
        match self {
            Self::Mutex(lock) => lock.death_policy(),
            Self::Ring(lock) => lock.death_policy(),
            Self::RwLock(lock) => lock.death_policy(),
            Self::Semaphore(_) | Self::Coordinated(_) => DeathPolicy::Release,
            Self::Range(lock) => lock.death_policy(),
            Self::Keyed(lock) => lock.death_policy(),
            Self::Group(lock) => lock.death_policy(),
        }
    }
}

/// Runs the same on whichever guard it is.
macro_rules! each {
    ($any:expr, $one:ident => $act:expr) => {
        match $any {
            Self::Mutex($one) => $act,
            Self::Ring($one) => $act,
            Self::Read($one) => $act,
            Self::Upgradable($one) => $act,
            Self::Write($one) => $act,
            Self::Permits($one) => $act,
            Self::Range($one) => $act,
            Self::Key($one) => $act,
            Self::Group($one) => $act,
        }
    };
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

    /// Returns whether this host has the lock still. Of exclusive locks only mutexes can be linked.
    pub fn still_owner(&self) -> bool {
        match self {
            Self::Mutex(guard) => guard.still_owner(),
            _ => true,
        }
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
        match self {
            Self::Mutex(guard) => guard.abandon(),
            Self::Ring(guard) => guard.abandon(),
            Self::Permits(guard) => guard.abandon(),
            Self::Range(guard) => guard.abandon(),
            Self::Key(guard) => guard.abandon(),
            Self::Group(guard) => guard.abandon(),
            // A reader has changed nothing.
            Self::Read(guard) => guard.unlock(),
            Self::Upgradable(guard) => guard.unlock(),
            // What a panic does; this one is not reported.
            Self::Write(guard) => {
                let dies = AssertUnwindSafe(|| {
                    let _guard = guard;
                    resume_unwind(Box::new(()));
                });
                let _ = catch_unwind(dies);
                Ok(())
            }
        }
    }

    /// Returns whether its unlock closes a lock whose policy is inform, unless the data were marked: it came with the notice
    /// of a death, and is all of the lock.
    #[inline]
    pub fn may_close(&self) -> bool {
        let is_whole = matches!(self, Self::Mutex(_) | Self::Ring(_) | Self::Write(_));
        is_whole && self.acquired().previous_owner_died
    }

    /// What it is of a reader/writer lock.
    pub fn mode(&self) -> Option<&'static str> {
        match self {
            Self::Read(_) => Some("read"),
            Self::Upgradable(_) => Some("upgradable"),
            Self::Write(_) => Some("write"),
            _ => None,
        }
    }

    /// Unlocks, waits until `condition` is notified, and locks again.
    pub fn wait_at(&mut self, condition: &Condition, limit: Limit) -> Result<()> {
        match self {
            Self::Mutex(guard) => wait_at(condition, guard, limit),
            Self::Write(guard) => wait_at(condition, guard, limit),
            Self::Read(_) | Self::Upgradable(_) => Err(Error::InvalidArgument(
                "a condition waits with a reader/writer lock that is held to write: this one is held to read"
                    .into(),
            )),
            _ => Err(Error::InvalidArgument(
                "a condition waits with a Lock, an RLock or an RWLock that is held to write: not with this"
                    .into(),
            )),
        }
    }

    /// Makes an upgradable one the writer. Gives it back, changed or not.
    pub fn upgraded(self, limit: Limit) -> (Self, Result<()>) {
        let Self::Upgradable(guard) = self else {
            return (
                self,
                Err(Error::InvalidArgument("only what is held as upgradable can be upgraded".into())),
            );
        };
        let upgraded = match limit {
            Limit::Never => guard.try_upgrade(),
            Limit::For(time) => guard.upgrade_for(time),
            Limit::Forever => guard.upgrade(),
        };
        match upgraded {
            Ok(guard) => (Self::Write(guard), Ok(())),
            Err(NotUpgraded { guard, error }) => (Self::Upgradable(guard), Err(error)),
        }
    }

    /// Makes a writer a reader, or one that may write again; and one of these a reader.
    pub fn downgraded(self, to_upgradable: bool) -> Result<Self> {
        match (self, to_upgradable) {
            (Self::Write(guard), true) => Ok(Self::Upgradable(guard.downgrade_to_upgradable()?)),
            (Self::Write(guard), false) => Ok(Self::Read(guard.downgrade()?)),
            (Self::Upgradable(guard), false) => Ok(Self::Read(guard.downgrade()?)),
            (unchanged, _) => Ok(unchanged),
        }
    }
}

impl OpenLock {
    /// Has the calling thread leave a ring that it is a member of.
    pub fn leave(&self, py: Python) -> Result<()> {
        match &self.lock {
            AnyLock::Ring(ring) => {
                let slot = self.file.with_slot_of_thread(|slot| Ok(slot.clone()))?;
                py.detach(|| ring.leave_as(&slot.participant))
            }
            _ => Ok(()),
        }
    }
}

impl OpenLock {
    fn semaphore(&self) -> Result<&Semaphore> {
        match &self.lock {
            AnyLock::Semaphore(semaphore) => Ok(semaphore),
            _ => Err(Error::Internal("no semaphore".into())),
        }
    }

    /// Returns how many permits a semaphore has.
    pub fn permits(&self) -> Result<u32> {
        self.semaphore()?.permits()
    }

    /// Makes it have so many.
    pub fn resize(&self, permits: u32) -> Result<()> {
        self.semaphore()?.resize(permits)
    }
}

/// Waits at `condition` with `guard`.
pub fn wait_at(condition: &Condition, guard: &mut impl ExclusiveGuard, limit: Limit) -> Result<()> {
    match limit {
        Limit::Never => condition.wait_for(guard, Duration::ZERO),
        Limit::For(time) => condition.wait_for(guard, time),
        Limit::Forever => condition.wait(guard),
    }
}
