//! What every lock promises, whichever its kind and algorithm, and whichever participant takes it.

use crate::{
    stage::{Stage, take_and_give_back},
    way::{Cancel, Held, Party, Wait, Way},
};
use std::{
    collections::BTreeSet,
    sync::{
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};
use support::{elsewhere, join, limit, shared::Plain, until};
use turnlock::status::*;

const CROWD: u64 = 8;

/// Many threads take the lock over and over and run `section` inside, with the fencing token.
fn crowd<W: Way>(stage: &Stage<W>, section: impl Fn(u64) + Sync) {
    thread::scope(|threads| {
        for _ in 0..CROWD {
            threads.spawn(|| {
                let party = stage.party("a");
                for _ in 0..W::ROUNDS {
                    let held = party.lock(Wait::Forever).unwrap();
                    section(held.fencing_token());
                    held.unlock().unwrap();
                }
            });
        }
    });
}

pub fn a_plain_counter_loses_nothing<W: Way>() {
    let stage = Stage::<W>::new();
    let (counter, inside) = (Plain::default(), AtomicBool::new(false));
    crowd(&stage, |_| {
        assert!(!inside.swap(true, SeqCst), "another participant is inside");
        let seen = counter.get();
        for _ in 0..seen % 64 {
            std::hint::spin_loop();
        }
        counter.set(seen + 1);
        inside.store(false, SeqCst);
    });
    assert_eq!(counter.get(), CROWD * W::ROUNDS);
}

pub fn fencing_tokens_strictly_increase<W: Way>() {
    let stage = Stage::<W>::new();
    let last = Plain::default();
    crowd(&stage, |token| {
        assert!(token > last.get(), "{token} after {}", last.get());
        last.set(token);
    });
    let path = stage.path();
    let Stage { way, place, .. } = stage;
    drop(way);
    let again = W::open(&path, 1, 1).unwrap();
    assert!(
        take_and_give_back(&again.party("a").unwrap()) > last.get(),
        "after the file was closed and opened"
    );
    drop((again, place));
}

pub fn a_try_at_a_held_lock_would_block<W: Way>() {
    let stage = Stage::<W>::new();
    let party = stage.party("a");
    let held = party.lock(Wait::Never).unwrap();
    assert_eq!(stage.another_thread_is_told("a", Wait::Never), Some(TURNLOCK_ERROR_WOULD_BLOCK));
    held.unlock().unwrap();
    stage.another_thread_can_take("a");
}

pub fn a_try_at_a_lock_that_never_rests_comes_back<W: Way>() {
    let stage = Stage::<W>::new();
    let stop = AtomicBool::new(false);
    thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                let party = stage.party("a");
                while !stop.load(SeqCst) {
                    party.lock(Wait::Forever).unwrap().unlock().unwrap();
                }
            });
        }
        let party = stage.party("a");
        for _ in 0..100 {
            let began = Instant::now();
            match party.lock(Wait::Never) {
                Ok(held) => held.unlock().unwrap(),
                Err(told) => assert_eq!(told, TURNLOCK_ERROR_WOULD_BLOCK),
            }
            assert!(began.elapsed() < limit::seconds(60));
        }
        stop.store(true, SeqCst);
    });
}

pub fn a_time_limit_ends_the_wait_and_not_earlier<W: Way>() {
    let stage = Stage::<W>::new();
    let party = stage.party("a");
    let held = party.lock(Wait::Never).unwrap();
    for limit in [0, 1, 30, 120].map(Duration::from_millis) {
        let waited = elsewhere(|| {
            let party = stage.party("a");
            let began = Instant::now();
            assert_eq!(party.lock(Wait::For(limit)).err(), Some(TURNLOCK_ERROR_TIMED_OUT));
            began.elapsed()
        });
        assert!(waited >= limit, "{waited:?} of {limit:?}");
        assert!(waited < limit + limit::of_processes(), "{waited:?} of {limit:?}");
    }
    held.unlock().unwrap();
    assert!(
        party.lock(Wait::For(Duration::ZERO)).is_ok_and(|held| held.unlock().is_ok()),
        "a free lock is given"
    );
}

pub fn a_wait_that_timed_out_leaves_nothing_in_the_queue<W: Way>() {
    // On a machine that is too busy a short one is over before the other waits behind it, and shows nothing.
    let limits = [400, 4_000, 40_000].map(Duration::from_millis);
    assert!(limits.into_iter().any(leaves_nothing_behind::<W>), "none of {limits:?} was long enough");
}

/// Returns whether both waited at once.
fn leaves_nothing_behind<W: Way>(limit: Duration) -> bool {
    let stage = Stage::<W>::new();
    let party = stage.party("a");
    let held = party.lock(Wait::Never).unwrap();
    let both_waited = thread::scope(|threads| {
        let impatient = threads.spawn(|| stage.party("a").lock(Wait::For(limit)).err());
        until("it waits, or has waited", || impatient.is_finished() || stage.waits("a", 1));
        let patient = threads.spawn(|| {
            let party = stage.party("a");
            party.lock(Wait::Forever).unwrap().unlock().unwrap();
        });
        until("both wait, or one has waited", || impatient.is_finished() || stage.waits("a", 2));
        let both_waited = stage.waits("a", 2);
        assert_eq!(join(impatient), Some(TURNLOCK_ERROR_TIMED_OUT));
        if both_waited {
            assert_eq!(stage.how_many_wait("a"), 1);
        }
        held.unlock().unwrap();
        join(patient);
        both_waited
    });
    assert_eq!(stage.how_many_wait("a"), 0);
    both_waited
}

pub fn taking_it_twice_is_a_deadlock_and_changes_nothing<W: Way>() {
    let stage = Stage::<W>::new();
    let party = stage.party("a");
    let held = party.lock(Wait::Forever).unwrap();
    for wait in [Wait::Forever, Wait::For(Duration::from_millis(1)), Wait::Never] {
        assert_eq!(party.lock(wait).err(), Some(TURNLOCK_ERROR_DEADLOCK), "{wait:?}");
        assert_eq!(party.at("a").lock(wait).err(), Some(TURNLOCK_ERROR_DEADLOCK), "{wait:?}, another handle");
    }
    assert_eq!(stage.another_thread_is_told("a", Wait::Never), Some(TURNLOCK_ERROR_WOULD_BLOCK));
    held.unlock().unwrap();
    stage.another_thread_can_take("a");
}

pub fn another_thread_can_cancel_a_wait<W: Way>() {
    let stage = Stage::<W>::new();
    let party = stage.party("a");
    let held = party.lock(Wait::Never).unwrap();
    let (told, waiter) = mpsc::channel();
    thread::scope(|threads| {
        let cancelled = threads.spawn(|| {
            let party = stage.party("a");
            told.send(party.canceller()).unwrap();
            party.lock(Wait::Forever).err()
        });
        let waiter = waiter.recv().unwrap();
        stage.until_waiting("a", 1);
        waiter.cancel();
        assert_eq!(join(cancelled), Some(TURNLOCK_ERROR_CANCELLED));
    });
    assert_eq!(stage.how_many_wait("a"), 0);
    held.unlock().unwrap();
    stage.another_thread_can_take("a");
}

pub fn a_cancel_at_any_moment_ends_one_wait<W: Way>() {
    const WAITS: u32 = 300;
    let stage = Stage::<W>::new();
    let party = stage.party("a");
    let held = party.lock(Wait::Never).unwrap();
    let (told, waiter) = mpsc::channel();
    let (ended, one_ended) = mpsc::channel();
    thread::scope(|threads| {
        let waits = threads.spawn(|| {
            let party = stage.party("a");
            told.send(party.canceller()).unwrap();
            for _ in 0..WAITS {
                assert_eq!(party.lock(Wait::Forever).err(), Some(TURNLOCK_ERROR_CANCELLED));
                ended.send(()).unwrap();
            }
            party.lock(Wait::For(Duration::from_millis(50))).err()
        });
        let waiter = waiter.recv().unwrap();
        for wait in 0..WAITS {
            for _ in 0..wait * 40 {
                std::hint::spin_loop();
            }
            waiter.cancel();
            one_ended.recv().unwrap();
        }
        assert_eq!(join(waits), Some(TURNLOCK_ERROR_TIMED_OUT), "nothing was left of the last cancel");
    });
    held.unlock().unwrap();
}

pub fn a_cancel_requested_before_the_wait_is_not_lost_and_spares_a_free_lock<W: Way>() {
    let stage = Stage::<W>::new();
    let holder = stage.party("held");
    let held = holder.lock(Wait::Never).unwrap();
    elsewhere(|| {
        let free = stage.party("free");
        free.canceller().cancel();
        for wait in [Wait::Forever, Wait::For(Duration::from_secs(9)), Wait::Never] {
            free.lock(wait).unwrap().unlock().unwrap();
        }
        let contended = free.at("held");
        assert_eq!(
            contended.lock(Wait::Never).err(),
            Some(TURNLOCK_ERROR_WOULD_BLOCK),
            "a try does not wait"
        );
        assert_eq!(contended.lock(Wait::Forever).err(), Some(TURNLOCK_ERROR_CANCELLED));
        // Taken now; and one that is taken back is gone too.
        contended.canceller().cancel();
        contended.canceller().take_back();
        let wait = Wait::For(Duration::from_millis(30));
        assert_eq!(contended.lock(wait).err(), Some(TURNLOCK_ERROR_TIMED_OUT));
    });
    held.unlock().unwrap();
}

pub fn named_locks_are_independent<W: Way>() {
    let stage = Stage::<W>::new();
    let a = stage.party("a");
    let (b, c) = (a.at("b"), a.at("c"));
    let held_a = a.lock(Wait::Never).unwrap();
    let held_b = b.lock(Wait::Never).unwrap();
    let held_c = c.lock(Wait::Never).unwrap();
    stage.another_thread_can_take("d");
    // Given back in the order in which they were taken; each frees itself alone.
    for (name, others, give_back) in
        [("a", ["b", "c"].as_slice(), held_a), ("b", &["c"], held_b), ("c", &[], held_c)]
    {
        give_back.unlock().unwrap();
        stage.another_thread_can_take(name);
        for other in others {
            assert_eq!(stage.another_thread_is_told(other, Wait::Never), Some(TURNLOCK_ERROR_WOULD_BLOCK));
        }
    }
}

pub fn names_have_1_to_63_bytes<W: Way>() {
    let stage = Stage::<W>::new();
    let longest = ["x".repeat(63), "é".repeat(31) + "y"];
    for name in ["x", "a lock / with: anything\n"].into_iter().chain(longest.iter().map(String::as_str)) {
        stage.another_thread_can_take(name);
    }
    for name in [String::new(), "x".repeat(64), "é".repeat(32)] {
        assert_eq!(stage.way.party(&name).err(), Some(TURNLOCK_ERROR_BAD_NAME), "{name:?}");
    }
    let status = turnlock::inspect::snapshot(stage.path()).unwrap();
    let names: BTreeSet<_> = status.locks.iter().map(|lock| lock.name.as_str()).collect();
    assert_eq!(names, BTreeSet::from(["x", "a lock / with: anything\n", &longest[0], &longest[1]]));
}

pub fn a_full_directory_is_an_error_and_the_named_locks_stay<W: Way>() {
    let stage = Stage::<W>::with_room_for(8, 3);
    let names = ["a", "b", "c"];
    for name in names {
        stage.party(name);
    }
    assert_eq!(stage.way.party("d").err(), Some(TURNLOCK_ERROR_LOCKS_FULL));
    for name in names {
        stage.another_thread_can_take(name);
    }
}

pub fn threads_that_name_the_same_locks_at_once_agree<W: Way>() {
    let stage = Stage::<W>::with_room_for(32, 16);
    let go = AtomicBool::new(false);
    let counters: [Plain; 16] = Default::default();
    thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| {
                until("all are here", || go.load(SeqCst));
                for (at, counter) in counters.iter().enumerate() {
                    let party = stage.party(&format!("lock {at}"));
                    let held = party.lock(Wait::Forever).unwrap();
                    counter.count();
                    held.unlock().unwrap();
                }
            });
        }
        go.store(true, SeqCst);
    });
    assert!(counters.iter().all(|counter| counter.get() == 8));
    assert_eq!(turnlock::inspect::snapshot(stage.path()).unwrap().locks.len(), 16);
}
