use crate::party::{a_file, a_party, until_asleep};
use std::{
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    thread,
    time::Duration,
};
use support::Place;
use turnlock::Error;

#[test]
fn one_of_many_does_it() {
    let place = Place::new();
    let (_, file) = a_file(&place);
    let (once, done) = (file.once("schema").unwrap(), AtomicU32::new(0));
    thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| {
                once.call(|_| {
                    thread::sleep(Duration::from_millis(5));
                    done.fetch_add(1, Relaxed);
                    Ok::<_, Error>(())
                })
                .unwrap();
                assert_eq!(done.load(Relaxed), 1);
            });
        }
    });
    assert!(once.is_done().unwrap());
    once.reset().unwrap();
    assert!(!once.is_done().unwrap());
    // What fails, or panics, is not done.
    assert!(once.call(|_| Err(Error::Cancelled)).is_err());
    let panics = std::panic::AssertUnwindSafe(|| once.call::<Error>(|_| panic!("on purpose")));
    assert!(std::panic::catch_unwind(panics).is_err());
    assert!(!once.is_done().unwrap() && once.begin().unwrap().is_some());
}

#[test]
fn a_participant_does_it_on_any_thread() {
    let place = Place::new();
    let (_, file) = a_file(&place);
    let (once, task) = (file.once("schema").unwrap(), file.participant().unwrap());
    let run = once.begin_as(&task).unwrap().unwrap();
    let other = once.begin_for(Duration::from_millis(2));
    assert!(matches!(other, Err(Error::TimedOut(_))), "{other:?}");
    run.complete().unwrap();
    assert!(once.begin_for_as(&task, Duration::ZERO).unwrap().is_none());
}

/// What the docs say of `grow`, in which no process uses the file.
#[test]
fn in_a_larger_file_what_is_set_is_set_and_what_is_done_is_done() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    file.event("ready").unwrap().set().unwrap();
    file.once("schema").unwrap().call(|_| Ok::<_, Error>(())).unwrap();
    drop(file);
    turnlock::LockFile::options().locks(100).grow(&path).unwrap();
    let file = turnlock::LockFile::open(&path).unwrap();
    assert!(file.event("ready").unwrap().is_set().unwrap());
    assert!(file.once("schema").unwrap().is_done().unwrap());
}

#[test]
fn the_next_one_does_it_when_one_died_at_it() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let mut parties = [a_party(&path), a_party(&path), a_party(&path)];
    parties[0].tell("begin schema");
    parties[0].expect("mine");
    parties[1].tell("begin schema");
    until_asleep(&path, "schema", 1);
    parties[0].kill();
    parties[1].expect("after-a-death");
    parties[2].tell("begin schema");
    parties[1].tell("complete");
    parties[1].expect("done");
    parties[2].expect("it-is");
    parties[2].expect("done");
    assert!(file.once("schema").unwrap().is_done().unwrap());
}
