//! Handles that know when they are closed.
//!
//! A closed handle's memory is set aside for a while before it goes back to the allocator, so that using it after
//! `close` is answered by an error instead of by chance. As with `free`, `close` wants that no other thread is inside a
//! call with the same handle.

use super::boundary::invalid;
use crate::attach::cached::{FileKey, LineKey, ThreadLine};
use crate::os::{
    fork::{ForkGuard, ForkGuarded},
    thread_words::ThreadWord,
};
use std::{cell::UnsafeCell, collections::VecDeque, ffi::c_void};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, SeqCst},
    compiler_fence,
};

/// With the number of what is behind the handle.
const OPEN: u32 = 0x7475_7200;
const CLOSED: u32 = 0x6c6f_636b;
/// How many closed handles are set aside before the oldest is freed.
const SET_ASIDE: usize = 1024;

/// What C handles stand for. Each has a mark of its own, so that a handle of one does not pass for one of another.
pub trait Marked {
    /// Which it is: below 256, and no other's.
    const NUMBER: u8;
    /// What it is called in errors.
    const NAME: &'static str;
    /// Which of the fast paths is its own.
    const FAST_PATH: Option<FastPathOf> = None;
    /// Returns how the fast path finds the calling thread's line.
    fn line_key(&self) -> LineKey {
        LineKey::of_none()
    }
}

/// Kinds of locks that have a fast path of their own.
#[derive(Clone, Copy)]
pub enum FastPathOf {
    /// Mutexes.
    Mutex,
    /// Reader/writer locks.
    RwLock,
    /// Semaphores.
    Semaphore,
}

/// What each handle begins with, whatever is behind it: a caller with a handle of something else finds this.
///
/// The fast path of a kind looks at one word: whether the line that the calling thread has at `word` is of the file that stands in the
/// place of this kind. None stands there in a handle of another kind, in one that is closed, in one of a file that records; and a
/// thread that is not attached, or was forked, has no such line.
#[repr(C)]
struct Head {
    state: AtomicU32,
    /// No other handle of this process has the same, however long ago it was closed.
    serial: u64,
    word: ThreadWord,
    /// By [`FastPathOf`].
    files: [FileKey; 3],
}

/// A value behind a C pointer.
#[repr(C)]
pub struct OpaqueHandle<T> {
    head: Head,
    value: UnsafeCell<Option<T>>,
}

struct Closed {
    memory: *mut c_void,
    free: unsafe fn(*mut c_void),
}
// SAFETY: only the list uses the memory of a closed handle.
unsafe impl Send for Closed {}

/// The number of the handle that was opened last.
static LAST_SERIAL: AtomicU64 = AtomicU64::new(0);

static ASIDE: ForkGuarded<VecDeque<Closed>> = ForkGuarded::new(VecDeque::new());

impl<T: Marked> OpaqueHandle<T> {
    const MARK: u32 = OPEN | T::NUMBER as u32;

    /// Puts `value` behind a new handle.
    pub fn open(value: T) -> *mut Self {
        let LineKey { word, file } = value.line_key();
        let mut files = [FileKey::OF_NONE; 3];
        if let Some(own) = T::FAST_PATH {
            files[own as usize] = file;
        }
        let serial = LAST_SERIAL.fetch_add(1, Relaxed) + 1;
        let head = Head { state: AtomicU32::new(Self::MARK), serial, word, files };
        Box::into_raw(Box::new(Self { head, value: UnsafeCell::new(Some(value)) }))
    }

    /// The state of the handle.
    ///
    /// # Safety
    /// NULL, or a handle of any type whose memory was not yet freed.
    #[inline(always)]
    unsafe fn state<'a>(handle: *const Self) -> Option<&'a AtomicU32> {
        // SAFETY: the caller's promise; a state comes first in each.
        unsafe { handle.cast::<AtomicU32>().as_ref() }
    }

    /// What is behind the handle.
    ///
    /// # Safety
    /// NULL, or a handle that was opened once and whose memory was not yet freed; not being closed now.
    #[inline]
    pub unsafe fn get<'a>(handle: *const Self) -> Result<&'a T> {
        // SAFETY: the caller's promise.
        let Some(state) = (unsafe { Self::state(handle) }) else {
            return Err(invalid(&format!("the {} handle is NULL", T::NAME)));
        };
        // Acquire. Partner: the exchange in `close`.
        match state.load(Acquire) {
            // SAFETY: by its mark it is one of this type; only `close` changes the value, after the state.
            mark if mark == Self::MARK => unsafe { (*(*handle).value.get()).as_ref() }.ok_or(Error::Closed),
            state => Err(Self::not_open(state)),
        }
    }

    /// Returns the number of an open handle: never 0.
    ///
    /// # Safety
    /// Not NULL; as [`OpaqueHandle::get`].
    #[inline(always)]
    pub unsafe fn serial<'a>(handle: *const Self) -> &'a u64 {
        // SAFETY: the caller's promise.
        unsafe { &(*handle).head.serial }
    }

    /// Returns the number of what is behind the handle of any type, which is called `what` in errors.
    ///
    /// # Safety
    /// NULL, or a handle of any type whose memory was not yet freed.
    pub unsafe fn number(handle: *const Self, what: &str) -> Result<u8> {
        // SAFETY: the caller's promise.
        let Some(state) = (unsafe { Self::state(handle) }) else {
            return Err(invalid(&format!("the {what} handle is NULL")));
        };
        // Acquire. Partner: the exchange in `close`.
        match state.load(Acquire) {
            CLOSED => Err(Error::Closed),
            mark if mark & !0xff == OPEN => Ok(mark as u8),
            _ => Err(invalid(&format!("this is not a {what} handle"))),
        }
    }

    /// The error for a handle in this state.
    #[cold]
    fn not_open(state: u32) -> Error {
        if state == CLOSED { Error::Closed } else { invalid(&format!("this is not a {} handle", T::NAME)) }
    }

    /// [`OpaqueHandle::get`] for the fast path: what is behind an open handle, and nothing to say about any other.
    ///
    /// # Safety
    /// As [`OpaqueHandle::get`].
    #[inline(always)]
    pub unsafe fn peek<'a>(handle: *const Self) -> Option<&'a T> {
        // SAFETY: the caller's promise; a state comes first in each, and no thread closes the handle meanwhile. So it is no
        // atomic load, which would be an instruction of its own.
        if handle.is_null() || unsafe { handle.cast::<u32>().read() } != Self::MARK {
            return None;
        }
        // SAFETY: by its mark it is one of this type.
        Some(unsafe { Self::behind(handle) })
    }

    /// What is behind the handle, and the calling thread's line in its file, if the fast path of this kind may go on with them; `sole`:
    /// only if the thread has one slot in each of its files.
    ///
    /// # Safety
    /// As [`OpaqueHandle::get`].
    #[inline(always)]
    pub unsafe fn find<'a>(handle: *const Self, sole: bool) -> Option<(&'a T, &'a ThreadLine)> {
        let own = T::FAST_PATH?;
        if handle.is_null() {
            return None;
        }
        // SAFETY: the caller's promise; the head comes first in each, and no thread closes the handle meanwhile.
        let key = unsafe {
            let head = handle.cast::<Head>();
            LineKey { word: (*head).word, file: (*head).files[own as usize] }
        };
        let line = if sole { key.find_sole() } else { key.find() }?;
        // SAFETY: a file stands there only in one of this type.
        Some((unsafe { Self::behind(handle) }, line))
    }

    /// Returns what is behind an open handle of this type.
    ///
    /// # Safety
    /// [`OpaqueHandle::peek`] or [`OpaqueHandle::find`] returned something, and as there.
    #[inline(always)]
    pub unsafe fn behind<'a>(handle: *const Self) -> &'a T {
        // SAFETY: the caller's promise; only `close` takes the value out, and it changes the state before.
        unsafe { (*(*handle).value.get()).as_ref().unwrap_unchecked() }
    }

    /// Closes the handle and drops what is behind it.
    ///
    /// # Safety
    /// As [`OpaqueHandle::get`], and no other thread is inside a call with this handle.
    pub unsafe fn close(handle: *mut Self) -> Result<()> {
        // SAFETY: the caller's promise.
        let Some(state) = (unsafe { Self::state(handle) }) else {
            return Err(invalid(&format!("the {} handle is NULL", T::NAME)));
        };
        if let Err(state) = state.compare_exchange(Self::MARK, CLOSED, Acquire, Relaxed) {
            return Err(Self::not_open(state));
        }
        // SAFETY: by its mark it is one of this type, and the exchange made us the only one to come here.
        unsafe { (*handle).head.files = [FileKey::OF_NONE; 3] };
        // A signal handler of this thread finds the value there, or no file.
        compiler_fence(SeqCst);
        // SAFETY: likewise.
        drop(unsafe { (*(*handle).value.get()).take() });
        let closed = Closed { memory: handle.cast(), free: Self::free };
        let oldest = ASIDE.with(&ForkGuard::enter(), |aside| {
            aside.push_back(closed);
            if aside.len() > SET_ASIDE { aside.pop_front() } else { None }
        });
        if let Some(oldest) = oldest {
            // SAFETY: made by `open` of the type that `free` stands for, closed long ago, and off the list.
            unsafe { (oldest.free)(oldest.memory) };
        }
        Ok(())
    }

    /// # Safety
    /// `memory` came from `open` of this type and is freed once.
    unsafe fn free(memory: *mut c_void) {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(memory.cast::<Self>()) });
    }
}
