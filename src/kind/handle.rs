//! The handle under every kind of lock: its file, where it lies, how it is acquired, and what can be done with it.

use super::{
    acquired::{Acquired, PreviousOwner},
    directory::Found,
    participant::Participant,
};
use crate::acquire::{
    attempt::{Attempt, Discipline, LockConfig},
    recursion,
    site::{Limit, Lock, Site},
};
use crate::attach::{
    attachment::{Attachment, FileKey},
    fast_path::{self, Left, LockPointer},
    file_handle::FileHandle,
    names::Name,
    open_file::OpenFile,
    site::FileSite,
    thread::{self, with_thread_attachment, with_thread_attachment_if_any},
};
use crate::error::{Error, Result};
use crate::layout::DeathPolicy;
use crate::registers::FileLock;
use crate::sync::Ordering::{Acquire, Relaxed};
use std::{marker::PhantomData, sync::Arc, time::Duration};

/// In what a kind of lock differs from the others, as far as its handle and its guards are concerned.
pub trait LockKind: 'static {
    /// Whether its locks may be biased, so that the fast path is worth a try.
    const MAY_BE_BIASED: bool;
    /// What it is called in errors.
    const NAME: &'static str;
}

/// A lock in an open file.
pub struct Handle<K> {
    pub(super) file: FileHandle,
    pub(super) lock: LockPointer,
    pub(super) config: LockConfig,
    pub(super) name: Arc<Name>,
    /// Whether a thread that has it may take it again.
    recursive: bool,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Handle<K> {
    fn clone(&self) -> Self {
        let Self { file, lock, config, name, recursive, kind: _ } = self;
        let (file, name) = (file.clone(), name.clone());
        Self { file, lock: *lock, config: *config, name, recursive: *recursive, kind: PhantomData }
    }
}

impl<K: LockKind> Handle<K> {
    pub(super) fn new(file: FileHandle, found: Found, discipline: Discipline) -> Self {
        let region = found.name.region;
        let at = file.open.view().region_pointer(region);
        let lock = LockPointer { file: FileKey::of(&file.open), word: file.open.word.word(), region, at };
        let config = LockConfig {
            patience: found.patience,
            may_be_biased: K::MAY_BE_BIASED && found.may_be_biased,
            release_on_death: found.death_policy == DeathPolicy::Release,
            discipline,
        };
        Self { file, lock, config, name: found.name, recursive: found.recursive, kind: PhantomData }
    }

    /// Returns whether the lock was not removed.
    pub fn is_named(&self) -> bool {
        self.file.open.is_named(self.name.region, self.name.generation)
    }

    /// Returns the open file.
    pub fn open_file(&self) -> &OpenFile {
        &self.file.open
    }

    /// Returns the lock's number in the file.
    pub fn region(&self) -> usize {
        self.lock.region
    }

    /// Returns for how long a waiter lets others pass.
    pub fn patience(&self) -> Duration {
        Duration::from_nanos(self.config.patience)
    }

    /// Returns whether a thread that has it may take it again.
    pub fn is_recursive(&self) -> bool {
        self.recursive
    }

    /// Returns what a holder's death means here.
    pub fn death_policy(&self) -> DeathPolicy {
        if self.config.release_on_death { DeathPolicy::Release } else { DeathPolicy::Inform }
    }

    /// Takes the lock as the calling thread.
    #[inline(always)]
    pub fn lock(&self, limit: Limit) -> Result<Acquired> {
        match self.lock_biased() {
            Some(fencing_token) => Ok(Acquired { fencing_token, previous_owner_died: false }),
            None => self.lock_slowly(limit),
        }
    }

    /// Takes the lock if it is biased to the calling thread. Returns the fencing token. Neither panics nor calls anything.
    #[inline(always)]
    pub fn lock_biased(&self) -> Option<u64> {
        if !K::MAY_BE_BIASED {
            return None;
        }
        // SAFETY: this handle keeps the file open.
        unsafe { fast_path::enter(self.lock) }
    }

    /// What is left of [`Handle::lock`] where [`Handle::lock_biased`] did not take the lock.
    #[cold]
    #[inline(never)]
    pub fn lock_slowly(&self, limit: Limit) -> Result<Acquired> {
        if self.recall()
            && let Some(fencing_token) = self.lock_biased()
        {
            return Ok(Acquired { fencing_token, previous_owner_died: false });
        }
        with_thread_attachment(&self.file.open, |attachment| {
            let attempt = self.named(attachment)?;
            // The notice of a death comes with the first of them.
            if self.recursive
                && let Some(fencing_token) = attachment.recursion(self.lock.region).again()?
            {
                return Ok(Acquired { fencing_token, previous_owner_died: false });
            }
            Ok(attempt.lock(limit)?.into())
        })
    }

    /// Has [`Handle::lock_biased`] find the thread's slot, if that could not take the lock only because another file has
    /// the word of this one. Returns whether it is worth another try.
    #[inline]
    pub fn recall(&self) -> bool {
        K::MAY_BE_BIASED && thread::recall(&self.file.open)
    }

    /// Takes the lock as `participant`.
    #[inline(always)]
    pub fn lock_as(&self, participant: &Participant, limit: Limit) -> Result<Acquired> {
        match self.lock_biased_as(participant) {
            Some(fencing_token) => Ok(Acquired { fencing_token, previous_owner_died: false }),
            None => self.lock_slowly_as(participant, limit),
        }
    }

    /// [`Handle::lock_biased`], as `participant`, if the calling thread is its home thread.
    #[inline(always)]
    pub fn lock_biased_as(&self, participant: &Participant) -> Option<u64> {
        if !K::MAY_BE_BIASED {
            return None;
        }
        // SAFETY: this handle keeps the file open.
        unsafe { fast_path::enter_as(self.lock, &participant.attachment) }
    }

    /// What is left of [`Handle::lock_as`] where [`Handle::lock_biased_as`] did not take the lock.
    #[cold]
    #[inline(never)]
    pub fn lock_slowly_as(&self, participant: &Participant, limit: Limit) -> Result<Acquired> {
        let attachment = self.attachment_of(participant)?;
        let _call = attachment.begin_taking(self.lock.region)?;
        Ok(self.named(attachment)?.lock(limit)?.into())
    }

    /// Unlocks, as the calling thread (the acquisition with this very token, where one is named).
    #[inline]
    pub fn unlock(&self, token: Option<u64>) -> Result<()> {
        match self.unlock_biased(token) {
            Some(Left::Quietly) => Ok(()),
            left => self.unlock_slowly(left, token),
        }
    }

    /// Unlocks a biased acquisition of the calling thread. `None`: it has the lock otherwise, or not at all. The rest is
    /// for [`Handle::unlock_slowly`], unless nobody minded. Neither panics nor calls anything.
    #[inline(always)]
    pub fn unlock_biased(&self, token: Option<u64>) -> Option<Left> {
        if !K::MAY_BE_BIASED {
            return None;
        }
        // SAFETY: this handle keeps the file open.
        unsafe { fast_path::leave(self.lock, token) }
    }

    /// What is left to do for `left`, or all of it.
    #[cold]
    pub fn unlock_slowly(&self, left: Option<Left>, token: Option<u64>) -> Result<()> {
        with_thread_attachment_if_any(&self.file.open, |attachment| match left {
            Some(_) => self.attempt(attachment).complete_unlock(),
            None => self.leave_once(attachment, token, false),
        })
    }

    /// Unlocks (`abandon`: as a dying holder does), unless it is recursive and was taken more than once.
    fn leave_once(&self, attachment: &Attachment, token: Option<u64>, abandon: bool) -> Result<()> {
        let attempt = self.owned(attachment)?;
        let left = match self.recursive {
            false => recursion::Left::Last { abandoned: abandon },
            true => attachment.recursion(self.lock.region).leave(token, abandon)?,
        };
        match left {
            recursion::Left::Held => Ok(()),
            recursion::Left::Last { abandoned: false } => attempt.unlock(token),
            recursion::Left::Last { abandoned: true } => attempt.abandon(token),
        }
    }

    /// [`Handle::unlock`] for a guard that is dropped: nobody hears of an error.
    #[inline(always)]
    pub fn unlock_unheard(&self, token: u64) {
        match self.unlock_biased(Some(token)) {
            Some(Left::Quietly) => {}
            left => self.unlock_slowly_unheard(left, token),
        }
    }

    #[cold]
    #[inline(never)]
    fn unlock_slowly_unheard(&self, left: Option<Left>, token: u64) {
        let _ = self.unlock_slowly(left, Some(token));
    }

    /// Unlocks as `participant`.
    #[inline(always)]
    pub fn unlock_as(&self, participant: &Participant, token: Option<u64>) -> Result<()> {
        match self.unlock_biased_as(participant, token) {
            Some(Left::Quietly) => Ok(()),
            left => self.unlock_slowly_as(participant, left, token),
        }
    }

    /// [`Handle::unlock_biased`], as `participant`, if the calling thread is its home thread.
    #[inline(always)]
    pub fn unlock_biased_as(&self, participant: &Participant, token: Option<u64>) -> Option<Left> {
        if !K::MAY_BE_BIASED {
            return None;
        }
        // SAFETY: this handle keeps the file open.
        unsafe { fast_path::leave_as(self.lock, &participant.attachment, token) }
    }

    /// [`Handle::unlock_slowly`], as `participant`.
    #[cold]
    #[inline(never)]
    pub fn unlock_slowly_as(
        &self,
        participant: &Participant,
        left: Option<Left>,
        token: Option<u64>,
    ) -> Result<()> {
        match left {
            Some(_) => self.attempt(self.attachment_of(participant)?).complete_unlock(),
            None => self.as_holder(participant, |attempt| attempt.unlock(token)),
        }
    }

    /// Unlocks as a dying holder does.
    pub fn abandon(&self, token: Option<u64>) -> Result<()> {
        with_thread_attachment_if_any(&self.file.open, |attachment| self.leave_once(attachment, token, true))
    }

    /// [`Handle::abandon`], as `participant`.
    pub fn abandon_as(&self, participant: &Participant, token: Option<u64>) -> Result<()> {
        self.as_holder(participant, |attempt| attempt.abandon(token))
    }

    /// Marks the data that a dead owner left as consistent.
    pub fn mark_consistent(&self) -> Result<()> {
        with_thread_attachment_if_any(&self.file.open, |attachment| self.owned(attachment)?.mark_consistent())
    }

    /// [`Handle::mark_consistent`], as `participant`.
    pub fn mark_consistent_as(&self, participant: &Participant) -> Result<()> {
        self.as_holder(participant, |attempt| attempt.mark_consistent())
    }

    /// Has the calling thread, which does not hold the lock, wait for it no more.
    pub fn depart(&self) -> Result<()> {
        match with_thread_attachment_if_any(&self.file.open, |attachment| self.owned(attachment)?.depart()) {
            Err(Error::NotOwner) => Ok(()),
            departed => departed,
        }
    }

    /// [`Handle::depart`], as `participant`.
    pub fn depart_as(&self, participant: &Participant) -> Result<()> {
        let attachment = self.attachment_of(participant)?;
        let _call = attachment.begin_taking(self.lock.region)?;
        match self.owned(attachment) {
            Ok(attempt) => attempt.depart(),
            // A participant that stood in it had left before it was removed.
            Err(_) => Ok(()),
        }
    }

    /// Opens a lock that is not recoverable again, in its turn.
    pub fn reset(&self, limit: Limit) -> Result<()> {
        with_thread_attachment(&self.file.open, |attachment| {
            let attempt = self.named(attachment)?;
            let acquisition = attempt.lock_and_reset(limit)?;
            attempt.unlock(Some(acquisition.token))
        })
    }

    /// Returns who died holding this lock, last; `None` if nobody ever did.
    pub fn previous_owner(&self) -> Option<PreviousOwner> {
        if !self.is_named() {
            return None;
        }
        let view = self.file.open.view();
        let (fencing_token, pid, thread, label) = FileLock::new(view, self.lock.region).death();
        (fencing_token != 0).then_some(PreviousOwner { fencing_token, pid, thread, label })
    }

    /// Returns the fencing token and the process of who died holding this lock, last; zeros if nobody ever did. Allocates
    /// nothing.
    pub fn dead_owner(&self) -> (u64, u32) {
        let lock = self.file.open.view().lock(self.lock.region);
        let notice = &lock.words.previous_owner;
        (notice.token.load(Acquire), notice.pid.load(Relaxed))
    }

    /// Returns [`Error::NotFound`], which says that nobody does to the lock what `verb` says ("holds", "died holding").
    pub fn not_found(&self, verb: &str) -> Error {
        let why = format!("nobody {verb} this {}", K::NAME);
        Error::NotFound { path: self.file.open.reopen().path(), why }
    }

    /// Returns whether the calling thread holds the lock.
    pub fn is_held_by_this_thread(&self) -> bool {
        with_thread_attachment_if_any(&self.file.open, |attachment| self.owned(attachment)?.check_owner(None))
            .is_ok()
    }

    /// Returns whether another participant waits behind the calling thread, which holds the lock.
    pub fn is_contended(&self) -> Result<bool> {
        with_thread_attachment_if_any(&self.file.open, |attachment| self.is_contended_at(attachment))
    }

    /// [`Handle::is_contended`], as `participant`.
    pub fn is_contended_as(&self, participant: &Participant) -> Result<bool> {
        let attachment = self.attachment_of(participant)?;
        attachment.check()?;
        self.is_contended_at(attachment)
    }

    /// One look where nobody waits. Of a biased holder: at the bias word, which whoever comes to the head of the queue
    /// has under revocation. Of another one: at the hints in its cell, which its waiters leave there. Either may be left
    /// of a waiter that has gone, so the words of the waiters themselves decide. On a ring, where waiters are at their
    /// left neighbours' cells, they do so at once.
    fn is_contended_at(&self, attachment: &Attachment) -> Result<bool> {
        let holding = attachment.local(self.lock.region).holding().ok_or(Error::NotOwner)?;
        let (lock, me) = (FileLock::new(self.file.open.view(), self.lock.region), attachment.slot);
        let maybe = match self.config.discipline {
            Discipline::Queue if holding.unbiased => lock.may_have_waiters(me),
            Discipline::Queue => !lock.bias().is_unrevoked(attachment.mark),
            Discipline::Ring { .. } => true,
        };
        Ok(maybe && lock.is_another_waiting(me))
    }

    #[inline]
    fn attempt<'a>(&'a self, attachment: &'a Attachment) -> Attempt<FileSite<'a>> {
        let Name { region, generation } = *self.name;
        let site = FileSite::new(attachment, region, generation, self.file.interrupt.as_ref());
        Attempt { site, config: self.config }
    }

    /// [`Handle::attempt`], unless the lock was removed. An acquisition looks again.
    #[inline]
    fn named<'a>(&'a self, attachment: &'a Attachment) -> Result<Attempt<FileSite<'a>>> {
        let attempt = self.attempt(attachment);
        attempt.site.check_named().map(|()| attempt)
    }

    /// [`Handle::attempt`], for the holder: nobody holds a lock that was removed, and what the participant has in its
    /// region is another one.
    #[inline]
    fn owned<'a>(&'a self, attachment: &'a Attachment) -> Result<Attempt<FileSite<'a>>> {
        if self.file.open.is_others(&self.name) { Err(Error::NotOwner) } else { Ok(self.attempt(attachment)) }
    }

    fn as_holder(
        &self,
        participant: &Participant,
        act: impl FnOnce(Attempt<FileSite>) -> Result<()>,
    ) -> Result<()> {
        let attachment = self.attachment_of(participant)?;
        attachment.begin_leaving(self.lock.region)?;
        act(self.owned(attachment)?)
    }

    fn attachment_of<'a>(&self, participant: &'a Participant) -> Result<&'a Attachment> {
        if !Arc::ptr_eq(&participant.attachment.file, &self.file.open) {
            return Err(Error::InvalidArgument(format!(
                "the participant belongs to {} and the {} to {}: open a participant of the same file",
                participant.attachment.file.reopen().path().display(),
                K::NAME,
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
