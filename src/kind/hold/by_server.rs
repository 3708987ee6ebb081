//! The acquisition of a hold by a server ([`crate::kind::asynchronous`]), as the hold's own participants.

use super::{By, Wanted, of_any};
use crate::attach::{attachment::AttachOptions, file_handle::FileHandle};
use crate::kind::{acquired::Acquired, any_handle::AnyHandle, participant::Participant};
use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::{Claim, Mode};
use turnlock_core::error::{Error, LockedBy, Result};
use turnlock_core::requests::Job;

/// Releases what a participant has and has not seen.
pub(super) fn return_unseen(lock: &AnyHandle, participant: &Participant, acquired: &Acquired) -> Result<()> {
    of_any!(AnyHandle, lock, handle => {
        if acquired.previous_owner_died {
            handle.abandon_as(participant, None)
        } else {
            handle.unlock_as(participant, None)
        }
    })
}

/// One such acquisition.
pub(super) struct ByServer {
    own: Participant,
    options: Option<AttachOptions>,
    file: FileHandle,
    lock: AnyHandle,
    wanted: Mutex<Option<Wanted>>,
    /// What it claims, unless it is several parts.
    claim: Option<Claim>,
    more: Mutex<Vec<Participant>>,
    state: Mutex<Served>,
    /// Notified when the server lets go of the participants.
    let_go: Condvar,
}

#[derive(Default)]
struct Served {
    /// The server may be in a call on the participants, or they have what it acquired.
    is_served: bool,
    /// That call was cancelled, which is to be taken back.
    is_cancelled: bool,
}

impl ByServer {
    /// Of what is wanted of the lock. `more`: the participants that the hold has for further parts.
    pub fn new(by: By<'_>, lock: AnyHandle, wanted: Wanted, more: Vec<Participant>) -> Self {
        let claim = match &wanted {
            Wanted::Everything => Some(Claim::whole(Mode::Exclusive)),
            Wanted::Claim(claim) => Some(*claim),
            Wanted::Part(part) => Some(part.claim),
            Wanted::Parts(_) => None,
        };
        Self {
            claim,
            own: by.own.clone(),
            options: by.options.cloned(),
            file: by.file.clone(),
            lock,
            wanted: Mutex::new(Some(wanted)),
            more: Mutex::new(more),
            state: Mutex::default(),
            let_go: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, Served> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the error for a wait whose time is over: who has the lock.
    pub fn timed_out(&self) -> Error {
        let Some(claim) = self.claim else { return Error::TimedOut(LockedBy::UNKNOWN) };
        Error::TimedOut(match &self.lock {
            AnyHandle::Mutex(handle) => handle.locked_by(()),
            AnyHandle::TurnRing(handle) => handle.locked_by(()),
            AnyHandle::RwLock(handle) => handle.locked_by(claim),
            AnyHandle::Semaphore(handle) => handle.locked_by(claim),
            AnyHandle::RangeLock(handle) => handle.locked_by(claim),
            AnyHandle::KeyedLock(handle) => handle.locked_by(claim),
            AnyHandle::GroupLock(handle) => handle.locked_by(claim),
            _ => LockedBy::UNKNOWN,
        })
    }

    /// The participants for further parts.
    pub fn more(&self) -> MutexGuard<'_, Vec<Participant>> {
        self.more.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn let_go(&self) {
        let mut state = self.state();
        state.is_served = false;
        if mem::take(&mut state.is_cancelled) {
            // Else it would end a wait of the next acquisition.
            self.own.clear_cancel();
        }
        drop(state);
        self.let_go.notify_all();
    }

    /// Waits until no server is in a call on the participants. Not for an acquisition that was granted.
    pub fn wait_until_let_go(&self) {
        let mut state = self.state();
        while state.is_served {
            state = self.let_go.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn acquire_now(&self) -> Result<Acquired> {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner).take();
        let wanted = wanted.ok_or(Error::Cancelled)?;
        let lock = self.lock.borrowed();
        let _calls = self.own.attachment.begin_taking(lock.region())?;
        let by = By { own: &self.own, options: self.options.as_ref(), file: &self.file };
        by.acquire(&mut self.more(), lock, wanted, Limit::Forever)
    }
}

impl Job for ByServer {
    type Granted = Acquired;

    fn prepare(&self) -> Result<()> {
        self.state().is_served = true;
        Ok(())
    }

    fn acquire(&self) -> Result<Acquired> {
        let acquired = catch_unwind(AssertUnwindSafe(|| self.acquire_now()));
        let acquired =
            acquired.unwrap_or_else(|_| Err(Error::Internal("a panic in the wait of a hold".into())));
        if acquired.is_err() {
            self.let_go();
        }
        acquired
    }

    fn cancel(&self) {
        let mut state = self.state();
        if state.is_served {
            state.is_cancelled = true;
            self.own.cancel();
        }
    }

    fn give_back(&self, granted: Result<Acquired>) {
        if let Ok(acquired) = granted {
            let region = self.lock.borrowed().region();
            let more = self.more();
            let all = std::iter::once(&self.own).chain(more.iter());
            for participant in all.filter(|one| one.attachment.local(region).is_held()) {
                // An error has nowhere to go, and says that it is not held.
                let _ = return_unseen(&self.lock, participant, &acquired);
            }
        }
        self.let_go();
    }
}
