//! A reaper, which acts for a dead holder, is stopped, or killed, half-way.
//!
//! Needs `--features trace`: the reaper stops itself at a step of `core/src/trace.rs`.
#![cfg(feature = "trace")]

use nix::sys::signal::{Signal, raise};
use std::{
    fs::File,
    os::fd::AsRawFd,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicU8, Ordering::Relaxed},
    },
    time::Duration,
};
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    limit,
};
use turnlock::{
    Error, LockFile, MutexAlgorithm,
    inspect::{self, Life},
    trace::{self, Step},
};

support::watched_for_seconds!(support::watchdog::USUAL);

support::roles! { asks, asks_for_a_turn, counts_the_dead, dies_holding, forks_and_reaps, leaves_to_a_closed_one, lowers, reaps, sends_on }

fn dies_holding(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    let _guard = mutex.lock().unwrap();
    say("inside");
    hear();
}

/// Where [`reaps`] stops.
static STOP_AT: AtomicU8 = AtomicU8::new(0);

/// Takes the lock after a dead holder; stops itself at the step that is named, once.
fn reaps(words: &[String]) {
    // Its own slot first: attaching goes through the same steps.
    let file = LockFile::open(&words[0]).unwrap();
    let _attached = file.current_participant().unwrap();
    let mutex = file.mutex("a").unwrap();
    let number: u8 = words[1].parse().unwrap();
    stop_at(Step::ALL.into_iter().find(|step| *step as u8 == number).unwrap());
    let mut guard = mutex.lock().unwrap();
    say(if guard.acquired().previous_owner_died { "owner-dead" } else { "well" });
    guard.mark_consistent().unwrap();
    guard.unlock().unwrap();
}

/// Stops this process at `step`, once.
fn stop_at(step: Step) {
    STOP_AT.store(step as u8, Relaxed);
    trace::watch(|step| {
        if STOP_AT.load(Relaxed) == step as u8 {
            STOP_AT.store(0, Relaxed);
            raise(Signal::SIGSTOP).unwrap();
        }
    });
}

/// Waits until it has stopped itself.
fn until_stopped(actor: &Actor) {
    let stopped = limit::status_of(actor.pid() as i32, libc::WUNTRACED);
    assert!(libc::WIFSTOPPED(stopped) && libc::WSTOPSIG(stopped) == libc::SIGSTOP, "{stopped:#x}");
}

/// Waits for the lock of a living holder; forks a child meanwhile, which lives on; stops when it acts for the holder.
fn forks_and_reaps(words: &[String]) {
    let file = LockFile::open(&words[0]).unwrap();
    let mutex = file.mutex("a").unwrap();
    let waiter = std::thread::spawn(move || {
        let _attached = file.current_participant().unwrap();
        stop_at(Step::Reap);
        drop(mutex.lock());
    });
    // It has looked whether the holder lives, more than once.
    std::thread::sleep(Duration::from_millis(100));
    // SAFETY: the child only waits for a signal.
    let child = unsafe { libc::fork() };
    if child == 0 {
        loop {
            // SAFETY: as above.
            unsafe { libc::pause() };
        }
    }
    say(&format!("child {child}"));
    waiter.join().unwrap();
}

#[test]
fn a_killed_reaper_whose_process_forked_while_it_waited_holds_nobody_up() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let mut holder = Actor::start("dies_holding", &[path.to_str().unwrap()]);
    holder.expect("inside");
    let mut reaper = Actor::start("forks_and_reaps", &[path.to_str().unwrap()]);
    let child = reaper.expect_number("child") as i32;
    holder.kill();
    until_stopped(&reaper);
    reaper.kill();
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    let mut guard = mutex.lock_for(limit::of_processes()).unwrap();
    assert!(guard.acquired().previous_owner_died);
    guard.mark_consistent().unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child), Signal::SIGKILL).expect("it was still there");
}

/// Gives two slots back, the higher one last, and stops while it has the scans leave out the other.
fn lowers(words: &[String]) {
    let file = LockFile::open(&words[0]).unwrap();
    let low = file.participant().unwrap();
    let high = file.participant().unwrap();
    drop(low);
    stop_at(Step::Lower);
    drop(high);
    say("went on");
}

#[test]
fn one_who_is_stopped_while_it_lowers_the_bound_keeps_newcomers_from_one_slot_at_most() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::options().participants(8).open(&path).unwrap();
    // With it, this thread has a slot.
    let mutex = file.mutex("a").unwrap();
    let mut lowers = Actor::start("lowers", &[path.to_str().unwrap()]);
    until_stopped(&lowers);
    // Its own two: the one that it gives back, and the one that it holds to leave it out.
    let newcomers: Vec<_> = (0..5).map(|_| file.participant().unwrap()).collect();
    for newcomer in &newcomers {
        mutex.lock_as(newcomer).unwrap().unlock().unwrap();
    }
    lowers.signal(Signal::SIGCONT);
    lowers.expect("went on");
    // The scans leave out no newcomer that came meanwhile.
    let guard = mutex.lock_as(&newcomers[4]).unwrap();
    for newcomer in &newcomers[..4] {
        assert!(matches!(mutex.try_lock_as(newcomer), Err(Error::WouldBlock(_))));
    }
    drop(guard);
    lowers.end_well();
}

/// Asks for a turn, and stops with the reconfiguration lock in hand.
fn asks_for_a_turn(words: &[String]) {
    let ring = LockFile::open(&words[0]).unwrap().turn_ring("a").unwrap();
    stop_at(Step::Reconfigure);
    drop(ring.lock());
}

#[test]
fn who_leaves_a_ring_does_not_wait_for_one_that_is_stopped_with_the_reconfiguration_lock() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    let ring = file.ring_options().member(true).open("a").unwrap();
    drop(ring.lock().unwrap());
    let asks = Actor::start("asks_for_a_turn", &[path.to_str().unwrap()]);
    until_stopped(&asks);
    let me = file.current_participant().unwrap();
    me.cancel();
    let began = std::time::Instant::now();
    ring.leave().unwrap();
    assert!(began.elapsed() < limit::seconds(30), "a limit of milliseconds, on whatever machine");
    assert!(me.clear_cancel(), "the cancel is for the next wait");
    asks.signal(Signal::SIGCONT);
    asks.end_well();
}

const HALF_WAY: [Step; 3] = [Step::Reap, Step::ReapNotice, Step::ReapCleared];

/// A reaper that stands still at `step`: the holder before it is dead, and only half removed.
fn stopped_at(step: Step, path: &Path) -> Actor {
    let mut holder = Actor::start("dies_holding", &[path.to_str().unwrap()]);
    holder.expect("inside");
    holder.kill();
    let reaper = Actor::start("reaps", &[path.to_str().unwrap(), &(step as u8).to_string()]);
    until_stopped(&reaper);
    let status = inspect::snapshot(path).unwrap();
    assert!(
        status.participants.iter().any(|one| one.pid == reaper.pid() && one.life == Life::Stopped),
        "{status:?}"
    );
    // The reaper is alive, so others wait for it as for any participant, and as long as their limits say.
    let mutex = LockFile::open(path).unwrap().mutex("a").unwrap();
    assert!(matches!(mutex.lock_for(Duration::from_millis(50)), Err(Error::TimedOut(_))));
    assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_))));
    reaper
}

#[test]
fn a_stopped_reaper_is_waited_for_and_goes_on_where_it_stood() {
    let _no_hang = NoHang::for_seconds(60);
    for step in HALF_WAY {
        let place = Place::new();
        let mut reaper = stopped_at(step, &place.lock_file());
        reaper.signal(Signal::SIGCONT);
        reaper.expect("owner-dead");
        reaper.end_well();
        let mutex = LockFile::open(place.lock_file()).unwrap().mutex("a").unwrap();
        assert!(!mutex.lock().unwrap().acquired().previous_owner_died, "{step:?}: told twice");
    }
}

#[test]
fn what_a_killed_reaper_left_half_done_another_one_finishes() {
    let _no_hang = NoHang::for_seconds(60);
    for step in HALF_WAY {
        let place = Place::new();
        let mut reaper = stopped_at(step, &place.lock_file());
        reaper.kill();
        let mutex = LockFile::open(place.lock_file()).unwrap().mutex("a").unwrap();
        let mut guard = mutex.lock_for(limit::of_processes()).unwrap();
        assert!(guard.acquired().previous_owner_died, "{step:?}: the next holder was not told");
        guard.mark_consistent().unwrap();
        drop(guard);
        // The reaper itself may keep its slot until another one needs it: it had backed off, to let others pass.
        let status = inspect::snapshot(place.lock_file()).unwrap();
        let dead = status.participants.iter().filter(|one| one.life == Life::Dead);
        assert!(dead.map(|one| one.pid).all(|pid| pid == reaper.pid()), "{step:?}: {status:?}");
        assert!(status.locks[0].queue.is_empty(), "{step:?}: {status:?}");
    }
}

/// Has the token of a lock by messages; stops itself when it sends it to a peer: the record says so, and the mailbox does not.
fn sends_on(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    drop(mutex.lock().unwrap());
    stop_at(Step::TokenMoves);
    say("ready");
    hear();
}

/// The token goes back to the dead participant, whose life is not over before: so no participant makes it anew until all that
/// the dead one was doing is seen to, also when that is done a second time.
#[test]
fn a_token_that_a_dead_one_had_not_sent_yet_is_lost_with_it_and_not_before() {
    for algorithm in [MutexAlgorithm::RicartAgrawala, MutexAlgorithm::TokenRing] {
        let _no_hang = NoHang::for_seconds(60);
        let place = Place::new();
        let path = place.lock_file();
        let file = LockFile::options().mailboxes(8).open(&path).unwrap();
        let mutex = file.mutex_options().algorithm(algorithm).open("a").unwrap();
        let token_of = || mutex.status().unwrap().by_messages.unwrap().token_of;
        let file = path.to_str().unwrap();
        let mut sender = Actor::start("sends_on", &[file]);
        sender.expect("ready");
        let had_it = token_of();
        let mut reaper = Actor::start("reaps", &[file, &(Step::LifeEnds as u8).to_string()]);
        until_stopped(&sender);
        let is_to_have_it = token_of();
        assert!(had_it.is_some() && is_to_have_it.is_some() && is_to_have_it != had_it, "{algorithm:?}");
        sender.kill();
        until_stopped(&reaper);
        assert_eq!(token_of(), had_it, "{algorithm:?}: as the life of the dead one ends");
        reaper.kill();
        assert!(!mutex.lock_for(limit::of_processes()).unwrap().acquired().previous_owner_died);
    }
}

/// Where [`leaves_to_a_closed_one`] is.
static LEAVES: Mutex<Option<(LockFile, File)>> = Mutex::new(None);

/// The open file that a slot is left to is closed before the leaver has given its own byte lock back. Says how many
/// newcomers find a slot then, and what the file says of the next one, once the leaver is out.
fn leaves_to_a_closed_one(words: &[String]) {
    let file = LockFile::options().participants(2).open(&words[0]).unwrap();
    let mutex = file.mutex("a").unwrap();
    let shell = file.participant_options().release_on_close(true).label("shell").open().unwrap();
    std::mem::forget(mutex.lock_as(&shell).unwrap());
    let given = File::open(&words[0]).unwrap();
    let number = given.as_raw_fd();
    *LEAVES.lock().unwrap() = Some((LockFile::open(&words[0]).unwrap(), given));
    trace::watch(|step| {
        let leaves = if step == Step::Detach { LEAVES.lock().unwrap().take() } else { None };
        let Some((file, given)) = leaves else { return };
        let left = inspect::snapshot(file.path()).unwrap();
        let shown: Vec<u32> = left.participants.iter().map(|one| one.pid).collect();
        assert!(shown.contains(&1), "it is written down by now whose it is: {left:?}");
        drop(given);
        assert!(matches!(file.participant().err(), Some(Error::ParticipantsFull { .. })), "it is ours still");
    });
    shell.transfer_to_fd(number, 1).unwrap();
    let next = file.participant_options().label("next").open().unwrap();
    let status = inspect::snapshot(&words[0]).unwrap();
    let one = status.participants.iter().find(|one| one.slot == next.slot()).unwrap();
    say(if one.label == "next" && one.pid == std::process::id() { "next" } else { "another" });
}

/// Else it could be another one's by then, and what that says of itself would be written over.
#[test]
fn a_slot_that_is_left_is_written_down_as_such_before_anybody_else_can_have_it() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let mut leaver = Actor::start("leaves_to_a_closed_one", &[place.lock_file().to_str().unwrap()]);
    leaver.expect("next");
    leaver.end_well();
}

/// Asks for the lock, and stays inside until it is killed.
fn asks(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    say("asks");
    std::mem::forget(mutex.lock().unwrap());
    hear();
}

/// Takes the lock after a dead holder, and says how many dead participants the file has then.
fn counts_the_dead(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    let mut guard = mutex.lock().unwrap();
    let participants = inspect::snapshot(&words[0]).unwrap().participants;
    say(&participants.iter().filter(|one| one.life == Life::Dead).count().to_string());
    guard.mark_consistent().unwrap();
}

/// A holder and those behind a waiter, who do not keep it from the lock, are killed. What the waiter says when it is inside.
fn left_of_a_crowd(mutant: &str) -> String {
    const BEHIND: usize = 5;
    let place = Place::new();
    let path = place.lock_file();
    let words = [path.to_str().unwrap()];
    LockFile::open(&path).unwrap().mutex_options().patience(Duration::ZERO).open("a").unwrap();
    let mut holder = Actor::start("dies_holding", &words);
    holder.expect("inside");
    // A process of its own, since a mutant is on in all of one.
    let mut waiter = Actor::start_with("counts_the_dead", &words, &[("TURNLOCK_MUTANT", mutant)]);
    support::until_waiting(&path, "a", 1);
    let mut behind: Vec<_> = (0..BEHIND).map(|_| Actor::start("asks", &words)).collect();
    support::until_waiting(&path, "a", 1 + BEHIND);
    behind.iter_mut().for_each(Actor::kill);
    holder.kill();
    waiter.hear()
}

#[test]
fn one_who_finds_a_dead_one_removes_all_the_dead() {
    let _no_hang = NoHang::for_seconds(60);
    assert_eq!(left_of_a_crowd(""), "0");
}

#[cfg(feature = "mutants")]
mod with_mutants {
    use super::*;

    #[test]
    fn one_who_removes_only_the_one_that_it_found_is_caught() {
        let _no_hang = NoHang::for_seconds(60);
        assert_ne!(left_of_a_crowd("ReapsOne"), "0");
    }
}
