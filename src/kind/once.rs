//! The once: one participant does something; the others wait until it is done.

use super::{
    acquired::PreviousOwner,
    claimed::{ClaimedOptions, claimed_options},
    handle::{BiasUse, Handle, LockKind},
    participant::Participant,
};
use crate::attach::{attachment::Attachment, file_handle::FileHandle};
use crate::layout::{DeathPolicy, Kind};
use crate::registers::{Exclusively, coordination_words};
use std::{marker::PhantomData, time::Duration};
use turnlock_core::acquire::site::Limit;
use turnlock_core::error::{Error, Result};
use turnlock_core::event::Event;
use turnlock_core::sync::Ordering::{Acquire, Release};

/// The kind of a [`Once`].
#[derive(Debug)]
pub enum OnceKind {}

impl LockKind for OnceKind {
    type Claims = Exclusively;
    const BIAS: BiasUse = BiasUse::None;
    const KIND: Kind = Kind::Once;
    const NAME: &'static str = "once";

    fn claims(_: u64) -> Exclusively {
        Exclusively
    }

    fn everything() {}
}

/// What is done once, by one participant of all that have the lock file open: as `std::sync::Once`, between processes and over
/// deaths.
///
/// One runs it, and the others wait. If that one dies or fails, the next one runs it. What is done stays done until a
/// [`Once::reset`], or until the machine boots, unless [`OnceOptions::across_boots`] was asked for.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// let schema = file.once("schema")?;
/// let ran_here = schema.call(|run| {
///     if let Some(dead) = run.previous_runner() {
///         eprintln!("process {} died in the middle of it", dead.pid);
///     }
///     // ... create the tables ...
///     Ok::<(), turnlock::Error>(())
/// })?;
/// assert!(ran_here && schema.is_done()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Once(pub(super) Handle<OnceKind>);

/// Options for opening or creating a once.
#[derive(Clone, Debug)]
pub struct OnceOptions<'a>(pub(super) ClaimedOptions<'a>);

claimed_options!(OnceOptions);

impl<'a> OnceOptions<'a> {
    pub(super) fn new(file: &'a FileHandle) -> Self {
        Self(ClaimedOptions::new(file, Kind::Once))
    }

    /// Sets whether what is done stays done when the machine boots: for work on a disk, beside which the file lies. For a once that
    /// is created now; one that exists keeps what it has. After a power cut the disk may have what was done and not that it is done, or
    /// the other way round.
    pub fn across_boots(&mut self, across_boots: bool) -> &mut Self {
        self.0.permits = u32::from(across_boots);
        self
    }

    /// Opens the once called `name`. Names have 1 to 63 bytes.
    ///
    /// # Errors
    /// As [`super::MutexOptions::open`].
    pub fn open(&self, name: &str) -> Result<Once> {
        let mut options = self.0.clone();
        options.settings.patience = Some(Duration::ZERO);
        options.settings.death_policy = Some(DeathPolicy::Release);
        Ok(Once(options.open(name)?))
    }
}

impl Once {
    /// Runs `work` unless it is done. Returns whether it ran here. If it fails, or panics, it is not done, and the next participant
    /// runs it.
    ///
    /// # Errors
    /// Those of `work`, and of [`Once::begin`].
    pub fn call<E: From<Error>>(
        &self,
        work: impl FnOnce(&OnceRun<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<bool, E> {
        let Some(run) = self.begin()? else { return Ok(false) };
        work(&run)?;
        run.complete()?;
        Ok(true)
    }

    /// Begins the work, waiting while another participant is at it. `None`: it is done.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if this thread is at it already; others as [`super::Mutex::lock`].
    pub fn begin(&self) -> Result<Option<OnceRun<'_>>> {
        self.0.begin_run(None, Limit::Forever)
    }

    /// Does what [`Once::begin`] does, waiting for at most `limit`; then [`Error::TimedOut`].
    pub fn begin_for(&self, limit: Duration) -> Result<Option<OnceRun<'_>>> {
        self.0.begin_run(None, Limit::For(limit))
    }

    /// Does what [`Once::begin`] does, as `participant`.
    pub fn begin_as<'a>(&'a self, participant: &'a Participant) -> Result<Option<OnceRun<'a>>> {
        self.0.begin_run(Some(participant), Limit::Forever)
    }

    /// Does what [`Once::begin_for`] does, as `participant`.
    pub fn begin_for_as<'a>(
        &'a self,
        participant: &'a Participant,
        limit: Duration,
    ) -> Result<Option<OnceRun<'a>>> {
        self.0.begin_run(Some(participant), Limit::For(limit))
    }

    /// Returns whether it is done.
    ///
    /// # Errors
    /// [`Error::NotFound`] if it was removed; [`Error::Damaged`].
    pub fn is_done(&self) -> Result<bool> {
        self.0.is_done()
    }

    /// Has it be done again. Waits while a participant is at it. Errors as [`Once::begin`].
    pub fn reset(&self) -> Result<()> {
        self.0.reset_once(Limit::Forever)
    }

    /// The handle under it.
    pub(crate) fn handle(&self) -> &Handle<OnceKind> {
        &self.0
    }

    /// The same, without what is around it.
    #[cfg(feature = "capi")]
    pub(crate) fn into_handle(self) -> Handle<OnceKind> {
        self.0
    }
}

/// The work of a [`Once`], in progress: no other participant does it. Dropped without [`OnceRun::complete`], it is not done.
#[must_use = "what is dropped is not done"]
#[derive(Debug)]
pub struct OnceRun<'a> {
    handle: &'a Handle<OnceKind>,
    /// Whose it is; `None`: the thread's that began it.
    participant: Option<&'a Participant>,
    previous_died: bool,
    _not_send: PhantomData<*const ()>,
}

impl OnceRun<'_> {
    /// Returns the participant that was at it before and died.
    pub fn previous_runner(&self) -> Option<PreviousOwner> {
        self.handle.previous_owner().filter(|_| self.previous_died)
    }

    /// Says that it is done.
    ///
    /// # Errors
    /// [`Error::NotOwner`] in a forked child; [`Error::Damaged`].
    pub fn complete(self) -> Result<()> {
        let (handle, participant) = (self.handle, self.participant);
        std::mem::forget(self);
        handle.complete_once(participant)
    }
}

impl Drop for OnceRun<'_> {
    fn drop(&mut self) {
        // A forked child's copy is not the owner; the error that says so is dropped.
        let _ = self.handle.give_up_run(self.participant);
    }
}

impl Handle<OnceKind> {
    fn state(&self) -> &turnlock_core::sync::AtomicU64 {
        &coordination_words(self.file.open.view(), self.lock.region).state
    }

    pub(crate) fn is_done(&self) -> Result<bool> {
        self.check_there()?;
        // Acquire. Partner: the release in `complete_once`: a participant that finds it done sees what was done.
        self.read_named(|| self.state().load(Acquire) != 0)
    }

    fn begin_run<'a>(
        &'a self,
        participant: Option<&'a Participant>,
        limit: Limit,
    ) -> Result<Option<OnceRun<'a>>> {
        let begun = self.begin_once(participant, limit)?;
        Ok(begun.map(|previous_died| OnceRun {
            handle: self,
            participant,
            previous_died,
            _not_send: PhantomData,
        }))
    }

    /// Begins the work. Returns whether the one before died at it; `None`: it is done.
    pub(crate) fn begin_once(&self, participant: Option<&Participant>, limit: Limit) -> Result<Option<bool>> {
        if self.is_done()? {
            return Ok(None);
        }
        let acquired = match participant {
            None => self.lock(limit),
            Some(participant) => self.lock_as(participant, limit),
        }?;
        match self.is_done() {
            Ok(false) => {
                self.note_of_runner(participant, Event::RunBegan);
                Ok(Some(acquired.previous_owner_died))
            }
            is_done => {
                self.end_run(participant)?;
                is_done.map(|_| None)
            }
        }
    }

    /// Ends the work, which is not done.
    pub(crate) fn give_up_run(&self, participant: Option<&Participant>) -> Result<()> {
        self.note_of_runner(participant, Event::NotDone);
        self.end_run(participant)
    }

    /// Runs `act` with the slot of the participant that is at it.
    fn as_runner(
        &self,
        participant: Option<&Participant>,
        act: impl FnOnce(&Attachment) -> Result<()>,
    ) -> Result<()> {
        let checked = |attachment: &Attachment| {
            self.owned(attachment)?.check_owner(None)?;
            act(attachment)
        };
        match participant {
            None => self.with_holder(None, checked),
            Some(participant) => checked(self.attachment_of(participant)?),
        }
    }

    /// Records what the participant does that is at it, if it is.
    fn note_of_runner(&self, participant: Option<&Participant>, event: Event) {
        if self.file.open.has_recording() {
            let note = |attachment: &Attachment| {
                self.recorder_of(attachment.slot).note(event, 0);
                Ok(())
            };
            // The unlock that follows says why not.
            let _ = self.as_runner(participant, note);
        }
    }

    /// Ends the work, done or not.
    fn end_run(&self, participant: Option<&Participant>) -> Result<()> {
        match participant {
            None => self.unlock(None),
            Some(participant) => self.unlock_as(participant, None),
        }
    }

    pub(crate) fn complete_once(&self, participant: Option<&Participant>) -> Result<()> {
        self.as_runner(participant, |attachment| {
            self.state().store(1, Release);
            self.recorder_of(attachment.slot).note(Event::Done, 0);
            Ok(())
        })?;
        self.end_run(participant)
    }

    pub(crate) fn reset_once(&self, limit: Limit) -> Result<()> {
        self.lock(limit)?;
        self.state().store(0, Release);
        self.recorder_of_thread().note(Event::Reset, 0);
        self.unlock(None)
    }
}
