//! A future with a descriptor to poll.

use super::future::AcquireFuture;
use crate::kind::{handle::LockKind, owned::OwnedGuard};
use crate::os::eventfd::EventFd;
use std::{
    fmt::{Debug, Formatter},
    future::Future,
    os::fd::{AsFd, BorrowedFd},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};
#[cfg(doc)]
use turnlock_core::error::Error;
use turnlock_core::error::Result;

/// An acquisition that is under way, with a descriptor that is readable as soon as something has come of it: for poll(2), epoll(7) and
/// event loops over these. Dropped, it leaves the queue, as an [`AcquireFuture`] does.
///
/// ```
/// # fn wait_until_readable(descriptor: std::os::fd::BorrowedFd) {}
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// let mutex = file.mutex("accounts")?;
/// let mut acquisition = mutex.lock_async().with_descriptor()?;
/// let guard = loop {
///     if let Some(acquired) = acquisition.finish() {
///         break acquired?;
///     }
///     use std::os::fd::AsFd;
///     wait_until_readable(acquisition.as_fd()); // beside other descriptors
/// };
/// # drop(guard);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropped, it leaves the queue"]
pub struct AcquireFd<K: LockKind> {
    descriptor: Arc<Readable>,
    acquisition: Acquiring<K>,
}

enum Acquiring<K: LockKind> {
    Waiting(AcquireFuture<K>),
    Done(Result<OwnedGuard<K>>),
    Finished,
}

struct Readable(EventFd);

impl Wake for Readable {
    fn wake(self: Arc<Self>) {
        self.0.signal();
    }
}

impl<K: LockKind> AcquireFuture<K> {
    /// Begins the acquisition, and returns it with a descriptor that becomes readable: for a program with an event loop of its own, and no
    /// executor.
    ///
    /// # Errors
    /// [`Error::System`]: the process has as many descriptors as it can. Then nothing was begun.
    pub fn with_descriptor(self) -> Result<AcquireFd<K>> {
        AcquireFd::begin(self)
    }
}

impl<K: LockKind> AcquireFd<K> {
    fn begin(future: AcquireFuture<K>) -> Result<Self> {
        let descriptor = Arc::new(Readable(EventFd::new()?));
        let mut begun = Self { descriptor, acquisition: Acquiring::Waiting(future) };
        begun.poll();
        if matches!(begun.acquisition, Acquiring::Done(_)) {
            begun.descriptor.0.signal();
        }
        Ok(begun)
    }

    /// Returns the guard, or why the acquisition failed, once; errors as those of the future. `None`: there is nothing yet, or it was
    /// returned before. Does not wait. Afterwards the descriptor is not readable, and stays so.
    pub fn finish(&mut self) -> Option<Result<OwnedGuard<K>>> {
        // Before the look: what comes after it makes the descriptor readable again.
        self.descriptor.0.clear();
        self.poll();
        match std::mem::replace(&mut self.acquisition, Acquiring::Finished) {
            Acquiring::Done(done) => Some(done),
            before => {
                self.acquisition = before;
                None
            }
        }
    }

    fn poll(&mut self) {
        if let Acquiring::Waiting(future) = &mut self.acquisition {
            let waker = Waker::from(self.descriptor.clone());
            if let Poll::Ready(done) = Pin::new(future).poll(&mut Context::from_waker(&waker)) {
                self.acquisition = Acquiring::Done(done);
            }
        }
    }
}

impl<K: LockKind> AsFd for AcquireFd<K> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.0.as_fd()
    }
}

impl<K: LockKind> Debug for AcquireFd<K> {
    fn fmt(&self, to: &mut Formatter) -> std::fmt::Result {
        to.debug_struct("AcquireFd").field("descriptor", &self.descriptor.0).finish_non_exhaustive()
    }
}
