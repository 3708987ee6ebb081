//! What a file with a recording records, of every kind of lock and every way it is acquired; what is left when the ring has
//! come round, when the writers are killed and when the file is cleared; and the counters, which every file has.

mod counters;
mod events;
mod file;
mod seen;
mod storm;

support::watched_for_seconds!(support::watchdog::USUAL);

use seen::holds_by_its_number;
use std::path::Path;
use storm::{coordinates_without_end, locks_without_end};
use support::{Place, puppet::puppet};
use turnlock::{
    LockFile,
    inspect::{self, Event, RecordedEvent, Recording},
};

support::roles! { coordinates_without_end, holds_by_its_number, locks_without_end, puppet }

/// A mutant is on in the whole process, and tests are its threads: those with one come one after the other.
#[cfg(feature = "mutants")]
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A new file that records.
fn recorded(place: &Place, events: u32) -> LockFile {
    LockFile::options().recorded_events(events).mailboxes(4).label("test").open(place.lock_file()).unwrap()
}

fn recording_of(path: &Path) -> Recording {
    inspect::recording(path).unwrap().expect("it was created with a recording")
}

/// What happened at the lock of this name, without what it was named by.
fn at_lock<'a>(seen: &'a Recording, name: &str) -> impl Iterator<Item = &'a RecordedEvent> {
    let is_it = |lock: usize| seen.locks[lock].name.as_deref() == Some(name);
    let of_it = |event: &&RecordedEvent| event.lock.is_some_and(is_it) && event.event != Event::Created;
    seen.events.iter().filter(of_it).collect::<Vec<_>>().into_iter()
}
