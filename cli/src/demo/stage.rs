//! The counter, the journal and the lock: the folder that the programs share.

use super::programs::Built;
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};
use turnlock::{LockFile, Mutex, MutexGuard, inspect};

const LOCK: &str = "counter";

/// The folders and locks: one for all, or one for each program.
pub struct Stage {
    /// The counter.
    pub counter: PathBuf,
    /// The journal.
    pub journal: PathBuf,
    places: Vec<Place>,
}

/// A folder with a lock.
struct Place {
    folder: PathBuf,
    mutex: Mutex,
}

impl Stage {
    /// Makes the counter, the journal and the locks.
    pub fn set(folder: &Path, programs: &[Built], separate_locks: bool) -> Result<Self, String> {
        let problem = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let (counter, journal) = (folder.join("counter"), folder.join("journal"));
        fs::write(&counter, "0\n").map_err(|error| problem(&counter, &error))?;
        fs::write(&journal, "").map_err(|error| problem(&journal, &error))?;
        let mut folders = vec![folder.to_path_buf()];
        if separate_locks {
            // A folder for each, where all is the same but the lock.
            folders = programs
                .iter()
                .map(|program| folder.join(format!("of-{}", program.language.file())))
                .collect();
            for own in &folders {
                fs::create_dir(own)
                    .and_then(|()| symlink(&counter, own.join("counter")))
                    .and_then(|()| symlink(&journal, own.join("journal")))
                    .map_err(|error| problem(own, &error))?;
            }
        }
        let place = |folder: PathBuf| {
            let file = LockFile::options().label("turnlock demo").open(folder.join("demo.lock"));
            let mutex = file.and_then(|file| file.mutex(LOCK)).map_err(|error| error.to_string())?;
            Ok(Place { folder, mutex })
        };
        Ok(Self { counter, journal, places: folders.into_iter().map(place).collect::<Result<_, String>>()? })
    }

    /// Returns the folder of program number `program`.
    pub fn folder(&self, program: usize) -> &Path {
        &self.places[program.min(self.places.len() - 1)].folder
    }

    /// Takes every lock of the demo, so that the programs queue until the guards are dropped.
    pub fn hold_all_locks(&self) -> Result<Vec<MutexGuard<'_>>, String> {
        let guards = self.places.iter().map(|place| place.mutex.lock());
        guards.collect::<Result<_, _>>().map_err(|error| error.to_string())
    }

    /// Returns the labels of the waiters, in the order of the queue.
    pub fn waiting(&self) -> Vec<String> {
        self.places.iter().flat_map(Place::waiting).collect()
    }

    /// Returns the holders and the waiters, for a hang.
    pub fn in_words(&self) -> String {
        self.places.iter().map(Place::in_words).collect::<Vec<_>>().join("; ")
    }
}

impl Place {
    fn status(&self) -> Option<inspect::LockStatus> {
        let status = inspect::snapshot(self.folder.join("demo.lock")).ok()?;
        status.locks.into_iter().find(|lock| lock.name == LOCK)
    }

    fn waiting(&self) -> Vec<String> {
        let labels =
            |lock: inspect::LockStatus| lock.queue.into_iter().map(|entry| entry.participant.label).collect();
        self.status().map(labels).unwrap_or_default()
    }

    fn in_words(&self) -> String {
        let holder =
            self.status().and_then(|lock| lock.holders.into_iter().next()).map(|holder| holder.participant);
        let holder =
            holder.map_or("no program".into(), |holder| format!("{} (pid {})", holder.label, holder.pid));
        format!("held by {holder}; waiting: {}", self.waiting().join(", "))
    }
}
