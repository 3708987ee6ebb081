//! Victims that write into the directory.

use crate::{
    oracle::{PARTICIPANTS, PATIENCE, nothing_else_lies_here},
    tracee::{begin, end},
    trial::Trial,
};
use turnlock::{Error, LockFile, inspect};

const NAMES: [&str; 3] = ["first", "the victim's", "third"];

pub fn a_new_lock(trial: &Trial) {
    let path = trial.lock_file();
    let mut options = LockFile::options();
    let file = options.participants(PARTICIPANTS).locks(NAMES.len() as u32).open(&path).unwrap();
    let first = file.mutex(NAMES[0]).unwrap();
    let mut victim = trial.victim(|| {
        let _attached = file.current_participant().unwrap();
        begin();
        let _mutex = file.mutex(NAMES[1]).unwrap();
        end(trial.arena)
    });
    victim.go(|_| {});
    victim.kill();

    let names = || {
        let status = inspect::snapshot(&path).unwrap();
        status.locks.into_iter().map(|lock| lock.name).collect::<Vec<_>>()
    };
    let found = names();
    let ended = trial.arena.ended.load(std::sync::atomic::Ordering::SeqCst) != 0;
    assert!(found == NAMES[..1] || found == NAMES[..2], "a half-made entry: {found:?}");
    assert!(!ended || found == NAMES[..2], "a name that was given is gone");

    // There is room for as many as if nobody had died, and each is a lock of its own.
    let mutexes = NAMES.map(|name| file.mutex(name).unwrap());
    assert_eq!(names(), NAMES);
    let guards = mutexes.each_ref().map(|mutex| {
        let guard = mutex.lock_for(PATIENCE).unwrap();
        assert!(!guard.acquired().previous_owner_died);
        guard
    });
    assert!(matches!(file.mutex("one too many").err(), Some(Error::LocksFull { .. })));
    drop(guards);
    drop((mutexes, first, file));
    nothing_else_lies_here(trial);
    std::fs::remove_file(path).unwrap();
}
