//! Slots that are transferred to an open file which several processes share: a shell's, which its subshells and commands
//! inherit. The byte lock lives as long as the last copy of that descriptor.
//!
//! The byte is held at every moment: the participant's own open file turns its write lock into a read lock, the shared one
//! takes a read lock beside it, and then the own one unlocks. A liveness check, or a claim, asks for a write lock, and finds
//! the byte taken by the one, by both, or by the other.
//!
//! An open file is not refused what it holds itself. So no slot is ever *claimed* by one that several processes share, where
//! two could get the same; and a process that unlocks for it locks [`HAND_BACK_BYTE`] first, by an open file of its own: else
//! two could give the same slot back, the second one after a newcomer has taken it.

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

/// Returns the descriptor with this number. `Err`: it is none of the file, or cannot hold a byte lock.
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
                "only a slot that is kept by a descriptor can be left to another descriptor".into(),
            ));
        };
        if !file.is_of(own.as_fd()) {
            return Err(Error::Closed);
        }
        let taken = byte_lock::try_lock_shared(own, bytes.clone())
            .and_then(|_| byte_lock::try_lock_shared(shared, bytes.clone()));
        // If the own one sees it there, every other one does.
        let seen = taken.and_then(|taken| Ok(taken && byte_lock::is_locked_by_another(own, byte)?));
        let shared_it = matches!(seen, Ok(true)) && file.is_of(shared);
        if !shared_it {
            let _ = byte_lock::unlock(shared, bytes.clone());
            let _ = byte_lock::try_lock(own, bytes);
        }
        seen.map(|_| shared_it)
    }
}

/// The byte locks of slots that were transferred to an open file, while no other process unlocks for it.
pub struct AsLeft<'a> {
    file: &'a Reopen,
    number: RawFd,
    fork_guard: &'a ForkGuard,
}

impl AsLeft<'_> {
    /// Returns which of `slots` were transferred to it.
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

    /// Gives the byte lock of `slot` back, which holds nothing any more.
    pub fn give_back(&self, slot: usize) -> Result<()> {
        byte_lock::unlock(shared(self.file, self.number)?, slot_bytes(slot..slot + 1))
    }
}

/// How often, and how far apart, a process tries to be alone in unlocking for open files of this lock file.
const LOOKS: u32 = 5_000;
const BETWEEN_THEM: Duration = Duration::from_millis(1);

/// Runs `act` while no other process unlocks what was transferred to open files of this lock file. Inside the fork guard.
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
            "another process has been unlocking by a descriptor for {:?}, which takes microseconds otherwise: a process is stopped \
             in the midst of it; continue it or end it",
            BETWEEN_THEM * LOOKS
        ),
    })
}
