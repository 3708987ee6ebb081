//! What garbage does not outlast: a register of a dead slot or of nobody's is cleared by the next who meets it; one of
//! a participant who lives, by that participant's next lock or unlock.

use crate::scene::{GARBAGE, NOBODY, OTHER, REGION, SHAPE, Scene, THREAD};
use std::{
    thread,
    time::{Duration, Instant},
};
use support::{NoHang, join, until_waiting};
use turnlock::Error;

/// Long enough for what takes microseconds.
const PATIENCE: Duration = Duration::from_secs(20);

fn everybody_gets_in(scene: &Scene, when: &str) {
    let well = |result: turnlock::Result<()>| match result {
        // A closed lock is one that garbage in `state` or `held` may leave; it opens again.
        Err(Error::NotRecoverable) => scene.mutex.reset_for(PATIENCE),
        other => other,
    };
    for round in 0..2 {
        well(scene.mutex.lock_for_as(&scene.other, PATIENCE).map(drop))
            .unwrap_or_else(|error| panic!("{when}, the other, {round}: {error}"));
        well(scene.mutex.lock_for(PATIENCE).map(drop))
            .unwrap_or_else(|error| panic!("{when}, the thread, {round}: {error}"));
    }
}

#[test]
fn a_register_of_nobodys_is_cleared_by_whoever_meets_it() {
    let _no_hang = NoHang::for_seconds(60);
    let scene = Scene::set();
    for value in GARBAGE {
        scene.poke(support::format::SLOTS_IN_USE, SHAPE.participants);
        scene.poke(SHAPE.number(REGION, NOBODY), value);
        scene.mutex.try_lock().unwrap_or_else(|error| panic!("{value:#x}: {error}")).unlock().unwrap();
        everybody_gets_in(&scene, &format!("{value:#x}"));
        scene.restore();
    }
}

#[test]
fn a_register_of_one_who_is_not_at_the_lock_is_right_again_after_its_next_lock() {
    let _no_hang = NoHang::for_seconds(60);
    let scene = Scene::set();
    for value in GARBAGE {
        scene.poke(SHAPE.number(REGION, OTHER), value);
        let now = Instant::now();
        let _ = scene.mutex.lock_for(Duration::from_millis(5)).map(drop);
        assert!(now.elapsed() < PATIENCE);
        everybody_gets_in(&scene, &format!("{value:#x}"));
        scene.restore();
    }
}

#[test]
fn registers_of_the_holder_are_right_again_after_its_unlock() {
    let _no_hang = NoHang::for_seconds(60);
    let scene = Scene::set();
    for at in [SHAPE.number(REGION, OTHER), SHAPE.cell(REGION, OTHER)] {
        for value in GARBAGE {
            let guard = scene.mutex.try_lock_as(&scene.other).unwrap();
            scene.poke(at, value);
            // It may well be told that something is wrong, but it is out.
            let _ = guard.unlock();
            everybody_gets_in(&scene, &format!("{value:#x} at {at}"));
            scene.restore();
        }
    }
}

#[test]
fn one_whose_register_is_overwritten_while_it_waits_does_not_stop_the_queue() {
    let _no_hang = NoHang::for_seconds(120);
    for value in GARBAGE {
        // The holder is the thread; in the queue are the other, and behind it (or before it) a third.
        for other_first in [true, false] {
            let scene = Scene::set();
            let Scene { path, file, mutex, other, .. } = &scene;
            let third = file.participant().unwrap();
            let guard = mutex.try_lock().unwrap();
            let line = if other_first { [other, &third] } else { [&third, other] };
            let results = thread::scope(|threads| {
                let mut waiting = Vec::new();
                for participant in line {
                    waiting.push(threads.spawn(move || mutex.lock_for_as(participant, PATIENCE).map(drop)));
                    until_waiting(path, "a", waiting.len());
                }
                scene.poke(SHAPE.number(REGION, OTHER), value);
                guard.unlock().unwrap();
                waiting.into_iter().map(join).collect::<Vec<_>>()
            });
            // The lock or an error, but not until their time is up.
            for result in &results {
                assert!(!matches!(result, Err(Error::TimedOut)), "{value:#x}, {other_first}: {results:?}");
            }
            everybody_gets_in(&scene, &format!("{value:#x}"));
        }
    }
}

#[test]
fn a_fencing_token_near_the_end_is_an_error_and_leaves_nobody_in_the_line() {
    let _no_hang = NoHang::for_seconds(60);
    let scene = Scene::set();
    for value in [(1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX] {
        scene.poke(SHAPE.token(REGION), value);
        for _ in 0..2 {
            assert!(matches!(scene.mutex.try_lock(), Err(Error::Damaged { .. })), "{value:#x}");
            assert!(
                matches!(scene.mutex.try_lock_as(&scene.other), Err(Error::Damaged { .. })),
                "{value:#x}"
            );
        }
        for slot in [THREAD, OTHER] {
            assert_eq!(scene.peek(SHAPE.number(REGION, slot)), 0, "{value:#x}");
        }
        scene.restore();
        everybody_gets_in(&scene, &format!("{value:#x}"));
    }
}
