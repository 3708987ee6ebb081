//! Victims that are the bias owner, and victims that revoke the bias.

use super::{
    dies_inside, has_its_turn, meets_its_fate, usual,
    wait::{Meanwhile, behind, gives_up, limit},
};
use crate::{
    arena::{Arena, Debt},
    oracle::{Stage, enter, the_living_go_on},
    tracee::{begin, end},
    trial::Trial,
};
use support::either::Lock;
use turnlock::Error;

/// Enough acquisitions in a row to have a new lock biased.
const ENTRIES: usize = 3;

fn become_owner(lock: &Lock) {
    for _ in 0..ENTRIES {
        lock.lock().unwrap().unlock().unwrap();
    }
}

fn takes_its_turn(arena: &Arena, stage: &Stage) {
    arena.is_busy(true);
    has_its_turn(arena, stage.lock.lock().unwrap());
}

pub fn begins(trial: &Trial) {
    usual(trial, Stage::new(trial), (), |stage| {
        stage.lock.lock().unwrap().unlock().unwrap();
        begin();
        takes_its_turn(trial.arena, stage);
        end(trial.arena)
    });
}

pub fn enters(trial: &Trial) {
    usual(trial, Stage::new(trial), (), |stage| {
        become_owner(&stage.lock);
        begin();
        takes_its_turn(trial.arena, stage);
        end(trial.arena)
    });
}

/// Each acquisition is recorded, and none goes by the fast path.
pub fn enters_recorded(trial: &Trial) {
    usual(trial, Stage::recorded(trial), (), |stage| {
        // So often that the ring has come round.
        (0..30).for_each(|_| stage.lock.lock().unwrap().unlock().unwrap());
        begin();
        takes_its_turn(trial.arena, stage);
        end(trial.arena)
    });
}

/// A queue head revokes the bias and falls asleep while it is inside; after that it wants to enter again.
pub fn is_revoked(trial: &Trial) {
    let stage = Stage::new(trial);
    let mut victim = trial.victim(|| {
        become_owner(&stage.lock);
        trial.arena.is_busy(true);
        let guard = stage.lock.lock().unwrap();
        begin();
        has_its_turn(trial.arena, guard);
        takes_its_turn(trial.arena, &stage);
        end(trial.arena)
    });
    let other = trial.bystander(|| {
        enter(trial, &stage.lock, Some(&stage.file.participant().unwrap()));
    });
    super::until_asleep(trial, 1);
    victim.go(|_| {});
    meets_its_fate(trial, &stage, victim, vec![other], || ());
    the_living_go_on(trial, stage);
}

/// The bias owner dies outside, and the victim takes its slot.
pub fn comes_in_the_owners_slot(trial: &Trial) {
    let stage = Stage::new(trial);
    trial.dead_one(|| become_owner(&stage.lock));
    let third = stage.file.participant().unwrap();
    usual(trial, stage, third, |stage| {
        begin();
        takes_its_turn(trial.arena, stage);
        end(trial.arena)
    });
}

pub fn revokes(trial: &Trial) {
    let stage = Stage::new(trial);
    become_owner(&stage.lock);
    usual(trial, stage, (), |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        takes_its_turn(trial.arena, stage);
        end(trial.arena)
    });
}

pub fn revokes_a_dead_owners(trial: &Trial) {
    let stage = Stage::new(trial);
    trial.dead_one(|| {
        become_owner(&stage.lock);
        dies_inside(trial.arena, &stage);
    });
    trial.arena.owes(Debt::Owed);
    usual(trial, stage, (), |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        takes_its_turn(trial.arena, stage);
        end(trial.arena)
    });
}

/// A stage whose first survivor is the bias owner.
fn biased(trial: &Trial) -> Stage {
    let stage = Stage::new(trial);
    become_owner(&stage.lock);
    stage
}

pub fn revokes_and_waits(trial: &Trial) {
    behind(trial, biased(trial), Meanwhile::Unlock, |stage, _| {
        begin();
        takes_its_turn(trial.arena, stage);
    });
}

pub fn revokes_in_vain(trial: &Trial) {
    behind(trial, biased(trial), Meanwhile::TimePasses, |stage, _| {
        begin();
        gives_up(trial, || stage.lock.lock_for(limit(trial)), |error| matches!(error, Error::TimedOut(_)));
    });
}

pub fn tries_in_vain(trial: &Trial) {
    behind(trial, biased(trial), Meanwhile::Nothing, |stage, _| {
        begin();
        gives_up(trial, || stage.lock.try_lock(), |error| matches!(error, Error::WouldBlock(_)));
    });
}
