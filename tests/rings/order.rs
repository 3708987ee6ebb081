//! The order of the turns.

use crate::algorithms;
use std::{
    sync::{
        Barrier, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};
use support::{NoHang, Place, until};
use turnlock::{Error, LockFile, RingAlgorithm, inspect};

const PARTICIPANTS: u32 = 8;

/// How many turns each order is watched for; `TURNLOCK_TURNS` for more.
fn turns() -> u64 {
    std::env::var("TURNLOCK_TURNS").ok().and_then(|turns| turns.parse().ok()).unwrap_or(20_000)
}

/// The order in which a ring serves the slots that stand in it.
fn order_of(algorithm: RingAlgorithm, members: &[usize]) -> Vec<usize> {
    let step = if let RingAlgorithm::Sum { step } = algorithm { step as usize } else { 1 };
    let n = PARTICIPANTS as usize;
    let all = (0..n).map(|turn| turn * step % n);
    all.filter(|slot| members.contains(slot)).collect()
}

fn my_slot(file: &LockFile) -> usize {
    let (path, me) = (file.path().to_owned(), nix::unistd::gettid().as_raw() as u32);
    let status = inspect::snapshot(path).unwrap();
    status.participants.iter().find(|participant| participant.thread == me).unwrap().slot
}

/// P1, P2, ..., Pn, P1, ...: exactly, turn after turn, whichever the ring.
#[test]
fn the_turn_goes_round_exactly_among_members() {
    let _no_hang = NoHang::for_seconds(600);
    for algorithm in algorithms(PARTICIPANTS) {
        for how_many in [2, 3, 5] {
            let place = Place::new();
            let file = LockFile::options().participants(PARTICIPANTS).open(place.lock_file()).unwrap();
            let ring = file.ring_options().algorithm(algorithm).member(true).open("a").unwrap();
            let (turn, all_in) = (AtomicU64::new(0), Barrier::new(how_many));
            let (last, members) = (AtomicUsize::new(usize::MAX), Mutex::new(Vec::new()));
            let turns = turns();
            thread::scope(|threads| {
                for _ in 0..how_many {
                    threads.spawn(|| {
                        drop(ring.lock_for(Duration::ZERO));
                        let me = my_slot(&file);
                        members.lock().unwrap().push(me);
                        // All are in the ring, and none has had a turn that counts.
                        all_in.wait();
                        let order = order_of(algorithm, &members.lock().unwrap());
                        loop {
                            let guard = ring.lock().unwrap();
                            let before = last.swap(me, Relaxed);
                            let count = turn.fetch_add(1, Relaxed);
                            // In the first round some are not on the ring yet, and in the last some have left.
                            if count > how_many as u64 && count < turns {
                                let at = order.iter().position(|slot| *slot == before).unwrap();
                                assert_eq!(order[(at + 1) % how_many], me, "{algorithm:?} after {before}");
                            }
                            if count >= turns {
                                break;
                            }
                            drop(guard);
                        }
                        ring.leave().unwrap();
                    });
                }
            });
            assert!(turn.load(Relaxed) > turns);
        }
    }
}

/// A slot that is chosen is the place on the ring, in whichever order the members come.
#[test]
fn a_slot_that_is_chosen_is_the_place_on_the_ring() {
    let _no_hang = NoHang::for_seconds(600);
    for algorithm in algorithms(PARTICIPANTS) {
        let place = Place::new();
        let file = LockFile::options().participants(PARTICIPANTS).open(place.lock_file()).unwrap();
        let ring = file.ring_options().algorithm(algorithm).member(true).open("a").unwrap();
        let at = |slot| file.participant_options().slot(slot).open();
        let chosen = [6, 1, 4];
        let members = chosen.map(|slot| at(slot).unwrap());
        assert_eq!(members.each_ref().map(|member| member.slot()), chosen);
        for member in &members {
            // In the ring from then on, with a turn or without.
            drop(ring.lock_for_as(member, Duration::ZERO));
        }
        let (order, served) = (order_of(algorithm, &chosen), Mutex::new(Vec::new()));
        thread::scope(|threads| {
            for member in &members {
                threads.spawn(|| {
                    for _ in 0..30 {
                        let guard = ring.lock_as(member).unwrap();
                        served.lock().unwrap().push(member.slot());
                        drop(guard);
                    }
                    ring.leave_as(member).unwrap();
                });
            }
        });
        // All are in the ring from the beginning, and until the first of them has had its turns.
        let served = served.into_inner().unwrap();
        for turns in served[..3 * 29].windows(2) {
            let at = order.iter().position(|slot| *slot == turns[0]).unwrap();
            assert_eq!(turns[1], order[(at + 1) % 3], "{algorithm:?}: {served:?}");
        }
        let taken = at(4).err().unwrap().to_string();
        assert!(taken.contains("slot 4 is taken by process"), "{taken}");
        let none = at(PARTICIPANTS as usize).err().unwrap().to_string();
        assert!(none.ends_with("it has no slot 8; its slots are 0 to 7"), "{none}");
        drop(members);
        drop(at(4).unwrap());
    }
}

/// One that this process keeps for its holds makes room for a participant that asks for its slot.
#[test]
fn a_slot_that_is_kept_for_holds_can_be_chosen() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let mutex = file.mutex("a").unwrap();
    let held = mutex.lock_owned().unwrap();
    let slot = inspect::snapshot(place.lock_file()).unwrap().locks[0].holders[0].participant.slot;
    let at_slot = || file.participant_options().slot(slot).open();
    assert!(matches!(at_slot(), Err(Error::InUse { .. })));
    drop(held);
    assert_eq!(at_slot().unwrap().slot(), slot);
}

/// Remark IV: a participant that wants a turn waits for n - 1 turns of others at most. All wait, one more comes,
/// and the turns are counted from the beginning of its membership. Where one was passed over, since it did not run when its turn
/// came, that says nothing.
#[test]
fn a_participant_that_comes_back_waits_for_each_other_once() {
    let _no_hang = NoHang::for_seconds(120);
    for algorithm in algorithms(PARTICIPANTS) {
        let place = Place::new();
        let file = LockFile::options().participants(PARTICIPANTS).open(place.lock_file()).unwrap();
        let ring = file.ring_options().algorithm(algorithm).open("a").unwrap();
        let turns = AtomicU64::new(0);
        let passed_over = || inspect::snapshot(file.path()).unwrap().locks[0].counters.passed_over;
        let mut in_order = 0;
        while in_order < 5 {
            thread::scope(|threads| {
                let passed_over_before = passed_over();
                let held = ring.lock().unwrap();
                for _ in 0..3 {
                    threads.spawn(|| {
                        for _ in 0..20 {
                            let guard = ring.lock().unwrap();
                            turns.fetch_add(1, Relaxed);
                            drop(guard);
                        }
                    });
                }
                until_in_ring(&file, 4);
                let one_more = threads.spawn(|| {
                    let before = turns.load(Relaxed);
                    let guard = ring.lock().unwrap();
                    let waited = turns.load(Relaxed) - before;
                    drop(guard);
                    waited
                });
                until_in_ring(&file, 5);
                drop(held);
                let waited = one_more.join().unwrap();
                if passed_over() == passed_over_before {
                    assert!(waited <= 3, "{waited} turns of three others, {algorithm:?}");
                    in_order += 1;
                }
            });
        }
    }
}

/// Each has joined: its wait begins when it finds that it is not its turn.
fn until_in_ring(file: &LockFile, how_many: usize) {
    until("all are in the ring", || {
        let lock = inspect::snapshot(file.path()).unwrap().locks.remove(0);
        let waiting = lock.queue.iter().filter(|waiter| waiter.for_seconds.is_some());
        waiting.count() + lock.holders.len() == how_many
    });
}

#[test]
fn a_step_that_leaves_a_machine_out_is_refused() {
    let place = Place::new();
    let file = LockFile::options().participants(PARTICIPANTS).open(place.lock_file()).unwrap();
    for step in [0, 2, 4, 8, 10] {
        let refused = file.ring_options().algorithm(RingAlgorithm::Sum { step }).open("a");
        let message = refused.map(drop).unwrap_err().to_string();
        assert!(message.contains(&format!("step {step}")) && message.contains("such as 1 or 7"), "{message}");
    }
    file.ring_options().algorithm(RingAlgorithm::Sum { step: 5 }).open("a").unwrap();
    let other = file.ring_options().algorithm(RingAlgorithm::Sum { step: 3 }).open("a");
    assert!(other.map(drop).unwrap_err().to_string().contains("has step 5, and step 3"), "named");
}
