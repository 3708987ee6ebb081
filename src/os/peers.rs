//! Locks of others, for `turnlock bench`, and the memory by which its processes talk: nothing of turnlock rests on them.

use memmap2::{MmapOptions, MmapRaw};
use std::{
    fs::File,
    io,
    mem::{MaybeUninit, size_of},
    os::fd::AsRawFd,
    path::Path,
};
use turnlock_core::sync::AtomicU64;

const PAGE: usize = 4096;

/// A page of words that processes share, by a file: all zeros at first.
pub struct SharedWords(MmapRaw);

impl SharedWords {
    /// How many there are.
    pub const COUNT: usize = PAGE / size_of::<AtomicU64>();

    /// Opens the one in the file at `path`, which is created if it is not there.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn open(path: &Path) -> io::Result<Self> {
        shared_page(path).map(|(page, _)| Self(page))
    }

    /// Returns one of them.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at < Self::COUNT);
        // SAFETY: in the page, which is mapped as long as `self` lives and aligned; all use it as atomics.
        unsafe { &*self.0.as_ptr().cast::<AtomicU64>().add(at) }
    }
}

/// The kind of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerKind {
    /// A POSIX mutex that processes share.
    Mutex,
    /// A robust one.
    RobustMutex,
    /// A POSIX semaphore with one permit.
    Semaphore,
    /// flock(2).
    Flock,
    /// A byte lock of an open file, by fcntl(2).
    OpenFile,
}

/// A lock that is none of turnlock's, as a process has it.
pub struct Peer {
    kind: PeerKind,
    page: MmapRaw,
    file: File,
}

// SAFETY: POSIX mutexes and semaphores, and descriptors, may be used from any thread; the page is only touched by them.
unsafe impl Sync for Peer {}

impl Peer {
    /// Makes one in the file at `path`, before any other process looks at it.
    ///
    /// # Errors
    /// Those of the system.
    pub fn create(kind: PeerKind, path: &Path) -> io::Result<()> {
        let (page, _) = shared_page(path)?;
        match kind {
            PeerKind::Mutex | PeerKind::RobustMutex => make_mutex(&page, kind == PeerKind::RobustMutex),
            // SAFETY: the page is larger than a semaphore, aligned, and not used yet.
            PeerKind::Semaphore => done(unsafe { libc::sem_init(page.as_mut_ptr().cast(), 1, 1) }),
            PeerKind::Flock | PeerKind::OpenFile => Ok(()),
        }
    }

    /// Opens the one that was made at `path`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(kind: PeerKind, path: &Path) -> io::Result<Self> {
        // By an open file of its own, to which locks on files belong.
        shared_page(path).map(|(page, file)| Self { kind, page, file })
    }

    /// Waits for it.
    ///
    /// # Errors
    /// Those of the system; that the previous owner died is none here.
    #[inline]
    pub fn lock(&self) -> io::Result<()> {
        match self.kind {
            // SAFETY: an initialised mutex in memory that stays mapped.
            PeerKind::Mutex | PeerKind::RobustMutex => match unsafe { libc::pthread_mutex_lock(self.at()) } {
                0 => Ok(()),
                error => Err(io::Error::from_raw_os_error(error)),
            },
            // SAFETY: an initialised semaphore in memory that stays mapped.
            PeerKind::Semaphore => done(unsafe { libc::sem_wait(self.at()) }),
            PeerKind::Flock => self.flock(libc::LOCK_EX),
            PeerKind::OpenFile => self.fcntl(libc::F_WRLCK),
        }
    }

    /// Gives it back. For a thread that has it.
    ///
    /// # Errors
    /// Those of the system.
    #[inline]
    pub fn unlock(&self) -> io::Result<()> {
        match self.kind {
            // SAFETY: as in `lock`.
            PeerKind::Mutex | PeerKind::RobustMutex => match unsafe { libc::pthread_mutex_unlock(self.at()) }
            {
                0 => Ok(()),
                error => Err(io::Error::from_raw_os_error(error)),
            },
            // SAFETY: as in `lock`.
            PeerKind::Semaphore => done(unsafe { libc::sem_post(self.at()) }),
            PeerKind::Flock => self.flock(libc::LOCK_UN),
            PeerKind::OpenFile => self.fcntl(libc::F_UNLCK),
        }
    }

    fn at<T>(&self) -> *mut T {
        self.page.as_mut_ptr().cast()
    }

    fn flock(&self, operation: libc::c_int) -> io::Result<()> {
        // SAFETY: an open descriptor and a flag.
        done(unsafe { libc::flock(self.file.as_raw_fd(), operation) })
    }

    fn fcntl(&self, kind: libc::c_int) -> io::Result<()> {
        // SAFETY: plain data, all zeros is a value of it.
        let mut request: libc::flock = unsafe { std::mem::zeroed() };
        request.l_type = kind as libc::c_short;
        request.l_len = 1;
        // SAFETY: an open descriptor, and a request that is ours.
        done(unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_OFD_SETLKW, &request) })
    }
}

/// Returns the first page of a file, mapped shared, and the file; both are made if they are not there.
fn shared_page(path: &Path) -> io::Result<(MmapRaw, File)> {
    let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
    file.set_len(PAGE as u64)?;
    let page = MmapOptions::new().len(PAGE).map_raw(&file)?;
    Ok((page, file))
}

fn make_mutex(page: &MmapRaw, robust: bool) -> io::Result<()> {
    let succeed = |error: libc::c_int| match error {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    };
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: attributes are initialised before they are used; the page is larger than a mutex, aligned, and not used yet.
    unsafe {
        succeed(libc::pthread_mutexattr_init(attributes.as_mut_ptr()))?;
        let attributes = attributes.as_mut_ptr();
        succeed(libc::pthread_mutexattr_setpshared(attributes, libc::PTHREAD_PROCESS_SHARED))?;
        if robust {
            succeed(libc::pthread_mutexattr_setrobust(attributes, libc::PTHREAD_MUTEX_ROBUST))?;
        }
        succeed(libc::pthread_mutex_init(page.as_mut_ptr().cast(), attributes))
    }
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnlock_core::sync::Ordering::Relaxed;

    /// A count under each of them, through two attachments, loses nothing.
    #[test]
    fn each_lets_one_in_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        for kind in
            [PeerKind::Mutex, PeerKind::RobustMutex, PeerKind::Semaphore, PeerKind::Flock, PeerKind::OpenFile]
        {
            let (path, words) = (folder.path().join("lock"), folder.path().join("words"));
            Peer::create(kind, &path).unwrap();
            let count = || {
                let (peer, words) = (Peer::open(kind, &path).unwrap(), SharedWords::open(&words).unwrap());
                for _ in 0..2_000 {
                    peer.lock().unwrap();
                    let seen = words.word(3).load(Relaxed);
                    words.word(3).store(seen + 1, Relaxed);
                    peer.unlock().unwrap();
                }
            };
            std::thread::scope(|threads| {
                threads.spawn(count);
                threads.spawn(count);
            });
            assert_eq!(SharedWords::open(&words).unwrap().word(3).load(Relaxed), 4_000, "{kind:?}");
            std::fs::remove_file(path).unwrap();
            std::fs::remove_file(words).unwrap();
        }
    }
}
