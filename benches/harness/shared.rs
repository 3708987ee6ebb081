//! Memory that forked processes share.

use std::{ops::Deref, ptr};

/// A `T` in a shared mapping of its own, unmapped when dropped.
pub struct Shared<T>(*mut T);

/// # Safety
/// All bytes zero is a value, and other processes may change it at any time: atomics, or memory that only a lock's own
/// functions touch.
pub unsafe trait Zeroed {}

#[allow(clippy::new_without_default, reason = "it maps memory")]
impl<T: Zeroed> Shared<T> {
    /// All zeros.
    pub fn new() -> Self {
        // SAFETY: a fresh anonymous mapping.
        let memory = unsafe {
            libc::mmap(
                ptr::null_mut(),
                size_of::<T>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(memory, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        Self(memory.cast())
    }
}

// SAFETY: what other processes may change at any time, other threads may too.
unsafe impl<T: Zeroed> Sync for Shared<T> {}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: mapped and zeroed, which is a value of `T`.
        unsafe { &*self.0 }
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and nothing borrows from it any more.
        unsafe { libc::munmap(self.0.cast(), size_of::<T>()) };
    }
}
