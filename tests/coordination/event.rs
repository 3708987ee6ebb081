use crate::party::{a_file, a_party, until_asleep};
use std::{thread, time::Duration};
use support::{Place, actor::Actor};
use turnlock::Error;

#[test]
fn all_that_wait_go_on_when_it_is_set_and_it_stays_set() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let event = file.event("ready").unwrap();
    assert!(!event.is_set().unwrap());
    let mut waiters: Vec<Actor> = (0..4).map(|_| a_party(&path)).collect();
    waiters.iter_mut().for_each(|waiter| waiter.tell("await ready"));
    until_asleep(&path, "ready", 4);
    // The dead disturb nothing.
    waiters.pop().unwrap().kill();
    assert!(event.set().unwrap() && !event.set().unwrap());
    waiters.iter_mut().for_each(|waiter| waiter.expect("done"));
    event.wait().unwrap();
    assert!(event.clear().unwrap() && !event.clear().unwrap());
    let error = event.wait_for(Duration::from_millis(2)).unwrap_err();
    assert!(matches!(error, Error::TimedOut(_)), "{error}");
    assert_eq!(error.to_string(), "the time limit passed before the event was set");
}

#[test]
fn one_that_was_set_and_cleared_again_has_let_those_go_that_waited() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let event = file.event("ready").unwrap();
    thread::scope(|threads| {
        let waiter = threads.spawn(|| event.wait());
        until_asleep(&path, "ready", 1);
        event.set().unwrap();
        event.clear().unwrap();
        waiter.join().unwrap().unwrap();
    });
}

#[test]
fn another_thread_ends_a_wait() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let (event, task) = (file.event("ready").unwrap(), file.participant().unwrap());
    thread::scope(|threads| {
        for _ in 0..100 {
            let waiter = threads.spawn(|| event.wait_as(&task));
            task.cancel();
            assert!(matches!(waiter.join().unwrap(), Err(Error::Cancelled)));
        }
    });
    assert!(!task.clear_cancel());
    until_asleep(&path, "ready", 0);
}

#[test]
fn a_wait_for_one_that_is_removed_ends() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let event = file.event("ready").unwrap();
    thread::scope(|threads| {
        let waiter = threads.spawn(|| event.wait());
        until_asleep(&path, "ready", 1);
        // One that is waited for is in use.
        assert!(matches!(file.remove_lock("ready"), Err(Error::InUse { .. })));
        event.set().unwrap();
        waiter.join().unwrap().unwrap();
    });
    file.remove_lock("ready").unwrap();
    assert!(matches!(event.wait(), Err(Error::NotFound { .. })));
    assert!(matches!(event.set(), Err(Error::NotFound { .. })));
    let next = file.event("ready").unwrap();
    assert!(!next.is_set().unwrap());
    next.set().unwrap();
    assert!(matches!(event.is_set(), Err(Error::NotFound { .. })));
}
