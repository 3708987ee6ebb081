//! The slots of the calling thread: one for each file that it takes locks in.
//!
//! Kept in variables that need no destructor, so that they are there as long as the thread runs anything, its key
//! destructors included; given back when [`thread_end`] says so. What changes the list runs with signals blocked, and
//! nobody refers to the list while it runs something else, so that a signal handler may take locks at any moment.

use super::{
    open_file::OpenFile,
    seat::{FileKey, Hot, Own, Seat, Wish},
};
use crate::algorithm::retained::Mark;
use crate::error::{Error, Result};
use crate::layout::CellOffset;
use crate::os::{
    signals::SignalsBlocked,
    thread_end::{self, Ending},
    thread_word::LATEST,
};
use crate::sync::Ordering::Relaxed;
use std::{cell::RefCell, hint::assert_unchecked, mem::ManuallyDrop, ptr, sync::Arc};

type List = Vec<Arc<Seat>>;

thread_local! {
    static SEATS: ManuallyDrop<RefCell<List>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
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
    // this thread takes seats out of there, and neither in the midst of a call on their file nor while that is open,
    // unless the thread ends.
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

/// The thread ends: gives back what it does not use or, at the very end, all of it.
fn ends(ending: Ending) -> bool {
    let given_back = change(|seats| {
        forget_latest();
        let all = ending == Ending::Ends;
        let (stays, given_back) = std::mem::take(seats).into_iter().partition(|seat| {
            // Those of a parent process are of no use, and nothing is given back for them.
            !all && seat.is_ours() && seat.holds_any()
        });
        *seats = stays;
        given_back
    });
    retire_all(given_back);
    change(|seats| !seats.is_empty())
}

fn retire_all(seats: List) {
    for seat in seats {
        seat.retire();
    }
}

/// Changes the list.
fn change<R>(change: impl FnOnce(&mut List) -> R) -> R {
    let _signals = SignalsBlocked::new();
    SEATS.with(|seats| change(&mut seats.borrow_mut()))
}

/// The calling thread's slot in `file`.
#[inline]
fn find(file: &Arc<OpenFile>) -> Option<&Seat> {
    let in_file = |seat: &&Arc<Seat>| Arc::ptr_eq(&seat.file, file) && seat.is_ours();
    let found = SEATS.with(|seats| seats.borrow().iter().find(in_file).map(Arc::as_ptr))?;
    // SAFETY: as in `latest_seat`.
    Some(unsafe { &*found })
}

/// Runs `act` with this thread's slot in `file`, taken now if there is none.
#[inline]
pub fn with_thread_seat<R>(file: &Arc<OpenFile>, act: impl FnOnce(&Seat) -> Result<R>) -> Result<R> {
    match latest_seat(file) {
        Some(seat) => act(seat),
        None => act(find_or_attach(file)?),
    }
}

/// Runs `act` with this thread's slot in `file`; without one the thread owns nothing there.
#[inline]
pub fn with_thread_seat_if_any<R>(file: &Arc<OpenFile>, act: impl FnOnce(&Seat) -> Result<R>) -> Result<R> {
    latest_seat(file).or_else(|| find(file)).map_or(Err(Error::NotOwner), act)
}

/// This thread's slot in `file`, to be kept by others too.
pub fn thread_seat(file: &Arc<OpenFile>) -> Result<Arc<Seat>> {
    let seat: *const Seat = find_or_attach(file)?;
    let known = change(|seats| seats.iter().find(|known| ptr::eq(Arc::as_ptr(known), seat)).cloned());
    known.ok_or_else(|| Error::Internal("a slot just taken is gone".into()))
}

/// Gives this thread's slot in `file` back, if it holds no lock with it.
pub fn leave_thread_seat(file: &Arc<OpenFile>) {
    let given_back = change(|seats| {
        forget_latest();
        let at = seats.iter().position(|seat| Arc::ptr_eq(&seat.file, file) && !seat.holds_any());
        at.map(|at| seats.swap_remove(at))
    });
    if let Some(seat) = given_back {
        seat.retire();
    }
}

fn find_or_attach(file: &Arc<OpenFile>) -> Result<&Seat> {
    match find(file) {
        Some(seat) => {
            remember(seat);
            Ok(seat)
        }
        None => attach(file),
    }
}

#[cold]
#[inline(never)]
fn attach(file: &Arc<OpenFile>) -> Result<&Seat> {
    // A handler that came in the midst would attach the same thread twice.
    let _signals = SignalsBlocked::new();
    thread_end::tell_at_end(ends)?;
    let mut seat = Arc::new(Seat::take(file, &Wish { of_thread: true, ..Wish::default() })?);
    let place = Arc::as_ptr(&seat);
    if let Some(seat) = Arc::get_mut(&mut seat) {
        seat.hot.change(|hot| hot.seat = place);
    }
    let of_no_use = change(|seats| {
        forget_latest();
        // Those of a parent process, and those in files that the program has closed, are of no more use.
        let is_used =
            |seat: &Arc<Seat>| seat.is_ours() && (seat.file.handles.load(Relaxed) > 0 || seat.holds_any());
        let (mut stay, of_no_use): (List, List) = std::mem::take(seats).into_iter().partition(is_used);
        stay.push(seat);
        *seats = stay;
        of_no_use
    });
    retire_all(of_no_use);
    // SAFETY: as in `latest_seat`.
    Ok(unsafe { &*place })
}
