//! Producers and consumers over a bounded buffer, which a mutex guards: they wait at one condition until it is not full, at the
//! other until it is not empty.
//!
//! Items have numbers, 1, 2, 3 and so on. Each step is written into a journal before it is begun, and struck out when it is done,
//! so that the next holder, who is told of a death, knows what was half-done: it finishes that, or undoes it. It notifies all
//! then: the dead one may have taken a notification and done nothing about it, or have changed something and notified no
//! participant.

use super::{Phase::*, Post};
use crate::{arena::Fault, claims::abandon};
use std::{
    sync::atomic::{
        AtomicU64,
        Ordering::{Relaxed, SeqCst},
    },
    time::Duration,
};
use support::{Dice, forked::shared_with_children};
use turnlock::{Condition, Error, LockFile, Mutex, MutexGuard, Result};

/// The largest room that a buffer has.
const MOST: usize = 8;
/// So many of the latest items are accounted for: each cell is used again after so many.
const ACCOUNTED: usize = 1 << 16;

/// An item: its number, and that number's complement, written after it.
#[repr(C)]
struct Item {
    number: AtomicU64,
    check: AtomicU64,
}

#[repr(C)]
struct Buffer {
    /// The number of the last item that was produced.
    tail: AtomicU64,
    /// The number of the last item that was consumed.
    head: AtomicU64,
    /// What the holder is at: 0, or the item's number twice, plus 1 if it consumes it.
    journal: AtomicU64,
    items: [Item; MOST],
    /// The last number that was consumed, of those that share a cell.
    consumed: [AtomicU64; ACCOUNTED],
}

pub struct Scene {
    mutex: Mutex,
    not_full: Condition,
    not_empty: Condition,
    room: u64,
    buffer: &'static Buffer,
}

impl Scene {
    pub fn open(file: &LockFile, room: u64) -> Self {
        assert!((1..=MOST as u64).contains(&room));
        Self {
            mutex: file.mutex("buffer").unwrap(),
            not_full: file.condition("not full").unwrap(),
            not_empty: file.condition("not empty").unwrap(),
            room,
            // SAFETY: it has only atomic integers.
            buffer: unsafe { shared_with_children() },
        }
    }
}

impl Buffer {
    fn is_full(&self, room: u64) -> bool {
        self.tail.load(Relaxed) - self.head.load(Relaxed) >= room
    }

    fn is_empty(&self) -> bool {
        self.tail.load(Relaxed) == self.head.load(Relaxed)
    }

    fn item(&self, number: u64) -> &Item {
        &self.items[number as usize % MOST]
    }

    fn is_whole(&self, number: u64) -> bool {
        let item = self.item(number);
        item.number.load(Relaxed) == number && item.check.load(Relaxed) == !number
    }

    fn produce(&self, post: &Post, dice: &mut Dice) {
        let number = self.tail.load(Relaxed) + 1;
        let item = self.item(number);
        self.journal.store(number << 1, SeqCst);
        post.may_die();
        item.number.store(number, SeqCst);
        post.stays(dice);
        item.check.store(!number, SeqCst);
        post.may_die();
        self.tail.store(number, SeqCst);
        post.may_die();
        self.journal.store(0, SeqCst);
    }

    fn consume(&self, post: &Post, dice: &mut Dice) {
        let number = self.head.load(Relaxed) + 1;
        self.journal.store(number << 1 | 1, SeqCst);
        post.may_die();
        if !self.is_whole(number) {
            post.fault(Fault::Torn);
        }
        post.stays(dice);
        self.account_for(post, number, false);
        post.may_die();
        self.head.store(number, SeqCst);
        post.may_die();
        self.journal.store(0, SeqCst);
    }

    /// Writes down that an item was consumed; `again`: perhaps that was done.
    fn account_for(&self, post: &Post, number: u64, again: bool) {
        let before = self.consumed[number as usize % ACCOUNTED].swap(number, SeqCst);
        if before == number && again {
            return;
        }
        if before >= number {
            post.fault(Fault::Twice);
        } else if before != number.saturating_sub(ACCOUNTED as u64) {
            post.fault(Fault::Lost);
        }
    }

    /// Finishes what a dead holder was at, or undoes it.
    fn repair(&self, post: &Post) {
        let journal = self.journal.load(SeqCst);
        let number = journal >> 1;
        if journal & 1 != 0 {
            self.account_for(post, number, true);
            post.may_die();
            self.head.store(number, SeqCst);
        } else if journal != 0 && self.is_whole(number) {
            self.tail.store(number, SeqCst);
        }
        // An item that is not whole is as none: its number is given to the next one.
        post.may_die();
        self.journal.store(0, SeqCst);
    }
}

/// Returns whether a worker produces items; the others consume them.
pub fn produces(worker: usize) -> bool {
    worker.is_multiple_of(2)
}

pub fn turn(post: &Post, scene: &Scene, dice: &mut Dice) -> Result<()> {
    let Scene { not_full, not_empty, room, buffer, .. } = scene;
    post.is_at(LockBuffer);
    let mut guard = scene.mutex.lock()?;
    comes_in(post, scene, &mut guard)?;
    // So that one that is to die in a repair has something to repair.
    if post.note().armed_phase.load(Relaxed) == Repair as u32 && dice.in_hundred(60) {
        abandon(guard);
        return Ok(());
    }
    let produces = produces(post.me);
    let (waits_at, notifies) = if produces { (not_full, not_empty) } else { (not_empty, not_full) };
    while if produces { buffer.is_full(*room) } else { buffer.is_empty() } {
        goes_out(post);
        post.is_at(if produces { WaitNotFull } else { WaitNotEmpty });
        let waited = match dice.roll(8) {
            0 => waits_at.wait_for(&mut guard, Duration::from_nanos(dice.roll(300_000))),
            _ => waits_at.wait(&mut guard),
        };
        comes_in(post, scene, &mut guard)?;
        if let Err(error) = waited
            && !matches!(error, Error::TimedOut(_))
        {
            goes_out(post);
            return Err(error);
        }
    }
    // Before the change or after it: the lock is held until both are done.
    let notifies_first = dice.in_hundred(50);
    for step in [notifies_first, !notifies_first] {
        if step {
            post.is_at(Notify);
            notifies.notify_one()?;
        } else if produces {
            post.is_at(Produce);
            buffer.produce(post, dice);
        } else {
            post.is_at(Consume);
            buffer.consume(post, dice);
        }
    }
    goes_out(post);
    post.goes_on();
    post.is_at(UnlockBuffer);
    guard.unlock()
}

/// Takes the lock after a death, for the case that the dead one had it and all others wait.
pub fn look_after(post: &Post, scene: &Scene) -> Result<()> {
    let mut guard = scene.mutex.lock()?;
    comes_in(post, scene, &mut guard)?;
    goes_out(post);
    guard.unlock()
}

/// Has the lock from now on. Repairs, if the last holder died.
fn comes_in(post: &Post, scene: &Scene, guard: &mut MutexGuard) -> Result<()> {
    let (arena, me) = (post.arena, post.me as u32 + 1);
    let acquired = guard.acquired();
    if acquired.previous_owner_died {
        post.is_at(Repair);
        arena.told.fetch_add(1, Relaxed);
        arena.owner.store(0, SeqCst);
    }
    if arena.owner.swap(me, SeqCst) != 0 {
        post.fault(Fault::DoubleEntry);
    }
    if arena.last_token.swap(acquired.fencing_token, SeqCst) >= acquired.fencing_token {
        post.fault(Fault::Token);
    }
    if acquired.previous_owner_died {
        scene.buffer.repair(post);
        scene.not_full.notify_all()?;
        post.may_die();
        scene.not_empty.notify_all()?;
        guard.mark_consistent()?;
    } else if scene.buffer.journal.load(SeqCst) != 0 {
        post.fault(Fault::Torn);
    }
    Ok(())
}

/// Gives the lock back next.
fn goes_out(post: &Post) {
    if post.arena.owner.swap(0, SeqCst) != post.me as u32 + 1 {
        post.fault(Fault::DoubleEntry);
    }
}

/// When all workers are dead: what was produced is in the buffer or was consumed, each item once.
pub fn survives(post: &Post, scene: &Scene) -> Result<()> {
    const PATIENCE: Duration = Duration::from_secs(5);
    let buffer = scene.buffer;
    let mut guard = scene.mutex.lock_for(PATIENCE)?;
    comes_in(post, scene, &mut guard)?;
    let mut dice = Dice(0);
    while !buffer.is_empty() {
        buffer.consume(post, &mut dice);
    }
    let last = buffer.tail.load(Relaxed);
    for (cell, consumed) in buffer.consumed.iter().enumerate() {
        // The last number, of those up to `last`, that has this cell; 0: there is none.
        let expected = last.saturating_sub((last.wrapping_sub(cell as u64)) % ACCOUNTED as u64);
        let expected = if expected as usize % ACCOUNTED == cell { expected } else { 0 };
        let consumed = consumed.load(Relaxed);
        if consumed != expected {
            println!("of {last} items, {expected} was to be consumed last in its cell, and {consumed} was");
            post.fault(if consumed > expected { Fault::Twice } else { Fault::Lost });
        }
    }
    // The dead that wait are in no participant's way.
    scene.not_full.notify_all()?;
    scene.not_empty.notify_all()?;
    if scene.not_full.waiters()? + scene.not_empty.waiters()? != 0 {
        post.fault(Fault::Lost);
    }
    goes_out(post);
    guard.unlock()
}
