//! The mutex: one at a time; waiters are served in the order of their arrival.

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
#[cfg(doc)]
use turnlock_core::error::Error;
use turnlock_core::error::Result;

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

/// The mutex is this thread's until the guard is dropped. Dropped by a panic, it passes on as from a dead owner.
pub type MutexGuard<'a> = Guard<'a, MutexKind>;
/// The mutex is a [`Participant`]'s until the guard is dropped, on whichever thread.
pub type ParticipantGuard<'a> = GuardAs<'a, MutexKind>;

/// A mutual-exclusion lock in a lock file. First come first served, after a moment of patience
/// ([`MutexOptions::patience`]); the next holder is told of a holder's death.
///
/// The lock belongs to the thread that took it (or to a [`Participant`]). Cloning gives another handle of the same
/// lock. The data that it protects are the program's business: a file, shared memory, a device.
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

/// How long a waiter lets others pass before it is queued for good, where the lock's creator did not say:
/// `docs/performance.md` has the measurements behind it.
pub const DEFAULT_PATIENCE: Duration = Duration::from_millis(1);

/// Which algorithm a mutex runs.
///
/// Those *by messages* need the feature `messages`, without which opening one is an error, and a file that was made with
/// mailboxes ([`super::LockFileOptions::mailboxes`]). Only participants that have mailboxes can take such a lock: others get
/// [`Error::Capacity`]. Each attachment that has taken one has a thread that answers messages, from its first entry until it
/// is detached. A stopped process answers nothing, so others wait for it where the algorithm does; `docs/messages.md` says
/// which. [`Mutex::try_lock`] gives up at once if another participant is inside, and else waits for the answers of the others,
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
    /// Lamport's bakery, by messages (1974): everybody is asked for the numbers, and again by those who wait.
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

/// How to open, or create, a mutex.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// // Strict order: nobody ever overtakes, at the price of a context switch for each hand-over.
/// let mutex = file.mutex_options().patience(std::time::Duration::ZERO).open("queue")?;
/// assert_eq!(mutex.patience(), std::time::Duration::ZERO);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MutexOptions<'a> {
    file: &'a FileHandle,
    settings: SettingOptions,
    recursive: bool,
    must_exist: bool,
    algorithm: Option<MutexAlgorithm>,
}

impl<'a> MutexOptions<'a> {
    pub(super) fn new(file: &'a FileHandle) -> Self {
        Self {
            file,
            settings: SettingOptions::new(DEFAULT_PATIENCE),
            recursive: false,
            must_exist: false,
            algorithm: None,
        }
    }

    /// How long a waiter lets others pass before it is queued for good: what a lock that is created now gets, and one that
    /// exists must have ([`Error::Kind`]). If not said: whatever it has, and [`DEFAULT_PATIENCE`] if it is created now. Zero is
    /// strict first come first served.
    ///
    /// After it waiters are served in the order of their arrival, one after the other: what is left to wait is, for each one
    /// ahead, a wake-up and a section. While one of them wakes up, the lock goes to whoever runs.
    pub fn patience(&mut self, patience: Duration) -> &mut Self {
        self.settings.patience = Some(patience);
        self
    }

    /// What a holder's death means: what a lock that is created now gets, and one that exists must have ([`Error::Kind`]). If
    /// not said: whatever it has, and [`MutexOptions::default_death_policy`] if it is created now.
    pub fn death_policy(&mut self, death_policy: DeathPolicy) -> &mut Self {
        self.settings.death_policy = Some(death_policy);
        self
    }

    /// What a lock gets that is created now, where [`MutexOptions::death_policy`] does not say it; [`DeathPolicy::Inform`] if
    /// not said. One that exists keeps what it has: for libraries whose callers do not look at the owner-dead notice, and so
    /// would close the lock for everyone.
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

    /// A thread that has the lock may take it again, up to 65,535 times, and it is unlocked when the thread has unlocked it as
    /// often: each guard is one of these times, and all have the same fencing token. A [`Participant`], which threads may
    /// share, takes it once. It is the lock that is recursive: one that exists and is not is [`Error::Kind`], and whoever
    /// opens one without asking for it has it recursive all the same.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
    /// let mutex = file.mutex_options().recursive(true).open("accounts")?;
    /// let outer = mutex.lock()?;
    /// let inner = mutex.lock()?; // of this thread, at once
    /// assert_eq!(inner.fencing_token(), outer.fencing_token());
    /// drop(inner); // still held
    /// # drop(outer);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recursive(&mut self, recursive: bool) -> &mut Self {
        self.recursive = recursive;
        self
    }

    /// Which algorithm it must run. If not said: whichever it runs, and [`MutexAlgorithm::Bakery`] if the lock is created now.
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

    /// Do not create the lock.
    pub fn must_exist(&mut self, must_exist: bool) -> &mut Self {
        self.must_exist = must_exist;
        self
    }

    /// Opens the mutex called `name`. Names have 1 to 63 bytes.
    ///
    /// # Errors
    /// [`Error::BadName`], [`Error::LocksFull`], [`Error::Kind`] if the name belongs to another kind of lock, another
    /// algorithm, or one with another patience or death policy than was asked for; [`Error::Capacity`] if it is to run one by
    /// messages and the file was made without mailboxes; [`Error::NotFound`], [`Error::ParticipantsFull`] (naming a lock takes
    /// a slot), [`Error::Damaged`].
    pub fn open(&self, name: &str) -> Result<Mutex> {
        let plan = Plan {
            kind: Kind::Mutex,
            permits: 0,
            algorithm: self.algorithm.unwrap_or_default().in_file(),
            ring_step: 0,
            whichever: self.algorithm.is_none(),
            settings: self.settings.settings(),
            recursive: self.recursive,
            may_create: !self.must_exist,
        };
        let found = directory::find_or_name(&self.file.open, name, &plan)?;
        let discipline = found.discipline();
        Ok(Mutex(Handle::new(self.file.clone(), found, discipline)))
    }
}

impl Mutex {
    /// How long a waiter lets others pass before it is queued for good.
    pub fn patience(&self) -> Duration {
        self.0.patience()
    }

    /// Returns whether a thread that has it may take it again ([`MutexOptions::recursive`]).
    pub fn is_recursive(&self) -> bool {
        self.0.is_recursive()
    }

    /// Returns what a holder's death means here.
    pub fn death_policy(&self) -> DeathPolicy {
        self.0.death_policy()
    }

    /// Takes the lock, waiting for the turn as long as it takes.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if this thread has it already; [`Error::NotRecoverable`]; [`Error::Cancelled`];
    /// [`Error::ParticipantsFull`] at a thread's first lock; [`Error::Damaged`], [`Error::Replaced`] if something
    /// happened to the file; [`Error::Permission`], [`Error::System`] if it can no longer be opened to see whether
    /// those before us are alive, say because no descriptor is free.
    #[inline(always)]
    pub fn lock(&self) -> Result<MutexGuard<'_>> {
        Ok(MutexGuard::new(&self.0, self.0.lock(Limit::Forever)?))
    }

    /// Takes the lock if that needs no waiting, else [`Error::WouldBlock`]. Other errors as [`Mutex::lock`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
    /// let mutex = file.mutex("accounts")?;
    /// let guard = mutex.lock()?;
    /// std::thread::scope(|threads| {
    ///     let other = threads.spawn(|| mutex.try_lock().map(drop));
    ///     assert!(matches!(other.join().unwrap(), Err(turnlock::Error::WouldBlock)));
    /// });
    /// # drop(guard);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn try_lock(&self) -> Result<MutexGuard<'_>> {
        Ok(MutexGuard::new(&self.0, self.0.lock(Limit::Never)?))
    }

    /// Takes the lock, waiting at most `limit`; then [`Error::TimedOut`], and the place in the queue is given up.
    /// Other errors as [`Mutex::lock`].
    ///
    /// ```
    /// # use std::time::Duration;
    /// # let folder = tempfile::tempdir()?;
    /// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
    /// let mutex = file.mutex("accounts")?;
    /// match mutex.lock_for(Duration::from_millis(50)) {
    ///     Ok(guard) => println!("in, with token {}", guard.fencing_token()),
    ///     Err(turnlock::Error::TimedOut) => println!("somebody else is busy"),
    ///     Err(error) => return Err(error.into()),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn lock_for(&self, limit: Duration) -> Result<MutexGuard<'_>> {
        Ok(MutexGuard::new(&self.0, self.0.lock(Limit::For(limit))?))
    }

    /// [`Mutex::lock`], as `participant`. [`Error::ParticipantBusy`] if it is in a call on another thread.
    #[inline(always)]
    pub fn lock_as<'a>(&'a self, participant: &'a Participant) -> Result<ParticipantGuard<'a>> {
        Ok(ParticipantGuard::new(&self.0, participant, self.0.lock_as(participant, Limit::Forever)?))
    }

    /// [`Mutex::try_lock`], as `participant`.
    #[inline(always)]
    pub fn try_lock_as<'a>(&'a self, participant: &'a Participant) -> Result<ParticipantGuard<'a>> {
        Ok(ParticipantGuard::new(&self.0, participant, self.0.lock_as(participant, Limit::Never)?))
    }

    /// [`Mutex::lock_for`], as `participant`.
    #[inline(always)]
    pub fn lock_for_as<'a>(
        &'a self,
        participant: &'a Participant,
        limit: Duration,
    ) -> Result<ParticipantGuard<'a>> {
        Ok(ParticipantGuard::new(&self.0, participant, self.0.lock_as(participant, Limit::For(limit))?))
    }

    /// Opens a lock that is not recoverable again, in its turn: the data were repaired, or are given up.
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

    /// [`Mutex::reset`] if that needs no waiting, else [`Error::WouldBlock`].
    pub fn try_reset(&self) -> Result<()> {
        self.0.reset(Limit::Never)
    }

    /// [`Mutex::reset`], waiting at most `limit` for the turn.
    pub fn reset_for(&self, limit: Duration) -> Result<()> {
        self.0.reset(Limit::For(limit))
    }

    /// Returns who died holding this lock, last; `None` if nobody ever did.
    pub fn previous_owner(&self) -> Option<PreviousOwner> {
        self.0.previous_owner()
    }

    /// The handle, for observers.
    pub(crate) fn handle(&self) -> &Handle<MutexKind> {
        &self.0
    }

    /// The handle, for the C ABI.
    pub(crate) fn into_handle(self) -> Handle<MutexKind> {
        self.0
    }
}
