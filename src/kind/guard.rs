//! Guards, which unlock their lock when they are dropped.

use super::{
    acquired::{Acquired, PreviousOwner},
    handle::{Handle, LockKind},
    participant::Participant,
};
use std::marker::PhantomData;
use turnlock_core::error::Result;

/// A guard of the calling thread: the lock is unlocked when it is dropped, and abandoned when a panic drops it.
#[must_use = "the lock is unlocked as soon as the guard is dropped"]
pub struct Guard<'a, K: LockKind> {
    pub(super) handle: &'a Handle<K>,
    fencing_token: u64,
    /// [`PANICKING`] and [`OWNER_DIED`], in a whole word: a guard without padding stays in registers where one with padding is copied
    /// byte by byte.
    marks: u64,
    _not_send: PhantomData<*const ()>,
}

/// The thread was unwinding already when it took the lock.
const PANICKING: u64 = 1;
/// The previous owner died inside.
const OWNER_DIED: u64 = 2;

#[inline(always)]
fn mark_of_death(acquired: Acquired) -> u64 {
    if acquired.previous_owner_died { OWNER_DIED } else { 0 }
}

/// A guard of a [`Participant`]: the lock is unlocked when it is dropped, on any thread.
#[must_use = "the lock is unlocked as soon as the guard is dropped"]
pub struct GuardAs<'a, K: LockKind> {
    pub(super) handle: &'a Handle<K>,
    pub(super) participant: &'a Participant,
    acquired: Acquired,
    panicking: bool,
}

impl<'a, K: LockKind> Guard<'a, K> {
    #[inline(always)]
    pub(super) fn new(handle: &'a Handle<K>, acquired: Acquired) -> Self {
        let marks = mark_of_death(acquired) | u64::from(std::thread::panicking());
        Self { handle, fencing_token: acquired.fencing_token, marks, _not_send: PhantomData }
    }

    /// Returns what came with the acquisition.
    #[inline]
    pub fn acquired(&self) -> Acquired {
        Acquired { fencing_token: self.fencing_token, previous_owner_died: self.marks & OWNER_DIED != 0 }
    }

    /// Stores what came with another acquisition that this guard stands for now.
    pub(super) fn set_acquired(&mut self, acquired: Acquired) {
        self.fencing_token = acquired.fencing_token;
        self.marks = self.marks & PANICKING | mark_of_death(acquired);
    }
}

impl<'a, K: LockKind> GuardAs<'a, K> {
    #[inline(always)]
    pub(super) fn new(handle: &'a Handle<K>, participant: &'a Participant, acquired: Acquired) -> Self {
        Self { handle, participant, acquired, panicking: std::thread::panicking() }
    }

    /// Returns what came with the acquisition.
    pub fn acquired(&self) -> Acquired {
        self.acquired
    }

    /// Stores what came with another acquisition that this guard stands for now.
    pub(super) fn set_acquired(&mut self, acquired: Acquired) {
        self.acquired = acquired;
    }
}

macro_rules! guard_methods {
    ($($guard:ident)*) => { $(impl<K: LockKind> $guard<'_, K> {
        /// Returns the fencing token of this acquisition.
        pub fn fencing_token(&self) -> u64 {
            self.acquired().fencing_token
        }

        /// Returns whether this host has the lock still: `false` once the lease of a linked lock has ended
        /// ([`super::LinkedLock::set_lease_end`]), from when on another host may have it. Without a lease, and of every other lock, always
        /// `true`. One load, and one look at the clock if there is a lease.
        ///
        /// It says what was so a moment ago: what goes out to others needs the fencing token besides.
        pub fn still_owner(&self) -> bool {
            self.handle.has_running_lease()
        }

        /// Returns the previous holder, if it died inside.
        pub fn previous_owner(&self) -> Option<PreviousOwner> {
            self.handle.previous_owner().filter(|_| self.acquired().previous_owner_died)
        }
    })* };
}
guard_methods!(Guard GuardAs);

impl<K: LockKind> Guard<'_, K> {
    /// Returns whether another participant is queued behind this one, so that a long holder can unlock for a moment. Of a mutex,
    /// without waiters, it is one look: at the bias word if the lock was taken by its bias, else at the hints of this holder's cell.
    /// Of other kinds it is a load for each slot in use.
    ///
    /// The answer is a hint. It misses a waiter that came some microseconds ago and spins, and may miss one that still has
    /// patience ([`super::MutexOptions::patience`]) and has backed off. Where it is `true`, a waiter was there a moment ago.
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
        self.handle.is_contended_of(Some(self.fencing_token)).unwrap_or(false)
    }

    /// Marks the data as consistent after a holder's death. [`crate::Error::NotInconsistent`] if no holder died.
    pub fn mark_consistent(&mut self) -> Result<()> {
        self.handle.mark_consistent_of(Some(self.fencing_token))
    }

    /// Unlocks, and returns the error that dropping the guard cannot.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] if the file was truncated or overwritten meanwhile, as far as that shows; [`crate::Error::LeaseEnded`]
    /// if the lock is leased, and the lease ended before. The section may not have been alone. The lock is unlocked all the same.
    #[inline]
    pub fn unlock(self) -> Result<()> {
        let (handle, token) = (self.handle, self.fencing_token);
        std::mem::forget(self);
        handle.unlock(Some(token))
    }

    /// Unlocks as a dying owner does, since the data were left half-done: the next holder gets the owner-dead notice. A panic
    /// that drops the guard does so too.
    pub fn abandon(self) -> Result<()> {
        let (handle, token) = (self.handle, self.fencing_token);
        std::mem::forget(self);
        handle.abandon(Some(token))
    }
}

impl<K: LockKind> GuardAs<'_, K> {
    /// Returns whether another participant is queued behind this one. As [`Guard::is_contended`].
    pub fn is_contended(&self) -> bool {
        self.handle.is_contended_as(self.participant).unwrap_or(false)
    }

    /// Marks the data as consistent after a holder's death. [`crate::Error::NotInconsistent`] if no holder died.
    pub fn mark_consistent(&mut self) -> Result<()> {
        self.handle.mark_consistent_as(self.participant)
    }

    /// Unlocks, and returns the error that dropping the guard cannot. Errors as [`Guard::unlock`].
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

// In both: a forked child's copy of a guard is not the owner; the error that says so is dropped.
impl<K: LockKind> Drop for Guard<'_, K> {
    #[inline]
    fn drop(&mut self) {
        if std::thread::panicking() {
            drop_in_a_panic(self.handle, self.fencing_token, self.marks & PANICKING != 0);
        } else {
            self.handle.unlock_unheard(self.fencing_token);
        }
    }
}

/// `panicked`: the thread was unwinding already when it took the lock, so that this panic left nothing half-done.
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
