//! Participants that come and go, and those that die.

use crate::algorithms;
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::Duration,
};
use support::{NoHang, Place, elsewhere, shared::Plain, until};
use turnlock::{Error, LockFile, inspect};

/// A member that is alive and has no need of its turn is waited for; one that leaves is passed over.
#[test]
fn the_ring_waits_for_a_member_that_stands_and_not_for_one_that_left() {
    let _no_hang = NoHang::for_seconds(60);
    for algorithm in algorithms(8) {
        let place = Place::new();
        let file = LockFile::options().participants(8).open(place.lock_file()).unwrap();
        let member = file.ring_options().algorithm(algorithm).member(true).open("a").unwrap();
        let on_demand = file.ring_options().algorithm(algorithm).open("a").unwrap();
        drop(member.lock().unwrap());
        elsewhere(|| {
            // One turn is its own only after the member had its own.
            assert!(matches!(on_demand.lock_for(Duration::from_millis(20)), Err(Error::TimedOut(_))));
            assert!(matches!(on_demand.try_lock(), Err(Error::WouldBlock(_))));
        });
        let status = inspect::snapshot(place.lock_file()).unwrap();
        let lock = &status.locks[0];
        assert_eq!((lock.kind, lock.turn_of), ("ring", Some(lock.queue[0].participant.slot)));
        assert_eq!(lock.queue[0].takes_part, Some("member"));
        drop(member.lock().unwrap());
        member.leave().unwrap();
        elsewhere(|| drop(on_demand.try_lock().unwrap()));
        // And comes back.
        drop(member.lock().unwrap());
        elsewhere(|| assert!(matches!(on_demand.try_lock(), Err(Error::WouldBlock(_)))));
    }
}

/// A member that is dead is passed over, and is told of only if it had the turn.
#[test]
fn a_dead_member_is_passed_over() {
    let _no_hang = NoHang::for_seconds(60);
    for algorithm in algorithms(8) {
        for inside in [false, true] {
            let place = Place::new();
            let file = LockFile::options().participants(8).open(place.lock_file()).unwrap();
            let member = file.ring_options().algorithm(algorithm).member(true).open("a").unwrap();
            let ends_here = elsewhere(|| {
                let participant = file.participant().unwrap();
                drop(member.lock_as(&participant).unwrap());
                if inside {
                    std::mem::forget(member.lock_as(&participant).unwrap());
                }
                participant
            });
            thread::scope(|threads| {
                let waits = threads.spawn(|| {
                    let ring = file.ring_options().algorithm(algorithm).open("a").unwrap();
                    let mut guard = ring.lock().unwrap();
                    let told = guard.acquired().previous_owner_died;
                    if told {
                        guard.mark_consistent().unwrap();
                    }
                    told
                });
                until("it waits", || {
                    inspect::snapshot(place.lock_file()).unwrap().locks[0].queue.len() + usize::from(inside)
                        > 1
                });
                drop(ends_here);
                assert_eq!(waits.join().unwrap(), inside, "{algorithm:?}");
            });
        }
    }
}

/// Threads that come for a few turns, stand for a while, give up, try and end, in every order: one at a time, always,
/// and none is left waiting.
#[test]
fn one_at_a_time_whichever_threads_come_and_go() {
    let _no_hang = NoHang::for_seconds(300);
    for algorithm in algorithms(16) {
        let place = Place::new();
        let file = LockFile::options().participants(16).open(place.lock_file()).unwrap();
        let (counter, turns) = (Plain::default(), AtomicU64::new(0));
        thread::scope(|threads| {
            for thread in 0..4u64 {
                let (file, counter, turns) = (&file, &counter, &turns);
                threads.spawn(move || {
                    let turn = |guard: turnlock::Result<turnlock::TurnGuard>| match guard {
                        Ok(_guard) => {
                            counter.count();
                            turns.fetch_add(1, Relaxed);
                        }
                        Err(Error::TimedOut(_) | Error::WouldBlock(_)) => {}
                        Err(error) => panic!("{error}"),
                    };
                    for round in 0..300u64 {
                        let way = (round * 7 + thread * 3) % 11;
                        let ring =
                            file.ring_options().algorithm(algorithm).member(way == 0).open("a").unwrap();
                        match way {
                            0 => {
                                for _ in 0..5 {
                                    turn(ring.lock_for(Duration::from_millis(1)));
                                }
                                ring.leave().unwrap();
                            }
                            1 => turn(ring.try_lock()),
                            2 | 3 => turn(ring.lock_for(Duration::from_micros(way * 20))),
                            _ => turn(ring.lock()),
                        }
                    }
                });
            }
        });
        assert_eq!(counter.get(), turns.load(Relaxed), "{algorithm:?}");
        drop(file.ring_options().algorithm(algorithm).open("a").unwrap().try_lock().unwrap());
    }
}
