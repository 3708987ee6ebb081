//! The fast path of the mapped file ([`turnlock_core::acquire::fast_path`]): what it needs, found by a thread's cache.
//!
//! Whatever is not exactly as it was at the last acquisition (a lock biased to another participant, a revocation, an owner-dead
//! notice) is for [`turnlock_core::acquire::operations`].

use super::{
    attachment::{Attachment, Cached, FileKey, LocalOffset},
    calls::AtHome,
    thread,
};
use crate::layout::{Cell, LockWords, RegionPointer};
use crate::os::thread_words::ThreadWord;
use crate::registers::{self, Claimed, FileClaims};
use turnlock_core::acquire::{fast_path::FastPath, local::TakenBy};
use turnlock_core::algorithm::{
    claim::{Claim, InCells, Mode, Relation},
    light_barrier::FileBarrier,
    reservation::Reservation,
    shared_bias::ReadersMark,
};
use turnlock_core::sync::Ordering::Relaxed;

pub use turnlock_core::acquire::fast_path::UnlockOutcome;

/// Where a lock is: its open file's key, its region, and that region's address.
#[derive(Clone, Copy)]
pub struct LockPointer {
    /// Its file.
    pub file: FileKey,
    /// Where a thread keeps its cache of that file.
    pub word: ThreadWord,
    /// Its number in the file.
    pub region: usize,
    /// Where a participant's words for it are.
    pub local: LocalOffset,
    /// Where it lies in the mapping.
    pub at: RegionPointer,
}

/// What the fast path needs of one participant at one lock in a mapped file.
struct At<'a> {
    cached: Cached<'a>,
    words: &'a LockWords,
    cell: &'a Cell,
}

impl<'a> At<'a> {
    /// # Safety
    /// `cached` is what the file of `lock`, which is open, has of an attachment that no other call uses now.
    #[inline(always)]
    unsafe fn new(lock: LockPointer, cached: Cached<'a>) -> Self {
        // SAFETY: pointer and cell offset were computed from views of the same file, whose mapping lives as long as it does.
        let (words, cell) = unsafe { lock.at.words(cached.cell) };
        Self { cached, words, cell }
    }

    /// The calling thread's own, if its cache remembers it.
    ///
    /// # Safety
    /// The lock's file is open for all of `'a`.
    #[inline(always)]
    unsafe fn of_thread(lock: LockPointer) -> Option<Self> {
        // SAFETY: the pointer was made when the lock was opened, so its file has that region.
        unsafe { Some(Self::new(lock, thread::cached(lock.word, lock.file, lock.local)?)) }
    }

    /// That of `attachment`, one that threads share.
    ///
    /// # Safety
    /// As [`At::of_thread`].
    #[inline(always)]
    unsafe fn of(lock: LockPointer, attachment: &'a Attachment) -> Option<Self> {
        // SAFETY: as in `of_thread`.
        unsafe { Some(Self::new(lock, attachment.cached(lock.file, lock.local)?)) }
    }

    #[inline(always)]
    fn path(&self) -> FastPath<'a, FileBarrier<'a>> {
        let Cached { local, light, .. } = self.cached;
        FastPath { local, held: &self.cell.held, ownership: registers::ownership(self.words), light }
    }

    #[inline(always)]
    fn take_as_owner(&self) -> Option<u64> {
        self.path().take_as_owner(registers::bias(self.words), self.cached.mark)
    }

    #[inline(always)]
    fn leave_as_owner(&self, token: Option<u64>) -> Option<UnlockOutcome> {
        self.path().leave_as_owner(registers::bias(self.words), self.cached.mark, token)
    }

    /// The claim in its cell is a reader's: the local state says so only after a section as one.
    #[inline(always)]
    fn take_as_reader(&self, readers: &ReadersMark) -> Option<u64> {
        self.path().take_as_reader(registers::shared_bias(self.words, readers), || {})
    }

    /// One look at the local state says how the lock is held.
    #[inline(always)]
    fn leave_in_mode(&self, readers: &ReadersMark, token: Option<u64>) -> Option<UnlockOutcome> {
        let path = self.path();
        Some(match path.local.taken_by(token)? {
            TakenBy::Bias => path.end_as_reader(registers::shared_bias(self.words, readers), false),
            TakenBy::Reservation => path.end_reserved(self.reservation()),
        })
    }

    #[inline(always)]
    fn take_in_mode(&self, readers: &ReadersMark, mode: Mode) -> Option<u64> {
        // A method each time, and no closure that both call: that would be a call.
        match mode {
            Mode::Shared => match self.take_as_reader(readers) {
                Some(token) => Some(token),
                None => self.reenter(Relation::Modes, Claim::whole(mode)),
            },
            _ => self.reenter(Relation::Modes, Claim::whole(mode)),
        }
    }

    #[inline(always)]
    fn take_permits(&self, weight: u32) -> Option<u64> {
        self.reenter(Relation::Permits, Claim { weight, ..Claim::whole(Mode::Shared) })
    }

    #[inline(always)]
    fn reenter(&self, relation: Relation, claim: Claim) -> Option<u64> {
        let note = || Claimed::note(self.cached.mode_word, claim);
        self.path().reenter(self.reservation(), (self.claims(relation), 0), claim, note)
    }

    #[inline(always)]
    fn leave_reserved(&self, token: Option<u64>) -> Option<UnlockOutcome> {
        self.path().leave_reserved(self.reservation(), token)
    }

    #[inline(always)]
    fn reservation(&self) -> Reservation<'a> {
        Reservation { held: &self.cell.held, eviction: registers::eviction(self.cell) }
    }

    /// The claims of a lock of which only the participant's own is asked for, as slot 0.
    #[inline(always)]
    fn claims(&self, relation: Relation) -> InCells<'a, Cell> {
        InCells { cells: std::slice::from_ref(self.cell), relation, permits: &self.words.permits }
    }
}

/// Takes the lock, if it is biased to the calling thread. Returns the fencing token.
///
/// # Safety
/// The lock's file is open.
#[inline(always)]
pub unsafe fn take(lock: LockPointer) -> Option<u64> {
    // SAFETY: the caller's promise.
    unsafe { At::of_thread(lock)? }.take_as_owner()
}

/// Takes the lock as `attachment`, one that threads share, if it is biased to it. The calling thread is in a call at home on it.
/// Returns the fencing token.
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn take_as(lock: LockPointer, attachment: &Attachment, _: &AtHome) -> Option<u64> {
    // SAFETY: the caller's promise.
    unsafe { At::of(lock, attachment)? }.take_as_owner()
}

/// Unlocks, if the calling thread holds the lock by a biased acquisition (with this very token, where one is named).
/// `None`: it does not, and nothing was done.
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn leave(lock: LockPointer, token: Option<u64>) -> Option<UnlockOutcome> {
    // SAFETY: the caller's promise.
    unsafe { At::of_thread(lock)? }.leave_as_owner(token)
}

/// [`leave`], as `attachment`, like [`take_as`].
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn leave_as(
    lock: LockPointer,
    attachment: &Attachment,
    _: &AtHome,
    token: Option<u64>,
) -> Option<UnlockOutcome> {
    // SAFETY: the caller's promise.
    unsafe { At::of(lock, attachment)? }.leave_as_owner(token)
}

/// Takes a rwlock in this mode: as a reader if it is biased to its readers and the calling thread was one of them, or by the
/// thread's reservation. Returns the fencing token, a reader's that of the last writer.
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn take_in_mode(lock: LockPointer, readers: &ReadersMark, mode: Mode) -> Option<u64> {
    // SAFETY: the caller's promise.
    unsafe { At::of_thread(lock)? }.take_in_mode(readers, mode)
}

/// [`take_in_mode`], as `attachment`, like [`take_as`].
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn take_in_mode_as(
    lock: LockPointer,
    attachment: &Attachment,
    _: &AtHome,
    readers: &ReadersMark,
    mode: Mode,
) -> Option<u64> {
    // SAFETY: the caller's promise.
    unsafe { At::of(lock, attachment)? }.take_in_mode(readers, mode)
}

/// Unlocks a rwlock, if the calling thread has it by its reservation or as a biased reader. As [`leave`].
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn leave_in_mode(
    lock: LockPointer,
    readers: &ReadersMark,
    token: Option<u64>,
) -> Option<UnlockOutcome> {
    // SAFETY: the caller's promise.
    unsafe { At::of_thread(lock)? }.leave_in_mode(readers, token)
}

/// [`leave_in_mode`], as `attachment`, like [`take_as`].
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn leave_in_mode_as(
    lock: LockPointer,
    attachment: &Attachment,
    _: &AtHome,
    readers: &ReadersMark,
    token: Option<u64>,
) -> Option<UnlockOutcome> {
    // SAFETY: the caller's promise.
    unsafe { At::of(lock, attachment)? }.leave_in_mode(readers, token)
}

/// Takes so many permits of a semaphore, if the calling thread has just so many reserved. Returns the fencing token.
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn take_permits(lock: LockPointer, weight: u32) -> Option<u64> {
    // SAFETY: the caller's promise.
    unsafe { At::of_thread(lock)? }.take_permits(weight)
}

/// [`take_permits`], as `attachment`, like [`take_as`].
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn take_permits_as(
    lock: LockPointer,
    attachment: &Attachment,
    _: &AtHome,
    weight: u32,
) -> Option<u64> {
    // SAFETY: the caller's promise.
    unsafe { At::of(lock, attachment)? }.take_permits(weight)
}

/// Gives so many permits of a semaphore back (those of the acquisition with this very token, where one is named), if the calling
/// thread has them by its reservation. As [`leave`].
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn leave_permits(lock: LockPointer, token: Option<u64>) -> Option<UnlockOutcome> {
    // SAFETY: the caller's promise.
    unsafe { At::of_thread(lock)? }.leave_reserved(token)
}

/// [`leave_permits`], as `attachment`, like [`take_as`].
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn leave_permits_as(
    lock: LockPointer,
    attachment: &Attachment,
    _: &AtHome,
    token: Option<u64>,
) -> Option<UnlockOutcome> {
    // SAFETY: the caller's promise.
    unsafe { At::of(lock, attachment)? }.leave_reserved(token)
}

/// [`leave_permits`], if the thread has just so many permits, all by its own slot.
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn release_permits(lock: LockPointer, permits: u32) -> Option<UnlockOutcome> {
    // SAFETY: the caller's promise.
    let at = unsafe { At::of_thread(lock)? };
    // SAFETY: of an attachment that is a thread's, the calling one's: a variable of that thread.
    let has_more = unsafe { (*at.cached.more).get() } > 0;
    if has_more || at.cached.mode_word.load(Relaxed) >> 32 != u64::from(permits) {
        return None;
    }
    at.leave_reserved(None)
}
