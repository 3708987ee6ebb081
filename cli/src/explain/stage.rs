//! The processes at their lock file, and what the file says after each of their steps.

use super::{
    actor::{Actor, Ring, Still},
    picture::{Audience, Picture, Stop},
    registers::{FileBytes, registers, slot_in, waits},
    sentences,
    table::{self, Member},
};
use std::{
    io,
    path::{Path, PathBuf},
};
use turnlock::inspect::{Held, LockRegisters, SlotRegisters};

/// The processes, the file and the audience.
pub struct Stage<'a> {
    path: PathBuf,
    bytes: FileBytes,
    /// The processes, in the order of their slots.
    pub actors: Vec<Actor>,
    seen: LockRegisters,
    chapter: String,
    /// To be said with the next sentences.
    note: Option<String>,
    audience: &'a mut Audience<'a>,
}

impl<'a> Stage<'a> {
    /// Starts a process for each label at a new lock file at `path`.
    pub fn set(
        path: &Path,
        labels: &[&'static str],
        ring: Option<Ring>,
        by_calls: bool,
        audience: &'a mut Audience<'a>,
    ) -> Result<Self, Stop> {
        let start = |label: &&'static str| Actor::start(label, path, ring);
        let mut actors = labels.iter().map(start).collect::<io::Result<Vec<Actor>>>()?;
        let mut note = None;
        for actor in actors.iter_mut().filter(|_| !by_calls) {
            // Where one cannot be stepped, none can.
            if let Err(error) = actor.seize() {
                note = Some(format!(
                    "(This system lets no process step another one: {error}. So it goes from call to call here, and what \
                     happens inside a call is seen at its end.)"
                ));
                break;
            }
        }
        let (seen, bytes) = (registers(path)?, FileBytes::open(path)?);
        Ok(Self { path: path.into(), bytes, actors, seen, chapter: String::new(), note, audience })
    }

    /// A chapter begins: a picture of what is, with these sentences.
    pub fn chapter(&mut self, title: &str, sentences: &[&str]) -> Result<(), Stop> {
        self.chapter = title.into();
        self.say(sentences)
    }

    /// A picture of what is, with these sentences.
    pub fn say(&mut self, sentences: &[&str]) -> Result<(), Stop> {
        let note = self.note.take();
        self.show(sentences.iter().map(|sentence| (*sentence).to_owned()).chain(note).collect())
    }

    /// Returns what the file said last of a process's slot.
    pub fn slot_of(&self, actor: usize) -> Option<&SlotRegisters> {
        let slot = self.actors[actor].slot;
        self.seen.slots.iter().find(|seen| seen.slot == slot)
    }

    fn show(&mut self, sentences: Vec<String>) -> Result<(), Stop> {
        let now = registers(&self.path)?;
        let before = std::mem::replace(&mut self.seen, now.clone());
        let member = |actor: &Actor| Member {
            label: actor.label,
            slot: actor.slot,
            pid: actor.pid(),
            doing: actor.doing,
        };
        let cast: Vec<Member> = self.actors.iter().map(member).collect();
        let table = table::of_registers(&before, &now, &cast);
        (self.audience)(&Picture { chapter: self.chapter.clone(), sentences, table })
    }

    /// Tells a process to call something, and says so.
    pub fn tell(&mut self, actor: usize, order: &str) -> Result<(), Stop> {
        self.actors[actor].tell(order)?;
        self.actors[actor].doing = match order {
            "lock" => "calls lock()",
            "repair" => "calls mark_consistent()",
            _ => "calls unlock()",
        };
        Ok(())
    }

    /// Lets a process go on to its next store that moves a register, and shows it. Says why it stands still.
    pub fn step(&mut self, actor: usize) -> Result<Still, Stop> {
        let still = self.move_on(actor)?;
        if still == Still::Moved {
            self.show_move(actor)?;
        }
        Ok(still)
    }

    /// Shows each of a process's steps until its call has returned, or it sleeps. Says which.
    pub fn play(&mut self, actor: usize) -> Result<Still, Stop> {
        loop {
            match self.step(actor)? {
                Still::Moved => {}
                Still::Asleep => {
                    self.actors[actor].doing = ASLEEP;
                    return Ok(Still::Asleep);
                }
                Still::Returned => {
                    self.rest(actor);
                    return Ok(Still::Returned);
                }
            }
        }
    }

    /// As [`Stage::play`], for a process that was woken: it may look and sleep a few times before it is its turn.
    pub fn play_to_the_end(&mut self, actor: usize) -> Result<(), Stop> {
        for _ in 0..PATIENCE {
            if self.play(actor)? == Still::Returned {
                return Ok(());
            }
        }
        let label = self.actors[actor].label;
        Err(Stop::Failed(io::Error::other(format!("{label} sleeps, although it is its turn"))))
    }

    fn rest(&mut self, actor: usize) {
        let inside = self.slot_of(actor).is_some_and(|slot| matches!(slot.held, Held::Inside(_)));
        self.actors[actor].doing = if inside { "INSIDE" } else { "outside" };
    }

    /// Lets a process go on to its next move, without showing it.
    pub fn move_on(&mut self, actor: usize) -> Result<Still, Stop> {
        let (path, seen, bytes) = (&self.path, &self.seen, &mut self.bytes);
        let slot = self.actors[actor].slot;
        let is_moved = || Ok(bytes.are_other()? && registers(path)? != *seen);
        Ok(self.actors[actor].go_on(is_moved, || waits(path, slot))?)
    }

    /// Shows what has moved.
    pub fn show_move(&mut self, actor: usize) -> Result<(), Stop> {
        let now = registers(&self.path)?;
        let labels: Vec<(usize, &str)> = self.actors.iter().map(|actor| (actor.slot, actor.label)).collect();
        let one = &self.actors[actor];
        let sentences = sentences::of(&self.seen, &now, (one.slot, one.label), &labels);
        for (at, other) in self.actors.iter_mut().enumerate() {
            let inside = slot_in(&now, other.slot).is_some_and(|slot| matches!(slot.held, Held::Inside(_)));
            if inside && (at == actor || other.doing == ASLEEP) {
                other.doing = "INSIDE";
            } else if at == actor && other.doing == ASLEEP {
                other.doing = "awake in lock()";
            }
        }
        self.show(sentences)
    }

    /// Has two processes take an instruction each by turns, until both have moved; each move is shown. For what happens
    /// only when neither is ahead of the other.
    pub fn abreast(&mut self, one: usize, other: usize) -> Result<(), Stop> {
        let slots = [one, other].map(|actor| (actor, self.actors[actor].slot));
        let mut moved = [false; 2];
        for _ in 0..LONGEST {
            for (at, (actor, slot)) in slots.into_iter().enumerate() {
                if moved[at] {
                    continue;
                }
                self.actors[actor].one_instruction()?;
                if self.bytes.are_other()? {
                    let now = registers(&self.path)?;
                    if slot_in(&now, slot) != slot_in(&self.seen, slot) {
                        moved[at] = true;
                        self.show_move(actor)?;
                    }
                }
            }
            if moved == [true; 2] {
                return Ok(());
            }
        }
        Err(Stop::Failed(io::Error::other("two processes do not come through the doorway")))
    }

    /// Kills a process, as kill -9 does.
    pub fn kill(&mut self, actor: usize) -> Result<(), Stop> {
        self.actors[actor].kill()?;
        self.actors[actor].doing = "dead (kill -9)";
        Ok(())
    }
}

/// What a process does that waits.
const ASLEEP: &str = "asleep in lock()";
/// One that has been woken looks so often at most before it goes on.
const PATIENCE: usize = 200;
/// A doorway has fewer instructions.
const LONGEST: usize = 1_000_000;
