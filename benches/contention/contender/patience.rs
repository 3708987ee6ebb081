//! The one place that makes a turnlock file and mutex with a patience other than the default.

use crate::place::Place;
use std::time::Duration;
use turnlock::{LockFile, Mutex, Result};

/// Can a mutex be made with this patience? Asked once, before any process is forked.
pub fn offered(patience: Option<Duration>) -> std::result::Result<(), String> {
    match patience {
        None => Ok(()),
        Some(_) => Err("no option yet: turnlock's patience cannot be chosen".into()),
    }
}

/// The file that the processes of a round share, made by whoever comes first. `None` is the default patience.
pub fn file(place: &Place, patience: Option<Duration>) -> Result<LockFile> {
    match patience {
        None => LockFile::open(place.path()),
        Some(_) => unreachable!("see `offered`"),
    }
}

/// The mutex in it, likewise.
pub fn mutex(file: &LockFile, patience: Option<Duration>) -> Result<Mutex> {
    match patience {
        None => file.mutex("bench"),
        Some(_) => unreachable!("see `offered`"),
    }
}
