//! That something was left exactly as it was.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};
use support::Place;
use turnlock::{Error, LockFile, inspect};

/// What lies at a path: everything about it that opening could have changed.
#[derive(Debug, PartialEq, Eq)]
pub struct Witness {
    inode: u64,
    mode: u32,
    owner: (u32, u32),
    links: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    bytes: Option<Vec<u8>>,
    target: Option<PathBuf>,
    neighbours: BTreeSet<PathBuf>,
}

impl Witness {
    pub fn of(path: &Path) -> Self {
        let meta = path.symlink_metadata().unwrap();
        Self {
            inode: meta.ino(),
            mode: meta.mode(),
            owner: (meta.uid(), meta.gid()),
            links: meta.nlink(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
            bytes: meta.is_file().then(|| fs::read(path).unwrap()),
            target: fs::read_link(path).ok(),
            neighbours: neighbours(path),
        }
    }
}

/// What else is in the folder.
fn neighbours(path: &Path) -> BTreeSet<PathBuf> {
    fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Opening `path` is refused with this status, in words that name the path and say these things; a process that
/// only looks on is told the same status; and what lies there is left as it was.
pub fn refused(path: &Path, status: i32, words: &[&str]) {
    let before = Witness::of(path);
    told(LockFile::open(path), path, status, words);
    told(LockFile::options().must_exist(true).open(path), path, status, words);
    told(inspect::snapshot(path), path, status, words);
    assert_eq!(Witness::of(path), before, "{} was changed", path.display());
}

/// It failed with this status, in words that name the path and say these things.
pub fn told<T>(result: Result<T, Error>, path: &Path, status: i32, words: &[&str]) {
    let Err(error) = result else { panic!("{}: opened", path.display()) };
    assert_eq!(error.code(), status, "{error}");
    let sentence = error.to_string();
    for word in [path.to_str().unwrap()].iter().chain(words) {
        assert!(sentence.contains(word), "{word:?} is not in {sentence:?}");
    }
}

/// A lock file that no process has open, with a lock called `a`.
pub fn sound_file(place: &Place) -> PathBuf {
    let path = place.lock_file();
    LockFile::options().participants(4).locks(3).open(&path).unwrap().mutex("a").unwrap();
    path
}
