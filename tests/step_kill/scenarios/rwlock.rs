//! Victims that read, write, upgrade and downgrade.

use crate::{
    arena::Debt,
    claims::{Shared, Stage, meets_its_fate},
    oracle::PATIENCE,
    order::Fate,
    tracee::{begin, end},
    trial::{Bystander, Trial},
};
use std::{mem::forget, sync::atomic::Ordering::Relaxed, time::Duration};
use turnlock::{Acquired, Error, Guard, RwLock, RwLockKind, RwLockReadGuard, RwLockWriteGuard, Upgradable};

/// Enough readers in a row to have a new lock biased to them.
const READERS: usize = 3;

type RwStage = Stage<RwLock>;

/// A lock that is biased to its readers.
fn biased(trial: &Trial) -> RwStage {
    let stage = RwStage::new(trial);
    (0..READERS).for_each(|_| drop(stage.lock.read().unwrap()));
    stage
}

/// The usual course: no other participant is there.
pub fn usual<L: Shared>(trial: &Trial, stage: Stage<L>, life: impl FnOnce(&Stage<L>)) {
    go(trial, stage, vec![], || (), |_| (), life);
}

/// `at_sleep` is called before each sleep of the victim, and `release` when it has met its fate.
pub fn go<L: Shared>(
    trial: &Trial,
    stage: Stage<L>,
    others: Vec<Bystander>,
    release: impl FnOnce(),
    mut at_sleep: impl FnMut(&Trial),
    life: impl FnOnce(&Stage<L>),
) {
    let mut victim = trial.victim(|| {
        life(&stage);
        end(trial.arena)
    });
    victim.go(|call| {
        if call.is_futex_wait() {
            at_sleep(trial);
        }
    });
    meets_its_fate(trial, stage, victim, others, release);
}

/// What a victim does that reads.
fn looks(trial: &Trial, acquired: Acquired) {
    let arena = trial.arena;
    let (a, b) = (arena.a.load(Relaxed), arena.b.load(Relaxed));
    assert!(a == b || acquired.previous_owner_died, "the victim read torn data ({a}, {b}), and was not told");
    assert!(acquired.fencing_token >= arena.token.load(Relaxed), "the victim's fencing token is an old one");
}

fn reads(trial: &Trial, guard: RwLockReadGuard) {
    looks(trial, guard.acquired());
    guard.unlock().unwrap();
}

fn writes(trial: &Trial, mut guard: RwLockWriteGuard) {
    writes_in(trial, guard.acquired(), || guard.mark_consistent());
    guard.unlock().unwrap();
    trial.arena.is_busy(false);
}

/// A section, after a repair if that is needed.
pub fn writes_in(trial: &Trial, acquired: Acquired, mark: impl FnOnce() -> turnlock::Result<()>) {
    let arena = trial.arena;
    if acquired.previous_owner_died {
        arena.b.store(arena.a.load(Relaxed), Relaxed);
        arena.owes(Debt::BeingPaid);
        mark().unwrap();
        arena.owes(Debt::None);
    }
    let (a, b) = (arena.a.load(Relaxed), arena.b.load(Relaxed));
    assert!(a == b, "the victim found torn data ({a}, {b}), and there was no owner-dead notice");
    arena.section(acquired.fencing_token);
}

/// Dies as a writer, with the data torn.
fn one_dies_writing(trial: &Trial, stage: &RwStage) {
    trial.dead_one(|| {
        let guard = stage.lock.write().unwrap();
        trial.arena.token.fetch_max(guard.fencing_token(), Relaxed);
        trial.arena.a.fetch_add(1, Relaxed);
        forget(guard);
    });
    trial.arena.owes(Debt::Owed);
}

pub fn reads_by_the_queue(trial: &Trial) {
    usual(trial, RwStage::new(trial), |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        reads(trial, stage.lock.read().unwrap());
    });
}

pub fn reads_biased(trial: &Trial) {
    usual(trial, biased(trial), |stage| {
        drop(stage.lock.read().unwrap());
        begin();
        reads(trial, stage.lock.read().unwrap());
        reads(trial, stage.lock.read().unwrap());
    });
}

/// Enough sections of a writer in a row to have it keep its place reserved.
const WRITERS: usize = 3;

fn retains(stage: &RwStage) {
    (0..WRITERS).for_each(|_| drop(stage.lock.write().unwrap()));
}

pub fn comes_in_by_its_place(trial: &Trial) {
    usual(trial, RwStage::new(trial), |stage| {
        retains(stage);
        begin();
        reads(trial, stage.lock.read().unwrap());
        trial.arena.is_busy(true);
        writes(trial, stage.lock.write().unwrap());
        reads(trial, stage.lock.read().unwrap());
    });
}

/// As a participant that threads share, on its home thread.
pub fn comes_in_by_its_place_at_home(trial: &Trial) {
    usual(trial, RwStage::new(trial), |stage| {
        let me = stage.file.participant().unwrap();
        (0..WRITERS).for_each(|_| drop(stage.lock.write_as(&me).unwrap()));
        begin();
        let guard = stage.lock.read_as(&me).unwrap();
        looks(trial, guard.acquired());
        guard.unlock().unwrap();
        trial.arena.is_busy(true);
        let mut guard = stage.lock.write_as(&me).unwrap();
        writes_in(trial, guard.acquired(), || guard.mark_consistent());
        guard.unlock().unwrap();
        trial.arena.is_busy(false);
    });
}

/// The place is that of a living one, who is outside.
pub fn takes_a_place_away(trial: &Trial) {
    let stage = RwStage::new(trial);
    retains(&stage);
    usual(trial, stage, |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        reads(trial, stage.lock.read().unwrap());
    });
}

pub fn gives_its_place_up(trial: &Trial) {
    usual(trial, RwStage::new(trial), |stage| {
        retains(stage);
        begin();
        let guard = stage.lock.upgradable().unwrap();
        looks(trial, guard.acquired());
        guard.unlock().unwrap();
    });
}

/// A writer sleeps behind it.
pub fn leaves_as_a_biased_reader(trial: &Trial) {
    let stage = biased(trial);
    // The bystander comes when the victim is inside.
    let mut victim = trial.victim(|| {
        drop(stage.lock.read().unwrap());
        let guard = stage.lock.read().unwrap();
        begin();
        reads(trial, guard);
        end(trial.arena)
    });
    let other = stage.another_takes_all(trial);
    super::until_asleep(trial, 1);
    victim.go(|_| {});
    meets_its_fate(trial, stage, victim, vec![other], || ());
}

pub fn reads_in_a_dead_writers_place(trial: &Trial) {
    let stage = RwStage::new(trial);
    one_dies_writing(trial, &stage);
    usual(trial, stage, |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        reads(trial, stage.lock.try_read().unwrap());
    });
}

pub fn revokes_the_readers_bias(trial: &Trial) {
    its_life_is_to_write(trial, biased(trial));
}

pub fn writes_in_a_dead_readers_place(trial: &Trial) {
    let stage = biased(trial);
    trial.dead_one(|| {
        drop(stage.lock.read().unwrap());
        forget(stage.lock.read().unwrap());
    });
    its_life_is_to_write(trial, stage);
}

pub fn writes_in_a_dead_writers_place(trial: &Trial) {
    let stage = RwStage::new(trial);
    one_dies_writing(trial, &stage);
    its_life_is_to_try(trial, stage);
}

/// The first to die has said that it upgrades, and waits for a reader.
pub fn writes_in_a_dead_upgraders_place(trial: &Trial) {
    let stage = biased(trial);
    let reader = stage.lock.read().unwrap();
    let first = trial.victim(|| {
        let upgradable = stage.lock.upgradable().unwrap();
        begin();
        forget(upgradable.upgrade());
        panic!("it was to die before");
    });
    let path = trial.lock_file();
    let is_upgrading = || {
        let status = turnlock::inspect::snapshot(&path).unwrap();
        let mut holders = status.locks[0].holders.iter();
        holders.any(|holder| holder.claim.mode == turnlock::inspect::ClaimMode::Upgrading)
    };
    first.dies_when(is_upgrading);
    drop(reader);
    its_life_is_to_try(trial, stage);
}

fn its_life_is_to_write(trial: &Trial, stage: RwStage) {
    usual(trial, stage, |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        trial.arena.is_busy(true);
        writes(trial, stage.lock.write().unwrap());
    });
}

/// Which does not spin before it asks whether the dead one is alive: most points of a wait lie in that loop.
fn its_life_is_to_try(trial: &Trial, stage: RwStage) {
    usual(trial, stage, |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        trial.arena.is_busy(true);
        writes(trial, stage.lock.try_write().unwrap());
    });
}

/// A biased reader is inside, and leaves when the victim falls asleep.
pub fn waits_for_a_reader(trial: &Trial) {
    let stage = biased(trial);
    let lock = stage.lock.clone();
    let mut reader = Some(lock.read().unwrap());
    let mut victim = trial.victim(|| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        trial.arena.is_busy(true);
        writes(trial, stage.lock.write().unwrap());
        end(trial.arena)
    });
    victim.go(|call| {
        if call.is_futex_wait() {
            drop(reader.take());
        }
    });
    meets_its_fate(trial, stage, victim, vec![], || drop(reader));
}

/// A biased reader stays inside.
pub fn revokes_in_vain(trial: &Trial) {
    let stage = biased(trial);
    let lock = stage.lock.clone();
    let reader = lock.read().unwrap();
    let release = || drop(reader);
    go(
        trial,
        stage,
        vec![],
        release,
        |_| (),
        |stage| {
            let _attached = stage.file.current_participant().unwrap();
            begin();
            trial.arena.is_busy(true);
            match stage.lock.write_for(Duration::ZERO) {
                Err(Error::TimedOut(_)) => trial.arena.is_busy(false),
                taken => {
                    assert!(trial.fate == Fate::Stopped, "the reader is alive");
                    writes(trial, taken.unwrap());
                }
            }
        },
    );
}

fn upgrades(trial: &Trial, upgradable: Upgradable<Guard<RwLockKind>>) {
    trial.arena.is_busy(true);
    writes(trial, upgradable.upgrade().unwrap());
}

pub fn upgrades_at_once(trial: &Trial) {
    usual(trial, biased(trial), |stage| {
        let upgradable = stage.lock.upgradable().unwrap();
        looks(trial, upgradable.acquired());
        begin();
        upgrades(trial, upgradable);
    });
}

pub fn takes_it_upgradable(trial: &Trial) {
    usual(trial, RwStage::new(trial), |stage| {
        let _attached = stage.file.current_participant().unwrap();
        begin();
        let upgradable = stage.lock.upgradable().unwrap();
        looks(trial, upgradable.acquired());
        upgradable.unlock().unwrap();
    });
}

/// A biased reader is inside, and leaves when the victim falls asleep.
pub fn upgrades_after_a_reader(trial: &Trial) {
    let stage = biased(trial);
    let lock = stage.lock.clone();
    let mut reader = Some(lock.read().unwrap());
    let mut victim = trial.victim(|| {
        let upgradable = stage.lock.upgradable().unwrap();
        begin();
        upgrades(trial, upgradable);
        end(trial.arena)
    });
    victim.go(|call| {
        if call.is_futex_wait() {
            drop(reader.take());
        }
    });
    meets_its_fate(trial, stage, victim, vec![], || drop(reader));
}

/// A reader stays inside.
pub fn upgrades_in_vain(trial: &Trial) {
    let stage = biased(trial);
    let lock = stage.lock.clone();
    let reader = lock.read().unwrap();
    go(
        trial,
        stage,
        vec![],
        || drop(reader),
        |_| (),
        |stage| {
            let upgradable = stage.lock.upgradable().unwrap();
            begin();
            trial.arena.is_busy(true);
            match upgradable.upgrade_for(Duration::ZERO) {
                Err(not_upgraded) => {
                    assert!(matches!(not_upgraded.error, Error::TimedOut(_)), "{not_upgraded}");
                    trial.arena.is_busy(false);
                    looks(trial, not_upgraded.guard.acquired());
                    not_upgraded.guard.unlock().unwrap();
                }
                Ok(writer) => {
                    assert!(trial.fate == Fate::Stopped, "the reader is alive");
                    writes(trial, writer);
                }
            }
        },
    );
}

/// Another reader sleeps behind the writer, and may come in beside what it is then.
pub fn downgrades(trial: &Trial) {
    let stage = RwStage::new(trial);
    let mut victim = trial.victim(|| {
        trial.arena.is_busy(true);
        let mut writer = stage.lock.write().unwrap();
        writes_in(trial, writer.acquired(), || writer.mark_consistent());
        begin();
        let reader = writer.downgrade().unwrap();
        trial.arena.is_busy(false);
        reads(trial, reader);
        end(trial.arena)
    });
    let other = trial.bystander(|| {
        let me = stage.file.participant().unwrap();
        stage.lock.read_for_as(&me, PATIENCE).unwrap().unlock().unwrap();
    });
    super::until_asleep(trial, 1);
    victim.go(|_| {});
    meets_its_fate(trial, stage, victim, vec![other], || ());
}

/// To upgradable, and to shared.
pub fn downgrades_twice(trial: &Trial) {
    usual(trial, biased(trial), |stage| {
        trial.arena.is_busy(true);
        let mut writer = stage.lock.write().unwrap();
        writes_in(trial, writer.acquired(), || writer.mark_consistent());
        begin();
        let upgradable = writer.downgrade_to_upgradable().unwrap();
        trial.arena.is_busy(false);
        looks(trial, upgradable.acquired());
        reads(trial, upgradable.downgrade().unwrap());
    });
}
