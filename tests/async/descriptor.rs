//! Acquisitions with a descriptor to poll.

use std::{task::Poll, time::Duration};
use support::{
    Place,
    limit::{is_readable, of_processes},
    queue_at, until, until_waiting,
};
use turnlock::{Error, LockFile};

#[test]
fn the_descriptor_is_readable_when_the_lock_was_acquired() {
    let place = Place::new();
    let path = place.lock_file();
    let mutex = LockFile::open(&path).unwrap().mutex("m").unwrap();
    let mut free = mutex.lock_async().with_descriptor().unwrap();
    assert!(is_readable(&free, Duration::ZERO));
    let guard = free.finish().unwrap().unwrap();
    assert!(!is_readable(&free, Duration::ZERO) && free.finish().is_none());
    let mut waits = mutex.lock_async().with_descriptor().unwrap();
    until_waiting(&path, "m", 1);
    assert!(!is_readable(&waits, Duration::ZERO) && waits.finish().is_none());
    drop(guard);
    assert!(is_readable(&waits, of_processes()));
    let guard = waits.finish().unwrap().unwrap();
    assert!(!is_readable(&waits, Duration::ZERO) && waits.finish().is_none());
    let dropped = mutex.lock_async().with_descriptor().unwrap();
    drop(dropped);
    until("none waits", || queue_at(&path, "m").is_empty());
    guard.unlock().unwrap();
    let seen = mutex.lock_async().with_descriptor().unwrap();
    assert!(format!("{seen:?}").contains("EventFd"));
    // It was acquired, and not seen: it goes on.
    drop(seen);
    drop(mutex.try_lock().unwrap());
}

#[test]
fn it_is_readable_when_the_time_is_over_or_the_acquisition_is_refused() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let (mutex, rows) = (file.mutex("m").unwrap(), file.range_lock("g").unwrap());
    let _held = mutex.lock_owned().unwrap();
    let mut limited = mutex.lock_async().within(Duration::from_millis(5)).with_descriptor().unwrap();
    assert!(is_readable(&limited, of_processes()));
    assert!(matches!(limited.finish(), Some(Err(Error::TimedOut(_)))));
    let mut refused = rows.lock_shared_async(1..1).with_descriptor().unwrap();
    assert!(is_readable(&refused, Duration::ZERO));
    assert!(matches!(refused.finish(), Some(Err(Error::EmptyRange { .. }))));
    let mut behind = mutex.lock_async();
    assert!(matches!(crate::polled::poll(&mut behind), Poll::Pending));
}
