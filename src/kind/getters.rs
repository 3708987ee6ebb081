//! What a handle tells of its lock. The handle of a removed lock tells nothing of the lock that has its region now: the name is
//! checked first, and where the answer is read from the file, again afterwards.

use super::{
    acquired::PreviousOwner,
    handle::{ClaimOf, Handle, LockKind},
};
use crate::attach::{attachment::Attachment, locked_by, thread};
use crate::layout::Kind;
use crate::os::clock;
use crate::registers::FileLock;
use turnlock_core::acquire::{
    attempt::Discipline,
    site::{Lock, Site},
};
use turnlock_core::error::{Error, LockedBy, Result};
use turnlock_core::sync::{
    Ordering::{Acquire, Relaxed},
    fence,
};

impl<K: LockKind> Handle<K> {
    /// Returns whether the lock was not removed.
    pub fn still_exists(&self) -> bool {
        self.file.open.still_exists(self.name.region, self.name.generation)
    }

    /// Checks that the lock was not removed. An acquisition looks again.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Damaged`] if the file is not whole any more.
    #[inline]
    pub fn check_exists(&self) -> Result<()> {
        self.file.open.check_exists(self.name.region, self.name.generation)
    }

    /// Returns what `read` reads of the lock in the file.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the lock was removed.
    pub(super) fn read_named<T>(&self, read: impl FnOnce() -> T) -> Result<T> {
        self.check_exists()?;
        let value = read();
        // Partner: the fence in `directory::name_it`. If we have read a store for the next lock in this region, we see that the
        // name is gone.
        fence(Acquire);
        self.check_exists().map(|()| value)
    }

    /// Returns who holds the lock in a way that conflicts with `claim`, for a caller without a slot.
    #[cfg(feature = "async")]
    pub(super) fn locked_by(&self, claim: ClaimOf<K>) -> LockedBy {
        let lock = FileLock::claimed(self.file.open.view(), self.lock.region, self.claims);
        let now = clock::coarse_monotonic_ns();
        self.read_named(|| locked_by::look(&lock, None, claim, now)).unwrap_or(LockedBy::UNKNOWN)
    }

    /// Returns the last participant that died holding this lock; `None` if none did, or the lock was removed.
    pub fn previous_owner(&self) -> Option<PreviousOwner> {
        let view = self.file.open.view();
        let death = self.read_named(|| FileLock::new(view, self.lock.region).death());
        let (fencing_token, pid, thread, label) = death.ok()?;
        (fencing_token != 0).then_some(PreviousOwner { fencing_token, pid, thread, label })
    }

    /// Returns the fencing token and the process of the last participant that died holding this lock; zeros if none did, or the
    /// lock was removed. Allocates nothing.
    pub fn dead_owner(&self) -> (u64, u32) {
        if !self.still_exists() {
            return (0, 0);
        }
        let lock = self.file.open.view().lock(self.lock.region);
        let notice = &lock.words.previous_owner;
        let dead = (notice.token.load(Acquire), notice.pid.load(Relaxed));
        // As in `read_named`, which makes an error.
        fence(Acquire);
        if self.still_exists() { dead } else { (0, 0) }
    }

    /// Returns the [`Error::NotFound`] that says that no participant does to the lock what `verb` says ("holds", "died
    /// holding").
    pub fn not_found(&self, verb: &str) -> Error {
        let why = format!("nobody {verb} this {}", K::NAME);
        Error::NotFound { path: self.file.open.reopen().path(), why }
    }

    /// Returns whether the calling thread holds the lock.
    pub fn is_held_by_this_thread(&self) -> bool {
        self.with_holder(None, |attachment| self.owned(attachment)?.check_owner(None)).is_ok()
    }

    /// Returns the error for a part that a thread does not hold: [`Error::NotOwner`], unless it is a signal handler that came
    /// while the thread changes how it holds one.
    #[cold]
    pub(super) fn not_held(&self) -> Error {
        let mut changing = false;
        thread::each_attachment(&self.file.open, |attachment| {
            let local = attachment.local(self.lock.region);
            changing |= local.is_held() && local.holding().is_none();
        });
        if changing { Error::ParticipantBusy } else { Error::NotOwner }
    }

    /// Returns whether another participant waits behind the calling thread, which holds the lock.
    pub fn is_contended(&self) -> Result<bool> {
        self.is_contended_of(None)
    }

    /// Does what [`Handle::is_contended`] does, for the acquisition with this token, if one is named.
    pub fn is_contended_of(&self, token: Option<u64>) -> Result<bool> {
        self.with_holder(token, |attachment| self.is_contended_at(attachment))
    }

    /// Returns whether another participant waits behind the holder. Of a mutex, without waiters, it is one look: of a biased holder at
    /// the bias word, which a queue head has under revocation; of another at the hints that waiters leave in its cell. Either may
    /// be left of a waiter that has gone, so then the waiters' own words decide. Of other kinds they decide at once: the hints are in
    /// the cell of the slot that a waiter waits for, which need not be ours. On a ring that is its left neighbour; elsewhere, beside
    /// other holders, the last one before it that conflicts.
    pub(super) fn is_contended_at(&self, attachment: &Attachment) -> Result<bool> {
        let attempt = self.owned(attachment)?;
        attempt.check_owner(None)?;
        // None: another call changes how it is held.
        let holding = attempt.site.local().holding();
        let (lock, me) = (FileLock::new(self.file.open.view(), self.lock.region), attachment.slot);
        let maybe = match self.config.discipline {
            Discipline::Queue if K::KIND != Kind::Mutex || holding.is_none() => true,
            Discipline::Queue if holding.is_some_and(|holding| holding.unbiased) => lock.may_have_waiters(me),
            Discipline::Queue => !lock.bias().is_unrevoked(attachment.mark),
            Discipline::Ring { .. } | Discipline::Messages => true,
        };
        Ok(maybe && lock.is_another_waiting(me))
    }
}
