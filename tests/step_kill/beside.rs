//! A condition, an event, a barrier or a once beside the lock of a stage, and the living that wait there.

use super::{
    oracle::{PATIENCE, STRICT, Stage, options},
    threads::is_asleep,
    trial::{Bystander, Trial},
};
use std::{
    thread::sleep,
    time::{Duration, Instant},
};
use support::format::{Format, peek_u64};
use turnlock::{Error, MutexGuard, inspect};

/// What is named beside the lock: the first in the directory, and so in region 1; the lock is in region 2.
pub const NAMED: &str = "n";
pub const REGION: u64 = 1;
const FORMAT: Format = Format { participants: 5, locks: 2 };

/// A stage with something named beside its lock.
pub fn stage<T>(trial: &Trial, name: impl FnOnce(&turnlock::LockFile) -> turnlock::Result<T>) -> Stage {
    let file = options().locks(2).participants(5).open(trial.lock_file()).unwrap();
    name(&file).unwrap();
    let stage = Stage { locks: 2, region: 2, ..Stage::with(trial, 5, STRICT) };
    drop(file);
    stage
}

/// How many entries are in this state.
pub fn entries(trial: &Trial, state: u64) -> usize {
    let entry = |slot| peek_u64(&trial.lock_file(), FORMAT.entry_of(REGION, slot)) & 7;
    (0..FORMAT.participants).filter(|slot| entry(*slot) == state).count()
}

pub const WAITING: u64 = 1;
pub const NOTIFIED: u64 = 2;

/// Waits until so many wait for what is named, and sleep.
pub fn until_asleep_there(trial: &Trial, how_many: usize) {
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
pub fn waiter(trial: &Trial, stage: &Stage) -> Bystander {
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

/// One notification reaches one that lives, however many dead ones came before it, and though a notifier is stopped.
pub fn a_notification_reaches_the_living(trial: &Trial, stage: &Stage) {
    let living = waiter(trial, stage);
    until_asleep_there(trial, 1);
    assert_eq!(stage.file.condition(NAMED).unwrap().notify_one().unwrap(), 1);
    living.join();
}

/// A process that meets the victim at the barrier of two, and goes on, or is told that it broke.
pub fn party(trial: &Trial, stage: &Stage) -> Bystander {
    trial.bystander(|| match stage.file.barrier(NAMED, 2).unwrap().wait_for(PATIENCE) {
        Ok(_) | Err(Error::BrokenBarrier(_)) => {}
        Err(error) => panic!("a party: {error}"),
    })
}

/// The victim is dead, or has not come: after a reset two others meet.
pub fn the_living_meet(trial: &Trial, stage: &Stage) {
    let barrier = stage.file.barrier(NAMED, 2).unwrap();
    barrier.reset().unwrap();
    let other = party(trial, stage);
    barrier.wait_for(PATIENCE).unwrap();
    other.join();
}
