//! Maintenance of a lock file: removing its dead participants, making it larger, deleting it.

use super::{
    file::{LockFile, LockFileOptions},
    named::names_of,
};
use crate::attach::{open_file::OpenFile, thread::with_thread_attachment};
use crate::layout::{Geometry, SlotState};
use crate::os::{
    file::Permissions,
    liveness_lock::{Probe, Seen},
    memory,
};
use crate::recovery;
use std::{path::Path, sync::Arc};
use turnlock_core::algorithm::ring::Rule;
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::Ordering::{Acquire, Relaxed};

/// A dead participant that was removed from a lock file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reaped {
    /// The number of its slot.
    pub slot: usize,
    /// What it called itself.
    pub label: String,
    /// Its process, as its own PID namespace numbered it.
    pub pid: u32,
    /// Its thread, likewise.
    pub thread: u32,
}

impl LockFile {
    /// Removes every dead participant, as the next one that waits for it would: what it held passes on, with the owner-dead
    /// notice. Living participants are left alone. Does not wait.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
    /// assert!(file.reap()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ParticipantsFull`] (it takes a slot meanwhile), [`Error::Damaged`], [`Error::Replaced`],
    /// [`Error::FileSystem`].
    pub fn reap(&self) -> Result<Vec<Reaped>> {
        let file = &self.file.open;
        memory::check()?;
        if !file.is_intact() {
            return Err(file.not_intact());
        }
        let mut dead = dead_participants(file);
        with_thread_attachment(file, |attachment| {
            let probe = Probe::new(file.reopen(), attachment.slot);
            let mut failed = None;
            // This attachment may have taken a dead one's slot just now, and finished what it left.
            dead.retain(|one| {
                one.slot == attachment.slot
                    || recovery::reap(file.view(), &probe, one.slot).unwrap_or_else(|error| {
                        failed.get_or_insert(error);
                        false
                    })
            });
            file.lower_bound(attachment.slot);
            failed.map_or(Ok(()), Err)
        })?;
        Ok(dead)
    }

    /// Deletes the lock file at `path`, if it has no participants: a file that is deleted while it is used is two locks of one
    /// name. A program that has it open without a participant gets [`Error::Replaced`] when it locks next.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("app.lock");
    /// let file = turnlock::LockFile::open(&path)?;
    /// let task = file.participant()?;
    /// assert!(matches!(turnlock::LockFile::remove(&path), Err(turnlock::Error::InUse { .. })));
    /// drop(task);
    /// turnlock::LockFile::remove(&path)?;
    /// assert!(!path.exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InUse`] if there are participants, this thread included; and as [`LockFileOptions::open`] with
    /// [`LockFileOptions::must_exist`].
    pub fn remove(path: impl AsRef<Path>) -> Result<()> {
        existing(path.as_ref(), "")?.remove()
    }
}

impl LockFileOptions {
    /// Puts a larger file in the place of the one at `path`, which holds what that one holds: its locks with their kinds,
    /// fencing tokens and what is known of deaths, its owner, group and mode. As large as these options say; what they do
    /// not say stays as it is. Nothing is made smaller. A file without a recording may get one; a longer recording begins anew.
    ///
    /// Refused while there are participants. Killed at any moment, it leaves the old file as it was or the new one whole. A
    /// program that has the old file open without a participant gets [`Error::Replaced`] when it locks next, and opens the path
    /// again. A newcomer waits meanwhile; if that takes longer than a third of a second (a large file on a slow disk), it gets
    /// [`Error::ParticipantsFull`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("app.lock");
    /// drop(turnlock::LockFile::options().locks(4).open(&path)?);
    /// let file = turnlock::LockFile::options().locks(400).grow(&path)?;
    /// assert_eq!((file.locks(), file.participants()), (400, 128));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InUse`]: there are participants, this thread included, or the file has several names.
    /// [`Error::InvalidArgument`]: it is larger already; it was to get more mailboxes than can be; or it has a sum ring whose
    /// step would not be coprime to the new number of participants. [`Error::NoSpace`]; and as [`LockFileOptions::open`] with
    /// [`LockFileOptions::must_exist`].
    pub fn grow(&self, path: impl AsRef<Path>) -> Result<LockFile> {
        let (participants, locks) = (self.participants, self.locks);
        let file = existing(path.as_ref(), &self.label)?;
        let now = file.geometry();
        let or = |asked: u32, has: u32| if asked == 0 { has } else { asked };
        let (participants, locks) = (or(participants, now.participants()), or(locks, now.locks()));
        let events = or(self.places(), now.recorded_events());
        let refused = |why: String| Err(Error::InvalidArgument(why));
        let (shown, has) = (path.as_ref().display(), (now.participants(), now.locks()));
        let mailboxes = or(self.mailboxes, now.mail_participants());
        if participants < has.0 || locks < has.1 {
            return refused(format!(
                "{shown}: it has room for {} participants and {} locks, and a lock file is not made smaller: ask for as many \
                 at least",
                has.0, has.1
            ));
        }
        if events < now.recorded_events() {
            return refused(format!(
                "{shown}: it keeps a recording of {} events, and a lock file is not made smaller: ask for as many at least",
                now.recorded_events()
            ));
        }
        if mailboxes < now.mail_participants() {
            return refused(format!(
                "{shown}: {} participants have mailboxes, and a lock file is not made smaller: ask for as many at least",
                now.mail_participants()
            ));
        }
        if (participants, locks, events) == (has.0, has.1, now.recorded_events())
            && mailboxes == now.mail_participants()
        {
            return refused(format!(
                "{shown}: it has room for {participants} participants and {locks} locks already: ask for more of either"
            ));
        }
        if mailboxes > participants.min(crate::layout::MAX_MAIL_PARTICIPANTS) {
            return refused(format!(
                "{shown}: mailboxes for {mailboxes} of {participants} participants were asked for: so many participants can \
                 have some, and at most {}",
                crate::layout::MAX_MAIL_PARTICIPANTS
            ));
        }
        let larger = Geometry::new(participants, locks)
            .and_then(|geometry| geometry.with_recording(events)?.with_mail(mailboxes));
        let Some(larger) = larger else {
            return refused(format!(
                "{shown}: {participants} participants and {locks} locks were asked for, and a recording of {events} events: a \
                 file has 1 to {} participants, 1 to {} locks, and keeps {} to {} events",
                crate::layout::MAX_PARTICIPANTS,
                crate::layout::MAX_LOCKS,
                crate::layout::MIN_RECORDED_EVENTS,
                crate::layout::MAX_RECORDED_EVENTS
            ));
        };
        check_steps(&file, participants)?;
        file.grow(larger)?;
        // This handle is of a file that is gone; other handles reopen the new one.
        drop(file);
        let mut options = self.clone();
        options.must_exist(true).open(path)
    }
}

/// Returns the file at `path`, as it is.
fn existing(path: &Path, label: &str) -> Result<Arc<OpenFile>> {
    let Some(any) = Geometry::new(1, 1) else {
        return Err(Error::Internal("no file has one participant and one lock".into()));
    };
    OpenFile::open_or_create(path, any, false, Permissions { mode: 0o600, group: None }, label)
}

/// Checks that the turn of every sum ring would reach each of so many participants.
fn check_steps(file: &OpenFile, participants: u32) -> Result<()> {
    for ring in names_of(file.view()) {
        if let Some(Rule::Sum { step }) = ring.rule()
            && !Rule::step_is_sound(step, participants as usize)
        {
            return Err(Error::InvalidArgument(format!(
                "its ring {:?} has step {step}, and would leave out some of {participants} participants: ask for a number of \
                 participants that has no divisor in common with {step}, or remove that ring",
                ring.name
            )));
        }
    }
    Ok(())
}

/// Returns those whose byte lock is gone.
fn dead_participants(file: &OpenFile) -> Vec<Reaped> {
    let (view, probe) = (file.view(), Probe::new(file.reopen(), 0));
    let records = view.slots()[..view.slots_bound()].iter().enumerate();
    let taken = records.filter(|(_, record)| record.state.load(Acquire) != SlotState::Free as u32);
    let dead = taken.filter(|(slot, _)| probe.look(*slot).0 == Seen::Dead);
    dead.map(|(slot, record)| Reaped {
        slot,
        label: record.label.get(),
        pid: record.pid.load(Relaxed),
        thread: record.tid.load(Relaxed),
    })
    .collect()
}
