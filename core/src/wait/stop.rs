//! What may end a wait before its time.

use super::Cancel;
use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// A question that a waiting thread asks between its naps: whether the wait is to end. For programs that must act on signals
/// while they wait (an interpreter, say): asked when a signal handler interrupted a sleep, and every 20 to 70
/// milliseconds, since a handler may run between two sleeps, or on another thread.
#[derive(Clone)]
pub struct Interrupt(Arc<dyn Fn() -> bool + Send + Sync>);

impl Interrupt {
    /// Of a function that says `true` when a wait is to end. The waiting thread calls it.
    #[inline]
    pub fn new(question: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(question))
    }

    /// Asks it. A panic of it ends the wait likewise: it must not leave a number in the queue behind.
    #[inline]
    pub fn should_stop(&self) -> bool {
        catch_unwind(AssertUnwindSafe(|| (self.0)())).unwrap_or(true)
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str("Interrupt")
    }
}

/// What ends one wait before its time.
#[derive(Clone, Copy)]
pub struct Stop<'a> {
    /// Another thread.
    pub cancel: Option<&'a Cancel>,
    /// The waiting thread itself.
    pub interrupt: Option<&'a Interrupt>,
}

impl Stop<'_> {
    /// The waiter says where it is going to park. A full fence comes next, then [`Stop::is_requested`].
    #[inline]
    pub(crate) fn about_to_park(&self, spot: u64) {
        if let Some(cancel) = self.cancel {
            cancel.about_to_park(spot);
        }
    }

    /// Returns whether another thread asks for an end, behind that fence.
    #[inline]
    pub(crate) fn is_requested(&self) -> bool {
        self.cancel.is_some_and(Cancel::is_requested)
    }

    /// The waiter is not parked any more.
    #[inline]
    pub(crate) fn unparked(&self) {
        if let Some(cancel) = self.cancel {
            cancel.unparked();
        }
    }

    /// Takes the request back. Returns whether there was one.
    pub(crate) fn take_request(&self) -> bool {
        self.cancel.is_some_and(Cancel::clear)
    }
}
