//! The mutex: one holder at a time; waiters are served in the order of their arrival.

use super::{
    acquired::PreviousOwner,
    directory::{self, Plan},
    guard::{Guard, GuardAs},
    handle::{BiasUse, Handle, LockKind},
    participant::Participant,
    settings::SettingOptions,
};
use crate::attach::file_handle::FileHandle;
use crate::layout::{Algorithm, DeathPolicy, Kind};
use crate::registers::Exclusively;
use std::time::Duration;
use turnlock_core::acquire::site::Limit;
use turnlock_core::error::{Error, Result};

/// The kind of a [`Mutex`].
#[derive(Debug)]
pub enum MutexKind {}

impl LockKind for MutexKind {
    type Claims = Exclusively;
    const BIAS: BiasUse = BiasUse::Owner;
    const KIND: Kind = Kind::Mutex;
    const NAME: &'static str = "mutex";

    fn claims(_: u64) -> Exclusively {
        Exclusively
    }

    fn everything() {}
}

/// A guard of the calling thread: the mutex is unlocked when it is dropped, and abandoned when a panic drops it.
pub type MutexGuard<'a> = Guard<'a, MutexKind>;
/// A guard of a [`Participant`]: the mutex is unlocked when it is dropped, on any thread.
pub type ParticipantGuard<'a> = GuardAs<'a, MutexKind>;

/// A mutual-exclusion lock in a lock file. First come first served, after a moment of patience
/// ([`MutexOptions::patience`]); the next holder is told of a holder's death.
///
/// The lock belongs to the thread that took it (or to a [`Participant`]). Cloning gives another handle of the same lock. The
/// program knows what data it protects: a file, shared memory, a device.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// let mutex = file.mutex("accounts")?;
/// let mut guard = mutex.lock()?;
/// if guard.acquired().previous_owner_died {
///     // look at the data, repair them, and say so
///     guard.mark_consistent()?;
/// }
/// # drop(guard);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Mutex(pub(super) Handle<MutexKind>);

/// The default patience of a lock: how long a waiter lets others pass before it is queued for good. `docs/performance.md` has
/// the measurements behind it.
pub const DEFAULT_PATIENCE: Duration = Duration::from_millis(1);

/// The algorithm that a mutex runs.
///
/// Those *by messages* need the feature `messages`, without which opening one is an error, and a file that was made with
/// mailboxes ([`super::LockFileOptions::mailboxes`]). Only participants that have mailboxes can take such a lock: others get
/// [`Error::FileTooSmall`]. Each attachment that has taken one has a thread that answers messages, from its first entry
/// until it is detached. A stopped process answers nothing, so others wait for it where the algorithm does;
/// `docs/messages.md` says which. [`Mutex::try_lock`] gives up at once if another participant is inside, and else waits for the answers of the others,
/// at most a second; so does a limit that is shorter than that. Patience means nothing to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MutexAlgorithm {
    /// Lamport's bakery in shared memory (1974), with a bias: the algorithm for all purposes.
    #[default]
    Bakery,
    /// Lamport's queue, by messages (1978): by time stamps, 3(n-1) messages an entry among n participants.
    LamportQueue,
    /// A token on a mesh, by messages (Ricart and Agrawala 1983, Suzuki and Kasami 1985): no message where the token was last,
    /// n else.
    RicartAgrawala,
    /// Misra's two tokens on a ring, by messages (1983): no message where the token was last, else a hop for each one on its way.
    TokenRing,
    /// Lamport's bakery, by messages (1974): an entry asks all others for their numbers, and asks again while it waits.
    MessageBakery,
}

impl MutexAlgorithm {
    fn in_file(self) -> Algorithm {
        match self {
            Self::Bakery => Algorithm::Bakery,
            Self::LamportQueue => Algorithm::LamportQueue,
            Self::RicartAgrawala => Algorithm::RicartAgrawala,
            Self::TokenRing => Algorithm::TokenRing,
            Self::MessageBakery => Algorithm::MessageBakery,
        }
    }
}

/// Options for opening or creating a mutex.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// // Strict order, at the price of a context switch for each hand-over.
/// let mutex = file.mutex_options().patience(std::time::Duration::ZERO).open("queue")?;
/// assert_eq!(mutex.patience(), std::time::Duration::ZERO);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MutexOptions<'a> {
    file: &'a FileHandle,
    settings: SettingOptions,
    recursive: bool,
    linked: bool,
    must_exist: bool,
    algorithm: Option<MutexAlgorithm>,
}

impl<'a> MutexOptions<'a> {
    pub(super) fn new(file: &'a FileHandle) -> Self {
        Self {
            file,
            settings: SettingOptions::new(DEFAULT_PATIENCE),
            recursive: false,
            linked: false,
            must_exist: false,
            algorithm: None,
        }
    }

    /// Sets how long a waiter lets others pass before it is queued for good: for a lock that is created now, and required of
    /// one that exists ([`Error::Kind`]). By default whatever the lock has, and [`DEFAULT_PATIENCE`] if it is created now. Zero
    /// is strictly first come first served.
    ///
    /// After its patience a waiter waits, for each one ahead, for a wake-up and a section. While one of them wakes up, another
    /// that runs may take the lock.
    pub fn patience(&mut self, patience: Duration) -> &mut Self {
        self.settings.patience = Some(patience);
        self
    }

    /// Sets what a holder's death means: for a lock that is created now, and required of one that exists ([`Error::Kind`]). By
    /// default whatever the lock has, and [`MutexOptions::default_death_policy`] if it is created now.
    pub fn death_policy(&mut self, death_policy: DeathPolicy) -> &mut Self {
        self.settings.death_policy = Some(death_policy);
        self
    }

    /// Sets the death policy of a lock that is created now without [`MutexOptions::death_policy`]; [`DeathPolicy::Inform`] by
    /// default. A lock that exists keeps its own. For libraries whose callers do not look at the owner-dead notice, and would
    /// close the lock for everyone.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
    /// use turnlock::{DeathPolicy, Error};
    /// let accounts = file.mutex("accounts")?; // informs
    /// let same = file.mutex_options().default_death_policy(DeathPolicy::Release).open("accounts")?;
    /// assert_eq!(same.death_policy(), DeathPolicy::Inform);
    /// let other = file.mutex_options().death_policy(DeathPolicy::Release).open("accounts");
    /// assert!(matches!(other, Err(Error::Kind { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn default_death_policy(&mut self, death_policy: DeathPolicy) -> &mut Self {
        self.settings.default_death_policy = death_policy;
        self
    }

    /// Sets whether a thread that has the lock may take it again, up to 65,535 times; the lock is unlocked when the thread has
    /// unlocked it as often. All these guards have the same fencing token. A [`Participant`], which threads may share, takes it
    /// once. The lock is recursive, not the handle: an existing lock that is not is [`Error::Kind`], and an existing recursive
    /// lock is recursive for all handles.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
    /// let mutex = file.mutex_options().recursive(true).open("accounts")?;
    /// let outer = mutex.lock()?;
    /// let inner = mutex.lock()?; // by the same thread, at once
    /// assert_eq!(inner.fencing_token(), outer.fencing_token());
    /// drop(inner); // still held
    /// # drop(outer);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recursive(&mut self, recursive: bool) -> &mut Self {
        self.recursive = recursive;
        self
    }

    /// Sets whether the lock must be *linked*: its holders are of one host at a time, and programs enter only while that is this host.
    /// For the agents that see to it ([`super::LinkAgent`]), which create it; programs need not say so, and find it linked. It is away
    /// when it is created. A lock that exists and is not linked is [`Error::Kind`]; one by messages [`Error::InvalidArgument`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
    /// let accounts = file.mutex_options().linked(true).open("accounts")?;
    /// let Err(refused) = accounts.try_lock() else { panic!("it is away") };
    /// assert!(refused.to_string().contains("no agent is attached to it"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn linked(&mut self, linked: bool) -> &mut Self {
        self.linked = linked;
        self
    }

    /// Sets the algorithm that the lock must run. By default whichever it runs, and [`MutexAlgorithm::Bakery`] if it is created
    /// now.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("app.lock");
    /// use turnlock::MutexAlgorithm;
    /// let file = turnlock::LockFile::options().mailboxes(8).open(&path)?;
    /// let mutex = file.mutex_options().algorithm(MutexAlgorithm::RicartAgrawala).open("jobs")?;
    /// drop(mutex.lock()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn algorithm(&mut self, algorithm: MutexAlgorithm) -> &mut Self {
        self.algorithm = Some(algorithm);
        self
    }

    /// Sets whether opening fails where there is no lock of the name, instead of creating it.
    pub fn must_exist(&mut self, must_exist: bool) -> &mut Self {
        self.must_exist = must_exist;
        self
    }

    /// Opens the mutex called `name`. Names have 1 to 63 bytes.
    ///
    /// # Errors
    /// [`Error::BadName`], [`Error::LocksFull`], [`Error::Kind`] if the name belongs to another kind of lock, another
    /// algorithm, or one with another patience or death policy than was asked for; [`Error::FileTooSmall`] if it is to run an
    /// algorithm by messages and the file has no mailboxes; [`Error::NotFound`], [`Error::ParticipantsFull`] (naming a lock
    /// takes a slot), [`Error::Damaged`].
    pub fn open(&self, name: &str) -> Result<Mutex> {
        let plan = Plan {
            kind: Kind::Mutex,
            permits: 0,
            algorithm: self.algorithm.unwrap_or_default().in_file(),
            ring_step: 0,
            whichever: self.algorithm.is_none(),
            settings: self.settings.settings(),
            recursive: self.recursive,
            linked: self.linked,
            may_create: !self.must_exist,
        };
        if self.linked && plan.algorithm.is_by_messages() {
            return Err(Error::InvalidArgument(format!(
                "{name:?} was to be linked and to run {}, by messages: a linked mutex runs the bakery",
                plan.algorithm.name()
            )));
        }
        let found = directory::find_or_name(&self.file.open, name, &plan)?;
        let discipline = found.discipline();
        Ok(Mutex(Handle::new(self.file.clone(), found, discipline)))
    }
}

impl Mutex {
    /// Returns how long a waiter lets others pass before it is queued for good.
    pub fn patience(&self) -> Duration {
        self.0.patience()
    }

    /// Returns whether a thread that has the lock may take it again ([`MutexOptions::recursive`]).
    pub fn is_recursive(&self) -> bool {
        self.0.is_recursive()
    }

    /// Returns whether it is linked ([`MutexOptions::linked`]).
    pub fn is_linked(&self) -> bool {
        self.0.is_linked()
    }

    /// Returns for how long this host has the lock yet, if it is linked and leased ([`super::LinkedLock::set_lease_end`]); zero: the lease
    /// has ended.
    pub fn lease_left(&self) -> Option<Duration> {
        self.0.lease_left()
    }

    /// Returns what a holder's death means for this lock.
    pub fn death_policy(&self) -> DeathPolicy {
        self.0.death_policy()
    }

    /// Takes the lock, waiting without a limit.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if this thread has it already; [`Error::NotRecoverable`]; [`Error::Cancelled`];
    /// [`Error::ParticipantsFull`] at a thread's first lock; [`Error::Damaged`], [`Error::Replaced`] if the file was
    /// overwritten, truncated or replaced; [`Error::Permission`], [`Error::System`] if it can no longer be opened to see
    /// whether those ahead are alive, say because no descriptor is free.
    #[inline(always)]
    pub fn lock(&self) -> Result<MutexGuard<'_>> {
        Ok(MutexGuard::new(&self.0, self.0.lock(Limit::Forever)?))
    }

    /// Takes the lock if that needs no wait, else [`Error::WouldBlock`]. Other errors as [`Mutex::lock`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
    /// let mutex = file.mutex("accounts")?;
    /// let guard = mutex.lock()?;
    /// std::thread::scope(|threads| {
    ///     let other = threads.spawn(|| mutex.try_lock().map(drop));
    ///     assert!(matches!(other.join().unwrap(), Err(turnlock::Error::WouldBlock(_))));
    /// });
    /// # drop(guard);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn try_lock(&self) -> Result<MutexGuard<'_>> {
        Ok(MutexGuard::new(&self.0, self.0.lock(Limit::Never)?))
    }

    /// Takes the lock, waiting for at most `limit`; then [`Error::TimedOut`], and the place in the queue is given up. Other
    /// errors as [`Mutex::lock`].
    ///
    /// ```
    /// # use std::time::Duration;
    /// # let folder = tempfile::tempdir()?;
    /// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
    /// let mutex = file.mutex("accounts")?;
    /// match mutex.lock_for(Duration::from_millis(50)) {
    ///     Ok(guard) => println!("in, with token {}", guard.fencing_token()),
    ///     Err(turnlock::Error::TimedOut(_)) => println!("another participant is busy"),
    ///     Err(error) => return Err(error.into()),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn lock_for(&self, limit: Duration) -> Result<MutexGuard<'_>> {
        Ok(MutexGuard::new(&self.0, self.0.lock(Limit::For(limit))?))
    }

    /// Does what [`Mutex::lock`] does, as `participant`. [`Error::ParticipantBusy`] if it is in another call.
    #[inline(always)]
    pub fn lock_as<'a>(&'a self, participant: &'a Participant) -> Result<ParticipantGuard<'a>> {
        Ok(ParticipantGuard::new(&self.0, participant, self.0.lock_as(participant, Limit::Forever)?))
    }

    /// Does what [`Mutex::try_lock`] does, as `participant`.
    #[inline(always)]
    pub fn try_lock_as<'a>(&'a self, participant: &'a Participant) -> Result<ParticipantGuard<'a>> {
        Ok(ParticipantGuard::new(&self.0, participant, self.0.lock_as(participant, Limit::Never)?))
    }

    /// Does what [`Mutex::lock_for`] does, as `participant`.
    #[inline(always)]
    pub fn lock_for_as<'a>(
        &'a self,
        participant: &'a Participant,
        limit: Duration,
    ) -> Result<ParticipantGuard<'a>> {
        Ok(ParticipantGuard::new(&self.0, participant, self.0.lock_as(participant, Limit::For(limit))?))
    }

    /// Opens a lock again that is not recoverable: the data were repaired, or are given up. Waits for the lock as
    /// [`Mutex::lock`] does, with its errors.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
    /// let mutex = file.mutex("accounts")?;
    /// mutex.reset()?;
    /// assert!(!mutex.lock()?.acquired().previous_owner_died);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset(&self) -> Result<()> {
        self.0.reset(Limit::Forever)
    }

    /// Does what [`Mutex::reset`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_reset(&self) -> Result<()> {
        self.0.reset(Limit::Never)
    }

    /// Does what [`Mutex::reset`] does, waiting for at most `limit`; then [`Error::TimedOut`].
    pub fn reset_for(&self, limit: Duration) -> Result<()> {
        self.0.reset(Limit::For(limit))
    }

    /// Returns the last participant that died holding this lock; `None` if none did.
    pub fn previous_owner(&self) -> Option<PreviousOwner> {
        self.0.previous_owner()
    }

    /// Returns the handle, for observers.
    pub(crate) fn handle(&self) -> &Handle<MutexKind> {
        &self.0
    }

    /// Returns the handle, for the C ABI.
    pub(crate) fn into_handle(self) -> Handle<MutexKind> {
        self.0
    }
}
