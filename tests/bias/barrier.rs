//! The barrier of a revocation: one thread enters by its bias for all it is worth, and another one takes the lock from it.

use super::{options, order::MUTANT};
use std::{
    sync::{
        PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};
use support::{NoHang, Place};

/// Returns how many acquisitions did not get a fencing token of their own, of how many, until one did not or `limit` passed.
fn lost_tokens(full_fences: bool, limit: Duration) -> (u64, u64) {
    let place = Place::new();
    let file = options(full_fences).open(place.lock_file()).unwrap();
    let mutex = file.mutex_options().patience(Duration::ZERO).open("a").unwrap();
    let first = mutex.lock().unwrap().fencing_token();
    let (began, over) = (Instant::now(), AtomicBool::new(false));
    let enters = |pause: Duration| {
        let mut times = 0u64;
        while !over.load(Relaxed) {
            drop(mutex.lock().unwrap());
            times += 1;
            let since = Instant::now();
            while !pause.is_zero() && since.elapsed() < pause {
                std::hint::spin_loop();
            }
        }
        times
    };
    let (mut taken, mut lost) = (0, 0);
    // In rounds, to look now and then.
    while lost == 0 && began.elapsed() < limit {
        over.store(false, Relaxed);
        let times = thread::scope(|threads| {
            let revokes = threads.spawn(|| enters(Duration::from_micros(20)));
            let enters = threads.spawn(|| enters(Duration::ZERO));
            thread::sleep(Duration::from_millis(50));
            over.store(true, Relaxed);
            revokes.join().unwrap() + enters.join().unwrap()
        });
        taken += times;
        let last = mutex.lock().unwrap().fencing_token();
        taken += 1;
        lost = taken - (last - first);
    }
    (lost, taken)
}

#[test]
fn each_acquisition_has_a_fencing_token_of_its_own_however_often_the_bias_is_revoked() {
    let _no_hang = NoHang::for_seconds(60);
    let _no_mutant = MUTANT.read().unwrap_or_else(PoisonError::into_inner);
    for full_fences in [false, true] {
        let (lost, taken) = lost_tokens(full_fences, Duration::from_millis(400));
        assert_eq!(lost, 0, "of {taken}, full fences: {full_fences}");
    }
}

#[cfg(feature = "mutants")]
mod with_mutants {
    use super::*;
    use turnlock::mutants::{Mutant, switch_on};

    #[test]
    fn a_missing_barrier_is_caught() {
        let _no_hang = NoHang::for_seconds(300);
        let _alone = MUTANT.write().unwrap_or_else(PoisonError::into_inner);
        switch_on(Some(Mutant::NoMembarrier));
        let (lost, taken) = lost_tokens(false, Duration::from_secs(200));
        switch_on(None);
        println!("NoMembarrier: {lost} tokens lost in {taken} acquisitions");
        assert!(lost > 0, "nothing was seen in {taken} acquisitions");
    }
}
