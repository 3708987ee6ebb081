//! The mutex: one at a time; after its patience nobody overtakes a waiter.

use super::{
    attachment::{Attachment, FileKey},
    directory::{self, Algorithm, Found, Kind, Plan},
    engine::{self, At, LockConfig, Order, Taken},
    file::Counted,
    guard::{MutexGuard, ParticipantGuard},
    participant::Participant,
    retained::{self, Door, Left},
    thread::{self, with_thread_attachment, with_thread_attachment_if_any},
};
use crate::error::{Error, Result};
use crate::sync::Ordering::{Acquire, Relaxed};
use crate::wait::Limit;
use std::time::Duration;

/// A mutual-exclusion lock in a lock file. First come first served, after a moment of patience
/// ([`MutexOptions::patience`]); a holder's death is news for the next one.
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
// A `TurnRing` is one of these inside, with another order.
#[derive(Clone)]
pub struct Mutex {
    pub(super) file: Counted,
    pub(super) door: Door,
    pub(super) config: LockConfig,
}

/// How long a waiter lets others pass before it insists on its place, where the lock's creator did not say:
/// `docs/performance.md` has the measurements behind it.
pub const DEFAULT_PATIENCE: Duration = Duration::from_millis(1);

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
#[derive(Clone)]
pub struct MutexOptions<'a> {
    file: &'a Counted,
    patience: Duration,
    must_exist: bool,
}

impl<'a> MutexOptions<'a> {
    pub(super) fn new(file: &'a Counted) -> Self {
        Self { file, patience: DEFAULT_PATIENCE, must_exist: false }
    }

    /// How long a waiter lets others pass before it insists on its place, if the lock is created now: a lock that
    /// exists keeps what its creator said. [`DEFAULT_PATIENCE`] if not said; zero is strict first come first served.
    ///
    /// After it nobody overtakes: what is left to wait is, for each one ahead, a section and a hand-over, and the time
    /// for which one of them has no processor.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Do not create the lock.
    pub fn must_exist(mut self, must_exist: bool) -> Self {
        self.must_exist = must_exist;
        self
    }

    /// Opens the mutex called `name`. Names have 1 to 63 bytes.
    ///
    /// # Errors
    /// [`Error::BadName`], [`Error::LocksFull`], [`Error::Kind`] if the name belongs to another kind of lock,
    /// [`Error::NotFound`], [`Error::ParticipantsFull`] (naming a lock takes a slot), [`Error::Damaged`].
    pub fn open(self, name: &str) -> Result<Mutex> {
        let plan = Plan {
            kind: Kind::Mutex,
            algorithm: Algorithm::Bakery,
            ring_step: 0,
            whichever: false,
            patience: u64::try_from(self.patience.as_nanos()).unwrap_or(u64::MAX),
            may_create: !self.must_exist,
        };
        let found = directory::find_or_name(&self.file.open, name, &plan)?;
        Ok(Mutex::new(self.file.clone(), found, Order::Arrival))
    }
}

/// What came with an acquisition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquired {
    /// Larger than that of every acquisition of this lock before, for the life of the file and after its re-creation:
    /// a store that remembers the largest it has seen can turn a late writer away.
    pub fencing_token: u64,
    /// The previous holder died inside: look at the data before trusting them, then call `mark_consistent`. Unlocking
    /// without it closes the lock for everyone until a reset.
    pub previous_owner_died: bool,
}

/// Who died holding a lock, last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviousOwner {
    /// The fencing token it held.
    pub fencing_token: u64,
    /// Its process, as its own PID namespace numbered it.
    pub pid: u32,
    /// Its thread, likewise.
    pub thread: u32,
    /// What it called itself.
    pub label: String,
}

impl Mutex {
    pub(super) fn new(file: Counted, found: Found, order: Order) -> Self {
        let entrance = file.open.view().entrance(found.region);
        let door = Door { file: FileKey::of(&file.open), region: found.region, entrance };
        Self { file, door, config: LockConfig { patience: found.patience, retains: true, order } }
    }

    /// How long a waiter lets others pass before it insists on its place.
    pub fn patience(&self) -> Duration {
        Duration::from_nanos(self.config.patience)
    }

    /// Takes the lock, waiting for the turn as long as it takes.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if this thread has it already; [`Error::NotRecoverable`]; [`Error::Cancelled`];
    /// [`Error::ParticipantsFull`] at a thread's first lock; [`Error::Damaged`], [`Error::Replaced`] if something
    /// happened to the file; [`Error::Permission`], [`Error::System`] if it can no longer be opened to see whether
    /// those before us are alive, say because no descriptor is free.
    #[inline]
    pub fn lock(&self) -> Result<MutexGuard<'_>> {
        self.lock_thread(Limit::Forever)
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
    #[inline]
    pub fn try_lock(&self) -> Result<MutexGuard<'_>> {
        self.lock_thread(Limit::Never)
    }

    /// Takes the lock, waiting at most `limit`; then [`Error::TimedOut`], and the place in the line is given up.
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
    #[inline]
    pub fn lock_for(&self, limit: Duration) -> Result<MutexGuard<'_>> {
        self.lock_thread(Limit::For(limit))
    }

    /// [`Mutex::lock`], as `participant`. [`Error::ParticipantBusy`] if it is in a call on another thread.
    pub fn lock_as<'a>(&'a self, participant: &'a Participant) -> Result<ParticipantGuard<'a>> {
        self.lock_participant(participant, Limit::Forever)
    }

    /// [`Mutex::try_lock`], as `participant`.
    pub fn try_lock_as<'a>(&'a self, participant: &'a Participant) -> Result<ParticipantGuard<'a>> {
        self.lock_participant(participant, Limit::Never)
    }

    /// [`Mutex::lock_for`], as `participant`.
    pub fn lock_for_as<'a>(
        &'a self,
        participant: &'a Participant,
        limit: Duration,
    ) -> Result<ParticipantGuard<'a>> {
        self.lock_participant(participant, Limit::For(limit))
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
        self.reset_within(Limit::Forever)
    }

    /// [`Mutex::reset`], waiting at most `limit` for the turn.
    pub fn reset_for(&self, limit: Duration) -> Result<()> {
        self.reset_within(Limit::For(limit))
    }

    /// Who died holding this lock, last; `None` if nobody ever did.
    pub fn previous_owner(&self) -> Option<PreviousOwner> {
        let (fencing_token, pid, thread, label) =
            engine::previous_owner(&self.file.open.view().lock(self.door.region));
        (fencing_token != 0).then_some(PreviousOwner { fencing_token, pid, thread, label })
    }

    /// The fencing token and the process of who died holding this lock, last; zeros if nobody ever did.
    pub(crate) fn dead_owner(&self) -> (u64, u32) {
        let lock = self.file.open.view().lock(self.door.region);
        let news = &lock.words.previous_owner;
        (news.token.load(Acquire), news.pid.load(Relaxed))
    }

    fn reset_within(&self, limit: Limit) -> Result<()> {
        with_thread_attachment(&self.file.open, |attachment| {
            let taken = self.at(attachment).take_and_reset(limit)?;
            self.at(attachment).unlock(Some(taken.token))
        })
    }

    #[inline]
    fn lock_thread(&self, limit: Limit) -> Result<MutexGuard<'_>> {
        Ok(MutexGuard::new(self, self.take(limit)?))
    }

    fn lock_participant<'a>(
        &'a self,
        participant: &'a Participant,
        limit: Limit,
    ) -> Result<ParticipantGuard<'a>> {
        Ok(ParticipantGuard::new(self, participant, self.take_as(participant, limit)?))
    }

    // Without guards, for the C ABI.

    #[inline]
    pub(crate) fn take(&self, limit: Limit) -> Result<Acquired> {
        match self.enter_retained() {
            Some(fencing_token) => Ok(Acquired { fencing_token, previous_owner_died: false }),
            None => self.take_slowly(limit),
        }
    }

    /// [`Mutex::take`], if the calling thread retains the privilege: the fencing token. Neither panics nor calls
    /// anything.
    #[inline(always)]
    pub(crate) fn enter_retained(&self) -> Option<u64> {
        // SAFETY: this handle keeps the file open.
        unsafe { retained::enter(self.door) }
    }

    /// The calling thread gives back what it has by a retained entry; `None`: it has it otherwise, or not at all. The
    /// rest is for [`Mutex::unlock_slowly`], unless nobody minded. Neither panics nor calls anything.
    #[inline(always)]
    pub(crate) fn leave_retained(&self, token: Option<u64>) -> Option<Left> {
        // SAFETY: as above.
        unsafe { retained::leave(self.door, token) }
    }

    /// [`Mutex::enter_retained`], where it failed because the thread used another file in between.
    #[inline]
    pub(crate) fn enter_retained_again(&self) -> Option<u64> {
        if thread::recall(&self.file.open) { self.enter_retained() } else { None }
    }

    #[cold]
    #[inline(never)]
    fn take_slowly(&self, limit: Limit) -> Result<Acquired> {
        if let Some(fencing_token) = self.enter_retained_again() {
            return Ok(Acquired { fencing_token, previous_owner_died: false });
        }
        with_thread_attachment(&self.file.open, |attachment| Ok(self.at(attachment).take(limit)?.into()))
    }

    pub(crate) fn take_as(&self, participant: &Participant, limit: Limit) -> Result<Acquired> {
        let attachment = self.attachment_of(participant)?;
        let _call = attachment.begin_taking()?;
        Ok(self.at(attachment).take(limit)?.into())
    }

    #[inline]
    pub(crate) fn unlock(&self, token: Option<u64>) -> Result<()> {
        match self.leave_retained(token) {
            Some(Left::Quietly) => Ok(()),
            left => self.unlock_slowly(left, token),
        }
    }

    /// What is left to do for `left`, or all of it.
    #[cold]
    pub(crate) fn unlock_slowly(&self, left: Option<Left>, token: Option<u64>) -> Result<()> {
        with_thread_attachment_if_any(&self.file.open, |attachment| match left {
            Some(_) => self.at(attachment).left_disturbed(),
            None => self.at(attachment).unlock(token),
        })
    }

    /// [`Mutex::unlock`] for a guard that is dropped: nobody hears of an error.
    #[inline(always)]
    pub(super) fn unlock_unheard(&self, token: u64) {
        match self.leave_retained(Some(token)) {
            Some(Left::Quietly) => {}
            left => self.unlock_slowly_unheard(left, token),
        }
    }

    #[cold]
    #[inline(never)]
    fn unlock_slowly_unheard(&self, left: Option<Left>, token: u64) {
        let _ = self.unlock_slowly(left, Some(token));
    }

    pub(crate) fn unlock_as(&self, participant: &Participant, token: Option<u64>) -> Result<()> {
        let attachment = self.attachment_of(participant)?;
        attachment.check()?;
        self.at(attachment).unlock(token)
    }

    pub(crate) fn abandon(&self, token: Option<u64>) -> Result<()> {
        with_thread_attachment_if_any(&self.file.open, |attachment| self.at(attachment).abandon(token))
    }

    pub(crate) fn abandon_as(&self, participant: &Participant, token: Option<u64>) -> Result<()> {
        let attachment = self.attachment_of(participant)?;
        attachment.check()?;
        self.at(attachment).abandon(token)
    }

    pub(crate) fn mark_consistent(&self) -> Result<()> {
        with_thread_attachment_if_any(&self.file.open, |attachment| self.at(attachment).mark_consistent())
    }

    pub(crate) fn mark_consistent_as(&self, participant: &Participant) -> Result<()> {
        let attachment = self.attachment_of(participant)?;
        attachment.check()?;
        self.at(attachment).mark_consistent()
    }

    pub(crate) fn leave_ring(&self) -> Result<()> {
        match with_thread_attachment_if_any(&self.file.open, |attachment| self.at(attachment).leave_ring()) {
            Err(Error::NotOwner) => Ok(()),
            left => left,
        }
    }

    pub(crate) fn leave_ring_as(&self, participant: &Participant) -> Result<()> {
        let attachment = self.attachment_of(participant)?;
        let _call = attachment.begin_taking()?;
        self.at(attachment).leave_ring()
    }

    /// The error for asking who died where nobody did.
    pub(crate) fn nobody_died(&self) -> Error {
        Error::NotFound { path: self.file.open.reopen().path(), why: "nobody died holding this lock".into() }
    }

    /// Has this thread the lock?
    pub(crate) fn is_held_by_this_thread(&self) -> bool {
        with_thread_attachment_if_any(&self.file.open, |attachment| self.at(attachment).check_owner(None))
            .is_ok()
    }

    #[inline]
    fn at<'a>(&'a self, attachment: &'a Attachment) -> At<'a> {
        At::new(attachment, self.door.region, self.config).interrupted_by(self.file.interrupt.as_ref())
    }

    fn attachment_of<'a>(&self, participant: &'a Participant) -> Result<&'a Attachment> {
        if !std::sync::Arc::ptr_eq(&participant.attachment.file, &self.file.open) {
            return Err(Error::InvalidArgument(format!(
                "the participant belongs to {} and the mutex to {}: open a participant of the same file",
                participant.attachment.file.reopen().path().display(),
                self.file.open.reopen().path().display()
            )));
        }
        if participant.attachment.of_thread {
            return Err(Error::InvalidArgument(
                "this is a thread's own participant, which is only for cancelling that thread's waits: lock without \
                 naming a participant, or open one of its own"
                    .into(),
            ));
        }
        Ok(&participant.attachment)
    }
}

impl From<Taken> for Acquired {
    #[inline]
    fn from(taken: Taken) -> Self {
        Self { fencing_token: taken.token, previous_owner_died: taken.owner_dead }
    }
}
