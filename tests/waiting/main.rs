//! Waiting costs next to nothing, and a holder that does not move is waited for: a stopped one is not dead.

use nix::sys::{
    resource::{UsageWho, getrusage},
    signal::Signal,
};
use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    join, limit,
    puppet::{Puppet, Said, puppet},
    queue_at, until, until_waiting,
};
use turnlock::{
    Error, LockFile,
    inspect::{self, Activity, Life},
    status::*,
};

support::watched_for_seconds!(support::watchdog::USUAL);

support::roles! { measures_its_wait, puppet }

/// What this process has used of the processors, and how often it has slept.
fn used() -> (Duration, i64) {
    let usage = getrusage(UsageWho::RUSAGE_SELF).unwrap();
    let duration =
        |time: nix::sys::time::TimeVal| Duration::new(time.tv_sec() as u64, time.tv_usec() as u32 * 1000);
    (duration(usage.user_time()) + duration(usage.system_time()), usage.voluntary_context_switches())
}

/// Words: the lock file. Waits for the lock, says how many microseconds that took and cost and how often it slept, and
/// gives it back.
fn measures_its_wait(words: &[String]) {
    let file = LockFile::open(&words[0]).unwrap();
    let mutex = file.mutex("a").unwrap();
    // What a first lock costs is not what waiting costs.
    file.mutex("warm").unwrap().lock().unwrap().unlock().unwrap();
    let (began, before) = (Instant::now(), used());
    let guard = mutex.lock().unwrap();
    let (took, after) = (began.elapsed(), used());
    say(&format!("waited {}", took.as_micros()));
    say(&format!("cost {}", (after.0 - before.0).as_micros()));
    say(&format!("slept {}", after.1 - before.1));
    guard.unlock().unwrap();
    hear();
}

/// A wake-up takes 10 to 25 microseconds, on a core that has lost everything else to a neighbour up to 100: so few are
/// well below one hundredth of a core, where the machine is its own. Counted, since the machine decides what one costs.
#[test]
fn a_second_of_waiting_costs_less_than_150_short_wake_ups_wherever_in_the_line() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let mut holder = Puppet::that_holds(&path, "a");
    let mut line: Vec<_> = (0..4)
        .map(|waiting| {
            let waiter = Actor::start("measures_its_wait", &[path.to_str().unwrap()]);
            until_waiting(&path, "a", waiting + 1);
            waiter
        })
        .collect();
    // The wait that is measured.
    thread::sleep(Duration::from_secs(1));
    assert_eq!(holder.ask("unlock"), Said::Done);
    for (behind, waiter) in line.iter_mut().enumerate() {
        let waited = Duration::from_micros(waiter.expect_number("waited"));
        let cost = Duration::from_micros(waiter.expect_number("cost"));
        let slept = waiter.expect_number("slept");
        println!(
            "{behind} between it and the holder: waited {waited:?} in {slept} sleeps, for {cost:?} of processor time"
        );
        assert!(waited >= Duration::from_secs(1), "{waited:?}");
        // A little more where the queue behind a busy machine takes longer than a second.
        assert!((slept as f64) < 150.0 * waited.as_secs_f64(), "{slept} sleeps in {waited:?}");
        // AdaptiveSpin the whole time, it would not sleep at all.
        assert!(cost < waited / 10, "{cost:?} in {waited:?}");
    }
}

/// Waits until the holder of the lock `a` is seen to be stopped.
fn until_holder_is_stopped(path: &Path) {
    until("the holder is stopped", || {
        let locks = inspect::snapshot(path).unwrap().locks;
        locks[0].holders.first().is_some_and(|holder| holder.participant.life == Life::Stopped)
    });
}

#[test]
fn a_stopped_holder_is_never_robbed_and_time_limits_hold_meanwhile() {
    const LIMIT: Duration = Duration::from_millis(1500);
    let _no_hang = NoHang::for_seconds(180);
    let place = Place::new();
    let path = place.lock_file();
    let mut holder = Puppet::at(&path, "a");
    let Said::Taken(token, false) = holder.ask("lock") else { panic!("it is free") };
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    holder.0.signal(Signal::SIGSTOP);
    until_holder_is_stopped(&path);
    thread::scope(|threads| {
        let patient = threads.spawn(|| mutex.lock().map(|guard| guard.acquired()).unwrap());
        until_waiting(&path, "a", 1);
        let began = Instant::now();
        assert!(matches!(mutex.lock_for(LIMIT), Err(Error::TimedOut(_))));
        let waited = began.elapsed();
        assert!(waited >= LIMIT && waited < LIMIT + limit::of_processes(), "{waited:?}");
        assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_))));
        assert!(!patient.is_finished());
        until_holder_is_stopped(&path);
        holder.0.signal(Signal::SIGCONT);
        assert_eq!(holder.ask("unlock"), Said::Done, "it was its own all the time");
        let acquired = join(patient);
        assert!(!acquired.previous_owner_died);
        assert_eq!(acquired.fencing_token, token + 1, "no holder was in between");
    });
}

/// The token of a puppet that was told to lock, and then to unlock.
fn taken_and_unlocked(puppet: &mut Puppet) -> u64 {
    let Said::Taken(token, false) = puppet.hear() else { panic!("it is free") };
    assert_eq!(puppet.hear(), Said::Done);
    token
}

/// A waiter that is stopped before its turn has lost its place when it goes on, and queues again.
#[test]
fn a_stopped_waiter_is_passed_over() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let mut holder = Puppet::that_holds(&path, "a");
    let [mut first, mut second, mut third] = [1, 2, 3].map(|waiting| {
        let mut puppet = Puppet::at(&path, "a");
        puppet.0.tell("lock");
        until_waiting(&path, "a", waiting);
        puppet
    });
    for puppet in [&first, &second] {
        puppet.0.signal(Signal::SIGSTOP);
    }
    let activities = || queue_at(&path, "a").iter().map(|waiter| waiter.activity).collect::<Vec<_>>();
    use Activity::{PassedOver, Sleeping, Stopped};
    until("they are seen to be stopped", || activities() == [Stopped, Stopped, Sleeping]);
    assert_eq!(holder.ask("unlock"), Said::Done);
    let Said::Taken(token, false) = third.hear() else { panic!("the two before it are stopped") };
    assert_eq!(activities(), [PassedOver, Stopped]);
    for puppet in [&mut first, &mut second] {
        // Told now: either may be the first of the two, and must not wait for the other one to be asked.
        puppet.0.tell("unlock");
        puppet.0.signal(Signal::SIGCONT);
    }
    assert_eq!(holder.ask("try"), Said::Error(TURNLOCK_ERROR_WOULD_BLOCK), "its lock is not taken away");
    assert_eq!(third.ask("unlock"), Said::Done);
    let mut tokens = [&mut first, &mut second].map(taken_and_unlocked);
    tokens.sort_unstable();
    assert_eq!(tokens, [token + 1, token + 2]);
}

/// The first of the waiters, which is to be queued next, is stopped; and the first one to notice that is not the
/// next one. On a busy machine one that waits for a processor is passed over, too, so it must be so in one round
/// of many.
#[test]
fn those_behind_a_stopped_one_are_served_in_the_order_of_their_arrival() {
    let _no_hang = NoHang::for_seconds(600);
    let rounds: Vec<_> =
        (0..100).map(|_| tokens_behind_a_stopped_one()).take_while(|tokens| !tokens.is_sorted()).collect();
    assert!(rounds.len() < 100, "{rounds:?}");
}

/// The tokens of four that wait behind one that is stopped, in the order of their arrival.
fn tokens_behind_a_stopped_one() -> Vec<u64> {
    let place = Place::new();
    let path = place.lock_file();
    let mut holder = Puppet::that_holds(&path, "a");
    let mut line: Vec<_> = (1..=5)
        .map(|waiting| {
            let mut puppet = Puppet::at(&path, "a");
            puppet.0.tell("lock");
            until_waiting(&path, "a", waiting);
            puppet
        })
        .collect();
    let first = line.remove(0);
    first.0.signal(Signal::SIGSTOP);
    until("it is seen to be stopped", || queue_at(&path, "a")[0].activity == Activity::Stopped);
    for next in &mut line {
        next.0.tell("unlock");
    }
    assert_eq!(holder.ask("unlock"), Said::Done);
    line.iter_mut().map(taken_and_unlocked).collect()
}

#[test]
fn a_waiter_that_is_interrupted_by_signals_waits_on() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let mut holder = Puppet::that_holds(&path, "a");
    let mut waiter = Puppet::at(&path, "a");
    let began = Instant::now();
    waiter.0.tell("for 400");
    until_waiting(&path, "a", 1);
    // Stopping and continuing ends the system call that it sleeps in.
    while began.elapsed() < Duration::from_millis(300) {
        waiter.0.signal(Signal::SIGSTOP);
        waiter.0.signal(Signal::SIGCONT);
    }
    assert_eq!(waiter.hear(), Said::Error(TURNLOCK_ERROR_TIMED_OUT));
    assert!(began.elapsed() >= Duration::from_millis(400));
    assert_eq!(holder.ask("unlock"), Said::Done);
}
