//! What becomes of futures whose process is killed, ends, or forks.

use crate::polled::{poll, ready};
use nix::{
    sys::wait::{WaitStatus, waitpid},
    unistd::{ForkResult, fork},
};
use std::{path::Path, task::Poll, time::Duration};
use support::{
    Place,
    actor::{Actor, hear, say},
    until_waiting,
};
use turnlock::{AcquireFuture, Error, LockFile, Mutex, MutexKind};

fn mutex(path: &Path, name: &str) -> Mutex {
    LockFile::open(path).unwrap().mutex(name).unwrap()
}

/// So many that wait for what another process has.
fn waiting(mutex: &Mutex) -> Vec<AcquireFuture<MutexKind>> {
    let mut futures: Vec<_> = (0..50).map(|_| mutex.lock_async()).collect();
    futures.iter_mut().for_each(|future| assert!(poll(future).is_pending()));
    futures
}

/// Words: the lock file.
pub fn waits_by_futures(words: &[String]) {
    let mutex = mutex(Path::new(&words[0]), "m");
    let mut futures = waiting(&mutex);
    say("waits");
    let guard = ready(&mut futures[0]).unwrap();
    say("has it");
    hear();
    drop(guard);
}

#[test]
fn when_their_process_is_killed_others_get_on() {
    let place = Place::new();
    let (path, mutex) = (place.lock_file(), mutex(&place.lock_file(), "m"));
    let guard = mutex.lock().unwrap();
    let mut actor = Actor::start("waits_by_futures", &[path.to_str().unwrap()]);
    actor.expect("waits");
    until_waiting(&path, "m", 1);
    actor.kill();
    drop(guard);
    assert!(!mutex.lock_for(Duration::from_secs(60)).unwrap().acquired().previous_owner_died);
}

#[test]
fn when_their_process_is_killed_that_has_the_lock_the_next_one_is_told() {
    let place = Place::new();
    let (path, mutex) = (place.lock_file(), mutex(&place.lock_file(), "m"));
    let guard = mutex.lock_owned().unwrap();
    let mut actor = Actor::start("waits_by_futures", &[path.to_str().unwrap()]);
    actor.expect("waits");
    let mut ours = mutex.lock_async();
    until_waiting(&path, "m", 1);
    assert!(poll(&mut ours).is_pending());
    until_waiting(&path, "m", 2);
    drop(guard);
    actor.expect("has it");
    actor.kill();
    let mut guard = ready(&mut ours).unwrap();
    assert!(guard.acquired().previous_owner_died);
    guard.mark_consistent().unwrap();
}

/// Words: the lock file.
pub fn ends_while_futures_wait(words: &[String]) {
    let futures = waiting(&mutex(Path::new(&words[0]), "m"));
    say("waits");
    hear();
    std::mem::forget(futures);
    std::process::exit(0);
}

#[test]
fn when_their_process_ends_others_get_on() {
    let place = Place::new();
    let (path, mutex) = (place.lock_file(), mutex(&place.lock_file(), "m"));
    let guard = mutex.lock().unwrap();
    let mut actor = Actor::start("ends_while_futures_wait", &[path.to_str().unwrap()]);
    actor.expect("waits");
    until_waiting(&path, "m", 1);
    actor.tell("end");
    actor.end_well();
    drop(guard);
    assert!(!mutex.lock_for(Duration::from_secs(60)).unwrap().acquired().previous_owner_died);
}

/// Words: the lock file, in which another process has `m`.
pub fn forks_while_futures_wait(words: &[String]) {
    let path = Path::new(&words[0]);
    let (held, free) = (mutex(path, "m"), mutex(path, "free"));
    let mut futures = waiting(&held);
    let limited = held.lock_async().within(Duration::from_secs(600));
    let mut new = free.lock_async();
    // SAFETY: the child does what a program may do that knows its locks: the other threads are turnlock's own.
    let child = match unsafe { fork() }.unwrap() {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            let Poll::Ready(Err(Error::InvalidArgument(why))) = poll(&mut futures[0]) else { panic!() };
            assert!(why.contains("belongs to the parent process"), "{why}");
            drop((futures, limited));
            // What was not polled yet is the child's own, and so is what it begins.
            drop(ready(&mut new).unwrap());
            let mut own = held.lock_async();
            assert!(poll(&mut own).is_pending());
            assert!(matches!(
                ready(&mut held.lock_async().within(Duration::from_millis(1))),
                Err(Error::TimedOut(_))
            ));
            say("child waits");
            drop(ready(&mut own).unwrap());
            std::process::exit(0);
        }
    };
    for future in &mut futures {
        drop(ready(future).unwrap());
    }
    say("all had it");
    assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
    drop((limited, new));
    say("child ended");
}

#[test]
fn a_forked_child_has_none_of_its_parents_futures() {
    let place = Place::new();
    let (path, mutex) = (place.lock_file(), mutex(&place.lock_file(), "m"));
    let guard = mutex.lock().unwrap();
    let mut actor = Actor::start("forks_while_futures_wait", &[path.to_str().unwrap()]);
    actor.expect("child waits");
    until_waiting(&path, "m", 2);
    drop(guard);
    actor.expect("all had it");
    actor.expect("child ended");
    actor.end_well();
    drop(mutex.lock_for(Duration::from_secs(60)).unwrap());
}
