//! A slot that this process has, and what it has to do with each lock.

use super::open_file::OpenFile;
use crate::algorithm::bias::Mark;
use crate::error::{Error, Result};
use crate::layout::{CellOffset, LivenessLockKind};
use crate::os::{
    fork::{ForkGuard, ForkGuarded, process_mark},
    liveness_lock::LivenessLock,
    memory,
    wipe_on_fork::{WipeOnFork, Wipeable},
};
use crate::participant;
use crate::recovery;
use crate::sync::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    compiler_fence,
};
use crate::trace::{self, Step};
use crate::wait::{AdaptiveSpin, Cancel};
use std::{ptr, sync::Arc};

/// A slot in a file, ours until it is retired.
pub struct Attachment {
    /// The file.
    pub file: Arc<OpenFile>,
    /// Which slot.
    pub slot: usize,
    /// It belongs to one thread, which takes locks with it by itself: for others it is only for cancelling.
    pub of_thread: bool,
    /// Lets another thread end a wait.
    pub cancel: Cancel,
    /// How long its waits stay awake.
    pub awake: AdaptiveSpin,
    /// How a lock's `control` reads while this attachment retains the privilege.
    pub mark: Mark,
    process: u64,
    retired: AtomicBool,
    busy: AtomicBool,
    notice: ForkGuarded<Option<LivenessLock>>,
    /// For each lock region: 0, RETAINING, UNDER_WAY, or the fencing token that this attachment holds it with, or'ed with
    /// PLAINLY. Private, so that what others write into the file never decides what we believe to have. Written first
    /// on the way in and on the way out, and last: a signal handler that comes between finds it under way.
    mine: Arc<[AtomicU64]>,
    /// What the fast path needs of all this.
    pub(super) hot: WipeOnFork<Hot>,
}

/// What a retained entry needs to know of a attachment, in one cache line. Zeros in a forked child, which matches no file.
#[derive(Clone, Copy)]
pub struct Hot {
    pub(super) file: FileKey,
    pub(super) mine: *const AtomicU64,
    pub(super) cell: CellOffset,
    pub(super) mark: Mark,
    /// The attachment itself; NULL if it is not a thread's.
    pub(super) attachment: *const Attachment,
}

impl Hot {
    /// No file's.
    const NONE: Self = Self {
        file: FileKey(0),
        mine: ptr::null(),
        cell: CellOffset::NONE,
        mark: Mark::NONE,
        attachment: ptr::null(),
    };
}

/// An open file, to be compared only: its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileKey(usize);

impl FileKey {
    /// Of `file`.
    pub fn of(file: &Arc<OpenFile>) -> Self {
        Self(Arc::as_ptr(file).addr())
    }

    /// Never 0.
    pub fn number(self) -> usize {
        self.0
    }
}

// SAFETY: numbers and pointers: zeros are a value, and nothing to drop.
unsafe impl Wipeable for Hot {}
// SAFETY: the file and the array are shared between threads anyway.
unsafe impl Send for Hot {}
// SAFETY: as above.
unsafe impl Sync for Hot {}

/// In [`Attachment::mine`]: on the way in, or out. No token is that large.
const UNDER_WAY: u64 = u64::MAX;
/// In [`Attachment::mine`]: nothing, after an entry as the retainer: perhaps it still is. Others do not look at `control`
/// before they stand in the line: they would wait for its cache line twice, now for reading and then for writing. No
/// token is that large.
const RETAINING: u64 = u64::MAX - 1;
/// In [`Attachment::mine`]: its number stands in the line meanwhile, so that it is not a retained entry. No token is that
/// large.
const PLAINLY: u64 = 1 << 63;

/// How a attachment has a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Have {
    /// The fencing token.
    pub token: u64,
    /// Its number stands in the line; else it retains the privilege.
    pub plainly: bool,
}

/// What is asked for when a slot is taken.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// What the participant calls itself; empty: as the file was opened.
    pub label: String,
    /// A child started by this process keeps the slot alive.
    pub inherited: bool,
    /// Keep a descriptor even where a mapping would do.
    pub descriptor: bool,
    /// For the calling thread alone.
    pub of_thread: bool,
}

/// What a attachment has to do with one lock. One call at a time.
#[derive(Clone, Copy)]
pub struct Own<'a>(pub(super) &'a AtomicU64);

impl Own<'_> {
    /// Nothing, after an entry as the retainer?
    #[inline(always)]
    pub fn may_retain(self) -> bool {
        self.0.load(Relaxed) == RETAINING
    }

    /// Has it no more, after an entry as the retainer.
    #[inline(always)]
    pub fn note_retaining(self) {
        // Release, as in `note`.
        self.0.store(RETAINING, Release);
    }

    /// Begins to take it: may it retain the privilege? `None`: the attachment has it, or is on the way in or out.
    #[inline]
    pub fn begin(self) -> Option<bool> {
        // Acquire. Partner: the release in `note`, by a thread that gave it back as the same participant.
        let idle = self.0.load(Acquire);
        if idle != 0 && idle != RETAINING {
            return None;
        }
        self.begin_retained();
        Some(idle == RETAINING)
    }

    /// [`Own::begin`], where [`Own::may_retain`].
    #[inline(always)]
    pub fn begin_retained(self) {
        self.0.store(UNDER_WAY, Relaxed);
        // A signal handler of this thread that finds anything of the entry in the file finds this.
        compiler_fence(SeqCst);
    }

    /// Begins to give it back, or to do something that only who has it may do: how the attachment has it. `None`: it has it
    /// not (with this very token, where one is named). What it has afterwards is for [`Own::note`] to say.
    ///
    /// `shared`: other threads may do the same, as the same participant.
    #[inline]
    pub fn begin_giving_back(self, token: Option<u64>, shared: bool) -> Option<Have> {
        let word = self.0.load(Relaxed);
        let has = Self::decode(word).filter(|has| token.is_none_or(|token| token == has.token))?;
        if !shared {
            self.0.store(UNDER_WAY, Relaxed);
        } else if self.0.compare_exchange(word, UNDER_WAY, Acquire, Relaxed).is_err() {
            // Another thread has just done it. Acquire. Partner: the release in `note`.
            return None;
        }
        compiler_fence(SeqCst);
        Some(has)
    }

    /// Has it from now on, so; or has it not: said last, when nothing of it is left in the file.
    #[inline(always)]
    pub fn note(self, has: Option<Have>) {
        let word = has.map_or(0, |has| has.token | if has.plainly { PLAINLY } else { 0 });
        self.0.store(word, Release);
    }

    /// How the attachment has it, if it has.
    #[inline(always)]
    pub fn has(self) -> Option<Have> {
        Self::decode(self.0.load(Relaxed))
    }

    #[inline(always)]
    fn decode(word: u64) -> Option<Have> {
        let has = Have { token: word & !PLAINLY, plainly: word & PLAINLY != 0 };
        (!matches!(word, 0 | RETAINING | UNDER_WAY)).then_some(has)
    }

    /// Has it by a retained entry (with this very token, where one is named)?
    #[inline(always)]
    pub fn is_retained_entry(self, token: Option<u64>) -> bool {
        let word = self.0.load(Relaxed);
        word != 0 && word & PLAINLY == 0 && token.is_none_or(|token| token == word)
    }
}

impl Attachment {
    /// Takes a slot, finishes what a dead one left in it, and writes down who we are.
    pub fn take(file: &Arc<OpenFile>, wish: &Wish) -> Result<Self> {
        if !file.is_intact() {
            return Err(file.not_intact());
        }
        let kind =
            if wish.inherited || wish.descriptor { LivenessLockKind::Descriptor } else { file.pinning() };
        memory::check()?;
        file.touch_now_and_then();
        let mine: Arc<[AtomicU64]> = (0..=file.geometry().locks()).map(|_| AtomicU64::new(0)).collect();
        let mut hot = WipeOnFork::new(Hot::NONE)?;
        let notice = participant::claim(file.reopen(), file.view(), kind, wish.inherited)?;
        let slot = notice.slot();
        trace::at(Step::Attach);
        let fenced = match file.fences_of_participant() {
            Ok(fenced) => fenced,
            Err(error) => {
                notice.release(file.reopen());
                return Err(error);
            }
        };
        recovery::recover(file.view(), slot);
        let label = if wish.label.is_empty() { file.label() } else { wish.label.clone() };
        participant::occupy(file.view(), slot, kind, &label);
        file.lower_bound(slot);
        let (mark, cell) = (Mark::new(slot, fenced), file.view().cell_offset(slot));
        let (key, mine_at) = (FileKey::of(file), mine.as_ptr());
        hot.change(|hot| *hot = Hot { file: key, mine: mine_at, cell, mark, attachment: ptr::null() });
        Ok(Self {
            file: file.clone(),
            slot,
            of_thread: wish.of_thread,
            cancel: Cancel::default(),
            awake: AdaptiveSpin::default(),
            mark,
            process: process_mark(),
            retired: AtomicBool::new(false),
            busy: AtomicBool::new(false),
            notice: ForkGuarded::new(Some(notice)),
            mine,
            hot,
        })
    }

    /// Begins to give the lock of `region` back, as [`Own::begin_giving_back`].
    ///
    /// # Errors
    /// [`Error::NotOwner`].
    #[inline]
    pub fn begin_giving_back(&self, region: usize, token: Option<u64>) -> Result<Have> {
        self.own(region).begin_giving_back(token, !self.of_thread).ok_or(Error::NotOwner)
    }

    /// Is it this process's, and not one that a forked child only remembers?
    #[inline]
    pub fn is_ours(&self) -> bool {
        self.process == process_mark()
    }

    /// Is it usable?
    pub fn check(&self) -> Result<()> {
        // Acquire. Partner: the release in `retire`.
        if self.retired.load(Acquire) || !self.is_ours() { Err(Error::Closed) } else { Ok(()) }
    }

    /// Gives the slot back. A lock that it still has passes on as from a dead owner; nothing else can be said for it.
    pub fn retire(&self) {
        if !self.is_ours() || self.retired.swap(true, Release) {
            return;
        }
        recovery::recover(self.file.view(), self.slot);
        trace::at(Step::Detach);
        participant::vacate(self.file.view(), self.slot);
        if participant::lower_bound_below(self.file.view(), self.slot) {
            self.file.lower_bound(self.slot);
        }
        let notice = self.notice.with(&ForkGuard::enter(), Option::take);
        if let Some(notice) = notice {
            notice.release(self.file.reopen());
        }
    }

    /// What it has to do with the lock of `region`.
    #[inline]
    pub fn own(&self, region: usize) -> Own<'_> {
        Own(&self.mine[region])
    }

    /// Does it have any lock?
    pub fn holds_any(&self) -> bool {
        (0..self.mine.len()).any(|region| self.own(region).has().is_some())
    }

    /// Taking a lock: one thread at a time, for participants that threads share.
    pub fn begin_taking(&self) -> Result<Call<'_>> {
        self.check()?;
        // Acquire. Partner: the release in `Call::drop`.
        if self.busy.swap(true, Acquire) { Err(Error::ParticipantBusy) } else { Ok(Call(&self.busy)) }
    }

    /// Ends a wait of this participant, the present one or else the next.
    pub fn request_cancel(&self) {
        if let Some(spot) =
            self.cancel.request().and_then(|name| recovery::spot_named(self.file.view(), name))
        {
            spot.unpark_all();
        }
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        self.retire();
    }
}

/// A call in progress on a shared participant.
pub struct Call<'a>(&'a AtomicBool);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.store(false, Release);
    }
}
