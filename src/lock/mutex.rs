//! The mutex: one at a time, first come first served.

use super::{
    engine::{self, At, Taken},
    file::Counted,
    participant::Participant,
    seat::{Seat, with_thread_seat, with_thread_seat_if_any},
};
use crate::error::{Error, Result};
use crate::wait::Limit;
use std::{marker::PhantomData, time::Duration};

/// A mutual-exclusion lock in a lock file. First come first served; a holder's death is news for the next one.
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
pub struct Mutex {
    file: Counted,
    region: usize,
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
    pub(super) fn new(file: Counted, region: usize) -> Self {
        Self { file, region }
    }

    /// Takes the lock, waiting for the turn as long as it takes.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if this thread has it already; [`Error::NotRecoverable`]; [`Error::Cancelled`];
    /// [`Error::ParticipantsFull`] at a thread's first lock; [`Error::Damaged`], [`Error::Replaced`] if something
    /// happened to the file.
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
            engine::previous_owner(&self.file.0.view().lock(self.region));
        (fencing_token != 0).then_some(PreviousOwner { fencing_token, pid, thread, label })
    }

    fn reset_within(&self, limit: Limit) -> Result<()> {
        with_thread_seat(&self.file.0, |seat| {
            let taken = self.at(seat).take_and_reset(limit)?;
            self.at(seat).unlock(Some(taken.token))
        })
    }

    fn lock_thread(&self, limit: Limit) -> Result<MutexGuard<'_>> {
        let acquired = self.take(limit)?;
        Ok(MutexGuard { mutex: self, acquired, panicking: std::thread::panicking(), _not_send: PhantomData })
    }

    fn lock_participant<'a>(
        &'a self,
        participant: &'a Participant,
        limit: Limit,
    ) -> Result<ParticipantGuard<'a>> {
        let acquired = self.take_as(participant, limit)?;
        Ok(ParticipantGuard { mutex: self, participant, acquired, panicking: std::thread::panicking() })
    }

    // Without guards, for the C ABI.

    #[inline]
    pub(crate) fn take(&self, limit: Limit) -> Result<Acquired> {
        with_thread_seat(&self.file.0, |seat| Ok(self.at(seat).take(limit)?.into()))
    }

    pub(crate) fn take_as(&self, participant: &Participant, limit: Limit) -> Result<Acquired> {
        let seat = self.seat_of(participant)?;
        let _call = seat.begin_taking()?;
        Ok(self.at(seat).take(limit)?.into())
    }

    #[inline]
    pub(crate) fn unlock(&self, token: Option<u64>) -> Result<()> {
        with_thread_seat_if_any(&self.file.0, |seat| self.at(seat).unlock(token))
    }

    pub(crate) fn unlock_as(&self, participant: &Participant, token: Option<u64>) -> Result<()> {
        let seat = self.seat_of(participant)?;
        let _call = seat.begin_giving_back()?;
        self.at(seat).unlock(token)
    }

    pub(crate) fn abandon(&self, token: Option<u64>) -> Result<()> {
        with_thread_seat_if_any(&self.file.0, |seat| self.at(seat).abandon(token))
    }

    pub(crate) fn abandon_as(&self, participant: &Participant, token: Option<u64>) -> Result<()> {
        let seat = self.seat_of(participant)?;
        let _call = seat.begin_giving_back()?;
        self.at(seat).abandon(token)
    }

    pub(crate) fn mark_consistent(&self) -> Result<()> {
        with_thread_seat_if_any(&self.file.0, |seat| self.at(seat).mark_consistent())
    }

    pub(crate) fn mark_consistent_as(&self, participant: &Participant) -> Result<()> {
        let seat = self.seat_of(participant)?;
        let _call = seat.begin_giving_back()?;
        self.at(seat).mark_consistent()
    }

    /// The error for asking who died where nobody did.
    pub(crate) fn nobody_died(&self) -> Error {
        Error::NotFound {
            path: self.file.0.reopen().path().into(),
            why: "nobody died holding this lock".into(),
        }
    }

    /// Has this thread the lock?
    pub(crate) fn is_held_by_this_thread(&self) -> bool {
        with_thread_seat_if_any(&self.file.0, |seat| self.at(seat).check_owner(None)).is_ok()
    }

    #[inline]
    fn at<'a>(&self, seat: &'a Seat) -> At<'a> {
        At::new(seat, self.region)
    }

    fn seat_of<'a>(&self, participant: &'a Participant) -> Result<&'a Seat> {
        if !std::sync::Arc::ptr_eq(&participant.seat.file, &self.file.0) {
            return Err(Error::InvalidArgument(format!(
                "the participant belongs to {} and the mutex to {}: open a participant of the same file",
                participant.seat.file.reopen().path().display(),
                self.file.0.reopen().path().display()
            )));
        }
        Ok(&participant.seat)
    }
}

impl From<Taken> for Acquired {
    #[inline]
    fn from(taken: Taken) -> Self {
        Self { fencing_token: taken.token, previous_owner_died: taken.owner_dead }
    }
}

/// The lock is this thread's until the guard is dropped. Dropped by a panic, the lock passes on as from a dead owner.
#[must_use = "the lock is given back as soon as the guard is dropped"]
pub struct MutexGuard<'a> {
    mutex: &'a Mutex,
    acquired: Acquired,
    panicking: bool,
    _not_send: PhantomData<*const ()>,
}

/// The lock is a [`Participant`]'s until the guard is dropped, on whichever thread.
#[must_use = "the lock is given back as soon as the guard is dropped"]
pub struct ParticipantGuard<'a> {
    mutex: &'a Mutex,
    participant: &'a Participant,
    acquired: Acquired,
    panicking: bool,
}

macro_rules! guard_methods {
    ($($guard:ident)*) => { $(impl $guard<'_> {
        /// What came with the acquisition.
        pub fn acquired(&self) -> Acquired {
            self.acquired
        }

        /// This acquisition's fencing token.
        pub fn fencing_token(&self) -> u64 {
            self.acquired.fencing_token
        }

        /// Who died, if the previous holder did.
        pub fn previous_owner(&self) -> Option<PreviousOwner> {
            self.mutex.previous_owner().filter(|_| self.acquired.previous_owner_died)
        }
    })* };
}
guard_methods!(MutexGuard ParticipantGuard);

impl MutexGuard<'_> {
    /// Says that the data are well again after a holder's death. [`Error::NotInconsistent`] if nobody died.
    pub fn mark_consistent(&mut self) -> Result<()> {
        self.mutex.mark_consistent()
    }

    /// Gives the lock back and says whether all was well, which dropping the guard cannot.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file was overwritten meanwhile: the section may not have been alone.
    pub fn unlock(self) -> Result<()> {
        let (mutex, token) = (self.mutex, self.acquired.fencing_token);
        std::mem::forget(self);
        mutex.unlock(Some(token))
    }

    /// Gives the lock back as a dying owner does, since the data were left half-done: the next holder has the news. What
    /// a panic does by itself.
    pub fn abandon(self) -> Result<()> {
        let (mutex, token) = (self.mutex, self.acquired.fencing_token);
        std::mem::forget(self);
        mutex.abandon(Some(token))
    }
}

impl ParticipantGuard<'_> {
    /// Says that the data are well again after a holder's death. [`Error::NotInconsistent`] if nobody died.
    pub fn mark_consistent(&mut self) -> Result<()> {
        self.mutex.mark_consistent_as(self.participant)
    }

    /// Gives the lock back and says whether all was well, which dropping the guard cannot. Errors as
    /// [`MutexGuard::unlock`].
    pub fn unlock(self) -> Result<()> {
        let (mutex, participant, token) = (self.mutex, self.participant, self.acquired.fencing_token);
        std::mem::forget(self);
        mutex.unlock_as(participant, Some(token))
    }

    /// Gives the lock back as a dying owner does, as [`MutexGuard::abandon`].
    pub fn abandon(self) -> Result<()> {
        let (mutex, participant, token) = (self.mutex, self.participant, self.acquired.fencing_token);
        std::mem::forget(self);
        mutex.abandon_as(participant, Some(token))
    }
}

// In both: a guard that a forked child only remembers is not the owner, and the error that says so needs no hearing.
impl Drop for MutexGuard<'_> {
    fn drop(&mut self) {
        let token = self.acquired.fencing_token;
        let _ = if std::thread::panicking() && !self.panicking {
            self.mutex.abandon(Some(token))
        } else {
            self.mutex.unlock(Some(token))
        };
    }
}

impl Drop for ParticipantGuard<'_> {
    fn drop(&mut self) {
        let token = self.acquired.fencing_token;
        let _ = if std::thread::panicking() && !self.panicking {
            self.mutex.abandon_as(self.participant, Some(token))
        } else {
            self.mutex.unlock_as(self.participant, Some(token))
        };
    }
}
