//! Somebody who acts for a dead holder is stopped, or killed, half-way.
//!
//! Needs `--features named-steps`: the reaper stops itself at a step of `src/steps.rs`.
#![cfg(all(feature = "named-steps", not(any(loom, shuttle))))]

mod support;

use nix::sys::signal::{Signal, raise};
use std::{
    path::Path,
    sync::atomic::{AtomicU8, Ordering::Relaxed},
    time::Duration,
};
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    limit,
};
use turnlock::{
    Error, LockFile,
    inspect::{self, Life},
    steps::{self, Step},
};

crate::roles! { dies_holding, reaps }

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
    STOP_AT.store(words[1].parse().unwrap(), Relaxed);
    steps::watch(|step| {
        if STOP_AT.load(Relaxed) == step as u8 {
            STOP_AT.store(0, Relaxed);
            raise(Signal::SIGSTOP).unwrap();
        }
    });
    let mut guard = mutex.lock().unwrap();
    say(if guard.acquired().previous_owner_died { "news" } else { "no news" });
    guard.mark_consistent().unwrap();
    guard.unlock().unwrap();
}

const HALF_WAY: [Step; 3] = [Step::Reap, Step::ReapNews, Step::ReapForgotten];

/// A reaper that stands still at `step`: the holder before it is dead, and only half removed.
fn stopped_at(step: Step, path: &Path) -> Actor {
    let mut holder = Actor::start("dies_holding", &[path.to_str().unwrap()]);
    holder.expect("inside");
    holder.kill();
    let reaper = Actor::start("reaps", &[path.to_str().unwrap(), &(step as u8).to_string()]);
    let stopped = limit::status_of(reaper.pid() as i32, libc::WUNTRACED);
    assert!(libc::WIFSTOPPED(stopped) && libc::WSTOPSIG(stopped) == libc::SIGSTOP, "{stopped:#x}");
    let status = inspect::snapshot(path).unwrap();
    assert!(
        status.participants.iter().any(|one| one.pid == reaper.pid() && one.life == Life::Stopped),
        "{status:?}"
    );
    // It is alive, so it is waited for like anyone, and as long as the limit says.
    let mutex = LockFile::open(path).unwrap().mutex("a").unwrap();
    assert!(matches!(mutex.lock_for(Duration::from_millis(50)), Err(Error::TimedOut)));
    assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock)));
    reaper
}

#[test]
fn a_stopped_reaper_is_waited_for_and_goes_on_where_it_stood() {
    let _no_hang = NoHang::for_seconds(60);
    for step in HALF_WAY {
        let place = Place::new();
        let mut reaper = stopped_at(step, &place.lock_file());
        reaper.signal(Signal::SIGCONT);
        reaper.expect("news");
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
        let mut guard = mutex.lock_for(Duration::from_secs(10)).unwrap();
        assert!(guard.acquired().previous_owner_died, "{step:?}: nobody told");
        guard.mark_consistent().unwrap();
        drop(guard);
        // The reaper itself may keep its slot until somebody needs it: it was out of the line, to let others pass.
        let status = inspect::snapshot(place.lock_file()).unwrap();
        let dead = status.participants.iter().filter(|one| one.life == Life::Dead);
        assert!(dead.map(|one| one.pid).all(|pid| pid == reaper.pid()), "{step:?}: {status:?}");
        assert!(status.locks[0].queue.is_empty(), "{step:?}: {status:?}");
    }
}
