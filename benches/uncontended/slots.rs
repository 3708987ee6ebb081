//! Lock files with so many slots in use: all but our own by another process, which does nothing.

use harness::{
    contender::{patience, turnlock_rust::idle},
    place::Place,
    process::Child,
};
use std::{
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};
use turnlock::inspect;

/// The most that are used in turn.
const FILES: usize = 4;
/// Room for ours, too: the thread, and a participant.
const PARTICIPANTS: u32 = 160;
/// How long the other process may take.
const LONGEST: Duration = Duration::from_secs(20);

/// What the measurements with so many slots in use are called.
pub fn group(slots: usize) -> String {
    if slots == 1 { "1 slot in use".into() } else { format!("{slots} slots in use") }
}

pub struct Slots {
    places: Vec<Place>,
    _idle: Child,
}

impl Slots {
    /// The calling thread has one of them as soon as it takes a lock.
    pub fn new(slots: usize) -> Self {
        let places: Vec<Place> = (0..FILES).map(|_| Place::new(Some(PARTICIPANTS)).unwrap()).collect();
        let others = slots - 1;
        let stay = || {
            let files = places.iter().map(|place| patience::file(place).unwrap());
            let _attached: Vec<_> = files.map(|file| (idle(&file, others), file)).collect();
            loop {
                thread::park();
            }
        };
        let child = Child::fork(stay).unwrap();
        let began = Instant::now();
        let are_in_use = |place: &Place| {
            inspect::snapshot(place.path()).is_ok_and(|status| status.participants.len() == others)
        };
        while !places.iter().all(are_in_use) {
            assert!(began.elapsed() < LONGEST, "the process with the other slots does not come");
            thread::sleep(Duration::from_millis(1));
        }
        Self { places, _idle: child }
    }

    /// The path of a file that is not there yet.
    pub fn beside(&self) -> PathBuf {
        self.places[0].path().with_extension("recording")
    }

    pub fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.places.iter().map(Place::path)
    }
}
