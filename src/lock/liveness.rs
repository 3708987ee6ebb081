//! While waiting: is all well with the file, and with the one we wait for?

use super::{attachment::Attachment, engine::At};
use crate::error::{Error, Result};
use crate::os::liveness_lock::{Probe, Seen};
use crate::recovery;
use crate::sync::Ordering::Relaxed;
use crate::wait::Limit;

/// One who waits, looking after those it waits for.
pub struct LivenessCheck<'a> {
    attachment: &'a Attachment,
    /// It said that it cannot look.
    blind: bool,
}

impl<'a> LivenessCheck<'a> {
    /// Opens nothing.
    pub fn new(at: &At<'a>) -> Self {
        Self { attachment: at.attachment, blind: false }
    }

    /// Is all well with the file, and with `slot`? `true`: it was dead and is removed now.
    ///
    /// Where no descriptor is to be had to look through, it counts as alive, and whoever looks at the file is told so.
    pub fn check(&mut self, slot: usize) -> Result<bool> {
        let file = &self.attachment.file;
        let probe = Probe::new(file.reopen(), self.attachment.slot);
        let (seen, is_unlinked) = probe.look(slot);
        if is_unlinked {
            file.say_unlinked();
            return Err(Error::Replaced { path: file.reopen().path() });
        }
        if !file.is_intact() {
            return Err(file.not_intact());
        }
        self.say_blind(seen == Seen::Unknown);
        file.touch_now_and_then();
        match seen {
            Seen::Dead => recovery::reap(file.view(), &probe, slot),
            Seen::Alive | Seen::Unknown => Ok(false),
        }
    }

    fn say_blind(&mut self, blind: bool) {
        if blind != self.blind && self.attachment.is_ours() {
            self.blind = blind;
            let view = self.attachment.file.view();
            view.slots()[self.attachment.slot].blind.store(u32::from(blind), Relaxed);
        }
    }
}

impl Drop for LivenessCheck<'_> {
    fn drop(&mut self) {
        self.say_blind(false);
    }
}

/// The error for a wait whose time is up.
pub fn out_of_time(limit: Limit) -> Error {
    if limit == Limit::Never { Error::WouldBlock } else { Error::TimedOut }
}
