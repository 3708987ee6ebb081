//! The semaphore: a number of permits, first come first served.

use super::{
    acquired::Acquired,
    claimed::{ClaimedOptions, claimed_options, with_patience},
    guard::{Guard, GuardAs},
    handle::{BiasUse, Handle, LockKind},
    participant::Participant,
};
use crate::attach::{
    attachment::Attachment,
    cached::ThreadLine,
    calls::{AtHome, Doing},
    fast_path::{self, UnlockOutcome},
    file_handle::FileHandle,
};
use crate::layout::Kind;
use crate::registers::Claimed;
use std::time::Duration;
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::Claim;
use turnlock_core::error::{Error, Result};

/// The kind of a [`Semaphore`].
#[derive(Debug)]
pub enum SemaphoreKind {}

impl LockKind for SemaphoreKind {
    type Claims = Claimed;
    const BIAS: BiasUse = BiasUse::Reservations;
    const IN_PARTS: bool = true;
    const KIND: Kind = Kind::Semaphore;
    const NAME: &'static str = "semaphore";

    fn claims(generation: u64) -> Claimed {
        Claimed::of(Kind::Semaphore, generation)
    }

    fn everything() -> Claim {
        Claim::EVERYTHING
    }
}

/// A counting semaphore in a lock file: a number of permits, of which each participant takes some for a while.
///
/// A participant that wants more permits than are left waits, and lets none pass that comes later, however few that one wants.
/// The permits of a participant that dies come back without a notice.
///
/// Permits belong to the thread that took them (or to a [`Participant`]), which may take more while it has some; each time
/// takes a slot of the file.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// let downloads = file.semaphore_options().permits(4).open("downloads")?;
/// let one = downloads.acquire(1)?;
/// let three = downloads.acquire(3)?;
/// assert!(matches!(downloads.try_acquire(1), Err(turnlock::Error::WouldBlock(_))));
/// drop((one, three));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Semaphore(pub(super) Handle<SemaphoreKind>);

/// Permits of the calling thread, until the guard is dropped.
pub type Permits<'a> = Guard<'a, SemaphoreKind>;
/// Permits of a [`Participant`], until the guard is dropped.
pub type ParticipantPermits<'a> = GuardAs<'a, SemaphoreKind>;

/// Options for opening or creating a semaphore.
#[derive(Clone, Debug)]
pub struct SemaphoreOptions<'a>(pub(super) ClaimedOptions<'a>);

claimed_options!(SemaphoreOptions);
with_patience!(SemaphoreOptions);

impl<'a> SemaphoreOptions<'a> {
    pub(super) fn new(file: &'a FileHandle) -> Self {
        Self(ClaimedOptions { permits: 1, ..ClaimedOptions::new(file, Kind::Semaphore) })
    }

    /// Sets how many permits a semaphore has that is created now, 1 by default. One that exists keeps what it has.
    pub fn permits(&mut self, permits: u32) -> &mut Self {
        self.0.permits = permits;
        self
    }

    /// Sets whether the semaphore must be *linked*: its permits are shared out among several hosts, each of which has some of them at any
    /// time, and they go where they are wanted. This host has none when it is created: an agent ([`super::LinkAgent::attach_semaphore`])
    /// brings them. All hosts name the same number of permits, which is never changed. A semaphore that exists and is not linked, or has
    /// another number of permits, is [`Error::Kind`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
    /// let jobs = file.semaphore_options().permits(10).linked(true).open("jobs")?;
    /// assert!(jobs.is_linked() && jobs.permits()? == 10 && jobs.share()? == 0);
    /// assert!(jobs.try_acquire(1).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn linked(&mut self, linked: bool) -> &mut Self {
        self.0.linked = linked;
        self
    }

    /// Opens the semaphore called `name`. Names have 1 to 63 bytes.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for no permits; others as [`super::MutexOptions::open`].
    pub fn open(&self, name: &str) -> Result<Semaphore> {
        check_permits(self.0.permits)?;
        Ok(Semaphore(self.0.open(name)?))
    }
}

impl Semaphore {
    /// Takes `permits` permits at once, waiting without a limit.
    ///
    /// # Errors
    /// [`Error::Permits`] for none, or more than there are, also after a [`Semaphore::resize`] meanwhile; [`Error::Deadlock`]
    /// if this thread has so many that it would wait for itself; others as [`super::Mutex::lock`].
    #[inline(always)]
    pub fn acquire(&self, permits: u32) -> Result<Permits<'_>> {
        Ok(Guard::new(&self.0, self.0.permits_within(permits, Limit::Forever)?))
    }

    /// Does what [`Semaphore::acquire`] does if that needs no wait, else [`Error::WouldBlock`].
    #[inline(always)]
    pub fn try_acquire(&self, permits: u32) -> Result<Permits<'_>> {
        Ok(Guard::new(&self.0, self.0.permits_within(permits, Limit::Never)?))
    }

    /// Does what [`Semaphore::acquire`] does, waiting for at most `limit`, then [`Error::TimedOut`].
    #[inline(always)]
    pub fn acquire_for(&self, permits: u32, limit: Duration) -> Result<Permits<'_>> {
        Ok(Guard::new(&self.0, self.0.permits_within(permits, Limit::For(limit))?))
    }

    /// Does what [`Semaphore::acquire`] does, as `participant`, which can hold permits of this semaphore once at a time.
    pub fn acquire_as<'a>(
        &'a self,
        participant: &'a Participant,
        permits: u32,
    ) -> Result<ParticipantPermits<'a>> {
        let acquired = self.0.acquire_permits_as(participant, permits, Limit::Forever)?;
        Ok(GuardAs::new(&self.0, participant, acquired))
    }

    /// Does what [`Semaphore::try_acquire`] does, as `participant`.
    pub fn try_acquire_as<'a>(
        &'a self,
        participant: &'a Participant,
        permits: u32,
    ) -> Result<ParticipantPermits<'a>> {
        let acquired = self.0.acquire_permits_as(participant, permits, Limit::Never)?;
        Ok(GuardAs::new(&self.0, participant, acquired))
    }

    /// Does what [`Semaphore::acquire_for`] does, as `participant`.
    pub fn acquire_for_as<'a>(
        &'a self,
        participant: &'a Participant,
        permits: u32,
        limit: Duration,
    ) -> Result<ParticipantPermits<'a>> {
        let acquired = self.0.acquire_permits_as(participant, permits, Limit::For(limit))?;
        Ok(GuardAs::new(&self.0, participant, acquired))
    }

    /// Returns how many permits there are, taken or not; of a linked semaphore, over all hosts.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the semaphore was removed.
    pub fn permits(&self) -> Result<u32> {
        self.0.permits()
    }

    /// Returns how many of the permits this host has, taken or not: of a semaphore that is not linked, all.
    ///
    /// # Errors
    /// As [`Semaphore::permits`].
    pub fn share(&self) -> Result<u32> {
        self.0.share()
    }

    /// Returns whether it is linked ([`SemaphoreOptions::linked`]).
    pub fn is_linked(&self) -> bool {
        self.0.is_linked()
    }

    /// Returns for how long this host has its permits yet, if the semaphore is linked and leased ([`super::LinkedSemaphore::set_lease_end`]);
    /// zero: the lease has ended.
    pub fn lease_left(&self) -> Option<Duration> {
        self.0.lease_left()
    }

    /// Changes the number of permits, for all processes and at once. If there are fewer than before, those that are taken stay
    /// taken, and none is given before enough have come back; a call that waits for more than there are ends with
    /// [`Error::Permits`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for none, or `u32::MAX`, and of a linked semaphore; [`Error::NotFound`] if the semaphore was removed;
    /// [`Error::ParticipantsFull`] if the calling thread has no slot yet and there is none; [`Error::Unsupported`] if the kernel
    /// refuses a memory barrier. With an error nothing is changed.
    pub fn resize(&self, permits: u32) -> Result<()> {
        self.0.resize(permits)
    }

    /// Returns how long a waiter lets others pass before it is queued for good.
    pub fn patience(&self) -> Duration {
        self.0.patience()
    }

    /// Returns the handle, for observers.
    pub(crate) fn handle(&self) -> &Handle<SemaphoreKind> {
        &self.0
    }

    /// Returns the handle, for the C ABI.
    pub(crate) fn into_handle(self) -> Handle<SemaphoreKind> {
        self.0
    }
}

impl Handle<SemaphoreKind> {
    /// Takes `weight` permits as the calling thread.
    #[inline(always)]
    pub fn permits_within(&self, weight: u32, limit: Limit) -> Result<Acquired> {
        match self.permits_by_reservation(weight) {
            Some(fencing_token) => Ok(Acquired { fencing_token, previous_owner_died: false }),
            None => self.acquire_permits(weight, limit),
        }
    }

    /// Takes `weight` permits by the calling thread's reservation. Returns the fencing token. Neither panics nor calls
    /// anything.
    #[inline(always)]
    pub fn permits_by_reservation(&self, weight: u32) -> Option<u64> {
        // SAFETY: found by this lock's key.
        unsafe { self.permits_by_reservation_at(self.lock.key.find()?, weight) }
    }

    /// [`Handle::permits_by_reservation`], by the calling thread's line.
    ///
    /// # Safety
    /// As [`Handle::lock_biased_at`].
    #[inline(always)]
    pub unsafe fn permits_by_reservation_at(&self, line: &ThreadLine, weight: u32) -> Option<u64> {
        // SAFETY: this handle keeps the file open; and the caller's promise.
        unsafe { fast_path::take_permits(self.lock, line, weight) }
    }

    /// Does what [`Handle::permits_by_reservation`] does, as `participant`, if the calling thread is its home thread.
    #[inline(always)]
    pub fn permits_by_reservation_as(&self, participant: &Participant, weight: u32) -> Option<u64> {
        let attachment = &participant.attachment;
        self.take_permits_at_home(attachment, &attachment.begin_at_home(Doing::TAKING)?, weight)
    }

    /// Does what [`Handle::permits_by_reservation`] does, as a participant on which the calling thread is in a call at home.
    #[inline(always)]
    pub(super) fn take_permits_at_home(
        &self,
        attachment: &Attachment,
        call: &AtHome,
        weight: u32,
    ) -> Option<u64> {
        // SAFETY: this handle keeps the file open.
        unsafe { fast_path::take_permits_as(self.lock, attachment, call, weight) }
    }

    /// Gives back `permits` permits that the calling thread has by its reservation, if these are all that it has. `None`: they
    /// are not, and nothing was done. Neither panics nor calls anything. `line`: the calling thread's, if it has one slot in each of
    /// its files.
    ///
    /// # Safety
    /// `line` was found by [`crate::attach::cached::LineKey::find_sole`] of this lock's key.
    #[inline(always)]
    pub unsafe fn release_by_reservation_at(&self, line: &ThreadLine, permits: u32) -> Option<UnlockOutcome> {
        // SAFETY: this handle keeps the file open; and the caller's promise.
        unsafe { fast_path::release_permits(self.lock, line, permits) }
    }
}

/// Checks that a semaphore can have so many permits.
///
/// # Errors
/// [`Error::InvalidArgument`].
pub(super) fn check_permits(permits: u32) -> Result<()> {
    if permits == 0 || permits == u32::MAX {
        return Err(Error::InvalidArgument(format!(
            "a semaphore of {permits} permits was asked for: it has 1 to {}",
            u32::MAX - 1
        )));
    }
    Ok(())
}
