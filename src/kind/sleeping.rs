//! How a participant waits for something else than a lock: for conditions, events and barriers.

use super::{
    handle::{Handle, LockKind},
    participant::Participant,
};
use crate::attach::{
    attachment::Attachment,
    waiter::{count, reap_if_dead},
};
use crate::os::linux::Linux;
use crate::registers::FileLock;
use turnlock_core::acquire::site::Limit;
use turnlock_core::coordination::{Awake, Slept, WaitContext, sleep_until};
use turnlock_core::error::{Awaited, Error, Result};
use turnlock_core::sync::AtomicU32;
use turnlock_core::wait::{Stop, name_of};

/// A call that waits, of one participant at one condition, event or barrier: one at a time.
pub(super) struct Wait<'a>(&'a Attachment, usize);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        // In a forked child it is the parent's.
        if self.0.is_ours() {
            self.0.local(self.1).record(None);
        }
    }
}

/// What a participant sleeps on.
pub(super) struct SleepsOn<'a> {
    /// Futex word: changes when it should look again.
    pub wake: &'a AtomicU32,
    /// No other participant sleeps there.
    pub alone: bool,
    /// How it stays awake for a while first, since what it waits for may come soon.
    pub awake: Awake,
}

impl<K: LockKind> Handle<K> {
    /// Checks that the file is whole, and that what the handle was opened for was not removed.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::NotFound`].
    #[inline]
    pub(super) fn check_there(&self) -> Result<()> {
        let file = &self.file.open;
        if !file.is_intact() {
            return Err(file.not_intact());
        }
        self.check_exists()
    }

    /// Returns the error for a state that has the tag of another name.
    #[cold]
    pub(super) fn gone(&self) -> Error {
        let file = &self.file.open;
        if !self.still_exists() {
            return file.removed();
        }
        file.damaged(format!(
            "the state of its {} in region {} is impossible: the file was overwritten",
            K::NAME,
            self.lock.region
        ))
    }

    /// Begins a wait.
    ///
    /// # Errors
    /// [`Error::ParticipantBusy`] if the participant waits here already: the calling thread, in a signal handler.
    pub(super) fn begin_wait<'a>(&self, attachment: &'a Attachment) -> Result<Wait<'a>> {
        self.check_there()?;
        let region = self.lock.region;
        attachment.local(region).begin().ok_or(Error::ParticipantBusy)?;
        Ok(Wait(attachment, region))
    }

    /// Sleeps until `is_over`, or something else ends the wait. `nap` is called after each nap in which nothing came.
    ///
    /// # Errors
    /// Those of `nap`; [`Handle::check_there`].
    pub(super) fn sleep(
        &self,
        attachment: &Attachment,
        on: &SleepsOn<'_>,
        limit: Limit,
        is_over: impl Fn() -> bool,
        mut nap: impl FnMut() -> Result<()>,
    ) -> Result<Slept> {
        let (region, slot) = (self.lock.region, attachment.slot);
        let lock = FileLock::new(self.file.open.view(), region).lock;
        let cell = &lock.cells()[slot];
        let context = WaitContext {
            wake: on.wake,
            asleep: on.alone.then_some(&cell.asleep),
            waiting_since: &cell.waiting_since,
            name: name_of(region, slot),
            limit,
            stop: Stop { cancel: Some(&attachment.cancel), interrupt: self.file.interrupt.as_ref() },
            adaptive: Some((on.awake, &attachment.adaptive)),
        };
        let slept = sleep_until::<Linux>(&context, is_over, || {
            self.check_there()?;
            nap()
        })?;
        if slept == Slept::TimedOut {
            count(&lock.words.timed_out);
        }
        Ok(slept)
    }

    /// Checks whether the participant of `slot` is dead, and reaps it then. Returns whether it did.
    pub(super) fn reap_if_dead(&self, attachment: &Attachment, slot: usize) -> Result<bool> {
        reap_if_dead(attachment, self.lock.region, slot)
    }

    /// Runs `act` with the slot of `participant`, which waits, or with the calling thread's.
    pub(super) fn with_waiting<R>(
        &self,
        participant: Option<&Participant>,
        act: impl FnOnce(&Attachment) -> Result<R>,
    ) -> Result<R> {
        match participant {
            None => crate::attach::thread::with_thread_attachment(&self.file.open, act),
            Some(participant) => {
                let attachment = self.attachment_of(participant)?;
                let _call = attachment.begin_taking(self.lock.region)?;
                act(attachment)
            }
        }
    }
}

/// Returns the error of a wait for `awaited` that ended like this; `None`: what it waited for has come.
pub(super) fn error_of(slept: Slept, limit: Limit, awaited: Awaited) -> Option<Error> {
    match slept {
        Slept::Over => None,
        Slept::TimedOut => Some(limit.passed_before(awaited)),
        Slept::Cancelled => Some(Error::Cancelled),
        Slept::Interrupted | Slept::Forked => Some(Error::Interrupted),
    }
}
