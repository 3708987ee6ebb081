//! The agent's side of linked semaphores: the share that this host has of the permits.

use super::{
    handle::Handle,
    link_agent::{LinkAgent, LinkedLock},
    semaphore::{Semaphore, SemaphoreKind},
};
use crate::attach::{names::Name, site::FileSite, thread::with_thread_attachment};
use crate::layout::SlotState;
use crate::registers::{Claimed, FileLock};
use std::time::Duration;
use turnlock_core::acquire::{
    attempt::{Attempt, LockConfig},
    drain::{self, NO_PERMITS},
    link,
    site::{Limit, Lock},
};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::{Ordering::Relaxed, full_fence};

/// A linked semaphore that has this agent, until it is dropped: how many of its permits this host has, and what its programs want.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// let jobs = file.semaphore_options().permits(10).linked(true).open("jobs")?;
/// let agent = file.link_agent("agent")?;
/// let linked = agent.attach_semaphore(&jobs)?;
/// assert!((linked.total(), linked.share()) == (10, 0) && jobs.try_acquire(3).is_err());
///
/// // Three permits are no other host's.
/// linked.set_share(3)?;
/// let three = jobs.acquire(3)?;
/// assert_eq!(linked.demand().used, 3);
///
/// // Another host wants two of them, which it may have once they are given back here.
/// linked.set_share(1)?;
/// # let linked = &linked;
/// std::thread::scope(|threads| {
///     let drained = threads.spawn(|| linked.drain(3));
///     drop(three);
///     drained.join().unwrap()
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LinkedSemaphore {
    lock: LinkedLock,
    handle: Handle<SemaphoreKind>,
}

/// What the programs of this host have and want of a linked semaphore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkedDemand {
    /// The permits that they have.
    pub used: u64,
    /// The permits that others wait for.
    pub awaited: u64,
    /// Those that the first of them waits for; 0: none waits.
    pub first: u32,
}

impl LinkAgent {
    /// Takes on a linked semaphore of the same file, with the share that it has there.
    ///
    /// # Errors
    /// As [`LinkAgent::attach`].
    pub fn attach_semaphore(&self, semaphore: &Semaphore) -> Result<LinkedSemaphore> {
        let handle = semaphore.handle().clone();
        let lock = self.attach_to(Box::new(handle.clone()))?;
        Ok(LinkedSemaphore { lock, handle })
    }
}

impl LinkedSemaphore {
    fn registers(&self) -> FileLock<'_, Claimed> {
        let registers = self.lock.registers();
        FileLock::claimed(registers.view, registers.region, self.handle.claims)
    }

    /// Returns how many permits the semaphore has, over all hosts.
    pub fn total(&self) -> u32 {
        self.lock.link().total.load(Relaxed)
    }

    /// Returns how many of them this host has, taken or not. Only this agent changes that.
    pub fn share(&self) -> u32 {
        self.registers().queue().claims.permits()
    }

    /// Makes the share of this host so large, at once. A larger one lets those in that wait; the permits must be no other host's. If it is
    /// smaller, no program comes in any more that does not fit, and those inside stay: [`LinkedSemaphore::drain`] waits until they fit.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: it is more than the total. [`Error::Closed`] in a forked child; [`Error::NotFound`], [`Error::Damaged`].
    pub fn set_share(&self, permits: u32) -> Result<()> {
        let (attachment, link) = self.lock.checked()?;
        let total = link.total.load(Relaxed);
        if permits > total {
            return Err(Error::InvalidArgument(format!(
                "a share of {permits} permits was to be set, of a semaphore that has {total} over all hosts"
            )));
        }
        let lock = self.registers();
        drain::set(&lock, permits);
        // Partners: those of the waiters, after they say that they park. If ours comes first, their last look sees the share; if theirs
        // does, we see that they are parked.
        full_fence();
        lock.unpark_resized();
        lock.unpark_waiters_of(attachment.slot);
        Ok(())
    }

    /// Says until when this host has its permits: in nanoseconds by `CLOCK_BOOTTIME`; 0, as at first: until it gives them back. From then on
    /// the semaphore is *leased*: programs are admitted before that time only, one that is inside can ask whether its permits are its own still
    /// ([`super::Guard::still_owner`]), and no place is reserved. A later end, or none, is written at once, and programs are admitted again if
    /// that had ended: only if no other host has had any of these permits since, as those that are inside believe that they are their own again.
    ///
    /// A first lease begins while this host has no permit: it waits, without a limit, until no program is inside.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: a first lease is to begin, and this host has a share. Those of [`LinkedSemaphore::drain`] if one is to begin;
    /// then there is none. [`Error::Closed`] in a forked child; [`Error::NotFound`], [`Error::Damaged`].
    pub fn set_lease_end(&self, nanoseconds: u64) -> Result<()> {
        let (attachment, link) = self.lock.checked()?;
        if nanoseconds == 0 || link.lease_end.load(Relaxed) != 0 {
            link::renew_lease(&self.lock.registers(), attachment.slot, nanoseconds);
            return Ok(());
        }
        let share = self.share();
        if share > 0 {
            return Err(Error::InvalidArgument(format!(
                "a lease was to begin while this host has {share} permits, which it had without one: make the share 0 first"
            )));
        }
        self.as_agent(|attempt| attempt.begin_lease_of_share(nanoseconds, Limit::Forever))
    }

    /// Returns until when this host has its permits, as [`LinkedSemaphore::set_lease_end`] said it.
    pub fn lease_end(&self) -> u64 {
        self.lock.lease_end()
    }

    /// Waits, without a limit, until the permits that programs of this host have are no more than its share, or fewer than `below`, and stay so.
    /// Returns how many they are at most from then on, or the share if that is more: other hosts may have the rest, unless the share is made larger
    /// again. The calling thread takes a slot for it.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if this thread has the permits that are waited for; and as [`super::Mutex::lock`] for its wait.
    pub fn drain(&self, below: u32) -> Result<u32> {
        self.drain_within(below, Limit::Forever)
    }

    /// Does what [`LinkedSemaphore::drain`] does, waiting for at most `limit`; then [`Error::TimedOut`].
    pub fn drain_for(&self, below: u32, limit: Duration) -> Result<u32> {
        self.drain_within(below, Limit::For(limit))
    }

    fn drain_within(&self, below: u32, limit: Limit) -> Result<u32> {
        self.lock.checked()?;
        self.as_agent(|attempt| attempt.drain_share(below, limit))
    }

    /// Acts as a participant that wants no permits, in a slot of the calling thread.
    fn as_agent<T>(&self, act: impl FnOnce(Attempt<FileSite<'_, Claimed>>) -> Result<T>) -> Result<T> {
        let Handle { file, name, claims, config, .. } = &self.handle;
        let Name { region, generation } = **name;
        with_thread_attachment(&file.open, |attachment| {
            let site = FileSite::new(attachment, region, generation, *claims, file.interrupt.as_ref());
            let config = LockConfig { patience: 0, may_be_biased: false, is_linked: false, ..*config };
            act(Attempt { site, config, claim: NO_PERMITS })
        })
    }

    /// Returns what programs of this host have and want of it just now.
    pub fn demand(&self) -> LinkedDemand {
        let lock = self.registers();
        let slots = lock.view.slots();
        let waits = |slot: usize| {
            slots[slot].state.load(Relaxed) != SlotState::Free as u32 && lock.waiting_since(slot) != 0
        };
        let drain::Demand { used, awaited, first } = drain::demand(&lock, waits);
        LinkedDemand { used, awaited, first }
    }

    /// Returns how many permits a program wanted, and did not get at once, since this was asked last: the most that one of them wanted; 0: none
    /// did. It may have given up since, or have got them.
    pub fn take_wanted(&self) -> u32 {
        self.lock.checked().map_or(0, |(_, link)| link.take_wanted_permits())
    }
}

impl std::fmt::Debug for LinkedSemaphore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (share, total) = (self.share(), self.total());
        f.debug_struct("LinkedSemaphore")
            .field("share", &share)
            .field("total", &total)
            .finish_non_exhaustive()
    }
}
