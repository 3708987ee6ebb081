//! The anchor: a descriptor by which a lock file is opened again where its path leads nowhere, by way of `/proc`.
//!
//! Opened with `O_PATH`, it refers to the file and opens nothing: no lock is ever held by it, so forked children keep
//! their copy of it, and open the file for themselves through that. It is one of a file and not of a directory (not of
//! `/proc` either): a process that changes its root keeps no way out by it.

use super::identity::{self, Descriptor, Identity, Known};
use nix::{
    errno::Errno,
    fcntl::{OFlag, open},
    sys::stat::Mode,
};
use std::{
    ffi::CStr,
    io::Write,
    os::fd::{IntoRawFd, RawFd},
};
use turnlock_core::sync::{AtomicI32, Ordering::Relaxed};

/// The thread's own descriptors: the process's own are gone once its main thread has ended.
pub const OWN_DESCRIPTORS: &str = "/proc/thread-self/fd";

/// Opens anew what `descriptor` is one of, whatever its path says by now. Allocates nothing.
///
/// The kernel asks for the file's mode again, as in any opening, and for `/proc` to be mounted.
pub fn open_again(descriptor: RawFd, flags: OFlag) -> nix::Result<Descriptor> {
    let mut path = [0; 48];
    let mut rest = path.as_mut_slice();
    // It fits: the prefix and at most eleven characters.
    let _ = write!(rest, "{OWN_DESCRIPTORS}/{descriptor}");
    let left = rest.len();
    let length = path.len() - left;
    // What lies there is a symbolic link, of the kernel's own making.
    let flags = (flags | OFlag::O_CLOEXEC) - OFlag::O_NOFOLLOW;
    let opened = open(&path[..length], flags, Mode::empty())?;
    // Closed by its number at once.
    Descriptor::new(opened.into_raw_fd()).ok_or(Errno::EBADF)
}

/// An `O_PATH` descriptor of a file, by its number. The same number in forked children.
pub struct Anchor(AtomicI32);

impl Anchor {
    /// Nothing is kept yet.
    pub fn none() -> Self {
        Self(AtomicI32::new(-1))
    }

    /// Keeps one of the file `identity`, of which `descriptor` is another, and `path` the path, if it has one. Without
    /// it the file can be opened again by its path only, so a failure is none of the caller's.
    pub fn keep(&self, identity: Identity, descriptor: RawFd, path: Option<&CStr>) {
        if self.look(identity).is_some() {
            return;
        }
        let flags = OFlag::O_PATH | OFlag::O_CLOEXEC;
        let by_path = |path| {
            let opened = open(path, flags | OFlag::O_NOFOLLOW, Mode::empty()).ok()?;
            Descriptor::new(opened.into_raw_fd())
        };
        let is_it = |opened: &Descriptor| opened.identity() == identity;
        let opened = path.and_then(by_path).filter(is_it);
        let opened = opened.or_else(|| open_again(descriptor, flags).ok().filter(is_it));
        if let Some(opened) = opened {
            self.0.store(opened.into_number(), Relaxed);
        }
    }

    /// Returns what the kernel says of the file, if it still is one of `identity`.
    pub fn look(&self, identity: Identity) -> Option<Known> {
        identity::look_at(self.0.load(Relaxed)).filter(|known| known.identity == identity)
    }

    /// Returns a fresh descriptor of the file `identity`.
    pub fn open(&self, identity: Identity, flags: OFlag) -> nix::Result<Descriptor> {
        let number = self.0.load(Relaxed);
        // Its number may be another file's by now, and opening a device does something by itself.
        if !identity.is_of(number) {
            return Err(Errno::EBADF);
        }
        open_again(number, flags)
            .and_then(|opened| if opened.identity() == identity { Ok(opened) } else { Err(Errno::EBADF) })
    }

    /// Closes it, unless its number is another descriptor's by now, be it one of the same file.
    pub fn close(&self, identity: Identity) {
        let number = self.0.swap(-1, Relaxed);
        if identity::is_only_a_path(number) {
            identity.close(number);
        }
    }
}
