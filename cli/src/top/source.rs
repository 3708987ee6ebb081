//! One of the files on the screen: what it says now, and what was measured since the screen began.

use super::measured::Measured;
use crate::{
    watch::{
        change::{Change, Event},
        changes::{self, Seen},
    },
    watched_file::{Look, WatchedFile},
};
use std::{
    collections::HashMap,
    path::Path,
    time::{Duration, Instant},
};
use turnlock::inspect::FileStatus;

/// For so long it is said that the file was replaced.
const REPLACED_IS_NEWS: Duration = Duration::from_secs(10);

/// A file on the screen.
pub struct Source {
    file: WatchedFile,
    seen: Option<Seen>,
    replaced: Option<Instant>,
    /// Why it cannot be read, in a sentence.
    pub trouble: Option<String>,
    /// By the lock's name.
    measured: HashMap<String, Measured>,
}

impl Source {
    /// Returns the file at `path`, not looked at yet.
    pub fn new(path: &Path) -> Self {
        Self {
            file: WatchedFile::new(path),
            seen: None,
            replaced: None,
            trouble: None,
            measured: HashMap::new(),
        }
    }

    /// As the command line names it.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns what it said at the last look that found it.
    pub fn status(&self) -> Option<&FileStatus> {
        self.seen.as_ref().map(|seen| &seen.status)
    }

    /// Returns what was measured of a lock.
    pub fn measured(&self, lock: &str) -> Option<&Measured> {
        self.measured.get(lock)
    }

    /// Returns whether another file has come in its place, lately.
    pub fn is_replaced(&self) -> bool {
        self.replaced.is_some_and(|when| when.elapsed() < REPLACED_IS_NEWS)
    }

    /// Looks at it.
    pub fn look(&mut self) {
        let look = self.file.look();
        let at = Instant::now();
        let changes = match look {
            Look::Nothing { error, .. } => {
                self.trouble = Some(error);
                return;
            }
            Look::Same(status) => {
                let now = Seen { status, at };
                let changes =
                    self.seen.as_ref().map(|before| changes::between(before, &now)).unwrap_or_default();
                self.seen = Some(now);
                changes
            }
            Look::Another(status) => {
                // Numbers of another file would be mixed with those of this one.
                self.measured.clear();
                self.replaced = self.seen.is_some().then_some(at);
                self.seen = Some(Seen { status, at });
                Vec::new()
            }
        };
        self.trouble = None;
        self.take_down(at, &changes);
    }

    fn take_down(&mut self, at: Instant, changes: &[Change]) {
        let Some(seen) = &self.seen else { return };
        for change in changes {
            match (&change.lock, change.event) {
                (Some(lock), Event::LockRemoved) => drop(self.measured.remove(lock)),
                (Some(lock), _) => self.measured.entry(lock.clone()).or_default().change(change),
                (None, _) => {}
            }
        }
        for lock in &seen.status.locks {
            if let Some(token) = lock.fencing_token {
                self.measured.entry(lock.name.clone()).or_default().token(at, token);
            }
        }
    }
}
