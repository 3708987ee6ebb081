//! Victims at conditions, events, barriers and onces, and the living that wait there.

use super::has_its_turn;
use crate::{
    arena::Arena,
    beside::{
        NAMED, NOTIFIED, WAITING, a_notification_reaches_the_living, entries, party, stage, the_living_meet,
        until_asleep_there, waiter,
    },
    oracle::{PATIENCE, Stage, the_living_go_on, the_victim_stands_still},
    order::Fate,
    stopped_beside as stopped,
    tracee::{begin, end},
    trial::{Bystander, Trial},
};
use std::{thread::sleep, time::Duration};
use support::either::Held;
use turnlock::{Error, OnceRun};

/// What a victim does as a waiter.
fn waits(arena: &Arena, stage: &Stage) {
    let condition = stage.file.condition(NAMED).unwrap();
    let mutex = stage.file.mutex("m").unwrap();
    let _attached = stage.file.current_participant().unwrap();
    begin();
    arena.is_busy(true);
    let mut guard = mutex.lock().unwrap();
    condition.wait(&mut guard).unwrap();
    has_its_turn(arena, Held::Mutex(guard));
    end(arena);
}

/// The victim waits, and behind it another one; it is notified when it is about to sleep. If it dies with the notification, the other
/// one gets that.
pub fn waits_at_a_condition(trial: &Trial) {
    let stage = stage(trial, |file| file.condition(NAMED));
    let mut other = None;
    let mut victim = trial.victim(|| waits(trial.arena, &stage));
    victim.go(|call| {
        if call.is_futex_wait() && other.is_none() {
            other = Some(waiter(trial, &stage));
            // The victim counts as asleep here.
            until_asleep_there(trial, 2);
            let condition = stage.file.condition(NAMED).unwrap();
            assert_eq!(condition.notify_one().unwrap(), 1);
        }
    });
    the_victim_stands_still(trial, &stage);
    if trial.fate == Fate::Stopped {
        return stopped::a_waiter(trial, stage, victim, other);
    }
    let has_it = entries(trial, NOTIFIED) == 1;
    victim.kill();
    if let Some(other) = other {
        if !has_it {
            assert_eq!(stage.file.condition(NAMED).unwrap().notify_one().unwrap(), 1);
        }
        other.join();
    }
    a_notification_reaches_the_living(trial, &stage);
    the_living_go_on(trial, stage);
}

fn is_time_out(error: &Error) -> bool {
    matches!(error, Error::TimedOut(_))
}

/// Its time passes while it is about to sleep.
pub fn gives_up_at_a_condition(trial: &Trial) {
    let limit = super::wait::limit(trial);
    let stage = stage(trial, |file| file.condition(NAMED));
    let mut victim = trial.victim(|| {
        let (mutex, condition) = (stage.file.mutex("m").unwrap(), stage.file.condition(NAMED).unwrap());
        let _attached = stage.file.current_participant().unwrap();
        begin();
        trial.arena.is_busy(true);
        let mut guard = mutex.lock().unwrap();
        let error = condition.wait_for(&mut guard, limit).err();
        // While it was stopped it may have been notified.
        let is_right = error.as_ref().map_or(trial.fate == Fate::Stopped, is_time_out);
        assert!(is_right, "{error:?}");
        has_its_turn(trial.arena, Held::Mutex(guard));
        end(trial.arena)
    });
    victim.go(|call| {
        if call.is_futex_wait() {
            sleep(limit);
        }
    });
    the_victim_stands_still(trial, &stage);
    if trial.fate == Fate::Stopped {
        return stopped::a_waiter(trial, stage, victim, None);
    }
    victim.kill();
    a_notification_reaches_the_living(trial, &stage);
    the_living_go_on(trial, stage);
}

/// Another one waits. It is notified by the victim, or by us.
pub fn notifies_one(trial: &Trial) {
    let stage = stage(trial, |file| file.condition(NAMED));
    let others = [waiter(trial, &stage)];
    until_asleep_there(trial, 1);
    notifies(trial, stage, others, |stage| stage.file.condition(NAMED).unwrap().notify_one());
}

/// Two others wait. Those that the victim got to go on, and the rest by us.
pub fn notifies_all(trial: &Trial) {
    let stage = stage(trial, |file| file.condition(NAMED));
    let others = [waiter(trial, &stage), waiter(trial, &stage)];
    until_asleep_there(trial, 2);
    notifies(trial, stage, others, |stage| stage.file.condition(NAMED).unwrap().notify_all());
}

/// Two others wait, and the first of them is dead: the victim passes the notification of that one on to the second, which stands still
/// meanwhile. Whatever the victim has done of that, the second one is notified.
pub fn notifies_where_one_died(trial: &Trial) {
    let stage = stage(trial, |file| file.condition(NAMED));
    let dies = waiter(trial, &stage);
    until_asleep_there(trial, 1);
    let other = waiter(trial, &stage);
    until_asleep_there(trial, 2);
    other.stop();
    dies.kill();
    let mut victim = trial.victim(|| {
        let condition = stage.file.condition(NAMED).unwrap();
        let _attached = stage.file.current_participant().unwrap();
        begin();
        has_notified(trial, condition.notify_one().unwrap(), 1);
        end(trial.arena)
    });
    victim.go(|_| {});
    if trial.fate == Fate::Stopped {
        return stopped::a_notifier_where_one_died(trial, stage, victim, other);
    }
    let not_yet = entries(trial, WAITING) == 2;
    victim.kill();
    if not_yet {
        assert_eq!(stage.file.condition(NAMED).unwrap().notify_one().unwrap(), 1);
    }
    other.resume();
    other.join();
    a_notification_reaches_the_living(trial, &stage);
    the_living_go_on(trial, stage);
}

/// So many, or less if we did meanwhile.
fn has_notified(trial: &Trial, how_many: u32, others: u32) {
    assert!(
        how_many == others || trial.fate == Fate::Stopped && how_many < others,
        "{how_many} were notified"
    );
}

fn notifies<const N: usize>(
    trial: &Trial,
    stage: Stage,
    others: [Bystander; N],
    notify: impl FnOnce(&Stage) -> turnlock::Result<u32>,
) {
    let mut victim = trial.victim(|| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        has_notified(trial, notify(&stage).unwrap(), N as u32);
        end(trial.arena)
    });
    victim.go(|_| {});
    if trial.fate == Fate::Stopped {
        return stopped::a_notifier(trial, stage, victim, others);
    }
    let left = entries(trial, WAITING);
    victim.kill();
    let condition = stage.file.condition(NAMED).unwrap();
    for _ in 0..left {
        assert_eq!(condition.notify_one().unwrap(), 1);
    }
    assert_eq!(condition.notify_one().unwrap(), 0, "one notification for each");
    drop(condition);
    others.into_iter().for_each(Bystander::join);
    the_living_go_on(trial, stage);
}

/// One has died with a notification, another one waits and stands still: the victim, which comes later, passes the notification on in
/// a nap. Whatever it has done of that, the other one is notified.
pub fn passes_a_notification_on(trial: &Trial) {
    let limit = Duration::from_millis(20);
    let stage = stage(trial, |file| file.condition(NAMED));
    let (mutex, condition) = (stage.file.mutex("m").unwrap(), stage.file.condition(NAMED).unwrap());
    let dies = waiter(trial, &stage);
    until_asleep_there(trial, 1);
    let other = waiter(trial, &stage);
    until_asleep_there(trial, 2);
    other.stop();
    let guard = mutex.lock().unwrap();
    assert_eq!(condition.notify_one().unwrap(), 1);
    // It cannot have the lock.
    dies.kill();
    guard.unlock().unwrap();
    let mut victim = trial.victim(|| {
        let (mutex, condition) = (stage.file.mutex("m").unwrap(), stage.file.condition(NAMED).unwrap());
        let _attached = stage.file.current_participant().unwrap();
        begin();
        trial.arena.is_busy(true);
        let mut guard = mutex.lock().unwrap();
        let error = condition.wait_for(&mut guard, limit).err();
        assert!(error.as_ref().is_some_and(is_time_out), "{error:?}");
        has_its_turn(trial.arena, Held::Mutex(guard));
        end(trial.arena)
    });
    victim.go(|_| {});
    drop((mutex, condition));
    if trial.fate == Fate::Stopped {
        return stopped::a_waiter_in_its_nap(trial, stage, victim, other);
    }
    victim.kill();
    other.resume();
    other.join();
    a_notification_reaches_the_living(trial, &stage);
    the_living_go_on(trial, stage);
}

fn meets(trial: &Trial, stage: &Stage) {
    let barrier = stage.file.barrier(NAMED, 2).unwrap();
    let _attached = stage.file.current_participant().unwrap();
    begin();
    match barrier.wait_for(PATIENCE) {
        Ok(_) => {}
        // While it was stopped it was waited for in vain.
        Err(Error::BrokenBarrier(_)) if trial.fate == Fate::Stopped => {}
        Err(error) => panic!("the victim: {error}"),
    }
    end(trial.arena);
}

pub fn is_the_last_at_a_barrier(trial: &Trial) {
    let stage = stage(trial, |file| file.barrier(NAMED, 2));
    let other = party(trial, &stage);
    until_asleep_there(trial, 1);
    let mut victim = trial.victim(|| meets(trial, &stage));
    victim.go(|_| {});
    if trial.fate == Fate::Stopped {
        return stopped::the_last_at_a_barrier(trial, stage, victim, other);
    }
    let has_come = entries(trial, WAITING) != 1;
    victim.kill();
    if !has_come {
        // None knows that it was to be one.
        stage.file.barrier(NAMED, 2).unwrap().abort().unwrap();
    }
    other.join();
    the_living_meet(trial, &stage);
    the_living_go_on(trial, stage);
}

pub fn waits_at_a_barrier(trial: &Trial) {
    let stage = stage(trial, |file| file.barrier(NAMED, 2));
    let mut other = None;
    let mut victim = trial.victim(|| meets(trial, &stage));
    victim.go(|call| {
        if call.is_futex_wait() && other.is_none() {
            other = Some(party(trial, &stage));
            while stage.file.barrier(NAMED, 2).unwrap().waiting().unwrap() != 0 {
                sleep(Duration::from_micros(50));
            }
        }
    });
    if trial.fate == Fate::Stopped {
        return stopped::one_that_waits_at_a_barrier(trial, stage, victim, other);
    }
    victim.kill();
    if let Some(other) = other {
        other.join();
    }
    the_living_meet(trial, &stage);
    the_living_go_on(trial, stage);
}

pub fn resets_a_barrier(trial: &Trial) {
    let stage = stage(trial, |file| file.barrier(NAMED, 2));
    let other = party(trial, &stage);
    until_asleep_there(trial, 1);
    let mut victim = trial.victim(|| {
        let barrier = stage.file.barrier(NAMED, 2).unwrap();
        let _attached = stage.file.current_participant().unwrap();
        begin();
        barrier.reset().unwrap();
        end(trial.arena)
    });
    victim.go(|_| {});
    if trial.fate == Fate::Stopped {
        return stopped::one_that_resets_a_barrier(trial, stage, victim, other);
    }
    victim.kill();
    stage.file.barrier(NAMED, 2).unwrap().reset().unwrap();
    other.join();
    the_living_meet(trial, &stage);
    the_living_go_on(trial, stage);
}

pub fn sets_an_event(trial: &Trial) {
    let stage = stage(trial, |file| file.event(NAMED));
    let event = stage.file.event(NAMED).unwrap();
    let other = trial.bystander(|| stage.file.event(NAMED).unwrap().wait_for(PATIENCE).unwrap());
    until_asleep_there(trial, 1);
    let mut victim = trial.victim(|| {
        let event = stage.file.event(NAMED).unwrap();
        let _attached = stage.file.current_participant().unwrap();
        begin();
        event.set().unwrap();
        end(trial.arena)
    });
    victim.go(|_| {});
    if trial.fate == Fate::Stopped {
        drop(event);
        return stopped::a_setter(trial, stage, victim, other);
    }
    victim.kill();
    if !event.is_set().unwrap() {
        assert!(event.set().unwrap());
    }
    other.join();
    drop(event);
    the_living_go_on(trial, stage);
}

/// It is set when the victim is about to sleep.
pub fn awaits_an_event(trial: &Trial) {
    let stage = stage(trial, |file| file.event(NAMED));
    let event = stage.file.event(NAMED).unwrap();
    let mut victim = trial.victim(|| {
        let event = stage.file.event(NAMED).unwrap();
        let _attached = stage.file.current_participant().unwrap();
        begin();
        event.wait_for(PATIENCE).unwrap();
        end(trial.arena)
    });
    victim.go(|call| {
        if call.is_futex_wait() {
            event.set().unwrap();
        }
    });
    if trial.fate == Fate::Stopped {
        drop(event);
        return stopped::one_that_awaits_an_event(trial, stage, victim);
    }
    victim.kill();
    event.set().unwrap();
    event.wait_for(PATIENCE).unwrap();
    drop(event);
    the_living_go_on(trial, stage);
}

pub fn does_it_once(trial: &Trial) {
    let stage = stage(trial, |file| file.once(NAMED));
    let once = stage.file.once(NAMED).unwrap();
    let mut victim = trial.victim(|| {
        let once = stage.file.once(NAMED).unwrap();
        let _attached = stage.file.current_participant().unwrap();
        begin();
        match once.begin().unwrap() {
            Some(run) => {
                trial.arena.section(1);
                run.complete().unwrap();
            }
            None => assert!(trial.fate == Fate::Stopped, "it was done before"),
        }
        end(trial.arena)
    });
    victim.go(|_| {});
    if trial.fate == Fate::Stopped {
        drop(once);
        return stopped::one_that_runs_a_once(trial, stage, victim);
    }
    let was_done = once.is_done().unwrap();
    victim.kill();
    let run = once.begin_for(PATIENCE).unwrap();
    assert_eq!(run.is_none(), was_done, "what is done is done, and what is not is not");
    run.map(OnceRun::complete).transpose().unwrap();
    assert!(once.is_done().unwrap());
    trial.arena.is_repaired();
    drop(once);
    the_living_go_on(trial, stage);
}
