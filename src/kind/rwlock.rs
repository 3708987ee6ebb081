//! The reader/writer lock: several that read, or one that writes; first come first served, whatever dies.

use super::{
    acquired::PreviousOwner,
    claimed::{ClaimedOptions, claimed_options, with_patience},
    guard::{Guard, GuardAs},
    handle::{BiasUse, Handle, LockKind},
    participant::Participant,
};
use crate::acquire::site::Limit;
use crate::algorithm::claim::{Claim, Mode};
use crate::attach::file_handle::FileHandle;
use crate::error::{Error, Result};
use crate::layout::{DeathPolicy, Kind};
use crate::registers::Claimed;
use std::{
    fmt,
    ops::{Deref, DerefMut},
    time::Duration,
};

/// The kind of a [`RwLock`].
pub enum RwLockKind {}

impl LockKind for RwLockKind {
    type Claims = Claimed;
    const BIAS: BiasUse = BiasUse::Readers;
    const NAME: &'static str = "rwlock";

    fn claims(generation: u64) -> Claimed {
        Claimed::of(Kind::RwLock, generation)
    }

    fn everything() -> Claim {
        Claim::whole(Mode::Exclusive)
    }
}

/// A reader/writer lock in a lock file.
///
/// A participant holds it *shared*, beside others that do; *exclusively*, beside nobody; or *upgradable*, beside those that hold
/// it shared, and may then make that exclusive without anybody writing in between. Everybody waits for the earlier ones
/// that stand in its way, whether these hold the lock or wait for it too: so neither readers nor writers starve, and a
/// writer that waits lets no later reader pass once its patience is over.
///
/// While only readers come, the lock is *biased* to them: a reader enters and leaves without writing anything that another
/// reader writes. A writer ends that, and waits for those readers that are inside.
///
/// A reader that dies is removed, and that is all. A writer that dies leaves an owner-dead notice, as with a
/// [`super::Mutex`]: everybody who comes is told until a writer has said [`Guard::mark_consistent`].
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// let cache = file.rwlock("cache")?;
/// let reader = cache.read()?;
/// println!("what was written with fencing token {}", reader.fencing_token());
/// drop(reader);
/// let candidate = cache.upgradable()?; // others may still read
/// let writer = candidate.upgrade()?; // and now nobody
/// let reader = writer.downgrade()?; // nobody wrote in between
/// # drop(reader);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A thread (or [`Participant`]) holds it once at a time: a second [`RwLock::read`] is [`Error::Deadlock`], since it
/// would wait for a writer that waits for the first.
#[derive(Clone)]
pub struct RwLock(pub(super) Handle<RwLockKind>);

/// How to open, or create, a rwlock.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// let cache = file.rwlock_options().patience(std::time::Duration::ZERO).open("cache")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RwLockOptions<'a>(pub(super) ClaimedOptions<'a>);

claimed_options!(RwLockOptions);
with_patience!(RwLockOptions);

impl<'a> RwLockOptions<'a> {
    pub(super) fn new(file: &'a FileHandle) -> Self {
        Self(ClaimedOptions::new(file, Kind::RwLock))
    }

    /// What a writer's death means, if the lock is created now: a lock that exists keeps what its creator said.
    /// [`DeathPolicy::Inform`] if not said.
    pub fn death_policy(&mut self, death_policy: DeathPolicy) -> &mut Self {
        self.0.death_policy = death_policy;
        self
    }

    /// Opens the rwlock called `name`. Names have 1 to 63 bytes. Errors as [`super::MutexOptions::open`].
    pub fn open(&self, name: &str) -> Result<RwLock> {
        Ok(RwLock(self.0.open(name)?))
    }
}

/// The lock is held shared until the guard is dropped.
#[must_use = "the lock is unlocked as soon as the guard is dropped"]
pub struct Reading<G>(G);

/// The lock is held upgradable until the guard is dropped.
#[must_use = "the lock is unlocked as soon as the guard is dropped"]
pub struct Upgradable<G>(G);

/// The lock is held exclusively until the guard is dropped. Dropped by a panic, it passes on as from a dead owner.
#[must_use = "the lock is unlocked as soon as the guard is dropped"]
pub struct Writing<G>(G);

/// Of the calling thread.
pub type RwLockReadGuard<'a> = Reading<Guard<'a, RwLockKind>>;
/// Of the calling thread.
pub type RwLockUpgradableGuard<'a> = Upgradable<Guard<'a, RwLockKind>>;
/// Of the calling thread.
pub type RwLockWriteGuard<'a> = Writing<Guard<'a, RwLockKind>>;
/// Of a [`Participant`].
pub type RwLockReadParticipantGuard<'a> = Reading<GuardAs<'a, RwLockKind>>;
/// Of a [`Participant`].
pub type RwLockUpgradableParticipantGuard<'a> = Upgradable<GuardAs<'a, RwLockKind>>;
/// Of a [`Participant`].
pub type RwLockWriteParticipantGuard<'a> = Writing<GuardAs<'a, RwLockKind>>;

/// An upgrade that did not come about, and the guard, which is held upgradable as before.
pub struct NotUpgraded<G> {
    /// The guard.
    pub guard: Upgradable<G>,
    /// Why.
    pub error: Error,
}

impl<G> fmt::Debug for NotUpgraded<G> {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        fmt::Debug::fmt(&self.error, to)
    }
}

impl<G> fmt::Display for NotUpgraded<G> {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        fmt::Display::fmt(&self.error, to)
    }
}

impl<G> std::error::Error for NotUpgraded<G> {}

impl<G> From<NotUpgraded<G>> for Error {
    fn from(not_upgraded: NotUpgraded<G>) -> Self {
        not_upgraded.error
    }
}

/// A guard whose hold can change in its place. For [`Guard`] and [`GuardAs`] of a rwlock.
pub trait ChangesMode {
    #[doc(hidden)]
    fn make_exclusive(&mut self, limit: HowLong) -> Result<()>;
    #[doc(hidden)]
    fn make_upgradable(&mut self) -> Result<()>;
    #[doc(hidden)]
    fn make_shared(&mut self) -> Result<()>;
    #[doc(hidden)]
    fn end(self, abandon: bool) -> Result<()>;
}

/// How long an upgrade may wait.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct HowLong(Limit);

impl ChangesMode for Guard<'_, RwLockKind> {
    fn make_exclusive(&mut self, limit: HowLong) -> Result<()> {
        self.acquired = self.handle.upgrade(limit.0)?;
        Ok(())
    }

    fn make_upgradable(&mut self) -> Result<()> {
        self.handle.downgrade(Mode::Upgradable)
    }

    fn make_shared(&mut self) -> Result<()> {
        self.handle.downgrade(Mode::Shared)
    }

    fn end(self, abandon: bool) -> Result<()> {
        if abandon { self.abandon() } else { self.unlock() }
    }
}

impl ChangesMode for GuardAs<'_, RwLockKind> {
    fn make_exclusive(&mut self, limit: HowLong) -> Result<()> {
        self.acquired = self.handle.upgrade_as(self.participant, limit.0)?;
        Ok(())
    }

    fn make_upgradable(&mut self) -> Result<()> {
        self.handle.downgrade_as(self.participant, Mode::Upgradable)
    }

    fn make_shared(&mut self) -> Result<()> {
        self.handle.downgrade_as(self.participant, Mode::Shared)
    }

    fn end(self, abandon: bool) -> Result<()> {
        if abandon { self.abandon() } else { self.unlock() }
    }
}

macro_rules! dereferences {
    ($($guard:ident)*) => { $(
        impl<G> Deref for $guard<G> {
            type Target = G;

            fn deref(&self) -> &G {
                &self.0
            }
        }

        impl<G> DerefMut for $guard<G> {
            fn deref_mut(&mut self) -> &mut G {
                &mut self.0
            }
        }

        impl<G: ChangesMode> $guard<G> {
            /// Unlocks and says whether all was well, which dropping the guard cannot. Errors as [`Guard::unlock`].
            pub fn unlock(self) -> Result<()> {
                self.0.end(false)
            }

            /// Unlocks as a dying owner does. Of a reader that is no more than an unlock. As [`Guard::abandon`].
            pub fn abandon(self) -> Result<()> {
                self.0.end(true)
            }
        }
    )* };
}
dereferences!(Reading Upgradable Writing);

impl<G: ChangesMode> Upgradable<G> {
    /// Makes the hold exclusive, in its place in the queue: nobody writes in between, and nobody comes in any more. Waits for
    /// the readers that are inside. The guard has a fencing token of its own from then on.
    ///
    /// # Errors
    /// With the guard, as it was: [`Error::Cancelled`], [`Error::Interrupted`], [`Error::Damaged`].
    pub fn upgrade(self) -> std::result::Result<Writing<G>, NotUpgraded<G>> {
        self.upgrade_within(Limit::Forever)
    }

    /// [`Upgradable::upgrade`] if that needs no waiting, else [`Error::WouldBlock`].
    pub fn try_upgrade(self) -> std::result::Result<Writing<G>, NotUpgraded<G>> {
        self.upgrade_within(Limit::Never)
    }

    /// [`Upgradable::upgrade`], waiting at most `limit`, then [`Error::TimedOut`].
    pub fn upgrade_for(self, limit: Duration) -> std::result::Result<Writing<G>, NotUpgraded<G>> {
        self.upgrade_within(Limit::For(limit))
    }

    fn upgrade_within(mut self, limit: Limit) -> std::result::Result<Writing<G>, NotUpgraded<G>> {
        match self.0.make_exclusive(HowLong(limit)) {
            Ok(()) => Ok(Writing(self.0)),
            Err(error) => Err(NotUpgraded { guard: self, error }),
        }
    }

    /// Gives up the right to upgrade, and goes on reading.
    pub fn downgrade(mut self) -> Result<Reading<G>> {
        self.0.make_shared()?;
        Ok(Reading(self.0))
    }
}

impl<G: ChangesMode> Writing<G> {
    /// Goes on reading what was written, in its place in the queue: nobody writes in between, and other readers may come.
    /// Not to have marked what a dead writer left as consistent closes the lock, as at an unlock.
    pub fn downgrade(mut self) -> Result<Reading<G>> {
        self.0.make_shared()?;
        Ok(Reading(self.0))
    }

    /// [`Writing::downgrade`], and may be upgraded again.
    pub fn downgrade_to_upgradable(mut self) -> Result<Upgradable<G>> {
        self.0.make_upgradable()?;
        Ok(Upgradable(self.0))
    }
}

/// The three ways to take a rwlock, each with its limits and participants.
macro_rules! ways {
    ($(
        $(#[$doc:meta])*
        $mode:ident $guard:ident $guard_as:ident $held:ident:
        $lock:ident $try:ident $for:ident $lock_as:ident $try_as:ident $for_as:ident
    )*) => { impl RwLock { $(
        $(#[$doc])*
        #[inline]
        pub fn $lock(&self) -> Result<$guard<'_>> {
            Ok($held(Guard::new(&self.0, self.lock_within(Mode::$mode, Limit::Forever)?)))
        }

        #[doc = concat!("[`RwLock::", stringify!($lock), "`] if that needs no waiting, else [`Error::WouldBlock`].")]
        #[inline]
        pub fn $try(&self) -> Result<$guard<'_>> {
            Ok($held(Guard::new(&self.0, self.lock_within(Mode::$mode, Limit::Never)?)))
        }

        #[doc = concat!("[`RwLock::", stringify!($lock), "`], waiting at most `limit`, then [`Error::TimedOut`].")]
        #[inline]
        pub fn $for(&self, limit: Duration) -> Result<$guard<'_>> {
            Ok($held(Guard::new(&self.0, self.lock_within(Mode::$mode, Limit::For(limit))?)))
        }

        #[doc = concat!("[`RwLock::", stringify!($lock), "`], as `participant`.")]
        pub fn $lock_as<'a>(&'a self, participant: &'a Participant) -> Result<$guard_as<'a>> {
            let acquired = self.lock_within_as(participant, Mode::$mode, Limit::Forever)?;
            Ok($held(GuardAs::new(&self.0, participant, acquired)))
        }

        #[doc = concat!("[`RwLock::", stringify!($try), "`], as `participant`.")]
        pub fn $try_as<'a>(&'a self, participant: &'a Participant) -> Result<$guard_as<'a>> {
            let acquired = self.lock_within_as(participant, Mode::$mode, Limit::Never)?;
            Ok($held(GuardAs::new(&self.0, participant, acquired)))
        }

        #[doc = concat!("[`RwLock::", stringify!($for), "`], as `participant`.")]
        pub fn $for_as<'a>(
            &'a self,
            participant: &'a Participant,
            limit: Duration,
        ) -> Result<$guard_as<'a>> {
            let acquired = self.lock_within_as(participant, Mode::$mode, Limit::For(limit))?;
            Ok($held(GuardAs::new(&self.0, participant, acquired)))
        }
    )* } };
}
ways! {
    /// Takes the lock shared, waiting for earlier writers as long as it takes. The guard's fencing token is that of the last
    /// writer: two readers with the same one read the same.
    ///
    /// # Errors
    /// As [`super::Mutex::lock`].
    Shared RwLockReadGuard RwLockReadParticipantGuard Reading:
    read try_read read_for read_as try_read_as read_for_as
    /// Takes the lock upgradable: shared, with the right to make that exclusive later, which one at a time has. Errors as
    /// [`super::Mutex::lock`].
    Upgradable RwLockUpgradableGuard RwLockUpgradableParticipantGuard Upgradable:
    upgradable try_upgradable upgradable_for upgradable_as try_upgradable_as upgradable_for_as
    /// Takes the lock exclusively. Errors as [`super::Mutex::lock`].
    Exclusive RwLockWriteGuard RwLockWriteParticipantGuard Writing:
    write try_write write_for write_as try_write_as write_for_as
}

impl RwLock {
    #[inline]
    fn lock_within(&self, mode: Mode, limit: Limit) -> Result<super::Acquired> {
        self.0.lock_in_mode(mode, limit)
    }

    fn lock_within_as(&self, participant: &Participant, mode: Mode, limit: Limit) -> Result<super::Acquired> {
        self.0.lock_in_mode_as(participant, mode, limit)
    }

    /// How long a waiter lets others pass before it is queued for good.
    pub fn patience(&self) -> Duration {
        self.0.patience()
    }

    /// Returns what a writer's death means here.
    pub fn death_policy(&self) -> DeathPolicy {
        self.0.death_policy()
    }

    /// Opens a lock that is not recoverable again, as a writer: the data were repaired, or are given up.
    pub fn reset(&self) -> Result<()> {
        self.0.reset(Limit::Forever)
    }

    /// [`RwLock::reset`] if that needs no waiting, else [`Error::WouldBlock`].
    pub fn try_reset(&self) -> Result<()> {
        self.0.reset(Limit::Never)
    }

    /// [`RwLock::reset`], waiting at most `limit`.
    pub fn reset_for(&self, limit: Duration) -> Result<()> {
        self.0.reset(Limit::For(limit))
    }

    /// Returns which writer died holding this lock, last; `None` if none ever did.
    pub fn previous_owner(&self) -> Option<PreviousOwner> {
        self.0.previous_owner()
    }

    /// The handle, for observers.
    pub(crate) fn handle(&self) -> &Handle<RwLockKind> {
        &self.0
    }

    /// The handle, for the C ABI.
    pub(crate) fn into_handle(self) -> Handle<RwLockKind> {
        self.0
    }
}

impl Handle<RwLockKind> {
    /// Takes the lock in this mode, as the calling thread.
    #[inline]
    pub fn lock_in_mode(&self, mode: Mode, limit: Limit) -> Result<super::Acquired> {
        match self.lock_biased_in(mode) {
            Some(fencing_token) => Ok(super::Acquired { fencing_token, previous_owner_died: false }),
            None => self.lock_in_mode_slowly(mode, limit),
        }
    }

    #[cold]
    #[inline(never)]
    fn lock_in_mode_slowly(&self, mode: Mode, limit: Limit) -> Result<super::Acquired> {
        if self.recall()
            && let Some(fencing_token) = self.lock_biased_in(mode)
        {
            return Ok(super::Acquired { fencing_token, previous_owner_died: false });
        }
        self.acquire(Claim::whole(mode), limit)
    }

    /// [`Handle::lock_in_mode`], as `participant`.
    pub fn lock_in_mode_as(
        &self,
        participant: &Participant,
        mode: Mode,
        limit: Limit,
    ) -> Result<super::Acquired> {
        if mode == Mode::Shared
            && let Some(fencing_token) = self.lock_biased_shared_as(participant)
        {
            return Ok(super::Acquired { fencing_token, previous_owner_died: false });
        }
        self.acquire_as(participant, Claim::whole(mode), limit)
    }

    #[inline(always)]
    fn lock_biased_in(&self, mode: Mode) -> Option<u64> {
        if mode == Mode::Shared { self.lock_biased_shared() } else { None }
    }
}
