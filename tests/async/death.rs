//! What becomes of futures whose process is killed, ends, or forks.

use crate::polled::{poll, ready};
use nix::{
    sys::wait::{WaitStatus, waitpid},
    unistd::{ForkResult, fork},
};
use std::{ffi::CString, os::fd::BorrowedFd, path::Path, ptr, task::Poll, time::Duration};
use support::{
    Place,
    actor::{Actor, hear, say},
    limit::{is_readable, of_processes},
    until_waiting,
};
use turnlock::{AcquireFuture, Error, LockFile, Mutex, MutexKind, capi::*, status::*};

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
    drop(guard);
    actor.expect("has it");
    let mut ours = mutex.lock_async();
    assert!(poll(&mut ours).is_pending());
    // Beside the second of its futures.
    until_waiting(&path, "m", 2);
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

/// Words: the lock file, in which another process has `m`.
pub fn forks_while_a_hold_waits(words: &[String]) {
    let path = CString::new(words[0].as_str()).unwrap();
    let (mut file, mut mutex, mut hold) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: C strings, NULL for options, and places for handles; below open handles, and a request of the right size.
    unsafe {
        assert_eq!(turnlock_file_open(path.as_ptr(), ptr::null(), &mut file), TURNLOCK_OK);
        assert_eq!(turnlock_mutex_open(file, c"m".as_ptr(), ptr::null(), &mut mutex), TURNLOCK_OK);
        assert_eq!(turnlock_hold_open(file, ptr::null(), &mut hold), TURNLOCK_OK);
        let mut request: turnlock_request = std::mem::zeroed();
        (request.size, request.lock) = (size_of::<turnlock_request>(), mutex.cast());
        assert_eq!(turnlock_hold_begin_acquire(hold, &request), TURNLOCK_OK);
        let mut descriptor = -1;
        assert_eq!(turnlock_hold_fd(hold, &mut descriptor), TURNLOCK_OK);
        // SAFETY: as in `forks_while_futures_wait`.
        let ForkResult::Parent { child } = fork().unwrap() else {
            assert_eq!(turnlock_hold_finish_acquire(hold, ptr::null_mut()), TURNLOCK_ERROR_CLOSED);
            assert_eq!(turnlock_hold_cancel_acquire(hold), TURNLOCK_ERROR_CLOSED);
            assert_eq!(turnlock_hold_fd(hold, &mut descriptor), TURNLOCK_ERROR_CLOSED);
            assert_eq!(turnlock_hold_cancel(hold), TURNLOCK_ERROR_CLOSED);
            assert_eq!(turnlock_hold_close(hold), TURNLOCK_OK);
            // One of its own.
            assert_eq!(turnlock_hold_open(file, ptr::null(), &mut hold), TURNLOCK_OK);
            assert_eq!(turnlock_hold_begin_acquire(hold, &request), TURNLOCK_OK);
            assert_eq!(turnlock_hold_finish_acquire(hold, ptr::null_mut()), TURNLOCK_ERROR_WOULD_BLOCK);
            assert_eq!(turnlock_hold_cancel_acquire(hold), TURNLOCK_OK);
            std::process::exit(0);
        };
        assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
        say("child ended");
        let readable = BorrowedFd::borrow_raw(descriptor);
        assert!(is_readable(&readable, of_processes()));
        assert_eq!(turnlock_hold_finish_acquire(hold, ptr::null_mut()), TURNLOCK_OK);
        assert_eq!(turnlock_hold_release(hold), TURNLOCK_OK);
        assert_eq!(turnlock_hold_close(hold), TURNLOCK_OK);
    }
}

#[test]
fn a_forked_child_has_not_what_a_hold_of_its_parent_has_begun() {
    let place = Place::new();
    let (path, mutex) = (place.lock_file(), mutex(&place.lock_file(), "m"));
    let guard = mutex.lock().unwrap();
    let mut actor = Actor::start("forks_while_a_hold_waits", &[path.to_str().unwrap()]);
    actor.expect("child ended");
    until_waiting(&path, "m", 1);
    drop(guard);
    actor.end_well();
    drop(mutex.lock_for(Duration::from_secs(60)).unwrap());
}
