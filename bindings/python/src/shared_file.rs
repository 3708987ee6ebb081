//! What all lock objects of this process share of a lock file: who it is, and its participants that no thread uses.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use turnlock::Participant;

/// A lock file of this process, whichever lock objects refer to it.
pub struct SharedFile {
    /// Device and inode.
    identity: (u64, u64),
    /// Participants that no thread uses now.
    pub spare: Mutex<Vec<Arc<Slot>>>,
}

/// A participant, with the process that it belongs to.
pub struct Slot {
    pub participant: Participant,
    pub process: u64,
}

static FILES: Mutex<Vec<Weak<SharedFile>>> = Mutex::new(Vec::new());

/// Locks what the calls of this process share. Its holder makes no exception, calls no Python and does not give up the GIL:
/// another thread would wait for the mutex, with the GIL. A poisoned one is as good as any.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SharedFile {
    /// Those that the process has open.
    pub fn all() -> Vec<Arc<Self>> {
        locked(&FILES).iter().filter_map(Weak::upgrade).collect()
    }

    /// The one of the file that `path` names. Should it name another file than the one that was opened a moment ago,
    /// `Slot`s of the wrong file are found, and refused by turnlock: see `OpenFile::with_slot_of_thread`.
    pub fn at(path: &Path) -> std::io::Result<Arc<Self>> {
        let metadata = fs::metadata(path)?;
        let identity = (metadata.dev(), metadata.ino());
        let mut files = locked(&FILES);
        files.retain(|file| file.strong_count() > 0);
        if let Some(file) = files.iter().filter_map(Weak::upgrade).find(|file| file.identity == identity) {
            return Ok(file);
        }
        let file = Arc::new(Self { identity, spare: Mutex::default() });
        files.push(Arc::downgrade(&file));
        Ok(file)
    }
}
