//! Tells a program when what a hold has begun can be finished, by a descriptor that is readable then.

use crate::os::eventfd::EventFd;
use std::{
    os::fd::{AsFd, AsRawFd, RawFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Wake, Waker},
};
use turnlock_core::error::Result;

/// The descriptor of a hold, made when it is asked for.
#[derive(Default)]
pub(super) struct Notifier(Mutex<State>);

#[derive(Default)]
struct State {
    descriptor: Option<EventFd>,
    /// The number of the acquisition that was begun last. A waker of an earlier one, which comes late, does nothing.
    last: u64,
    is_ready: bool,
}

/// Wakes for one acquisition.
struct Of {
    notifier: Arc<Notifier>,
    number: u64,
}

impl Wake for Of {
    fn wake(self: Arc<Self>) {
        let mut state = self.notifier.state();
        if state.last == self.number && !state.is_ready {
            state.is_ready = true;
            if let Some(descriptor) = &state.descriptor {
                descriptor.signal();
            }
        }
    }
}

impl Notifier {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another acquisition begins. Returns its waker.
    pub fn begin(self: &Arc<Self>) -> Waker {
        self.end();
        self.waker()
    }

    /// Returns a waker of the acquisition that was begun last.
    pub fn waker(self: &Arc<Self>) -> Waker {
        let number = self.state().last;
        Waker::from(Arc::new(Of { notifier: self.clone(), number }))
    }

    /// The acquisition was finished, or taken back.
    pub fn end(&self) {
        let mut state = self.state();
        state.last += 1;
        let was_ready = std::mem::take(&mut state.is_ready);
        if let Some(descriptor) = state.descriptor.as_ref().filter(|_| was_ready) {
            descriptor.clear();
        }
    }

    /// Returns the descriptor, always the same.
    pub fn descriptor(&self) -> Result<RawFd> {
        let mut state = self.state();
        let descriptor = match state.descriptor.take() {
            Some(descriptor) => descriptor,
            None => {
                let descriptor = EventFd::new()?;
                if state.is_ready {
                    descriptor.signal();
                }
                descriptor
            }
        };
        let number = descriptor.as_fd().as_raw_fd();
        state.descriptor = Some(descriptor);
        Ok(number)
    }
}
