//! The fast path of a reservation: acquisitions of a thread whose place in the queue still stands
//! ([`turnlock_core::algorithm::reservation`]). A few loads and stores of words that nobody else is using, and no call.
//!
//! Whatever is not exactly so is for [`turnlock_core::acquire::operations`].

use super::{
    fast_path::{Left, LockPointer},
    thread,
};
use crate::layout::{Cell, LockWords};
use crate::registers::{self, Claimed, FileClaims};
use turnlock_core::acquire::local::Holding;
use turnlock_core::algorithm::{
    claim::{Claim, Claims, InCells, Relation},
    reservation::Reservation,
};
use turnlock_core::sync::Ordering::Relaxed;
use turnlock_core::trace::{self, Step};

/// Takes what `claim` says, if the calling thread has a place retained that suits it. Returns the fencing token.
///
/// # Safety
/// The lock's file is open.
#[inline(always)]
pub unsafe fn enter(lock: LockPointer, relation: Relation, claim: Claim) -> Option<u64> {
    // SAFETY: the caller's promise; and the pointer was made by whoever opened the lock, so its file has that region.
    let at = unsafe { thread::cached(lock.word, lock.file, lock.region)? };
    if !at.local.may_have_reservation() {
        return None;
    }
    // SAFETY: pointer and cell offset were computed from views of the same file, whose mapping lives as long as it does.
    let (words, cell) = unsafe { lock.at.words(at.cell) };
    let claims = own(cell, words, relation);
    at.local.begin_biased();
    // After it: a signal handler that came before may have given the place up. Who does that and queues again writes another
    // claim first; and where others took it away, it is evicted still.
    let entered = match claims.suits_reservation(0, claim) {
        true => place(cell).reenter(claims, 0, claim, at.light, &registers::ownership(words)),
        false => None,
    };
    match entered {
        Some(token) => {
            Claimed::note(at.mode_word, claim);
            at.local.record(Some(Holding { token, unbiased: false }));
            trace::at(Step::Section);
            Some(token)
        }
        None => {
            at.local.record_reservation();
            None
        }
    }
}

/// Unlocks, if the calling thread holds the lock by its reservation (by the acquisition with this very token, where one is
/// named). `None`: it does not, and nothing was done.
///
/// # Safety
/// As [`enter`].
#[inline(always)]
pub unsafe fn leave(lock: LockPointer, relation: Relation, token: Option<u64>) -> Option<Left> {
    // SAFETY: as in `enter`.
    let at = unsafe { thread::cached(lock.word, lock.file, lock.region)? };
    if !at.local.is_held_biased(token) {
        return None;
    }
    // SAFETY: as in `enter`.
    let (words, cell) = unsafe { lock.at.words(at.cell) };
    if !own(cell, words, relation).is_reserved(0) {
        return None;
    }
    at.local.record_reservation();
    trace::at(Step::Exit);
    Some(if place(cell).leave() { Left::Quietly } else { Left::Revoked })
}

/// [`leave`], of a semaphore, if the thread has just so many permits, all by its own slot.
///
/// # Safety
/// As [`enter`].
#[inline(always)]
pub unsafe fn release(lock: LockPointer, permits: u32) -> Option<Left> {
    // SAFETY: as in `enter`.
    let at = unsafe { thread::cached(lock.word, lock.file, lock.region)? };
    if thread::has_more() || at.mode_word.load(Relaxed) >> 32 != u64::from(permits) {
        return None;
    }
    // SAFETY: the caller's promise.
    unsafe { leave(lock, Relation::Permits, None) }
}

/// The claims of a lock of which only the thread's own is asked for, as slot 0.
#[inline(always)]
fn own<'a>(cell: &'a Cell, words: &'a LockWords, relation: Relation) -> InCells<'a, Cell> {
    InCells { cells: std::slice::from_ref(cell), relation, permits: &words.permits }
}

#[inline(always)]
fn place(cell: &Cell) -> Reservation<'_> {
    Reservation { held: &cell.held, eviction: registers::eviction(cell) }
}
