//! The fast path of the mapped file ([`turnlock_core::acquire::fast_path`]): what it needs, found by a thread's cache.
//!
//! Whatever is not exactly as it was at the last acquisition (a lock biased to another participant, a revocation, an owner-dead
//! notice) is for [`turnlock_core::acquire::operations`].

use super::{
    attachment::Attachment,
    cached::{Cached, FileKey, HomeLine, Line, LineBarrier, LineKey, LocalOffset, ThreadLine},
    calls::AtHome,
};
use crate::layout::{Cell, CellOffset, LockWords, RegionPointer, RegionWord};
use crate::registers::{self, Claimed, EvictionInCell, FileClaims};
use std::{hint::assert_unchecked, ptr};
use turnlock_core::acquire::{
    fast_path::FastPath,
    local::{LocalState, TakenBy},
};
use turnlock_core::algorithm::{
    claim::{Claim, InCells, Mode, Relation},
    reservation::Reservation,
    shared_bias::ReadersMark,
};
use turnlock_core::sync::{AtomicPtr, AtomicU64, Ordering::Relaxed};

pub use turnlock_core::acquire::fast_path::UnlockOutcome;

/// Where a lock is: its open file, its region, and that region's address.
#[derive(Clone, Copy)]
pub struct LockPointer {
    /// How a thread finds its line in that file.
    pub key: LineKey,
    /// Its number in the file.
    pub region: usize,
    /// Where a participant's words for it are.
    pub local: LocalOffset,
    /// Where it lies in the mapping.
    pub at: RegionPointer,
}

/// Where the words of the lock are that a participant which threads share took last.
pub struct Remembered {
    words: RegionWord,
    cell: AtomicPtr<Cell>,
    local: AtomicPtr<AtomicU64>,
}

impl Remembered {
    /// The words of `attachment` at the lock of `region`.
    pub fn new(attachment: &Attachment, region: usize) -> Self {
        let view = attachment.file.view();
        let words = RegionWord::new(view.region_pointer(region));
        let this = Self { words, cell: AtomicPtr::default(), local: AtomicPtr::default() };
        this.remember(attachment, region);
        this
    }

    /// Remembers another lock. The caller sees to it that no other call reads meanwhile.
    pub fn remember(&self, attachment: &Attachment, region: usize) {
        let view = attachment.file.view();
        self.words.store(view.region_pointer(region));
        let (cell, local) = (&view.lock(region).cells()[attachment.slot], attachment.local(region).0);
        // Relaxed, both: the caller's promise.
        self.cell.store(ptr::from_ref(cell).cast_mut(), Relaxed);
        self.local.store(ptr::from_ref(local).cast_mut(), Relaxed);
    }
}

/// What the fast path needs of one participant at one lock in a mapped file.
pub struct At<'a> {
    local: LocalState<'a>,
    mode_word: &'a AtomicU64,
    line: &'a Line,
    light: LineBarrier<'a>,
    words: &'a LockWords,
    cell: &'a Cell,
    /// Where that lies in which region, if the address was only computed for this.
    computed: Option<(RegionPointer, CellOffset)>,
}

impl<'a> At<'a> {
    /// # Safety
    /// `cached` is what the file of `lock`, which is open, has of an attachment that no other call uses now.
    #[inline(always)]
    unsafe fn new(lock: LockPointer, Cached { local, mode_word, line }: Cached<'a>) -> Self {
        // SAFETY: pointer and cell offset were computed from views of the same file, whose mapping lives as long as it does.
        unsafe {
            let (words, cell) = lock.at.words(line.cell);
            let computed = Some((lock.at, line.cell));
            Self { local, mode_word, line, light: line.light(), words, cell, computed }
        }
    }

    /// The calling thread's own.
    ///
    /// # Safety
    /// The lock's file is open for all of `'a`, and `line` was found by its key.
    #[inline(always)]
    unsafe fn of_thread(lock: LockPointer, line: &'a ThreadLine) -> Self {
        // SAFETY: the pointer was made when the lock was opened, so its file has that region; the line is that of an attachment in it.
        unsafe { Self::new(lock, line.line.at(lock.local)) }
    }

    /// That of `attachment`, one that threads share, with the calling one in a call at home on it.
    ///
    /// # Safety
    /// As [`At::of_thread`].
    #[inline(always)]
    unsafe fn of(lock: LockPointer, attachment: &'a Attachment, _: &AtHome) -> Option<Self> {
        if FileKey::of(&attachment.file) != lock.key.file {
            return None;
        }
        // SAFETY: as in `of_thread`; in a forked child no thread is at home.
        unsafe { Some(Self::new(lock, attachment.home().line.at(lock.local))) }
    }

    /// That of the attachment whose line this is, with the calling thread in a call at home on it, at the lock that it took last.
    ///
    /// # Safety
    /// `place` is of this attachment, whose file is open for all of `'a`, and no other call has it remember another lock meanwhile.
    #[inline(always)]
    pub unsafe fn again(home: &'a HomeLine, place: &Remembered, _: &AtHome) -> Self {
        let (cell, local) = (place.cell.load(Relaxed), place.local.load(Relaxed));
        // SAFETY: what `Remembered::remember` stored: words in the mapping of the file, and in the array of the attachment.
        unsafe {
            assert_unchecked(!cell.is_null() && !local.is_null());
            let (local, mode_word) = (&*local, &*local.add(1));
            let (words, cell) = (place.words.load().own_words(), &*cell);
            Self {
                local: LocalState(local),
                mode_word,
                line: &home.line,
                light: home.line.light(),
                words,
                cell,
                computed: None,
            }
        }
    }

    #[inline(always)]
    fn path(&self) -> FastPath<'a, LineBarrier<'a>> {
        let ownership = registers::ownership(self.words);
        FastPath { local: self.local, held: &self.cell.held, ownership, light: self.light }
    }

    /// As the function of [`FastPath`] of this name.
    #[inline(always)]
    pub fn take_as_owner(&self) -> Option<u64> {
        self.path().take_as_owner(registers::bias(self.words), &self.line.mark)
    }

    /// As the function of [`FastPath`] of this name.
    #[inline(always)]
    pub fn leave_as_owner(&self, token: Option<u64>) -> Option<UnlockOutcome> {
        self.path().leave_as_owner(registers::bias(self.words), &self.line.mark, token)
    }

    /// The claim in its cell is a reader's: the local state says so only after a section as one.
    #[inline(always)]
    fn take_as_reader(&self, readers: &ReadersMark) -> Option<u64> {
        self.path().take_as_reader(registers::shared_bias(self.words, readers), || {})
    }

    /// One look at the local state says how the lock is held.
    /// As the function of [`FastPath`] of this name.
    #[inline(always)]
    pub fn leave_in_mode(&self, readers: &ReadersMark, token: Option<u64>) -> Option<UnlockOutcome> {
        let path = self.path();
        Some(match path.local.taken_by(token)? {
            TakenBy::Bias => path.end_as_reader(registers::shared_bias(self.words, readers), false),
            TakenBy::Reservation => path.end_reserved(Self::reservation(self.cell_here())),
        })
    }

    /// As the function of [`FastPath`] of this name.
    #[inline(always)]
    pub fn take_in_mode(&self, readers: &ReadersMark, mode: Mode) -> Option<u64> {
        // A method each time, and no closure that both call: that would be a call.
        match mode {
            Mode::Shared => match self.take_as_reader(readers) {
                Some(token) => Some(token),
                None => self.reenter(Relation::Modes, Claim::whole(mode)),
            },
            _ => self.reenter(Relation::Modes, Claim::whole(mode)),
        }
    }

    /// As the function of [`FastPath`] of this name.
    #[inline(always)]
    pub fn take_permits(&self, weight: u32) -> Option<u64> {
        self.reenter(Relation::Permits, Claim { weight, ..Claim::whole(Mode::Shared) })
    }

    #[inline(always)]
    fn reenter(&self, relation: Relation, claim: Claim) -> Option<u64> {
        let note = || Claimed::note(self.mode_word, claim);
        let cell = self.cell_here();
        self.path().reenter(Self::reservation(cell), (self.claims(cell, relation), 0), claim, note)
    }

    /// As the function of [`FastPath`] of this name.
    #[inline(always)]
    pub fn leave_reserved(&self, token: Option<u64>) -> Option<UnlockOutcome> {
        self.path().leave_reserved(Self::reservation(self.cell_here()), token)
    }

    /// The cell, for the ways by a reservation, which compare what is in it.
    #[inline(always)]
    fn cell_here(&self) -> &'a Cell {
        match self.computed {
            // SAFETY: as in `At::new`.
            Some((region, offset)) => unsafe { region.cell_here(offset) },
            None => self.cell,
        }
    }

    #[inline(always)]
    fn reservation(cell: &Cell) -> Reservation<'_, EvictionInCell<'_>> {
        Reservation { held: &cell.held, eviction: EvictionInCell(cell) }
    }

    /// The claims of a lock of which only the participant's own is asked for, as slot 0.
    #[inline(always)]
    fn claims(&self, cell: &'a Cell, relation: Relation) -> InCells<'a, Cell> {
        InCells { cells: std::slice::from_ref(cell), relation, permits: &self.words.permits }
    }
}

/// Takes the lock, if it is biased to the calling thread. Returns the fencing token.
///
/// # Safety
/// The lock's file is open, and `line` was found by its key.
#[inline(always)]
pub unsafe fn take(lock: LockPointer, line: &ThreadLine) -> Option<u64> {
    // SAFETY: the caller's promise.
    unsafe { At::of_thread(lock, line) }.take_as_owner()
}

/// Takes the lock as `attachment`, one that threads share, if it is biased to it. The calling thread is in a call at home on it.
/// Returns the fencing token.
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn take_as(lock: LockPointer, attachment: &Attachment, call: &AtHome) -> Option<u64> {
    // SAFETY: the caller's promise.
    unsafe { At::of(lock, attachment, call)? }.take_as_owner()
}

/// Unlocks, if the calling thread holds the lock by a biased acquisition (with this very token, where one is named).
/// `None`: it does not, and nothing was done.
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn leave(lock: LockPointer, line: &ThreadLine, token: Option<u64>) -> Option<UnlockOutcome> {
    // SAFETY: the caller's promise.
    unsafe { At::of_thread(lock, line) }.leave_as_owner(token)
}

/// [`leave`], as `attachment`, like [`take_as`].
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn leave_as(
    lock: LockPointer,
    attachment: &Attachment,
    call: &AtHome,
    token: Option<u64>,
) -> Option<UnlockOutcome> {
    // SAFETY: the caller's promise.
    unsafe { At::of(lock, attachment, call)? }.leave_as_owner(token)
}

/// Takes a rwlock in this mode: as a reader if it is biased to its readers and the calling thread was one of them, or by the
/// thread's reservation. Returns the fencing token, a reader's that of the last writer.
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn take_in_mode(
    lock: LockPointer,
    line: &ThreadLine,
    readers: &ReadersMark,
    mode: Mode,
) -> Option<u64> {
    // SAFETY: the caller's promise.
    unsafe { At::of_thread(lock, line) }.take_in_mode(readers, mode)
}

/// [`take_in_mode`], as `attachment`, like [`take_as`].
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn take_in_mode_as(
    lock: LockPointer,
    attachment: &Attachment,
    call: &AtHome,
    readers: &ReadersMark,
    mode: Mode,
) -> Option<u64> {
    // SAFETY: the caller's promise.
    unsafe { At::of(lock, attachment, call)? }.take_in_mode(readers, mode)
}

/// Unlocks a rwlock, if the calling thread has it by its reservation or as a biased reader. As [`leave`].
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn leave_in_mode(
    lock: LockPointer,
    line: &ThreadLine,
    readers: &ReadersMark,
    token: Option<u64>,
) -> Option<UnlockOutcome> {
    // SAFETY: the caller's promise.
    unsafe { At::of_thread(lock, line) }.leave_in_mode(readers, token)
}

/// [`leave_in_mode`], as `attachment`, like [`take_as`].
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn leave_in_mode_as(
    lock: LockPointer,
    attachment: &Attachment,
    call: &AtHome,
    readers: &ReadersMark,
    token: Option<u64>,
) -> Option<UnlockOutcome> {
    // SAFETY: the caller's promise.
    unsafe { At::of(lock, attachment, call)? }.leave_in_mode(readers, token)
}

/// Takes so many permits of a semaphore, if the calling thread has just so many reserved. Returns the fencing token.
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn take_permits(lock: LockPointer, line: &ThreadLine, weight: u32) -> Option<u64> {
    // SAFETY: the caller's promise.
    unsafe { At::of_thread(lock, line) }.take_permits(weight)
}

/// [`take_permits`], as `attachment`, like [`take_as`].
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn take_permits_as(
    lock: LockPointer,
    attachment: &Attachment,
    call: &AtHome,
    weight: u32,
) -> Option<u64> {
    // SAFETY: the caller's promise.
    unsafe { At::of(lock, attachment, call)? }.take_permits(weight)
}

/// Gives so many permits of a semaphore back (those of the acquisition with this very token, where one is named), if the calling
/// thread has them by its reservation. As [`leave`].
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn leave_permits(
    lock: LockPointer,
    line: &ThreadLine,
    token: Option<u64>,
) -> Option<UnlockOutcome> {
    // SAFETY: the caller's promise.
    unsafe { At::of_thread(lock, line) }.leave_reserved(token)
}

/// [`leave_permits`], as `attachment`, like [`take_as`].
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub unsafe fn leave_permits_as(
    lock: LockPointer,
    attachment: &Attachment,
    call: &AtHome,
    token: Option<u64>,
) -> Option<UnlockOutcome> {
    // SAFETY: the caller's promise.
    unsafe { At::of(lock, attachment, call)? }.leave_reserved(token)
}

/// [`leave_permits`], if the thread has just so many permits, all by its own slot.
///
/// # Safety
/// As [`take`], by [`LineKey::find_sole`].
#[inline(always)]
pub unsafe fn release_permits(lock: LockPointer, line: &ThreadLine, permits: u32) -> Option<UnlockOutcome> {
    // SAFETY: as in `At::of_thread`.
    let at = unsafe { At::of_thread(lock, line) };
    if at.mode_word.load(Relaxed) as u32 != permits {
        return None;
    }
    at.leave_reserved(None)
}
