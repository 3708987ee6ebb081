//! Victims that write into the directory: they name locks, and remove them.

use crate::{
    oracle::{PARTICIPANTS, PATIENCE, nothing_else_lies_here},
    tracee::{begin, end},
    trial::Trial,
};
use std::sync::atomic::Ordering::SeqCst;
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

    let names = || names_in(trial);
    let (found, ended) = (names(), has_ended(trial));
    assert!(found == NAMES[..1] || found == NAMES[..2], "a half-made entry: {found:?}");
    assert!(!ended || found == NAMES[..2], "a name that was given is gone");

    there_is_room_for_all(trial, &file);
    assert_eq!(names(), NAMES);
    drop((first, file));
    nothing_else_lies_here(trial);
    std::fs::remove_file(path).unwrap();
}

fn names_in(trial: &Trial) -> Vec<String> {
    let status = inspect::snapshot(trial.lock_file()).unwrap();
    status.locks.into_iter().map(|lock| lock.name).collect()
}

fn has_ended(trial: &Trial) -> bool {
    trial.arena.ended.load(SeqCst) != 0
}

/// For as many locks as if no participant had died; each is a lock of its own, and as good as new.
fn there_is_room_for_all(trial: &Trial, file: &LockFile) {
    let mutexes = NAMES.map(|name| file.mutex(name).unwrap());
    let guards = mutexes.each_ref().map(|mutex| {
        let guard = mutex.lock_for(PATIENCE).unwrap();
        assert!(!guard.acquired().previous_owner_died);
        guard
    });
    assert!(matches!(file.mutex("one too many").err(), Some(Error::LocksFull { .. })));
    assert_eq!(names_in(trial).len(), NAMES.len());
    drop(guards);
}

fn full_file(trial: &Trial) -> LockFile {
    let mut options = LockFile::options();
    let file = options.participants(PARTICIPANTS).locks(NAMES.len() as u32).open(trial.lock_file()).unwrap();
    NAMES.iter().for_each(|name| drop(file.mutex(name).unwrap().lock().unwrap()));
    file
}

/// It is gone, with every handle of it, or it is there as ever: nothing between.
pub fn removes(trial: &Trial) {
    let file = full_file(trial);
    let handle = file.mutex(NAMES[1]).unwrap();
    // This thread, which is outside, has its bias.
    (0..100).for_each(|_| drop(handle.lock().unwrap()));
    let mut victim = trial.victim(|| {
        let _attached = file.current_participant().unwrap();
        begin();
        file.remove_lock(NAMES[1]).unwrap();
        end(trial.arena)
    });
    victim.go(|_| {});
    victim.kill();

    let found = names_in(trial);
    let is_there = found.iter().any(|name| name == NAMES[1]);
    assert_eq!(found.len(), if is_there { 3 } else { 2 }, "{found:?}");
    assert!(!(is_there && has_ended(trial)), "it was removed, and is there");
    match handle.lock_for(PATIENCE) {
        Ok(guard) => assert!(is_there && !guard.acquired().previous_owner_died, "a handle of a removed lock"),
        Err(Error::NotFound { .. }) => assert!(!is_there, "a handle of a lock that is there"),
        Err(error) => panic!("{error}"),
    }
    there_is_room_for_all(trial, &file);
    if !is_there {
        assert!(matches!(handle.lock_for(PATIENCE), Err(Error::NotFound { .. })), "it is another lock");
    }
    drop((handle, file));
    nothing_else_lies_here(trial);
    std::fs::remove_file(trial.lock_file()).unwrap();
}

pub fn in_a_removed_ones_place(trial: &Trial) {
    let file = full_file(trial);
    let stale = file.mutex(NAMES[1]).unwrap();
    file.remove_lock(NAMES[1]).unwrap();
    let mut victim = trial.victim(|| {
        let _attached = file.current_participant().unwrap();
        begin();
        let _ring = file.turn_ring("another").unwrap();
        end(trial.arena)
    });
    victim.go(|_| {});
    victim.kill();

    let found = names_in(trial);
    let is_there = found.iter().any(|name| name == "another");
    assert_eq!(found.len(), if is_there { 3 } else { 2 }, "a half-made entry: {found:?}");
    assert!(is_there || !has_ended(trial), "a name that was given is gone");
    assert!(matches!(stale.lock_for(PATIENCE), Err(Error::NotFound { .. })));
    if is_there {
        drop(file.turn_ring("another").unwrap().lock_for(PATIENCE).unwrap());
        file.remove_lock("another").unwrap();
    }
    there_is_room_for_all(trial, &file);
    assert!(matches!(stale.lock_for(PATIENCE), Err(Error::NotFound { .. })));
    drop((stale, file));
    nothing_else_lies_here(trial);
    std::fs::remove_file(trial.lock_file()).unwrap();
}
