//! Memory that a forked child finds full of zeros.

use super::{
    fork::{ForkGuard, ForkGuarded},
    wiped_page::wiped_page,
};
use crate::error::{Error, Result};
use std::ptr::NonNull;

/// A value that a forked child finds as zeros: what it must not take for its own. Lives in pages that the kernel wipes.
pub struct WipeOnFork<T: Wipeable>(NonNull<T>);

/// All zeros is a value of it, it needs no `drop`, and it has at most [`FRAGMENT`] bytes, aligned to no more than that.
///
/// # Safety
/// It is so.
pub unsafe trait Wipeable: Copy {}

/// The room for one [`WipeOnFork`] value, in bytes: a cache line.
pub const FRAGMENT: usize = 64;

// SAFETY: it is the only one that refers to its room; a shared reference to it gives a copy.
unsafe impl<T: Wipeable + Send> Send for WipeOnFork<T> {}
// SAFETY: as above.
unsafe impl<T: Wipeable + Sync> Sync for WipeOnFork<T> {}

struct Room(NonNull<u8>);
// SAFETY: room that nobody uses.
unsafe impl Send for Room {}

static ROOMS: ForkGuarded<Vec<Room>> = ForkGuarded::new(Vec::new());

impl<T: Wipeable> WipeOnFork<T> {
    /// Puts `value` there.
    pub fn new(value: T) -> Result<Self> {
        const { assert!(size_of::<T>() <= FRAGMENT && align_of::<T>() <= FRAGMENT) };
        let room = ROOMS.with(&ForkGuard::enter(), |rooms| {
            if rooms.is_empty() {
                let page = wiped_page()?;
                // SAFETY: inside the page.
                rooms.extend((0..4096 / FRAGMENT).map(|at| Room(unsafe { page.byte_add(at * FRAGMENT) })));
            }
            rooms.pop().ok_or_else(|| Error::Internal("a page without room".into()))
        })?;
        let room = room.0.cast::<T>();
        // SAFETY: room of the right size and alignment that nobody else has.
        unsafe { room.write(value) };
        Ok(Self(room))
    }

    /// Changes it, before anybody else knows of it.
    pub fn change(&mut self, change: impl FnOnce(&mut T)) {
        // SAFETY: room of our own, and `&mut self` says that nobody else looks; a value was written there.
        change(unsafe { self.0.as_mut() });
    }

    /// Where it lies; as long as this exists.
    pub fn place(&self) -> *const T {
        self.0.as_ptr()
    }
}

impl<T: Wipeable> Drop for WipeOnFork<T> {
    fn drop(&mut self) {
        ROOMS.with(&ForkGuard::enter(), |rooms| rooms.push(Room(self.0.cast())));
    }
}
