//! Handles that know when they are closed.
//!
//! A closed handle's memory is set aside for a while before it goes back to the allocator, so that using it after
//! `close` is answered by an error instead of by chance. As with `free`, `close` wants that no other thread is inside a
//! call with the same handle.

use super::boundary::invalid;
use crate::error::{Error, Result};
use crate::os::fork::{ForkGuard, ForkGuarded};
use crate::sync::{
    AtomicU32,
    Ordering::{Acquire, Relaxed},
};
use std::{cell::UnsafeCell, collections::VecDeque, ffi::c_void};

const OPEN: u32 = 0x7475_726e;
const CLOSED: u32 = 0x6c6f_636b;
/// How many closed handles are set aside before the oldest is freed.
const SET_ASIDE: usize = 1024;

/// A value behind a C pointer.
pub struct OpaqueHandle<T> {
    state: AtomicU32,
    value: UnsafeCell<Option<T>>,
}

struct Closed {
    memory: *mut c_void,
    free: unsafe fn(*mut c_void),
}
// SAFETY: nobody but the list uses the memory of a closed handle.
unsafe impl Send for Closed {}

static ASIDE: ForkGuarded<VecDeque<Closed>> = ForkGuarded::new(VecDeque::new());

impl<T> OpaqueHandle<T> {
    /// Puts `value` behind a new handle.
    pub fn open(value: T) -> *mut Self {
        Box::into_raw(Box::new(Self { state: AtomicU32::new(OPEN), value: UnsafeCell::new(Some(value)) }))
    }

    /// What is behind the handle.
    ///
    /// # Safety
    /// NULL, or a handle of this type that was opened once and whose memory was not yet freed; not being closed now.
    #[inline]
    pub unsafe fn get<'a>(handle: *const Self, what: &str) -> Result<&'a T> {
        // SAFETY: the caller's promise.
        let Some(handle) = (unsafe { handle.as_ref() }) else {
            return Err(invalid(&format!("the {what} handle is NULL")));
        };
        // Acquire. Partner: the exchange in `close`.
        match handle.state.load(Acquire) {
            // SAFETY: only `close` changes the value, after the state.
            OPEN => unsafe { (*handle.value.get()).as_ref() }.ok_or(Error::Closed),
            CLOSED => Err(Error::Closed),
            _ => Err(invalid(&format!("this is not a {what} handle"))),
        }
    }

    /// [`OpaqueHandle::get`] for the fast path: what is behind an open handle, and nothing to say about any other.
    ///
    /// # Safety
    /// As [`OpaqueHandle::get`].
    #[inline(always)]
    pub unsafe fn peek<'a>(handle: *const Self) -> Option<&'a T> {
        // SAFETY: the caller's promise.
        let handle = unsafe { handle.as_ref() }?;
        // Acquire. Partner: the exchange in `close`.
        if handle.state.load(Acquire) != OPEN {
            return None;
        }
        // SAFETY: only `close` takes the value out, and it changes the state before.
        Some(unsafe { (*handle.value.get()).as_ref().unwrap_unchecked() })
    }

    /// Closes the handle and drops what is behind it.
    ///
    /// # Safety
    /// As [`OpaqueHandle::get`], and no other thread is inside a call with this handle.
    pub unsafe fn close(handle: *mut Self) -> Result<()> {
        // SAFETY: the caller's promise.
        let Some(open) = (unsafe { handle.as_ref() }) else { return Err(invalid("the handle is NULL")) };
        if open.state.compare_exchange(OPEN, CLOSED, Acquire, Relaxed).is_err() {
            return Err(Error::Closed);
        }
        // SAFETY: the exchange made us the only one to come here.
        drop(unsafe { (*open.value.get()).take() });
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
