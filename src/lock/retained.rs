//! The fast path: entries of a thread that retains the privilege. A few loads and stores of words that nobody else is
//! using, and no call.
//!
//! Whatever is not exactly so (another one's privilege, somebody who asks, the news of a death) is for
//! [`super::engine`].

use super::{
    attachment::{FileKey, Have},
    thread,
};
use crate::layout::Entrance;
use crate::mutants::{Mutant, planted};
use crate::recovery;
use crate::trace::{self, Step};

/// A lock, as its handle knows it.
#[derive(Clone, Copy)]
pub struct Door {
    /// Its file.
    pub file: FileKey,
    /// Its number in the file.
    pub region: usize,
    /// Where it lies in the mapping.
    pub entrance: Entrance,
}

/// How a retainer left.
pub enum Left {
    /// Nobody minded.
    Quietly,
    /// Somebody asked meanwhile: wake them.
    Disturbed,
}

/// Goes in, if the calling thread retains the privilege: its fencing token.
///
/// # Safety
/// The door's file is open.
#[inline(always)]
pub unsafe fn enter(door: Door) -> Option<u64> {
    // SAFETY: the door was made by whoever opened the lock, so its file has that region.
    let attachment = unsafe { thread::latest(door.file, door.region) }?;
    if !attachment.own.may_retain() {
        return None;
    }
    // SAFETY: door and cell offset were computed from views of the same file, whose mapping lives as long as it does.
    let (words, cell) = unsafe { door.entrance.words(attachment.cell) };
    if !planted(Mutant::HeldBeforeOwn) {
        attachment.own.begin_retained();
    }
    match recovery::privilege(words).enter(&cell.held, attachment.mark, &recovery::ownership(words)) {
        Some(token) => {
            attachment.own.note(Some(Have { token, plainly: false }));
            trace::at(Step::Section);
            Some(token)
        }
        None => {
            attachment.own.note_retaining();
            None
        }
    }
}

/// Leaves, if the calling thread is in by a retained entry (with this very token, where one is named). `None`: it is
/// not, and nothing was done.
///
/// # Safety
/// As [`enter`].
#[inline(always)]
pub unsafe fn leave(door: Door, token: Option<u64>) -> Option<Left> {
    // SAFETY: as in `enter`.
    let attachment = unsafe { thread::latest(door.file, door.region) }?;
    if !attachment.own.is_retained_entry(token) {
        return None;
    }
    // SAFETY: as in `enter`.
    let (words, cell) = unsafe { door.entrance.words(attachment.cell) };
    attachment.own.note_retaining();
    trace::at(Step::Exit);
    Some(if recovery::privilege(words).leave(&cell.held, attachment.mark) {
        Left::Quietly
    } else {
        Left::Disturbed
    })
}
