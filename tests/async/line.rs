//! The order of the futures of a process, and what one of them does to the others.

use crate::polled::{Woken, poll, poll_with, ready};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::{
    sync::Arc,
    task::{Poll, Wake, Waker},
};
use support::{
    Place,
    actor::{Actor, say},
    puppet::{Puppet, Said},
    until, until_waiting,
};
use turnlock::{Error, LockFile};

#[test]
fn they_are_served_in_the_order_of_their_first_poll() {
    let place = Place::new();
    let mutex = LockFile::open(place.lock_file()).unwrap().mutex("m").unwrap();
    let mut holder = mutex.lock_owned().unwrap();
    let mut waiting: Vec<_> = (0..6).map(|_| mutex.lock_async()).collect();
    let woken: Vec<_> = waiting.iter().map(|_| Arc::<Woken>::default()).collect();
    for (future, woken) in waiting.iter_mut().zip(&woken) {
        assert!(poll_with(future, &Waker::from(woken.clone())).is_pending());
    }
    for at in 0..waiting.len() {
        drop(holder);
        until("the next one is woken", || woken[at].times() == 1);
        for later in &mut waiting[at + 1..] {
            assert!(poll(later).is_pending(), "one came before its turn");
        }
        holder = ready(&mut waiting[at]).unwrap();
        // They are woken by their first wakers no more.
        for (future, woken) in waiting.iter_mut().zip(&woken).skip(at + 1) {
            assert!(poll_with(future, &Waker::from(woken.clone())).is_pending());
        }
    }
    drop(holder);
    drop(mutex.try_lock().unwrap());
}

#[test]
fn the_line_takes_one_place_in_the_queue_of_the_file() {
    let place = Place::new();
    let path = place.lock_file();
    let mutex = LockFile::open(&path).unwrap().mutex("m").unwrap();
    let held = mutex.lock_owned().unwrap();
    let mut waiting: Vec<_> = (0..100).map(|_| mutex.lock_async()).collect();
    waiting.iter_mut().for_each(|future| assert!(poll(future).is_pending()));
    until_waiting(&path, "m", 1);
    let mut other = Puppet::at(&path, "m");
    other.0.tell("lock");
    until_waiting(&path, "m", 2);
    drop(held);
    // One after another; the other process comes in between, as a rule after the first.
    std::thread::scope(|threads| {
        let other = threads.spawn(|| {
            assert!(matches!(other.hear(), Said::Taken(_, false)));
            assert_eq!(other.ask("unlock"), Said::Done);
        });
        for future in &mut waiting {
            drop(ready(future).unwrap());
        }
        support::join(other);
    });
    drop(mutex.try_lock().unwrap());
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker that panics, as this test wants it");
    }
}

#[test]
fn a_waker_that_panics_harms_no_other_future() {
    let place = Place::new();
    let mutex = LockFile::open(place.lock_file()).unwrap().mutex("m").unwrap();
    let held = mutex.lock_owned().unwrap();
    let (mut first, mut second) = (mutex.lock_async(), mutex.lock_async());
    assert!(poll_with(&mut first, &Waker::from(Arc::new(Panics))).is_pending());
    assert!(poll(&mut second).is_pending());
    drop(held);
    drop(ready(&mut first).unwrap());
    drop(ready(&mut second).unwrap());
}

#[test]
fn a_full_file_is_an_error_of_the_one_that_finds_no_slot() {
    let place = Place::new();
    let file = LockFile::options().participants(2).open(place.lock_file()).unwrap();
    let rwlock = support::elsewhere(|| file.rwlock("r").unwrap());
    let writer = rwlock.write_owned().unwrap();
    // The server has the other slot.
    let mut readers: Vec<_> = (0..3).map(|_| rwlock.read_async()).collect();
    for reader in &mut readers {
        assert!(poll(reader).is_pending());
    }
    drop(writer);
    let both = [ready(&mut readers[0]).unwrap(), ready(&mut readers[1]).unwrap()];
    let error = ready(&mut readers[2]).unwrap_err();
    assert!(matches!(error, Error::ParticipantsFull { .. }), "{error}");
    let refused = poll(&mut rwlock.read_async());
    assert!(matches!(refused, Poll::Ready(Err(Error::ParticipantsFull { .. }))), "{refused:?}");
    drop(both);
    drop(ready(&mut rwlock.write_async()).unwrap());
}

/// Words: the lock file, in which another process has `m`.
pub fn has_no_thread_for_a_wait(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("m").unwrap();
    let (mut first, mut second) = (mutex.lock_async(), mutex.lock_async());
    let (before, most) = getrlimit(Resource::RLIMIT_AS).unwrap();
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
    // Room for the futures, and none for a stack.
    setrlimit(Resource::RLIMIT_AS, pages * 4096 + (96 << 10), most).unwrap();
    let woken = Arc::<Woken>::default();
    let polled = poll_with(&mut first, &Waker::from(woken.clone()));
    let failed = match polled {
        Poll::Pending => poll(&mut first),
        ready => ready,
    };
    setrlimit(Resource::RLIMIT_AS, before, most).unwrap();
    let Poll::Ready(Err(error @ Error::System { .. })) = failed else { panic!("{failed:?}") };
    assert!(error.to_string().contains("beginning a thread that waits for a lock"), "{error}");
    assert_eq!(woken.times(), 1);
    assert!(poll(&mut second).is_pending());
    say("waits");
    drop(ready(&mut second).unwrap());
}

#[test]
fn without_a_thread_a_wait_fails_and_the_next_one_may_have_one() {
    let place = Place::new();
    let path = place.lock_file();
    let mutex = LockFile::open(&path).unwrap().mutex("m").unwrap();
    let held = mutex.lock_owned().unwrap();
    let mut actor = Actor::start("has_no_thread_for_a_wait", &[path.to_str().unwrap()]);
    actor.expect("waits");
    drop(held);
    actor.end_well();
}
