//! Participants that are not threads.

use crate::attach::{
    attachment::{AttachOptions, Attachment},
    idle,
    open_file::OpenFile,
    thread,
};
use std::{os::fd::RawFd, sync::Arc};
use turnlock_core::error::Result;

/// A participant with a slot of its own in the file, for work that moves between threads: tasks, goroutines, promises, a lock
/// that another thread unlocks. What is locked *as* a participant belongs to it, whichever thread makes the call; it is in one
/// call at a time. When the last handle is dropped while it holds a lock, it is a dead owner.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// let accounts = file.mutex("accounts")?;
/// let task = file.participant()?;
/// std::thread::scope(|threads| {
///     let guard = accounts.lock_as(&task).unwrap();
///     threads.spawn(move || drop(guard)); // locked here, unlocked there
/// });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Participant {
    pub(super) attachment: Arc<Attachment>,
}

impl Participant {
    pub(super) fn of_thread(file: &Arc<OpenFile>) -> Result<Self> {
        Ok(Self { attachment: thread::thread_attachment(file)? })
    }

    /// Ends this participant's wait for a lock with [`crate::Error::Cancelled`], from any thread: the present wait,
    /// or else the next call that would have to wait. A request is never lost, and never disturbs a call that need
    /// not wait.
    pub fn cancel(&self) {
        self.attachment.request_cancel();
    }

    /// Takes back a [`Participant::cancel`] that has ended no wait yet. Returns whether there was one.
    pub fn clear_cancel(&self) -> bool {
        self.attachment.cancel.clear()
    }

    /// Transfers the slot, and what it holds, to the open file that this process has as descriptor `number`: the slot lives
    /// as long as any copy of that descriptor, in whichever process (a shell's own, which its commands inherit). It is shown
    /// as process `pid`'s, and this participant is closed. What it holds is unlocked by [`crate::LockFile::unlock_transferred`], or
    /// passes on when the last copy is closed: as from a dead owner or, with
    /// [`ParticipantOptions::release_on_close`] and [`crate::DeathPolicy::Release`], with no more ado.
    ///
    /// Forget the guards of what it holds before: one that is dropped afterwards unlocks nothing.
    ///
    /// # Errors
    /// [`crate::Error::InvalidArgument`] if it is no descriptor of this file that is open for reading, or this participant
    /// is not [kept by a descriptor](ParticipantOptions::kept_by_descriptor); [`crate::Error::Closed`]. It is as before then.
    pub fn transfer_to_fd(&self, number: RawFd, pid: u32) -> Result<()> {
        self.attachment.transfer_to_fd(number, pid)
    }

    /// Returns the number of its slot, as `status` shows it.
    pub fn slot(&self) -> usize {
        self.attachment.slot
    }
}

/// Options for attaching a [`Participant`].
#[derive(Clone, Debug)]
pub struct ParticipantOptions<'a> {
    file: &'a Arc<OpenFile>,
    options: AttachOptions,
}

impl<'a> ParticipantOptions<'a> {
    pub(super) fn new(file: &'a Arc<OpenFile>) -> Self {
        Self { file, options: AttachOptions::default() }
    }

    /// Sets what it calls itself; the file's label by default.
    pub fn label(&mut self, label: &str) -> &mut Self {
        label.clone_into(&mut self.options.label);
        self
    }

    /// Sets whether programs that this process starts from now on keep the slot alive, even when this process is killed: they
    /// inherit the descriptor that keeps it. `turnlock run` does so for its command.
    pub fn inherited_by_children(&mut self, inherited: bool) -> &mut Self {
        self.options.inherited = inherited;
        self
    }

    /// Sets whether an open descriptor keeps the slot, as on file systems where a mapping does not: closing it (a stray
    /// `close`, `closefrom`) then counts as the participant's death.
    pub fn kept_by_descriptor(&mut self, by_descriptor: bool) -> &mut Self {
        self.options.descriptor = by_descriptor;
        self
    }

    /// Sets whether closing the last copy of the descriptor that keeps the slot is an ordinary end, as with flock(2), where the
    /// lock's death policy is [`crate::DeathPolicy::Release`]: the next holder is not told of a death. Implies
    /// [`ParticipantOptions::kept_by_descriptor`].
    pub fn release_on_close(&mut self, release_on_close: bool) -> &mut Self {
        self.options.release_on_close = release_on_close;
        self
    }

    /// Chooses its slot, from 0; a free one by default. The slot is its place on a ring: with a slot chosen for each member, the
    /// order of a ring does not depend on which of them starts first.
    pub fn slot(&mut self, slot: usize) -> &mut Self {
        self.options.slot = Some(slot);
        self
    }

    /// Attaches the participant: takes a slot.
    ///
    /// # Errors
    /// [`crate::Error::ParticipantsFull`]; [`crate::Error::InUse`] if the slot that was chosen is taken,
    /// [`crate::Error::InvalidArgument`] if the file has none of that number; [`crate::Error::Replaced`], [`crate::Error::Damaged`],
    /// [`crate::Error::FileSystem`], [`crate::Error::Permission`] if the file cannot be opened any more.
    pub fn open(&self) -> Result<Participant> {
        Ok(Participant { attachment: Arc::new(idle::attach(self.file, &self.options)?) })
    }
}
