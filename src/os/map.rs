//! Mapping the file.

use super::truncation;
use memmap2::{MmapOptions, MmapRaw};
use std::{fs::File, path::Path, ptr::NonNull};
use turnlock_core::error::{Error, Result};

/// The whole file, mapped shared. Unmapped when dropped. A file that is truncated meanwhile reads as zeros.
pub struct Mapping {
    // Dropped first: nothing is put in the place of a mapping that is gone.
    _guard: truncation::Guard,
    raw: MmapRaw,
}

impl Mapping {
    /// Maps `bytes` bytes for reading and writing.
    pub fn read_write(file: &File, bytes: u64, path: &Path) -> Result<Self> {
        Self::wrap(MmapOptions::new().len(bytes as usize).map_raw(file), true, path)
    }

    /// Maps `bytes` bytes for reading only: a store through it would be a fault, so no observer can write.
    pub fn read_only(file: &File, bytes: u64, path: &Path) -> Result<Self> {
        Self::wrap(MmapOptions::new().len(bytes as usize).map_raw_read_only(file), false, path)
    }

    fn wrap(raw: std::io::Result<MmapRaw>, writable: bool, path: &Path) -> Result<Self> {
        let raw = raw
            .map_err(|source| Error::System { what: format!("{}: cannot map it", path.display()), source })?;
        Ok(Self { _guard: truncation::Guard::new(raw.as_mut_ptr(), raw.len(), writable), raw })
    }

    /// Returns where it begins.
    #[inline]
    pub fn base(&self) -> NonNull<u8> {
        NonNull::new(self.raw.as_mut_ptr()).expect("a mapping is never at address 0")
    }
}
