//! Where the lock of one round lies: a page that the processes share, and a folder for a lock file.

use crate::shared::{Shared, Zeroed};
use std::{
    cell::UnsafeCell,
    ffi::CString,
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

#[repr(C, align(4096))]
struct Page(UnsafeCell<[u8; 4096]>);

// SAFETY: bytes that only a lock's own functions touch.
unsafe impl Zeroed for Page {}

/// Fresh for every round, so that no round inherits what another left behind.
pub struct Place {
    page: Shared<Page>,
    folder: TempDir,
    /// For how many participants a lock file is made, if not for as many as by default.
    pub machines: Option<u32>,
}

impl Place {
    pub fn new(machines: Option<u32>) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("turnlock-bench-").tempdir_in(memory_file_system())?;
        Ok(Self { page: Shared::new(), folder, machines })
    }

    /// The page, as what lies in it: zeros at first.
    pub fn page<T>(&self) -> *mut T {
        const { assert!(size_of::<T>() <= 4096) };
        self.page.0.get().cast()
    }

    /// A path in memory, not on a disk.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("lock")
    }

    /// [`Place::path`], for C.
    pub fn c_path(&self) -> CString {
        CString::new(self.path().as_os_str().as_bytes()).expect("a path has no NUL")
    }
}

fn memory_file_system() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.into() } else { std::env::temp_dir() }
}
