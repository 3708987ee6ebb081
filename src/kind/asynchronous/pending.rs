//! A request of this process that waits, as its future has it.

use super::{
    deadlines::{self, Deadline},
    lines::{self, AnyJob, Line, LineKey},
};
use crate::kind::acquired::Acquired;
use crate::os::fork::process_mark;
use std::{
    mem::ManuallyDrop,
    sync::Arc,
    task::{Poll, Waker},
    time::Instant,
};
use turnlock_core::error::{Error, Result};
use turnlock_core::requests::Joined;

/// A request that waits. It is withdrawn when it is dropped.
pub struct Pending {
    /// In a forked child these two are the parent's, and not dropped.
    line: ManuallyDrop<Arc<Line>>,
    job: ManuallyDrop<Arc<AnyJob>>,
    number: u64,
    process: u64,
    deadline: Option<Deadline>,
    /// What came of it was taken.
    is_over: bool,
}

impl Pending {
    /// Leaves a request at the end of the line. `waker` is woken when something came of it, at `deadline` a [`Error::TimedOut`].
    pub fn join(key: LineKey, job: Arc<AnyJob>, waker: Waker, deadline: Option<Instant>) -> Self {
        let line = lines::find(key);
        let Joined { number, needs_server } = line.join(job.clone(), waker);
        if needs_server {
            lines::begin_server(key, &line);
        }
        let deadline = deadline.map(|moment| deadlines::set(moment, &line, number));
        Self {
            line: ManuallyDrop::new(line),
            job: ManuallyDrop::new(job),
            number,
            process: process_mark(),
            deadline,
            is_over: false,
        }
    }

    /// Returns what came of it, once. In a forked child [`Error::InvalidArgument`].
    pub fn poll(&mut self, waker: &Waker) -> Poll<Result<Acquired>> {
        if !self.is_ours() {
            return Poll::Ready(Err(Error::InvalidArgument(
                "the wait for this lock belongs to the parent process: a forked child begins one of its own"
                    .into(),
            )));
        }
        let Some(granted) = self.line.poll(self.number, waker) else { return Poll::Pending };
        self.end();
        Poll::Ready(granted)
    }

    /// Has it fail with [`Error::Cancelled`], if it waits. Returns whether it did.
    #[cfg(feature = "capi")]
    pub fn cancel(&self) -> bool {
        self.is_ours() && self.line.fail(self.number, Error::Cancelled)
    }

    /// Returns whether this process left it, and not the one that this process was forked from.
    fn is_ours(&self) -> bool {
        self.process == process_mark()
    }

    fn end(&mut self) {
        self.is_over = true;
        if let Some(deadline) = self.deadline.take() {
            deadline.forget();
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.is_ours() {
            return;
        }
        if !self.is_over {
            self.end();
            if let Some(granted) = self.line.withdraw(self.number) {
                self.job.give_back(granted);
            }
        }
        // SAFETY: not used after this.
        unsafe {
            ManuallyDrop::drop(&mut self.job);
            ManuallyDrop::drop(&mut self.line);
        }
    }
}
