//! The slots of the calling thread: one for each file that it takes locks in, and more for what it holds of a lock several
//! times at once (permits, ranges, keys).
//!
//! Kept in variables that need no destructor, so that they are there as long as the thread runs anything, its key
//! destructors included; detached when [`thread_end`] says so. What changes them runs with signals blocked; what looks at
//! them expects that a signal handler attaches the thread, or detaches it, between any two instructions.

use super::{
    attachment::{AttachOptions, Attachment},
    cached::{FileKey, LineKey},
    idle,
    open_file::OpenFile,
};
use crate::os::{
    fork::process_mark,
    signals::SignalsBlocked,
    thread_end::{self, Ending},
    thread_words::ThreadWord,
};
use std::{cell::Cell, mem::ManuallyDrop, ptr, sync::Arc};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::{
    Ordering::{Relaxed, SeqCst},
    compiler_fence,
};

/// A slot of the thread, or room for one. A signal handler may change it between any two instructions of a look, so a
/// look believes the attachment only if the rest is the same before and after; and it refers to no other attachment.
struct Place {
    /// The attachment's file, by its key; 0 = none.
    file: Cell<usize>,
    /// The process (by its mark) whose attachment it is: a different one in a forked child.
    process: Cell<u64>,
    /// Whether it is one more beside the thread's own in that file.
    is_more: Cell<bool>,
    /// An `Arc`, as a pointer; NULL = none.
    attachment: Cell<*const Attachment>,
}

/// Places of a thread. Never freed before the thread ends, whichever call is looking.
struct Places {
    places: [Place; 6],
    more: Cell<*const Places>,
}

impl Places {
    const fn new() -> Self {
        Self {
            places: [const {
                Place {
                    file: Cell::new(0),
                    process: Cell::new(0),
                    is_more: Cell::new(false),
                    attachment: Cell::new(ptr::null()),
                }
            }; 6],
            more: Cell::new(ptr::null()),
        }
    }
}

thread_local! {
    static ATTACHMENTS: ManuallyDrop<Places> = const { ManuallyDrop::new(Places::new()) };
    /// How many of its places have one more beside the thread's own: most threads have none, and need not look for it.
    static MORE: Cell<usize> = const { Cell::new(0) };
    /// How many calls look at the thread's places that have one more: several, where signal handlers have interrupted a call.
    static LOOKS: Cell<u32> = const { Cell::new(0) };
    /// How many releases have found more spare slots than [`SPARE`], since the last one that detached such a slot.
    static SURPLUS: Cell<u32> = const { Cell::new(0) };
}

/// The attachment whose line the word of its file remembers.
#[inline]
fn cached_attachment(file: &Arc<OpenFile>) -> Option<&Attachment> {
    let cache = line_key(file).find()?;
    // SAFETY: an attachment among ATTACHMENTS, as in `cached::at_word`. It stays there as long as this thread does something
    // with it: only this thread takes attachments out of there, and neither in the midst of a call on their file nor while
    // that is open, unless the thread ends.
    unsafe { cache.attachment.cast::<Attachment>().as_ref() }
}

fn line_key(file: &Arc<OpenFile>) -> LineKey {
    LineKey { word: file.word.word(), file: FileKey::of(file) }
}

/// Has the attachment found by the word of its file, in the place of the file's that had it before.
fn remember(attachment: &Attachment) {
    // SAFETY: every word is one of this type; the cache is there until `forget_all`.
    unsafe { attachment.file.word.word().set(attachment.of_its_thread.place()) };
}

fn forget_all() {
    ThreadWord::all().for_each(ThreadWord::clear);
}

/// The calling thread's places, one after the other. For this thread alone, as long as it runs.
fn places() -> impl Iterator<Item = &'static Place> {
    let first = ATTACHMENTS.with(|first| ptr::from_ref::<Places>(first));
    // SAFETY: the first is a variable without a destructor, the others are freed when the thread ends; and no thread
    // but this thread comes by them.
    let mut next = Some(unsafe { &*first });
    std::iter::from_fn(move || {
        let these = next?;
        // SAFETY: as above.
        next = unsafe { these.more.get().as_ref() };
        Some(these.places.iter())
    })
    .flatten()
}

impl Place {
    fn put(&self, attachment: Arc<Attachment>, is_more: bool) {
        self.is_more.set(is_more);
        MORE.set(MORE.get() + usize::from(is_more));
        self.file.set(FileKey::of(&attachment.file).number());
        self.process.set(process_mark());
        self.attachment.set(Arc::into_raw(attachment));
    }

    fn take(&self) -> Option<Arc<Attachment>> {
        let attachment = self.attachment.replace(ptr::null());
        self.file.set(0);
        MORE.set(MORE.get() - usize::from(self.is_more.replace(false)));
        // SAFETY: it came from `put`, and no caller takes it a second time.
        (!attachment.is_null()).then(|| unsafe { Arc::from_raw(attachment) })
    }

    /// With signals blocked: as long as nothing is taken from the place.
    fn attachment(&self) -> Option<&Attachment> {
        // SAFETY: NULL, or what `put` put there.
        unsafe { self.attachment.get().as_ref() }
    }
}

/// While it exists, a call of this thread may refer to one of the attachments that are one more: a signal handler that comes
/// detaches none of them.
struct Look;

impl Look {
    fn begin() -> Self {
        LOOKS.set(LOOKS.get() + 1);
        compiler_fence(SeqCst);
        Self
    }

    /// Returns whether no call was interrupted that looks too.
    fn is_only_one(&self) -> bool {
        LOOKS.get() == 1
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        compiler_fence(SeqCst);
        LOOKS.set(LOOKS.get() - 1);
    }
}

/// The calling thread's own slot in `file`.
#[inline]
fn find(file: &Arc<OpenFile>) -> Option<&Attachment> {
    find_where(file, |place| !place.is_more.get(), |_| true)
}

/// The first of the calling thread's slots in `file` that is in such a place, and is such a one.
#[inline]
fn find_where(
    file: &Arc<OpenFile>,
    is_such_a_place: impl Fn(&Place) -> bool,
    mut is_such: impl FnMut(&Attachment) -> bool,
) -> Option<&Attachment> {
    let (file, process) = (FileKey::of(file).number(), process_mark());
    let is_it =
        |place: &Place| place.file.get() == file && place.process.get() == process && is_such_a_place(place);
    // Not by `places`: programs that use several files come here each time.
    let mut these = ATTACHMENTS.with(|first| ptr::from_ref::<Places>(first));
    // SAFETY: as in `places`.
    while let Some(some) = unsafe { these.as_ref() } {
        for place in some.places.iter().filter(|place| is_it(place)) {
            let attachment = place.attachment.get();
            // If a signal handler came between the look at the place and the load, it may have put another attachment
            // there: we look again.
            compiler_fence(SeqCst);
            if !is_it(place) {
                continue;
            }
            // SAFETY: as in `cached_attachment`.
            let attachment = unsafe { attachment.as_ref() };
            if let Some(attachment) = attachment
                && is_such(attachment)
            {
                return Some(attachment);
            }
        }
        these = some.more.get();
    }
    None
}

/// Takes the attachments out of their places that are to go, and detaches them. With signals blocked.
fn detach(_: &SignalsBlocked, goes: impl Fn(&Attachment) -> bool) {
    forget_all();
    for place in places() {
        if place.attachment().is_some_and(&goes)
            && let Some(attachment) = place.take()
        {
            if attachment.is_ours() {
                attachment.detach();
            } else {
                // What a child remembers of its parent: it may have been forked in the midst of a call that uses it.
                std::mem::forget(attachment);
            }
        }
    }
    note_sole();
}

/// Has each of the thread's slots know whether it has one in each of its files. With signals blocked.
fn note_sole() {
    let is_sole = MORE.get() == 0;
    // What a forked child remembers of its parent stays zeros.
    let ours = places().filter_map(Place::attachment).filter(|attachment| attachment.is_ours());
    ours.for_each(|attachment| attachment.of_its_thread().note_sole(is_sole));
}

/// The thread ends: detaches what it does not use or, at the very end, all of it.
fn ends(ending: Ending) -> bool {
    let signals = SignalsBlocked::new();
    // Those of a parent process are of no use, and nothing is detached for them.
    detach(&signals, |attachment| ending == Ending::Ends || !attachment.is_ours() || !attachment.holds_any());
    if ending == Ending::Ends {
        let mut more = ATTACHMENTS.with(|first| first.more.replace(ptr::null()));
        while !more.is_null() {
            // SAFETY: made by `put`, and out of reach now; no signal handler looks, since signals are blocked.
            let places = unsafe { Box::from_raw(more.cast_mut()) };
            more = places.more.get();
        }
    }
    places().any(|place| place.attachment().is_some())
}

/// Has the attachment found from now on. With signals blocked.
fn put(_: &SignalsBlocked, attachment: Arc<Attachment>, is_more: bool) {
    forget_all();
    let free = places().find(|place| place.attachment.get().is_null());
    let free = free.unwrap_or_else(|| {
        let more: &'static Places = Box::leak(Box::new(Places::new()));
        ATTACHMENTS.with(|first| more.more.set(first.more.replace(more)));
        &more.places[0]
    });
    free.put(attachment, is_more);
    note_sole();
}

/// Runs `act` with this thread's slot in `file`, taken now if there is none.
#[inline]
pub fn with_thread_attachment<R>(
    file: &Arc<OpenFile>,
    act: impl FnOnce(&Attachment) -> Result<R>,
) -> Result<R> {
    match cached_attachment(file) {
        Some(attachment) => act(attachment),
        None => act(find_or_attach(file)?),
    }
}

/// Runs `act` with this thread's slot in `file`; without one the thread owns nothing there.
#[inline]
pub fn with_thread_attachment_if_any<R>(
    file: &Arc<OpenFile>,
    act: impl FnOnce(&Attachment) -> Result<R>,
) -> Result<R> {
    match cached_attachment(file).or_else(|| find(file)) {
        Some(attachment) => act(attachment),
        None => Err(Error::NotOwner),
    }
}

/// Calls `look` with each of this thread's slots in `file`, its own first.
#[inline]
pub fn each_attachment(file: &Arc<OpenFile>, mut look: impl FnMut(&Attachment)) {
    if let Some(own) = cached_attachment(file).or_else(|| find(file)) {
        look(own);
    }
    if MORE.get() > 0 {
        let _look = Look::begin();
        find_where(
            file,
            |place| place.is_more.get(),
            |attachment| {
                look(attachment);
                false
            },
        );
    }
}

/// Runs `act` with a slot of this thread in `file` that has nothing to do with the lock of `region`: its own or, if it holds
/// that already, one more, which is taken now if there is none.
pub fn with_idle_attachment<R>(
    file: &Arc<OpenFile>,
    region: usize,
    act: impl FnOnce(&Attachment) -> Result<R>,
) -> Result<R> {
    let own = match cached_attachment(file) {
        Some(attachment) => attachment,
        None => find_or_attach(file)?,
    };
    if own.local(region).is_idle() {
        return act(own);
    }
    let _look = Look::begin();
    let is_idle = |attachment: &Attachment| attachment.local(region).is_idle();
    match find_where(file, |place| place.is_more.get(), is_idle) {
        Some(more) => act(more),
        None => act(attach(file, true)?),
    }
}

/// Runs `act` with the slot of this thread in `file` that holds the lock of `region` (by the acquisition with this token, where
/// one is named), and detaches it then if it is one more than is likely to be wanted again.
pub fn with_holding_attachment<R>(
    file: &Arc<OpenFile>,
    region: usize,
    token: Option<u64>,
    act: impl FnOnce(&Attachment) -> Result<R>,
) -> Result<R> {
    let holds = |attachment: &Attachment| attachment.local(region).is_held_by(token);
    if let Some(own) = cached_attachment(file).or_else(|| find(file)).filter(|own| holds(own)) {
        return act(own);
    }
    let look = Look::begin();
    let Some(more) = find_where(file, |place| place.is_more.get(), &holds) else {
        return Err(Error::NotOwner);
    };
    let done = act(more);
    if look.is_only_one() && !more.holds_any() && has_spare(file, region) && is_one_too_many(file) {
        let (signals, more) = (SignalsBlocked::new(), ptr::from_ref(more));
        detach(&signals, |attachment| ptr::eq(attachment, more));
    }
    done
}

/// Returns whether this thread has more than [`SPARE`] slots in `file` that hold nothing. Asks first about the lock of `region`:
/// what a thread has many of is parts of one lock.
fn has_spare(file: &Arc<OpenFile>, region: usize) -> bool {
    let mut spare = 0;
    let is_enough = |attachment: &Attachment| {
        spare += usize::from(!attachment.local(region).is_held() && !attachment.holds_any());
        spare > SPARE
    };
    find_where(file, |_| true, is_enough).is_some()
}

/// So many slots in one file that hold nothing a thread keeps: to attach takes twenty microseconds.
const SPARE: usize = 4;
/// More than those go one by one, each after so many releases that found more: a thread that takes many parts, gives them
/// back and takes them again keeps most, and one that does not has them no longer than it takes to take a few each time.
const RELEASES: u32 = 64;

/// Returns whether one of the slots beyond [`SPARE`] is to go: at once in a file of which more than half is in use.
fn is_one_too_many(file: &OpenFile) -> bool {
    let view = file.view();
    if 2 * view.header().slots_in_use.load(Relaxed) > view.geometry().participants() {
        return true;
    }
    let surplus = (SURPLUS.get() + 1) % RELEASES;
    SURPLUS.set(surplus);
    surplus == 0
}

/// This thread's slot in `file`, to be kept by others too.
pub fn thread_attachment(file: &Arc<OpenFile>) -> Result<Arc<Attachment>> {
    let attachment: *const Attachment = find_or_attach(file)?;
    let _signals = SignalsBlocked::new();
    let known = places().find(|place| ptr::eq(place.attachment.get(), attachment));
    if known.is_none() {
        return Err(Error::Internal("a slot just taken is gone".into()));
    }
    // SAFETY: it is in its place, as an `Arc`; this makes one more of it.
    unsafe {
        Arc::increment_strong_count(attachment);
        Ok(Arc::from_raw(attachment))
    }
}

/// Gives this thread's slot in `file` back, if it holds no lock with it.
pub fn detach_thread(file: &Arc<OpenFile>) {
    let signals = SignalsBlocked::new();
    detach(&signals, |attachment| Arc::ptr_eq(&attachment.file, file) && !attachment.holds_any());
}

/// Another file has the word of `file`: has the thread's slot in `file` be the one that [`cached`] gives. `false`: it is
/// already, or cannot be.
#[inline]
pub fn reload_cache(file: &Arc<OpenFile>) -> bool {
    line_key(file).find().is_none() && find(file).map(remember).is_some()
}

fn find_or_attach(file: &Arc<OpenFile>) -> Result<&Attachment> {
    match find(file) {
        Some(attachment) => {
            remember(attachment);
            Ok(attachment)
        }
        None => attach(file, false),
    }
}

#[cold]
#[inline(never)]
fn attach(file: &Arc<OpenFile>, is_more: bool) -> Result<&Attachment> {
    // A handler that came in the midst would attach the same thread twice.
    let signals = SignalsBlocked::new();
    // One may have come before.
    if !is_more && let Some(attachment) = find(file) {
        return Ok(attachment);
    }
    thread_end::tell_at_end(ends)?;
    let options = AttachOptions { of_thread: true, ..AttachOptions::default() };
    // A signal handler may ask for one more, which gives up nothing: that would free memory.
    let attached = if is_more { Attachment::attach(file, &options) } else { idle::attach(file, &options) };
    let mut attachment = Arc::new(attached?);
    let place = Arc::as_ptr(&attachment);
    if let Some(attachment) = Arc::get_mut(&mut attachment) {
        attachment.of_its_thread.change(|cache| cache.attachment = place.cast());
    }
    // Those of a parent process, and those in files that the program has closed, are of no more use. (One more is not worth the
    // look at all of them.)
    if !is_more {
        detach(&signals, |attachment| {
            !attachment.is_ours() || (attachment.file.handles.load(Relaxed) == 0 && !attachment.holds_any())
        });
    }
    put(&signals, attachment, is_more);
    // SAFETY: as in `cached_attachment`.
    Ok(unsafe { &*place })
}
