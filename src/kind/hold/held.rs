//! What can be done with a hold that holds.

use super::{BRIEF, Hold, UPGRADING, of_any};
use crate::kind::{
    acquired::Acquired,
    any_handle::AnyHandle,
    condition::{ConditionKind, Held, Waited},
    handle::{Handle, LockKind},
    participant::Participant,
    rwlock::RwLockKind,
};
use std::cell::Cell;
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::Mode;
use turnlock_core::error::{Error, Result};

/// Returns the error of what cannot be done with a lock of this kind, if it is held.
fn unfit(lock: &AnyHandle, own: &Participant, error: impl FnOnce() -> Error) -> Error {
    let region = of_any!(AnyHandle, lock, handle => handle.region());
    if own.attachment.local(region).is_held() { error() } else { Error::NotOwner }
}

impl Hold {
    /// Does something that only the holder does, with each participant that has a part of what is held. Returns the first error.
    fn each(&self, act: impl Fn(&AnyHandle, &Participant) -> Result<()>) -> Result<()> {
        self.each_in(BRIEF, act)
    }

    /// [`Hold::each`], in a call of this kind.
    fn each_in(&self, call: usize, act: impl Fn(&AnyHandle, &Participant) -> Result<()>) -> Result<()> {
        let mut call = self.begin(call)?;
        let (lock, held) = call.held()?;
        let done = held.map(|participant| act(lock, participant)).fold(None, |done, one| match done {
            None | Some(Ok(())) => Some(one),
            failed => failed,
        });
        // Nothing is held, it says why.
        done.unwrap_or_else(|| act(lock, &self.own))
    }

    /// Releases what is held.
    pub fn release(&self) -> Result<()> {
        self.each(|lock, own| of_any!(AnyHandle, lock, handle => handle.unlock_as(own, None)))
    }

    /// Releases as a dying holder does.
    pub fn abandon(&self) -> Result<()> {
        self.each(|lock, own| of_any!(AnyHandle, lock, handle => handle.abandon_as(own, None)))
    }

    /// Marks consistent what dead holders left.
    pub fn mark_consistent(&self) -> Result<()> {
        let marked = Cell::new(false);
        let done = self.each(|lock, own| {
            match of_any!(AnyHandle, lock, handle => handle.mark_consistent_as(own)) {
                // One of several parts is enough.
                Err(Error::NotInconsistent) => return Ok(()),
                done => done?,
            }
            marked.set(true);
            Ok(())
        });
        if marked.get() { done } else { done.and(Err(Error::NotInconsistent)) }
    }

    /// Gives back so many of the permits that are held.
    pub fn release_permits(&self, permits: u32) -> Result<()> {
        self.each(|lock, own| match lock {
            AnyHandle::Semaphore(handle) => handle.release_permits_as(own, permits),
            _ => Err(unfit(lock, own, || {
                Error::InvalidArgument("what the hold has is not of a semaphore: release it whole".into())
            })),
        })
    }

    /// Returns the fencing token of what is held: of several parts, the largest.
    pub fn fencing_token(&self) -> Result<u64> {
        let token = Cell::new(0);
        self.each(|lock, own| {
            token.set(token.get().max(of_any!(AnyHandle, lock, handle => handle.token_as(own))?));
            Ok(())
        })?;
        Ok(token.get())
    }

    /// Makes what is held upgradable exclusive.
    pub fn upgrade(&self, limit: Limit) -> Result<(Acquired, (u64, u32))> {
        let upgraded = Cell::new(None);
        self.each_in(UPGRADING, |lock, own| {
            let AnyHandle::RwLock(handle) = lock else {
                return Err(unfit(lock, own, || Error::NotUpgradable));
            };
            upgraded.set(Some((handle.upgrade_as(own, limit)?, handle.dead_owner())));
            Ok(())
        })?;
        upgraded.get().ok_or(Error::NotOwner)
    }

    /// Waits at a condition with what is held: a mutex, or a rwlock in exclusive mode. Returns the last owner that died, too.
    pub fn wait(&self, condition: &Handle<ConditionKind>, limit: Limit) -> Result<(Waited, (u64, u32))> {
        let waited = Cell::new(None);
        self.each_in(UPGRADING, |lock, own| {
            let participant = Some(own);
            waited.set(Some(match lock {
                AnyHandle::Mutex(handle) => {
                    let held = Held { handle, claim: (), participant, token: None };
                    (condition.wait(&held, limit)?, handle.dead_owner())
                }
                AnyHandle::RwLock(handle) => {
                    handle.check_exclusive_as(own)?;
                    let held = Held { handle, claim: RwLockKind::everything(), participant, token: None };
                    (condition.wait(&held, limit)?, handle.dead_owner())
                }
                _ => {
                    return Err(unfit(lock, own, || {
                        Error::InvalidArgument(
                            "a condition waits with a mutex, or with a reader/writer lock that is held exclusively".into(),
                        )
                    }));
                }
            }));
            Ok(())
        })?;
        waited.take().ok_or(Error::NotOwner)
    }

    /// Makes what is held less than it is.
    pub fn downgrade(&self, mode: Mode) -> Result<()> {
        self.each(|lock, own| match lock {
            AnyHandle::RwLock(handle) => handle.downgrade_as(own, mode),
            _ => Err(unfit(lock, own, || Error::NotUpgradable)),
        })
    }

    /// Returns whether another participant waits for what is held.
    pub fn is_contended(&self) -> Result<bool> {
        let contended = Cell::new(false);
        self.each(|lock, own| {
            let one = of_any!(AnyHandle, lock, handle => handle.is_contended_as(own))?;
            contended.set(contended.get() | one);
            Ok(())
        })?;
        Ok(contended.get())
    }
}
