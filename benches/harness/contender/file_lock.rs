//! Locks on a file: flock, and the byte locks that belong to an open file.

use super::Lock;
use crate::place::Place;
use std::{fs::File, os::fd::AsRawFd};

/// Each worker opens the file itself, since both kinds belong to the open file.
fn open(place: &Place) -> File {
    File::options().read(true).write(true).create(true).truncate(false).open(place.path()).unwrap()
}

pub struct Flock;

impl super::Family for Flock {
    type Lock = FlockAttached;

    fn attach(&self, place: &Place, _: usize) -> FlockAttached {
        FlockAttached(open(place))
    }
}

pub struct FlockAttached(File);

impl FlockAttached {
    #[inline]
    fn call(&self, operation: i32) {
        // SAFETY: an open descriptor.
        let done = unsafe { libc::flock(self.0.as_raw_fd(), operation) };
        assert_eq!(done, 0);
    }
}

impl Lock for FlockAttached {
    type Held<'a> = ();

    #[inline]
    fn lock(&self) {
        self.call(libc::LOCK_EX);
    }

    #[inline]
    fn unlock(&self, (): ()) {
        self.call(libc::LOCK_UN);
    }
}

pub struct Ofd;

impl super::Family for Ofd {
    type Lock = OfdAttached;

    fn attach(&self, place: &Place, _: usize) -> OfdAttached {
        OfdAttached(open(place))
    }
}

pub struct OfdAttached(File);

impl OfdAttached {
    #[inline]
    fn call(&self, kind: i32) {
        // SAFETY: flock is plain data, all zeros is a value of it; the descriptor is open.
        let done = unsafe {
            let mut request: libc::flock = std::mem::zeroed();
            request.l_type = kind as libc::c_short;
            request.l_len = 1;
            libc::fcntl(self.0.as_raw_fd(), libc::F_OFD_SETLKW, &request)
        };
        assert_eq!(done, 0);
    }
}

impl Lock for OfdAttached {
    type Held<'a> = ();

    #[inline]
    fn lock(&self) {
        self.call(libc::F_WRLCK);
    }

    #[inline]
    fn unlock(&self, (): ()) {
        self.call(libc::F_UNLCK);
    }
}
