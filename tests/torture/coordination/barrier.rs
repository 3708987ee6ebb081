//! Parties at a barrier. A death breaks it; the others are told so, one of them resets it, and they go on.

use super::{Phase::*, Post};
use crate::arena::{Fault, MAX_WORKERS};
use std::{
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    time::Duration,
};
use support::{Dice, forked::shared_with_children};
use turnlock::{Barrier, DeathPolicy, Error, LockFile, Mutex, Result};

#[repr(C)]
struct Calls {
    /// How many waits each worker has begun.
    begun: [AtomicU64; MAX_WORKERS],
    /// How many of them are over.
    over: [AtomicU64; MAX_WORKERS],
    /// How many of them were passed; written down before the next one begins.
    passed: [AtomicU64; MAX_WORKERS],
}

pub struct Scene {
    barrier: Barrier,
    /// Of the one that resets.
    mutex: Mutex,
    workers: usize,
    calls: &'static Calls,
}

/// What a party remembers of its last waits.
#[derive(Default)]
pub struct Party {
    /// How many it has passed one after the other.
    in_a_row: u32,
    /// How many workers had been killed when the last one began, and when the one before it did.
    killed: [u64; 2],
    /// How many waits each worker had passed when the last one began.
    passed: Vec<u64>,
}

impl Scene {
    pub fn open(file: &LockFile, workers: usize) -> Self {
        let mut options = file.mutex_options();
        Self {
            barrier: file.barrier("stage", workers as u32).unwrap(),
            mutex: options.death_policy(DeathPolicy::Release).open("reset").unwrap(),
            workers,
            // SAFETY: it has only atomic integers.
            calls: unsafe { shared_with_children() },
        }
    }

    /// The wait of the one that died in this place is over.
    pub fn begins(&self, me: usize) {
        self.calls.over[me].store(self.calls.begun[me].load(SeqCst), SeqCst);
    }

    /// How many waits each worker has passed.
    fn passed(&self) -> Vec<u64> {
        self.calls.passed[..self.workers].iter().map(|passed| passed.load(SeqCst)).collect()
    }

    /// For each worker, how many waits it has begun, and whether it is in one.
    fn look(&self) -> Vec<(u64, bool)> {
        let of_worker = |worker: usize| {
            // In this order: one that ends meanwhile is taken for one that goes on.
            let over = self.calls.over[worker].load(SeqCst);
            let begun = self.calls.begun[worker].load(SeqCst);
            (begun, begun != over)
        };
        (0..self.workers).map(of_worker).collect()
    }
}

pub fn turn(post: &Post, scene: &Scene, party: &mut Party, dice: &mut Dice) -> Result<()> {
    let (barrier, calls) = (&scene.barrier, scene.calls);
    let (killed, passed, before) = (post.arena.kills(), scene.passed(), scene.look());
    calls.begun[post.me].fetch_add(1, SeqCst);
    post.is_at(Meet);
    let met = match dice.roll(20) {
        0 => barrier.wait_for(Duration::from_nanos(dice.roll(1_000_000))),
        _ => barrier.wait(),
    };
    let (now_passed, after) = (scene.passed(), scene.look());
    calls.over[post.me].fetch_add(1, SeqCst);
    let in_a_row = if met.is_ok() { party.in_a_row + 1 } else { 0 };
    let next = Party { in_a_row, killed: [killed, party.killed[0]], passed };
    let last = std::mem::replace(party, next);
    match met {
        Ok(_) => {
            // A dead one may have come too before its death was found, and the one in its place once more. That is over where this
            // party has passed two waits before, and none was killed since the first of them began. Then all others came: in a
            // wait that had begun by then, or in a later one. And each of them has passed where this one passed the last time, before
            // it came again.
            let came = |worker: usize| before[worker].1 || before[worker].0 != after[worker].0;
            let had_passed = |worker: usize| now_passed[worker] > last.passed[worker];
            let is_certain = in_a_row > 2 && last.killed[1] == post.arena.kills();
            let mut others = (0..scene.workers).filter(|worker| *worker != post.me);
            if is_certain && !others.all(|worker| came(worker) && had_passed(worker)) {
                post.fault(Fault::Spurious);
            }
            calls.passed[post.me].fetch_add(1, SeqCst);
            post.goes_on();
            Ok(())
        }
        Err(Error::BrokenBarrier(_) | Error::TimedOut(_)) => {
            post.is_at(ResetBarrier);
            // A reset breaks it for those that have come since another one's reset.
            let guard = scene.mutex.lock()?;
            if let Err(Error::BrokenBarrier(_)) = barrier.check() {
                barrier.reset()?;
            }
            guard.unlock()
        }
        Err(error) => Err(error),
    }
}

/// When all workers are dead: after a reset the deaths are forgotten.
pub fn survives(scene: &Scene) -> Result<()> {
    drop(scene.mutex.lock_for(Duration::from_secs(5))?);
    scene.barrier.reset()?;
    scene.barrier.check()
}
