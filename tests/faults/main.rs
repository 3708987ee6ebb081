//! Faults that are neither of the file nor of a plain death: what a program, a language or the kernel does around a
//! lock. `docs/reliability.md` lists every fault with its test.

mod files;
mod kernel;
mod language;
mod program;
mod rights;

use kernel::lives_in_another_time;
use program::{
    closes_its_descriptors, forks_in_a_wait, holds_after_its_main_thread_is_gone, spawns_and_waits,
};
use rights::{creates_in_an_empty_root, fills_the_slots_without_descriptors, waits_without_descriptors};
use std::{path::Path, time::Duration};
use support::{
    actor::{hear, say},
    elsewhere, limit,
};
use turnlock::{Error, LockFile};

support::watched_for_seconds!(support::watchdog::USUAL);

support::roles! {
    closes_its_descriptors, creates_in_an_empty_root, fills_the_slots_without_descriptors, forks_in_a_wait, holds, holds_after_its_main_thread_is_gone, lives_in_another_time, spawns_and_waits, waits_without_descriptors
}

/// Takes lock "a" of the file, says so, gives it back at the next word.
fn holds(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    let guard = mutex.lock().unwrap();
    say("inside");
    hear();
    guard.unlock().unwrap();
    say("outside");
    hear();
}

/// The lock is taken by a holder that is alive: no other participant gets it, however often it asks.
fn assert_held(path: &Path) {
    let mutex = LockFile::open(path).unwrap().mutex("a").unwrap();
    elsewhere(|| {
        for _ in 0..20 {
            assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_))));
        }
        assert!(matches!(mutex.lock_for(Duration::from_millis(100)), Err(Error::TimedOut(_))));
    });
}

/// The next one gets the lock, and is told of `pid`'s death.
fn assert_told_of(path: &Path, pid: u32) {
    let mutex = LockFile::open(path).unwrap().mutex("a").unwrap();
    let mut guard = mutex.lock_for(limit::of_processes()).unwrap();
    assert_eq!(guard.previous_owner().map(|dead| dead.pid), Some(pid));
    guard.mark_consistent().unwrap();
}
