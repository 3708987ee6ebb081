//! Memory that a forked child finds full of zeros.

use super::{
    fork::{ForkGuard, ForkGuarded},
    wiped_page::wiped_page,
};
use std::ptr::NonNull;
use turnlock_core::error::{Error, Result};

/// A value that a forked child finds as zeros: what it must not take for its own. Lives in pages that the kernel wipes.
pub struct WipeOnFork<T: Wipeable>(NonNull<T>);

/// All zeros is a value of it, it needs no `drop`, and it has at most [`FRAGMENT`] bytes, aligned to no more than that.
///
/// # Safety
/// Only for types of which all of this is true.
pub unsafe trait Wipeable {}

/// The memory for one [`WipeOnFork`] value, in bytes: a cache line.
pub const FRAGMENT: usize = 64;

// SAFETY: it is the only one that refers to its fragment; a shared reference to it is one to the value.
unsafe impl<T: Wipeable + Send> Send for WipeOnFork<T> {}
// SAFETY: as above.
unsafe impl<T: Wipeable + Sync> Sync for WipeOnFork<T> {}

struct Fragment(NonNull<u8>);
// SAFETY: memory that is not used yet.
unsafe impl Send for Fragment {}

static FREE: ForkGuarded<Vec<Fragment>> = ForkGuarded::new(Vec::new());

impl<T: Wipeable> WipeOnFork<T> {
    /// Puts `value` there.
    pub fn new(value: T) -> Result<Self> {
        const { assert!(size_of::<T>() <= FRAGMENT && align_of::<T>() <= FRAGMENT) };
        let fragment = FREE.with(&ForkGuard::enter(), |free| {
            if free.is_empty() {
                let page = wiped_page()?;
                // SAFETY: inside the page.
                free.extend((0..4096 / FRAGMENT).map(|at| Fragment(unsafe { page.byte_add(at * FRAGMENT) })));
            }
            free.pop().ok_or_else(|| Error::Internal("a page without fragments".into()))
        })?;
        let fragment = fragment.0.cast::<T>();
        // SAFETY: memory of the right size and alignment that is ours alone.
        unsafe { fragment.write(value) };
        Ok(Self(fragment))
    }

    /// Changes the value, before it is shared.
    pub fn change(&mut self, change: impl FnOnce(&mut T)) {
        // SAFETY: memory of our own, and `&mut self` excludes other readers; a value was written there.
        change(unsafe { self.0.as_mut() });
    }

    /// Returns where it lies; as long as this exists.
    pub fn place(&self) -> *const T {
        self.0.as_ptr()
    }
}

impl<T: Wipeable> Drop for WipeOnFork<T> {
    fn drop(&mut self) {
        FREE.with(&ForkGuard::enter(), |free| free.push(Fragment(self.0.cast())));
    }
}
