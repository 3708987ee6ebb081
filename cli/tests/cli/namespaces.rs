//! Processes that see different pids.

use std::process::{Command, Stdio};
use support::{NoHang, Place, limit, until, until_waiting};
use turnlock::{
    Error, LockFile,
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
    let mutex = LockFile::open(&file).unwrap().mutex("a").unwrap();
    assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_))), "it is held");
    assert!(waiter.try_wait().unwrap().is_none(), "it still waits");
    // With `unshare` dies its child, and with that, number 1 of its namespace, everything in it.
    holder.kill().unwrap();
    limit::end_of(&mut holder, "the holder");
    assert!(limit::end_of(&mut waiter, "the waiter").success(), "the other one is told and goes on");
}
