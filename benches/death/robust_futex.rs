//! A robust futex, in a file that the holder and the bench map.

use crate::page;
use std::{
    path::Path,
    ptr::NonNull,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

/// A robust mutex of the C library in a file, of which only the kernel's mark is of interest.
pub struct RobustFutex {
    mutex: NonNull<libc::pthread_mutex_t>,
}

// SAFETY: its memory is shared and never unmapped; what is done with it is meant for threads.
unsafe impl Sync for RobustFutex {}

impl RobustFutex {
    /// The first one to open it makes it.
    pub fn open(path: &Path) -> Result<Self, String> {
        let (mutex, is_new) = page::open::<libc::pthread_mutex_t>(path)?;
        if is_new {
            // SAFETY: room for it, of which no other process knows yet.
            unsafe {
                let mut kind = std::mem::zeroed();
                libc::pthread_mutexattr_init(&mut kind);
                libc::pthread_mutexattr_setpshared(&mut kind, libc::PTHREAD_PROCESS_SHARED);
                libc::pthread_mutexattr_setrobust(&mut kind, libc::PTHREAD_MUTEX_ROBUST);
                libc::pthread_mutex_init(mutex.as_ptr(), &kind);
            }
        }
        Ok(Self { mutex })
    }

    /// For the calling thread, for ever.
    pub fn lock(&self) {
        // SAFETY: a mutex that was made by `open`.
        let locked = unsafe { libc::pthread_mutex_lock(self.mutex.as_ptr()) };
        assert!(matches!(locked, 0 | libc::EOWNERDEAD), "pthread_mutex_lock: {locked}");
    }

    /// For the calling thread, which is told of a death and marks the mutex consistent.
    pub fn lock_and_mend(&self) {
        // SAFETY: a mutex that was made by `open`.
        unsafe {
            match libc::pthread_mutex_lock(self.mutex.as_ptr()) {
                0 => {}
                libc::EOWNERDEAD => assert_eq!(libc::pthread_mutex_consistent(self.mutex.as_ptr()), 0),
                error => panic!("pthread_mutex_lock: {error}"),
            }
            assert_eq!(libc::pthread_mutex_unlock(self.mutex.as_ptr()), 0);
        }
    }

    /// Returns whether the kernel has marked it.
    pub fn owner_died(&self) -> bool {
        // SAFETY: glibc's mutex begins with its futex word.
        let word = unsafe { self.mutex.cast::<AtomicU32>().as_ref() };
        word.load(Relaxed) & libc::FUTEX_OWNER_DIED != 0
    }
}
