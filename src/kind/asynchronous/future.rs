//! The futures.

use super::{
    acquisition::{Acquisition, Wish},
    lines,
    pending::Pending,
};
use crate::kind::{handle::LockKind, owned::OwnedGuard, rwlock::RwLockKind, rwlock_guard::Upgradable};
use std::{
    fmt::{Debug, Formatter},
    future::Future,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};
use turnlock_core::acquire::site::Limit;
use turnlock_core::error::{Error, Result};

/// The acquisition of a lock, which blocks no thread that polls it. Ready with a guard, or an error.
///
/// Nothing is done before it is polled. If the lock is free then, and no other future of the process waits for it, it is ready at
/// once; else it waits behind those. Dropped, it leaves the queue; what it was given at that moment goes on to the next.
///
/// It needs no runtime, and works with all: a thread of turnlock's own waits in its place. There is one such thread for
/// each lock that is waited for (of a rwlock up to two, of range locks and keyed locks one for each range or key), however many futures
/// wait for it; it ends when none has for two seconds. Futures of one process get a lock in the order of their first poll; among
/// processes, the lock's own order holds.
///
/// ```
/// # futures_lite::future::block_on(async {
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// let accounts = file.mutex("accounts")?;
/// let guard = accounts.lock_async().await?;
/// // ... other tasks of this thread ran while this one waited, and the guard may go to another thread with its task ...
/// drop(guard);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
///
/// A future of a process that forks is not the child's: there it is ready with [`Error::InvalidArgument`]. A process that ends (or is
/// killed) leaves the queue.
///
/// # Errors
/// Those of the blocking call ([`Mutex::lock_owned`](crate::Mutex::lock_owned) and the like); [`Error::ParticipantsFull`] if there is
/// no slot for the guard; [`Error::System`] if there is no thread to be had.
///
/// # Panics
/// When it is polled after it was ready.
#[must_use = "a future does nothing unless it is polled"]
pub struct AcquireFuture<K: LockKind> {
    state: State<K>,
    limit: Option<Duration>,
}

enum State<K: LockKind> {
    /// What was asked for cannot be.
    Refused(Error),
    /// Not polled yet.
    New(Wish<K>),
    Waiting(Arc<Acquisition<K>>, Pending),
    Over,
}

impl<K: LockKind> Unpin for AcquireFuture<K> {}

impl<K: LockKind> AcquireFuture<K> {
    pub(super) fn new(wish: Result<Wish<K>>) -> Self {
        Self { state: wish.map_or_else(State::Refused, State::New), limit: None }
    }

    /// Has it wait for at most `limit`, from its first poll, and be ready with [`Error::TimedOut`] then. That needs no timer of a
    /// runtime: a thread of turnlock's own wakes it, one for all limits of the process.
    ///
    /// ```
    /// # async fn example(mutex: turnlock::Mutex) -> turnlock::Result<()> {
    /// let guard = mutex.lock_async().within(std::time::Duration::from_secs(1)).await?;
    /// # drop(guard);
    /// # Ok(())
    /// # }
    /// ```
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    fn begin(&mut self, wish: Wish<K>, context: &mut Context<'_>) -> Poll<Result<OwnedGuard<K>>> {
        let line = wish.line();
        let at_once = self.limit == Some(Duration::ZERO);
        if at_once || wish.can_try() && lines::is_empty(&line) {
            let limit = if at_once { Limit::For(Duration::ZERO) } else { Limit::Never };
            match wish.take(limit) {
                Err(Error::WouldBlock(_)) => {}
                done => return Poll::Ready(done),
            }
        }
        // One that is too far away is none.
        let deadline = self.limit.and_then(|limit| Instant::now().checked_add(limit));
        let acquisition = Arc::new(Acquisition::new(wish));
        let pending = Pending::join(line, acquisition.clone(), context.waker().clone(), deadline);
        self.state = State::Waiting(acquisition, pending);
        Poll::Pending
    }
}

impl<K: LockKind> Future for AcquireFuture<K> {
    type Output = Result<OwnedGuard<K>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match mem::replace(&mut self.state, State::Over) {
            State::Refused(error) => Poll::Ready(Err(error)),
            State::New(wish) => self.begin(wish, context),
            State::Waiting(acquisition, mut pending) => match pending.poll(context.waker()) {
                Poll::Ready(Ok(acquired)) => Poll::Ready(acquisition.guard(acquired)),
                // That of the time limit does not know.
                Poll::Ready(Err(Error::TimedOut(_))) => Poll::Ready(Err(acquisition.timed_out())),
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.state = State::Waiting(acquisition, pending);
                    Poll::Pending
                }
            },
            State::Over => panic!("a future that acquires a lock was polled after it was ready"),
        }
    }
}

impl<K: LockKind> Debug for AcquireFuture<K> {
    fn fmt(&self, to: &mut Formatter) -> std::fmt::Result {
        let state = match &self.state {
            State::Refused(_) => "refused",
            State::New(_) => "not polled yet",
            State::Waiting(..) => "waiting",
            State::Over => "over",
        };
        to.debug_struct("AcquireFuture").field("state", &state).field("limit", &self.limit).finish()
    }
}

/// The acquisition of a rwlock as upgradable: an [`AcquireFuture`] whose guard may be upgraded.
#[must_use = "a future does nothing unless it is polled"]
#[derive(Debug)]
pub struct AcquireUpgradableFuture(pub(super) AcquireFuture<RwLockKind>);

impl AcquireUpgradableFuture {
    /// Has it wait for at most `limit`, as [`AcquireFuture::within`].
    pub fn within(self, limit: Duration) -> Self {
        Self(self.0.within(limit))
    }
}

impl Future for AcquireUpgradableFuture {
    type Output = Result<Upgradable<OwnedGuard<RwLockKind>>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map_ok(Upgradable)
    }
}
