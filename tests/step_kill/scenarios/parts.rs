//! Victims that have ranges, or keys.

use super::rwlock::{usual, writes_in};
use crate::{
    arena::Debt,
    claims::{KEY, PARTICIPANTS, RANGE, Stage, meets_its_fate},
    tracee::{begin, end},
    trial::Trial,
};
use std::{mem::forget, ops::Range, sync::atomic::Ordering::Relaxed};
use turnlock::{KeyedLock, RangeGuard, RangeLock};

type Ranges = Stage<RangeLock>;
type Keys = Stage<KeyedLock>;

/// Another range than [`RANGE`].
const ANOTHER: Range<u64> = 30..40;

fn writes(trial: &Trial, mut guard: RangeGuard) {
    writes_in(trial, guard.acquired(), || guard.mark_consistent());
    guard.unlock().unwrap();
    trial.arena.is_busy(false);
}

fn its_life_is_to_write(trial: &Trial, stage: Ranges, range: Range<u64>) {
    usual(trial, stage, |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        trial.arena.is_busy(true);
        writes(trial, stage.lock.write(range).unwrap());
    });
}

pub fn writes_a_range(trial: &Trial) {
    its_life_is_to_write(trial, Ranges::new(trial), RANGE);
}

pub fn reads_a_range(trial: &Trial) {
    usual(trial, Ranges::new(trial), |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        stage.lock.read(RANGE).unwrap().unlock().unwrap();
    });
}

/// By a slot of its own.
pub fn takes_a_second_range(trial: &Trial) {
    usual(trial, Ranges::new(trial), |stage| {
        let first = stage.lock.write(ANOTHER).unwrap();
        trial.arena.is_busy(true);
        begin();
        let second = stage.lock.write(RANGE).unwrap();
        trial.arena.section(second.fencing_token());
        second.unlock().unwrap();
        first.unlock().unwrap();
        trial.arena.is_busy(false);
    });
}

fn dies_with(trial: &Trial, stage: &Ranges, range: Range<u64>) {
    let guard = stage.lock.write(range).unwrap();
    trial.arena.a.fetch_add(1, Relaxed);
    forget(guard);
}

/// It is told, and repairs.
pub fn writes_in_a_dead_ones_place(trial: &Trial) {
    let stage = Ranges::new(trial);
    trial.dead_one(|| dies_with(trial, &stage, RANGE));
    trial.arena.owes(Debt::Owed);
    // By a try, which does not spin before it asks whether that one is alive.
    usual(trial, stage, |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        trial.arena.is_busy(true);
        writes(trial, stage.lock.try_write(RANGE).unwrap());
    });
}

/// The dead participant had a slot in which another had died, whose range is not marked consistent yet: its own is written
/// down elsewhere.
pub fn reaps_where_one_died_before(trial: &Trial) {
    let stage = Ranges::new(trial);
    let slots_but_one: Vec<_> = (3..PARTICIPANTS).map(|_| stage.file.participant().unwrap()).collect();
    trial.dead_one(|| dies_with(trial, &stage, ANOTHER));
    trial.arena.owes(Debt::Owed);
    // Reaps the first by taking its slot.
    trial.dead_one(|| dies_with(trial, &stage, RANGE));
    drop(slots_but_one);
    usual(trial, stage, |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        // Not all of what died: it cannot mark it.
        stage.lock.try_write(RANGE).unwrap().unlock().unwrap();
        trial.arena.is_busy(true);
        writes(trial, stage.lock.try_write(RANGE.start..ANOTHER.end).unwrap());
    });
}

/// The one before it leaves when the victim falls asleep.
pub fn waits_for_a_range(trial: &Trial) {
    let stage = Ranges::new(trial);
    let lock = stage.lock.clone();
    let mut held = Some(lock.write(RANGE.start - 1..RANGE.start + 1).unwrap());
    let mut victim = trial.victim(|| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        trial.arena.is_busy(true);
        writes(trial, stage.lock.write(RANGE).unwrap());
        end(trial.arena)
    });
    victim.go(|call| {
        if call.is_futex_wait() {
            drop(held.take());
        }
    });
    meets_its_fate(trial, stage, victim, vec![], || drop(held));
}

pub fn takes_several_ranges(trial: &Trial) {
    usual(trial, Ranges::new(trial), |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        trial.arena.is_busy(true);
        let guards = stage.lock.write_all([ANOTHER, RANGE]).unwrap();
        trial.arena.section(guards[0].fencing_token());
        drop(guards);
        trial.arena.is_busy(false);
    });
}

pub fn takes_a_key(trial: &Trial) {
    usual(trial, Keys::new(trial), |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        its_turn_with_the_key(trial, stage);
    });
}

fn its_turn_with_the_key(trial: &Trial, stage: &Keys) {
    trial.arena.is_busy(true);
    let mut guard = stage.lock.try_write(KEY).unwrap();
    writes_in(trial, guard.acquired(), || guard.mark_consistent());
    guard.unlock().unwrap();
    trial.arena.is_busy(false);
}

pub fn takes_a_dead_ones_key(trial: &Trial) {
    let stage = Keys::new(trial);
    trial.dead_one(|| {
        forget(stage.lock.write(KEY).unwrap());
        trial.arena.a.fetch_add(1, Relaxed);
    });
    trial.arena.owes(Debt::Owed);
    usual(trial, stage, |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        its_turn_with_the_key(trial, stage);
    });
}

/// Two participants with different keys died in one slot: later holders are told of both, until a reset, which the victim
/// does.
pub fn resets_where_two_died_in_one_slot(trial: &Trial) {
    let stage = Keys::new(trial);
    let slots_but_one: Vec<_> = (3..PARTICIPANTS).map(|_| stage.file.participant().unwrap()).collect();
    trial.dead_one(|| forget(stage.lock.write("grace").unwrap()));
    trial.dead_one(|| {
        forget(stage.lock.write(KEY).unwrap());
        trial.arena.a.fetch_add(1, Relaxed);
    });
    trial.arena.owes(Debt::Owed);
    drop(slots_but_one);
    usual(trial, stage, |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        let looked_after = stage.lock.try_write(KEY).unwrap();
        assert!(looked_after.acquired().previous_owner_died);
        trial.arena.b.store(trial.arena.a.load(Relaxed), Relaxed);
        looked_after.unlock().unwrap();
        trial.arena.owes(Debt::BeingPaid);
        stage.lock.try_reset().unwrap();
        trial.arena.owes(Debt::None);
        its_turn_with_the_key(trial, stage);
    });
}
