//! Victims that are agents of a linked lock.

use crate::{
    arena::Arena,
    claims,
    oracle::{LOCK, STRICT, Stage, enter, options, the_living_go_on},
    tracee::{begin, end},
    trial::Trial,
};
use std::{sync::atomic::Ordering::SeqCst, time::Duration};
use support::either::Lock;
use turnlock::{Linkable, LinkedData, LinkedLock, LockFile, Mutex};

use super::until_asleep;

/// As many tokens as are reserved at a time: enough for a bias.
const BLOCK: u64 = 1 << 36;
/// The victim has two slots, one as an agent and one as a thread.
const PARTICIPANTS: u32 = 4;

/// A file with a linked lock.
fn linked(trial: &Trial) -> (LockFile, Mutex) {
    let file = options().participants(PARTICIPANTS).open(trial.lock_file()).unwrap();
    let mutex = file.mutex_options().linked(true).patience(Duration::ZERO).open(LOCK).unwrap();
    (file, mutex)
}

fn bring_home(arena: &Arena, linked: &LinkedLock) {
    // Another host has given it back.
    arena.inside.store(0, SeqCst);
    let first = linked.last_token() + 1;
    linked.bring_home(first..=first + BLOCK, LinkedData::Consistent).unwrap();
}

/// Moves the lock away, and says that another host may be inside.
fn move_away(arena: &Arena, linked: &LinkedLock) {
    linked.move_away().unwrap();
    arena.inside.store(1, SeqCst);
}

/// The agent is dead: a program gets in only if no other host can be inside, until another agent has brought the lock home.
fn goes_on_with_another_agent(
    trial: &Trial,
    file: &LockFile,
    lock: &impl Linkable,
    admits: impl FnOnce() -> bool,
) {
    let agent = file.link_agent("survivor").unwrap();
    let linked = agent.attach(lock).unwrap();
    let may_be_elsewhere = trial.arena.inside.load(SeqCst) != 0;
    assert!(!may_be_elsewhere || !linked.is_home(), "home, and another host may be inside");
    // Where it is home another program may have it.
    assert!(!admits() || linked.is_home(), "a program was admitted, and the lock is away");
    if linked.is_home_to_read() {
        move_away(trial.arena, &linked);
    }
    assert!(!linked.is_home() || linked.last_token() < linked.token_end());
    if !linked.is_home() {
        bring_home(trial.arena, &linked);
    }
}

fn the_programs_go_on(trial: &Trial, file: LockFile, mutex: Mutex) {
    let own = file.current_participant().unwrap();
    let stage = Stage { file, lock: Lock::Mutex(mutex), kind: STRICT, own, locks: 1, region: 1 };
    the_living_go_on(trial, stage);
}

/// A lock that is biased to a survivor is moved away, and brought home again.
pub fn moves(trial: &Trial) {
    let (file, mutex) = linked(trial);
    {
        let agent = file.link_agent("first").unwrap();
        bring_home(trial.arena, &agent.attach(&mutex).unwrap());
    }
    let _own = file.current_participant().unwrap();
    // It is biased from the second on.
    for _ in 0..3 {
        enter(trial, &Lock::Mutex(mutex.clone()), None);
    }
    let mut victim = trial.victim(|| {
        let agent = file.link_agent("victim").unwrap();
        let _attached = file.current_participant().unwrap();
        begin();
        let linked = agent.attach(&mutex).unwrap();
        move_away(trial.arena, &linked);
        bring_home(trial.arena, &linked);
        end(trial.arena)
    });
    victim.go(|_| {});
    victim.kill();
    goes_on_with_another_agent(trial, &file, &mutex, || mutex.try_lock().is_ok());
    the_programs_go_on(trial, file, mutex);
}

/// A rwlock that is biased to its readers is moved away, and brought home again.
pub fn moves_a_rwlock(trial: &Trial) {
    moves_beside_readers(trial, |linked| bring_home(trial.arena, linked));
}

/// Likewise, home to read, and back to all.
pub fn moves_a_rwlock_to_read(trial: &Trial) {
    moves_beside_readers(trial, |linked| {
        // Another host has written, and reads.
        trial.arena.inside.store(0, SeqCst);
        linked.bring_home_to_read(linked.last_token() + 1, LinkedData::Consistent).unwrap();
        move_away(trial.arena, linked);
        bring_home(trial.arena, linked);
    });
}

fn moves_beside_readers(trial: &Trial, comes_home: impl Fn(&LinkedLock)) {
    let file = options().participants(claims::PARTICIPANTS).open(trial.lock_file()).unwrap();
    let lock = file.rwlock_options().linked(true).patience(Duration::ZERO).open(LOCK).unwrap();
    {
        let agent = file.link_agent("first").unwrap();
        bring_home(trial.arena, &agent.attach(&lock).unwrap());
    }
    let own = file.participant().unwrap();
    for _ in 0..3 {
        drop(lock.read_as(&own).unwrap());
    }
    let mut victim = trial.victim(|| {
        let agent = file.link_agent("victim").unwrap();
        let _attached = file.current_participant().unwrap();
        begin();
        let linked = agent.attach(&lock).unwrap();
        move_away(trial.arena, &linked);
        comes_home(&linked);
        end(trial.arena)
    });
    victim.go(|_| {});
    victim.kill();
    goes_on_with_another_agent(trial, &file, &lock, || lock.try_read_as(&own).is_ok());
    claims::the_living_go_on(trial, claims::Stage { file, lock, own });
}

/// One that would write comes while it is home to read, and biased to readers, and leaves the queue again.
pub fn would_write(trial: &Trial) {
    let file = options().participants(claims::PARTICIPANTS).open(trial.lock_file()).unwrap();
    let lock = file.rwlock_options().linked(true).patience(Duration::ZERO).open(LOCK).unwrap();
    {
        let agent = file.link_agent("first").unwrap();
        let linked = agent.attach(&lock).unwrap();
        linked.bring_home_to_read(linked.last_token(), LinkedData::Consistent).unwrap();
    }
    let own = file.participant().unwrap();
    for _ in 0..3 {
        drop(lock.read_as(&own).unwrap());
    }
    let mut victim = trial.victim(|| {
        let _attached = file.current_participant().unwrap();
        begin();
        assert!(lock.try_write().is_err() && lock.try_upgradable().is_err());
        end(trial.arena)
    });
    victim.go(|_| {});
    victim.kill();
    assert!(lock.try_write_as(&own).is_err(), "a writer was admitted, and other hosts read");
    goes_on_with_another_agent(trial, &file, &lock, || lock.try_read_as(&own).is_ok());
    claims::the_living_go_on(trial, claims::Stage { file, lock, own });
}

/// A program sleeps until the lock is home.
pub fn comes_home(trial: &Trial) {
    let (file, mutex) = linked(trial);
    let _own = file.current_participant().unwrap();
    let mut victim = trial.victim(|| {
        let agent = file.link_agent("victim").unwrap();
        let linked = agent.attach(&mutex).unwrap();
        trial.arena.inside.store(1, SeqCst);
        begin();
        bring_home(trial.arena, &linked);
        end(trial.arena)
    });
    let waits = trial.bystander(|| {
        enter(trial, &Lock::Mutex(mutex.clone()), Some(&file.participant().unwrap()));
    });
    until_asleep(trial, 1);
    victim.go(|_| {});
    victim.kill();
    goes_on_with_another_agent(trial, &file, &mutex, || mutex.try_lock().is_ok());
    waits.join();
    the_programs_go_on(trial, file, mutex);
}

/// The share of a semaphore is made smaller, where a place is reserved, is drained, and made as large as before.
pub fn shares(trial: &Trial) {
    let file = options().participants(claims::PARTICIPANTS).open(trial.lock_file()).unwrap();
    let mut as_linked = file.semaphore_options();
    let lock = as_linked.permits(claims::PERMITS).linked(true).patience(Duration::ZERO).open(LOCK).unwrap();
    {
        let agent = file.link_agent("first").unwrap();
        agent.attach_semaphore(&lock).unwrap().set_share(claims::PERMITS).unwrap();
    }
    let own = file.participant().unwrap();
    for _ in 0..3 {
        drop(lock.acquire_as(&own, 1).unwrap());
    }
    let mut victim = trial.victim(|| {
        let agent = file.link_agent("victim").unwrap();
        let _attached = file.current_participant().unwrap();
        begin();
        let linked = agent.attach_semaphore(&lock).unwrap();
        linked.set_share(1).unwrap();
        assert_eq!(linked.drain(0).unwrap(), 1);
        trial.arena.inside.store(1, SeqCst);
        // Another host has given them back.
        trial.arena.inside.store(0, SeqCst);
        linked.set_share(claims::PERMITS).unwrap();
        end(trial.arena)
    });
    victim.go(|_| {});
    victim.kill();
    let agent = file.link_agent("survivor").unwrap();
    let linked = agent.attach_semaphore(&lock).unwrap();
    if trial.arena.inside.swap(0, SeqCst) != 0 {
        assert_eq!(linked.share(), 1, "another host may have the others");
        assert!(lock.try_acquire_as(&own, 2).is_err(), "another host may have one of them");
    }
    assert!(linked.share() == 1 || linked.share() == claims::PERMITS);
    // It does it again, whatever the dead one came to.
    linked.set_share(1).unwrap();
    assert_eq!(linked.drain(0).unwrap(), 1);
    assert!(lock.try_acquire_as(&own, 2).is_err());
    linked.set_share(claims::PERMITS).unwrap();
    claims::the_living_go_on(trial, claims::Stage { file, lock, own });
}
