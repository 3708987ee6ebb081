//! The mapped file as the site of an acquisition: one attached participant at one lock.

use super::{
    attachment::Attachment,
    by_messages,
    endpoint::skip_numbers,
    locked_by,
    message_service::Membership,
    waiter::{FileWaiter, count},
};
use crate::os::{
    clock,
    linux::Linux,
    liveness_lock::Probe,
    process::{self, ProcessState},
};
use crate::recording;
use crate::recovery;
use crate::registers::{Exclusively, FileClaims, FileLock};
use std::{sync::Arc, time::Duration};
use turnlock_core::acquire::{
    local::LocalState,
    site::{ClaimOf, Host, Limit, Overwritten, Site},
};
use turnlock_core::algorithm::{
    bias::{self, Mark},
    claim::Relation,
    light_barrier::LightBarrier,
    reservation,
};
use turnlock_core::error::{Error, LockedBy, Result};
use turnlock_core::event::{Event, Happening};
use turnlock_core::sync::{Ordering::Relaxed, prefetch_for_writing};
use turnlock_core::wait::{self, Interrupt, Stop};

/// An attached participant at one lock of its file.
#[derive(Clone, Copy)]
pub struct FileSite<'a, F: FileClaims = Exclusively> {
    attachment: &'a Attachment,
    lock: FileLock<'a, F>,
    generation: u64,
    interrupt: Option<&'a Interrupt>,
    /// Whether a wait may end by the error that says that it closed a circle of waits.
    may_be_told: bool,
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
        Self { attachment, lock, generation, interrupt, may_be_told: true }
    }

    /// Sets whether a wait may end by the error that says that it closed a circle of waits.
    #[inline]
    pub fn may_be_told(self, may_be_told: bool) -> Self {
        Self { may_be_told, ..self }
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

impl<'a, F: FileClaims> Host for FileSite<'a, F> {
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

    fn boot_time(&self) -> u64 {
        clock::boot_ns()
    }

    #[inline]
    fn prefetch(&self) {
        prefetch_for_writing(&self.lock.lock.numbers()[self.attachment.slot]);
        prefetch_for_writing(&self.lock.lock.words.bias);
    }

    #[inline]
    fn check_intact(&self) -> Result<()> {
        let file = &self.attachment.file;
        if file.is_intact() { Ok(()) } else { Err(file.not_intact()) }
    }

    #[inline]
    fn check_exists(&self) -> Result<()> {
        self.attachment.file.check_exists(self.lock.region, self.generation)
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
                "the fencing token of its lock {region} is impossible: the file was overwritten; delete it while no process uses \
                 it and let it be created anew"
            ),
            Overwritten::Number { slot, value } => format!(
                "slot {slot} of its lock {region} holds the impossible number {value:#x} while its participant is alive: \
                 something else than turnlock writes to the file; stop its users, delete it and let it be created anew"
            ),
        })
    }

    fn wants_reservation(&self, in_demand: bool) -> bool {
        self.lock.bias_policy().should_bias(self.attachment.slot, in_demand)
    }

    fn bias_begins(&self, token: u64) {
        self.lock.bias_policy().bias_begins(token);
    }

    fn bias_was_revoked(&self) {
        let pays =
            if self.lock.claims.relation() == Relation::Always { bias::PAYS } else { reservation::PAYS };
        self.lock.bias_policy().was_revoked(self.lock.lock.words.token.load(Relaxed), pays);
    }

    fn exact_now(&self) -> u64 {
        clock::monotonic_ns()
    }

    fn readers_were_revoked(&self, began: u64) {
        self.lock.readers_policy().was_revoked(began, clock::monotonic_ns());
    }

    #[inline]
    fn entered_at_once(&self) {
        self.attachment.adaptive.note_no_wait();
    }

    fn begin_section(&self) -> bool {
        self.attachment.section(self.lock.region).begin::<Linux>()
    }

    #[inline]
    fn end_section(&self) {
        if let Some(took) = self.attachment.section(self.lock.region).end::<Linux>() {
            self.attachment.adaptive.note_section(took);
        }
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

    fn is_stopped(&self, slot: usize) -> bool {
        let record = &self.attachment.file.view().slots()[slot];
        let (pid, tid) = (record.pid.load(Relaxed), record.tid.load(Relaxed));
        record.pid_namespace.load(Relaxed) == process::pid_namespace()
            && process::state_of(pid, tid) == ProcessState::Stopped
    }

    fn pause(&self) {
        std::thread::sleep(Duration::from_millis(1));
    }

    fn acquire_by_messages(&self, limit: Limit) -> Result<Option<u64>> {
        let membership = self.membership()?;
        let token = by_messages::acquire(self, &self.attachment.file, &membership, limit)?;
        if let Some(token) = token {
            skip_numbers(self.lock.lock.words, token.saturating_sub(1));
        }
        Ok(token)
    }

    fn release_by_messages(&self) {
        if let Some(membership) = self.attachment.known_membership(self.lock.region) {
            membership.with_endpoint(|endpoint| endpoint.give_up());
        }
    }
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
        let cell = &self.lock.lock.cells()[self.attachment.slot];
        F::claimed(self.attachment.mode_word(self.lock.region), cell)
    }

    #[inline]
    fn note_claim(&self, claim: F::Claim) {
        F::note(self.attachment.mode_word(self.lock.region), claim);
    }

    fn heavy_barrier(&self) -> Result<()> {
        self.attachment.file.heavy_barrier(true)
    }

    #[inline]
    fn wants_bias(&self, in_demand: bool) -> bool {
        if self.lock.claims.relation() == Relation::Always {
            self.lock.bias_policy().should_bias(self.attachment.slot, in_demand)
        } else {
            self.lock.readers_policy().should_bias(clock::monotonic_ns())
        }
    }

    fn waiter(&self, limit: Limit, patience: u64, may_be_ended: bool) -> FileWaiter<'a, F> {
        let Self { attachment, lock, interrupt, may_be_told, .. } = *self;
        let stop = if may_be_ended {
            Stop { cancel: Some(&attachment.cancel), interrupt }
        } else {
            Stop { cancel: None, interrupt: None }
        };
        let slot = attachment.slot;
        let cell = &lock.lock.cells()[slot];
        let since = (&cell.since, &cell.waiting_since);
        let waiter =
            wait::Waiter::new(limit, patience, slot, (stop, &attachment.adaptive), since, lock.standby())
                .with_one_holder(lock.claims.relation() == Relation::Always);
        FileWaiter::new(
            waiter,
            attachment,
            lock,
            may_be_ended && limit != Limit::Never,
            may_be_ended && may_be_told,
        )
    }

    fn locked_by(&self, claim: ClaimOf<Self>) -> LockedBy {
        locked_by::look(&self.lock, Some(self.attachment.slot), claim, self.now())
    }

    fn reap(&self, slot: usize) -> Result<bool> {
        let file = &self.attachment.file;
        let probe = Probe::new(file.reopen(), self.attachment.slot);
        recovery::reap_from(self.lock.region, file.view(), &probe, slot)
    }
}
