//! Guards: the lock is unlocked when they are dropped.

use super::{
    acquired::{Acquired, PreviousOwner},
    handle::{Handle, LockKind},
    participant::Participant,
};
use std::marker::PhantomData;
use turnlock_core::error::Result;

/// The lock is this thread's until the guard is dropped. Dropped by a panic, the lock passes on as from a dead owner.
#[must_use = "the lock is unlocked as soon as the guard is dropped"]
pub struct Guard<'a, K: LockKind> {
    pub(super) handle: &'a Handle<K>,
    pub(super) acquired: Acquired,
    /// Whether the thread was unwinding already when it took the lock.
    panicking: bool,
    _not_send: PhantomData<*const ()>,
}

/// The lock is a [`Participant`]'s until the guard is dropped, on whichever thread.
#[must_use = "the lock is unlocked as soon as the guard is dropped"]
pub struct GuardAs<'a, K: LockKind> {
    pub(super) handle: &'a Handle<K>,
    pub(super) participant: &'a Participant,
    pub(super) acquired: Acquired,
    panicking: bool,
}

impl<'a, K: LockKind> Guard<'a, K> {
    #[inline(always)]
    pub(super) fn new(handle: &'a Handle<K>, acquired: Acquired) -> Self {
        Self { handle, acquired, panicking: std::thread::panicking(), _not_send: PhantomData }
    }
}

impl<'a, K: LockKind> GuardAs<'a, K> {
    #[inline(always)]
    pub(super) fn new(handle: &'a Handle<K>, participant: &'a Participant, acquired: Acquired) -> Self {
        Self { handle, participant, acquired, panicking: std::thread::panicking() }
    }
}

macro_rules! guard_methods {
    ($($guard:ident)*) => { $(impl<K: LockKind> $guard<'_, K> {
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
            self.handle.previous_owner().filter(|_| self.acquired.previous_owner_died)
        }
    })* };
}
guard_methods!(Guard GuardAs);

impl<K: LockKind> Guard<'_, K> {
    /// Returns whether another participant is queued behind this one: for a long holder, that may unlock for a moment where
    /// somebody waits. One look where nobody does: at the bias word if the lock was taken by its bias, else at the hints
    /// of this holder's cell.
    ///
    /// A hint. It misses who came some microseconds ago and spins, and may miss who still has patience
    /// ([`super::MutexOptions::patience`]) and stands by. Where it says yes, somebody waited a moment ago.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
    /// let mutex = file.mutex("accounts")?;
    /// let mut guard = mutex.lock()?;
    /// for _part in 0..1000 {
    ///     // a part of the work, after which the data are in order
    ///     if guard.is_contended() {
    ///         guard.unlock()?;
    ///         guard = mutex.lock()?; // after the others
    ///     }
    /// }
    /// # drop(guard);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_contended(&self) -> bool {
        self.handle.is_contended_of(Some(self.acquired.fencing_token)).unwrap_or(false)
    }

    /// Marks the data as consistent after a holder's death. [`crate::Error::NotInconsistent`] if nobody died.
    pub fn mark_consistent(&mut self) -> Result<()> {
        self.handle.mark_consistent_of(Some(self.acquired.fencing_token))
    }

    /// Unlocks and says whether all was well, which dropping the guard cannot.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] if it is seen that the file was truncated or overwritten meanwhile: the section may
    /// not have been alone.
    #[inline]
    pub fn unlock(self) -> Result<()> {
        let (handle, token) = (self.handle, self.acquired.fencing_token);
        std::mem::forget(self);
        handle.unlock(Some(token))
    }

    /// Unlocks as a dying owner does, since the data were left half-done: the next holder gets the owner-dead notice.
    /// What a panic does by itself.
    pub fn abandon(self) -> Result<()> {
        let (handle, token) = (self.handle, self.acquired.fencing_token);
        std::mem::forget(self);
        handle.abandon(Some(token))
    }
}

impl<K: LockKind> GuardAs<'_, K> {
    /// Returns whether another participant is queued behind this one. As [`Guard::is_contended`].
    pub fn is_contended(&self) -> bool {
        self.handle.is_contended_as(self.participant).unwrap_or(false)
    }

    /// Marks the data as consistent after a holder's death. [`crate::Error::NotInconsistent`] if nobody died.
    pub fn mark_consistent(&mut self) -> Result<()> {
        self.handle.mark_consistent_as(self.participant)
    }

    /// Unlocks and says whether all was well, which dropping the guard cannot. Errors as
    /// [`Guard::unlock`].
    #[inline]
    pub fn unlock(self) -> Result<()> {
        let (handle, participant, token) = (self.handle, self.participant, self.acquired.fencing_token);
        std::mem::forget(self);
        handle.unlock_as(participant, Some(token))
    }

    /// Unlocks as a dying owner does, as [`Guard::abandon`].
    pub fn abandon(self) -> Result<()> {
        let (handle, participant, token) = (self.handle, self.participant, self.acquired.fencing_token);
        std::mem::forget(self);
        handle.abandon_as(participant, Some(token))
    }
}

// In both: a guard that a forked child only remembers is not the owner, and the error that says so needs no hearing.
impl<K: LockKind> Drop for Guard<'_, K> {
    #[inline]
    fn drop(&mut self) {
        if std::thread::panicking() {
            drop_in_a_panic(self.handle, self.acquired.fencing_token, self.panicking);
        } else {
            self.handle.unlock_unheard(self.acquired.fencing_token);
        }
    }
}

/// `panicked`: already when the lock was taken, so that this panic left nothing half-done.
#[cold]
#[inline(never)]
fn drop_in_a_panic<K: LockKind>(handle: &Handle<K>, token: u64, panicked: bool) {
    let _ = if panicked { handle.unlock(Some(token)) } else { handle.abandon(Some(token)) };
}

impl<K: LockKind> Drop for GuardAs<'_, K> {
    #[inline]
    fn drop(&mut self) {
        let token = self.acquired.fencing_token;
        let _ = if std::thread::panicking() && !self.panicking {
            self.handle.abandon_as(self.participant, Some(token))
        } else {
            self.handle.unlock_as(self.participant, Some(token))
        };
    }
}
