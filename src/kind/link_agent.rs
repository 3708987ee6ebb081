//! The agent of linked locks: what brings a lock to this host, and moves it away.

#[cfg(doc)]
use super::mutex::Mutex;
use super::{
    file::LockFile,
    linkable::{AgentHandle, AtTheHead, Linkable, ToAgent},
    participant::Participant,
};
use crate::attach::{attachment::Attachment, endpoint::skip_numbers, open_file::OpenFile, waiter};
use crate::os::{clock, linux::Linux};
use crate::registers::{FileLock, bell, forget_agent, link};
use std::{
    ops::RangeInclusive,
    sync::{self, PoisonError},
    time::Duration,
};
use turnlock_core::acquire::{link as moved, site::Limit};
use turnlock_core::algorithm::{
    link::{BlockFault, Link, Wish},
    ownership::{Health, TOKEN_LIMIT},
};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::Ordering::Relaxed;

/// An agent of linked locks ([`super::MutexOptions::linked`], [`super::RwLockOptions::linked`]), for programs that keep a lock among several
/// hosts; other programs have no use for it. `docs/hosts.md` says what it may rely on.
///
/// It has a slot in the file, by which others see whether it is alive. When it ends, its locks stay home or away, as they are.
///
/// ```
/// # use std::time::Duration;
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// let accounts = file.mutex_options().linked(true).open("accounts")?;
/// let agent = file.link_agent("agent")?;
/// let linked = agent.attach(&accounts)?;
/// assert!(!linked.is_home() && accounts.try_lock().is_err());
///
/// // No other host has the lock now, and these tokens are reserved for this one.
/// let first = linked.last_token() + 1;
/// linked.bring_home(first..=first + (1 << 36), linked.data())?;
/// assert_eq!(accounts.lock()?.fencing_token(), first);
///
/// // Another host wants it.
/// linked.move_away()?;
/// assert!(accounts.lock_for(Duration::from_millis(1)).is_err());
/// assert!(agent.wait(Duration::ZERO)? && linked.take_wanted());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LinkAgent {
    participant: Participant,
}

/// A linked lock that has this agent, until it is dropped.
pub struct LinkedLock {
    lock: Box<dyn AgentHandle>,
    participant: Participant,
    /// One call at a time moves the lock.
    writes: sync::Mutex<()>,
}

/// What is known of the data that a linked lock protects. It goes along when the lock is moved: an agent reads it after
/// [`LinkedLock::move_away`], and says it in [`LinkedLock::bring_home`] at the other host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkedData {
    /// They can be trusted.
    Consistent,
    /// A holder died inside, and the next one is to be told.
    Inconsistent,
    /// A holder that was told did not repair them: the lock is closed until a reset.
    NotRecoverable,
}

impl LinkedData {
    fn of(health: Health) -> Self {
        match health {
            Health::Consistent => Self::Consistent,
            Health::Inconsistent => Self::Inconsistent,
            Health::NotRecoverable => Self::NotRecoverable,
        }
    }

    fn health(self) -> Health {
        match self {
            Self::Consistent => Health::Consistent,
            Self::Inconsistent => Health::Inconsistent,
            Self::NotRecoverable => Health::NotRecoverable,
        }
    }
}

/// What programs want of a linked lock that does not admit them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkedWish {
    /// To read.
    Read,
    /// All of it, or what may become that: a mutex, a writer, one that may upgrade. Also where others want to read.
    Write,
}

/// How long an agent waits for another reaper that is at its predecessor's slot.
const REAPED_WITHIN: u32 = 100;
/// A nap of an agent that waits: for a bell that was overwritten.
const NAP: Duration = Duration::from_secs(1);

impl LockFile {
    /// Begins an agent for linked locks of this file, which calls itself `label`. It takes a slot.
    ///
    /// # Errors
    /// As [`super::ParticipantOptions::open`].
    pub fn link_agent(&self, label: &str) -> Result<LinkAgent> {
        Ok(LinkAgent { participant: self.participant_options().label(label).open()? })
    }
}

impl LinkAgent {
    /// Takes on a linked lock of the same file, home or away as it is. If its last agent is dead, that is reaped.
    ///
    /// # Errors
    /// [`Error::InUse`]: it has an agent that is alive, or this one. [`Error::InvalidArgument`]: it is not linked, or of another file.
    /// [`Error::NotFound`]: it was removed. [`Error::Closed`] in a forked child; [`Error::Damaged`], [`Error::Replaced`].
    pub fn attach(&self, lock: &impl Linkable) -> Result<LinkedLock> {
        let ToAgent(handle) = lock.to_agent();
        self.attach_to(handle)
    }

    pub(super) fn attach_to(&self, handle: Box<dyn AgentHandle>) -> Result<LinkedLock> {
        let attachment = handle.attachment_of(&self.participant)?;
        attachment.check()?;
        if !handle.still_exists() {
            return Err(attachment.file.removed());
        }
        if !handle.is_linked() {
            return Err(Error::InvalidArgument(format!(
                "the {} is not linked, and only a linked one has an agent: create it linked, by its options",
                handle.kind_name()
            )));
        }
        let region = handle.region();
        let linked = LinkedLock {
            lock: handle,
            participant: self.participant.clone(),
            writes: sync::Mutex::default(),
        };
        let me = attachment.slot;
        let link = linked.link();
        for _ in 0..REAPED_WITHIN {
            match link.agent() {
                None if moved::attach(&linked.registers(), me) => return Ok(linked),
                None => {}
                Some(other) if other != me && waiter::reap_if_dead(attachment, region, other)? => {}
                // Another reaper may be at it.
                Some(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        let (at, file) = (link.agent(), &attachment.file);
        // It is the other one's.
        std::mem::forget(linked);
        let record = at.and_then(|slot| file.view().slots().get(slot));
        let who = record.map_or_else(
            || "another one".into(),
            |record| format!("{} (pid {})", record.label.get(), record.pid.load(Relaxed)),
        );
        Err(Error::InUse {
            path: file.reopen().path(),
            why: format!(
                "its linked lock has an agent already, {who}: one agent at a time, so end that one first"
            ),
        })
    }

    /// Waits, for at most `limit`, until a program wants one of this agent's locks that does not admit it. Returns whether one does;
    /// [`LinkedLock::take_wanted`] says which.
    ///
    /// # Errors
    /// [`Error::Closed`] in a forked child; [`Error::Damaged`], [`Error::Replaced`].
    pub fn wait(&self, limit: Duration) -> Result<bool> {
        let attachment = &self.participant.attachment;
        let (file, view) = (&attachment.file, attachment.file.view());
        let record = &view.slots()[attachment.slot];
        let (bell, began) = (bell(record), clock::monotonic_ns());
        let is_wanted = || {
            view.regions_in_use().any(|region| {
                let link = link(&view.lock(region));
                link.agent() == Some(attachment.slot) && link.is_wanted()
            })
        };
        loop {
            attachment.check()?;
            if !file.is_intact() {
                return Err(file.not_intact());
            }
            let left = limit.saturating_sub(Duration::from_nanos(clock::monotonic_ns() - began));
            let is_wanted = bell.sleep::<Linux>(left.min(NAP), is_wanted);
            if is_wanted || left.is_zero() {
                return Ok(is_wanted);
            }
        }
    }

    /// Returns the number of its slot, as `status` shows it.
    pub fn slot(&self) -> usize {
        self.participant.slot()
    }
}

impl LinkedLock {
    pub(super) fn link(&self) -> Link<'_> {
        link(&self.file().view().lock(self.lock.region()))
    }

    /// Returns the lock's registers, for what does not depend on claims.
    pub(super) fn registers(&self) -> FileLock<'_> {
        FileLock::new(self.file().view(), self.lock.region())
    }

    fn file(&self) -> &OpenFile {
        &self.participant.attachment.file
    }

    /// Returns the agent's attachment and the words of the link, which it may write.
    pub(super) fn checked(&self) -> Result<(&Attachment, Link<'_>)> {
        let attachment = &self.participant.attachment;
        attachment.check()?;
        if !self.file().is_intact() {
            return Err(self.file().not_intact());
        }
        if !self.lock.still_exists() {
            return Err(self.file().removed());
        }
        let link = self.link();
        if link.agent() != Some(attachment.slot) {
            return Err(self.file().damaged(
                "another agent stands where this one wrote itself down: the file was overwritten; stop its users, delete it and let it \
                 be created anew"
                    .into(),
            ));
        }
        Ok((attachment, link))
    }

    /// Returns whether the lock is home. Only this agent changes that.
    pub fn is_home(&self) -> bool {
        !self.link().is_away()
    }

    /// Returns whether the lock is home to read, as [`LinkedLock::bring_home_to_read`] brought it. Only this agent changes that.
    pub fn is_home_to_read(&self) -> bool {
        self.link().is_home_to_read()
    }

    /// Returns what is known of the data that it protects: at home just now, away since it was moved.
    pub fn data(&self) -> LinkedData {
        LinkedData::of(self.link().health())
    }

    /// Returns the last fencing token that was given out here: at home just now, away since it was moved.
    pub fn last_token(&self) -> u64 {
        self.link().token.load(Relaxed)
    }

    /// Returns the last token of the block that is reserved for this host; 0: none is, as where the lock is home to read.
    pub fn token_end(&self) -> u64 {
        self.link().token_end.load(Relaxed)
    }

    /// Moves the lock away: waits for it like any participant that wants all of it (of a rwlock, like a writer), first come first served,
    /// without a limit. From then on no program is admitted, and another host may have it. The calling thread takes a slot for it. A lock that
    /// is away stays so.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if this thread holds the lock; and as [`Mutex::lock`], but for [`Error::NotRecoverable`]. The lock is home then.
    pub fn move_away(&self) -> Result<()> {
        self.move_away_within(Limit::Forever)
    }

    /// Does what [`LinkedLock::move_away`] does, waiting for at most `limit`; then [`Error::TimedOut`], and the place in the queue is
    /// given up.
    pub fn move_away_for(&self, limit: Duration) -> Result<()> {
        self.move_away_within(Limit::For(limit))
    }

    fn move_away_within(&self, limit: Limit) -> Result<()> {
        let _alone = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        self.checked()?;
        self.lock.at_the_head(AtTheHead::MoveAway, limit)
    }

    /// Says until when this host has the privilege: in nanoseconds by `CLOCK_BOOTTIME`; 0, as at first: until it gives it up. From then on
    /// the lock is *leased*. It admits programs before that time only, a holder can ask whether it is still the owner
    /// ([`super::Guard::still_owner`]), and the lock is never biased.
    ///
    /// While the lock is home a first lease begins at the head of its queue, as [`LinkedLock::move_away`] waits for it; a later end, or
    /// none, is written at once, and programs are admitted again if that had ended. After a lease has ended it may be renewed only if no
    /// other host has had the lock since: a holder that is inside believes that it is the owner again. Else the lock is moved away first,
    /// and has the new end before it is brought home.
    ///
    /// # Errors
    /// Those of [`LinkedLock::move_away`] if a first lease is to begin; then there is none. [`Error::Closed`] in a forked child;
    /// [`Error::NotFound`], [`Error::Damaged`].
    pub fn set_lease_end(&self, nanoseconds: u64) -> Result<()> {
        let _alone = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        let (attachment, link) = self.checked()?;
        if nanoseconds != 0 && link.lease_end.load(Relaxed) == 0 && !link.is_away() {
            return self.lock.at_the_head(AtTheHead::BeginLease(nanoseconds), Limit::Forever);
        }
        moved::renew_lease(&self.registers(), attachment.slot, nanoseconds);
        Ok(())
    }

    /// Returns until when this host has the privilege, as [`LinkedLock::set_lease_end`] said it.
    pub fn lease_end(&self) -> u64 {
        self.link().lease_end.load(Relaxed)
    }

    /// Brings the lock home: no other host has it, and the fencing tokens of `block` are reserved for this one. Programs are admitted from
    /// then on. `data`: what is known of the data, from the host that had the lock last.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: the lock is home; the block is empty, begins no later than [`LinkedLock::last_token`], or ends at
    /// 2^63 or later. [`Error::Closed`] in a forked child; [`Error::NotFound`], [`Error::Damaged`]. The lock is as it was then.
    pub fn bring_home(&self, block: RangeInclusive<u64>, data: LinkedData) -> Result<()> {
        let (first, last) = (*block.start(), *block.end());
        let _alone = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        let (attachment, link) = self.checked()?;
        self.check_away(link)?;
        link.check_block(first, last).map_err(|fault| {
            Error::InvalidArgument(match fault {
                BlockFault::Used(token) => format!(
                    "the block begins with token {first}, and {token} was given out already: tokens never fall, so reserve a block \
                     that begins later"
                ),
                BlockFault::Impossible => format!(
                    "a block of tokens from {first} to {last} was to be set: it has one at least, from 1 to 2^63 - 1"
                ),
            })
        })?;
        self.skip_to(first - 1, data);
        moved::bring_home(&self.registers(), attachment.slot, (first, last), data.health());
        Ok(())
    }

    /// Brings a rwlock home *to read*: no other host writes, and several may have it so at once. Readers are admitted from then on; no writer is, and
    /// no program that may upgrade. `token`: the last fencing token of any host, which readers have. `data`: what is known of the data, from
    /// the host that wrote last.
    ///
    /// Before it is brought home otherwise it is moved away.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: it is no rwlock; it is home; `token` is less than [`LinkedLock::last_token`], 0, or 2^63 or more.
    /// [`Error::Closed`] in a forked child; [`Error::NotFound`], [`Error::Damaged`]. The lock is as it was then.
    pub fn bring_home_to_read(&self, token: u64, data: LinkedData) -> Result<()> {
        let _alone = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        let (attachment, link) = self.checked()?;
        if !self.lock.has_readers() {
            return Err(Error::InvalidArgument(format!(
                "a {} has no readers: only a rwlock is brought home to read",
                self.lock.kind_name()
            )));
        }
        self.check_away(link)?;
        let given_out = link.token.load(Relaxed);
        if token < given_out || token == 0 || token >= TOKEN_LIMIT {
            return Err(Error::InvalidArgument(format!(
                "readers were to have token {token}, and {given_out} was given out already: tokens never fall, and are from 1 to 2^63 - 1"
            )));
        }
        self.skip_to(token, data);
        moved::bring_home_to_read(&self.registers(), attachment.slot, token, data.health());
        Ok(())
    }

    fn check_away(&self, link: Link<'_>) -> Result<()> {
        if link.is_away() {
            return Ok(());
        }
        Err(Error::InvalidArgument(
            "the lock is home: move it away first, or extend the block that it has".into(),
        ))
    }

    /// Notes, while the lock is away, that other hosts gave out the tokens up to `token`, and what they know of the data.
    fn skip_to(&self, token: u64, data: LinkedData) {
        let words = self.file().view().lock(self.lock.region()).words;
        if data != self.data() {
            // It speaks of a death here, and not of the one that the next holder is told of.
            words.previous_owner.clear();
        }
        skip_numbers(words, token);
    }

    /// Has the block of tokens end at `last`, while the lock is home; nothing changes if it ends there or later already. The tokens up to
    /// it are reserved for this host.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: the lock is away, or home to read, or `last` is 2^63 or more. [`Error::Closed`] in a forked child;
    /// [`Error::NotFound`], [`Error::Damaged`].
    pub fn extend(&self, last: u64) -> Result<()> {
        let (attachment, link) = self.checked()?;
        if link.is_away() || link.is_home_to_read() || last >= TOKEN_LIMIT {
            return Err(Error::InvalidArgument(format!(
                "the block of tokens was to end at {last}: that of a lock that is home, and not to read alone, can be extended, up to 2^63 - 1"
            )));
        }
        moved::extend(&self.registers(), attachment.slot, last);
        Ok(())
    }

    /// Returns whether a program has wanted the lock, and was not admitted, since this was asked last. It may have given up since, or been
    /// admitted.
    pub fn take_wanted(&self) -> bool {
        self.take_wish().is_some()
    }

    /// Returns what programs have wanted that were not admitted, since this or [`LinkedLock::take_wanted`] was asked last.
    pub fn take_wish(&self) -> Option<LinkedWish> {
        self.participant.attachment.check().ok()?;
        self.link().take_wanted().map(|wish| match wish {
            Wish::Read => LinkedWish::Read,
            Wish::Write => LinkedWish::Write,
        })
    }
}

impl Drop for LinkedLock {
    fn drop(&mut self) {
        let attachment = &self.participant.attachment;
        if attachment.check().is_ok() {
            forget_agent(self.file().view(), self.lock.region(), attachment.slot);
        }
    }
}

impl std::fmt::Debug for LinkAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinkAgent").field("slot", &self.slot()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for LinkedLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinkedLock").field("is_home", &self.is_home()).finish_non_exhaustive()
    }
}
