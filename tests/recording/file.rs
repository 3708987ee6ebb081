//! The recording as a part of the file: its size, what is forgotten, what a boot and a larger file leave of it.

use crate::{recorded, recording_of as seen};
use support::{
    Place, elsewhere,
    format::{self, poke},
};
use turnlock::{Error, LockFile, inspect::Event};

#[test]
fn a_file_has_the_recording_that_it_was_created_with() {
    let place = Place::new();
    for events in [1, 32, 63, (1 << 24) + 1, u32::MAX] {
        let asked = LockFile::options().recorded_events(events).open(place.lock_file());
        assert!(matches!(asked, Err(Error::InvalidArgument(_))), "{events}");
    }
    let file = LockFile::options().recorded_events(1000).open(place.lock_file()).unwrap();
    assert_eq!(file.recorded_events(), 1024);
    let bytes = std::fs::metadata(place.lock_file()).unwrap().len();
    let without = LockFile::open(place.at("without.lock")).unwrap();
    assert_eq!(without.recorded_events(), 0);
    assert_eq!(bytes, std::fs::metadata(without.path()).unwrap().len() + 128 + 1024 * 32);
    drop(LockFile::options().recorded_events(1024).open(place.lock_file()).unwrap());
    for (path, has) in [(place.lock_file(), 1024), (without.path(), 0)] {
        match LockFile::options().recorded_events(1025).open(path) {
            Err(Error::FileTooSmall { what, has: found, wanted: 2048, .. }) => {
                assert_eq!((what, found), ("recorded events", has))
            }
            other => panic!("{:?}", other.map(drop)),
        }
    }
}

/// A store to where the disk has no room would be a SIGBUS.
#[test]
fn the_recording_has_its_room_on_the_disk_at_once() {
    use std::os::unix::fs::MetadataExt;
    let place = Place::new();
    let blocks = |path: std::path::PathBuf| std::fs::metadata(path).unwrap().blocks() * 512;
    let without = LockFile::open(place.at("without.lock")).unwrap();
    let with = LockFile::options().recorded_events(1 << 16).open(place.lock_file()).unwrap();
    assert!(blocks(with.path()) >= blocks(without.path()) + (1 << 21));
}

#[test]
fn the_latest_are_kept() {
    let place = Place::new();
    let mutex = recorded(&place, 64).mutex("a").unwrap();
    (0..100).for_each(|_| drop(mutex.lock().unwrap()));
    let seen = seen(&place.lock_file());
    assert_eq!((seen.capacity, seen.events.len(), seen.unreadable), (64, 64, 0));
    let last = seen.events.last().unwrap();
    assert_eq!((last.event, last.number + 1), (Event::Released, seen.recorded));
    assert!(seen.events.windows(2).all(|two| two[0].number + 1 == two[1].number));
    // Who it was is still known, since it is still there.
    assert_eq!(seen.participants[last.participant].name, "test");
    assert_eq!(seen.locks[last.lock.unwrap()].name.as_deref(), Some("a"));
}

#[test]
fn what_was_recorded_before_a_boot_is_not_told() {
    let place = Place::new();
    let path = place.lock_file();
    let file = recorded(&place, 256);
    let mutex = file.mutex("a").unwrap();
    // A thread that is gone has no slot.
    elsewhere(|| drop(mutex.lock().unwrap()));
    drop((mutex, file));
    poke(&path, format::BOOT_ID, &[1; 16]);
    let file = LockFile::open(&path).unwrap();
    let after_boot = seen(&path);
    assert_eq!((after_boot.recorded, after_boot.events.len()), (0, 0));
    drop(file.mutex("a").unwrap().lock().unwrap());
    let events: Vec<Event> = seen(&path).events.iter().map(|event| event.event).collect();
    assert_eq!(events, [Event::Attached, Event::Asked, Event::Acquired, Event::Released]);
}

#[test]
fn a_larger_file_has_the_recording_of_the_old_one() {
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::options().recorded_events(256).open(&path).unwrap();
    elsewhere(|| drop(file.mutex("a").unwrap().lock().unwrap()));
    drop(file);
    let larger = LockFile::options().participants(200).grow(&path).unwrap();
    assert_eq!(larger.recorded_events(), 256);
    elsewhere(|| drop(larger.mutex("a").unwrap().lock().unwrap()));
    drop(larger);
    let events = seen(&path).events;
    assert_eq!(events[0].number, 0, "none is lost");
    assert_eq!(events.iter().filter(|event| event.event == Event::Acquired).count(), 2);
    let none = LockFile::options().recorded_events(128).grow(&path).map(drop);
    assert!(matches!(none, Err(Error::InvalidArgument(_))));
    let longer = LockFile::options().recorded_events(512).grow(&path).unwrap();
    drop(longer.mutex("a").unwrap().lock().unwrap());
    let now = seen(&path);
    assert_eq!((now.capacity, now.unreadable), (512, 0));
    assert_eq!(now.events.last().unwrap().event, Event::Released);
}
