//! The bias: its owner enters again without the queue, a queue head revokes it, and a waiter is not kept waiting for that.

mod barrier;
mod death;
mod kernel;
mod membarrier;
mod order;
mod registered;
#[cfg(all(feature = "mutants", feature = "trace"))]
mod steps;

use barrier::comes_too;
use death::{owns_the_bias, owns_the_bias_and_holds};
use membarrier::{
    forbids_membarrier, is_refused_after_the_opening, loses_membarrier, opens_before_it_takes_part,
};
use registered::registers_and_looks;
use std::{path::Path, thread, time::Duration};
use support::{
    NoHang, Place, elsewhere,
    format::{Format, peek_u64},
    shared::Plain,
};
use turnlock::{Error, LockFile, LockFileOptions, Mutex, inspect};

support::watched_for_seconds!(support::watchdog::USUAL);

support::roles! { comes_too, forbids_membarrier, is_refused_after_the_opening, loses_membarrier, opens_before_it_takes_part, owns_the_bias, owns_the_bias_and_holds, registers_and_looks }

/// Enough acquisitions in a row to have the lock biased, whatever was learnt before.
const MANY: usize = 200;

fn options(full_fences: bool) -> LockFileOptions {
    let mut options = LockFile::options();
    options.full_fences(full_fences);
    options
}

fn biased_to(path: &Path) -> Option<usize> {
    inspect::snapshot(path).unwrap().locks[0].biased_to
}

fn enter_often(mutex: &Mutex) {
    for _ in 0..MANY {
        mutex.lock().unwrap().unlock().unwrap();
    }
}

#[test]
fn a_lock_is_biased_to_the_one_that_enters_again_and_again() {
    for full_fences in [false, true] {
        let place = Place::new();
        let file = options(full_fences).open(place.lock_file()).unwrap();
        let mutex = file.mutex("a").unwrap();
        assert_eq!(biased_to(&place.lock_file()), None);
        enter_often(&mutex);
        assert_eq!(biased_to(&place.lock_file()), Some(file.current_participant().unwrap().slot()));
        // Inside, as any holder is.
        let guard = mutex.lock().unwrap();
        let status = inspect::snapshot(place.lock_file()).unwrap();
        assert_eq!(status.locks[0].holders[0].fencing_token, guard.fencing_token());
        assert!(matches!(mutex.try_lock(), Err(Error::Deadlock)));
        elsewhere(|| assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_)))));
        guard.unlock().unwrap();
        // The bias is revoked without its owner's doing anything.
        elsewhere(|| mutex.try_lock().unwrap().unlock().unwrap());
        elsewhere(|| mutex.lock().unwrap().unlock().unwrap());
        mutex.lock().unwrap().unlock().unwrap();
    }
}

/// A thread and a participant, with a fence or without: neither goes through the queue.
#[test]
fn the_bias_owner_does_not_go_through_the_queue() {
    for full_fences in [false, true] {
        let place = Place::new();
        let file = options(full_fences).open(place.lock_file()).unwrap();
        let format = Format { participants: file.participants().into(), locks: file.locks().into() };
        // An acquisition through the queue counts them, or begins a bias.
        let counted = || {
            let words = [format.unbiased(1), format.biased_at(1)];
            words.map(|word| peek_u64(&place.lock_file(), word))
        };
        let mutex = file.mutex("a").unwrap();
        let participant = file.participant().unwrap();
        let enter_often_as = || {
            for _ in 0..MANY {
                mutex.lock_as(&participant).unwrap().unlock().unwrap();
            }
        };
        for enter_often in [&|| enter_often(&mutex), &enter_often_as as &dyn Fn()] {
            enter_often();
            let before = counted();
            enter_often();
            assert_eq!(counted(), before, "full fences: {full_fences}");
        }
    }
}

#[test]
fn a_counter_of_many_threads_that_enter_in_bursts_loses_nothing() {
    let _no_hang = NoHang::for_seconds(120);
    for (full_fences, patience) in [(false, 0), (true, 0), (false, 50), (true, 50)] {
        let place = Place::new();
        let file = options(full_fences).open(place.lock_file()).unwrap();
        let mutex = file.mutex_options().patience(Duration::from_micros(patience)).open("a").unwrap();
        let counter = Plain::default();
        const THREADS: u64 = 4;
        const BURSTS: u64 = 40;
        thread::scope(|threads| {
            for _ in 0..THREADS {
                threads.spawn(|| {
                    for burst in 0..BURSTS {
                        for _ in 0..MANY {
                            let guard = mutex.lock().unwrap();
                            counter.count();
                            guard.unlock().unwrap();
                        }
                        if burst % 4 == 0 {
                            thread::sleep(Duration::from_micros(100));
                        }
                    }
                });
            }
        });
        assert_eq!(counter.get(), THREADS * BURSTS * MANY as u64);
    }
}

/// It is the thread's, which takes part by itself at the same time: two would be in one slot.
#[test]
fn nobody_locks_as_a_threads_own_participant() {
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let mutex = file.mutex("a").unwrap();
    let thread = file.current_participant().unwrap();
    for taken in [mutex.try_lock_as(&thread), mutex.lock_as(&thread)] {
        assert!(matches!(taken.map(drop), Err(Error::InvalidArgument(_))));
    }
}
