//! Victims at conditions, events, barriers and onces, and the living that wait there.

use super::{has_its_turn, is_asleep};
use crate::{
    arena::Arena,
    oracle::{PATIENCE, STRICT, Stage, options, the_living_go_on, the_victim_stands_still},
    tracee::{begin, end},
    trial::{Bystander, Trial},
};
use std::{
    thread::sleep,
    time::{Duration, Instant},
};
use support::{
    either::Held,
    format::{Format, peek_u64},
};
use turnlock::{Error, MutexGuard, OnceRun, inspect};

/// What is named beside the lock of a stage: the first in the directory, and so in region 1; the lock is in region 2.
const NAMED: &str = "n";
const FORMAT: Format = Format { participants: 5, locks: 2 };
const REGION: u64 = 1;

/// A stage with something named beside its lock.
fn stage<T>(trial: &Trial, name: impl FnOnce(&turnlock::LockFile) -> turnlock::Result<T>) -> Stage {
    let file = options().locks(2).participants(5).open(trial.lock_file()).unwrap();
    name(&file).unwrap();
    let stage = Stage::with(trial, 5, STRICT);
    drop(file);
    stage
}

/// How many entries are in this state.
fn entries(trial: &Trial, state: u64) -> usize {
    let entry = |slot| peek_u64(&trial.lock_file(), FORMAT.entry_of(REGION, slot)) & 7;
    (0..FORMAT.participants).filter(|slot| entry(*slot) == state).count()
}

const WAITING: u64 = 1;
const NOTIFIED: u64 = 2;

/// Waits until so many wait for what is named, and sleep.
fn until_asleep_there(trial: &Trial, how_many: usize) {
    let asleep = || {
        let status = inspect::snapshot(trial.lock_file()).unwrap();
        let named = status.locks.iter().find(|lock| lock.name == NAMED).unwrap();
        named.queue.iter().filter(|waiter| is_asleep(waiter.participant.pid)).count()
    };
    let began = Instant::now();
    while asleep() < how_many {
        assert!(began.elapsed() < PATIENCE, "{how_many} should wait and sleep");
        sleep(Duration::from_micros(50));
    }
}

/// Another process, which waits until it is notified.
fn waiter(trial: &Trial, stage: &Stage) -> Bystander {
    trial.bystander(|| {
        let (mutex, condition) = (stage.file.mutex("m").unwrap(), stage.file.condition(NAMED).unwrap());
        let mut guard = mutex.lock().unwrap();
        repairs(trial, &mut guard);
        condition.wait_for(&mut guard, PATIENCE).expect("a notification is lost");
        repairs(trial, &mut guard);
        guard.unlock().unwrap();
    })
}

/// The victim may have died with the lock, and left the data as they were.
fn repairs(trial: &Trial, guard: &mut MutexGuard) {
    if guard.acquired().previous_owner_died {
        guard.mark_consistent().unwrap();
        trial.arena.is_repaired();
    }
}

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

/// The victim is dead: one notification reaches one that lives, however many dead ones came before it.
fn a_notification_reaches_the_living(trial: &Trial, stage: &Stage) {
    let living = waiter(trial, stage);
    until_asleep_there(trial, 1);
    assert_eq!(stage.file.condition(NAMED).unwrap().notify_one().unwrap(), 1);
    living.join();
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
        assert!(matches!(error, Some(Error::TimedOut(_))), "{error:?}");
        has_its_turn(trial.arena, Held::Mutex(guard));
        end(trial.arena)
    });
    victim.go(|call| {
        if call.is_futex_wait() {
            sleep(limit);
        }
    });
    the_victim_stands_still(trial, &stage);
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
        assert_eq!(condition.notify_one().unwrap(), 1);
        end(trial.arena)
    });
    victim.go(|_| {});
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

fn notifies<const N: usize>(
    trial: &Trial,
    stage: Stage,
    others: [Bystander; N],
    notify: impl FnOnce(&Stage) -> turnlock::Result<u32>,
) {
    let mut victim = trial.victim(|| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        assert_eq!(notify(&stage).unwrap(), N as u32);
        end(trial.arena)
    });
    victim.go(|_| {});
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
        assert!(matches!(error, Some(Error::TimedOut(_))), "{error:?}");
        has_its_turn(trial.arena, Held::Mutex(guard));
        end(trial.arena)
    });
    victim.go(|_| {});
    victim.kill();
    other.resume();
    other.join();
    drop((mutex, condition));
    a_notification_reaches_the_living(trial, &stage);
    the_living_go_on(trial, stage);
}

/// A process that meets the victim at the barrier of two, and goes on, or is told that it broke.
fn party(trial: &Trial, stage: &Stage) -> Bystander {
    trial.bystander(|| match stage.file.barrier(NAMED, 2).unwrap().wait_for(PATIENCE) {
        Ok(_) | Err(Error::BrokenBarrier(_)) => {}
        Err(error) => panic!("a party: {error}"),
    })
}

/// The victim is dead: after a reset two others meet.
fn the_living_meet(trial: &Trial, stage: &Stage) {
    let barrier = stage.file.barrier(NAMED, 2).unwrap();
    barrier.reset().unwrap();
    let other = party(trial, stage);
    barrier.wait_for(PATIENCE).unwrap();
    other.join();
}

fn meets(trial: &Trial, stage: &Stage) {
    let barrier = stage.file.barrier(NAMED, 2).unwrap();
    let _attached = stage.file.current_participant().unwrap();
    begin();
    barrier.wait_for(PATIENCE).unwrap();
    end(trial.arena);
}

pub fn is_the_last_at_a_barrier(trial: &Trial) {
    let stage = stage(trial, |file| file.barrier(NAMED, 2));
    let other = party(trial, &stage);
    until_asleep_there(trial, 1);
    let mut victim = trial.victim(|| meets(trial, &stage));
    victim.go(|_| {});
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
    victim.kill();
    if !event.is_set().unwrap() {
        assert!(event.set().unwrap());
    }
    other.join();
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
        let run = once.begin().unwrap().unwrap();
        trial.arena.section(1);
        run.complete().unwrap();
        end(trial.arena)
    });
    victim.go(|_| {});
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
