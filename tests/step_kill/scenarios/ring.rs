//! Victims that take part in a turn ring.

use super::{
    has_its_turn, meets_its_fate, one_dies_inside, until_asleep, until_held, usual,
    wait::{Meanwhile, behind, times_out_after},
};
use crate::{
    oracle::{Stage, enter, the_living_go_on, the_victim_stands_still},
    order::Fate,
    tracee::{begin, end},
    trial::Trial,
};
use std::time::Duration;
use support::either::{Held, Kind, Lock};
use turnlock::{Error, Result, RingAlgorithm};

/// Room for so many: the first survivor, the victim, and two more.
pub const PARTICIPANTS: u32 = 4;

fn stage(trial: &Trial, algorithm: RingAlgorithm) -> Stage {
    Stage::with(trial, PARTICIPANTS, Kind::Ring(algorithm))
}

/// How a victim takes its turn.
type Take = fn(&Lock) -> Result<Held<'_>>;

/// Where the victim is stopped, a survivor is inside when it goes on, so that a try fails.
fn takes_its_turn(trial: &Trial, lock: &Lock, take: Take) {
    trial.arena.is_busy(true);
    match take(lock) {
        Err(Error::WouldBlock(_)) if trial.fate == Fate::Stopped => trial.arena.is_busy(false),
        taken => has_its_turn(trial.arena, taken.unwrap()),
    }
}

fn its_life_is_a_turn(trial: &Trial, stage: Stage, take: Take) {
    usual(trial, stage, (), |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        takes_its_turn(trial, &stage.lock, take);
        end(trial.arena)
    });
}

/// The ring has not begun.
pub fn takes_a_turn(trial: &Trial, algorithm: RingAlgorithm) {
    its_life_is_a_turn(trial, stage(trial, algorithm), Lock::lock);
}

/// The privilege has stayed with it, since no other participant wanted it.
pub fn takes_a_turn_again(trial: &Trial, algorithm: RingAlgorithm) {
    usual(trial, stage(trial, algorithm), (), |stage| {
        stage.lock.lock().unwrap().unlock().unwrap();
        begin();
        takes_its_turn(trial, &stage.lock, Lock::lock);
        end(trial.arena)
    });
}

pub fn waits(trial: &Trial, algorithm: RingAlgorithm) {
    behind(trial, stage(trial, algorithm), Meanwhile::Unlock, |stage, _| {
        begin();
        takes_its_turn(trial, &stage.lock, Lock::lock);
    });
}

pub fn takes_a_dead_ones_place(trial: &Trial, algorithm: RingAlgorithm) {
    let stage = stage(trial, algorithm);
    one_dies_inside(trial, &stage);
    its_life_is_a_turn(trial, stage, Lock::lock);
}

/// A ring member has its turn, and dies outside; the privilege is with it.
fn a_member_dies(trial: &Trial, stage: &Stage) {
    trial.dead_one(|| stage.member().lock().unwrap().unlock().unwrap());
}

/// By a try, which does not spin before it asks whether the dead one is alive: most points of a wait on a ring lie in
/// that loop.
pub fn takes_over(trial: &Trial, algorithm: RingAlgorithm) {
    let stage = stage(trial, algorithm);
    a_member_dies(trial, &stage);
    its_life_is_a_turn(trial, stage, Lock::try_lock);
}

/// Likewise, and the victim has its slot and so its place on the ring.
pub fn comes_in_a_dead_ones_slot(trial: &Trial, algorithm: RingAlgorithm) {
    let stage = stage(trial, algorithm);
    a_member_dies(trial, &stage);
    let others: Vec<_> = (2..PARTICIPANTS).map(|_| stage.file.participant().unwrap()).collect();
    usual(trial, stage, others, |stage| {
        begin();
        takes_its_turn(trial, &stage.lock, Lock::lock);
        end(trial.arena)
    });
}

pub fn gives_up(trial: &Trial, algorithm: RingAlgorithm) {
    behind(trial, stage(trial, algorithm), Meanwhile::Nothing, |stage, _| {
        times_out_after(trial, stage, Duration::ZERO)
    });
}

/// On the ring there is, beside the victim, which has the turn, the participant that had it before and wants no other. A
/// newcomer wants the next turn, is not on the ring yet, and sleeps; its place is not right after the victim's.
pub fn renews_the_links(trial: &Trial, algorithm: RingAlgorithm) {
    let stage = stage(trial, algorithm);
    let other = trial.bystander(|| {
        let [after, before] = [(); 2].map(|()| stage.file.participant().unwrap());
        let turn = stage.lock.lock_as(&before).unwrap();
        until_asleep(trial, 1);
        turn.unlock().unwrap();
        enter(trial, &stage.lock, Some(&after));
    });
    until_held(trial);
    let mut victim = trial.victim(|| {
        trial.arena.is_busy(true);
        let guard = stage.lock.lock().unwrap();
        begin();
        has_its_turn(trial.arena, guard);
        end(trial.arena)
    });
    until_asleep(trial, 1);
    victim.go(|_| {});
    the_victim_stands_still(trial, &stage);
    meets_its_fate(trial, &stage, victim, vec![other], || {});
    the_living_go_on(trial, stage);
}

/// Its first turn, and its second.
pub fn stands(trial: &Trial, algorithm: RingAlgorithm) {
    usual(trial, stage(trial, algorithm), (), |stage| {
        let _attached = stage.file.current_participant().unwrap();
        let member = stage.member();
        begin();
        takes_its_turn(trial, &member, Lock::lock);
        takes_its_turn(trial, &member, Lock::lock);
        end(trial.arena)
    });
}

/// The victim has the privilege, outside, and passes it to another ring member, outside too. A waiter would take over
/// whenever it looks, and the victim would never go the same way twice.
pub fn leaves(trial: &Trial, algorithm: RingAlgorithm) {
    usual(trial, stage(trial, algorithm), (), |stage| {
        let member = stage.member();
        let other = stage.file.participant().unwrap();
        member.lock().unwrap().unlock().unwrap();
        // It stands from here on, and its turn comes after the next one.
        let in_vain = member.lock_for_as(&other, Duration::ZERO).err();
        assert!(matches!(in_vain, Some(Error::TimedOut(_))), "{in_vain:?}");
        member.lock().unwrap().unlock().unwrap();
        member.lock_as(&other).unwrap().unlock().unwrap();
        begin();
        member.leave().unwrap();
        end(trial.arena)
    });
}
