//! The event: set or not; participants wait until it is set.

use super::{
    claimed::{ClaimedOptions, claimed_options},
    handle::{BiasUse, Handle, LockKind},
    participant::Participant,
    sleeping::{SleepsOn, error_of},
};
use crate::attach::{attachment::Attachment, file_handle::FileHandle};
use crate::layout::Kind;
use crate::os::linux::Linux;
use crate::registers::{self, Exclusively, coordination_words};
use std::time::Duration;
use turnlock_core::acquire::site::Limit;
use turnlock_core::coordination::{self, Awake};
use turnlock_core::error::{Awaited, Error, Result};
use turnlock_core::event;

/// The kind of an [`Event`].
#[derive(Debug)]
pub enum EventKind {}

impl LockKind for EventKind {
    type Claims = Exclusively;
    const BIAS: BiasUse = BiasUse::None;
    const KIND: Kind = Kind::Event;
    const NAME: &'static str = "event";

    fn claims(_: u64) -> Exclusively {
        Exclusively
    }

    fn everything() {}
}

/// An event in a lock file: it is set or not, and participants wait until it is set.
///
/// It stays set until it is cleared; a boot of the machine clears it. No death disturbs it: a participant that waits holds nothing,
/// and one that dies while it sets the event has set it, or has not.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// let ready = file.event("ready")?;
/// std::thread::scope(|threads| {
///     let waiter = threads.spawn(|| ready.wait());
///     ready.set()?; // in this process or another
///     waiter.join().unwrap()
/// })?;
/// assert!(ready.is_set()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Event(pub(super) Handle<EventKind>);

/// Options for opening or creating an event.
#[derive(Clone, Debug)]
pub struct EventOptions<'a>(pub(super) ClaimedOptions<'a>);

claimed_options!(EventOptions);

impl<'a> EventOptions<'a> {
    pub(super) fn new(file: &'a FileHandle) -> Self {
        Self(ClaimedOptions::new(file, Kind::Event))
    }

    /// Opens the event called `name`. Names have 1 to 63 bytes. One that is created now is not set.
    ///
    /// # Errors
    /// As [`super::MutexOptions::open`].
    pub fn open(&self, name: &str) -> Result<Event> {
        Ok(Event(self.0.open(name)?))
    }
}

impl Event {
    /// Sets it: all that wait for it go on. Returns whether it was not set before. A signal handler may do so. In a file that records,
    /// the thread gets a slot for that, if one is free.
    ///
    /// # Errors
    /// [`Error::NotFound`] if it was removed; [`Error::Damaged`].
    pub fn set(&self) -> Result<bool> {
        self.0.set()
    }

    /// Clears it: who waits from now on waits until it is set again. Returns whether it was set. Errors as [`Event::set`].
    pub fn clear(&self) -> Result<bool> {
        self.0.clear()
    }

    /// Returns whether it is set. Errors as [`Event::set`].
    pub fn is_set(&self) -> Result<bool> {
        self.0.is_set()
    }

    /// Waits without a limit until it is set. A wait that began before the event was set ends, also if it was cleared since.
    ///
    /// # Errors
    /// [`Error::NotFound`] if it was removed, also meanwhile; [`Error::Cancelled`], [`Error::Interrupted`];
    /// [`Error::ParticipantsFull`] at a thread's first wait; [`Error::ParticipantBusy`] in a signal handler that has interrupted a
    /// wait of its thread here; [`Error::Damaged`].
    pub fn wait(&self) -> Result<()> {
        self.0.wait_until_set(None, Limit::Forever)
    }

    /// Does what [`Event::wait`] does, for at most `limit`; then [`Error::TimedOut`].
    pub fn wait_for(&self, limit: Duration) -> Result<()> {
        self.0.wait_until_set(None, Limit::For(limit))
    }

    /// Does what [`Event::wait`] does, as `participant`, whose waits another thread can cancel.
    pub fn wait_as(&self, participant: &Participant) -> Result<()> {
        self.0.wait_until_set(Some(participant), Limit::Forever)
    }

    /// Does what [`Event::wait_for`] does, as `participant`.
    pub fn wait_for_as(&self, participant: &Participant, limit: Duration) -> Result<()> {
        self.0.wait_until_set(Some(participant), Limit::For(limit))
    }

    /// The handle under it.
    pub(crate) fn handle(&self) -> &Handle<EventKind> {
        &self.0
    }

    /// The same, without what is around it.
    #[cfg(feature = "capi")]
    pub(crate) fn into_handle(self) -> Handle<EventKind> {
        self.0
    }
}

impl Handle<EventKind> {
    /// Its words, for one that changes nothing.
    fn event(&self) -> coordination::Event<'_> {
        registers::event(self.file.open.view(), self.lock.region, self.name.generation)
    }

    fn there<T>(&self, look: impl FnOnce(coordination::Event<'_>) -> Option<T>) -> Result<T> {
        self.check_there()?;
        look(self.event()).ok_or_else(|| self.gone())
    }

    /// Changes it as the calling thread.
    fn change(&self, change: impl FnOnce(coordination::Event<'_>) -> Option<bool>) -> Result<bool> {
        let records = self.recorder_of_thread();
        self.there(|event| change(coordination::Event { recorder: records.slot_and_recorder(), ..event }))
    }

    pub(crate) fn set(&self) -> Result<bool> {
        self.change(|event| event.set::<Linux>())
    }

    pub(crate) fn clear(&self) -> Result<bool> {
        self.change(|event| event.clear())
    }

    pub(crate) fn is_set(&self) -> Result<bool> {
        self.there(|event| event.is_set())
    }

    pub(crate) fn wait_until_set(&self, participant: Option<&Participant>, limit: Limit) -> Result<()> {
        let began = self.there(|event| event.begin())?;
        if self.event().came(began) {
            return self.check_there();
        }
        self.with_waiting(participant, |attachment| self.wait_at(attachment, began, limit))
    }

    fn wait_at(&self, attachment: &Attachment, began: u64, limit: Limit) -> Result<()> {
        let _wait = self.begin_wait(attachment)?;
        let records = self.recorder_of(attachment.slot);
        records.note(event::Event::WaitBegan, 0);
        let waited = self.sleep_until_set(attachment, began, limit);
        records.note_end(&waited);
        waited
    }

    fn sleep_until_set(&self, attachment: &Attachment, began: u64, limit: Limit) -> Result<()> {
        let event = self.event();
        let wake = &coordination_words(self.file.open.view(), self.lock.region).wake;
        let on = SleepsOn { wake, alone: false, awake: Awake::Spinning };
        let slept = self.sleep(attachment, &on, limit, || event.came(began), || Ok(()))?;
        let ended_by: Option<Error> = error_of(slept, limit, Awaited::Event);
        ended_by.map_or_else(|| self.there(|event| event.begin()).map(drop), Err)
    }
}
