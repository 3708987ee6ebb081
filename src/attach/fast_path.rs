//! The fast path: acquisitions of a thread that the lock is biased to. A few loads and stores of words that nobody else is
//! using, and no call.
//!
//! Whatever is not exactly so (a lock biased to another participant, a revocation, an owner-dead notice) is for
//! [`turnlock_core::acquire::operations`].

use super::{
    attachment::{Attachment, Cached, FileKey},
    calls::{Doing, ThisThread},
    thread,
};
use crate::layout::RegionPointer;
use crate::os::thread_words::ThreadWord;
use crate::registers;
use turnlock_core::acquire::local::Holding;
use turnlock_core::algorithm::shared_bias::ReadersMark;
use turnlock_core::trace::{self, Step};

/// Where a lock is: its open file's key, its region, and that region's address.
#[derive(Clone, Copy)]
pub struct LockPointer {
    /// Its file.
    pub file: FileKey,
    /// Where a thread keeps its cache of that file.
    pub word: ThreadWord,
    /// Its number in the file.
    pub region: usize,
    /// Where it lies in the mapping.
    pub at: RegionPointer,
}

/// How a bias owner left.
pub enum Left {
    /// Nobody minded.
    Quietly,
    /// The bias was revoked meanwhile: who waits for that has to be unparked.
    Revoked,
}

/// Takes the lock, if it is biased to the calling thread. Returns the fencing token.
///
/// # Safety
/// The lock's file is open.
#[inline(always)]
pub unsafe fn enter(lock: LockPointer) -> Option<u64> {
    // SAFETY: the pointer was made by whoever opened the lock, so its file has that region.
    unsafe { enter_at(lock, thread::cached(lock.word, lock.file, lock.region)?) }
}

/// Takes the lock as `attachment`, one that threads share, if it is biased to it and the calling thread is its home thread.
/// Returns the fencing token.
///
/// # Safety
/// As [`enter`].
#[inline(always)]
pub unsafe fn enter_as(lock: LockPointer, attachment: &Attachment) -> Option<u64> {
    // SAFETY: as in `enter`.
    let act = || unsafe { enter_at(lock, attachment.cached(lock.file, lock.region)?) };
    attachment.calls.at_home(ThisThread, Doing::Taking(lock.region), act)
}

/// # Safety
/// `at` is what the file of `lock`, which is open, has of an attachment that nobody else uses now.
#[inline(always)]
unsafe fn enter_at(lock: LockPointer, at: Cached) -> Option<u64> {
    if !at.local.may_be_biased() {
        return None;
    }
    // SAFETY: pointer and cell offset were computed from views of the same file, whose mapping lives as long as it does.
    let (words, cell) = unsafe { lock.at.words(at.cell) };
    at.local.begin_biased();
    match registers::bias(words).take_as_owner(&cell.held, at.mark, at.light, &registers::ownership(words)) {
        Some(token) => {
            at.local.record(Some(Holding { token, unbiased: false }));
            trace::at(Step::Section);
            Some(token)
        }
        None => {
            at.local.record_biased();
            None
        }
    }
}

/// Takes the lock as a reader, if it is biased to its readers and the calling thread was one of them. Returns the fencing
/// token of the last writer.
///
/// # Safety
/// As [`enter`].
#[inline(always)]
pub unsafe fn enter_shared(lock: LockPointer, readers: ReadersMark) -> Option<u64> {
    // SAFETY: as in `enter`.
    unsafe { enter_shared_at(lock, thread::cached(lock.word, lock.file, lock.region)?, readers) }
}

/// [`enter_shared`], as `attachment`, like [`enter_as`].
///
/// # Safety
/// As [`enter`].
#[inline(always)]
pub unsafe fn enter_shared_as(
    lock: LockPointer,
    attachment: &Attachment,
    readers: ReadersMark,
) -> Option<u64> {
    // SAFETY: as in `enter_as`.
    let act = || unsafe { enter_shared_at(lock, attachment.cached(lock.file, lock.region)?, readers) };
    attachment.calls.at_home(ThisThread, Doing::Taking(lock.region), act)
}

/// # Safety
/// As [`enter_at`].
#[inline(always)]
unsafe fn enter_shared_at(lock: LockPointer, at: Cached, readers: ReadersMark) -> Option<u64> {
    // It says so only after a section as a reader: the claim in its cell is a reader's.
    if !at.local.may_be_biased() {
        return None;
    }
    // SAFETY: as in `enter_at`.
    let (words, cell) = unsafe { lock.at.words(at.cell) };
    let shared_bias = registers::shared_bias(words, readers);
    // Else who waits for it to be outside would have to be unparked.
    if !shared_bias.is_unrevoked() {
        return None;
    }
    at.local.begin_biased();
    match shared_bias.take_as_reader(&cell.held, at.light, &registers::ownership(words)) {
        Some(token) => {
            at.local.record(Some(Holding { token, unbiased: false }));
            trace::at(Step::Section);
            Some(token)
        }
        None => {
            at.local.record_biased();
            None
        }
    }
}

/// Unlocks, if the calling thread is a biased reader inside (by the acquisition with this very token, where one is named).
/// `None`: it is not, and nothing was done.
///
/// # Safety
/// As [`enter`].
#[inline(always)]
pub unsafe fn leave_shared(lock: LockPointer, readers: ReadersMark, token: Option<u64>) -> Option<Left> {
    // SAFETY: as in `enter`.
    unsafe { leave_shared_at(lock, thread::cached(lock.word, lock.file, lock.region)?, readers, token) }
}

/// [`leave_shared`], as `attachment`, like [`enter_as`].
///
/// # Safety
/// As [`enter`].
#[inline(always)]
pub unsafe fn leave_shared_as(
    lock: LockPointer,
    attachment: &Attachment,
    readers: ReadersMark,
    token: Option<u64>,
) -> Option<Left> {
    // SAFETY: as in `enter_as`.
    let act = || unsafe { leave_shared_at(lock, attachment.cached(lock.file, lock.region)?, readers, token) };
    attachment.calls.at_home(ThisThread, Doing::Leaving(lock.region), act)
}

/// # Safety
/// As [`enter_at`].
#[inline(always)]
unsafe fn leave_shared_at(
    lock: LockPointer,
    at: Cached,
    readers: ReadersMark,
    token: Option<u64>,
) -> Option<Left> {
    if !at.local.is_held_biased(token) {
        return None;
    }
    // SAFETY: as in `enter_at`.
    let (words, cell) = unsafe { lock.at.words(at.cell) };
    at.local.record_biased();
    trace::at(Step::Exit);
    let quietly = registers::shared_bias(words, readers).leave(&cell.held);
    Some(if quietly { Left::Quietly } else { Left::Revoked })
}

/// Unlocks, if the calling thread holds the lock by a biased acquisition (with this very token, where one is named).
/// `None`: it does not, and nothing was done.
///
/// # Safety
/// As [`enter`].
#[inline(always)]
pub unsafe fn leave(lock: LockPointer, token: Option<u64>) -> Option<Left> {
    // SAFETY: as in `enter`.
    unsafe { leave_at(lock, thread::cached(lock.word, lock.file, lock.region)?, token) }
}

/// [`leave`], as `attachment`, like [`enter_as`].
///
/// # Safety
/// As [`enter`].
#[inline(always)]
pub unsafe fn leave_as(lock: LockPointer, attachment: &Attachment, token: Option<u64>) -> Option<Left> {
    // SAFETY: as in `enter_as`.
    let act = || unsafe { leave_at(lock, attachment.cached(lock.file, lock.region)?, token) };
    attachment.calls.at_home(ThisThread, Doing::Leaving(lock.region), act)
}

/// # Safety
/// As [`enter_at`].
#[inline(always)]
unsafe fn leave_at(lock: LockPointer, at: Cached, token: Option<u64>) -> Option<Left> {
    if !at.local.is_held_biased(token) {
        return None;
    }
    // SAFETY: as in `enter_at`.
    let (words, cell) = unsafe { lock.at.words(at.cell) };
    at.local.record_biased();
    trace::at(Step::Exit);
    Some(if registers::bias(words).leave(&cell.held, at.mark) { Left::Quietly } else { Left::Revoked })
}
