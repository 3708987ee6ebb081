//! Guards: the lock is given back when they are dropped.

use super::{
    mutex::{Acquired, Mutex, PreviousOwner},
    participant::Participant,
};
use crate::error::Result;
use std::marker::PhantomData;

/// The lock is this thread's until the guard is dropped. Dropped by a panic, the lock passes on as from a dead owner.
#[must_use = "the lock is given back as soon as the guard is dropped"]
pub struct MutexGuard<'a> {
    mutex: &'a Mutex,
    acquired: Acquired,
    /// Was the thread unwinding already when it took the lock?
    panicking: bool,
    _not_send: PhantomData<*const ()>,
}

/// The lock is a [`Participant`]'s until the guard is dropped, on whichever thread.
#[must_use = "the lock is given back as soon as the guard is dropped"]
pub struct ParticipantGuard<'a> {
    mutex: &'a Mutex,
    participant: &'a Participant,
    acquired: Acquired,
    panicking: bool,
}

impl<'a> MutexGuard<'a> {
    #[inline]
    pub(super) fn new(mutex: &'a Mutex, acquired: Acquired) -> Self {
        Self { mutex, acquired, panicking: std::thread::panicking(), _not_send: PhantomData }
    }
}

impl<'a> ParticipantGuard<'a> {
    pub(super) fn new(mutex: &'a Mutex, participant: &'a Participant, acquired: Acquired) -> Self {
        Self { mutex, participant, acquired, panicking: std::thread::panicking() }
    }
}

macro_rules! guard_methods {
    ($($guard:ident)*) => { $(impl $guard<'_> {
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
            self.mutex.previous_owner().filter(|_| self.acquired.previous_owner_died)
        }
    })* };
}
guard_methods!(MutexGuard ParticipantGuard);

impl MutexGuard<'_> {
    /// Says that the data are well again after a holder's death. [`crate::Error::NotInconsistent`] if nobody died.
    pub fn mark_consistent(&mut self) -> Result<()> {
        self.mutex.mark_consistent()
    }

    /// Gives the lock back and says whether all was well, which dropping the guard cannot.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] if it is seen that the file was truncated or overwritten meanwhile: the section may
    /// not have been alone.
    #[inline]
    pub fn unlock(self) -> Result<()> {
        let (mutex, token) = (self.mutex, self.acquired.fencing_token);
        std::mem::forget(self);
        mutex.unlock(Some(token))
    }

    /// Gives the lock back as a dying owner does, since the data were left half-done: the next holder has the news.
    /// What a panic does by itself.
    pub fn abandon(self) -> Result<()> {
        let (mutex, token) = (self.mutex, self.acquired.fencing_token);
        std::mem::forget(self);
        mutex.abandon(Some(token))
    }
}

impl ParticipantGuard<'_> {
    /// Says that the data are well again after a holder's death. [`crate::Error::NotInconsistent`] if nobody died.
    pub fn mark_consistent(&mut self) -> Result<()> {
        self.mutex.mark_consistent_as(self.participant)
    }

    /// Gives the lock back and says whether all was well, which dropping the guard cannot. Errors as
    /// [`MutexGuard::unlock`].
    pub fn unlock(self) -> Result<()> {
        let (mutex, participant, token) = (self.mutex, self.participant, self.acquired.fencing_token);
        std::mem::forget(self);
        mutex.unlock_as(participant, Some(token))
    }

    /// Gives the lock back as a dying owner does, as [`MutexGuard::abandon`].
    pub fn abandon(self) -> Result<()> {
        let (mutex, participant, token) = (self.mutex, self.participant, self.acquired.fencing_token);
        std::mem::forget(self);
        mutex.abandon_as(participant, Some(token))
    }
}

// In both: a guard that a forked child only remembers is not the owner, and the error that says so needs no hearing.
impl Drop for MutexGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        if std::thread::panicking() {
            drop_in_a_panic(self.mutex, self.acquired.fencing_token, self.panicking);
        } else {
            self.mutex.unlock_unheard(self.acquired.fencing_token);
        }
    }
}

/// `panicked`: already when the lock was taken, so that this panic left nothing half-done.
#[cold]
#[inline(never)]
fn drop_in_a_panic(mutex: &Mutex, token: u64, panicked: bool) {
    let _ = if panicked { mutex.unlock(Some(token)) } else { mutex.abandon(Some(token)) };
}

impl Drop for ParticipantGuard<'_> {
    fn drop(&mut self) {
        let token = self.acquired.fencing_token;
        let _ = if std::thread::panicking() && !self.panicking {
            self.mutex.abandon_as(self.participant, Some(token))
        } else {
            self.mutex.unlock_as(self.participant, Some(token))
        };
    }
}
