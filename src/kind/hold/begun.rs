//! An acquisition that a hold has begun, and finishes without a wait: for programs that wait by a descriptor, in an event loop.
//!
//! From the beginning to the end of it the hold is in a call, which is no thread's: `busy` is `BEGUN`. It waits as a future does
//! ([`crate::kind::asynchronous`]); the server acquires as the hold's own participant. So a hold that takes its acquisition back
//! waits until the server has let that go, which is as soon as it runs.

use super::{
    ACQUIRING, AnyHandleRef, BEGUN, Call, Hold, Wanted,
    by_server::{ByServer, return_unseen},
    of_any,
};
use crate::kind::{
    acquired::Acquired,
    any_handle::AnyHandle,
    asynchronous::{self, LineKey, Pending},
};
use crate::os::memory;
use std::{
    mem,
    os::fd::RawFd,
    sync::{Arc, MutexGuard, PoisonError},
    task::Poll,
    time::{Duration, Instant},
};
use turnlock_core::acquire::{attempt::Discipline, site::Limit};
use turnlock_core::algorithm::claim::Mode;
use turnlock_core::error::{Error, LockedBy, Result};
use turnlock_core::sync::Ordering::Relaxed;

/// What was begun.
pub(super) enum Begun {
    /// It was acquired at once.
    Done(Acquired),
    /// It waits, or has been granted something since.
    Waiting(Pending, Arc<ByServer>),
}

impl Wanted {
    /// Returns the same once more, unless it is several parts.
    fn single(&self) -> Option<Self> {
        match self {
            Self::Everything => Some(Self::Everything),
            Self::Claim(claim) => Some(Self::Claim(*claim)),
            Self::Part(part) => Some(Self::Part(*part)),
            Self::Parts(_) => None,
        }
    }
}

impl Hold {
    fn begun(&self) -> MutexGuard<'_, Option<Begun>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notifier(&self) -> &Arc<super::Notifier> {
        self.notifier.get_or_init(Arc::default)
    }

    /// Begins to take what is wanted of the lock, by the handle with this number. Does not wait: [`Hold::finish_acquire`] says what came
    /// of it.
    ///
    /// # Errors
    /// As [`Hold::acquire`]. Nothing was begun then. What comes of a wait, its time limit too, is said at the end.
    pub fn begin_acquire(&self, serial: u64, lock: AnyHandleRef, wanted: Wanted, limit: Limit) -> Result<()> {
        memory::check()?;
        self.check_file(lock)?;
        let mut call = self.begin(ACQUIRING)?;
        let calls = self.own.attachment.begin_taking(lock.region())?;
        self.remember(&mut call, serial, lock)?;
        // Until `busy` says so too, no other thread finishes it.
        let mut begun = self.begun();
        let (line, mut wanted) = (self.line_of(lock, &wanted), Some(wanted));
        let at_once = matches!(limit, Limit::Never | Limit::For(Duration::ZERO));
        // One by messages waits for its peers' answers, also where it does not wait for the lock.
        let by_messages =
            matches!(lock, AnyHandleRef::Mutex(handle) if handle.config.discipline == Discipline::Messages);
        let tried = if at_once {
            wanted.take()
        } else if !by_messages && asynchronous::is_empty(&line) {
            wanted.as_ref().and_then(Wanted::single)
        } else {
            None
        };
        let try_limit = if at_once { limit } else { Limit::Never };
        let more = &mut call.taken().more;
        let acquired = match tried.map(|tried| self.by().acquire(more, lock, tried, try_limit)) {
            None => None,
            Some(Err(Error::WouldBlock(_))) if !at_once => None,
            Some(acquired) => Some(acquired?),
        };
        // The server is to be in the next call on the participant.
        drop(calls);
        *begun = match (acquired, wanted) {
            (Some(acquired), _) => {
                self.notifier().begin().wake();
                Some(Begun::Done(acquired))
            }
            (None, wanted) => {
                let wanted = wanted.ok_or_else(|| Error::Internal("nothing is wanted".into()))?;
                let job = Arc::new(ByServer::new(self.by(), lock.to_owned(), wanted, mem::take(more)));
                // One that is too far away is none.
                let deadline = match limit {
                    Limit::For(limit) => Instant::now().checked_add(limit),
                    _ => None,
                };
                let pending = Pending::join(line, job.clone(), self.notifier().begin(), deadline);
                Some(Begun::Waiting(pending, job))
            }
        };
        mem::forget(call);
        // Relaxed: the call that ends it has the mutex first.
        self.busy.store(BEGUN, Relaxed);
        Ok(())
    }

    /// The line in which the hold waits. Several parts, and the turn of a ring, which has an order of its own, are a line of its own.
    fn line_of(&self, lock: AnyHandleRef, wanted: &Wanted) -> LineKey {
        let name = of_any!(AnyHandleRef, lock, handle => &handle.name);
        let line = LineKey {
            file: Arc::as_ptr(&self.file.open).addr(),
            lock: (name.region, name.generation),
            part: None,
            upgradable: false,
        };
        match wanted {
            Wanted::Part(part) => {
                LineKey { part: Some((part.claim.extent.first, part.claim.extent.last)), ..line }
            }
            Wanted::Claim(claim) => LineKey { upgradable: claim.mode == Mode::Upgradable, ..line },
            Wanted::Everything if !matches!(lock, AnyHandleRef::TurnRing(_)) => line,
            _ => LineKey { file: Arc::as_ptr(&self.own.attachment).addr(), ..line },
        }
    }

    /// Returns what came of the acquisition that was begun, and the last owner that died. With an error nothing is held, and it is over.
    ///
    /// # Errors
    /// Those of the acquisition; [`Error::WouldBlock`]: it waits still; [`Error::InvalidArgument`]: nothing was begun;
    /// [`Error::NotOwner`]: it was acquired, and is held no more.
    pub fn finish_acquire(&self) -> Result<(Acquired, (u64, u32))> {
        self.own.attachment.check()?;
        let mut begun = self.begun();
        let came = match &mut *begun {
            None => {
                return Err(Error::InvalidArgument(
                    "the hold has begun no acquisition, or it was finished before: begin one first".into(),
                ));
            }
            Some(Begun::Done(acquired)) => Ok(*acquired),
            Some(Begun::Waiting(pending, job)) => match pending.poll(&self.notifier().waker()) {
                // That of the time limit does not know who has the lock.
                Poll::Ready(Err(Error::TimedOut(_))) => Err(job.timed_out()),
                Poll::Ready(came) => came,
                Poll::Pending => return Err(Error::WouldBlock(LockedBy::UNKNOWN)),
            },
        };
        let over = begun.take();
        drop(begun);
        let mut call = self.end_begun(over, came.is_err());
        let acquired = came?;
        let (lock, mut held) = call.held()?;
        held.next().ok_or(Error::NotOwner)?;
        Ok((acquired, of_any!(AnyHandle, lock, handle => handle.dead_owner())))
    }

    /// Takes back the acquisition that was begun, if there is one; what was acquired is released. A death that it would have been told of
    /// is told to the next.
    ///
    /// # Errors
    /// [`Error::Closed`]; those of the release.
    pub fn cancel_acquire(&self) -> Result<()> {
        self.own.attachment.check()?;
        let begun = self.begun().take();
        let Some(begun) = begun else { return Ok(()) };
        let acquired = match &begun {
            Begun::Done(acquired) => Some(*acquired),
            Begun::Waiting(..) => None,
        };
        let mut call = self.end_begun(Some(begun), true);
        let Some(acquired) = acquired else { return Ok(()) };
        let (lock, held) = call.held()?;
        held.map(|participant| return_unseen(lock, participant, &acquired)).fold(Ok(()), Result::and)
    }

    /// Ends what was begun, once the server has let go of it, if it may not have. Returns the call that the hold was in.
    fn end_begun(&self, begun: Option<Begun>, waits_for_server: bool) -> Call<'_> {
        let mut call = Call(self);
        if let Some(Begun::Waiting(pending, job)) = begun {
            // If nothing came of it yet, this is what takes it back.
            drop(pending);
            if waits_for_server {
                job.wait_until_let_go();
            }
            call.taken().more = mem::take(&mut *job.more());
        }
        self.notifier().end();
        call
    }

    /// Has what was begun fail with [`Error::Cancelled`], if it waits. Returns whether it did.
    pub(super) fn cancel_begun(&self) -> bool {
        !self.own.attachment.of_thread
            && matches!(&*self.begun(), Some(Begun::Waiting(pending, _)) if pending.cancel())
    }

    /// Returns the number of the descriptor that is readable as long as what was begun can be finished. Always the same, and closed with
    /// the hold.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::System`].
    pub fn descriptor(&self) -> Result<RawFd> {
        self.own.attachment.check()?;
        self.notifier().descriptor()
    }
}
