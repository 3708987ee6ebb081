use crate::party::{a_file, a_party, asleep_in_order, until_asleep};
use nix::sys::signal::Signal;
use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};
use support::{Place, actor::Actor, limit};
use turnlock::{DeathPolicy, Error, LockFile};

#[test]
fn the_one_that_has_waited_longest_is_notified_first() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let condition = file.condition("changed").unwrap();
    let mut waiters = asleep_in_order(&path, 3);
    for waiter in &mut waiters {
        assert_eq!(condition.notify_one().unwrap(), 1);
        waiter.expect("done");
    }
    assert_eq!(condition.notify_one().unwrap(), 0);
}

#[test]
fn all_that_wait_are_notified() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let condition = file.condition("changed").unwrap();
    let mut waiters: Vec<Actor> = (0..5).map(|_| a_party(&path)).collect();
    waiters.iter_mut().for_each(|waiter| waiter.tell("wait-once changed"));
    until_asleep(&path, "changed", 5);
    assert_eq!(condition.notify_all().unwrap(), 5);
    waiters.iter_mut().for_each(|waiter| waiter.expect("done"));
}

/// Those that were killed asleep are in the line still, and take no notification along.
#[test]
fn the_notification_of_the_dead_goes_to_the_next_one() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let condition = file.condition("changed").unwrap();
    let mut dead = asleep_in_order(&path, 21);
    let mut last = dead.pop().unwrap();
    dead.iter_mut().for_each(Actor::kill);
    assert_eq!(condition.notify_one().unwrap(), 1);
    last.expect("done");
}

/// It has the notification, and stops before it has the lock; then it dies.
#[test]
fn one_that_dies_notified_passes_it_on() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let (mutex, condition) = (file.mutex("mutex").unwrap(), file.condition("changed").unwrap());
    let mut waiters = asleep_in_order(&path, 2);
    let guard = mutex.lock().unwrap();
    assert_eq!(condition.notify_one().unwrap(), 1);
    // It is awake, and waits for the lock.
    until_asleep(&path, "mutex", 1);
    waiters[0].kill();
    guard.unlock().unwrap();
    waiters[1].expect("done");
    assert_eq!(condition.waiters().unwrap(), 0);
}

#[test]
fn a_waiter_comes_back_with_the_owner_dead_notice() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let condition = file.condition("changed").unwrap();
    let (mut waiter, mut holder) = (a_party(&path), a_party(&path));
    waiter.tell("lock");
    waiter.expect("done");
    waiter.tell("wait changed");
    until_asleep(&path, "changed", 1);
    holder.tell("lock");
    holder.expect("done");
    holder.kill();
    condition.notify_one().unwrap();
    waiter.expect("owner-dead");
    waiter.expect("done");
    waiter.tell("unlock");
    waiter.expect("done");
}

#[test]
fn a_limit_ends_the_wait_with_the_lock_held() {
    let place = Place::new();
    let (_, file) = a_file(&place);
    let (mutex, condition) = (file.mutex("mutex").unwrap(), file.condition("changed").unwrap());
    let mut guard = mutex.lock().unwrap();
    let token = guard.fencing_token();
    let began = Instant::now();
    let waited = condition.wait_for(&mut guard, Duration::from_millis(30));
    let error = waited.unwrap_err();
    assert!(matches!(error, Error::TimedOut(_)), "{error}");
    assert_eq!(error.to_string(), "the time limit passed before a notification came");
    assert!(began.elapsed() >= Duration::from_millis(30));
    assert!(guard.fencing_token() > token, "it is a new acquisition");
    assert_eq!(condition.waiters().unwrap(), 0);
    // And not meanwhile.
    thread::scope(|threads| {
        threads.spawn(|| assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_)))));
    });
    guard.unlock().unwrap();
}

/// A bounded buffer of numbers in the memory of this process: producers and consumers lose nothing, and get nothing twice.
#[test]
fn producers_and_consumers_lose_nothing() {
    const EACH: u32 = 2_000;
    const THREADS: u32 = 3;
    let place = Place::new();
    let (_, file) = a_file(&place);
    let mutex = file.mutex_options().recursive(true).open("mutex").unwrap();
    let (not_full, not_empty) = (file.condition("not full").unwrap(), file.condition("not empty").unwrap());
    let buffer = std::sync::Mutex::new(Vec::<u32>::new());
    let sum = AtomicU32::new(0);
    thread::scope(|threads| {
        for _ in 0..THREADS {
            threads.spawn(|| {
                for number in 1..=EACH {
                    let mut guard = mutex.lock().unwrap();
                    while buffer.lock().unwrap().len() == 4 {
                        not_full.wait(&mut guard).unwrap();
                    }
                    buffer.lock().unwrap().push(number);
                    not_empty.notify_one().unwrap();
                }
            });
            threads.spawn(|| {
                for _ in 0..EACH {
                    let mut guard = mutex.lock().unwrap();
                    not_empty.wait_while(&mut guard, |_| buffer.lock().unwrap().is_empty()).unwrap();
                    sum.fetch_add(buffer.lock().unwrap().pop().unwrap(), Relaxed);
                    not_full.notify_one().unwrap();
                }
            });
        }
    });
    assert_eq!(sum.into_inner(), THREADS * EACH * (EACH + 1) / 2);
    assert_eq!((not_full.waiters().unwrap(), not_empty.waiters().unwrap()), (0, 0));
}

#[test]
fn it_waits_with_a_rwlock_and_as_a_participant() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let (rwlock, condition) = (file.rwlock("data").unwrap(), file.condition("changed").unwrap());
    let task = file.participant().unwrap();
    thread::scope(|threads| {
        let waiter = threads.spawn(|| {
            let mut guard = rwlock.write_as(&task)?;
            condition.wait(&mut guard)?;
            guard.unlock()
        });
        until_asleep(&path, "changed", 1);
        drop(rwlock.read().unwrap());
        assert_eq!(condition.notify_all().unwrap(), 1);
        waiter.join().unwrap().unwrap();
        // And another thread ends the wait.
        let waiter = threads.spawn(|| {
            let mut guard = rwlock.write_as(&task).unwrap();
            let waited = condition.wait(&mut guard);
            guard.unlock().unwrap();
            waited
        });
        until_asleep(&path, "changed", 1);
        task.cancel();
        assert!(matches!(waiter.join().unwrap(), Err(Error::Cancelled)));
    });
}

/// A lock that is closed for everyone cannot be taken again: the guard unlocks nothing then.
#[test]
fn a_waiter_whose_lock_is_closed_is_told_so() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let mutex = file.mutex_options().death_policy(DeathPolicy::Inform).open("mutex").unwrap();
    let condition = file.condition("changed").unwrap();
    let mut waiter = a_party(&path);
    waiter.tell("lock");
    waiter.expect("done");
    waiter.tell("wait changed");
    until_asleep(&path, "changed", 1);
    mutex.lock().unwrap().abandon().unwrap();
    mutex.lock().unwrap().unlock().unwrap();
    condition.notify_one().unwrap();
    waiter.expect("error -7");
    assert_eq!(condition.waiters().unwrap(), 0);
}

/// One that is stopped with a notification has it still; it delays none of the others.
#[test]
fn a_stopped_waiter_keeps_its_notification() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let condition = file.condition("changed").unwrap();
    let mut waiters = asleep_in_order(&path, 2);
    waiters[0].signal(Signal::SIGSTOP);
    condition.notify_one().unwrap();
    condition.notify_one().unwrap();
    waiters[1].expect("done");
    waiters[0].signal(Signal::SIGCONT);
    waiters[0].expect("done");
}

/// Workers are killed at any moment, and replaced; each notification reaches one that lives.
#[test]
fn kills_at_any_moment_lose_no_notification() {
    let place = Place::new();
    let (path, file) = a_file(&place);
    let condition = file.condition("changed").unwrap();
    let mut workers: Vec<Actor> = (0..4).map(|_| a_party(&path)).collect();
    let (began, mut seed) = (Instant::now(), 1_u64);
    for round in 0..60 {
        for worker in &mut workers {
            worker.tell("wait-once changed");
        }
        // Not all of them may be there yet.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        thread::sleep(Duration::from_micros(seed >> 51));
        let victim = (seed >> 33) as usize % 4;
        workers[victim].kill_without_waiting();
        condition.notify_one().unwrap();
        workers[victim] = a_party(&path);
        // Those that are left go on by as many notifications as it takes; none hangs.
        let all_are_back = AtomicBool::new(false);
        thread::scope(|threads| {
            threads.spawn(|| {
                while !all_are_back.load(Relaxed) {
                    condition.notify_one().unwrap();
                    thread::sleep(Duration::from_millis(1));
                    assert!(began.elapsed() < limit::seconds(100), "round {round}");
                }
            });
            for worker in
                workers.iter_mut().enumerate().filter(|(at, _)| *at != victim).map(|(_, worker)| worker)
            {
                worker.expect("done");
            }
            all_are_back.store(true, Relaxed);
        });
    }
}

/// The interrupt ends the wait for the notification, not the one for the lock, in which it would lose its place again and again.
#[test]
fn an_interrupted_waiter_has_the_lock_again_among_others_that_want_it() {
    let place = Place::new();
    let (_, file) = a_file(&place);
    let stops = std::sync::Arc::new(AtomicBool::new(false));
    let asked = stops.clone();
    let interrupted =
        LockFile::options().interrupted_by(move || asked.load(Relaxed)).open(file.path()).unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                let mutex = file.mutex_options().patience(Duration::ZERO).open("strict").unwrap();
                while !over.load(Relaxed) {
                    let _held = mutex.lock().unwrap();
                    thread::sleep(Duration::from_millis(2));
                }
            });
        }
        let mutex = interrupted.mutex_options().patience(Duration::ZERO).open("strict").unwrap();
        let condition = interrupted.condition("changed").unwrap();
        let mut guard = mutex.lock().unwrap();
        stops.store(true, Relaxed);
        let waited = condition.wait(&mut guard);
        assert!(matches!(waited, Err(Error::Interrupted)), "{waited:?}");
        assert!(guard.unlock().is_ok());
        over.store(true, Relaxed);
    });
}
