//! The one place that makes a turnlock file and mutex with a patience other than the default.

use crate::place::Place;
use std::time::Duration;
use turnlock::{DEFAULT_PATIENCE, LockFile, Mutex, Result};

/// The file that the processes of a round share, made by the first of them.
pub fn file(place: &Place) -> Result<LockFile> {
    let mut options = LockFile::options();
    if let Some(machines) = place.machines {
        options.participants(machines);
    }
    options.open(place.path())
}

/// The mutex in it, likewise. `None` is the default patience.
pub fn mutex(file: &LockFile, patience: Option<Duration>) -> Result<Mutex> {
    file.mutex_options().patience(patience.unwrap_or(DEFAULT_PATIENCE)).open("bench")
}
