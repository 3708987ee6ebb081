//! What the fast path needs to know of an attachment, in one cache line that a forked child finds full of zeros.

use super::{
    calls::{AtHome, Calls, Doing, ThisThread},
    open_file::OpenFile,
};
use crate::layout::CellOffset;
use crate::os::{thread_words::ThreadWord, wipe_on_fork::Wipeable};
use std::{cell::Cell, hint::assert_unchecked, ptr, sync::Arc};
use turnlock_core::acquire::local::LocalState;
use turnlock_core::algorithm::{
    bias::Mark,
    light_barrier::{FileBarrier, LightBarrier},
};
use turnlock_core::sync::AtomicU64;

/// An open file, to be compared only: its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileKey(usize);

impl FileKey {
    /// That of no file, so that a call that looks for it goes the slow way. Neither a forked child's zeros nor an address.
    pub const OF_NONE: Self = Self(1);

    /// That of no file either, as zeros: what no lock has.
    const OF_ZEROS: Self = Self(0);

    /// Of a lock in `file`, for the fast path: that of no file, if whatever happens in it is to be recorded, so that every
    /// acquisition goes the other way.
    pub fn of_locks_in(file: &Arc<OpenFile>) -> Self {
        if file.has_recording() { Self::OF_NONE } else { Self::of(file) }
    }

    /// Of `file`.
    pub fn of(file: &Arc<OpenFile>) -> Self {
        Self(Arc::as_ptr(file).addr())
    }

    /// Never 0.
    pub fn number(self) -> usize {
        self.0
    }
}

/// How the calling thread's line in a file is found: where a thread keeps it, and which file it must be of.
#[derive(Clone, Copy)]
pub struct LineKey {
    /// Where.
    pub word: ThreadWord,
    /// Of which file.
    pub file: FileKey,
}

impl LineKey {
    /// Finds no line.
    pub fn of_none() -> Self {
        Self { word: ThreadWord::any(), file: FileKey::OF_NONE }
    }

    /// Returns the line, if the word remembers it.
    #[inline(always)]
    pub fn find<'file>(self) -> Option<&'file ThreadLine> {
        Some(at_word(self.word)).filter(|line| line.file == self.file)
    }

    /// Returns the line, if the word remembers it, and the thread has one slot in each of its files.
    #[inline(always)]
    pub fn find_sole<'file>(self) -> Option<&'file ThreadLine> {
        Some(at_word(self.word)).filter(|line| line.sole.get() == self.file)
    }
}

/// What it needs of every attachment.
#[derive(Clone, Copy)]
pub struct Line {
    pub(super) local: *const AtomicU64,
    pub(super) cell: CellOffset,
    /// How a lock's bias word reads while the lock is biased to the attachment.
    pub mark: Mark,
    pub(super) sole_process: *const AtomicU64,
    pub(super) process: u64,
}

/// The line of a thread's attachment. Zeros match no file.
pub struct ThreadLine {
    pub(super) file: FileKey,
    pub(super) line: Line,
    /// The attachment itself, an [`super::attachment::Attachment`].
    pub(super) attachment: *const (),
    /// The key of its file, as long as the thread has one slot in each of its files; else that of none.
    sole: Cell<FileKey>,
}

/// The line of an attachment that threads share. Zeros have no home thread. The calls come first: what is compared most often lies where
/// the line does.
#[repr(C)]
pub struct HomeLine {
    pub(super) calls: Calls,
    pub(super) line: Line,
}

// SAFETY: numbers, pointers and atomics: zeros are a value, and nothing to drop.
unsafe impl Wipeable for ThreadLine {}
// SAFETY: the attachment is shared between threads anyway, and its thread alone uses the line.
unsafe impl Send for ThreadLine {}
// SAFETY: as above.
unsafe impl Sync for ThreadLine {}
// SAFETY: as above.
unsafe impl Wipeable for HomeLine {}
// SAFETY: the file and the array are shared between threads anyway.
unsafe impl Send for HomeLine {}
// SAFETY: as above.
unsafe impl Sync for HomeLine {}

/// What the fast path needs to know of an attachment at one lock.
#[derive(Clone, Copy)]
pub struct Cached<'a> {
    /// What it knows of its part in the lock.
    pub local: LocalState<'a>,
    /// How it claims the lock.
    pub mode_word: &'a AtomicU64,
    /// What it is at every lock.
    pub line: &'a Line,
}

/// Where a participant's words for one lock lie among those that it has for each of its file, in bytes.
#[derive(Clone, Copy)]
pub struct LocalOffset(usize);

impl LocalOffset {
    /// Of the lock of `region`.
    pub fn of(region: usize) -> Self {
        Self(2 * region * size_of::<AtomicU64>())
    }
}

impl Line {
    /// No attachment's.
    const NONE: Self = Self {
        local: ptr::null(),
        cell: CellOffset::NONE,
        mark: Mark::NONE,
        sole_process: ptr::null(),
        process: 0,
    };

    /// What it says of the lock of `region`.
    ///
    /// # Safety
    /// It is that of an attachment, of this process, in a file that is open for all of `'file` and has such a region.
    #[inline(always)]
    pub(super) unsafe fn at<'file>(&'file self, local: LocalOffset) -> Cached<'file> {
        // SAFETY: the attachment has two words for each region of its file; and only what a forked child has is NULL.
        let (local, mode_word) = unsafe {
            assert_unchecked(!self.local.is_null());
            let local = self.local.byte_add(local.0);
            (LocalState(&*local), &*local.add(1))
        };
        Cached { local, mode_word, line: self }
    }

    /// Returns its side of the barriers of its file.
    ///
    /// # Safety
    /// As [`Line::at`].
    #[inline(always)]
    pub(super) unsafe fn light(&self) -> LineBarrier<'_> {
        LineBarrier(self)
    }
}

/// [`FileBarrier`], which looks where the file's word is when the barrier is passed: until then that takes up no register.
#[derive(Clone, Copy)]
pub struct LineBarrier<'a>(&'a Line);

impl LightBarrier for LineBarrier<'_> {
    #[inline(always)]
    fn pass(self) {
        // SAFETY: the mapping has the header, as `Line::light` is promised.
        let sole_process = unsafe { &*self.0.sole_process };
        FileBarrier { sole_process, process: &self.0.process }.pass();
    }
}

impl ThreadLine {
    /// No file's.
    pub(super) fn none() -> Self {
        let (file, sole) = (FileKey::OF_ZEROS, Cell::new(FileKey::OF_ZEROS));
        Self { file, line: Line::NONE, attachment: ptr::null(), sole }
    }

    /// Notes whether the thread, the calling one, has one slot in each of its files.
    pub(super) fn note_sole(&self, is_sole: bool) {
        self.sole.set(if is_sole { self.file } else { FileKey::OF_ZEROS });
    }
}

impl HomeLine {
    /// Of one that has no home thread, ever.
    pub(super) fn none() -> Self {
        Self { line: Line::NONE, calls: Calls::new(false) }
    }

    /// Begins what the fast path does, if the calling thread is the home thread. See [`Calls::begin_at_home`].
    #[inline(always)]
    pub fn begin(&self, doing: Doing) -> Option<AtHome<'_>> {
        self.calls.begin_at_home(ThisThread, doing)
    }
}

#[inline(always)]
fn at_word<'file>(word: ThreadWord) -> &'file ThreadLine {
    // SAFETY: zeros, or the line of one of ATTACHMENTS (`super::thread`): a call that takes an attachment out of there comes by `forget_all`
    // first. In a forked child it is zeros.
    unsafe { &*word.get::<ThreadLine>() }
}
