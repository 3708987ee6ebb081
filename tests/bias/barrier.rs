//! The barrier of a revocation: one thread enters by its bias for all it is worth, and another one takes the lock from it.

#[cfg(feature = "mutants")]
use super::kernel::processors;
use super::{enter_often, options, order::MUTANT};
use std::{
    sync::{
        Barrier, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    elsewhere,
    format::{self, peek_u64, poke_u64},
};
#[cfg(feature = "mutants")]
use support::{limit, watchdog};
use turnlock::{DEFAULT_PATIENCE, LockFile, inspect};

/// So that the other one is biased again.
const BETWEEN_REVOCATIONS: Duration = Duration::from_micros(20);

/// Stays awake for so long.
fn pause(span: Duration) {
    let since = Instant::now();
    while !span.is_zero() && since.elapsed() < span {
        std::hint::spin_loop();
    }
}

/// Returns how many acquisitions did not get a fencing token of their own, of how many, until one did not or `limit` passed.
/// In short rounds: every one ends two threads, after which a processor may take the next for one that needs no barrier.
fn lost_tokens(full_fences: bool, limit: Duration) -> (u64, u64) {
    let place = Place::new();
    let file = options(full_fences).open(place.lock_file()).unwrap();
    let mutex = file.mutex_options().patience(Duration::ZERO).open("a").unwrap();
    let first = mutex.lock().unwrap().fencing_token();
    let (began, over) = (Instant::now(), AtomicBool::new(false));
    let enters = |span: Duration| {
        let mut times = 0u64;
        while !over.load(Relaxed) {
            drop(mutex.lock().unwrap());
            times += 1;
            pause(span);
        }
        times
    };
    let (mut taken, mut lost) = (0, 0);
    while lost == 0 && began.elapsed() < limit {
        over.store(false, Relaxed);
        let times = thread::scope(|threads| {
            let revokes = threads.spawn(|| enters(BETWEEN_REVOCATIONS));
            let enters = threads.spawn(|| enters(Duration::ZERO));
            thread::sleep(Duration::from_millis(10));
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

/// Opens the files that it is told, and takes the lock in each as often as it is told; with a mutant, if it is started with one.
pub fn comes_too(_words: &[String]) {
    #[cfg(feature = "mutants")]
    turnlock::mutants::switch_on(
        turnlock::mutants::Mutant::ALL.iter().copied().find(|one| format!("{one:?}") == _words[0]),
    );
    loop {
        let path = hear();
        let times: u64 = hear().parse().unwrap();
        let mutex = LockFile::open(path).unwrap().mutex("a").unwrap();
        for _ in 0..times {
            drop(mutex.lock().unwrap());
            pause(BETWEEN_REVOCATIONS);
        }
        say("done");
    }
}

/// Returns how many acquisitions did not get a fencing token of their own, while a second process comes to take a lock `times`
/// times that a thread of this one enters by its bias without a fence; and what the barriers are then.
fn lost_beside(other: &mut Actor, times: u64, patience: Duration) -> (u64, &'static str) {
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    let mutex = file.mutex_options().patience(patience).open("a").unwrap();
    let first = mutex.lock().unwrap().fencing_token();
    let (over, taken) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|threads| {
        threads.spawn(|| {
            while !over.load(Relaxed) {
                drop(mutex.lock().unwrap());
                taken.fetch_add(1, Relaxed);
            }
        });
        while taken.load(Relaxed) < 10_000 {
            thread::yield_now();
        }
        if inspect::has_membarrier() {
            assert_eq!(inspect::snapshot(&path).unwrap().fences, "membarrier");
        }
        other.tell(path.to_str().unwrap());
        other.tell(&times.to_string());
        other.expect("done");
        over.store(true, Relaxed);
    });
    let last = mutex.lock().unwrap().fencing_token();
    (taken.into_inner() + times + 1 - (last - first), inspect::snapshot(&path).unwrap().fences)
}

/// A second process comes while a thread of the first enters by its bias without a fence.
#[test]
fn whoever_comes_from_another_process_finds_nobody_without_a_fence() {
    let _no_hang = NoHang::for_seconds(120);
    let _no_mutant = MUTANT.read().unwrap_or_else(PoisonError::into_inner);
    let mut other = Actor::start("comes_too", &["none"]);
    (0..12).for_each(|_| assert_eq!(lost_beside(&mut other, 2_000, DEFAULT_PATIENCE), (0, "full")));
}

/// Where the kernel does not have both, all participants have full fences from the start.
fn kernel_has_barriers() -> bool {
    let has = inspect::has_membarrier();
    if !has {
        println!("skipped: the kernel has not both barriers");
    }
    has
}

/// One that was killed in the midst of its coming: the next one that comes ends the change, or who revokes a bias.
#[test]
fn a_change_that_was_begun_is_ended_by_the_next() {
    let _no_hang = NoHang::for_seconds(60);
    if !kernel_has_barriers() {
        return;
    }
    let place = Place::new();
    let path = place.lock_file();
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    enter_often(&mutex);
    let sole_process = || peek_u64(&path, format::SOLE_PROCESS);
    let begin_the_change = || poke_u64(&path, format::SOLE_PROCESS, 2);
    begin_the_change();
    elsewhere(|| enter_often(&mutex));
    assert_eq!(sole_process(), 1, "by the next that came");
    poke_u64(&path, format::SOLE_PROCESS, 1);
    enter_often(&mutex);
    let (comes, revokes) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|threads| {
        threads.spawn(|| {
            drop(mutex.lock().unwrap());
            comes.wait();
            revokes.wait();
            drop(mutex.lock().unwrap());
        });
        comes.wait();
        enter_often(&mutex);
        begin_the_change();
        revokes.wait();
    });
    assert_eq!(sole_process(), 1, "by the one that revoked");
}

/// Which processes take part says what barriers cost: one alone, whichever it is; more than one, once and for all.
#[test]
fn one_process_after_the_other_needs_no_fences_and_two_at_once_keep_them() {
    let _no_hang = NoHang::for_seconds(60);
    if !kernel_has_barriers() {
        return;
    }
    let place = Place::new();
    let path = place.lock_file();
    let fences = || inspect::snapshot(&path).unwrap().fences;
    for _ in 0..2 {
        let mut alone = Actor::start("owns_the_bias", &[path.to_str().unwrap()]);
        alone.expect("owns");
        assert_eq!(fences(), "membarrier");
        alone.kill();
    }
    let mut other = Actor::start("owns_the_bias", &[path.to_str().unwrap()]);
    other.expect("owns");
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    assert_eq!(fences(), "membarrier", "who only opens it takes no part");
    enter_often(&mutex);
    assert_eq!(fences(), "full");
    drop(mutex);
    other.kill();
    enter_often(&LockFile::open(&path).unwrap().mutex("a").unwrap());
    assert_eq!(fences(), "full");
}

#[cfg(feature = "mutants")]
mod with_mutants {
    use super::*;
    use turnlock::mutants::{Mutant, switch_on};

    /// So long is tried: a hundred times what it takes, as a rule.
    const LIMIT: u64 = 600;

    /// Where two run at once; else a processor sees its own stores in order.
    fn on_several_processors() -> bool {
        let several = processors().len() > 1;
        if !several {
            println!("skipped: with one processor a missing fence does not show");
        }
        several
    }

    #[test]
    fn a_missing_barrier_is_caught() {
        let _alone = MUTANT.write().unwrap_or_else(PoisonError::into_inner);
        if !on_several_processors() {
            return;
        }
        for (mutant, full_fences) in [(Mutant::NoMembarrier, false), (Mutant::NoFenceInFencedMode, true)] {
            let _no_hang = NoHang::for_seconds(LIMIT + 60);
            let (mut seen, mut of, began) = (0, 0, Instant::now());
            switch_on(Some(mutant));
            while seen == 0 && began.elapsed() < limit::seconds(LIMIT) {
                let (lost, taken) = lost_tokens(full_fences, Duration::from_secs(5));
                (seen, of) = (lost, of + taken);
                watchdog::sign_of_life();
            }
            switch_on(None);
            println!("{mutant:?}: {seen} tokens lost in {of} acquisitions, {:?}", began.elapsed());
            assert!(seen > 0, "{mutant:?}: nothing was seen in {of} acquisitions");
        }
    }

    /// By what the file says the barriers are, every time. That tokens are lost by it takes two that run at once, and is tried for
    /// some seconds.
    #[test]
    fn a_second_process_that_does_not_say_so_is_caught() {
        let _no_hang = NoHang::for_seconds(500);
        let _alone = MUTANT.write().unwrap_or_else(PoisonError::into_inner);
        if !kernel_has_barriers() {
            return;
        }
        let mutant = Mutant::NoFenceBesideAnother;
        let mut other = Actor::start("comes_too", &[&format!("{mutant:?}")]);
        let began = Instant::now();
        switch_on(Some(mutant));
        let (mut lost, fences) = lost_beside(&mut other, 200, Duration::ZERO);
        while lost == 0 && began.elapsed() < Duration::from_secs(10) {
            (lost, _) = lost_beside(&mut other, 2_000, Duration::ZERO);
        }
        switch_on(None);
        println!("{mutant:?}: {fences}; {lost} tokens lost in {:?}", began.elapsed());
        assert_ne!(fences, "full", "nothing was seen");
    }
}
