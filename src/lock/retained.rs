//! The fast path: entries of a thread that retains the privilege. A few loads and stores of words that nobody else is
//! using, and no call.
//!
//! Whatever is not exactly so (another one's privilege, somebody who asks, the news of a death) is for [`super::engine`].

use super::{
    open_file::OpenFile,
    seat::{self, Have},
};
use crate::algorithm::{ownership::Ownership, retained::Privilege};
use crate::layout::{Entrance, LockWords};
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
    seat::with_latest_seat(file, |seat| {
        if !seat.is_outside(door.region) {
            return None;
        }
        // SAFETY: both were computed from views of `file`: the door by whoever opened the lock, the cell's offset by the
        // seat, whose file it is. The mapping lives as long as `file`.
        let (words, cell) = unsafe { door.entrance.words(seat.cell) };
        let (privilege, ownership) = words_of(words);
        let token = privilege.enter(&cell.held, seat.mark, &ownership)?;
        seat.note(door.region, Some(Have { token, plainly: false }));
        steps::at(Step::Section);
        Some(token)
    })
}

/// Leaves, if the calling thread is in by a retained entry (with this very token, where one is named). `None`: it is not,
/// and nothing was done.
#[inline(always)]
pub fn leave(file: &Arc<OpenFile>, door: Door, token: Option<u64>) -> Option<Left> {
    seat::with_latest_seat(file, |seat| {
        let has = seat.has(door.region)?;
        if has.plainly || token.is_some_and(|token| token != has.token) {
            return None;
        }
        // SAFETY: as in `enter`.
        let (words, cell) = unsafe { door.entrance.words(seat.cell) };
        seat.note(door.region, None);
        steps::at(Step::Exit);
        let (privilege, _) = words_of(words);
        Some(if privilege.leave(&cell.held, seat.mark) { Left::Quietly } else { Left::Disturbed })
    })
}

#[inline(always)]
fn words_of(words: &LockWords) -> (Privilege<'_>, Ownership<'_>) {
    (recovery::privilege(words), recovery::ownership(words))
}
