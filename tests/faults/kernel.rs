//! What the kernel tells differently to different processes: pids, clocks.

use super::{assert_held, holds};
use nix::{
    sched::{CloneFlags, unshare},
    sys::wait::{WaitStatus, waitpid},
    unistd::{ForkResult, fork},
};
use std::{
    fs,
    process::{Command, Stdio},
};
use support::{
    NoHang, Place,
    actor::{Actor, say},
    limit, until, until_waiting,
};
use turnlock::{
    LockFile,
    inspect::{self, Life},
};

#[test]
fn equal_pids_in_two_pid_namespaces_are_two_participants() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    drop(LockFile::open(place.lock_file()).unwrap().mutex("a").unwrap());
    // Two processes that both believe to be number 1.
    let in_namespace = |name: &str| {
        let script = format!("exec unshare --pid --fork --kill-child {name}");
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        command
    };
    let allowed = limit::status(&mut in_namespace("true")).is_ok_and(|status| status.success());
    if !allowed {
        println!("LEFT OUT, since this machine does not allow it: a PID namespace");
        return;
    }
    let turnlock = env!("CARGO_BIN_EXE_turnlock");
    let file = place.lock_file();
    let run = |script: &str| {
        let command = format!("{turnlock} run --lock a {} -- {script}", file.display());
        in_namespace(&format!("sh -c 'exec {command}'")).stdout(Stdio::null()).spawn().unwrap()
    };
    let mut holder = run("sleep 60");
    let one_holds = || inspect::snapshot(&file).is_ok_and(|status| !status.locks[0].holders.is_empty());
    until("one holds", one_holds);
    let mut waiter = run("true");
    until_waiting(&file, "a", 1);
    let status = inspect::snapshot(&file).unwrap();
    let (holds, waits) = (&status.locks[0].holders[0], &status.locks[0].queue[0]);
    assert_eq!((holds.pid(), waits.pid()), (1, 1), "both have pid 1");
    assert!(!holds.participant.same_pid_namespace);
    assert_eq!(holds.participant.life, Life::Alive);
    assert_held(&file);
    assert!(waiter.try_wait().unwrap().is_none(), "it still waits");
    // With `unshare` dies its child, and with that, number 1 of its namespace, everything in it.
    holder.kill().unwrap();
    limit::end_of(&mut holder, "the holder");
    assert!(limit::end_of(&mut waiter, "the waiter").success(), "the other one is told and goes on");
}

/// Words: the lock file. Its monotonic clock is a day ahead of everybody else's.
pub fn lives_in_another_time(words: &[String]) {
    let changed = unshare(CloneFlags::from_bits_retain(0x80)) // CLONE_NEWTIME
        .map_err(|errno| errno.to_string())
        .and_then(|()| {
            fs::write("/proc/self/timens_offsets", "monotonic 86400 0").map_err(|error| error.to_string())
        });
    if let Err(reason) = changed {
        say(&format!("not allowed: {reason}"));
        return;
    }
    // SAFETY: this process has one thread; the child is in the new time from the start.
    match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            holds(words);
            std::process::exit(0);
        }
        ForkResult::Parent { child } => assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0))),
    }
}

#[test]
fn clocks_that_disagree_by_a_day_change_nothing() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let mut holder = Actor::start("lives_in_another_time", &[place.lock_file().to_str().unwrap()]);
    let said = holder.hear();
    if said != "inside" {
        println!("LEFT OUT, since this machine does not allow it: {said}");
        return;
    }
    assert_held(&place.lock_file());
    // Entered "tomorrow", by our clock: not a nonsensical age, and not a death.
    let status = inspect::snapshot(place.lock_file()).unwrap();
    let holds = &status.locks[0].holders[0];
    assert_eq!(
        (holds.participant.life, holds.for_seconds.map(|seconds| seconds < 60.0)),
        (Life::Alive, Some(true))
    );
    holder.tell("go on");
    holder.expect("outside");
    holder.dismiss();
}
