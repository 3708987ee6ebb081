//! While waiting: is all well with the file, and with the one we wait for?

use super::{engine::At, seat::Seat};
use crate::error::{Error, Result};
use crate::os::death_notice::Probe;
use crate::recovery;
use crate::wait::Limit;

/// One who waits, looking after those it waits for.
pub struct Watch<'a> {
    at: &'a At<'a>,
    probe: Option<Probe<'a>>,
}

impl<'a> Watch<'a> {
    /// Opens nothing yet.
    pub fn new(at: &'a At<'a>) -> Self {
        Self { at, probe: None }
    }

    /// Is all well with the file, and with `slot`? `true`: it was dead and is removed now.
    pub fn look_after(&mut self, slot: usize) -> Result<bool> {
        let seat: &'a Seat = self.at.seat;
        let probe = match &mut self.probe {
            Some(probe) => probe,
            none => none.insert(Probe::open(seat.file.reopen(), seat.slot)?),
        };
        if probe.is_replaced() {
            return Err(Error::Replaced { path: seat.file.reopen().path().into() });
        }
        if !seat.file.is_whole() {
            return Err(seat.file.not_whole());
        }
        reap_if_dead(seat, probe, slot)
    }
}

/// `true`: it was dead and is removed now.
pub fn reap_if_dead(seat: &Seat, probe: &Probe, slot: usize) -> Result<bool> {
    if probe.is_alive(slot)? {
        return Ok(false);
    }
    recovery::reap(seat.file.view(), probe, slot)
}

/// The error for a wait whose time is up.
pub fn out_of_time(limit: Limit) -> Error {
    if limit == Limit::Never { Error::WouldBlock } else { Error::TimedOut }
}
