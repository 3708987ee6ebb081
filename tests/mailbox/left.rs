//! Participants that leave their slot to an open file.

use crate::{ALL, lock};
use std::{fs::File, os::fd::AsRawFd, time::Duration};
use support::{NoHang, Place};
use turnlock::Error;

const LIMIT: Duration = Duration::from_secs(30);

#[test]
fn a_participant_that_left_its_hold_to_a_descriptor_is_in_no_others_way_and_takes_no_more_messages() {
    let _no_hang = NoHang::for_seconds(120);
    for algorithm in ALL {
        let place = Place::new();
        let (file, held) = lock(&place, algorithm);
        let other = file.mutex_options().algorithm(algorithm).open("b").unwrap();
        let task = file.participant_options().release_on_close(true).open().unwrap();
        drop(other.lock_as(&task).unwrap());
        std::mem::forget(held.lock_as(&task).unwrap());
        let descriptor = File::options().read(true).write(true).open(place.lock_file()).unwrap();
        task.transfer_to_fd(descriptor.as_raw_fd(), std::process::id()).unwrap();
        drop(other.lock_for(LIMIT).unwrap());
        assert!(matches!(held.try_lock(), Err(Error::WouldBlock(_))), "{algorithm:?}");
        assert_eq!(file.unlock_transferred(descriptor.as_raw_fd(), Some("a")).unwrap(), 1);
        // In the slot that was left: were its thread still there, it would take messages that are for this one.
        let next = file.participant().unwrap();
        for _ in 0..50 {
            for mutex in [&held, &other] {
                drop(mutex.lock_for_as(&next, LIMIT).unwrap());
                drop(mutex.lock_for(LIMIT).unwrap());
            }
        }
        drop(task);
    }
}
