//! Putting a file in the place of another file, in one step.

use super::{
    file::{Permissions, create_whole_in},
    folder::{Folder, Temporary},
    system_error::system,
};
use std::{
    fs::File,
    io,
    ops::Range,
    os::unix::fs::{FileExt, MetadataExt, fchown},
    path::Path,
};
use turnlock_core::error::{Error, Result};

/// How much is copied at a time.
const CHUNK: usize = 1 << 20;

/// Makes a file of `bytes` bytes, with room on the disk for `parts` of it, has `fill` write it, and puts it in the place of
/// `old`, which lies at `path`, in `folder`: with its owner, its group and its mode. Killed at any moment, `path` names the old
/// file as it was or the new one whole; beside it there may be left a file called `.turnlock-` and a number, which is of no
/// use.
///
/// `may_replace` is asked last.
pub fn replace_whole(
    folder: &Folder,
    path: &Path,
    old: &File,
    bytes: u64,
    parts: &[Range<u64>],
    fill: impl FnOnce(&File) -> io::Result<()>,
    may_replace: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let cannot = |what: &str| {
        let what = format!("{}: {what}", path.display());
        |source| Error::System { what, source }
    };
    let like = old.metadata().map_err(cannot("fstat"))?;
    let temporary = Temporary::beside(folder, path);
    let permissions = Permissions { mode: like.mode() & 0o777, group: Some(like.gid()) };
    let made = create_whole_in(folder, &temporary.path, bytes, parts, permissions, fill)
        .map_err(|error| of(path, error))?;
    let Some(made) = made else {
        return Err(system(format!("{}: creating it", temporary.path.display()))(nix::errno::Errno::EEXIST));
    };
    if made.metadata().map_err(cannot("fstat"))?.uid() != like.uid() {
        fchown(&made, Some(like.uid()), None).map_err(|source| Error::Permission {
            path: path.into(),
            why: format!(
                "it belongs to user {}, and the file in its place would be yours ({source}): run as its owner, or as root",
                like.uid()
            ),
        })?;
    }
    // The name must not be on the disk before what it names.
    made.sync_all().map_err(cannot("writing the new file to the disk"))?;
    may_replace()?;
    folder
        .rename(&temporary.path, path)
        .map_err(system(format!("{}: putting the new file in its place", path.display())))?;
    // Whether the disk has the name already does not matter: it has the old one or the new one.
    let _ = folder.sync();
    Ok(())
}

/// Returns the error about a file that is made in the place of the one at `path`.
fn of(path: &Path, error: Error) -> Error {
    let path = path.to_owned();
    match error {
        Error::NoSpace { bytes, .. } => Error::NoSpace { path, bytes },
        Error::Permission { why, .. } => Error::Permission { path, why },
        Error::FileSystem { why, .. } => Error::FileSystem { path, why },
        error => error,
    }
}

/// Copies a stretch of one file to a place in another.
pub fn copy(from: &File, stretch: Range<u64>, to: &File, place: u64) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK.min((stretch.end - stretch.start) as usize)];
    let mut at = stretch.start;
    while at < stretch.end {
        let piece = &mut buffer[..CHUNK.min((stretch.end - at) as usize)];
        from.read_exact_at(piece, at)?;
        // What was never written is a hole there too.
        if piece.iter().any(|byte| *byte != 0) {
            to.write_all_at(piece, place + (at - stretch.start))?;
        }
        at += piece.len() as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Its folder is renamed at the last moment, and another folder is in its place.
    #[test]
    fn what_the_path_leads_to_by_then_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let (here, moved) = (place.path().join("folder"), place.path().join("moved"));
        let path = here.join("a.lock");
        fs::create_dir(&here).unwrap();
        fs::write(&path, "old").unwrap();
        let (folder, old) = (Folder::of(&path).unwrap(), File::open(&path).unwrap());
        let swap = || {
            fs::rename(&here, &moved).unwrap();
            fs::create_dir(&here).unwrap();
            fs::write(&path, "another's").unwrap();
            Ok(())
        };
        replace_whole(&folder, &path, &old, 3, &[], |new| new.write_all_at(b"new", 0), swap).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "another's");
        assert_eq!(fs::read_to_string(moved.join("a.lock")).unwrap(), "new");
        let names = [&here, &moved].map(|folder| fs::read_dir(folder).unwrap().count());
        assert_eq!(names, [1, 1], "nothing is left beside it");
    }
}
