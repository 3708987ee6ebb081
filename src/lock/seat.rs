//! A slot that this process has, and the thread it belongs to.

use super::open_file::OpenFile;
use crate::algorithm::retained::Mark;
use crate::error::{Error, Result};
use crate::layout::{CellOffset, DeathNoticeKind};
use crate::os::{
    death_notice::DeathNotice,
    fork::{Gate, Gated, process_mark},
    fragile::{Fragile, Wipeable},
    thread_word::LATEST,
};
use crate::participant;
use crate::recovery;
use crate::steps::{self, Step};
use crate::sync::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use crate::wait::{Awake, Cancel};
use std::{cell::RefCell, hint::assert_unchecked, ptr, sync::Arc};

/// A slot in a file, ours until it is retired.
pub struct Seat {
    /// The file.
    pub file: Arc<OpenFile>,
    /// Which slot.
    pub slot: usize,
    /// It belongs to one thread, which takes locks with it by itself: for others it is only for cancelling.
    pub of_thread: bool,
    /// Lets another thread end a wait.
    pub cancel: Cancel,
    /// How long its waits stay awake.
    pub awake: Awake,
    /// How a lock's `control` reads while this seat retains the privilege.
    pub mark: Mark,
    process: u64,
    retired: AtomicBool,
    busy: AtomicBool,
    giving_back: AtomicBool,
    notice: Gated<Option<DeathNotice>>,
    /// For each lock region: 0, RETAINING, TAKING, or the fencing token that this seat holds it with, or'ed with
    /// PLAINLY. Private, so that what others write into the file never decides what we believe to have.
    mine: Arc<[AtomicU64]>,
    /// What the fast path needs of all this.
    hot: Fragile<Hot>,
}

/// What a retained entry needs to know of a seat, in one cache line. Zeros in a forked child, which matches no file.
#[derive(Clone, Copy)]
pub struct Hot {
    file: FileKey,
    mine: *const AtomicU64,
    cell: CellOffset,
    mark: Mark,
    /// The seat itself; NULL if it is not a thread's.
    seat: *const Seat,
}

/// An open file, to be compared only: its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileKey(usize);

impl FileKey {
    /// Of `file`.
    pub fn of(file: &Arc<OpenFile>) -> Self {
        Self(Arc::as_ptr(file).addr())
    }
}

// SAFETY: numbers and pointers: zeros are a value, and nothing to drop.
unsafe impl Wipeable for Hot {}
// SAFETY: the file and the array are shared between threads anyway.
unsafe impl Send for Hot {}
// SAFETY: as above.
unsafe impl Sync for Hot {}

/// In [`Seat::mine`]: on the way in. No token is that large.
const TAKING: u64 = u64::MAX;
/// In [`Seat::mine`]: nothing, after an entry as the retainer: perhaps it still is. Others do not look at `control`
/// before they stand in the line: they would wait for its cache line twice, now for reading and then for writing. No
/// token is that large.
const RETAINING: u64 = u64::MAX - 1;
/// In [`Seat::mine`]: its number stands in the line meanwhile, so that it is not a retained entry. No token is that
/// large.
const PLAINLY: u64 = 1 << 63;

/// How a seat has a lock.
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

/// What a seat has to do with one lock. One call at a time.
#[derive(Clone, Copy)]
pub struct Own<'a>(&'a AtomicU64);

impl Own<'_> {
    /// Nothing?
    pub fn is_nothing(self) -> bool {
        // Relaxed here and below: a seat takes one lock at a time, and gives back one at a time.
        matches!(self.0.load(Relaxed), 0 | RETAINING)
    }

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

    /// Begins to take it: may it retain the privilege? `None`: the seat has it, or is on the way in.
    #[inline]
    pub fn begin(self) -> Option<bool> {
        // Acquire. Partner: the release in `note`, by a thread that gave it back as the same participant.
        let idle = self.0.load(Acquire);
        if idle != 0 && idle != RETAINING {
            return None;
        }
        self.0.store(TAKING, Relaxed);
        Some(idle == RETAINING)
    }

    /// Has it from now on, so; or has it not: said last, when nothing of it is left in the file.
    #[inline(always)]
    pub fn note(self, has: Option<Have>) {
        let word = has.map_or(0, |has| has.token | if has.plainly { PLAINLY } else { 0 });
        self.0.store(word, Release);
    }

    /// How the seat has it, if it has.
    #[inline(always)]
    pub fn has(self) -> Option<Have> {
        let word = self.0.load(Relaxed);
        let has = Have { token: word & !PLAINLY, plainly: word & PLAINLY != 0 };
        (!matches!(word, 0 | RETAINING | TAKING)).then_some(has)
    }

    /// Has it by a retained entry (with this very token, where one is named)?
    #[inline(always)]
    pub fn is_retained_entry(self, token: Option<u64>) -> bool {
        let word = self.0.load(Relaxed);
        word != 0 && word & PLAINLY == 0 && token.is_none_or(|token| token == word)
    }
}

impl Seat {
    /// Takes a slot, finishes what a dead one left in it, and writes down who we are.
    pub fn take(file: &Arc<OpenFile>, wish: &Wish) -> Result<Self> {
        if !file.is_whole() {
            return Err(file.not_whole());
        }
        let kind =
            if wish.inherited || wish.descriptor { DeathNoticeKind::Descriptor } else { file.pinning() };
        let notice = participant::claim(file.reopen(), file.view(), kind, wish.inherited)?;
        let slot = notice.slot();
        steps::at(Step::Attach);
        let fenced = file.fences_of_participant()?;
        recovery::recover(file.view(), slot);
        let label = if wish.label.is_empty() { file.label() } else { wish.label.clone() };
        participant::occupy(file.view(), slot, kind, &label);
        file.lower_bound();
        let mine: Arc<[AtomicU64]> = (0..=file.geometry().locks()).map(|_| AtomicU64::new(0)).collect();
        let (mark, cell) = (Mark::new(slot, fenced), file.view().cell_offset(slot));
        let (key, mine_at) = (FileKey::of(file), mine.as_ptr());
        let hot = Fragile::new(Hot { file: key, mine: mine_at, cell, mark, seat: ptr::null() })?;
        Ok(Self {
            file: file.clone(),
            slot,
            of_thread: wish.of_thread,
            cancel: Cancel::default(),
            awake: Awake::default(),
            mark,
            process: process_mark(),
            retired: AtomicBool::new(false),
            busy: AtomicBool::new(false),
            giving_back: AtomicBool::new(false),
            notice: Gated::new(Some(notice)),
            mine,
            hot,
        })
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
        steps::at(Step::Detach);
        participant::vacate(self.file.view(), self.slot);
        let notice = self.notice.with(&Gate::enter(), Option::take);
        drop(notice);
        self.file.lower_bound();
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

    /// Giving a lock back, which may be while another thread waits for another lock as this participant. Two that give
    /// the same lock back must come one after the other, so that the second finds it given back.
    pub fn begin_giving_back(&self) -> Result<Call<'_>> {
        self.check()?;
        // Acquire. Partner: the release in `Call::drop`.
        while self.giving_back.swap(true, Acquire) {
            std::thread::yield_now();
        }
        Ok(Call(&self.giving_back))
    }

    /// Ends a wait of this participant, the present one or else the next.
    pub fn request_cancel(&self) {
        if let Some(bed) = self.cancel.request().and_then(|name| recovery::bed_named(self.file.view(), name))
        {
            bed.shake();
        }
    }
}

impl Drop for Seat {
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

thread_local! {
    static SEATS: ThreadSeats = const { ThreadSeats(RefCell::new(Vec::new())) };
}

/// What a retained entry needs to know of the calling thread's seat.
pub struct Latest<'a> {
    /// What it has to do with the lock.
    pub own: Own<'a>,
    /// Where its cell lies in each region of the file.
    pub cell: CellOffset,
    /// How a lock's `control` reads while it retains the privilege.
    pub mark: Mark,
}

/// The seat that this thread used last, if it is one in `file` and its retained entries need no fence, at the lock of
/// `region`.
///
/// # Safety
/// The file is open for all of `'file`, and has such a region.
#[inline(always)]
pub unsafe fn latest<'file>(file: FileKey, region: usize) -> Option<Latest<'file>> {
    let hot = latest_hot(file)?;
    // SAFETY: the seat has one for each region of its file, which is `file`; and only what a forked child has is NULL,
    // which is no file's.
    let own = unsafe {
        assert_unchecked(!hot.mine.is_null());
        Own(&*hot.mine.add(region))
    };
    // SAFETY: only such seats are remembered, see `remember`.
    unsafe { assert_unchecked(!hot.mark.is_fenced()) };
    Some(Latest { own, cell: hot.cell, mark: hot.mark })
}

#[inline(always)]
fn latest_hot<'file>(file: FileKey) -> Option<&'file Hot> {
    // SAFETY: NULL, or the `hot` of the seat among SEATS that was used last: whoever takes a seat out of there comes by
    // `forget_latest` first. In a forked child it is zeros.
    unsafe { LATEST.get::<Hot>().as_ref() }.filter(|hot| hot.file == file)
}

/// [`latest`], as the seat itself.
#[inline]
fn latest_seat(file: &Arc<OpenFile>) -> Option<&Seat> {
    let hot = latest_hot(FileKey::of(file))?;
    // SAFETY: a seat among SEATS, as in `latest`. It stays there as long as this thread does something with it: only
    // this thread takes seats out of there, and never in the midst of a call on their file.
    unsafe { hot.seat.as_ref() }
}

/// A retained entry with a full fence does not gain much by the shortest way; the others gain by not having to ask.
fn remember(seat: &Seat) {
    if !seat.mark.is_fenced() {
        LATEST.set(seat.hot.place());
    }
}

fn forget_latest() {
    LATEST.set::<Hot>(ptr::null());
}

/// The slots of one thread, one for each file. A thread that ends gives them back.
struct ThreadSeats(RefCell<Vec<Arc<Seat>>>);

impl Drop for ThreadSeats {
    fn drop(&mut self) {
        forget_latest();
        for seat in self.0.get_mut() {
            seat.retire();
        }
    }
}

const THREAD_ENDS: &str = "the calling thread is ending and has given its slots back";

/// Runs `act` with this thread's slot in `file`, taken now if there is none.
#[inline]
pub fn with_thread_seat<R>(file: &Arc<OpenFile>, act: impl FnOnce(&Seat) -> Result<R>) -> Result<R> {
    if let Some(seat) = latest_seat(file) {
        return act(seat);
    }
    SEATS
        .try_with(|seats| {
            if let Some(seat) = find(&seats.0.borrow(), file) {
                remember(seat);
                return act(seat);
            }
            attach_thread(seats, file)?;
            let seats = seats.0.borrow();
            act(find(&seats, file).ok_or_else(|| Error::Internal("a slot just taken is gone".into()))?)
        })
        .map_err(|_| Error::InvalidArgument(THREAD_ENDS.into()))?
}

/// Runs `act` with this thread's slot in `file`; without one the thread owns nothing there.
#[inline]
pub fn with_thread_seat_if_any<R>(file: &Arc<OpenFile>, act: impl FnOnce(&Seat) -> Result<R>) -> Result<R> {
    if let Some(seat) = latest_seat(file) {
        return act(seat);
    }
    SEATS
        .try_with(|seats| find(&seats.0.borrow(), file).map_or(Err(Error::NotOwner), act))
        .map_err(|_| Error::InvalidArgument(THREAD_ENDS.into()))?
}

/// This thread's slot in `file`, to be kept by others too.
pub fn thread_seat(file: &Arc<OpenFile>) -> Result<Arc<Seat>> {
    with_thread_seat(file, |_| Ok(()))?;
    SEATS
        .try_with(|seats| seats.0.borrow().iter().find(|seat| Arc::ptr_eq(&seat.file, file)).cloned())
        .ok()
        .flatten()
        .ok_or_else(|| Error::InvalidArgument(THREAD_ENDS.into()))
}

/// Gives this thread's slot in `file` back, if it holds no lock with it.
pub fn leave_thread_seat(file: &Arc<OpenFile>) {
    let _ = SEATS.try_with(|seats| {
        let Ok(mut seats) = seats.0.try_borrow_mut() else { return };
        forget_latest();
        let at = seats.iter().position(|seat| Arc::ptr_eq(&seat.file, file) && !seat.holds_any());
        if let Some(seat) = at.map(|at| seats.swap_remove(at)) {
            seat.retire();
        }
    });
}

#[inline]
fn find<'a>(seats: &'a [Arc<Seat>], file: &Arc<OpenFile>) -> Option<&'a Seat> {
    seats.iter().find(|seat| Arc::ptr_eq(&seat.file, file) && seat.is_ours()).map(|seat| &**seat)
}

#[cold]
fn attach_thread(seats: &ThreadSeats, file: &Arc<OpenFile>) -> Result<()> {
    let seat = Seat::take(file, &Wish { of_thread: true, ..Wish::default() })?;
    forget_latest();
    let mut seats = seats.0.borrow_mut();
    // Those of a parent process, and those in files that the program has closed, are of no more use.
    seats.retain(|seat| seat.is_ours() && (seat.file.handles.load(Relaxed) > 0 || seat.holds_any()));
    let mut seat = Arc::new(seat);
    let place = Arc::as_ptr(&seat);
    if let Some(seat) = Arc::get_mut(&mut seat) {
        seat.hot.change(|hot| hot.seat = place);
    }
    seats.push(seat);
    Ok(())
}
