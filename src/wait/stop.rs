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
    pub fn new(question: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(question))
    }

    /// Asks it. A panic of it ends the wait likewise: it must not leave a number in the queue behind.
    pub fn is_to_end(&self) -> bool {
        catch_unwind(AssertUnwindSafe(|| (self.0)())).unwrap_or(true)
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str("Interrupt")
    }
}

/// What ends one wait.
#[derive(Clone, Copy)]
pub struct Stop<'a> {
    /// Another thread.
    pub cancel: &'a Cancel,
    /// The waiting thread itself.
    pub interrupt: Option<&'a Interrupt>,
}
