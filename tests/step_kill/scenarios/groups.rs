//! Victims that are inside with a group.

use super::rwlock::{usual, writes_in};
use crate::{
    arena::Debt,
    claims::{GROUP, OTHER_GROUP, Stage, meets_its_fate},
    tracee::{begin, end},
    trial::Trial,
};
use std::{mem::forget, sync::atomic::Ordering::Relaxed};
use turnlock::{GroupGuard, GroupLock};

type Groups = Stage<GroupLock>;

fn writes(trial: &Trial, mut guard: GroupGuard) {
    writes_in(trial, guard.acquired(), || guard.mark_consistent());
    guard.unlock().unwrap();
    trial.arena.is_busy(false);
}

pub fn enters(trial: &Trial) {
    usual(trial, Groups::new(trial), |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        trial.arena.is_busy(true);
        writes(trial, stage.lock.lock(GROUP).unwrap());
    });
}

/// Another one of its group is inside until the victim has met its fate.
pub fn joins(trial: &Trial) {
    let stage = Groups::new(trial);
    let (lock, other) = (stage.lock.clone(), stage.file.participant().unwrap());
    let inside = lock.lock_as(&other, GROUP).unwrap();
    let mut victim = trial.victim(|| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        trial.arena.is_busy(true);
        writes(trial, stage.lock.lock(GROUP).unwrap());
        end(trial.arena)
    });
    victim.go(|_| {});
    meets_its_fate(trial, stage, victim, vec![], || inside.unlock().unwrap());
}

/// Those of another group leave when the victim falls asleep.
pub fn waits_for_another_group(trial: &Trial) {
    let stage = Groups::new(trial);
    let (lock, other) = (stage.lock.clone(), stage.file.participant().unwrap());
    let mut inside = Some(lock.lock_as(&other, OTHER_GROUP).unwrap());
    let mut victim = trial.victim(|| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        trial.arena.is_busy(true);
        writes(trial, stage.lock.lock(GROUP).unwrap());
        end(trial.arena)
    });
    victim.go(|call| {
        if call.is_futex_wait() {
            drop(inside.take());
        }
    });
    meets_its_fate(trial, stage, victim, vec![], || drop(inside));
}

/// One of another group died inside: the victim is told, and repairs.
pub fn enters_where_a_member_died(trial: &Trial) {
    let stage = Groups::new(trial);
    trial.dead_one(|| {
        forget(stage.lock.lock(OTHER_GROUP).unwrap());
        trial.arena.a.fetch_add(1, Relaxed);
    });
    trial.arena.owes(Debt::Owed);
    // By a try, which does not spin before it asks whether that one is alive.
    usual(trial, stage, |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        trial.arena.is_busy(true);
        writes(trial, stage.lock.try_lock(GROUP).unwrap());
    });
}
