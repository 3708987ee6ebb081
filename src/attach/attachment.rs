//! The attachment: a participant of this process attached to a slot of a file, and its part in each lock.

use super::{
    cached::{FileKey, HomeLine, Line, ThreadLine},
    calls::{AtHome, Call, Calls, Doing, ThisThread},
    message_service::{Membership, MessageService},
    open_file::OpenFile,
};
use crate::layout::{LivenessLockKind, SlotState};
use crate::os::{
    fork::{ForkGuard, ForkGuarded, process_mark},
    liveness_lock::{LivenessLock, Probe},
    membarrier, memory,
    wipe_on_fork::WipeOnFork,
    zeroed,
};
use crate::recovery;
use crate::registers::unpark_at;
use crate::slots;
use std::{os::fd::RawFd, ptr, sync::Arc};
use turnlock_core::acquire::{local::LocalState, recursion::Recursion};
use turnlock_core::algorithm::{bias::Mark, light_barrier::FileBarrier};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Release},
};
use turnlock_core::trace::{self, Step};
use turnlock_core::wait::{AdaptiveSpin, Cancel, SectionClock};

/// A participant attached to a slot of a file, until it is detached.
pub struct Attachment {
    /// The file.
    pub file: Arc<OpenFile>,
    /// Which slot.
    pub slot: usize,
    /// Whether it belongs to one thread, which takes locks with it by itself: for others it is only for cancelling.
    pub of_thread: bool,
    /// Lets another thread end a wait.
    pub cancel: Cancel,
    /// How long its waits stay awake.
    pub adaptive: AdaptiveSpin,
    /// How a lock's bias word reads while the lock is biased to this participant.
    pub mark: Mark,
    process: u64,
    detached: AtomicBool,
    /// Its part in locks by messages.
    message_service: MessageService,
    liveness_lock: ForkGuarded<Option<LivenessLock>>,
    /// For each lock region, the word of a [`LocalState`], and one for what else is known of it: the word of a [`Recursion`], or
    /// how the lock is claimed.
    local: Box<[AtomicU64]>,
    /// For each region how long the last section was that it had waited for: see [`Attachment::section`].
    sections: Box<[AtomicU64]>,
    /// What the fast path needs of all this, if it is a thread's.
    pub(super) of_its_thread: WipeOnFork<ThreadLine>,
    /// Likewise, if threads share it, and those that are in a call on it.
    home: WipeOnFork<HomeLine>,
}

/// How a participant is to be attached.
#[derive(Clone, Debug, Default)]
pub struct AttachOptions {
    /// What the participant calls itself; empty: as the file was opened.
    pub label: String,
    /// A child started by this process keeps the slot alive.
    pub inherited: bool,
    /// Keep a descriptor even where a mapping would do.
    pub descriptor: bool,
    /// Losing that descriptor is an ordinary end where a death releases the lock.
    pub release_on_close: bool,
    /// For the calling thread alone.
    pub of_thread: bool,
    /// Which slot; `None`: a free one.
    pub slot: Option<usize>,
}

impl Attachment {
    /// Takes a slot, finishes what a dead one left in it, and writes down which process and thread we are.
    pub fn attach(file: &Arc<OpenFile>, options: &AttachOptions) -> Result<Self> {
        if !file.is_intact() {
            return Err(file.not_intact());
        }
        let kind = if options.release_on_close {
            LivenessLockKind::Shared
        } else if options.inherited || options.descriptor {
            LivenessLockKind::Descriptor
        } else {
            file.liveness_lock_kind()
        };
        memory::check()?;
        file.touch_now_and_then();
        let local = zeroed::zeroed_words(2 * (file.geometry().locks() as usize + 1))?;
        let sections = zeroed::zeroed_words(file.geometry().locks() as usize + 1)?;
        let mut of_its_thread = WipeOnFork::new(ThreadLine::none())?;
        let mut home = WipeOnFork::new(HomeLine::none())?;
        let liveness_lock = claim(file, kind, options)?;
        let slot = liveness_lock.slot();
        let is_of_a_dead_one = file.view().slots()[slot].state.load(Acquire) != SlotState::Free as u32;
        recovery::recover(file.view(), slot);
        let label = if options.label.is_empty() { file.label() } else { options.label.clone() };
        slots::occupy(file.view(), slot, kind, &label, options.of_thread);
        if is_of_a_dead_one {
            // No slot was free. A failure only costs time later.
            let _ = recovery::reap_all(file.view(), &Probe::new(file.reopen(), slot));
        }
        file.lower_bound(slot);
        let (mark, cell) = (Mark::new(slot), file.view().cell_offset(slot));
        let (process, sole_process) = (process_mark(), ptr::from_ref(&file.view().header().sole_process));
        let line = Line { local: local.as_ptr(), cell, mark, sole_process, process };
        of_its_thread.change(|thread| (thread.file, thread.line) = (FileKey::of(file), line));
        let has_home = !options.of_thread && membarrier::register();
        home.change(|home| (home.line, home.calls) = (line, Calls::new(has_home)));
        Ok(Self {
            file: file.clone(),
            slot,
            of_thread: options.of_thread,
            cancel: Cancel::default(),
            adaptive: AdaptiveSpin::default(),
            mark,
            process,
            detached: AtomicBool::new(false),
            message_service: MessageService::default(),
            liveness_lock: ForkGuarded::new(Some(liveness_lock)),
            local,
            sections,
            of_its_thread,
            home,
        })
    }

    /// Returns whether it is this process's, and not one that a forked child only remembers.
    #[inline]
    pub fn is_ours(&self) -> bool {
        self.process == process_mark()
    }

    /// Checks that it is usable.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn check(&self) -> Result<()> {
        // Acquire. Partner: the release in `detach`.
        if self.detached.load(Acquire) || !self.is_ours() { Err(Error::Closed) } else { Ok(()) }
    }

    /// Detaches from the slot. A lock that it still has passes on as from a dead owner; nothing else can be said for it.
    pub fn detach(&self) {
        if !self.is_ours() || self.detached.swap(true, Release) {
            return;
        }
        self.message_service.stop();
        recovery::leave_barriers(self.file.view(), self.slot);
        recovery::recover(self.file.view(), self.slot);
        trace::at(Step::Detach);
        slots::vacate(self.file.view(), self.slot);
        if slots::lower_bound_below(self.file.view(), self.slot) {
            self.file.lower_bound(self.slot);
        }
        let liveness_lock = self.liveness_lock.with(&ForkGuard::enter(), Option::take);
        if let Some(liveness_lock) = liveness_lock {
            liveness_lock.release(self.file.reopen());
        }
    }

    /// Has the slot, and what it holds, live as long as the open file behind descriptor `number`, shown as process `pid`'s;
    /// this is detached from it. Errors as [`LivenessLock::share_with`]: then it is as before.
    pub fn transfer_to_fd(&self, number: RawFd, pid: u32) -> Result<()> {
        if self.of_thread {
            return Err(Error::InvalidArgument(
                "this is a thread's own, which is only for cancelling that thread's waits: transfer one that was opened for it"
                    .into(),
            ));
        }
        // No other call acquires or unlocks as it meanwhile. (Region 0 is the directory's, which no participant unlocks.)
        let _call = self.begin_taking(0)?;
        // It is not answered for from then on: a peer must not wait for the answer of one that wants nothing.
        self.message_service.end_where(|region| !self.local(region).is_held());
        let liveness_lock =
            self.liveness_lock.with(&ForkGuard::enter(), Option::take).ok_or(Error::Closed)?;
        if let Err(error) = liveness_lock.share_with(self.file.reopen(), number) {
            self.liveness_lock.with(&ForkGuard::enter(), |place| *place = Some(liveness_lock));
            return Err(error);
        }
        // The rest before another participant can have the slot, whatever becomes of that open file: two would take
        // messages out of its mailboxes, and the note that it was left would write over what the next participant says
        // of itself.
        self.message_service.stop();
        // A guard that is dropped later finds nothing to unlock, by the fast path neither.
        (0..self.local.len() / 2).for_each(|region| self.local(region).record(None));
        self.detached.store(true, Release);
        slots::transfer_to_fd(self.file.view(), self.slot, pid);
        trace::at(Step::Detach);
        liveness_lock.leave();
        Ok(())
    }

    /// What the fast path needs of it, if it is one in `file`, and which threads are in a call on it. For participants that threads
    /// share; those of threads are found by [`super::thread::cached`]. In a forked child the line is zeros.
    #[inline(always)]
    pub fn home(&self) -> &HomeLine {
        // SAFETY: its own, which lives as long; all that changes in it are atomics.
        unsafe { &*self.home.place() }
    }

    /// What a thread's attachment has for the fast path. In a forked child it is zeros.
    pub(super) fn of_its_thread(&self) -> &ThreadLine {
        // SAFETY: its own, which lives as long; its thread alone changes it.
        unsafe { &*self.of_its_thread.place() }
    }

    /// Its side of the barriers of its file.
    #[inline]
    pub fn light(&self) -> FileBarrier<'_> {
        FileBarrier { sole_process: &self.file.view().header().sole_process, process: &self.process }
    }

    /// Returns what it knows of its part in the lock of `region`.
    #[inline]
    pub fn local(&self, region: usize) -> LocalState<'_> {
        LocalState(&self.local[2 * region])
    }

    /// Returns how often it has taken the recursive lock of `region`.
    pub fn recursion(&self, region: usize) -> Recursion<'_> {
        Recursion { word: self.mode_word(region), local: self.local(region) }
    }

    /// Returns the word that says how it claims the lock of `region`, if its kind has claims: what others write into the file
    /// does not decide that.
    pub fn mode_word(&self, region: usize) -> &AtomicU64 {
        &self.local[2 * region + 1]
    }

    /// Returns what it knows of its sections at the lock of `region` that it had waited for.
    pub fn section(&self, region: usize) -> SectionClock<'_> {
        SectionClock(&self.sections[region])
    }

    /// Returns whether it holds any lock.
    pub fn holds_any(&self) -> bool {
        (0..self.local.len() / 2).any(|region| self.local(region).is_held())
    }

    /// Begins what the fast path does, if the calling thread is the home thread. See [`Calls::begin_at_home`].
    #[inline(always)]
    pub fn begin_at_home(&self, doing: Doing) -> Option<AtHome<'_>> {
        self.home().begin(doing)
    }

    /// Begins to take the lock of `region`: one thread at a time, for participants that threads share. Errors as
    /// [`Attachment::check`] and [`Calls::begin_taking`].
    pub fn begin_taking(&self, region: usize) -> Result<Call<'_>> {
        self.check()?;
        self.home().calls.begin_taking(ThisThread, region)
    }

    /// Begins what only the holder of the lock of `region` does, likewise. Errors as [`Attachment::check`] and
    /// [`Calls::begin_leaving`].
    pub fn begin_leaving(&self, region: usize) -> Result<()> {
        self.check()?;
        self.home().calls.begin_leaving(ThisThread, region)
    }

    /// Its part in the lock by messages in `region`, whose name has this generation; begun now if it has none there. Errors as
    /// [`MessageService::membership`].
    pub fn membership(&self, region: usize, generation: u64) -> Result<Arc<Membership>> {
        self.message_service.membership(&self.file, self.slot, (region, generation))
    }

    /// Its part in the lock by messages in `region`, if it has one.
    pub fn known_membership(&self, region: usize) -> Option<Arc<Membership>> {
        self.message_service.known(region)
    }

    /// Ends a wait of this participant, the present one or else the next.
    pub fn request_cancel(&self) {
        if let Some(name) = self.cancel.request() {
            unpark_at(self.file.view(), name);
        }
    }
}

/// Takes a slot's byte lock, and takes part.
fn claim(file: &Arc<OpenFile>, kind: LivenessLockKind, options: &AttachOptions) -> Result<LivenessLock> {
    let claim = || {
        let liveness_lock = slots::claim(file.reopen(), file.view(), kind, options.inherited, options.slot)?;
        trace::at(Step::Attach);
        match file.allocation().allocate_slot(liveness_lock.slot()).and_then(|()| file.join_process()) {
            Ok(()) => Ok(liveness_lock),
            Err(error) => {
                liveness_lock.release(file.reopen());
                Err(error)
            }
        }
    };
    match claim() {
        // The processes that relied on membarrier may be gone since the file was opened. That is seen with every slot's
        // byte lock in hand, and so without one of our own.
        Err(Error::Unsupported(_)) if file.choose_barrier_mode(false).is_ok() => claim(),
        claimed => claimed,
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        self.detach();
    }
}
