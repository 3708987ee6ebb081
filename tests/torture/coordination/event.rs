//! An event that one worker sets and clears, and the others wait for.

use super::{Phase::*, Post};
use crate::arena::Fault;
use std::{
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    time::Duration,
};
use support::{Dice, forked::shared_with_children};
use turnlock::{Event, LockFile, Result};

/// Returns whether a worker sets it: one does.
pub fn sets(worker: usize) -> bool {
    worker == 0
}

#[repr(C)]
struct Word {
    /// Even: it is clear, and has been since this number was written. Odd: it may be set.
    changes: AtomicU64,
}

pub struct Scene {
    event: Event,
    word: &'static Word,
}

impl Scene {
    pub fn open(file: &LockFile) -> Self {
        // SAFETY: it has only atomic integers.
        Self { event: file.event("ready").unwrap(), word: unsafe { shared_with_children() } }
    }
}

pub fn turn(post: &Post, scene: &Scene, dice: &mut Dice) -> Result<()> {
    let (event, changes) = (&scene.event, &scene.word.changes);
    if sets(post.me) {
        // One that died in the midst of it left it odd.
        changes.store((changes.load(SeqCst) | 1) + 2, SeqCst);
        post.is_at(SetEvent);
        event.set()?;
        post.stays(dice);
        post.is_at(ClearEvent);
        event.clear()?;
        post.may_die();
        changes.fetch_add(1, SeqCst);
        return Ok(());
    }
    let before = changes.load(SeqCst);
    post.is_at(AwaitEvent);
    match dice.roll(8) {
        0 => event.wait_for(Duration::from_nanos(dice.roll(300_000)))?,
        _ => event.wait()?,
    }
    if before.is_multiple_of(2) && changes.load(SeqCst) == before {
        post.fault(Fault::Spurious);
    }
    post.goes_on();
    Ok(())
}

/// When all workers are dead: it can be set and cleared.
pub fn survives(scene: &Scene) -> Result<()> {
    scene.event.set()?;
    scene.event.wait_for(Duration::from_secs(5))?;
    scene.event.clear().map(drop)
}
