//! Putting a file in the place of another one, in one step.

use super::{
    file::{Permissions, create_whole},
    process,
    system_error::system,
};
use crate::error::{Error, Result};
use std::{
    fs::File,
    io,
    ops::Range,
    os::unix::fs::{FileExt, MetadataExt, fchown},
    path::{Path, PathBuf},
};

/// How much is copied at a time.
const CHUNK: usize = 1 << 20;

/// Makes a file of `bytes` bytes, with room on the disk for `parts` of it, has `fill` write it, and puts it in the place of
/// `old`, which lies at `path`: with its owner, its group and its mode. Killed at any moment, `path` names the old file as
/// it was or the new one whole; beside it there may be left a file called `.turnlock-` and a number, which is nobody's.
///
/// `may_replace` is asked last.
pub fn replace_whole(
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
    let folder = path.parent().unwrap_or(Path::new("/"));
    let temporary = Temporary(folder.join(format!(".turnlock-{:016x}", process::random())));
    let permissions = Permissions { mode: like.mode() & 0o777, group: Some(like.gid()) };
    let made =
        create_whole(&temporary.0, bytes, parts, permissions, fill).map_err(|error| of(path, error))?;
    let Some(made) = made else {
        return Err(system(format!("{}: creating it", temporary.0.display()))(nix::errno::Errno::EEXIST));
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
    std::fs::rename(&temporary.0, path).map_err(cannot("putting the new file in its place"))?;
    // Whether the disk has the name already matters to nobody: it has the old one or the new one.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// The error about a file that is made in the place of the one at `path`.
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

/// The name of a file that has not come to its place, removed whatever happens. (Once it has, there is none.)
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // Nothing to do about a failure: the name is random and says whose it was.
        let _ = std::fs::remove_file(&self.0);
    }
}
