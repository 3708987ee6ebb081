//! A robust futex, in a file that the holder and the bench map.

use std::{
    fs::OpenOptions,
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
        let text = |error: std::io::Error| format!("{}: {error}", path.display());
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(text)?;
        let is_new = file.metadata().map_err(text)?.len() == 0;
        file.set_len(4096).map_err(text)?;
        // SAFETY: a new mapping, which is kept for ever.
        let page = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let file = std::os::fd::AsRawFd::as_raw_fd(&file);
            libc::mmap(std::ptr::null_mut(), 4096, access, libc::MAP_SHARED, file, 0)
        };
        if page == libc::MAP_FAILED {
            return Err(text(std::io::Error::last_os_error()));
        }
        let mutex = NonNull::new(page).expect("mmap gives no NULL").cast();
        if is_new {
            // SAFETY: room for it, of which nobody else knows yet.
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
