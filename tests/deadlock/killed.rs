//! A death in a search, or between two of them, leaves nothing: the one that waited for the dead one goes on.

use super::party::{Language, Party};
use std::{
    thread::{self, sleep},
    time::Duration,
};
use support::{NoHang, Place, join, until, until_waiting};
use turnlock::{LockFile, inspect};

/// The first search comes after 20 ms, and what closed the circle is told at the end of the nap after it.
const LATEST: u64 = 120;
const TRIALS: u64 = 30;

#[test]
fn one_that_is_killed_while_it_searches_leaves_nothing() {
    let (_no_hang, place) = (NoHang::for_seconds(120), Place::new());
    let path = place.lock_file();
    // The survivor is not told, so that it waits for the one that is killed.
    let file = LockFile::options().deadlock_errors(false).open(&path).unwrap();
    let (a, b) = (file.mutex("a").unwrap(), file.mutex("b").unwrap());
    for trial in 0..TRIALS {
        let mut victim = Party::start(Language::Rust, &path, "victim");
        victim.takes("take mutex b");
        let pid = victim.pid();
        thread::scope(|threads| {
            let survivor = threads.spawn(|| {
                let _a = a.lock().unwrap();
                let mut b = b.lock().unwrap();
                let died = b.acquired().previous_owner_died;
                b.mark_consistent().unwrap();
                died
            });
            until_waiting(&path, "b", 1);
            victim.tell("take mutex a");
            // Everywhere between the beginning of its wait and what it is told.
            sleep(Duration::from_millis(trial * LATEST / TRIALS));
            drop(victim);
            assert!(join(survivor), "it is told of the death");
        });
        until("the dead one is gone", || {
            let status = inspect::snapshot(&path).unwrap();
            assert!(status.deadlocks.is_empty());
            status.participants.iter().all(|participant| participant.pid != pid)
        });
    }
}
