//! One acquisition for an owned guard, by a server.

use super::lines::LineKey;
use crate::attach::idle;
use crate::kind::{
    acquired::Acquired,
    handle::{ClaimOf, Handle, LockKind},
    owned::OwnedGuard,
    part::Part,
    participant::Participant,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use turnlock_core::acquire::{attempt::Discipline, site::Limit};
use turnlock_core::algorithm::claim::Mode;
use turnlock_core::error::{Error, Result};
use turnlock_core::requests::Job;

/// How a lock of a kind is taken as a participant. Of the part it looks at what the kind has: the mode, the weight, the extent.
type Take<K> = fn(&Handle<K>, &Participant, Part, Limit) -> Result<Acquired>;

/// What a future wants of a lock.
pub struct Wish<K: LockKind> {
    pub handle: Handle<K>,
    pub part: Part,
    pub take: Take<K>,
    /// What it claims by that.
    pub claim: fn(Part) -> ClaimOf<K>,
}

impl<K: LockKind> Wish<K> {
    /// The line in which it waits.
    pub fn line(&self) -> LineKey {
        let extent = self.part.claim.extent;
        LineKey {
            file: Arc::as_ptr(&self.handle.file.open).addr(),
            lock: (self.handle.region(), self.handle.name.generation),
            part: K::IN_PARTS.then_some((extent.first, extent.last)),
            upgradable: self.part.claim.mode == Mode::Upgradable,
        }
    }

    /// Takes it within `limit`, on the calling thread.
    pub fn take(&self, limit: Limit) -> Result<OwnedGuard<K>> {
        OwnedGuard::take(&self.handle, |participant| (self.take)(&self.handle, participant, self.part, limit))
    }

    /// Returns whether an acquisition that is not to wait does not: one by messages waits for its peers' answers.
    pub fn can_try(&self) -> bool {
        self.handle.config.discipline != Discipline::Messages
    }
}

/// The acquisition of what a future wants.
pub struct Acquisition<K: LockKind> {
    wish: Wish<K>,
    /// By which it is acquired, and held.
    participant: Mutex<Option<Participant>>,
}

impl<K: LockKind> Acquisition<K> {
    pub fn new(wish: Wish<K>) -> Self {
        Self { wish, participant: Mutex::new(None) }
    }

    fn participant(&self) -> MutexGuard<'_, Option<Participant>> {
        self.participant.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the guard of what was acquired.
    pub fn guard(&self, acquired: Acquired) -> Result<OwnedGuard<K>> {
        let participant = self.participant().take();
        let participant = participant.ok_or_else(|| Error::Internal("a lock without a holder".into()))?;
        Ok(OwnedGuard::of(&self.wish.handle, participant, acquired))
    }

    /// Returns the error for a wait whose time is over: who has the lock.
    pub fn timed_out(&self) -> Error {
        let Wish { handle, part, claim, .. } = &self.wish;
        Error::TimedOut(handle.locked_by(claim(*part)))
    }

    /// Keeps the participant for later.
    fn keep(&self) {
        let participant = self.participant().take();
        if let Some(participant) = participant {
            idle::keep(participant.attachment);
        }
    }
}

impl<K: LockKind> Job for Acquisition<K> {
    type Granted = Acquired;

    fn prepare(&self) -> Result<()> {
        let participant = OwnedGuard::participant_for(&self.wish.handle)?;
        *self.participant() = Some(participant);
        Ok(())
    }

    fn acquire(&self) -> Result<Acquired> {
        let participant = self.participant().clone();
        let Some(participant) = participant else { return Err(Error::Cancelled) };
        let Wish { handle, part, take, .. } = &self.wish;
        let taken = catch_unwind(AssertUnwindSafe(|| take(handle, &participant, *part, Limit::Forever)));
        let taken = taken.unwrap_or_else(|_| Err(Error::Internal("a panic in a wait for a future".into())));
        if taken.is_err() {
            self.keep();
        }
        taken
    }

    fn cancel(&self) {
        if let Some(participant) = &*self.participant() {
            participant.cancel();
        }
    }

    fn give_back(&self, granted: Result<Acquired>) {
        match granted.and_then(|acquired| self.guard(acquired)) {
            // An error of the unlock has nowhere to go, as that of a guard that is dropped.
            Ok(guard) => drop(guard.return_unseen()),
            Err(_) => self.keep(),
        }
    }
}
