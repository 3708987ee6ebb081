//! A program's handle of an open file.

use super::{idle, open_file::OpenFile, thread};
use std::sync::Arc;
use turnlock_core::sync::Ordering::Relaxed;
use turnlock_core::wait::Interrupt;

/// An open file, counted as long as the program has handles of it. When the last one is dropped, the thread that dropped
/// it detaches from its slot; other threads do at their end.
pub struct FileHandle {
    /// The file.
    pub open: Arc<OpenFile>,
    /// Asked by waits through this handle, and through the locks that come from it.
    pub interrupt: Option<Interrupt>,
    /// Whether a wait through this handle, and through the locks that come from it, ends by an error where it closed a circle of waits.
    pub ends_deadlocks: bool,
}

impl FileHandle {
    /// One more handle.
    pub fn new(open: Arc<OpenFile>, interrupt: Option<Interrupt>, ends_deadlocks: bool) -> Self {
        open.handles.fetch_add(1, Relaxed);
        Self { open, interrupt, ends_deadlocks }
    }
}

impl Clone for FileHandle {
    fn clone(&self) -> Self {
        Self::new(self.open.clone(), self.interrupt.clone(), self.ends_deadlocks)
    }
}

impl Drop for FileHandle {
    fn drop(&mut self) {
        if self.open.handles.fetch_sub(1, Relaxed) == 1 {
            idle::give_up(&self.open);
            thread::detach_thread(&self.open);
        }
    }
}
