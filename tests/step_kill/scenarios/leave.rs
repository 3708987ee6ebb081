//! Victims that give the lock back, and one that opens a closed lock again.

use super::{has_its_turn, meets_its_fate, one_dies_inside, until_asleep, usual};
use crate::{
    arena::{Closed, Debt},
    oracle::{Stage, enter, the_living_go_on},
    tracee::{begin, end},
    trial::Trial,
};
use std::sync::atomic::Ordering::Relaxed;
use support::either::Held;

/// A waiter sleeps behind the victim, and must enter whatever becomes of the victim.
pub fn wakes(trial: &Trial) {
    let stage = Stage::new(trial);
    let mut victim = trial.victim(|| {
        trial.arena.is_busy(true);
        let guard = stage.lock.lock().unwrap();
        begin();
        has_its_turn(trial.arena, guard);
        end(trial.arena)
    });
    let other = trial.bystander(|| {
        enter(trial, &stage.lock, Some(&stage.file.participant().unwrap()));
    });
    until_asleep(trial, 1);
    victim.go(|_| {});
    meets_its_fate(trial, &stage, victim, vec![other], || ());
    the_living_go_on(trial, stage);
}

/// After an owner-dead notice.
pub fn repairs(trial: &Trial) {
    is_told(trial, |guard| has_its_turn(trial.arena, guard));
}

/// Likewise, and the victim closes the lock for all participants.
pub fn does_not_repair(trial: &Trial) {
    let arena = trial.arena;
    is_told(trial, |guard| {
        arena.owes(Debt::BeingPaid);
        arena.is_closed(Closed::Perhaps);
        guard.unlock().unwrap();
        arena.is_closed(Closed::Yes);
        arena.owes(Debt::None);
        arena.is_busy(false);
    });
}

fn is_told(trial: &Trial, then: impl FnOnce(Held)) {
    let stage = Stage::new(trial);
    one_dies_inside(trial, &stage);
    usual(trial, stage, (), |stage| {
        trial.arena.is_busy(true);
        let guard = stage.lock.lock().unwrap();
        begin();
        then(guard);
        end(trial.arena)
    });
}

pub fn resets(trial: &Trial) {
    let stage = Stage::new(trial);
    one_dies_inside(trial, &stage);
    // Told, and no repair.
    stage.lock.lock().unwrap().unlock().unwrap();
    trial.arena.owes(Debt::None);
    trial.arena.is_closed(Closed::Yes);
    usual(trial, stage, (), |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        trial.arena.is_busy(true);
        trial.arena.b.store(trial.arena.a.load(Relaxed), Relaxed);
        trial.arena.is_closed(Closed::Perhaps);
        stage.lock.reset().unwrap();
        trial.arena.is_closed(Closed::No);
        trial.arena.is_busy(false);
        end(trial.arena)
    });
}
