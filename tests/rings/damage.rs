//! What becomes of a ring whose file was overwritten.

use crate::algorithms;
use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    thread,
    time::Duration,
};
use support::{
    Dice, NoHang, Place, elsewhere,
    format::{Format, peek_u64, poke_u32, poke_u64},
    limit,
};
use turnlock::{Error, LockFile, RingAlgorithm, inspect};

const SLOTS: u32 = 8;
const FORMAT: Format = Format { participants: SLOTS as u64, locks: 2 };

fn open(place: &Place) -> LockFile {
    LockFile::options().participants(SLOTS).locks(2).open(place.lock_file()).unwrap()
}

/// Anything in states, links and memberships, again and again, while three stand in the ring: the turns go on, and once
/// they are not overwritten any more, it is one at a time.
#[test]
fn the_turn_goes_on_whatever_is_written_over_it() {
    let _no_hang = NoHang::for_seconds(300);
    for algorithm in algorithms(SLOTS) {
        let place = Place::new();
        let file = open(&place);
        let ring = file.ring_options().algorithm(algorithm).member(true).open("a").unwrap();
        let (turns, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        let (inside, watched, crowds) = (AtomicU64::new(0), AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    while !stop.load(Relaxed) {
                        match ring.lock_for(Duration::from_secs(20)) {
                            Ok(mut guard) => {
                                if guard.acquired().previous_owner_died {
                                    guard.mark_consistent().unwrap();
                                }
                                let others = inside.fetch_add(1, Relaxed);
                                if others > 0 && watched.load(Relaxed) {
                                    crowds.fetch_add(1, Relaxed);
                                }
                                turns.fetch_add(1, Relaxed);
                                inside.fetch_sub(1, Relaxed);
                            }
                            // Raynal's ring with several turns at once.
                            Err(Error::NotRecoverable) => ring.reset().unwrap(),
                            Err(error) => panic!("{algorithm:?}: {error}"),
                        }
                    }
                    ring.leave().unwrap();
                });
            }
            let mut dice = Dice(7);
            for _ in 0..60 {
                let before = turns.load(Relaxed);
                for _ in 0..3 {
                    let (slot, value) = (dice.roll(u64::from(SLOTS)), dice.roll(u64::MAX));
                    let small = dice.roll(70);
                    let at = FORMAT.ring_state(1, slot);
                    match dice.roll(5) {
                        0 => poke_u64(&place.lock_file(), at, value),
                        1 => poke_u64(&place.lock_file(), at + 8, value),
                        2 => poke_u64(
                            &place.lock_file(),
                            at + 8,
                            value << 32 | (small % 9) | (small % 8) << 16,
                        ),
                        // Only where no participant is: a living one that does not take the turn that it seems to
                        // want is waited for.
                        3 => poke_u32(
                            &place.lock_file(),
                            FORMAT.ring_state(1, 4 + slot % 4) + 16,
                            small as u32,
                        ),
                        _ => poke_u64(&place.lock_file(), at, small),
                    }
                }
                until_turns(&turns, before + 20, &place, algorithm);
            }
            // From here on nothing is overwritten.
            until_turns(&turns, turns.load(Relaxed) + 2_000, &place, algorithm);
            watched.store(true, Relaxed);
            until_turns(&turns, turns.load(Relaxed) + 2_000, &place, algorithm);
            stop.store(true, Relaxed);
        });
        assert_eq!(crowds.into_inner(), 0, "{algorithm:?}: two at once, long after");
    }
}

fn until_turns(turns: &AtomicU64, enough: u64, place: &Place, algorithm: RingAlgorithm) {
    let began = std::time::Instant::now();
    while turns.load(Relaxed) < enough {
        assert!(
            began.elapsed() < limit::of_processes(),
            "{algorithm:?}: no turns: {:#?}",
            inspect::snapshot(place.lock_file()).unwrap().locks[0]
        );
        thread::sleep(Duration::from_micros(200));
    }
}

/// Two turns at once on Raynal's ring: a waiter sees it, the ring is closed for everyone, and a reset begins it
/// anew.
#[test]
fn several_turns_at_once_close_raynals_ring_until_a_reset() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = open(&place);
    let member = file.ring_options().member(true).open("a").unwrap();
    let others = [0; 3].map(|_| file.participant().unwrap());
    let slots = || -> Vec<u64> {
        let status = inspect::snapshot(place.lock_file()).unwrap();
        status.locks[0].queue.iter().map(|entry| entry.participant.slot as u64).collect()
    };
    // They come in one after the other; the one that has its turn passes it on, so that all are on the ring.
    drop(member.lock_as(&others[0]).unwrap());
    for late in &others[1..] {
        assert!(matches!(member.lock_for_as(late, Duration::ZERO), Err(Error::TimedOut(_))));
    }
    for turn in &others {
        drop(member.lock_as(turn).unwrap());
    }
    let slots = slots();
    assert_eq!(slots.len(), 3);
    // The one that is next, a round behind: it has the turn too, and the one after it will take one of the two for
    // none.
    let at = FORMAT.ring_state(1, slots[1]);
    let n = u64::from(SLOTS);
    poke_u64(&place.lock_file(), at, (peek_u64(&place.lock_file(), at) + n * n - n) % (n * n));
    let refused = elsewhere(|| file.turn_ring("a").unwrap().lock().map(drop));
    assert!(matches!(refused, Err(Error::NotRecoverable)), "{refused:?}");
    assert!(matches!(member.lock_as(&others[0]).map(drop), Err(Error::NotRecoverable)));
    let status = inspect::snapshot(place.lock_file()).unwrap();
    assert_eq!(status.locks[0].state, "not_recoverable");
    assert_eq!(status.locks[0].previous_owner.as_ref().unwrap().label, "somebody who overwrote the ring");
    for other in &others {
        member.leave_as(other).unwrap();
    }
    member.reset().unwrap();
    member.leave().unwrap();
    elsewhere(|| drop(file.turn_ring("a").unwrap().try_lock().unwrap()));
}
