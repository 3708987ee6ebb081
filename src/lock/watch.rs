//! While waiting: is all well with the file, and with the one we wait for?

use super::{engine::At, seat::Seat};
use crate::error::{Error, Result};
use crate::os::death_notice::{Probe, Seen};
use crate::recovery;
use crate::sync::Ordering::Relaxed;
use crate::wait::Limit;

/// One who waits, looking after those it waits for.
pub struct Watch<'a> {
    seat: &'a Seat,
    /// It said that it cannot look.
    blind: bool,
}

impl<'a> Watch<'a> {
    /// Opens nothing.
    pub fn new(at: &At<'a>) -> Self {
        Self { seat: at.seat, blind: false }
    }

    /// Is all well with the file, and with `slot`? `true`: it was dead and is removed now.
    ///
    /// Where no descriptor is to be had to look through, it counts as alive, and whoever looks at the file is told so.
    pub fn look_after(&mut self, slot: usize) -> Result<bool> {
        let file = &self.seat.file;
        let probe = Probe::new(file.reopen(), self.seat.slot);
        let (seen, is_unlinked) = probe.look(slot);
        if is_unlinked {
            file.say_unlinked();
            return Err(Error::Replaced { path: file.reopen().path() });
        }
        if !file.is_whole() {
            return Err(file.not_whole());
        }
        self.say_blind(seen == Seen::Unknown);
        file.touch_now_and_then();
        match seen {
            Seen::Dead => recovery::reap(file.view(), &probe, slot),
            Seen::Alive | Seen::Unknown => Ok(false),
        }
    }

    fn say_blind(&mut self, blind: bool) {
        if blind != self.blind && self.seat.is_ours() {
            self.blind = blind;
            let view = self.seat.file.view();
            view.slots()[self.seat.slot].blind.store(u32::from(blind), Relaxed);
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.say_blind(false);
    }
}

/// The error for a wait whose time is up.
pub fn out_of_time(limit: Limit) -> Error {
    if limit == Limit::Never { Error::WouldBlock } else { Error::TimedOut }
}
