//! The condition: participants that hold a lock wait until another one notifies them.

use super::{
    acquired::Acquired,
    claimed::{ClaimedOptions, claimed_options},
    guard::{Guard, GuardAs},
    handle::{BiasUse, ClaimOf, Handle, LockKind},
    mutex::MutexKind,
    participant::Participant,
    recorder::MayRecord,
    rwlock::RwLockKind,
    rwlock_guard::Writing,
    sleeping::{SleepsOn, error_of},
};
use crate::attach::{attachment::Attachment, file_handle::FileHandle, thread::with_thread_attachment};
use crate::layout::{Cell, CoordinationWords, Kind};
use crate::os::linux::Linux;
use crate::registers::{self, Exclusively, coordination_words};
use std::{sync::Arc, time::Duration};
use turnlock_core::acquire::site::Limit;
use turnlock_core::coordination::{self, Awake, Slept, Ticket};
use turnlock_core::error::{Awaited, Error, Result};
use turnlock_core::event::Event;
use turnlock_core::sync::Ordering::{AcqRel, Acquire};

/// The kind of a [`Condition`].
#[derive(Debug)]
pub enum ConditionKind {}

impl LockKind for ConditionKind {
    type Claims = Exclusively;
    const BIAS: BiasUse = BiasUse::None;
    const KIND: Kind = Kind::Condition;
    const NAME: &'static str = "condition";

    fn claims(_: u64) -> Exclusively {
        Exclusively
    }

    fn everything() {}
}

/// A condition in a lock file: a participant that holds a lock of the same file unlocks it and waits, in one step, until another
/// one notifies it; then it has the lock again. As `std::sync::Condvar`, between processes and over deaths.
///
/// - Waiters are notified in the order in which they came, and none without a notification: there are no spurious wake-ups. The
///   data may have changed again before a waiter has the lock, so look at them in a loop all the same.
/// - The notification of a waiter that dies before it has the lock goes to the next one, of those that waited by then. One that
///   dies or gives up before it was notified takes none with it.
/// - One that dies after it came back dies with the lock: no waiter is told, but the next holder gets the owner-dead notice. It
///   repairs the data, and notifies if they call for that.
/// - A waiter comes back with the lock, and with the owner-dead notice if the last holder died ([`Guard::acquired`]).
/// - The notifier need not hold the lock; if it changes the data, it does so with the lock.
///
/// It is used with one lock at a time: a [`super::Mutex`], or a [`super::RwLock`] that is held exclusively.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// # let ready = std::sync::atomic::AtomicBool::new(false);
/// # use std::sync::atomic::Ordering::Relaxed;
/// let (mutex, changed) = (file.mutex("data")?, file.condition("data changed")?);
/// std::thread::scope(|threads| {
///     threads.spawn(|| {
///         let guard = mutex.lock()?;
///         ready.store(true, Relaxed); // what the lock protects: shared memory, a file
///         changed.notify_one()?;
///         guard.unlock()
///     });
///     let mut guard = mutex.lock()?;
///     while !ready.load(Relaxed) {
///         changed.wait(&mut guard)?;
///     }
///     guard.unlock()
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Condition(pub(super) Handle<ConditionKind>);

/// Options for opening or creating a condition.
#[derive(Clone, Debug)]
pub struct ConditionOptions<'a>(pub(super) ClaimedOptions<'a>);

claimed_options!(ConditionOptions);

impl<'a> ConditionOptions<'a> {
    pub(super) fn new(file: &'a FileHandle) -> Self {
        Self(ClaimedOptions::new(file, Kind::Condition))
    }

    /// Opens the condition called `name`. Names have 1 to 63 bytes; a condition and its lock have different ones.
    ///
    /// # Errors
    /// As [`super::MutexOptions::open`].
    pub fn open(&self, name: &str) -> Result<Condition> {
        Ok(Condition(self.0.open(name)?))
    }
}

/// A guard that a [`Condition`] can wait with: of a mutex, or of a rwlock that is held exclusively.
pub trait ExclusiveGuard: sealed::Waits {}

impl<G: sealed::Waits> ExclusiveGuard for G {}

mod sealed {
    use super::{Condition, Limit, Result};

    pub trait Waits {
        /// Waits, and has the lock again. Whether it was notified, in the inner result.
        fn wait_at(&mut self, condition: &Condition, limit: Limit) -> Result<Result<()>>;
    }
}

impl Condition {
    /// Unlocks, waits without a limit until it is notified, and locks again.
    ///
    /// # Errors
    /// With the lock held as before: [`Error::Cancelled`], [`Error::Interrupted`]; [`Error::NotFound`] if the condition was removed,
    /// also meanwhile; [`Error::InvalidArgument`] if it is used with another lock, or the lock is one of another file, or a recursive
    /// one that this thread has more than once;
    /// [`Error::ParticipantBusy`] in a signal handler that has interrupted a wait of its thread here.
    ///
    /// With the lock lost, since it could not be taken again: [`Error::NotRecoverable`], [`Error::System`],
    /// [`Error::Permission`]; the notification goes to another waiter then, and the guard unlocks nothing. Of a file that is of no
    /// more use ([`Error::Damaged`], [`Error::Replaced`]) the lock may be held or not.
    pub fn wait(&self, guard: &mut impl ExclusiveGuard) -> Result<()> {
        guard.wait_at(self, Limit::Forever)?
    }

    /// Does what [`Condition::wait`] does, waiting for a notification for at most `limit`; then [`Error::TimedOut`], with the lock
    /// held. The lock is waited for without a limit.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # let folder = tempfile::tempdir()?;
    /// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
    /// let (mutex, changed) = (file.mutex("data")?, file.condition("data changed")?);
    /// let mut guard = mutex.lock()?;
    /// let waited = changed.wait_for(&mut guard, Duration::from_millis(5));
    /// assert!(matches!(waited, Err(turnlock::Error::TimedOut(_))));
    /// guard.unlock()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_for(&self, guard: &mut impl ExclusiveGuard, limit: Duration) -> Result<()> {
        guard.wait_at(self, Limit::For(limit))?
    }

    /// Waits while the data are not as they should be, by `is_not_so`, which is asked with the lock held: at once, and after each
    /// notification. Errors as [`Condition::wait`].
    pub fn wait_while<G: ExclusiveGuard>(
        &self,
        guard: &mut G,
        mut is_not_so: impl FnMut(&mut G) -> bool,
    ) -> Result<()> {
        while is_not_so(guard) {
            self.wait(guard)?;
        }
        Ok(())
    }

    /// Notifies the participant that has waited longest. Returns how many were notified, 0 or 1. A signal handler may do so.
    ///
    /// # Errors
    /// [`Error::NotFound`] if it was removed; [`Error::ParticipantsFull`] at a thread's first call; [`Error::Damaged`],
    /// [`Error::Replaced`].
    pub fn notify_one(&self) -> Result<u32> {
        self.0.notify_one()
    }

    /// Notifies every participant that waits by now, the one that has waited longest first. Returns how many. Errors as
    /// [`Condition::notify_one`].
    pub fn notify_all(&self) -> Result<u32> {
        self.0.notify_all()
    }

    /// Returns how many wait and are not notified.
    ///
    /// # Errors
    /// [`Error::NotFound`] if it was removed; [`Error::Damaged`].
    pub fn waiters(&self) -> Result<usize> {
        self.0.check_there()?;
        Ok(self.0.condition().waiters())
    }

    /// The handle under it.
    pub(crate) fn handle(&self) -> &Handle<ConditionKind> {
        &self.0
    }

    /// The same, without what is around it.
    #[cfg(feature = "capi")]
    pub(crate) fn into_handle(self) -> Handle<ConditionKind> {
        self.0
    }
}

/// What a participant holds and waits with.
pub(crate) struct Held<'a, K: LockKind> {
    /// The lock.
    pub handle: &'a Handle<K>,
    /// How it is taken again.
    pub claim: ClaimOf<K>,
    /// Whose it is; `None`: the calling thread's.
    pub participant: Option<&'a Participant>,
    /// The acquisition, if one is named.
    pub token: Option<u64>,
}

/// What came of a wait.
pub(crate) struct Waited {
    /// Whether it was notified, or why not.
    pub notified: Result<()>,
    /// The lock, taken again; or why it could not be.
    pub relocked: Result<Acquired>,
}

impl<K: LockKind> Held<'_, K> {
    /// Unlocks as often as it was taken. Returns how often that was.
    fn unlock(&self, attachment: &Attachment) -> Result<u64> {
        let Some(participant) = self.participant else {
            let taken = attachment.recursion(self.handle.lock.region).taken();
            let taken = if self.handle.is_recursive() { taken } else { 1 };
            if taken > 1 && self.token.is_some() {
                return Err(Error::InvalidArgument(format!(
                    "this thread has the recursive lock {taken} times, and the guards of the others would not have it any more: \
                     drop them before the wait"
                )));
            }
            for _ in 0..taken {
                self.handle.unlock(self.token)?;
            }
            return Ok(taken);
        };
        self.handle.unlock_as(participant, self.token).map(|()| 1)
    }

    /// Takes the lock again, as often as it was taken. What ends other waits does not end this one.
    fn relock(&self, attachment: &Attachment, taken: u64) -> Result<Acquired> {
        let mut cancelled = false;
        let acquired = loop {
            match self.handle.acquire_uninterrupted_at(attachment, self.claim) {
                Err(Error::Cancelled) => cancelled = true,
                acquired => break acquired,
            }
        };
        if cancelled {
            // It is for the next wait.
            attachment.request_cancel();
        }
        if acquired.is_ok() {
            for _ in 1..taken {
                attachment.recursion(self.handle.lock.region).again()?;
            }
        }
        acquired
    }
}

impl Handle<ConditionKind> {
    fn condition(&self) -> coordination::Condition<'_, Cell> {
        registers::condition(self.file.open.view(), self.lock.region, self.name.generation)
    }

    /// Its words, for a participant whose steps are recorded.
    fn condition_of<'a>(&'a self, records: &'a MayRecord) -> coordination::Condition<'a, Cell> {
        coordination::Condition { recorder: records.recorder(), ..self.condition() }
    }

    pub(crate) fn notify_one(&self) -> Result<u32> {
        with_thread_attachment(&self.file.open, |attachment| {
            self.check_there()?;
            let records = self.recorder_of(attachment.slot);
            let condition = self.condition_of(&records);
            let notified = condition.notify_one::<Linux>(|slot| self.reap_if_dead(attachment, slot));
            // One whose check for deaths failed has notified a waiter.
            records.note(Event::NotifyOne, notified.as_ref().map_or(1, |notified| u64::from(*notified)));
            notified
        })
    }

    pub(crate) fn notify_all(&self) -> Result<u32> {
        self.check_there()?;
        let records = self.recorder_of_thread();
        let notified = self.condition_of(&records).notify_all::<Linux>();
        records.note(Event::NotifyAll, u64::from(notified));
        Ok(notified)
    }

    /// Waits with what is held.
    ///
    /// # Errors
    /// Nothing was done, and the lock is held as before.
    pub(crate) fn wait<K: LockKind>(&self, held: &Held<K>, limit: Limit) -> Result<Waited> {
        if !Arc::ptr_eq(&held.handle.file.open, &self.file.open) {
            return Err(Error::InvalidArgument(format!(
                "the condition belongs to {} and the lock to {}: open both in the same file",
                self.file.open.reopen().path().display(),
                held.handle.file.open.reopen().path().display()
            )));
        }
        match held.participant {
            None => held.handle.with_holder(held.token, |attachment| self.wait_at(attachment, held, limit)),
            Some(participant) => {
                let attachment = held.handle.attachment_of(participant)?;
                let _call = attachment.begin_taking(self.lock.region)?;
                self.wait_at(attachment, held, limit)
            }
        }
    }

    fn wait_at<K: LockKind>(&self, attachment: &Attachment, held: &Held<K>, limit: Limit) -> Result<Waited> {
        let attempt = held.handle.owned(attachment)?;
        attempt.check_owner(held.token)?;
        self.use_with(held)?;
        let _wait = self.begin_wait(attachment)?;
        let me = attachment.slot;
        let records = self.recorder_of(me);
        // Before a notifier can find it.
        records.note(Event::WaitBegan, held.handle.lock.region as u64);
        let ticket = self.condition_of(&records).begin::<Linux>(me);
        let taken = match self.check_there().and_then(|()| held.unlock(attachment)) {
            Ok(taken) => taken,
            Err(error) => {
                records.note(Event::GaveUp, 0);
                self.condition_of(&records).decline::<Linux>(me);
                return Err(error);
            }
        };
        let notified = self.sleep_until_notified(attachment, ticket, limit);
        records.note_end(&notified);
        if !attachment.is_ours() {
            return Ok(Waited { notified: Err(Error::Interrupted), relocked: Err(Error::Interrupted) });
        }
        let relocked = held.relock(attachment, taken);
        match &relocked {
            Ok(_) => self.condition().consume(me),
            Err(_) => self.condition_of(&records).decline::<Linux>(me),
        }
        Ok(Waited { notified, relocked })
    }

    /// Sleeps until `me` is notified, or something else ends the wait: then it waits no longer. If it was notified meanwhile, that
    /// counts.
    fn sleep_until_notified(&self, attachment: &Attachment, ticket: Ticket, limit: Limit) -> Result<()> {
        let (me, condition) = (attachment.slot, self.condition());
        let wake = &self.file.open.view().lock(self.lock.region).cells()[me].called;
        let records = self.recorder_of(me);
        let look_after = || {
            self.condition_of(&records).look_after::<Linux>(me, |slot| self.reap_if_dead(attachment, slot))
        };
        let on = SleepsOn { wake, alone: true, awake: Awake::Spinning };
        let slept = self.sleep(attachment, &on, limit, || !condition.is_waiting(me, ticket), look_after);
        let error = match slept {
            Ok(Slept::Over) => return Ok(()),
            Ok(slept) => error_of(slept, limit, Awaited::Notification),
            Err(error) => Some(error),
        };
        if attachment.is_ours() && !condition.give_up(me, ticket) {
            return Ok(());
        }
        error.map_or(Ok(()), Err)
    }

    /// Checks that no participant waits with another lock.
    fn use_with<K: LockKind>(&self, held: &Held<K>) -> Result<()> {
        let partner = &coordination_words(self.file.open.view(), self.lock.region).partner;
        let name = &held.handle.name;
        let mine = CoordinationWords::partner_word(name.region, name.generation);
        loop {
            let now = partner.load(Acquire);
            if now == mine {
                return Ok(());
            }
            if now != 0 && self.condition().waiters() > 0 {
                return Err(Error::InvalidArgument(format!(
                    "the condition {:?} is waited for with another lock at this moment, and {:?} was given: use a condition with one lock",
                    self.called(),
                    held.handle.called()
                )));
            }
            if partner.compare_exchange(now, mine, AcqRel, Acquire).is_ok() {
                return Ok(());
            }
        }
    }
}

macro_rules! waits {
    ($kind:ty, $claim:expr, $guard:ident, $field:tt) => {
        impl sealed::Waits for waits!(@ $guard Guard $kind) {
            fn wait_at(&mut self, condition: &Condition, limit: Limit) -> Result<Result<()>> {
                let guard = waits!(@inner self $field);
                let (handle, token) = (guard.handle, Some(guard.fencing_token()));
                let held = Held { handle, claim: $claim, participant: None, token };
                let waited = condition.0.wait(&held, limit)?;
                guard.set_acquired(waited.relocked?);
                Ok(waited.notified)
            }
        }

        impl sealed::Waits for waits!(@ $guard GuardAs $kind) {
            fn wait_at(&mut self, condition: &Condition, limit: Limit) -> Result<Result<()>> {
                let guard = waits!(@inner self $field);
                let (handle, token) = (guard.handle, Some(guard.fencing_token()));
                let held = Held { handle, claim: $claim, participant: Some(guard.participant), token };
                let waited = condition.0.wait(&held, limit)?;
                guard.set_acquired(waited.relocked?);
                Ok(waited.notified)
            }
        }
    };
    (@ Plain $guard:ident $kind:ty) => { $guard<'_, $kind> };
    (@ Writing $guard:ident $kind:ty) => { Writing<$guard<'_, $kind>> };
    (@inner $self:ident plain) => { $self };
    (@inner $self:ident inner) => { &mut $self.0 };
}
waits!(MutexKind, (), Plain, plain);
waits!(RwLockKind, RwLockKind::everything(), Writing, inner);
