//! One wait in a mapped file, and its liveness checks.

use super::{attachment::Attachment, circular_wait::CircularWait};
use crate::layout::Cell;
use crate::os::{
    linux::Linux,
    liveness_lock::{Probe, Seen},
};
use crate::recovery;
use crate::registers::{FileClaims, FileLock};
use turnlock_core::acquire::site::{Limit, Lock, Outcome, Overdue, Waiter};
use turnlock_core::algorithm::{Blocker, claim::Claims};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::{AtomicU64, Ordering::Relaxed};
use turnlock_core::wait::{self, Surroundings};

/// One wait in a mapped file.
pub struct FileWaiter<'a, F: FileClaims> {
    waiter: wait::Waiter<'a, Linux, Cell>,
    around: FileSurroundings<'a, F>,
    /// Whether it is the wait of an acquisition that is no try: those are counted when they fail.
    is_counted: bool,
}

/// The participant that waits, and the lock.
struct FileSurroundings<'a, F: FileClaims> {
    attachment: &'a Attachment,
    lock: FileLock<'a, F>,
    /// Whether the slot's record says that it cannot check others.
    cannot_probe: bool,
    circle: CircularWait,
}

impl<'a, F: FileClaims> FileWaiter<'a, F> {
    /// `may_be_told`: of a deadlock, by an error.
    pub(super) fn new(
        waiter: wait::Waiter<'a, Linux, Cell>,
        attachment: &'a Attachment,
        lock: FileLock<'a, F>,
        is_counted: bool,
        may_be_told: bool,
    ) -> Self {
        let circle =
            CircularWait::new(attachment, lock.region, waiter.limit() == Limit::Forever, may_be_told);
        let around = FileSurroundings { attachment, lock, cannot_probe: false, circle };
        Self { waiter, around, is_counted }
    }
}

impl<F: FileClaims> FileSurroundings<'_, F> {
    fn record_cannot_probe(&mut self, cannot_probe: bool) {
        if cannot_probe != self.cannot_probe && self.attachment.is_ours() {
            self.cannot_probe = cannot_probe;
            let view = self.attachment.file.view();
            view.slots()[self.attachment.slot].cannot_probe.store(u32::from(cannot_probe), Relaxed);
        }
    }
}

impl<'a, F: FileClaims> Surroundings for FileSurroundings<'a, F> {
    type Lock = FileLock<'a, F>;

    fn lock(&self) -> &FileLock<'a, F> {
        &self.lock
    }

    fn participants(&self) -> u32 {
        // Relaxed: a guess.
        self.lock.lock.header.slots_in_use.load(Relaxed)
    }

    /// Returns whether the slot claims more than there is by now.
    fn is_in_vain(&self) -> bool {
        let claims = self.lock.queue().claims;
        claims.shortage(claims.read(self.attachment.slot)).is_some()
    }

    fn check_circle(&mut self, waited: u64) -> Result<()> {
        self.circle.check(self.attachment, self.lock.region, waited)
    }

    /// Where no descriptor is to be had to look through, `slot` counts as alive, and observers of the file are told so.
    fn check_alive(&mut self, slot: usize) -> Result<bool> {
        let probe = Probe::new(self.attachment.file.reopen(), self.attachment.slot);
        let seen = look(self.attachment, &probe, slot)?;
        self.record_cannot_probe(seen == Seen::Unknown);
        reap_if(seen, self.attachment, self.lock.region, &probe, slot)
    }
}

/// Checks whether the participant of `slot` is dead, seen by `attachment`, and reaps it then, with all that died beside it. Returns
/// whether it did. Where no descriptor is to be had to look through, it counts as alive.
///
/// # Errors
/// [`Error::Replaced`], [`Error::Damaged`].
pub fn reap_if_dead(attachment: &Attachment, region: usize, slot: usize) -> Result<bool> {
    let probe = Probe::new(attachment.file.reopen(), attachment.slot);
    reap_if(look(attachment, &probe, slot)?, attachment, region, &probe, slot)
}

fn look(attachment: &Attachment, probe: &Probe, slot: usize) -> Result<Seen> {
    let file = &attachment.file;
    let (seen, is_unlinked) = probe.look(slot);
    if is_unlinked {
        file.say_unlinked();
        return Err(Error::Replaced { path: file.reopen().path() });
    }
    if file.is_intact() { Ok(seen) } else { Err(file.not_intact()) }
}

fn reap_if(seen: Seen, attachment: &Attachment, region: usize, probe: &Probe, slot: usize) -> Result<bool> {
    let file = &attachment.file;
    file.touch_now_and_then();
    match seen {
        Seen::Dead => {
            let reaped = recovery::reap_from(region, file.view(), probe, slot)?;
            if reaped {
                recovery::reap_all(file.view(), probe)?;
            }
            Ok(reaped)
        }
        Seen::Alive | Seen::Unknown => Ok(false),
    }
}

impl<F: FileClaims> Waiter for FileWaiter<'_, F> {
    fn limit(&self) -> Limit {
        self.waiter.limit()
    }

    fn lets_pass(&mut self) -> bool {
        self.waiter.lets_pass()
    }

    fn queue_for_good(&mut self) {
        self.waiter.queue_for_good();
    }

    fn wait(&mut self, blocker: &Blocker, must_wait: impl Fn() -> bool) -> Outcome {
        self.waiter.wait(must_wait, self.around.lock.spot(blocker.slot), blocker)
    }

    fn back_off(&mut self, must_wait: impl Fn() -> bool) -> Outcome {
        wait::back_off(&mut self.waiter, &mut self.around, must_wait)
    }

    fn was_parked(&self) -> bool {
        self.waiter.was_parked()
    }

    fn is_overdue(&mut self, first: Option<(usize, u64)>, ahead: usize) -> Overdue {
        self.waiter.is_overdue(first, ahead)
    }

    fn check_alive(&mut self, slot: usize) -> Result<bool> {
        self.around.check_alive(slot)
    }

    fn check_circle(&mut self) -> Result<()> {
        self.around.check_circle(self.waiter.waited_so_far())
    }
}

impl<F: FileClaims> Drop for FileWaiter<'_, F> {
    fn drop(&mut self) {
        self.around.record_cannot_probe(false);
        self.around.circle.end(self.around.attachment);
        if self.waiter.end() && self.is_counted {
            count(&self.around.lock.lock.words.contended);
        }
    }
}

/// Adds one to a number for observers, which several may change at once.
pub fn count(number: &AtomicU64) {
    number.fetch_add(1, Relaxed);
}
