//! How long a waiter may be passed by others.

use super::enter_often;
use std::{
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};
use support::{
    NoHang, Place, elsewhere,
    format::{Format, peek_u64},
    join, queue_at, until, until_waiting,
};
use turnlock::{Error, LockFile};

/// Once its patience is over, a waiter that is the first in line is the next, however many want the lock meanwhile, the last
/// holder included.
#[test]
fn nobody_overtakes_a_waiter_after_its_patience() {
    let _no_hang = NoHang::for_seconds(120);
    for patience in [Duration::ZERO, Duration::from_micros(200), Duration::from_millis(5)] {
        let place = Place::new();
        let file = LockFile::open(place.lock_file()).unwrap();
        let mutex = file.mutex_options().patience(patience).open("a").unwrap();
        let format = Format { participants: file.participants().into(), locks: file.locks().into() };
        let evictions = || evictions_in(&place, &format);
        enter_often(&mutex);
        for _ in 0..20 {
            let evictions_before = evictions();
            let guard = mutex.lock().unwrap();
            let last = guard.fencing_token();
            let stop = AtomicBool::new(false);
            thread::scope(|threads| {
                let waiter = threads.spawn(|| {
                    let guard = mutex.lock().unwrap();
                    let token = guard.fencing_token();
                    guard.unlock().unwrap();
                    token
                });
                until_waiting(&place.lock_file(), "a", 1);
                for _ in 0..3 {
                    threads.spawn(|| {
                        while !stop.load(Relaxed) {
                            drop(mutex.try_lock());
                            drop(mutex.lock().unwrap());
                        }
                    });
                }
                guard.unlock().unwrap();
                drop(mutex.lock().unwrap());
                let token = waiter.join().unwrap();
                stop.store(true, Relaxed);
                // Who gets no processor for some milliseconds is passed over: then this round shows nothing.
                assert!(token == last + 1 || evictions() != evictions_before, "it was overtaken");
            });
        }
    }
}

/// How often waiters were passed over, as a number that says only whether it has changed.
pub fn evictions_in(place: &Place, format: &Format) -> u64 {
    (0..8).map(|slot| peek_u64(&place.lock_file(), format.evicted(1, slot))).sum()
}

/// With patience only one waiter at a time is queued for good, and the others let running participants pass.
const PATIENCES: [Duration; 1] = [Duration::ZERO];

/// A mutant is on in the whole process, and tests are its threads. Those that would see one have this to read.
pub static MUTANT: RwLock<()> = RwLock::new(());

/// A queue head that revoked a bias in demand would take it, and enter again and again before the next waiter is awake.
#[test]
fn a_queue_head_that_revoked_the_bias_lets_those_behind_in_first() {
    let _no_mutant = MUTANT.read().unwrap_or_else(PoisonError::into_inner);
    for patience in PATIENCES {
        assert_eq!(acquisitions_before_the_one_behind_the_queue_head(patience), 0, "{patience:?}");
    }
}

/// In the worst of some rounds.
fn acquisitions_before_the_one_behind_the_queue_head(patience: Duration) -> u64 {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    let format = Format { participants: file.participants().into(), locks: file.locks().into() };
    let mutex = file.mutex_options().patience(patience).open("a").unwrap();
    let overtaken = (0..30).map(|_| {
        enter_often(&mutex);
        let evictions_before = evictions_in(&place, &format);
        let guard = mutex.lock().unwrap();
        let last = guard.fencing_token();
        thread::scope(|threads| {
            threads.spawn(|| {
                let guard = mutex.lock().unwrap();
                let token = guard.fencing_token();
                guard.unlock().unwrap();
                // Who gets no processor for some milliseconds is passed over: then this round shows nothing.
                assert!(
                    token == last + 1 || evictions_in(&place, &format) != evictions_before,
                    "not the first"
                );
                enter_often(&mutex);
            });
            until_waiting(&path, "a", 1);
            let behind = threads.spawn(|| mutex.lock().unwrap().fencing_token());
            until_waiting(&path, "a", 2);
            guard.unlock().unwrap();
            let overtaken = join(behind).saturating_sub(last + 2);
            if evictions_in(&place, &format) == evictions_before { overtaken } else { 0 }
        })
    });
    overtaken.max().unwrap()
}

/// A revocation that is given up was for those behind too: the bias owner does not pass them meanwhile.
#[test]
fn a_revocation_that_is_given_up_does_not_let_the_bias_owner_pass_those_behind() {
    let _no_mutant = MUTANT.read().unwrap_or_else(PoisonError::into_inner);
    for patience in PATIENCES {
        assert_eq!(acquisitions_before_the_one_behind_that_gives_up(patience), 0, "{patience:?}");
    }
}

/// In the worst of some rounds.
fn acquisitions_before_the_one_behind_that_gives_up(patience: Duration) -> u64 {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    let format = Format { participants: file.participants().into(), locks: file.locks().into() };
    let mutex = file.mutex_options().patience(patience).open("a").unwrap();
    let overtaken = (0..10).map(|_| {
        enter_often(&mutex);
        let evictions_before = evictions_in(&place, &format);
        let guard = mutex.lock().unwrap();
        let last = guard.fencing_token();
        let bias_word = || peek_u64(&path, format.region(1));
        let unrevoked = bias_word();
        thread::scope(|threads| {
            let gives_up = threads.spawn(|| {
                assert!(matches!(mutex.lock_for(Duration::from_millis(60)), Err(Error::TimedOut(_))));
            });
            until("the bias is revoked", || bias_word() != unrevoked || gives_up.is_finished());
            let behind = threads.spawn(|| mutex.lock().unwrap().fencing_token());
            let gave_up = || gives_up.is_finished();
            let queued_for_good =
                || queue_at(&path, "a").iter().filter(|waiter| support::is_queued_for_good(waiter)).count();
            until("both are queued for good", || gave_up() || queued_for_good() == 2);
            // On a machine that is too busy this round shows nothing.
            let too_late = gave_up();
            // Until the first moment at which we might pass.
            while !gave_up() && bias_word() != unrevoked {}
            guard.unlock().unwrap();
            enter_often(&mutex);
            let overtaken = join(behind) - (last + 1);
            // Who gets no processor for some milliseconds is passed over: then it shows nothing either.
            let passed_over = evictions_in(&place, &format) != evictions_before;
            if too_late || passed_over { 0 } else { overtaken }
        })
    });
    overtaken.max().unwrap()
}

/// A bias owner that enters again without a pause cannot keep a waiter out.
#[test]
fn patience_has_an_end() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let mutex = file.mutex_options().patience(Duration::from_millis(20)).open("a").unwrap();
    enter_often(&mutex);
    let is_in = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            let guard = mutex.lock().unwrap();
            is_in.store(true, Relaxed);
            guard.unlock().unwrap();
        });
        while !is_in.load(Relaxed) {
            enter_often(&mutex);
        }
    });
}

/// A waiter gives up at its time limit, even if its patience is longer.
#[test]
fn a_time_limit_shorter_than_the_patience_holds() {
    let _no_hang = NoHang::for_seconds(20);
    let place = Place::new();
    let file = LockFile::open(place.lock_file()).unwrap();
    let mutex = file.mutex_options().patience(Duration::from_secs(3600)).open("a").unwrap();
    enter_often(&mutex);
    let _guard = mutex.lock().unwrap();
    elsewhere(|| {
        for limit in [Duration::ZERO, Duration::from_millis(1), Duration::from_millis(20)] {
            let began = Instant::now();
            assert!(matches!(mutex.lock_for(limit), Err(Error::TimedOut(_))));
            assert!(began.elapsed() >= limit);
        }
        let me = file.current_participant().unwrap();
        // Before the wait, and in the midst of it, out of the queue.
        me.cancel();
        assert!(matches!(mutex.lock(), Err(Error::Cancelled)));
        thread::scope(|threads| {
            threads.spawn(|| {
                thread::sleep(Duration::from_millis(10));
                me.cancel();
            });
            assert!(matches!(mutex.lock(), Err(Error::Cancelled)));
        });
    });
}
