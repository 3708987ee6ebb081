//! The handle under every kind of lock: its file, its region, its configuration, and its operations.

use super::{acquired::Acquired, directory::Found};
use crate::attach::{
    attachment::Attachment,
    cached::{FileKey, LineKey, LocalOffset, ThreadLine},
    fast_path::{self, LockPointer, UnlockOutcome},
    file_handle::FileHandle,
    names::Name,
    open_file::OpenFile,
    site::FileSite,
    thread::{self, with_thread_attachment, with_thread_attachment_if_any},
};
use crate::layout::{DeathPolicy, Kind};
use crate::os::clock;
use crate::registers::{FileClaims, link};
use std::{marker::PhantomData, sync::Arc, time::Duration};
use turnlock_core::acquire::{
    attempt::{Attempt, Discipline, LockConfig},
    recursion,
    site::{Host, Limit},
};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::Ordering::Relaxed;

/// What differs between the kinds of locks, for handles and guards.
pub trait LockKind: 'static {
    /// What its participants claim.
    type Claims: FileClaims + Send + Sync;
    /// Towards which participants its locks may be biased, so that the fast path is worth a try.
    const BIAS: BiasUse;
    /// Whether a thread may hold several parts of a lock at once.
    const IN_PARTS: bool = false;
    /// Its number in files.
    const KIND: Kind;
    /// What it is called in errors.
    const NAME: &'static str;

    /// Returns the claims of a lock of this kind, whose name has this generation.
    fn claims(generation: u64) -> Self::Claims;
    /// Returns the exclusive claim of the whole lock.
    fn everything() -> ClaimOf<Self>;
}

/// What a participant claims of a lock of this kind.
pub type ClaimOf<K> = <<K as LockKind>::Claims as FileClaims>::Claim;

/// Towards which participants the locks of a kind may be biased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BiasUse {
    /// To none.
    None,
    /// To its last holder.
    Owner,
    /// To its readers; and the last writer reserves its place.
    Readers,
    /// To none, but participants reserve places.
    Reservations,
}

/// A lock in an open file.
pub struct Handle<K: LockKind> {
    pub(super) file: FileHandle,
    pub(super) lock: LockPointer,
    pub(super) config: LockConfig,
    pub(super) name: Arc<Name>,
    /// What its participants claim.
    pub(super) claims: K::Claims,
    /// Whether a thread that has the lock may take it again.
    recursive: bool,
    kind: PhantomData<fn() -> K>,
}

impl<K: LockKind> Clone for Handle<K> {
    fn clone(&self) -> Self {
        let Self { file, lock, config, name, claims, recursive, kind: _ } = self;
        let (file, name) = (file.clone(), name.clone());
        Self {
            file,
            lock: *lock,
            config: *config,
            name,
            claims: *claims,
            recursive: *recursive,
            kind: PhantomData,
        }
    }
}

impl<K: LockKind> Handle<K> {
    pub(super) fn new(file: FileHandle, found: Found, discipline: Discipline) -> Self {
        let region = found.name.region;
        let at = file.open.view().region_pointer(region);
        // A thread of this process with a handle of the lock that had this region before could enter by what it left here
        // through this handle: a reservation, or a section as a reader.
        let is_slow = matches!(K::BIAS, BiasUse::Readers | BiasUse::Reservations) && !found.may_be_biased;
        let of_file = if is_slow { FileKey::OF_NONE } else { FileKey::of_locks_in(&file.open) };
        let lock = LockPointer {
            key: LineKey { word: file.open.word.word(), file: of_file },
            region,
            local: LocalOffset::of(region),
            at,
        };
        let config = LockConfig {
            patience: found.patience,
            may_be_biased: K::BIAS != BiasUse::None && found.may_be_biased,
            release_on_death: found.death_policy == DeathPolicy::Release,
            is_linked: found.linked,
            discipline,
        };
        let claims = K::claims(found.name.generation);
        Self { file, lock, config, name: found.name, claims, recursive: found.recursive, kind: PhantomData }
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

    /// Returns whether it is linked.
    pub fn is_linked(&self) -> bool {
        self.config.is_linked
    }

    /// Returns for how long this host has the lock yet, if it is linked and leased.
    pub fn lease_left(&self) -> Option<Duration> {
        let end = || link(&self.file.open.view().lock(self.lock.region)).lease_end.load(Relaxed);
        let end = Some(end).filter(|_| self.config.is_linked)?();
        (end != 0).then(|| Duration::from_nanos(end.saturating_sub(clock::boot_ns())))
    }

    /// Returns whether this host has the lock still, as far as a lease says.
    pub fn has_running_lease(&self) -> bool {
        !self.config.is_linked
            || link(&self.file.open.view().lock(self.lock.region)).lease_runs(clock::boot_ns)
    }

    /// Returns what a holder's death means for this lock.
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
        if K::BIAS != BiasUse::Owner {
            return None;
        }
        // SAFETY: found by this lock's key.
        unsafe { self.lock_biased_at(self.lock.key.find()?) }
    }

    /// [`Handle::lock_biased`], by the calling thread's line.
    ///
    /// # Safety
    /// `line` was found by this lock's key.
    #[inline(always)]
    pub unsafe fn lock_biased_at(&self, line: &ThreadLine) -> Option<u64> {
        if K::BIAS != BiasUse::Owner {
            return None;
        }
        // SAFETY: this handle keeps the file open; and the caller's promise.
        unsafe { fast_path::take(self.lock, line) }
    }

    /// Returns how the line is found by which the calling thread takes it.
    pub fn line_key(&self) -> LineKey {
        self.lock.key
    }

    /// Takes the lock where [`Handle::lock_biased`] did not.
    #[cold]
    #[inline(never)]
    pub fn lock_slowly(&self, limit: Limit) -> Result<Acquired> {
        if self.reload_cache()
            && let Some(fencing_token) = self.lock_biased()
        {
            return Ok(Acquired { fencing_token, previous_owner_died: false });
        }
        with_thread_attachment(&self.file.open, |attachment| {
            self.check_exists()?;
            // The notice of a death comes with the first of them.
            if self.recursive
                && let Some(fencing_token) = attachment.recursion(self.lock.region).again()?
            {
                return Ok(Acquired { fencing_token, previous_owner_died: false });
            }
            Ok(self.attempt(attachment, K::everything()).lock(limit)?.into())
        })
    }

    /// Acquires `claim` as the calling thread.
    pub fn acquire(&self, claim: ClaimOf<K>, limit: Limit) -> Result<Acquired> {
        let act = |attachment: &Attachment| self.acquire_at(attachment, claim, limit);
        if K::IN_PARTS {
            thread::with_idle_attachment(&self.file.open, self.lock.region, act)
        } else {
            with_thread_attachment(&self.file.open, act)
        }
    }

    pub(super) fn acquire_at(
        &self,
        attachment: &Attachment,
        claim: ClaimOf<K>,
        limit: Limit,
    ) -> Result<Acquired> {
        self.check_exists()?;
        Ok(self.attempt(attachment, claim).lock(limit)?.into())
    }

    /// Does what [`Handle::acquire_at`] does, without a limit and without an interrupt, for a wait inside another one, which the
    /// interrupt has ended; a circle of waits does not end it either.
    pub(super) fn acquire_uninterrupted_at(
        &self,
        attachment: &Attachment,
        claim: ClaimOf<K>,
    ) -> Result<Acquired> {
        let Name { region, generation } = *self.name;
        let site = FileSite::new(attachment, region, generation, self.claims, None).may_be_told(false);
        site.check_exists()?;
        Ok(Attempt { site, config: self.config, claim }.lock(Limit::Forever)?.into())
    }

    /// Has [`Handle::lock_biased`] find the thread's slot, if that could not take the lock only because another file has
    /// the word of this one. Returns whether it is worth another try.
    #[inline]
    pub fn reload_cache(&self) -> bool {
        K::BIAS != BiasUse::None && thread::reload_cache(&self.file.open)
    }

    /// Unlocks, as the calling thread (the acquisition with this very token, where one is named).
    #[inline]
    pub fn unlock(&self, token: Option<u64>) -> Result<()> {
        match self.unlock_biased(token) {
            Some(UnlockOutcome::Done) => Ok(()),
            left => self.unlock_slowly(left, token),
        }
    }

    /// Unlocks a biased acquisition of the calling thread. `None`: it has the lock otherwise, or not at all. If waiters may be
    /// parked, [`Handle::unlock_slowly`] does the rest. Neither panics nor calls anything.
    #[inline(always)]
    pub fn unlock_biased(&self, token: Option<u64>) -> Option<UnlockOutcome> {
        if K::BIAS == BiasUse::None {
            return None;
        }
        // SAFETY: found by this lock's key.
        unsafe { self.unlock_biased_at(self.lock.key.find()?, token) }
    }

    /// [`Handle::unlock_biased`], by the calling thread's line.
    ///
    /// # Safety
    /// As [`Handle::lock_biased_at`].
    #[inline(always)]
    pub unsafe fn unlock_biased_at(&self, line: &ThreadLine, token: Option<u64>) -> Option<UnlockOutcome> {
        let lock = self.lock;
        // SAFETY: this handle keeps the file open; and the caller's promise.
        unsafe {
            match K::BIAS {
                BiasUse::None => None,
                BiasUse::Owner => fast_path::leave(lock, line, token),
                BiasUse::Reservations => fast_path::leave_permits(lock, line, token),
                BiasUse::Readers => fast_path::leave_in_mode(lock, line, self.claims.readers(), token),
            }
        }
    }

    /// Unlocks where [`Handle::unlock_biased`] did not, or not to the end. `Some`: the fast path unlocked, and found the bias or the
    /// reservation gone, so waiters are to be unparked. `None`: all of it is left to do.
    #[cold]
    pub fn unlock_slowly(&self, left: Option<UnlockOutcome>, token: Option<u64>) -> Result<()> {
        match left {
            Some(_) => with_thread_attachment_if_any(&self.file.open, |attachment| {
                self.attempt_of_holder(attachment).complete_unlock()
            }),
            None => self.with_holder(token, |attachment| self.leave_once(attachment, token, false)),
        }
    }

    /// Runs `act` with the calling thread's slot that holds the lock, or (by the acquisition with this token, where one is
    /// named) a part of it.
    pub(super) fn with_holder<R>(
        &self,
        token: Option<u64>,
        act: impl FnOnce(&Attachment) -> Result<R>,
    ) -> Result<R> {
        if !K::IN_PARTS {
            return with_thread_attachment_if_any(&self.file.open, act);
        }
        let held = thread::with_holding_attachment(&self.file.open, self.lock.region, token, act);
        held.map_err(|error| match error {
            Error::NotOwner => self.not_held(),
            error => error,
        })
    }

    /// Unlocks (`abandon`: as a dying holder does), unless it is recursive and was taken more than once.
    fn leave_once(&self, attachment: &Attachment, token: Option<u64>, abandon: bool) -> Result<()> {
        self.check_not_others()?;
        let left = match self.recursive {
            false => recursion::Left::Last { abandoned: abandon },
            true => attachment.recursion(self.lock.region).leave(token, abandon)?,
        };
        match left {
            recursion::Left::Held => Ok(()),
            recursion::Left::Last { abandoned: false } => self.attempt_of_holder(attachment).unlock(token),
            recursion::Left::Last { abandoned: true } => self.attempt_of_holder(attachment).abandon(token),
        }
    }

    /// Does what [`Handle::unlock`] does for a guard that is dropped; an error is dropped too.
    #[inline(always)]
    pub fn unlock_unheard(&self, token: u64) {
        // A rwlock has two ways to unlock: too much code for the compiler to inline it into the drop of a guard, which would then lie in
        // memory.
        if K::BIAS == BiasUse::Readers {
            self.unlock_unheard_apart(token);
        } else {
            self.unlock_unheard_here(token);
        }
    }

    #[inline(never)]
    fn unlock_unheard_apart(&self, token: u64) {
        self.unlock_unheard_here(token);
    }

    #[inline(always)]
    fn unlock_unheard_here(&self, token: u64) {
        match self.unlock_biased(Some(token)) {
            Some(UnlockOutcome::Done) => {}
            left => self.unlock_slowly_unheard(left, token),
        }
    }

    #[cold]
    #[inline(never)]
    fn unlock_slowly_unheard(&self, left: Option<UnlockOutcome>, token: u64) {
        let _ = self.unlock_slowly(left, Some(token));
    }

    /// Unlocks as a dying holder does.
    pub fn abandon(&self, token: Option<u64>) -> Result<()> {
        self.with_holder(token, |attachment| self.leave_once(attachment, token, true))
    }

    /// Marks the data that a dead owner left as consistent.
    pub fn mark_consistent(&self) -> Result<()> {
        self.mark_consistent_of(None)
    }

    /// Does what [`Handle::mark_consistent`] does, for the acquisition with this token, if one is named.
    pub fn mark_consistent_of(&self, token: Option<u64>) -> Result<()> {
        self.with_holder(token, |attachment| self.owned(attachment)?.mark_consistent())
    }

    /// Ends the ring membership of the calling thread, which does not hold the lock.
    pub fn depart(&self) -> Result<()> {
        match with_thread_attachment_if_any(&self.file.open, |attachment| self.owned(attachment)?.depart()) {
            Err(Error::NotOwner) => Ok(()),
            departed => departed,
        }
    }

    /// Opens a lock again that is not recoverable, in its turn.
    pub fn reset(&self, limit: Limit) -> Result<()> {
        with_thread_attachment(&self.file.open, |attachment| {
            self.check_exists()?;
            let attempt = self.attempt(attachment, K::everything());
            let acquisition = attempt.lock_and_reset(limit)?;
            attempt.unlock(Some(acquisition.token))
        })
    }

    #[inline(always)]
    fn attempt<'a>(
        &'a self,
        attachment: &'a Attachment,
        claim: ClaimOf<K>,
    ) -> Attempt<FileSite<'a, K::Claims>> {
        let Name { region, generation } = *self.name;
        let interrupt = self.file.interrupt.as_ref();
        let site = FileSite::new(attachment, region, generation, self.claims, interrupt)
            .may_be_told(self.file.ends_deadlocks);
        Attempt { site, config: self.config, claim }
    }

    /// Returns what [`Handle::attempt`] does, with the claim by which the lock is held.
    #[inline(always)]
    pub(super) fn attempt_of_holder<'a>(
        &'a self,
        attachment: &'a Attachment,
    ) -> Attempt<FileSite<'a, K::Claims>> {
        let region = self.lock.region;
        let cell = &self.file.open.view().lock(region).cells()[attachment.slot];
        self.attempt(attachment, K::Claims::claimed(attachment.mode_word(region), cell))
    }

    /// Checks, for the holder, that what the participant has in the lock's region is this lock: one that was removed has no
    /// holders.
    #[inline(always)]
    fn check_not_others(&self) -> Result<()> {
        if self.file.open.is_others(&self.name) { Err(Error::NotOwner) } else { Ok(()) }
    }

    /// Returns what [`Handle::attempt_of_holder`] does, once it is checked that the region has this lock still.
    #[inline(always)]
    pub(super) fn owned<'a>(
        &'a self,
        attachment: &'a Attachment,
    ) -> Result<Attempt<FileSite<'a, K::Claims>>> {
        self.check_not_others()?;
        Ok(self.attempt_of_holder(attachment))
    }
}
