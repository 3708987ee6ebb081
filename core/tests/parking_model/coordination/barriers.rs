//! What participants do at a barrier.

use super::{Words, futex::Loom, sleep};
use loom::thread;
use std::sync::Arc;
use turnlock_core::coordination::{Arrival, Cause, Standing};
use turnlock_core::sync::{AtomicU32, Ordering::Relaxed};

/// Arrives and waits. Returns whether all came.
fn meet(words: &Words, parties: u32, me: usize) -> bool {
    let barrier = words.barrier(parties);
    match barrier.arrive::<Loom>(me) {
        Arrival::Last => true,
        Arrival::Broken(_) => false,
        Arrival::Waits(generation) => {
            sleep(words, me, false, || !barrier.is_waiting(generation));
            match barrier.standing::<Loom>(me, generation) {
                Standing::Passed => true,
                Standing::Broken(_) => false,
                standing => panic!("{standing:?}"),
            }
        }
        Arrival::Removed => panic!("removed"),
    }
}

pub fn two_meet_twice() {
    let scene = Arc::new((Words::new(), AtomicU32::new(0)));
    let party = |scene: &(Words, AtomicU32), me| {
        for round in 1..=2 {
            // Relaxed: the barrier orders it.
            scene.1.fetch_add(1, Relaxed);
            assert!(meet(&scene.0, 2, me), "BROKEN");
            assert!(scene.1.load(Relaxed) >= 2 * round, "PASSED ALONE");
        }
    };
    let other = scene.clone();
    let other = thread::spawn(move || party(&other, 1));
    party(&scene, 0);
    other.join().unwrap();
}

/// It is told that the barrier broke, whichever comes first: two parties are wanted, and one comes.
pub fn one_waits_beside_a_reset() {
    let words = Arc::new(Words::new());
    let resetter = words.clone();
    let Arrival::Waits(generation) = words.barrier(2).arrive::<Loom>(0) else { panic!() };
    let resetter = thread::spawn(move || resetter.barrier(2).reset::<Loom>(1).unwrap());
    let barrier = words.barrier(2);
    sleep(&words, 0, false, || !barrier.is_waiting(generation));
    assert_ne!(barrier.standing::<Loom>(0, generation), Standing::Passed, "PASSED ALONE");
    resetter.join().unwrap();
    assert_eq!((barrier.breach(), barrier.arrived()), (None, 0));
}

/// Of three parties two have arrived, and one of them is dead; two others break the barrier over that.
pub fn one_waits_for_a_party_that_dies() {
    let words = Arc::new(Words::new());
    let barrier = words.barrier(3);
    let Arrival::Waits(generation) = barrier.arrive::<Loom>(1) else { panic!() };
    assert!(matches!(barrier.arrive::<Loom>(0), Arrival::Waits(_)));
    let other = words.clone();
    let other = thread::spawn(move || {
        let barrier = other.barrier(3);
        barrier.reap(1);
        barrier.look_after::<Loom>(2, generation, |_| Ok(false)).unwrap();
    });
    sleep(&words, 0, false, || !barrier.is_waiting(generation));
    let Standing::Broken(breach) = barrier.standing::<Loom>(0, generation) else { panic!("PASSED ALONE") };
    assert_eq!((breach.cause, breach.slot), (Cause::Died, 1));
    other.join().unwrap();
    // A newcomer in the slot is told, too; and after a reset it is a party like any other.
    assert!(matches!(barrier.arrive::<Loom>(1), Arrival::Broken(_)));
    barrier.reset::<Loom>(0).unwrap();
    assert!(matches!(barrier.arrive::<Loom>(1), Arrival::Waits(_)));
}
