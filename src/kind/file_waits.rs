//! Options of a lock file about how waits through its handle end.

use super::file::LockFileOptions;
#[cfg(doc)]
use turnlock_core::error::Error;
use turnlock_core::wait::Interrupt;

impl LockFileOptions {
    /// Has a thread that waits through the handle, or through a lock that comes from it, ask `should_stop` between its sleeps:
    /// when a signal handler has interrupted one, and every 20 to 70 milliseconds. If it returns `true`, the wait ends with
    /// [`Error::Interrupted`] and leaves nothing in the queue.
    ///
    /// For programs that must act on signals while they wait, such as interpreters.
    pub fn interrupted_by(&mut self, should_stop: impl Fn() -> bool + Send + Sync + 'static) -> &mut Self {
        self.interrupt = Some(Interrupt::new(should_stop));
        self
    }

    /// Sets whether a wait through the handle, or through a lock that comes from it, ends with [`Error::CircularWait`] where it closed
    /// a circle of waits; `true` by default. Where not, it goes on, and another one of the circle may be told; observers see the
    /// circle either way.
    pub fn deadlock_errors(&mut self, deadlock_errors: bool) -> &mut Self {
        self.no_deadlock_errors = !deadlock_errors;
        self
    }
}
