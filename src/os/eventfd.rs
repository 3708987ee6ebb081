//! A descriptor that is readable as long as something is to be seen: eventfd(2).

use nix::errno::Errno;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use turnlock_core::error::{Error, Result};

/// One. Not inherited by programs that this process starts.
#[derive(Debug)]
pub struct EventFd(OwnedFd);

impl EventFd {
    /// A new one, which is not readable.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn new() -> Result<Self> {
        // SAFETY: two numbers; gives a descriptor, or -1.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if descriptor < 0 {
            let source = std::io::Error::last_os_error();
            return Err(Error::System { what: "making a descriptor to poll (eventfd)".into(), source });
        }
        // SAFETY: a new descriptor, of no other owner.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// Makes it readable.
    pub fn signal(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: eight bytes of ours. It fails only where the counter is full: then it is readable.
        self.retried(|descriptor| unsafe { libc::write(descriptor, one.as_ptr().cast(), one.len()) });
    }

    /// Makes it not readable any more.
    pub fn clear(&self) {
        let mut count = [0u8; 8];
        // SAFETY: eight bytes of ours. It fails only where it is not readable.
        self.retried(|descriptor| unsafe { libc::read(descriptor, count.as_mut_ptr().cast(), count.len()) });
    }

    fn retried(&self, mut act: impl FnMut(i32) -> isize) {
        while act(self.0.as_raw_fd()) < 0 && Errno::last() == Errno::EINTR {}
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    fn is_readable(descriptor: &EventFd) -> bool {
        poll(&mut [PollFd::new(descriptor.as_fd(), PollFlags::POLLIN)], PollTimeout::ZERO).unwrap() == 1
    }

    #[test]
    fn it_is_readable_from_a_signal_to_the_next_clear() {
        let descriptor = EventFd::new().unwrap();
        descriptor.clear();
        assert!(!is_readable(&descriptor));
        descriptor.signal();
        descriptor.signal();
        assert!(is_readable(&descriptor) && is_readable(&descriptor));
        descriptor.clear();
        assert!(!is_readable(&descriptor));
    }
}
