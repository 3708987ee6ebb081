//! What a program does around a lock: children, descriptors, threads that outlive others.

use super::{assert_held, assert_told_of};
use nix::{
    sys::{
        signal::Signal,
        wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid},
    },
    unistd::Pid,
};
use std::{
    fs,
    process::{Command, Stdio},
    sync::atomic::{AtomicI32, Ordering::Relaxed},
    time::Duration,
};
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    queue_at, until,
};
use turnlock::{
    Error, LockFile,
    inspect::{self, Life},
};

// The child is to outlive us.
#[expect(clippy::zombie_processes)]
pub fn spawns_and_waits(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    let _guard = mutex.lock().unwrap();
    // Without `pre_exec` the standard library uses posix_spawn.
    let child = Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().unwrap();
    say(&format!("spawned {}", child.id()));
    hear();
}

#[test]
fn a_child_started_by_posix_spawn_does_not_keep_a_dead_holder_alive() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let mut holder = Actor::start("spawns_and_waits", &[place.lock_file().to_str().unwrap()]);
    let child = holder.expect_number("spawned") as i32;
    assert_held(&place.lock_file());
    holder.kill();
    assert_told_of(&place.lock_file(), holder.pid());
    nix::sys::signal::kill(Pid::from_raw(child), Signal::SIGKILL).expect("it was still there");
}

pub fn closes_its_descriptors(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    let guard = mutex.lock().unwrap();
    // SAFETY: nothing that runs after this uses a descriptor above 2 that it opened before.
    assert_eq!(unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32) }, 0);
    say("closed");
    hear();
    guard.unlock().unwrap();
    drop(mutex.lock().unwrap());
    say("outside");
    hear();
}

#[test]
fn a_holder_that_closes_all_its_descriptors_still_holds() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let mut holder = Actor::start("closes_its_descriptors", &[place.lock_file().to_str().unwrap()]);
    holder.expect("closed");
    assert_held(&place.lock_file());
    holder.tell("go on");
    holder.expect("outside");
    holder.dismiss();
}

pub fn holds_after_its_main_thread_is_gone(words: &[String]) {
    let path = words[0].clone();
    std::thread::spawn(move || {
        let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
        let guard = mutex.lock().unwrap();
        // The main thread is gone when the kernel shows the process as a zombie.
        let gone = || fs::read_to_string("/proc/self/stat").is_ok_and(|stat| stat.contains(") Z "));
        while !gone() {
            std::thread::sleep(Duration::from_millis(1));
        }
        say("inside");
        hear();
        guard.unlock().unwrap();
        say("outside");
        std::process::exit(0);
    });
    // SAFETY: ends this thread alone, without running anything of it; nothing on its stack is used by the other.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
}

#[test]
fn a_thread_that_outlives_the_main_thread_still_holds() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let mut holder =
        Actor::start("holds_after_its_main_thread_is_gone", &[place.lock_file().to_str().unwrap()]);
    holder.expect("inside");
    assert_held(&place.lock_file());
    let status = inspect::snapshot(place.lock_file()).unwrap();
    assert_eq!(status.locks[0].holders[0].participant.life, Life::Alive);
    holder.tell("go on");
    holder.expect("outside");
    holder.end_well();
}

#[test]
fn a_zombie_is_dead() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let mut holder = Actor::start("holds", &[place.lock_file().to_str().unwrap()]);
    holder.expect("inside");
    holder.kill_without_waiting();
    let zombie = Pid::from_raw(holder.pid() as i32);
    // Dead, and not yet taken off the process table: its number still answers.
    let dead = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT | WaitPidFlag::WNOHANG;
    until("it is dead", || waitid(Id::Pid(zombie), dead).unwrap() != WaitStatus::StillAlive);
    nix::sys::signal::kill(zombie, None).expect("a zombie answers kill(pid, 0)");
    assert_told_of(&place.lock_file(), holder.pid());
}

/// What it asks while it waits forks: the child comes out of its parent's wait with nothing, and the parent waits on.
pub fn forks_in_a_wait(words: &[String]) {
    let parent = std::process::id();
    let mut options = LockFile::options();
    options.interrupted_by(move || {
        if std::process::id() == parent && FORKED.load(Relaxed) == 0 {
            // SAFETY: the child runs on as a copy of this process, which allocates no more than glibc allows it.
            FORKED.store(unsafe { libc::fork() }, Relaxed);
        }
        false
    });
    let mutex = options.open(&words[0]).unwrap().mutex("a").unwrap();
    say("waits");
    let locked = mutex.lock();
    if std::process::id() != parent {
        let left = matches!(locked, Err(Error::Interrupted));
        drop(locked);
        // It takes part on its own, like any child.
        let own = matches!(mutex.lock_for(Duration::from_millis(20)), Err(Error::TimedOut(_)));
        // SAFETY: ends the child without the rest of the parent's program.
        unsafe { libc::_exit(if left && own { 0 } else { 1 }) };
    }
    let child = waitpid(Pid::from_raw(FORKED.load(Relaxed)), None).unwrap();
    say(&format!("{child:?}"));
    locked.unwrap().unlock().unwrap();
    say("unlocked");
}

static FORKED: AtomicI32 = AtomicI32::new(0);

#[test]
fn a_child_that_is_forked_in_a_wait_has_no_part_in_it() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let path = place.lock_file();
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    let guard = mutex.lock().unwrap();
    let mut waiter = Actor::start("forks_in_a_wait", &[path.to_str().unwrap()]);
    waiter.expect("waits");
    until("the child has come and gone", || {
        let children = format!("/proc/{0}/task/{0}/children", waiter.pid());
        let child = fs::read_to_string(children).unwrap_or_default();
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
        stat.contains(") Z ")
    });
    let line = queue_at(&path, "a");
    assert_eq!(
        line.iter().map(|entry| entry.pid()).collect::<Vec<_>>(),
        [waiter.pid()],
        "the parent waits on"
    );
    guard.unlock().unwrap();
    assert!(waiter.hear().contains(", 0)"), "the child was told that its wait is none");
    waiter.expect("unlocked");
    waiter.end_well();
}
