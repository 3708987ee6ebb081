//! The heavy barrier of a process that need not be a participant.

use super::open_file::{NO_MEMBARRIER, OpenFile};
use crate::error::{Error, Result};
use crate::os::membarrier;
use crate::sync::full_fence;

impl OpenFile {
    /// Passes the heavy barrier, also where the process has no slot: whoever comes in by a bias or a retained place after it sees
    /// what was stored before.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the kernel refuses it.
    pub fn heavy_barrier(&self) -> Result<()> {
        full_fence();
        if self.fences_of_participant()? {
            return Ok(());
        }
        membarrier::everywhere().map_err(|_| Error::Unsupported(NO_MEMBARRIER))
    }
}
