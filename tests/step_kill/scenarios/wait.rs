//! Victims that find one who is alive before them.

use super::{has_its_turn, until_asleep};
use crate::{
    arena::Arena,
    oracle::{STRICT, Stage, enter, the_living_go_on, the_victim_stands_still},
    tracee::{begin, end},
    trial::{Bystander, Trial},
};
use std::{
    thread::{self, sleep},
    time::Duration,
};
use support::either::Kind;
use turnlock::{Error, Participant, Result};

/// How long a victim waits whose time is to pass. Longer than it takes from the beginning of its wait to its first
/// sleep, even on a busy machine; where it is to go further, it is not stepped on the way there, and takes a hundred
/// times less.
pub fn limit(trial: &Trial) -> Duration {
    Duration::from_millis(if trial.point.after_sleep { 3 } else { 20 })
}

/// What happens while the victim stands right before its first sleep.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Meanwhile {
    /// It is not to come to that.
    Nothing,
    /// The holder gives the lock back.
    Unlock,
    /// The victim's time passes, so that it sleeps once. It is the second in the queue: those look at the clock sooner.
    TimePasses,
    /// Likewise; and somebody comes, who waits for the victim and falls asleep.
    AnotherComes,
}

pub fn queues(trial: &Trial) {
    behind_a_holder(trial, Meanwhile::Unlock, |stage, _| {
        begin();
        trial.arena.is_busy(true);
        has_its_turn(trial.arena, stage.lock.lock().unwrap());
    });
}

/// With more patience than anybody needs here.
pub fn lets_others_pass(trial: &Trial) {
    let stage = Stage::with(trial, 4, Kind::Mutex { patience: Duration::from_secs(10) });
    behind(trial, stage, Meanwhile::Unlock, |stage, _| {
        begin();
        trial.arena.is_busy(true);
        has_its_turn(trial.arena, stage.lock.lock().unwrap());
    });
}

pub fn tries_in_vain(trial: &Trial) {
    behind_a_holder(trial, Meanwhile::Nothing, |stage, _| {
        begin();
        gives_up(trial.arena, || stage.lock.try_lock(), |error| matches!(error, Error::WouldBlock));
    });
}

pub fn times_out_at_once(trial: &Trial) {
    behind_a_holder(trial, Meanwhile::Nothing, |stage, _| {
        times_out_after(trial.arena, stage, Duration::ZERO)
    });
}

pub fn times_out(trial: &Trial) {
    behind_a_holder(trial, Meanwhile::TimePasses, |stage, _| {
        times_out_after(trial.arena, stage, limit(trial))
    });
}

pub fn times_out_before_another(trial: &Trial) {
    behind_a_holder(trial, Meanwhile::AnotherComes, |stage, _| {
        times_out_after(trial.arena, stage, limit(trial))
    });
}

/// The request is there before the wait.
pub fn is_cancelled(trial: &Trial) {
    behind_a_holder(trial, Meanwhile::Nothing, |stage, me| {
        me.cancel();
        begin();
        gives_up(trial.arena, || stage.lock.lock(), |error| matches!(error, Error::Cancelled));
    });
}

/// The one who waits is asleep, in another thread of the victim.
pub fn cancels(trial: &Trial) {
    behind_a_holder(trial, Meanwhile::Nothing, |stage, _| {
        let me = &stage.file.participant().unwrap();
        thread::scope(|threads| {
            threads.spawn(|| {
                gives_up(trial.arena, || stage.lock.lock_as(me), |error| matches!(error, Error::Cancelled));
            });
            until_asleep(trial, 1);
            begin();
            me.cancel();
            end(trial.arena)
        })
    });
}

pub fn times_out_after(arena: &Arena, stage: &Stage, limit: Duration) {
    begin();
    gives_up(arena, || stage.lock.lock_for(limit), |error| matches!(error, Error::TimedOut));
}

pub fn gives_up<G>(
    arena: &Arena,
    take: impl FnOnce() -> Result<G>,
    as_expected: impl FnOnce(&Error) -> bool,
) {
    arena.is_busy(true);
    let error = take().err().expect("the holder is alive");
    assert!(as_expected(&error), "{error}");
    arena.is_busy(false);
}

fn behind_a_holder(trial: &Trial, meanwhile: Meanwhile, life: impl FnOnce(&Stage, &Participant)) {
    behind(trial, Stage::with(trial, 4, STRICT), meanwhile, life);
}

/// The first survivor takes the lock, in its way; the victim comes after it.
pub fn behind(trial: &Trial, stage: Stage, meanwhile: Meanwhile, life: impl FnOnce(&Stage, &Participant)) {
    let enters = || {
        enter(trial, &stage.lock, Some(&stage.file.participant().unwrap()));
    };
    let mut held = Some(stage.lock.lock().unwrap());
    let mut others = Vec::new();
    if matches!(meanwhile, Meanwhile::TimePasses | Meanwhile::AnotherComes) {
        others.push(trial.bystander(enters));
        until_asleep(trial, 1);
    }
    let mut victim = trial.victim(|| {
        let me = stage.file.current_participant().unwrap();
        life(&stage, &me);
        end(trial.arena)
    });
    victim.go(|call| {
        if !call.is_futex_wait() {
            return;
        }
        match meanwhile {
            Meanwhile::Nothing => {}
            Meanwhile::Unlock => drop(held.take()),
            Meanwhile::TimePasses => sleep(limit(trial)),
            Meanwhile::AnotherComes if others.len() > 1 => {}
            Meanwhile::AnotherComes => {
                others.push(trial.bystander(enters));
                until_asleep(trial, 3);
                sleep(limit(trial));
            }
        }
    });
    the_victim_stands_still(trial, &stage);
    victim.kill();
    drop(held);
    others.into_iter().for_each(Bystander::join);
    the_living_go_on(trial, stage);
}
