//! The fast path: entries of a thread that retains the privilege. A few loads and stores of words that nobody else is
//! using, and no call.
//!
//! Whatever is not exactly so (another one's privilege, somebody who asks, the news of a death) is for [`super::engine`].

use super::{
    open_file::OpenFile,
    seat::{self, Have},
};
use crate::layout::Entrance;
use crate::recovery;
use crate::steps::{self, Step};
use std::sync::Arc;

/// A lock, as its handle knows it.
#[derive(Clone, Copy)]
pub struct Door {
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
#[inline(always)]
pub fn enter(file: &Arc<OpenFile>, door: Door) -> Option<u64> {
    // SAFETY: the door is one of `file`, made by whoever opened the lock.
    let seat = unsafe { seat::latest(file, door.region) }?;
    if !seat.own.is_nothing() {
        return None;
    }
    // SAFETY: door and cell offset were computed from views of `file`, whose mapping lives as long as it does.
    let (words, cell) = unsafe { door.entrance.words(seat.cell) };
    let token = recovery::privilege(words).enter(&cell.held, seat.mark, &recovery::ownership(words))?;
    seat.own.note(Some(Have { token, plainly: false }));
    steps::at(Step::Section);
    Some(token)
}

/// Leaves, if the calling thread is in by a retained entry (with this very token, where one is named). `None`: it is not,
/// and nothing was done.
#[inline(always)]
pub fn leave(file: &Arc<OpenFile>, door: Door, token: Option<u64>) -> Option<Left> {
    // SAFETY: as in `enter`.
    let seat = unsafe { seat::latest(file, door.region) }?;
    if !seat.own.is_retained_entry(token) {
        return None;
    }
    // SAFETY: as in `enter`.
    let (words, cell) = unsafe { door.entrance.words(seat.cell) };
    seat.own.note(None);
    steps::at(Step::Exit);
    Some(if recovery::privilege(words).leave(&cell.held, seat.mark) {
        Left::Quietly
    } else {
        Left::Disturbed
    })
}
