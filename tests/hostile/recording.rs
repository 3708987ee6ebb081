//! Every word of a recording overwritten, one at a time: the locks do not mind, and a reader reads what is left.

use crate::{
    scene::GARBAGE,
    watch::{AT_ONCE, Watch},
};
use std::{fs::OpenOptions, os::unix::fs::FileExt};
use support::{NoHang, Place};
use turnlock::{LockFile, inspect};

const EVENTS: u64 = 64;

#[test]
fn garbage_in_the_recording_is_in_no_participants_way() {
    let _no_hang = NoHang::for_seconds(120);
    let place = Place::new();
    let path = place.lock_file();
    let file =
        LockFile::options().participants(4).locks(2).recorded_events(EVENTS as u32).open(&path).unwrap();
    let mutex = file.mutex("a").unwrap();
    let (hand, mut watch) =
        (OpenOptions::new().read(true).write(true).open(&path).unwrap(), Watch::default());
    let end = hand.metadata().unwrap().len();
    let start = end - 128 - EVENTS * 32;
    for at in (start..end).step_by(8) {
        for value in GARBAGE {
            hand.write_all_at(&value.to_le_bytes(), at).unwrap();
            for _ in 0..2 {
                let seen = watch.call("recording", AT_ONCE, || inspect::recording(&path)).unwrap().unwrap();
                assert!(seen.events.len() as u64 + seen.unreadable <= EVENTS, "{seen:?}");
                assert!(!format!("{seen:?}").is_empty());
                watch.call("lock", AT_ONCE, || mutex.lock()?.unlock()).unwrap();
            }
        }
    }
    // Whatever stood there: once round, and all is well again.
    let next = start.to_le_bytes();
    hand.write_all_at(&next, start).unwrap();
    hand.write_all_at(&[0; 8], start + 8).unwrap();
    (0..EVENTS).for_each(|_| mutex.lock().unwrap().unlock().unwrap());
    let seen = inspect::recording(&path).unwrap().unwrap();
    assert_eq!((seen.events.len() as u64, seen.unreadable), (EVENTS, 0));
    println!("{watch}");
}
