//! Victims that find a living participant before them.

use super::{has_its_turn, meets_its_fate, until_asleep};
use crate::{
    oracle::{STRICT, Stage, enter, the_living_go_on, the_victim_stands_still},
    order::Fate,
    tracee::{begin, end},
    trial::Trial,
};
use std::{
    thread::{self, sleep},
    time::Duration,
};
use support::either::{Held, Kind};
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
    /// Likewise; and another participant comes, waits for the victim and falls asleep.
    AnotherComes,
}

pub fn queues(trial: &Trial) {
    behind_a_holder(trial, Meanwhile::Unlock, |stage, _| {
        begin();
        trial.arena.is_busy(true);
        has_its_turn(trial.arena, stage.lock.lock().unwrap());
    });
}

/// With more patience than the victim needs here; where it is stopped, with no more than survivors have too.
pub fn lets_others_pass(trial: &Trial) {
    let patience = Duration::from_millis(if trial.fate == Fate::Stopped { 300 } else { 10_000 });
    let stage = Stage::with(trial, 4, Kind::Mutex { patience });
    behind(trial, stage, Meanwhile::Unlock, |stage, _| {
        begin();
        trial.arena.is_busy(true);
        has_its_turn(trial.arena, stage.lock.lock().unwrap());
    });
}

pub fn tries_in_vain(trial: &Trial) {
    behind_a_holder(trial, Meanwhile::Nothing, |stage, _| {
        begin();
        gives_up(trial, || stage.lock.try_lock(), |error| matches!(error, Error::WouldBlock(_)));
    });
}

pub fn times_out_at_once(trial: &Trial) {
    behind_a_holder(trial, Meanwhile::Nothing, |stage, _| times_out_after(trial, stage, Duration::ZERO));
}

pub fn times_out(trial: &Trial) {
    behind_a_holder(trial, Meanwhile::TimePasses, |stage, _| times_out_after(trial, stage, limit(trial)));
}

pub fn times_out_before_another(trial: &Trial) {
    behind_a_holder(trial, Meanwhile::AnotherComes, |stage, _| times_out_after(trial, stage, limit(trial)));
}

/// The request is there before the wait.
pub fn is_cancelled(trial: &Trial) {
    behind_a_holder(trial, Meanwhile::Nothing, |stage, me| {
        me.cancel();
        begin();
        gives_up(trial, || stage.lock.lock(), |error| matches!(error, Error::Cancelled));
    });
}

const LONG_ASLEEP: Duration = Duration::from_millis(250);

/// The waiter is asleep, in another thread of the victim.
pub fn cancels(trial: &Trial) {
    behind_a_holder(trial, Meanwhile::Nothing, |stage, _| {
        let me = &stage.file.participant().unwrap();
        thread::scope(|threads| {
            threads.spawn(|| {
                trial.arena.is_busy(true);
                let error = stage.lock.lock_as(me).err();
                assert!(matches!(error, Some(Error::Cancelled)), "{error:?}");
                trial.arena.is_busy(false);
            });
            until_asleep(trial, 1);
            // It looks around every twenty-fourth of its wait: now so rarely that the victim finds it asleep, as a rule.
            thread::sleep(LONG_ASLEEP);
            begin();
            me.cancel();
            end(trial.arena)
        })
    });
}

pub fn times_out_after(trial: &Trial, stage: &Stage, limit: Duration) {
    begin();
    gives_up(trial, || stage.lock.lock_for(limit), |error| matches!(error, Error::TimedOut(_)));
}

/// It cannot have the lock, except where the holder leaves while it is stopped.
pub fn gives_up<'a>(
    trial: &Trial,
    take: impl FnOnce() -> Result<Held<'a>>,
    as_expected: impl FnOnce(&Error) -> bool,
) {
    trial.arena.is_busy(true);
    match take() {
        Ok(guard) => {
            assert!(trial.fate == Fate::Stopped, "the holder is alive");
            has_its_turn(trial.arena, guard);
        }
        Err(error) => {
            assert!(as_expected(&error), "{error}");
            trial.arena.is_busy(false);
        }
    }
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
    meets_its_fate(trial, &stage, victim, others, || drop(held));
    the_living_go_on(trial, stage);
}
