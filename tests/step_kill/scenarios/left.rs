//! Victims that leave what they hold to an open file which others share, or unlock for it. The trial has it open all the
//! while.

use crate::{
    arena::Debt,
    oracle::{LOCK, Stage, the_living_go_on},
    tracee::{begin, end},
    trial::Trial,
};
use std::{
    fs::File,
    mem::forget,
    os::fd::AsRawFd,
    sync::atomic::Ordering::{Relaxed, SeqCst},
};
use turnlock::{Error, Participant};

/// Holds the lock, as a participant that can be left.
fn holder(trial: &Trial, stage: &Stage) -> Participant {
    let me = stage.file.participant_options().release_on_close(true).open().unwrap();
    let guard = stage.lock.lock_as(&me).unwrap();
    trial.arena.token.fetch_max(guard.fencing_token(), Relaxed);
    forget(guard);
    me
}

/// At every moment the lock is the victim's, whose death is told, or the open file's; and then no participant gets in.
pub fn leaves(trial: &Trial) {
    let (stage, arena) = (Stage::new(trial), trial.arena);
    let given = File::open(trial.lock_file()).unwrap();
    let mut victim = trial.victim(|| {
        let me = holder(trial, &stage);
        arena.a.fetch_add(1, Relaxed);
        arena.owes(Debt::Owed);
        begin();
        me.transfer_to_fd(given.as_raw_fd(), 1).unwrap();
        end(arena)
    });
    victim.go(|_| {});
    // The victim stands still, and it or the open file has the lock.
    is_not_robbed(&stage);
    victim.kill();
    let left = stage.file.count_transferred(given.as_raw_fd(), LOCK).unwrap();
    assert!(left == 1 || arena.ended.load(SeqCst) == 0, "it was left, and is lost");
    if left == 1 {
        is_not_robbed(&stage);
    }
    drop(given);
    the_living_go_on(trial, stage);
}

fn is_not_robbed(stage: &Stage) {
    let robbed = stage.lock.try_lock().err();
    assert!(matches!(robbed, Some(Error::WouldBlock(_))), "robbed of what is, or was, left: {robbed:?}");
}

/// After a death half-way, the next process that unlocks finishes; no holder died.
pub fn unlocks(trial: &Trial) {
    let stage = Stage::new(trial);
    let given = File::open(trial.lock_file()).unwrap();
    trial.bystander(|| holder(trial, &stage).transfer_to_fd(given.as_raw_fd(), 1).unwrap()).join();
    let mut victim = trial.victim(|| {
        begin();
        assert_eq!(stage.file.unlock_transferred(given.as_raw_fd(), None).unwrap(), 1);
        end(trial.arena)
    });
    victim.go(|_| {});
    victim.kill();
    let again = stage.file.unlock_transferred(given.as_raw_fd(), None).unwrap();
    assert!(again == 0 || trial.arena.ended.load(SeqCst) == 0, "it was unlocked, and is held");
    the_living_go_on(trial, stage);
}
