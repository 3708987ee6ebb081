//! The threads that answer messages: one for each participant, from its first entry until it is detached; none in a child.

use crate::{ALL, lock, seen};
use nix::{
    sys::wait::{WaitStatus, waitpid},
    unistd::{ForkResult, fork},
};
use std::fs;
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    elsewhere, until,
};
use turnlock::{Error, LockFile};

/// How many threads of this process answer messages.
fn service_threads() -> usize {
    let names = fs::read_dir("/proc/self/task").unwrap();
    let names = names.filter_map(|task| fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.filter(|name| name.trim() == "turnlock mail").count()
}

/// A thread takes its name when it first runs.
fn until_there_are(threads: usize) {
    until("there are as many service threads as there should be", || service_threads() == threads);
}

/// Words: the lock file. Alone in its process, so that it counts its own threads only.
pub fn forks_as_a_member(words: &[String]) {
    let file = LockFile::open(&words[0]).unwrap();
    let mutex = file.mutex("a").unwrap();
    until_there_are(0);
    let guard = mutex.lock().unwrap();
    until_there_are(1);
    let participant = file.participant().unwrap();
    assert!(matches!(mutex.try_lock_as(&participant), Err(Error::WouldBlock(_))));
    until_there_are(2);
    drop(participant);
    until_there_are(1);
    // SAFETY: the service thread holds nothing that the child touches: attachments of the parent are not the child's.
    match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            until_there_are(0);
            assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_))));
            assert!(matches!(guard.unlock(), Err(Error::NotOwner)));
            until_there_are(1);
            say("forked");
            let guard = mutex.lock().unwrap();
            assert!(!guard.acquired().previous_owner_died);
            drop(guard);
            std::process::exit(0);
        }
        ForkResult::Parent { child } => {
            assert_eq!(hear(), "go on");
            drop(guard);
            assert_eq!(waitpid(child, None).unwrap(), WaitStatus::Exited(child, 0));
            // It has left with its end, or is found dead; either way it keeps no other.
            let guard = mutex.lock().unwrap();
            assert!(!guard.acquired().previous_owner_died);
            drop(guard);
        }
    }
    drop((mutex, file));
    until_there_are(0);
    say("done");
}

#[test]
fn a_forked_child_is_another_member_with_a_thread_of_its_own() {
    for algorithm in ALL {
        let _no_hang = NoHang::for_seconds(60);
        let place = Place::new();
        let (_file, mutex) = lock(&place, algorithm);
        drop(mutex.lock().unwrap());
        let mut actor = Actor::start("forks_as_a_member", &[place.lock_file().to_str().unwrap()]);
        actor.expect("forked");
        actor.tell("go on");
        actor.expect("done");
        actor.end_well();
        drop(mutex.lock().unwrap());
    }
}

#[test]
fn a_thread_that_ends_is_no_member_any_more() {
    for algorithm in ALL {
        let place = Place::new();
        let (_file, mutex) = lock(&place, algorithm);
        drop(mutex.lock().unwrap());
        for _ in 0..5 {
            elsewhere(|| {
                drop(mutex.lock().unwrap());
                assert_eq!(seen(&mutex).members.len(), 2);
            });
            assert_eq!(seen(&mutex).members.len(), 1, "{algorithm:?}");
        }
        drop(mutex.lock().unwrap());
    }
}
