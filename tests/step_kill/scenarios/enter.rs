//! Victims that take a slot, or the lock when no living participant has it.

use super::{has_its_turn, one_dies_inside, usual};
use crate::{
    oracle::{PARTICIPANTS, Stage},
    tracee::{begin, end},
    trial::Trial,
};
use std::mem::forget;
use support::{
    either::Held,
    format::{Format, peek_u64},
};
use turnlock::Result;

pub fn attaches(trial: &Trial) {
    its_life_is_to_attach(trial, Stage::new(trial), ());
}

pub fn attaches_in_an_idle_dead_ones_slot(trial: &Trial) {
    let stage = Stage::new(trial);
    trial.dead_one(|| forget(stage.file.participant().unwrap()));
    // So that no slot is free.
    let third = stage.file.participant().unwrap();
    its_life_is_to_attach(trial, stage, third);
}

pub fn attaches_in_a_dead_holders_slot(trial: &Trial) {
    let stage = Stage::new(trial);
    one_dies_inside(trial, &stage);
    let third = stage.file.participant().unwrap();
    its_life_is_to_attach(trial, stage, third);
}

fn its_life_is_to_attach<T>(trial: &Trial, stage: Stage, others: T) {
    usual(trial, stage, others, |stage| {
        begin();
        let _participant = stage.file.participant().unwrap();
        end(trial.arena)
    });
}

pub fn locks_for_the_first_time(trial: &Trial) {
    usual(trial, Stage::new(trial), (), |stage| {
        begin();
        takes_its_turn(trial, stage, |stage| stage.lock.lock())
    });
}

pub fn locks(trial: &Trial) {
    its_life_is_a_turn(trial, Stage::new(trial), |stage| stage.lock.lock());
}

pub fn takes_a_dead_ones_place(trial: &Trial) {
    let stage = Stage::new(trial);
    one_dies_inside(trial, &stage);
    its_life_is_a_turn(trial, stage, |stage| stage.lock.lock());
}

pub fn tries(trial: &Trial) {
    its_life_is_a_turn(trial, Stage::new(trial), |stage| stage.lock.try_lock());
}

pub fn tries_a_dead_ones_place(trial: &Trial) {
    let stage = Stage::new(trial);
    one_dies_inside(trial, &stage);
    its_life_is_a_turn(trial, stage, |stage| stage.lock.try_lock());
}

/// The first to die has said that it is choosing, and has no number.
pub fn reaps_one_in_the_doorway(trial: &Trial) {
    const CHOOSING: u64 = 1;
    let stage = Stage::new(trial);
    let first = trial.victim(|| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        forget(stage.lock.lock().unwrap());
        panic!("it was to die before");
    });
    let format = Format { participants: PARTICIPANTS.into(), locks: 1 };
    let its_register = format.number(1, stage.own.slot() as u64 + 1);
    first.dies_when(|| peek_u64(&trial.lock_file(), its_register) == CHOOSING);
    its_life_is_a_turn(trial, stage, |stage| stage.lock.lock());
}

fn its_life_is_a_turn(trial: &Trial, stage: Stage, take: fn(&Stage) -> Result<Held<'_>>) {
    usual(trial, stage, (), |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        takes_its_turn(trial, stage, take)
    });
}

fn takes_its_turn(trial: &Trial, stage: &Stage, take: fn(&Stage) -> Result<Held<'_>>) -> ! {
    trial.arena.is_busy(true);
    has_its_turn(trial.arena, take(stage).unwrap());
    end(trial.arena)
}
