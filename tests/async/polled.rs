//! Futures without an executor: polled by the test.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, Wake, Waker},
};
use support::until_some;

/// Polls it, and has nothing woken.
pub fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls it until it is ready.
pub fn ready<F: Future + Unpin>(future: &mut F) -> F::Output {
    until_some("a future is ready", || match poll(future) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    })
}

/// A waker that counts.
#[derive(Default)]
pub struct Woken(AtomicUsize);

impl Woken {
    pub fn times(&self) -> usize {
        self.0.load(SeqCst)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Polls it with this waker.
pub fn poll_with<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}
