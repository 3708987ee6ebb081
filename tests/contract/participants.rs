//! What explicit participants promise: the slot is theirs, whichever thread makes the call.

use crate::{
    stage::Stage,
    way::{Held, Party, Wait, Way},
};
use std::{
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread,
};
use support::{elsewhere, join, shared::Plain};
use turnlock::status::*;

pub fn taken_in_one_thread_it_is_given_back_in_another<W: Way>()
where
    W::Party: Sync,
    for<'a> <W::Party as Party>::Held<'a>: Send,
{
    let stage = Stage::<W>::new();
    let party = stage.party("a");
    let held = elsewhere(|| party.lock(Wait::Never).unwrap());
    assert_eq!(stage.another_thread_is_told("a", Wait::Never), Some(TURNLOCK_ERROR_WOULD_BLOCK));
    held.unlock().unwrap();
    stage.another_thread_can_take("a");
    // And the other way round.
    let held = party.lock(Wait::Never).unwrap();
    elsewhere(move || held.unlock().unwrap());
    stage.another_thread_can_take("a");
}

pub fn two_threads_at_once_are_one_too_many<W: Way>()
where
    W::Party: Sync,
    for<'a> <W::Party as Party>::Held<'a>: Send,
{
    let stage = Stage::<W>::new();
    let holder = stage.party("a");
    let held = holder.lock(Wait::Never).unwrap();
    let party = stage.party("a");
    let (same_elsewhere, its_own) = (party.at("b"), party.at("c"));
    let own = its_own.lock(Wait::Never).unwrap();
    thread::scope(|threads| {
        let waiter = threads.spawn(|| party.lock(Wait::Forever).unwrap().unlock());
        stage.until_waiting("a", 1);
        for wait in [Wait::Never, Wait::Forever] {
            assert_eq!(same_elsewhere.lock(wait).err(), Some(TURNLOCK_ERROR_HOLD_BUSY));
            assert_eq!(party.lock(wait).err(), Some(TURNLOCK_ERROR_HOLD_BUSY));
        }
        // Giving back is allowed, or two that wait for each other's lock could not be helped.
        own.unlock().unwrap();
        stage.another_thread_can_take("c");
        held.unlock().unwrap();
        join(waiter).unwrap();
    });
    same_elsewhere.lock(Wait::Never).unwrap().unlock().unwrap();
}

pub fn a_thread_and_its_participants_are_each_their_own<W: Way>() {
    let stage = Stage::<W>::new();
    let (one, two) = (stage.party("a"), stage.party("a"));
    let held = one.lock(Wait::Never).unwrap();
    assert_eq!(two.lock(Wait::Never).err(), Some(TURNLOCK_ERROR_WOULD_BLOCK));
    let by_thread = stage.by_thread("a");
    assert_eq!(by_thread.lock(Wait::Never).err(), Some(TURNLOCK_ERROR_WOULD_BLOCK));
    held.unlock().unwrap();
    by_thread.lock(Wait::Never).unwrap().unlock().unwrap();
    two.lock(Wait::Never).unwrap().unlock().unwrap();
}

pub fn each_participant_has_a_slot_until_it_is_closed<W: Way>() {
    let stage = Stage::<W>::with_room_for(4, 1);
    let slots = || turnlock::inspect::snapshot(stage.path()).unwrap().participants.len();
    let first = stage.party("a");
    // The thread that named the lock has one too.
    assert_eq!(slots(), 2);
    let (second, third) = (stage.party("a"), stage.party("a"));
    assert_eq!(slots(), 4);
    assert_eq!(stage.way.party("a").err(), Some(TURNLOCK_ERROR_PARTICIPANTS_FULL));
    drop(second);
    assert_eq!(slots(), 3);
    let held = third.lock(Wait::Never).unwrap();
    let fourth = stage.party("a");
    assert_eq!(fourth.lock(Wait::Never).err(), Some(TURNLOCK_ERROR_WOULD_BLOCK));
    held.unlock().unwrap();
    drop((first, third, fourth));
    assert_eq!(slots(), 1);
}

/// The second thread comes while the first one takes the lock again and again, once in each participant's life: at another
/// moment each time.
pub fn a_second_thread_in_the_midst_of_the_first_ones_turns<W: Way>()
where
    W::Party: Sync,
    for<'a> <W::Party as Party>::Held<'a>: Send,
{
    const PARTICIPANTS: u32 = 60;
    let stage = Stage::<W>::with_room_for(8, 2);
    let counter = Plain::default();
    let mut turns = 0;
    for participant in 0..PARTICIPANTS {
        let party = stage.party("a");
        let (inside, first_is_at_it) = (AtomicBool::new(false), AtomicBool::new(false));
        let turn = || match party.lock(Wait::Never) {
            Ok(held) => {
                assert!(!inside.swap(true, SeqCst), "both are inside");
                counter.set(counter.get() + 1);
                inside.store(false, SeqCst);
                held.unlock().unwrap();
                true
            }
            Err(TURNLOCK_ERROR_HOLD_BUSY | TURNLOCK_ERROR_DEADLOCK) => false,
            Err(error) => panic!("{error}"),
        };
        let many = |count: u64| (0..count).filter(|_| turn()).count() as u64;
        turns += thread::scope(|threads| {
            let first = threads.spawn(|| {
                let before = many(W::ROUNDS / 10);
                first_is_at_it.store(true, SeqCst);
                before + many(W::ROUNDS)
            });
            while !first_is_at_it.load(SeqCst) {
                thread::yield_now();
            }
            for _ in 0..participant * 7 {
                std::hint::spin_loop();
            }
            let second = many(W::ROUNDS / 10);
            second + join(first)
        });
        // And as one whose turns no other thread disturbs.
        assert_eq!(many(3), 3);
        turns += 3;
    }
    assert_eq!(counter.get(), turns);
}
