//! Mapping the file.

use crate::error::{Error, Result};
use memmap2::{MmapOptions, MmapRaw};
use std::{fs::File, path::Path, ptr::NonNull};

/// The whole file, mapped shared. Unmapped when dropped.
pub struct Mapping {
    raw: MmapRaw,
}

impl Mapping {
    /// Maps `bytes` bytes for reading and writing.
    pub fn read_write(file: &File, bytes: u64, path: &Path) -> Result<Self> {
        Self::wrap(MmapOptions::new().len(bytes as usize).map_raw(file), path)
    }

    /// Maps `bytes` bytes for reading only: a store through it would be a fault, so nobody who looks on can write.
    pub fn read_only(file: &File, bytes: u64, path: &Path) -> Result<Self> {
        Self::wrap(MmapOptions::new().len(bytes as usize).map_raw_read_only(file), path)
    }

    fn wrap(raw: std::io::Result<MmapRaw>, path: &Path) -> Result<Self> {
        let raw = raw
            .map_err(|source| Error::System { what: format!("{}: cannot map it", path.display()), source })?;
        Ok(Self { raw })
    }

    /// Where it begins.
    pub fn base(&self) -> NonNull<u8> {
        NonNull::new(self.raw.as_mut_ptr()).expect("a mapping is never at address 0")
    }
}
