//! Looking at a file of arbitrary bytes: a snapshot or an error, in time, and the file stays as it was.
#![no_main]

mod bytes;

use bytes::{Bytes, Lair, in_time};
use libfuzzer_sys::fuzz_target;
use std::{fs, time::Duration};
use turnlock::{Error, inspect};

fuzz_target!(|bytes: Bytes| {
    let lair = Lair::get();
    let _bait = lair.put(&bytes);
    let before = fs::read(&lair.path).unwrap();
    match in_time("snapshot", Duration::ZERO, || inspect::snapshot(&lair.path)) {
        Ok(status) => {
            assert!(status.participants.len() <= status.participant_capacity as usize);
            assert!(status.locks.len() <= status.lock_capacity as usize);
            // Everything in it can be printed.
            assert!(!format!("{status:?}").is_empty());
        }
        Err(error) => {
            assert!(!matches!(error, Error::Internal(_)), "{error}");
            assert!(!error.to_string().is_empty());
        }
    }
    match in_time("recording", Duration::ZERO, || inspect::recording(&lair.path)) {
        Ok(Some(seen)) => {
            assert!(seen.events.len() as u64 + seen.unreadable <= u64::from(seen.capacity));
            assert!(!format!("{seen:?}").is_empty());
        }
        Ok(None) => {}
        Err(error) => assert!(!matches!(error, Error::Internal(_)), "{error}"),
    }
    assert!(fs::read(&lair.path).unwrap() == before, "looking changed the file");
});
