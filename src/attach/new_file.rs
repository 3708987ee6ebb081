//! What makes a file a lock file: its header, written and read.

use crate::layout::{Geometry, HeaderFault, HeaderPrefix, PREFIX_BYTES, View};
use crate::os::{
    clock,
    file::{self, Permissions},
    map::Mapping,
    process,
};
use crate::recovery;
use std::{fs::File, os::unix::fs::FileExt, path::Path};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::Ordering::Relaxed;

/// Creates a lock file at `path`; `None`: another process did.
pub fn create(path: &Path, geometry: Geometry, permissions: Permissions) -> Result<Option<File>> {
    file::create_whole(path, geometry.file_size(), &geometry.bytes_of_new(), permissions, |file| {
        fill(file, path, geometry)
    })
}

/// Writes what a new file has that is not 0, and last of all what makes it a lock file.
pub fn fill(file: &File, path: &Path, geometry: Geometry) -> std::io::Result<()> {
    let now = clock::realtime_ns();
    let prefix = HeaderPrefix { geometry, incarnation: process::random(), created_realtime_ns: now };
    let mapping = Mapping::read_write(file, geometry.file_size(), path).map_err(std::io::Error::other)?;
    // SAFETY: as in `OpenFile::view`; the file was allocated at this size, and no process takes it for a lock file yet.
    let view = unsafe { View::new(mapping.base(), &geometry) };
    view.lock(0).words.token.store(recovery::token_floor(now), Relaxed);
    recovery::write_boot_id(view, process::boot_id());
    file.write_all_at(&prefix.encode(), 0)
}

/// Reads and checks the constant part of the header.
pub fn header_of(opened: &File, path: &Path) -> Result<HeaderPrefix> {
    let (got, bytes, size) = file::read_start::<PREFIX_BYTES>(opened, path)?;
    let path = path.to_owned();
    if size == 0 {
        return Err(Error::NotALockFile {
            path,
            why: "it is an empty file and not a turnlock file, such as flock(1) and filelock leave: delete it when no process \
                  uses it, and turnlock will create it whole; or lock it by `turnlock flock`"
                .into(),
        });
    }
    if got < PREFIX_BYTES {
        return Err(Error::NotALockFile {
            path,
            why: format!(
                "it is only {size} bytes long and not a turnlock file: give another path, or delete it if it is in \
                 the way"
            ),
        });
    }
    HeaderPrefix::decode(&bytes, size).map_err(|fault| match fault {
        HeaderFault::Foreign => Error::NotALockFile {
            path,
            why: "it is not a turnlock file (it does not begin with \"turnlock\"): give another path".into(),
        },
        HeaderFault::Version(why) => Error::Version {
            path,
            why: format!(
                "{why}: use the turnlock that created it, or delete it while no process uses it and let it be created \
                 anew"
            ),
        },
        HeaderFault::Damaged(why) => Error::Damaged {
            path,
            why: format!("{why}: stop its users, delete it and let it be created anew"),
        },
    })
}
