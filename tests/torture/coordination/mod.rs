//! Torture of what participants wait for one another by: conditions, barriers and events.
//!
//! Each kind has a scene of its own in memory that the workers share, and phases of its own, in each of which workers are
//! killed.

mod barrier;
mod buffer;
mod event;

use super::{
    arena::Fault,
    claims::{Phase, Post},
};
use std::{sync::atomic::Ordering::Relaxed, time::Duration};
use support::Dice;
use turnlock::{Error, LockFile, Result};

/// What the workers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Half of them produce items, half consume them, over a buffer with room for so many: with a mutex and two conditions.
    Buffer { room: u64 },
    /// All of them meet at a barrier.
    Barrier,
    /// One sets an event and clears it; the others wait for it.
    Event,
}

use Phase::*;

impl Kind {
    /// The phases that its workers come to.
    pub fn phases(self) -> &'static [Phase] {
        match self {
            Kind::Buffer { .. } => {
                &[LockBuffer, WaitNotFull, Produce, WaitNotEmpty, Consume, Notify, Repair, UnlockBuffer]
            }
            Kind::Barrier => &[Meet, ResetBarrier],
            Kind::Event => &[SetEvent, ClearEvent, AwaitEvent],
        }
    }

    /// Those that one worker comes to.
    pub fn phases_of(self, worker: usize) -> &'static [Phase] {
        match self {
            Kind::Buffer { .. } if buffer::produces(worker) => {
                &[LockBuffer, WaitNotFull, Produce, Notify, Repair, UnlockBuffer]
            }
            Kind::Buffer { .. } => &[LockBuffer, WaitNotEmpty, Consume, Notify, Repair, UnlockBuffer],
            Kind::Event if event::sets(worker) => &[SetEvent, ClearEvent],
            Kind::Event => &[AwaitEvent],
            Kind::Barrier => self.phases(),
        }
    }

    /// The scene of a round with so many workers, in shared memory.
    pub fn open(self, file: &LockFile, workers: usize) -> Scene {
        match self {
            Kind::Buffer { room } => Scene::Buffer(buffer::Scene::open(file, room)),
            Kind::Barrier => Scene::Barrier(barrier::Scene::open(file, workers)),
            Kind::Event => Scene::Event(event::Scene::open(file)),
        }
    }

    /// How many named things its scene has in the file.
    pub fn locks(self) -> u32 {
        match self {
            Kind::Buffer { .. } => 3,
            Kind::Barrier => 2,
            Kind::Event => 1,
        }
    }
}

/// What the workers of a round share.
pub enum Scene {
    Buffer(buffer::Scene),
    Barrier(barrier::Scene),
    Event(event::Scene),
}

impl Scene {
    /// The buffer, whose workers can go on while one is missing.
    pub fn buffer(&self) -> Option<&buffer::Scene> {
        if let Scene::Buffer(scene) = self { Some(scene) } else { None }
    }
}

/// What a forked child does until it is killed.
pub fn work(post: &Post, scene: &Scene, mut dice: Dice) -> ! {
    crate::worker::begins(post.arena, post.me, false);
    let mut party = barrier::Party::default();
    if let Scene::Barrier(scene) = scene {
        scene.begins(post.me);
    }
    loop {
        let done = match scene {
            Scene::Buffer(scene) => buffer::turn(post, scene, &mut dice),
            Scene::Barrier(scene) => barrier::turn(post, scene, &mut party, &mut dice),
            Scene::Event(scene) => event::turn(post, scene, &mut dice),
        };
        note_error(post, done);
        post.note().phase.store(0, Relaxed);
        post.note().step.store(0, Relaxed);
        if dice.in_hundred(20) {
            std::thread::yield_now();
        }
        super::claims::pause(dice.roll(500));
    }
}

/// What another forked child does, which is not killed: it looks after what the workers leave behind, as the program does that
/// starts them anew. A waiter at a condition does not find out that the holder of its lock died.
pub fn supervise(post: &Post, scene: &buffer::Scene) -> ! {
    let mut seen = 0;
    loop {
        let deaths = post.arena.deaths.load(Relaxed);
        match deaths == seen {
            true => std::thread::sleep(Duration::from_micros(100)),
            false => note_error(post, buffer::look_after(post, scene)),
        }
        seen = deaths;
    }
}

/// Checks what is left when all workers are dead; notes what is wrong as a fault.
pub fn survives(post: &Post, scene: &Scene) {
    let checked = match scene {
        Scene::Buffer(scene) => buffer::survives(post, scene),
        Scene::Barrier(scene) => barrier::survives(scene),
        Scene::Event(scene) => event::survives(scene),
    };
    if let Err(error) = checked {
        println!("a survivor does not come through: {error}");
        post.arena.last_error.store(error.code() as u32, Relaxed);
        post.fault(Fault::Lost);
    }
}

fn note_error(post: &Post, done: Result<()>) {
    match done {
        Ok(()) | Err(Error::TimedOut(_)) => {}
        Err(error) => {
            post.arena.last_error.store(error.code() as u32, Relaxed);
            post.fault(Fault::Error);
        }
    }
}
