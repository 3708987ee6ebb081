//! Liveness locks: byte locks that the kernel releases when their process dies.
//!
//! A slot belongs to the participant that has the write lock on the slot's byte, an open-file-description lock. To hold it for
//! exactly as long as the address space lives, the file is opened, the byte locked, one page mapped *through that descriptor*,
//! and the descriptor closed: the kernel keeps the open file, and with it the lock, for the mapping's sake. `kill -9`, `exec`
//! and `munmap` end it; `fork` (MADV_DONTFORK), SIGSTOP, a stray `close` do not. It holds across PID namespaces and knows
//! nothing of pids.
//!
//! The descriptor is closed before anything can fork: a child's copy would keep the open file too. Where the file
//! cannot be opened again, the byte is locked through a descriptor that is kept ([`super::reopen`]), which forked
//! children close.
//!
//! On overlay file systems a mapping keeps another file open than the descriptor did, and the lock is gone at the `close`.
//! [`try_out_kind`] tries that out on a byte that no slot has, and [`Probe`] asks for its own byte before it believes that a
//! participant is dead.
//!
//! A program may close any descriptor by its number while we use it, and the number may be another lock file's at the next
//! instruction. So what matters is believed only when the descriptor was one of this very file *after* the byte lock was taken,
//! and a mapping keeps the open file from then on. If the number was closed and reused before the check, the check sees another
//! file, and we try again; if after, the mapping keeps our open file, and the lock with it.

mod left;

pub use left::{AsLeft, with_hand_back};

use super::{
    byte_lock,
    fork::{self, ForkGuard},
    identity::Descriptor,
    reopen::Reopen,
};
use crate::layout::{CANARY_BYTES_START, LivenessLockKind, RENEWAL_BYTE, SLOT_BYTES_START};
use memmap2::{Advice, MmapOptions, MmapRaw};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use std::{
    fs::File,
    mem::ManuallyDrop,
    ops::Range,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
};
use turnlock_core::error::{Error, Result};

fn slot_bytes(slots: Range<usize>) -> Range<u64> {
    SLOT_BYTES_START + slots.start as u64..SLOT_BYTES_START + slots.end as u64
}

pub(super) fn slot_byte(slot: usize) -> u64 {
    SLOT_BYTES_START + slot as u64
}

/// Returns what keeps byte locks on this file's file system: tried out, not guessed.
pub fn try_out_kind(file: &Reopen) -> Result<LivenessLockKind> {
    let fork_guard = ForkGuard::enter();
    let descriptor = file.open(&fork_guard)?;
    let byte = CANARY_BYTES_START + (super::process::random() >> 33);
    if !byte_lock::try_lock(&descriptor, byte..byte + 1)? {
        // Another process tries out the same of two thousand million bytes right now: then byte locks work.
        return Ok(LivenessLockKind::Mapping);
    }
    let mapping = map_one_page(&descriptor)?;
    drop(descriptor);
    let still = byte_lock::is_locked_by_another(&file.open(&fork_guard)?, byte)?;
    drop(mapping);
    Ok(if still { LivenessLockKind::Mapping } else { LivenessLockKind::Descriptor })
}

fn map_one_page(descriptor: impl AsFd) -> Result<MmapRaw> {
    let system = |source| Error::System {
        what: "mapping a page of the lock file for the liveness lock".into(),
        source,
    };
    let descriptor = descriptor.as_fd().as_raw_fd();
    let mapping = MmapOptions::new().len(4096).map_raw_read_only(descriptor).map_err(system)?;
    mapping.advise(Advice::DontFork).map_err(system)?;
    Ok(mapping)
}

/// The byte lock of a slot, ours until this is dropped or the process ends.
pub struct LivenessLock {
    slot: usize,
    process: u64,
    hold: ManuallyDrop<Hold>,
}

enum Hold {
    /// By an open file of its own, which only a mapping keeps.
    Mapping { _page: MmapRaw },
    /// By an open file of its own, kept by a descriptor.
    Descriptor { file: Descriptor, inherited: bool },
    /// By the spare descriptor's open file, which the page keeps too.
    Spare { _page: MmapRaw },
}

/// How often a claim is tried again whose descriptor was closed by its number meanwhile.
const CLAIMS: u32 = 100;
/// How many claims that an observer does not see show that the file system is at fault.
const ENOUGH_UNSEEN: u32 = 20;

impl LivenessLock {
    /// Takes the byte lock of the first slot of `candidates` whose byte is free, kept by `kind`. `None`: none is.
    pub fn claim(
        file: &Reopen,
        candidates: impl Iterator<Item = usize> + Clone,
        kind: LivenessLockKind,
        inherited: bool,
    ) -> Result<Option<Self>> {
        let mut unseen = 0;
        for _ in 0..CLAIMS {
            // Until the end: whatever of the byte lock a child could inherit is closed by then, and the canary asked.
            let fork_guard = ForkGuard::enter();
            let hold = match file.open(&fork_guard) {
                Ok(fresh) => take(&fresh, candidates.clone())?
                    .map(|slot| Ok::<_, Error>((slot, keep(file, &fork_guard, fresh, kind, inherited)?)))
                    .transpose()?,
                Err(error) if inherited => return Err(error),
                Err(error) => take_by_spare(file, &fork_guard, error, candidates.clone())?,
            };
            let Some((slot, hold)) = hold else { return Ok(None) };
            let Some(hold) = hold else { continue };
            let liveness_lock = Self { slot, process: fork::process_mark(), hold: ManuallyDrop::new(hold) };
            // The canary: does another open file see that our byte is locked?
            let seen = match file.look_inside(&fork_guard) {
                Some(sight) => byte_lock::is_locked_by_another(sight.descriptor, slot_byte(slot)),
                // This process has no descriptor to look through; others have.
                None => Ok(true),
            };
            // Before it is given back, which enters the fork guard.
            drop(fork_guard);
            match seen {
                Ok(true) => return Ok(Some(liveness_lock)),
                Ok(false) => unseen += 1,
                // The descriptor that it was asked through was closed by its number.
                Err(_) => {}
            }
            liveness_lock.release(file);
            // Here too a descriptor may have been closed by its number, and be another file's; not always.
            if unseen == ENOUGH_UNSEEN {
                break;
            }
        }
        Err(byte_locks_do_not_hold(file))
    }

    /// Returns the slot.
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// Returns whether this is the process that claimed it, and not a forked child.
    #[inline]
    pub fn is_ours(&self) -> bool {
        self.process == fork::process_mark()
    }
}

fn take(descriptor: impl AsFd + Copy, candidates: impl Iterator<Item = usize>) -> Result<Option<usize>> {
    for slot in candidates {
        if byte_lock::try_lock(descriptor, slot_bytes(slot..slot + 1))? {
            return Ok(Some(slot));
        }
    }
    Ok(None)
}

/// Takes a slot by the spare descriptor, since `error` keeps the file from being opened again.
fn take_by_spare(
    file: &Reopen,
    fork_guard: &ForkGuard,
    error: Error,
    candidates: impl Iterator<Item = usize>,
) -> Result<Option<(usize, Option<Hold>)>> {
    let Some(spare) = file.spare(fork_guard) else { return Err(error) };
    // The spare's open file holds other slots of this process, and is not refused what it holds itself: so another
    // descriptor is asked first. Under the fork guard no other thread takes slots by it meanwhile.
    let Some(look) = file.look_inside(fork_guard) else { return Err(error) };
    for slot in candidates {
        match byte_lock::is_locked_by_another(look.descriptor, slot_byte(slot)) {
            Ok(true) => continue,
            Ok(false) => {}
            Err(_) => return Ok(Some((slot, None))),
        }
        let bytes = slot_bytes(slot..slot + 1);
        if !byte_lock::try_lock(spare.descriptor, bytes.clone())? {
            continue;
        }
        let page = map_one_page(spare.descriptor);
        if !file.is_of(spare.descriptor) {
            return Ok(Some((slot, None)));
        }
        return match page {
            Ok(_page) => Ok(Some((slot, Some(Hold::Spare { _page })))),
            Err(error) => {
                let _ = byte_lock::unlock(spare.descriptor, bytes);
                Err(error)
            }
        };
    }
    Ok(None)
}

/// Has the byte lock of `fresh` outlive this call. `None`: the descriptor was closed by its number meanwhile.
fn keep(
    file: &Reopen,
    fork_guard: &ForkGuard,
    fresh: Descriptor,
    kind: LivenessLockKind,
    inherited: bool,
) -> Result<Option<Hold>> {
    let number = fresh.as_raw_fd();
    let hold = match kind {
        LivenessLockKind::Mapping => {
            let page = map_one_page(&fresh)?;
            let whole = file.is_of(fresh.as_fd());
            return Ok(whole.then_some(Hold::Mapping { _page: page }));
        }
        LivenessLockKind::Descriptor | LivenessLockKind::Shared if inherited => {
            fcntl(&fresh, FcntlArg::F_SETFD(FdFlag::empty()))
                .map_err(super::system_error::system("letting a child inherit the liveness lock"))?;
            Hold::Descriptor { file: fresh, inherited }
        }
        LivenessLockKind::Descriptor | LivenessLockKind::Shared => {
            fork::close_in_children(fork_guard, number, file.identity())?;
            Hold::Descriptor { file: fresh, inherited }
        }
    };
    Ok(Some(hold))
}

impl LivenessLock {
    /// Gives the byte lock back.
    pub fn release(mut self, file: &Reopen) {
        if self.is_ours() {
            let fork_guard = ForkGuard::enter();
            // SAFETY: taken once: `self` is forgotten below, without its `drop`.
            match unsafe { ManuallyDrop::take(&mut self.hold) } {
                Hold::Mapping { _page } => {}
                Hold::Descriptor { file: kept, inherited } => {
                    if !inherited {
                        fork::forget_close_in_children(&fork_guard, kept.as_raw_fd());
                    }
                    give_back_descriptor(file, &fork_guard, kept, self.slot);
                }
                Hold::Spare { _page } => {
                    if let Some(spare) = file.spare_to_give_back() {
                        let _ = byte_lock::unlock(spare.descriptor, slot_bytes(self.slot..self.slot + 1));
                    }
                }
            }
        }
        std::mem::forget(self);
    }
}

/// Unlocks and closes the descriptor that kept a slot, if it still is that one: another file may have its number by
/// now, or another descriptor of this very file, which keeps another slot.
fn give_back_descriptor(file: &Reopen, fork_guard: &ForkGuard, kept: Descriptor, slot: usize) {
    // The lock is there, by what another descriptor says, and not by another open file than this one's.
    let elsewhere = |descriptor: BorrowedFd| byte_lock::is_locked_by_another(descriptor, slot_byte(slot));
    let held = file.look_inside(fork_guard).is_none_or(|sight| elsewhere(sight.descriptor).unwrap_or(true));
    let by_this = file.identity().is_of(kept.as_raw_fd()) && matches!(elsewhere(kept.as_fd()), Ok(false));
    if held && by_this {
        // Explicitly: a child's copy of the descriptor would keep the lock. Failing that, closing does it.
        let _ = byte_lock::unlock(&kept, slot_bytes(slot..slot + 1));
        drop(kept);
    } else {
        kept.into_number();
    }
}

impl Drop for LivenessLock {
    /// Gives the byte lock of a failed claim back, without the file at hand. What a forked child has of it is left alone: the
    /// page was not inherited, so something else may be mapped at its address by now, and descriptors are closed by the fork
    /// handler (or are meant to be inherited).
    fn drop(&mut self) {
        if self.is_ours() {
            let fork_guard = ForkGuard::enter();
            if let Hold::Descriptor { file, inherited: false } = &*self.hold {
                fork::forget_close_in_children(&fork_guard, file.as_raw_fd());
            }
            // SAFETY: dropped once, here, and not used after.
            unsafe { ManuallyDrop::drop(&mut self.hold) };
        }
    }
}

/// What a look at a slot found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Its byte lock is held.
    Alive,
    /// Its byte lock is free, by this look. It may be taken right after: only [`Probe::act_for`] makes sure.
    Dead,
    /// No descriptor is to be had to look through.
    Unknown,
}

/// Asks which slots are alive, and acts for the dead, for the participant in a slot.
#[derive(Clone, Copy)]
pub struct Probe<'a> {
    file: &'a Reopen,
    own_slot: usize,
}

impl<'a> Probe<'a> {
    /// Returns a probe for the participant in `own_slot`, which must have its byte lock.
    pub fn new(file: &'a Reopen, own_slot: usize) -> Self {
        Self { file, own_slot }
    }

    /// Returns whether the byte lock of `slot` is held, and whether the file has lost its last name.
    pub fn look(&self, slot: usize) -> (Seen, bool) {
        let Some(sight) = self.file.look() else { return (Seen::Unknown, false) };
        let seen = match byte_lock::is_locked_by_another(sight.descriptor, slot_byte(slot)) {
            Ok(true) => Seen::Alive,
            Ok(false) => Seen::Dead,
            // Closed by its number since.
            Err(_) => Seen::Unknown,
        };
        (seen, sight.is_unlinked)
    }

    /// Takes the byte locks of dead (or free) slots, all or none, for as long as `act` runs. `Ok(None)`: one of them is alive,
    /// or another reaper is at it, or there is no descriptor to act through now. If a newcomer takes the slot first, our lock
    /// is refused; if we do, the newcomer's is, until `act` is done.
    pub fn act_for<T>(&self, slots: Range<usize>, act: impl FnOnce() -> T) -> Result<Option<T>> {
        // No fork in between: a child's copy of the descriptor would keep the lock.
        let fork_guard = ForkGuard::enter();
        let Some(actor) = Actor::new(self.file, &fork_guard) else { return Ok(None) };
        // The canary. If our own byte is not locked, byte locks do not work here as they must, and the dead cannot be told from
        // the living.
        let canary = byte_lock::is_locked_by_another(actor.descriptor(), slot_byte(self.own_slot));
        let taken = matches!(canary, Ok(true)) && actor.try_lock(slot_bytes(slots));
        // Last: whatever was asked and taken was so in this file, if the descriptor is one of it now. From here on
        // the page keeps the byte locks.
        if !self.file.is_of(actor.descriptor()) {
            return Ok(None);
        }
        if matches!(canary, Ok(false)) {
            // It enters the fork guard.
            drop(actor);
            drop(fork_guard);
            return Err(byte_locks_do_not_hold(self.file));
        }
        Ok(taken.then(act))
    }
}

/// A descriptor through which byte locks are held for a moment: given back when it is dropped.
struct Actor<'a> {
    file: &'a Reopen,
    opened: Opened<'a>,
    locked: std::cell::RefCell<Option<Range<u64>>>,
    /// Keeps the open file, and its locks, also when the program closes the descriptor.
    _page: MmapRaw,
}

enum Opened<'a> {
    Fresh(Descriptor),
    /// The file cannot be opened again: by the descriptor for observing.
    Kept(BorrowedFd<'a>),
}

impl<'a> Actor<'a> {
    /// Returns an actor; `None`: no descriptor is to be had now.
    fn new(file: &'a Reopen, fork_guard: &'a ForkGuard) -> Option<Self> {
        let opened = match file.open_or_not(fork_guard) {
            Some(fresh) => Opened::Fresh(fresh),
            None => Opened::Kept(file.look_inside(fork_guard)?.descriptor),
        };
        let page = match &opened {
            Opened::Fresh(fresh) => map_one_page(fresh),
            Opened::Kept(kept) => map_one_page(*kept),
        };
        Some(Self { file, opened, locked: Default::default(), _page: page.ok()? })
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        match &self.opened {
            Opened::Fresh(fresh) => fresh.as_fd(),
            Opened::Kept(kept) => *kept,
        }
    }

    fn try_lock(&self, bytes: Range<u64>) -> bool {
        let locked = matches!(byte_lock::try_lock(self.descriptor(), bytes.clone()), Ok(true));
        if locked {
            *self.locked.borrow_mut() = Some(bytes);
        }
        locked
    }
}

impl Drop for Actor<'_> {
    fn drop(&mut self) {
        // Closed by its number, and its number another's by now: then the page is the last that keeps the locks.
        let still = self.file.identity().is_of(self.descriptor().as_raw_fd());
        if let Some(bytes) = self.locked.take().filter(|_| still) {
            let _ = byte_lock::unlock(self.descriptor(), bytes);
        }
    }
}

/// Returns whether the slot's byte is locked, asked through an observer's descriptor.
pub fn is_alive_seen_from_outside(descriptor: &File, slot: usize) -> Result<bool> {
    byte_lock::is_locked_by_another(descriptor, slot_byte(slot))
}

/// The outcome of [`alone`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alone {
    /// No other participant is there, and it is done.
    Done,
    /// A living participant is there.
    SomebodyIsThere,
    /// Another process wants the same at this moment, or there is no descriptor to look through.
    NotNow,
}

/// Runs `act` if the file has no participants, holding all byte locks of `slots` meanwhile.
///
/// Without a canary, since the caller has no slot: not for acting on a death. The renewal byte keeps two such callers apart:
/// without it each could hold some of the bytes and take the other for a participant.
pub fn alone(file: &Reopen, slots: Range<usize>, act: impl FnOnce()) -> Result<Alone> {
    let fork_guard = ForkGuard::enter();
    let Some(renewal) = Actor::new(file, &fork_guard) else { return Ok(Alone::NotNow) };
    if !renewal.try_lock(RENEWAL_BYTE..RENEWAL_BYTE + 1) {
        return Ok(Alone::NotNow);
    }
    let Some(actor) = Actor::new(file, &fork_guard) else { return Ok(Alone::NotNow) };
    let taken = actor.try_lock(slot_bytes(slots));
    // Last, as in `act_for`.
    if !file.is_of(renewal.descriptor()) || !file.is_of(actor.descriptor()) {
        return Ok(Alone::NotNow);
    }
    if !taken {
        return Ok(Alone::SomebodyIsThere);
    }
    act();
    Ok(Alone::Done)
}

fn byte_locks_do_not_hold(file: &Reopen) -> Error {
    Error::FileSystem {
        path: file.path(),
        why: "this file system loses byte locks, so the living cannot be told from the dead, and nothing was done: \
              put the file on a local file system, /dev/shm or /run for example"
            .into(),
    }
}
