//! What the threads do.

use crate::{
    Scene,
    lock::{ForLock, Future, Lock},
};
use loom::thread;
use std::sync::Arc;
use turnlock_core::error::Error;

pub const GRANTED: Scene = (granted, None);
pub const TWO: Scene = (two, Some(3));
pub const WITHDRAWN: Scene = (withdrawn, None);
pub const HELD_ON: Scene = (held_on, None);
pub const NEXT: Scene = (next, Some(3));
pub const AHEAD: Scene = (ahead, Some(3));
pub const FAILS: Scene = (fails, Some(4));

fn requests() -> ForLock {
    ForLock::default()
}

/// Both have ended: the requests are all gone, and the lock is free.
fn ends(
    requests: &ForLock,
    lock: &Arc<Lock>,
    servers: impl IntoIterator<Item = Option<thread::JoinHandle<()>>>,
) {
    servers.into_iter().flatten().for_each(|server| server.join().unwrap());
    assert!(requests.is_empty(), "a request is left");
    lock.check_free();
}

fn granted() {
    let (requests, lock) = (requests(), Lock::new(true));
    let (future, server) = Future::join(&requests, &lock);
    lock.release();
    future.wait().unwrap();
    lock.release();
    ends(&requests, &lock, [server]);
}

fn two() {
    let (requests, lock) = (requests(), Lock::new(false));
    let (first, server) = Future::join(&requests, &lock);
    let (of_other, its) = (requests.clone(), lock.clone());
    let other = thread::spawn(move || {
        let (second, server) = Future::join(&of_other, &its);
        second.wait().unwrap();
        its.release();
        server
    });
    first.wait().unwrap();
    lock.release();
    let second_server = other.join().unwrap();
    ends(&requests, &lock, [server, second_server]);
}

fn withdrawn() {
    let (requests, lock) = (requests(), Lock::new(true));
    let (future, server) = Future::join(&requests, &lock);
    lock.release();
    future.withdraw();
    ends(&requests, &lock, [server]);
}

fn held_on() {
    let (requests, lock) = (requests(), Lock::new(true));
    let (future, server) = Future::join(&requests, &lock);
    future.withdraw();
    server.unwrap().join().unwrap();
    lock.release();
    ends(&requests, &lock, [None]);
}

fn next() {
    let (requests, lock) = (requests(), Lock::new(true));
    let (first, server) = Future::join(&requests, &lock);
    let (second, none) = Future::join(&requests, &lock);
    assert!(none.is_none(), "the first one's server is at work");
    let withdrawal = thread::spawn(move || first.withdraw());
    lock.release();
    second.wait().unwrap();
    lock.release();
    withdrawal.join().unwrap();
    ends(&requests, &lock, [server, none]);
}

/// The server is not to acquire for the second one before the first has taken what it was given, or was withdrawn.
fn ahead() {
    let (requests, lock) = (requests(), Lock::new(false));
    let (first, server) = Future::join_served(&requests, &lock, 1);
    let (second, second_server) = Future::join_served(&requests, &lock, 1);
    let withdrawal = thread::spawn(move || first.withdraw());
    second.wait().unwrap();
    lock.release();
    withdrawal.join().unwrap();
    ends(&requests, &lock, [server, second_server]);
}

fn fails() {
    let (requests, lock) = (requests(), Lock::new(true));
    let (future, server) = Future::join(&requests, &lock);
    let future = Arc::new(future);
    let timer = thread::spawn({
        let future = future.clone();
        move || future.fail()
    });
    lock.release();
    timer.join().unwrap();
    match Arc::into_inner(future).unwrap().wait() {
        Ok(()) => lock.release(),
        Err(error) => assert!(matches!(error, Error::Interrupted), "{error}"),
    }
    ends(&requests, &lock, [server]);
}
