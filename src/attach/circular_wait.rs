//! The search for deadlocks by a waiter that sleeps: when it looks, and what it says of its own wait meanwhile.

use super::attachment::Attachment;
use crate::deadlock;
use crate::os::liveness_lock::{Probe, Seen};
use turnlock_core::deadlock::{Cycle, WaitWord, find};
use turnlock_core::error::{Error, Result};

/// So long a waiter sleeps before the first search. A deadlock lasts; most waits do not.
const FIRST: u64 = 20_000_000;
/// Then it searches again at a share of the time waited.
const SHARE: u64 = 4;
const SELDOM: u64 = 500_000_000;

/// A wait, as far as deadlocks go: of a thread's own slot, and without a limit. Nothing, of any other.
pub struct CircularWait {
    is_searched: bool,
    may_be_told: bool,
    /// What stood in the slot's word before, while it says that this one waits.
    before: Option<WaitWord>,
    /// When to search next: so long after the wait began, in nanoseconds.
    next: u64,
    /// The fingerprint of the circle that the last search found.
    found: Option<u64>,
    /// The circle that the wait is to end for: one that is told so in the passive set ends after it has left that.
    proved: Option<String>,
}

impl CircularWait {
    /// A wait that has not slept yet. `has_edges`: it can only end by its turn. `may_be_told`: the error may end it.
    pub fn new(attachment: &Attachment, region: usize, has_edges: bool, may_be_told: bool) -> Self {
        // The directory's own lock is had for microseconds, and no lock is taken with it.
        let is_searched = has_edges && attachment.of_thread && region != 0;
        Self { is_searched, may_be_told, before: None, next: FIRST, found: None, proved: None }
    }

    /// Searches, if it is time to, after a nap. The wait for the lock in `region` has taken `waited` nanoseconds so far.
    ///
    /// # Errors
    /// [`Error::CircularWait`]: a circle that the search before this one found too, a nap ago.
    pub fn check(&mut self, attachment: &Attachment, region: usize, waited: u64) -> Result<()> {
        if let Some(cycle) = self.proved.take() {
            return Err(Error::CircularWait(cycle));
        }
        if !self.is_searched || waited < self.next || !attachment.is_ours() {
            return Ok(());
        }
        self.search(attachment, region, waited)
    }

    #[cold]
    #[inline(never)]
    fn search(&mut self, attachment: &Attachment, region: usize, waited: u64) -> Result<()> {
        let (file, slot) = (&attachment.file, attachment.slot);
        let view = file.view();
        if self.before.is_none() {
            self.before = Some(WaitWord::begin(&view.slots()[slot].wait, region, self.may_be_told));
        }
        if !self.may_be_told {
            self.next = u64::MAX;
            return Ok(());
        }
        let probe = Probe::new(file.reopen(), slot);
        let is_alive = |other: usize| probe.look(other).0 == Seen::Alive;
        let mut cycle = Cycle::default();
        if !find(&view, slot, &is_alive, &mut cycle) {
            self.found = None;
            self.next = waited + (waited / SHARE).clamp(FIRST, SELDOM);
            return Ok(());
        }
        let found = Some(cycle.fingerprint());
        self.next = waited;
        if self.found != found {
            self.found = found;
            return Ok(());
        }
        let cycle = deadlock::in_words(&cycle, view);
        self.proved = Some(cycle.clone());
        Err(Error::CircularWait(cycle))
    }

    /// The wait is over, however it ended.
    pub fn end(&mut self, attachment: &Attachment) {
        // In a forked child it is the parent's.
        if let Some(before) = self.before.take().filter(|_| attachment.is_ours()) {
            WaitWord::end(&attachment.file.view().slots()[attachment.slot].wait, before);
        }
    }
}
