//! The lock file that a command line names: by its path, or by a descriptor that the command was started with.
//!
//! `/dev/fd/N` and `/proc/self/fd/N` are symbolic links, which no path of a lock file may be; here they name descriptor
//! N, as a shell gives it: `turnlock run 3<>app.lock /dev/fd/3 make`, or a memfd that a program passes on.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::Read,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};
use turnlock::{
    Error, LockFile, LockFileOptions, Result,
    inspect::{self, FileStatus, LockRegisters, Recording},
    kernel_lock::BEGINNINGS,
};

/// Opens it with these options.
pub fn open(options: &LockFileOptions, path: &Path) -> Result<LockFile> {
    match descriptor(path) {
        true => {
            let given = given(path, OpenOptions::new().read(true).write(true))?;
            let _is_no_flocks = is_no_flocks(&given, path)?;
            options.open_descriptor(&given)
        }
        false => options.open(path),
    }
}

/// Sees to it that an empty file, of which a lock file is to be made, is not locked by flock(1): a waiter for that
/// would not wait for turnlock's locks. Until what is returned is dropped, no other locks it so, alone.
fn is_no_flocks<'a>(given: &'a File, path: &Path) -> Result<Option<Unlocks<'a>>> {
    if given.metadata().is_ok_and(|meta| meta.len() > 0) {
        return Ok(None);
    }
    match given.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Err(Error::InvalidArgument(format!(
            "{} is an empty file that is locked by flock(1) or flock(2): a lock file cannot be made of it now",
            path.display()
        ))),
        // Where it cannot be locked, no other has locked it.
        Err(TryLockError::Error(_)) => Ok(None),
        Ok(()) => Ok(Some(Unlocks(given))),
    }
}

/// Unlocks a file.
struct Unlocks<'a>(&'a File);

impl Drop for Unlocks<'_> {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// Looks at it.
pub fn snapshot(path: &Path) -> Result<FileStatus> {
    match descriptor(path) {
        true => inspect::snapshot_descriptor(given(path, OpenOptions::new().read(true))?),
        false => inspect::snapshot(path),
    }
}

/// Reads the registers of one of its locks.
pub fn registers(path: &Path, lock: &str) -> Result<Option<LockRegisters>> {
    match descriptor(path) {
        true => inspect::registers_descriptor(given(path, OpenOptions::new().read(true))?, lock),
        false => inspect::registers(path, lock),
    }
}

/// Reads its recording.
pub fn recording(path: &Path) -> Result<Option<Recording>> {
    match descriptor(path) {
        true => inspect::recording_descriptor(given(path, OpenOptions::new().read(true))?),
        false => inspect::recording(path),
    }
}

/// Returns whether it begins as a lock file does.
pub fn begins_as_a_lock_file(file: &mut impl Read) -> bool {
    beginning(file).is_some_and(|letters| letters == *b"turnlock")
}

/// Returns whether it begins as a lock file does, or as one in the making: nothing but turnlock may write to it.
pub fn is_turnlocks(file: &mut impl Read) -> bool {
    beginning(file).is_some_and(|letters| BEGINNINGS.contains(&&letters))
}

fn beginning(file: &mut impl Read) -> Option<[u8; 8]> {
    let mut letters = [0; 8];
    file.read_exact(&mut letters).ok().map(|()| letters)
}

/// Returns where to find it again, also from another working directory.
pub fn path(file: &LockFile, as_named: &Path) -> PathBuf {
    if descriptor(as_named) { as_named.into() } else { file.path() }
}

/// A file's device and inode number.
pub type Identity = (u64, u64);

/// Returns which file the path names now.
pub fn identity(path: &Path) -> Option<Identity> {
    let meta = if descriptor(path) { path.metadata() } else { path.symlink_metadata() };
    meta.ok().map(|meta| (meta.dev(), meta.ino()))
}

/// Returns whether the path names a descriptor of this process.
pub fn descriptor(path: &Path) -> bool {
    let number = ["/dev/fd", "/proc/self/fd"].iter().find_map(|folder| path.strip_prefix(folder).ok());
    number.and_then(Path::to_str).is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Returns the file behind it.
fn given(path: &Path, how: &OpenOptions) -> Result<File> {
    how.open(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => Error::NotFound {
            path: path.into(),
            why: "no such descriptor is open here (a shell opens it with N<>FILE), or /proc is not mounted"
                .into(),
        },
        _ => Error::System { what: format!("{}: opening it", path.display()), source },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_told_from_paths() {
        for named in ["/dev/fd/3", "/proc/self/fd/0", "/dev//fd/12"] {
            assert!(descriptor(Path::new(named)), "{named}");
        }
        for path in ["/dev/fd", "/dev/fd/x", "/dev/fd/3/4", "/dev/shm/3", "dev/fd/3", "/dev/fd/-1"] {
            assert!(!descriptor(Path::new(path)), "{path}");
        }
    }
}
