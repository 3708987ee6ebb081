//! Slots that are left to an open file which others share: a shell has it open by a descriptor, and so have its subshells
//! and commands. The byte lock lives as long as the last copy of that descriptor.
//!
//! There is no moment in which nobody has the byte: the participant's own open file turns its write lock into a read lock,
//! the other one takes a read lock beside it, and then the own one unlocks. Whoever asks whether a slot is alive, or wants
//! it, asks for a write lock, and finds the byte taken by either.
//!
//! An open file is not refused what it holds itself. So no slot is ever *claimed* by one that others share, where two could
//! get the same; and whoever unlocks for it has [`HAND_BACK_BYTE`] first, by an open file of its own.

use super::{Actor, Hold, LivenessLock, slot_byte, slot_bytes};
use crate::layout::HAND_BACK_BYTE;
use crate::os::{
    byte_lock,
    fork::{self, ForkGuard},
    identity,
    reopen::Reopen,
};
use std::{
    mem::ManuallyDrop,
    ops::Range,
    os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd},
    time::Duration,
};
use turnlock_core::error::{Error, Result};

/// A descriptor that the caller names by its number, of the file. `Err`: it is none of it, or cannot hold a byte lock.
fn shared<'a>(file: &Reopen, number: RawFd) -> Result<BorrowedFd<'a>> {
    let known = identity::look_at(number).ok_or_else(|| {
        Error::InvalidArgument(format!(
            "{number} is no open descriptor: a shell opens one by `exec {number}<>FILE`"
        ))
    })?;
    // SAFETY: takes numbers only.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFL) };
    let reads = matches!(flags & libc::O_ACCMODE, libc::O_RDONLY | libc::O_RDWR);
    if flags < 0 || flags & libc::O_PATH != 0 || !reads {
        return Err(Error::InvalidArgument(format!(
            "descriptor {number} is not open for reading: a shell opens it by `exec {number}<>FILE`, and by `{number}>FILE` \
             empties the file"
        )));
    }
    if known.identity != file.identity() {
        return Err(Error::InvalidArgument(format!(
            "descriptor {number} is of another file than the lock file"
        )));
    }
    // SAFETY: open a moment ago; where another thread closes it, the kernel's answers are those for another file, and each
    // use asks again which file it is.
    Ok(unsafe { BorrowedFd::borrow_raw(number) })
}

impl LivenessLock {
    /// Has the open file behind descriptor `number`, which is open for reading, keep the byte lock too. Claimed by a descriptor.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if it is no such descriptor; then all is as before.
    pub fn share_with(&self, file: &Reopen, number: RawFd) -> Result<()> {
        let shared = shared(file, number)?;
        if !self.is_ours() {
            return Err(Error::Closed);
        }
        let fork_guard = ForkGuard::enter();
        let is_shared = self.share(file, shared);
        drop(fork_guard);
        match is_shared {
            Ok(true) => Ok(()),
            Ok(false) => Err(super::byte_locks_do_not_hold(file)),
            Err(error) => Err(error),
        }
    }

    /// Gives the own part of a byte lock back that is shared ([`LivenessLock::share_with`]).
    pub fn leave(mut self) {
        if self.is_ours() {
            let fork_guard = ForkGuard::enter();
            // SAFETY: taken once: `self` is forgotten below, without its `drop`.
            if let Hold::Descriptor { file: own, inherited } = unsafe { ManuallyDrop::take(&mut self.hold) } {
                if !inherited {
                    fork::forget_close_in_children(&fork_guard, own.as_raw_fd());
                }
                // Explicitly: a child's copy would keep it. Failing that, closing does it.
                let _ = byte_lock::unlock(&own, slot_bytes(self.slot..self.slot + 1));
            }
        }
        std::mem::forget(self);
    }

    /// Has `shared` hold the byte too. `false`: it does not, and all is as before.
    fn share(&self, file: &Reopen, shared: BorrowedFd) -> Result<bool> {
        let (byte, bytes) = (slot_byte(self.slot), slot_bytes(self.slot..self.slot + 1));
        let Hold::Descriptor { file: own, .. } = &*self.hold else {
            return Err(Error::InvalidArgument(
                "only a slot that is kept by a descriptor can be left to another one".into(),
            ));
        };
        if !file.is_of(own.as_fd()) {
            return Err(Error::Closed);
        }
        let taken = byte_lock::try_lock_shared(own, bytes.clone())
            .and_then(|_| byte_lock::try_lock_shared(shared, bytes.clone()));
        // Does the own one see it there? Then so does everybody.
        let seen = taken.and_then(|taken| Ok(taken && byte_lock::is_locked_by_another(own, byte)?));
        let shared_it = matches!(seen, Ok(true)) && file.is_of(shared);
        if !shared_it {
            let _ = byte_lock::unlock(shared, bytes.clone());
            let _ = byte_lock::try_lock(own, bytes);
        }
        seen.map(|_| shared_it)
    }
}

/// The byte locks of slots that were left to an open file, in the hand of one who is alone in unlocking for it.
pub struct AsLeft<'a> {
    file: &'a Reopen,
    number: RawFd,
    fork_guard: &'a ForkGuard,
}

impl AsLeft<'_> {
    /// Which of `slots` were left to it.
    pub fn slots(&self, slots: Range<usize>) -> Result<Vec<usize>> {
        let shared = shared(self.file, self.number)?;
        let Some(sight) = self.file.look_inside(self.fork_guard) else {
            return Err(Error::Internal("there is no descriptor to look at the lock file through".into()));
        };
        let mut left = Vec::new();
        for slot in slots {
            // Locked, and not by another open file than this one.
            if byte_lock::is_locked_by_another(sight.descriptor, slot_byte(slot))?
                && !byte_lock::is_locked_by_another(shared, slot_byte(slot))?
            {
                left.push(slot);
            }
        }
        Ok(left)
    }

    /// Gives the byte lock of `slot` back, which nobody uses any more.
    pub fn give_back(&self, slot: usize) -> Result<()> {
        byte_lock::unlock(shared(self.file, self.number)?, slot_bytes(slot..slot + 1))
    }
}

/// So often, so long apart, one looks whether nobody else unlocks for an open file of this lock file.
const LOOKS: u32 = 5_000;
const BETWEEN_THEM: Duration = Duration::from_millis(1);

/// Runs `act` while nobody else unlocks what was left to an open file of this lock file. Inside the fork guard.
pub fn with_hand_back<T>(file: &Reopen, number: RawFd, act: impl FnOnce(&AsLeft) -> Result<T>) -> Result<T> {
    for _ in 0..LOOKS {
        // No fork in between: a child's copy of the descriptor would keep the lock.
        let fork_guard = ForkGuard::enter();
        if let Some(actor) = Actor::new(file, &fork_guard)
            && actor.try_lock(HAND_BACK_BYTE..HAND_BACK_BYTE + 1)
        {
            return act(&AsLeft { file, number, fork_guard: &fork_guard });
        }
        drop(fork_guard);
        std::thread::sleep(BETWEEN_THEM);
    }
    Err(Error::Damaged {
        path: file.path(),
        why: format!(
            "somebody has been unlocking by a descriptor for {:?}, which takes microseconds otherwise: a process is stopped \
             in the midst of it; continue it or end it",
            BETWEEN_THEM * LOOKS
        ),
    })
}
