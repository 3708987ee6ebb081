//! What happens after a holder died inside.

use crate::{
    stage::{Stage, take_and_give_back},
    way::{Held, Party, Wait, Way},
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
    thread,
    time::Duration,
};
use support::{elsewhere, join};
use turnlock::status::*;

pub struct Dead {
    pub fencing_token: u64,
    pub thread: u32,
}

/// A thread takes the lock and ends inside. Through the Rust API, since a holder's death is the same for all.
pub fn a_holder_dies<W: Way>(stage: &Stage<W>, name: &str) -> Dead {
    stage.party(name);
    elsewhere(|| {
        let party = stage.by_thread(name);
        let guard = party.lock(Wait::Forever).unwrap();
        let dead =
            Dead { fencing_token: guard.fencing_token(), thread: nix::unistd::gettid().as_raw() as u32 };
        std::mem::forget(guard);
        dead
    })
}

pub fn the_next_holder_is_told_who_died<W: Way>() {
    let stage = Stage::<W>::new();
    assert_eq!(stage.party("a").previous_owner(), None);
    let dead = a_holder_dies(&stage, "a");
    let party = stage.party("a");
    let mut held = party.lock(Wait::Never).unwrap();
    assert!(held.previous_owner_died());
    assert!(held.fencing_token() > dead.fencing_token);
    let (token, pid, thread, label) = party.previous_owner().unwrap();
    assert_eq!((token, pid, thread), (dead.fencing_token, std::process::id(), dead.thread));
    assert!(label.starts_with("contract"), "{label}");
    held.mark_consistent().unwrap();
    held.unlock().unwrap();
    assert_eq!(
        party.previous_owner().map(|(token, ..)| token),
        Some(dead.fencing_token),
        "it stays on record"
    );
    assert_eq!(stage.party("b").previous_owner(), None, "and is of this lock only");
}

pub fn marked_consistent_the_lock_is_well_again<W: Way>() {
    let stage = Stage::<W>::new();
    a_holder_dies(&stage, "a");
    let party = stage.party("a");
    let mut held = party.lock(Wait::Never).unwrap();
    assert!(held.previous_owner_died());
    held.mark_consistent().unwrap();
    assert_eq!(held.mark_consistent().err(), Some(TURNLOCK_ERROR_NOT_INCONSISTENT), "once is enough");
    held.unlock().unwrap();
    stage.another_thread_can_take("a");
    take_and_give_back(&party);
}

pub fn nothing_is_to_be_marked_where_no_holder_died<W: Way>() {
    let stage = Stage::<W>::new();
    let party = stage.party("a");
    let mut held = party.lock(Wait::Never).unwrap();
    assert_eq!(held.mark_consistent().err(), Some(TURNLOCK_ERROR_NOT_INCONSISTENT));
    held.unlock().unwrap();
    stage.another_thread_can_take("a");
}

pub fn unlocked_without_a_word_it_is_closed_for_everyone_until_a_reset<W: Way>() {
    let stage = Stage::<W>::new();
    let dead = a_holder_dies(&stage, "a");
    let party = stage.party("a");
    let held = party.lock(Wait::Never).unwrap();
    assert!(held.previous_owner_died());
    thread::scope(|threads| {
        // Those that wait in the queue already, too.
        let waiters = [1, 2].map(|waiting| {
            let waiter = threads.spawn(|| stage.party("a").lock(Wait::Forever).err());
            stage.until_waiting("a", waiting);
            waiter
        });
        held.unlock().unwrap();
        for waiter in waiters {
            assert_eq!(join(waiter), Some(TURNLOCK_ERROR_NOT_RECOVERABLE));
        }
    });
    for wait in [Wait::Never, Wait::For(Duration::from_secs(9)), Wait::Forever] {
        assert_eq!(party.lock(wait).err(), Some(TURNLOCK_ERROR_NOT_RECOVERABLE));
        assert_eq!(stage.another_thread_is_told("a", wait), Some(TURNLOCK_ERROR_NOT_RECOVERABLE));
    }
    stage.another_thread_can_take("b");
    party.reset(Wait::Never).unwrap();
    assert!(stage.another_thread_can_take("a") > dead.fencing_token);
    take_and_give_back(&party);
}

pub fn a_reset_waits_its_turn<W: Way>() {
    let stage = Stage::<W>::new();
    let party = stage.party("a");
    let held = party.lock(Wait::Never).unwrap();
    elsewhere(|| {
        let (other, limit) = (stage.party("a"), Wait::For(Duration::from_millis(5)));
        assert_eq!(other.reset(Wait::Never).err(), Some(TURNLOCK_ERROR_WOULD_BLOCK));
        assert_eq!(other.reset(limit).err(), Some(TURNLOCK_ERROR_TIMED_OUT));
    });
    thread::scope(|threads| {
        let reset = threads.spawn(|| stage.party("a").reset(Wait::Forever));
        stage.until_waiting("a", 1);
        held.unlock().unwrap();
        join(reset).unwrap();
    });
    take_and_give_back(&party);
}

pub fn a_second_death_before_the_repair_is_told_of_again<W: Way>() {
    let stage = Stage::<W>::new();
    let first = a_holder_dies(&stage, "a");
    let second = a_holder_dies(&stage, "a");
    assert!(second.fencing_token > first.fencing_token);
    let party = stage.party("a");
    let mut held = party.lock(Wait::Never).unwrap();
    assert!(held.previous_owner_died());
    assert_eq!(party.previous_owner().map(|(token, ..)| token), Some(second.fencing_token));
    held.mark_consistent().unwrap();
    held.unlock().unwrap();
    stage.another_thread_can_take("a");
}

pub fn a_waiter_that_is_in_the_queue_already_is_told<W: Way>() {
    let stage = Stage::<W>::new();
    let (holds, it_holds) = mpsc::channel();
    thread::scope(|threads| {
        let dead = threads.spawn(|| {
            let party = stage.by_thread("a");
            let guard = party.lock(Wait::Forever).unwrap();
            holds.send(()).unwrap();
            stage.until_waiting("a", 2);
            std::mem::forget(guard);
        });
        it_holds.recv().unwrap();
        // The first in the queue is told and heals; the second hears nothing of it.
        let waiters = [1, 2].map(|_| {
            threads.spawn(|| {
                let party = stage.party("a");
                let mut held = party.lock(Wait::Forever).unwrap();
                let told = held.previous_owner_died();
                if told {
                    held.mark_consistent().unwrap();
                }
                held.unlock().unwrap();
                told
            })
        });
        join(dead);
        assert_eq!(waiters.map(join).into_iter().filter(|told| *told).count(), 1);
    });
}

pub fn a_thread_that_ends_inside_is_told_of<W: Way>() {
    let stage = Stage::<W>::new();
    elsewhere(|| {
        let party = stage.party("a");
        std::mem::forget(party.lock(Wait::Never).unwrap());
    });
    let party = stage.party("a");
    let mut held = party.lock(Wait::Never).unwrap();
    assert!(held.previous_owner_died());
    held.mark_consistent().unwrap();
    held.unlock().unwrap();
}

pub fn a_guard_dropped_by_a_panic_is_told_of<W: Way>() {
    let stage = Stage::<W>::new();
    let party = stage.party("a");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _guard = party.lock(Wait::Never).unwrap();
        // Without the hook: the report of a panic that is meant would only worry a reader.
        std::panic::resume_unwind(Box::new("meant"));
    }));
    assert!(panicked.is_err());
    // The thread that panicked is still there, and is told like any other.
    let mut held = party.lock(Wait::Never).unwrap();
    assert!(held.previous_owner_died());
    held.mark_consistent().unwrap();
    held.unlock().unwrap();
    stage.another_thread_can_take("a");
}

pub fn a_guard_taken_and_dropped_while_a_panic_unwinds_is_not_told_of<W: Way>() {
    struct CleanUp<'a, W: Way>(&'a Stage<W>);
    impl<W: Way> Drop for CleanUp<'_, W> {
        fn drop(&mut self) {
            drop(self.0.party("a").lock(Wait::Never).unwrap());
        }
    }
    let stage = Stage::<W>::new();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _clean_up = CleanUp(&stage);
        std::panic::resume_unwind(Box::new("meant"));
    }));
    assert!(panicked.is_err());
    stage.another_thread_can_take("a");
}
