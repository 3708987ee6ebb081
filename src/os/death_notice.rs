//! The mapping is the death notice.
//!
//! A slot belongs to whoever has the write lock on the slot's byte, an open-file-description lock. To hold it for
//! exactly as long as the address space lives, the file is opened, the byte locked, one page mapped *through that
//! descriptor*, and the descriptor closed: the kernel keeps the open file, and with it the lock, for the mapping's
//! sake. `kill -9`, `exec` and `munmap` end it; `fork` (MADV_DONTFORK), SIGSTOP, a stray `close` do not. It holds
//! across PID namespaces and knows nothing of pids.
//!
//! On overlay file systems a mapping keeps another file open than the descriptor did, and the lock is gone at the
//! `close`. [`pinning`] tries that out on a byte of nobody's, and [`Probe`] asks for its own byte before it ever
//! believes that somebody is dead.

use super::{byte_lock, file::Access, file::Reopen, fork};
use crate::error::{Error, Result};
use crate::layout::{CANARY_BYTES_START, DeathNoticeKind, SLOT_BYTES_START};
use memmap2::{Advice, MmapOptions, MmapRaw};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use std::{fs::File, mem::ManuallyDrop, ops::Range, os::fd::AsRawFd};

fn slot_bytes(slots: Range<usize>) -> Range<u64> {
    SLOT_BYTES_START + slots.start as u64..SLOT_BYTES_START + slots.end as u64
}

/// What keeps byte locks on this file's file system: tried out, not guessed.
pub fn pinning(file: &Reopen) -> Result<DeathNoticeKind> {
    let _gate = fork::Gate::enter();
    let descriptor = file.open(Access::ReadWrite)?;
    let byte = CANARY_BYTES_START + (super::process::random() >> 33);
    if !byte_lock::try_lock(&descriptor, byte..byte + 1)? {
        // Somebody tries out the same of two thousand million bytes right now: then byte locks work.
        return Ok(DeathNoticeKind::Mapping);
    }
    let mapping = map_one_page(&descriptor)?;
    drop(descriptor);
    let still = byte_lock::is_locked_by_another(&file.open(Access::ReadWrite)?, byte)?;
    drop(mapping);
    Ok(if still { DeathNoticeKind::Mapping } else { DeathNoticeKind::Descriptor })
}

fn map_one_page(descriptor: &File) -> Result<MmapRaw> {
    let system = |source| Error::System { what: "mapping the death notice".into(), source };
    let mapping = MmapOptions::new().len(4096).map_raw_read_only(descriptor).map_err(system)?;
    mapping.advise(Advice::DontFork).map_err(system)?;
    Ok(mapping)
}

/// The byte lock of a slot, ours until this is dropped or the process ends.
pub struct DeathNotice {
    slot: usize,
    process: u64,
    hold: ManuallyDrop<Hold>,
}

enum Hold {
    Mapping { _page: MmapRaw },
    Descriptor { file: File, inherited: bool },
}

impl DeathNotice {
    /// Takes the byte lock of the first slot of `candidates` whose byte is free, kept by `kind`. `None`: none is.
    pub fn claim(
        file: &Reopen,
        candidates: impl IntoIterator<Item = usize>,
        kind: DeathNoticeKind,
        inherited: bool,
    ) -> Result<Option<Self>> {
        let gate = fork::Gate::enter();
        let descriptor = file.open(Access::ReadWrite)?;
        let mut taken = None;
        for slot in candidates {
            if byte_lock::try_lock(&descriptor, slot_bytes(slot..slot + 1))? {
                taken = Some(slot);
                break;
            }
        }
        let Some(slot) = taken else { return Ok(None) };
        let hold = match kind {
            DeathNoticeKind::Mapping => Hold::Mapping { _page: map_one_page(&descriptor)? },
            DeathNoticeKind::Descriptor => {
                if inherited {
                    fcntl(&descriptor, FcntlArg::F_SETFD(FdFlag::empty()))
                        .map_err(super::system("letting a child inherit the death notice"))?;
                } else {
                    fork::close_in_children(&gate, descriptor.as_raw_fd());
                }
                Hold::Descriptor { file: descriptor, inherited }
            }
        };
        let notice = Self { slot, process: fork::process_mark(), hold: ManuallyDrop::new(hold) };
        // The canary: in the mapping's case the descriptor is closed by now.
        drop(gate);
        if !byte_lock::is_locked_by_another(&file.open(Access::ReadWrite)?, slot_bytes(slot..slot + 1).start)?
        {
            return Err(byte_locks_do_not_hold(file));
        }
        Ok(Some(notice))
    }

    /// Whose slot it is.
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// Is this the process that claimed it, and not a forked child?
    #[inline]
    pub fn is_ours(&self) -> bool {
        self.process == fork::process_mark()
    }
}

impl Drop for DeathNotice {
    fn drop(&mut self) {
        if !self.is_ours() {
            // A forked child: the page was not inherited, so something else may be mapped at its address by now, and
            // the descriptor was closed (or is meant to be inherited).
            return;
        }
        let gate = fork::Gate::enter();
        if let Hold::Descriptor { file, inherited } = &*self.hold {
            // Explicitly: a child's copy of the descriptor would keep the lock. Failing that, closing does it.
            let _ = byte_lock::unlock(file, slot_bytes(self.slot..self.slot + 1));
            if !inherited {
                fork::keep_in_children(&gate, file.as_raw_fd());
            }
        }
        // SAFETY: dropped once, here, and not used after.
        unsafe { ManuallyDrop::drop(&mut self.hold) };
    }
}

/// A descriptor for asking who is alive, and for acting for the dead. Kept through a wait, not longer.
pub struct Probe<'a> {
    file: &'a Reopen,
    descriptor: File,
    own_slot: usize,
}

impl<'a> Probe<'a> {
    /// For the participant in `own_slot`, which must have its byte lock.
    pub fn open(file: &'a Reopen, own_slot: usize) -> Result<Self> {
        Ok(Self { file, descriptor: file.open(Access::ReadWrite)?, own_slot })
    }

    /// Has somebody the byte lock of `slot`?
    pub fn is_alive(&self, slot: usize) -> Result<bool> {
        byte_lock::is_locked_by_another(&self.descriptor, slot_bytes(slot..slot + 1).start)
    }

    /// Takes the byte locks of dead (or free) slots, all or none, for as long as `act` runs. `Ok(None)`: one of them
    /// is alive, or somebody else is at it.
    pub fn act_for<T>(&self, slots: Range<usize>, act: impl FnOnce() -> T) -> Result<Option<T>> {
        // No fork in between: a child's copy of the descriptor would keep the lock.
        let _gate = fork::Gate::enter();
        // The canary. If our own byte is not locked, byte locks do not work here as they must, and nobody's death can
        // be told from its life.
        if !self.is_alive(self.own_slot)? {
            return Err(byte_locks_do_not_hold(self.file));
        }
        let bytes = slot_bytes(slots);
        if !byte_lock::try_lock(&self.descriptor, bytes.clone())? {
            return Ok(None);
        }
        let done = act();
        byte_lock::unlock(&self.descriptor, bytes)?;
        Ok(Some(done))
    }

    /// Has the file been unlinked or replaced since it was opened?
    pub fn is_replaced(&self) -> bool {
        self.file.is_unlinked(&self.descriptor)
    }
}

/// Is the slot's byte locked, asked through a descriptor of one who only looks on?
pub fn is_alive_seen_from_outside(descriptor: &File, slot: usize) -> Result<bool> {
    byte_lock::is_locked_by_another(descriptor, slot_bytes(slot..slot + 1).start)
}

/// Runs `act` if not one of `slots` is alive, holding all their byte locks meanwhile.
///
/// Without a canary, since the caller may have no slot: not for acting on a death.
pub fn if_slots_are_free<T>(
    file: &Reopen,
    slots: Range<usize>,
    act: impl FnOnce() -> T,
) -> Result<Option<T>> {
    let _gate = fork::Gate::enter();
    let descriptor = file.open(Access::ReadWrite)?;
    if !byte_lock::try_lock(&descriptor, slot_bytes(slots.clone()))? {
        return Ok(None);
    }
    let done = act();
    byte_lock::unlock(&descriptor, slot_bytes(slots))?;
    Ok(Some(done))
}

fn byte_locks_do_not_hold(file: &Reopen) -> Error {
    Error::FileSystem {
        path: file.path().into(),
        why: "this file system loses byte locks, so nobody can tell the living from the dead, and nothing was done: \
              put the file on a local file system, /dev/shm or /run for example"
            .into(),
    }
}
