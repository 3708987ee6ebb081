//! The mapped file as the site of an acquisition: one attached participant at one lock, its waits and liveness checks.

use super::{attachment::Attachment, by_messages, post::Membership, seat::skip_numbers};
use crate::os::{
    clock,
    liveness_lock::{Probe, Seen},
    process::{self, ProcessState},
};
use crate::recording;
use crate::recovery;
use crate::registers::{Exclusively, FileClaims, FileLock};
use crate::wait::{self, Cancel, Interrupt, Stop};
use std::{sync::Arc, time::Duration};
use turnlock_core::acquire::{
    eviction,
    local::LocalState,
    site::{Limit, Lock, Outcome, Overdue, Overwritten, Site, Waiter},
};
use turnlock_core::algorithm::{
    Blocker, Place, Protocol,
    bias::{self, Mark},
    claim::Claims,
    light_barrier::LightBarrier,
    retained,
};
use turnlock_core::error::{Error, Result};
use turnlock_core::event::{Event, Happening};
use turnlock_core::sync::{AtomicU64, Ordering::Relaxed, prefetch_for_writing};

/// An attached participant at one lock of its file.
#[derive(Clone, Copy)]
pub struct FileSite<'a, F: FileClaims = Exclusively> {
    attachment: &'a Attachment,
    lock: FileLock<'a, F>,
    generation: u64,
    interrupt: Option<&'a Interrupt>,
}

impl<'a, F: FileClaims> FileSite<'a, F> {
    /// The participant at the lock in `region`, whose directory entry has this generation. `interrupt`: ends its waits
    /// too.
    #[inline]
    pub fn new(
        attachment: &'a Attachment,
        region: usize,
        generation: u64,
        claims: F,
        interrupt: Option<&'a Interrupt>,
    ) -> Self {
        let lock = FileLock::claimed(attachment.file.view(), region, claims);
        Self { attachment, lock, generation, interrupt }
    }

    /// The participant's part in the lock, which is one by messages.
    fn membership(&self) -> Result<Arc<Membership>> {
        self.attachment.membership(self.lock.region, self.generation)
    }

    #[cold]
    fn record(&self, happening: Happening) {
        // What a child that was forked in a call remembers is its parent's.
        if self.is_ours() {
            recording::record(self.attachment.file.view(), self.lock.region, self.attachment.slot, happening);
        }
    }

    /// The participant.
    pub fn attachment(&self) -> &'a Attachment {
        self.attachment
    }
}

/// Adds one to a number for observers, which several may change at once.
fn count(number: &AtomicU64) {
    number.fetch_add(1, Relaxed);
}

impl<'a, F: FileClaims> Site for FileSite<'a, F> {
    type Lock = FileLock<'a, F>;
    type Waiter = FileWaiter<'a, F>;

    #[inline]
    fn lock(&self) -> &FileLock<'a, F> {
        &self.lock
    }

    #[inline]
    fn me(&self) -> usize {
        self.attachment.slot
    }

    #[inline]
    fn mark(&self) -> Mark {
        self.attachment.mark
    }

    #[inline]
    fn light(&self) -> impl LightBarrier {
        self.attachment.light()
    }

    #[inline]
    fn local(&self) -> LocalState<'_> {
        self.attachment.local(self.lock.region)
    }

    #[inline]
    fn claimed(&self, _: F::Claim) -> F::Claim {
        let cell = &self.lock.lock.cells[self.attachment.slot];
        F::claimed(self.attachment.how(self.lock.region), cell)
    }

    #[inline]
    fn note_claim(&self, claim: F::Claim) {
        F::note(self.attachment.how(self.lock.region), claim);
    }

    #[inline]
    fn is_shared(&self) -> bool {
        !self.attachment.of_thread
    }

    #[inline]
    fn is_ours(&self) -> bool {
        self.attachment.is_ours()
    }

    #[inline]
    fn now(&self) -> u64 {
        clock::coarse_monotonic_ns()
    }

    #[inline]
    fn prefetch(&self) {
        prefetch_for_writing(&self.lock.lock.numbers[self.attachment.slot]);
        prefetch_for_writing(&self.lock.lock.words.bias);
    }

    #[inline]
    fn check_intact(&self) -> Result<()> {
        let file = &self.attachment.file;
        if file.is_intact() { Ok(()) } else { Err(file.not_intact()) }
    }

    #[inline]
    fn check_exists(&self) -> Result<()> {
        let file = &self.attachment.file;
        if file.still_exists(self.lock.region, self.generation) {
            Ok(())
        } else if file.is_intact() {
            Err(file.removed())
        } else {
            Err(file.not_intact())
        }
    }

    #[inline]
    fn check_after_unlock(&self) -> Result<()> {
        let file = &self.attachment.file;
        if !file.is_intact() {
            Err(file.not_intact())
        } else if file.is_said_to_be_unlinked() && file.is_unlinked() {
            Err(Error::Replaced { path: file.reopen().path() })
        } else {
            Ok(())
        }
    }

    #[cold]
    fn overwritten(&self, what: Overwritten) -> Error {
        let region = self.lock.region;
        self.attachment.file.damaged(match what {
            Overwritten::Token => format!(
                "the fencing token of its lock {region} is impossible: the file was overwritten; delete it while nobody uses \
                 it and let it be created anew"
            ),
            Overwritten::Number { slot, value } => format!(
                "slot {slot} of its lock {region} holds the impossible number {value:#x} while its participant is alive: \
                 something else than turnlock writes to the file; stop its users, delete it and let it be created anew"
            ),
        })
    }

    fn heavy_barrier(&self) -> Result<()> {
        self.attachment.file.heavy_barrier(true)
    }

    #[inline]
    fn wants_bias(&self, in_demand: bool) -> bool {
        if <F::In<'a> as Claims>::ALWAYS_CONFLICT {
            self.lock.bias_policy().should_bias(self.attachment.slot, in_demand)
        } else {
            self.lock.readers_policy().should_bias(clock::monotonic_ns())
        }
    }

    fn wants_place(&self, in_demand: bool) -> bool {
        // A thread's own, so that the fast path finds it.
        self.attachment.of_thread && self.lock.bias_policy().should_bias(self.attachment.slot, in_demand)
    }

    fn bias_begins(&self, token: u64) {
        self.lock.bias_policy().bias_begins(token);
    }

    fn bias_was_revoked(&self) {
        let pays = if <F::In<'a> as Claims>::ALWAYS_CONFLICT { bias::PAYS } else { retained::PAYS };
        self.lock.bias_policy().was_revoked(self.lock.lock.words.token.load(Relaxed), pays);
    }

    fn exact_now(&self) -> u64 {
        clock::monotonic_ns()
    }

    fn readers_were_revoked(&self, began: u64) {
        self.lock.readers_policy().was_revoked(began, clock::monotonic_ns());
    }

    fn begin_section(&self) -> bool {
        self.attachment.section(self.lock.region).begin()
    }

    #[inline]
    fn end_section(&self) {
        self.attachment.section(self.lock.region).end();
    }

    #[inline]
    fn note(&self, happening: Happening) {
        let words = self.lock.lock.words;
        match happening.event {
            Event::TimedOut => count(&words.timed_out),
            Event::WouldBlock => count(&words.contended),
            Event::PassedOver => count(&words.passed_over),
            _ => {}
        }
        if self.attachment.file.has_recording() {
            self.record(happening);
        }
    }

    fn waiter(&self, limit: Limit, patience: u64, may_be_ended: bool) -> FileWaiter<'a, F> {
        let Self { attachment, lock, interrupt, .. } = *self;
        let stop = if may_be_ended {
            Stop { cancel: &attachment.cancel, interrupt }
        } else {
            Stop { cancel: Cancel::NOBODYS, interrupt: None }
        };
        let slot = attachment.slot;
        let cell = &lock.lock.cells[slot];
        let since = (&cell.since, &cell.waiting_since);
        let waiter =
            wait::Waiter::new(limit, patience, slot, (stop, &attachment.adaptive), since, lock.standby());
        let is_counted = may_be_ended && limit != Limit::Never;
        FileWaiter { attachment, lock, waiter, blind: false, is_counted }
    }

    fn reap(&self, slot: usize) -> Result<bool> {
        let file = &self.attachment.file;
        let probe = Probe::new(file.reopen(), self.attachment.slot);
        recovery::reap_from(self.lock.region, file.view(), &probe, slot)
    }

    fn is_stopped(&self, slot: usize) -> bool {
        let record = &self.attachment.file.view().slots()[slot];
        let (pid, tid) = (record.pid.load(Relaxed), record.tid.load(Relaxed));
        record.pid_namespace.load(Relaxed) == process::pid_namespace()
            && process::state_of(pid, tid) == ProcessState::Stopped
    }

    fn pause(&self) {
        std::thread::sleep(Duration::from_millis(1));
    }

    fn enter_by_messages(&self, limit: Limit) -> Result<Option<u64>> {
        let membership = self.membership()?;
        let token = by_messages::enter(self, &self.attachment.file, &membership, limit)?;
        if let Some(token) = token {
            skip_numbers(self.lock.lock.words, token.saturating_sub(1));
        }
        Ok(token)
    }

    fn leave_by_messages(&self) {
        if let Some(membership) = self.attachment.known_membership(self.lock.region) {
            membership.with_seat(|seat| seat.give_up());
        }
    }
}

/// One wait in a mapped file.
pub struct FileWaiter<'a, F: FileClaims> {
    attachment: &'a Attachment,
    lock: FileLock<'a, F>,
    waiter: wait::Waiter<'a>,
    /// Whether the slot's record says that it cannot check others.
    blind: bool,
    /// Whether it is the wait of an acquisition that is no try: those are counted when they fail.
    is_counted: bool,
}

impl<F: FileClaims> FileWaiter<'_, F> {
    fn record_blind(&mut self, blind: bool) {
        if blind != self.blind && self.attachment.is_ours() {
            self.blind = blind;
            let view = self.attachment.file.view();
            view.slots()[self.attachment.slot].blind.store(u32::from(blind), Relaxed);
        }
    }
}

impl<F: FileClaims> FileWaiter<'_, F> {
    /// What one of the crowd does now and then: checks whether those inside are alive, the candidate, and the one that would
    /// be the next candidate; and relieves a candidate that is stopped.
    fn look_round(&mut self, participants: usize) -> Result<()> {
        let slots = self.lock.slots();
        for slot in 0..slots.min(participants) {
            if self.lock.held(slot).load(Relaxed) != 0 {
                self.check_alive(slot)?;
            }
        }
        for slot in self.waiter.candidates().into_iter().flatten().filter(|slot| *slot < slots) {
            self.check_alive(slot)?;
        }
        let queue = self.lock.queue();
        self.waiter.relieve_candidate(|slot| {
            slot < slots
                && queue.place(slot) != Place::Idle
                && eviction::is_kept_waiting(&self.lock, slot, None)
        });
        Ok(())
    }

    /// Returns whether its slot claims more than there is by now.
    fn is_in_vain(&self) -> bool {
        let claims = self.lock.queue().1;
        claims.shortage(claims.read(self.attachment.slot)).is_some()
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

    fn wait(&mut self, blocker: &Blocker, unchanged: impl Fn() -> bool) -> Outcome {
        self.waiter.wait(unchanged, self.lock.spot(blocker.slot), blocker)
    }

    fn back_off(&mut self, unchanged: impl Fn() -> bool) -> Outcome {
        // Relaxed: a guess.
        let participants = self.lock.lock.header.slots_in_use.load(Relaxed);
        let mut outcome = self.waiter.stand_by(participants, &unchanged);
        let mut has_just_come = true;
        // In the crowd: those that have waited longer go first, so it does not come back before it is the candidate, unless
        // what it came for has gone before it slept.
        while matches!(outcome, Outcome::CheckAlive | Outcome::LookAgain)
            && !(has_just_come && outcome == Outcome::LookAgain && !unchanged())
            && !self.waiter.is_candidate()
        {
            let looks_round = outcome == Outcome::CheckAlive;
            if self.is_in_vain() || (looks_round && self.look_round(participants as usize).is_err()) {
                break;
            }
            has_just_come = false;
            outcome = self.waiter.stand_by(participants, || true);
        }
        self.waiter.leave_crowd();
        if outcome == Outcome::TimedOut { Outcome::LookAgain } else { outcome }
    }

    fn was_parked(&self) -> bool {
        self.waiter.was_parked()
    }

    fn is_overdue(&mut self, first: Option<(usize, u64)>, ahead: usize) -> Overdue {
        self.waiter.is_overdue(first, ahead)
    }

    /// Where no descriptor is to be had to look through, `slot` counts as alive, and observers of the file are told so.
    fn check_alive(&mut self, slot: usize) -> Result<bool> {
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
        self.record_blind(seen == Seen::Unknown);
        self.attachment.file.touch_now_and_then();
        match seen {
            Seen::Dead => {
                let reaped = recovery::reap_from(self.lock.region, file.view(), &probe, slot)?;
                if reaped {
                    recovery::reap_all(file.view(), &probe)?;
                }
                Ok(reaped)
            }
            Seen::Alive | Seen::Unknown => Ok(false),
        }
    }
}

impl<F: FileClaims> Drop for FileWaiter<'_, F> {
    fn drop(&mut self) {
        self.record_blind(false);
        if self.waiter.end() && self.is_counted {
            count(&self.lock.lock.words.contended);
        }
    }
}
