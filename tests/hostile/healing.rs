//! What garbage does not outlast: a register of a dead or vacant slot is cleared by the next participant that
//! meets it; one of a participant that lives, by that participant's next lock or unlock.

use crate::scene::{GARBAGE, OTHER, REGION, SHAPE, Scene, THREAD, VACANT};
use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    format::{LOCKS_BOUND, poke_u32},
    join, until_waiting,
};
use turnlock::{Error, LockFile};

/// Long enough for what takes microseconds.
const PATIENCE: Duration = Duration::from_secs(20);

fn all_get_in(scene: &Scene, when: &str) {
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
fn a_register_of_a_vacant_slot_is_cleared_by_the_participant_that_meets_it() {
    let _no_hang = NoHang::for_seconds(60);
    let scene = Scene::set();
    for value in GARBAGE {
        scene.poke(support::format::SLOTS_IN_USE, SHAPE.participants);
        scene.poke(SHAPE.number(REGION, VACANT), value);
        scene.mutex.try_lock().unwrap_or_else(|error| panic!("{value:#x}: {error}")).unlock().unwrap();
        all_get_in(&scene, &format!("{value:#x}"));
        scene.restore();
    }
}

#[test]
fn a_register_of_a_participant_that_is_not_at_the_lock_is_right_again_after_its_next_lock() {
    let _no_hang = NoHang::for_seconds(60);
    let scene = Scene::set();
    for value in GARBAGE {
        scene.poke(SHAPE.number(REGION, OTHER), value);
        let now = Instant::now();
        let _ = scene.mutex.lock_for(Duration::from_millis(5)).map(drop);
        assert!(now.elapsed() < PATIENCE);
        all_get_in(&scene, &format!("{value:#x}"));
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
            all_get_in(&scene, &format!("{value:#x} at {at}"));
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
                assert!(!matches!(result, Err(Error::TimedOut(_))), "{value:#x}, {other_first}: {results:?}");
            }
            all_get_in(&scene, &format!("{value:#x}"));
        }
    }
}

#[test]
fn a_fencing_token_near_the_end_is_an_error_and_leaves_no_participant_in_the_line() {
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
        all_get_in(&scene, &format!("{value:#x}"));
    }
}

/// The bias owner does not look at the range of the tokens: a lock with few left is not biased.
#[test]
fn a_lock_that_is_far_on_in_its_fencing_tokens_is_not_biased() {
    let _no_hang = NoHang::for_seconds(60);
    let scene = Scene::set();
    let is_biased_from = |token: u64| {
        scene.restore();
        scene.poke(SHAPE.token(REGION), token);
        (0..200).for_each(|_| scene.mutex.lock().unwrap().unlock().unwrap());
        // The bias word comes first in a region, and `held` in a cell.
        scene.peek(SHAPE.region(REGION)) != 0
    };
    assert!(is_biased_from(1));
    assert!(!is_biased_from((1 << 61) + 1));
}

/// Nor is it told that the word was overwritten; but what it took goes back, and the next one in the queue is told. (All ones
/// wrap to 0, which is no holder's token: the unlock is refused then, and the numbers begin anew.)
#[test]
fn a_fencing_token_that_is_overwritten_under_a_bias_is_found_out_in_the_queue() {
    let _no_hang = NoHang::for_seconds(60);
    let scene = Scene::set();
    for value in [1 << 62, 3 << 61, (1 << 63) - 1, 1 << 63, 0xdead_beef_dead_beef] {
        scene.restore();
        (0..200).for_each(|_| scene.mutex.lock().unwrap().unlock().unwrap());
        assert_ne!(scene.peek(SHAPE.region(REGION)), 0);
        scene.poke(SHAPE.token(REGION), value);
        drop(scene.mutex.lock());
        assert_eq!(scene.peek(SHAPE.cell(REGION, THREAD)), 0, "{value:#x}");
        let other = scene.mutex.try_lock_as(&scene.other);
        let is_far_on = value >= (1 << 63) - 2;
        assert_eq!(matches!(other, Err(Error::Damaged { .. })), is_far_on, "{value:#x}: {other:?}");
        drop(other);
        scene.restore();
        all_get_in(&scene, &format!("{value:#x}"));
    }
}

/// Words: the lock file, and a kind. Takes such a lock, has the header say that no lock was ever named, and waits to be killed.
pub fn dying(words: &[String]) {
    let (path, kind) = (Path::new(&words[0]), words[1].as_str());
    let file = LockFile::open(path).unwrap();
    macro_rules! take {
        ($opened:expr, |$lock:ident| $taken:expr) => {{
            // Neither is dropped: the lock is held until the end.
            let $lock = Box::leak(Box::new($opened.unwrap()));
            std::mem::forget($taken.unwrap());
        }};
    }
    match kind {
        "mutex" => take!(file.mutex("a"), |mutex| mutex.lock()),
        "reader" => take!(file.rwlock("a"), |rwlock| rwlock.read()),
        "writer" => take!(file.rwlock("a"), |rwlock| rwlock.write()),
        "permit" => take!(file.semaphore("a"), |permits| permits.acquire(1)),
        "range" => take!(file.range_lock("a"), |ranges| ranges.write(0..9)),
        "key" => take!(file.keyed_lock("a"), |keys| keys.write("k")),
        "group" => take!(file.group_lock("a"), |groups| groups.lock(1)),
        _ => take!(file.turn_ring("a"), |ring| ring.lock()),
    }
    poke_u32(path, LOCKS_BOUND, 0);
    say("inside");
    hear();
}

#[test]
fn a_count_of_locks_that_was_overwritten_keeps_no_waiter_behind_the_dead() {
    const LIMIT: Duration = Duration::from_secs(10);
    let _no_hang = NoHang::for_seconds(120);
    macro_rules! dies {
        ($kind:literal, |$file:ident| $opened:expr, |$lock:ident| $wanted:expr) => {
            for is_seen_first in [true, false] {
                let place = Place::new();
                let $file = LockFile::open(place.lock_file()).unwrap();
                let $lock = $opened.unwrap();
                if is_seen_first {
                    // By the queue, not by a bias of ours.
                    drop($wanted.unwrap());
                }
                let mut dying = Actor::start("dying", &[place.lock_file().to_str().unwrap(), $kind]);
                dying.expect("inside");
                // In a slot above it, so that scans go on to look at the dead one's.
                let _above = $file.participant().unwrap();
                dying.kill();
                let wanted = $wanted.unwrap_or_else(|error| panic!("{}: {error}", $kind));
                let is_told = wanted.acquired().previous_owner_died;
                assert_eq!(is_told, !["reader", "permit"].contains(&$kind), "{}", $kind);
            }
        };
    }
    dies!("mutex", |file| file.mutex("a"), |mutex| mutex.lock_for(LIMIT));
    dies!("mutex", |file| file.mutex_options().patience(Duration::ZERO).open("a"), |mutex| mutex
        .lock_for(LIMIT));
    dies!("reader", |file| file.rwlock("a"), |rwlock| rwlock.write_for(LIMIT));
    dies!("writer", |file| file.rwlock("a"), |rwlock| rwlock.read_for(LIMIT));
    dies!("permit", |file| file.semaphore_options().permits(2).open("a"), |permits| permits
        .acquire_for(2, LIMIT));
    dies!("range", |file| file.range_lock("a"), |ranges| ranges.read_for(5..6, LIMIT));
    dies!("key", |file| file.keyed_lock("a"), |keys| keys.write_for("k", LIMIT));
    dies!("group", |file| file.group_lock("a"), |groups| groups.lock_for(2, LIMIT));
    dies!("ring", |file| file.turn_ring("a"), |ring| ring.lock_for(LIMIT));
}
