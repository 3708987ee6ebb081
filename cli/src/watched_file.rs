//! A lock file that is looked at again and again: what it says now, or what has become of it.

use super::file::{self, Identity};
use std::path::{Path, PathBuf};
use turnlock::{Error, inspect::FileStatus};

/// A lock file that is looked at again and again.
pub struct WatchedFile {
    path: PathBuf,
    /// Which file it was at the last look, and when that was created: an inode number may be used again.
    seen: Option<(Identity, u64)>,
}

/// What a look found.
pub enum Look {
    /// The file, the same as before.
    Same(FileStatus),
    /// A file, for the first time; or another one, in the place of the one before.
    Another(FileStatus),
    /// No lock file that can be read, and why not.
    Nothing {
        /// The kind of reason, for programs: "gone", "not_a_lock_file", "permission", "unreadable".
        why: &'static str,
        /// In a sentence.
        error: String,
    },
}

impl WatchedFile {
    /// Returns a file that was not looked at yet.
    pub fn new(path: &Path) -> Self {
        Self { path: path.into(), seen: None }
    }

    /// As the command line names it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Looks at it.
    pub fn look(&mut self) -> Look {
        // A path may name another file by the time it is opened: then the look is tried again.
        for _ in 0..3 {
            let before = file::identity(&self.path);
            let looked = file::snapshot(&self.path);
            if file::identity(&self.path) != before {
                continue;
            }
            return match looked {
                Ok(status) => {
                    let now = before.map(|file| (file, status.created_unix_seconds));
                    let same = now.is_some() && self.seen == now;
                    self.seen = now;
                    if same { Look::Same(status) } else { Look::Another(status) }
                }
                Err(error) => {
                    self.seen = None;
                    Look::Nothing { why: kind_of(&error), error: error.to_string() }
                }
            };
        }
        self.seen = None;
        Look::Nothing {
            why: "unreadable",
            error: format!("{}: it is replaced again and again", self.path.display()),
        }
    }
}

fn kind_of(error: &Error) -> &'static str {
    match error {
        Error::NotFound { .. } => "gone",
        Error::Permission { .. } => "permission",
        Error::NotALockFile { .. } => "not_a_lock_file",
        Error::Damaged { .. } => "damaged",
        _ => "unreadable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnlock::LockFile;

    #[test]
    fn a_file_that_goes_and_comes_is_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lock");
        let mut watched = WatchedFile::new(&path);
        let why = |look| match look {
            Look::Nothing { why, .. } => why,
            Look::Same(_) => "same",
            Look::Another(_) => "another",
        };
        assert_eq!(why(watched.look()), "gone");
        let file = LockFile::open(&path).unwrap();
        assert_eq!([why(watched.look()), why(watched.look())], ["another", "same"]);
        // Another file in the same place.
        let beside = folder.path().join("b.lock");
        drop((file, LockFile::open(&beside).unwrap()));
        std::fs::rename(&beside, &path).unwrap();
        assert_eq!([why(watched.look()), why(watched.look())], ["another", "same"]);
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(100).unwrap();
        assert_eq!(why(watched.look()), "damaged");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(why(watched.look()), "gone");
        std::fs::write(&path, "no lock file").unwrap();
        assert_eq!(why(watched.look()), "not_a_lock_file");
    }
}
