//! What a worker does, for every contender alike, and what shows that exclusion holds. Generic over the lock, so that a call
//! costs no dispatch.

use crate::cell::{Cell, MOST_PARTS, Task};
use harness::{
    arena::{self, Arena, Padded, Phase, Section, VIOLATED},
    clock,
    shared::Zeroed,
    work::Work,
};
use hdrhistogram::Histogram;
use std::{
    hint::black_box,
    sync::atomic::{
        AtomicU32, AtomicU64,
        Ordering::{Relaxed, SeqCst},
        fence,
    },
};

const MOST_WORKERS: usize = 8;
/// One of so many that have a permit counts the others that do, where sections are so short that counting would
/// be seen.
const COUNTS_EVERY: u64 = 32;

/// A lock as a worker uses it, which is attached to it.
pub trait Lock {
    /// Holds the lock, or the permit, or the parts, or is inside, for a section. `writes`: alone, where it can be had shared too; where
    /// there are groups but the lock has none, as one of the second.
    fn with(&self, writes: bool, section: impl FnOnce());
}

/// What the locks protect, beside the words of the arena's section: those are for readers and writers.
#[repr(C)]
pub struct Floor {
    /// Of a semaphore: whether a worker has a permit; of groups: whether it is inside.
    inside: [Padded<AtomicU32>; MOST_WORKERS],
    /// How often more had a permit than there are, or one of another group was inside.
    too_many: AtomicU64,
    /// Each part has words of its own.
    parts: [Padded<Section>; MOST_PARTS],
}

// SAFETY: atomics only.
unsafe impl Zeroed for Floor {}

/// One worker's task.
pub struct Worker<'a> {
    pub arena: &'a Arena,
    pub floor: &'a Floor,
    pub number: usize,
    pub cell: Cell,
}

impl Worker<'_> {
    /// Attached: one entry to have a slot and warm pages, then the start gun, then the task until the end.
    pub fn run<L: Lock>(&self, lock: &L) {
        let mut counts = Counts {
            worker: self,
            parts: self.cell.parts(self.number),
            entries: 0,
            sections: 0,
            random: 0x9e37_79b9_7f4a_7c15 ^ (self.number as u64 + 1) << 32,
            waits: arena::waits(),
        };
        counts.turn(lock);
        self.arena.say_ready();
        while self.arena.phase() == Phase::Attach {
            // SAFETY: takes nothing.
            unsafe { libc::sched_yield() };
        }
        loop {
            match self.arena.phase() {
                Phase::Stop => break,
                Phase::RunTimed => counts.timed_turn(lock),
                Phase::Attach | Phase::Run => counts.batch(lock),
            }
        }
        self.arena.notes[self.number].0.ended_at.store(clock::now(), Relaxed);
        self.arena.put_waits(self.number, &counts.waits);
    }
}

struct Counts<'a> {
    worker: &'a Worker<'a>,
    /// The places of its parts among those of the floor.
    parts: Vec<usize>,
    entries: u64,
    /// Of these, those that wrote.
    sections: u64,
    random: u64,
    waits: Histogram<u64>,
}

impl Counts<'_> {
    /// What is measured: entries only, as few words beside them as there can be.
    fn batch<L: Lock>(&mut self, lock: &L) {
        let alone = self.worker.cell.alone;
        for _ in 0..self.worker.cell.batch() {
            let writes = self.writes();
            black_box(lock).with(writes, || {
                if !alone {
                    self.section(writes);
                }
            });
            self.entries += 1;
        }
        if alone {
            self.turn(lock);
        } else {
            self.put();
        }
    }

    fn turn<L: Lock>(&mut self, lock: &L) {
        let writes = self.writes();
        lock.with(writes, || self.section(writes));
        self.note();
    }

    fn timed_turn<L: Lock>(&mut self, lock: &L) {
        let writes = self.writes();
        let is_timed = writes || matches!(self.worker.cell.task, Task::Group { .. });
        if !is_timed {
            lock.with(false, || self.section(false));
            return self.note();
        }
        let asked = clock::now();
        lock.with(writes, || {
            self.waits.saturating_record(clock::now() - asked);
            self.section(writes);
        });
        self.note();
    }

    /// Whether the next entry writes.
    #[inline]
    fn writes(&mut self) -> bool {
        match self.worker.cell.task {
            Task::ReadWrite { reads: 1000 } => false,
            Task::ReadWrite { reads } => {
                // Marsaglia's xorshift, of 64 bits.
                self.random ^= self.random << 13;
                self.random ^= self.random >> 7;
                self.random ^= self.random << 17;
                self.random % 1000 >= reads
            }
            Task::Group { .. } => self.worker.cell.group(self.worker.number) != 0,
            Task::Permit { .. } | Task::Parts { .. } => true,
        }
    }

    #[inline]
    fn section(&mut self, writes: bool) {
        let floor = self.worker.floor;
        let inside = Work(self.worker.cell.inside.as_nanos() as u64);
        match self.worker.cell.task {
            Task::ReadWrite { .. } if !writes => return self.worker.arena.section.0.look(),
            Task::ReadWrite { .. } => {
                self.worker.arena.section.0.enter();
                inside.run();
                self.worker.arena.section.0.leave();
            }
            Task::Group { .. } | Task::Permit { .. } => {
                floor.inside[self.worker.number].0.store(self.sections as u32 | 1 << 31, Relaxed);
                inside.run();
                if inside.0 > 0 || self.entries.is_multiple_of(COUNTS_EVERY) {
                    floor.count(&self.worker.cell, self.worker.number);
                }
                floor.inside[self.worker.number].0.store(0, Relaxed);
            }
            Task::Parts { .. } => {
                self.parts.iter().for_each(|part| floor.parts[*part].0.enter());
                self.parts.iter().for_each(|part| floor.parts[*part].0.leave());
            }
        }
        self.sections += 1;
    }

    fn note(&mut self) {
        self.entries += 1;
        self.put();
    }

    fn put(&self) {
        let note = &self.worker.arena.notes[self.worker.number].0;
        note.entries.store(self.entries, Relaxed);
        note.sections.store(self.sections, Relaxed);
    }
}

impl Floor {
    /// By a process that has a permit, or is inside: notes if more have one than there are, or one of another group is inside. A process
    /// that is seen in the same section by two looks, one after the other at all of them, had it between the two.
    fn count(&self, cell: &Cell, worker: usize) {
        let look = || {
            fence(SeqCst);
            self.inside.each_ref().map(|inside| inside.0.load(Relaxed))
        };
        let (first, then) = (look(), look());
        let mut inside = first
            .iter()
            .zip(then)
            .enumerate()
            .filter(|(_, (first, then))| **first != 0 && **first == *then)
            .map(|(worker, _)| worker);
        let is_wrong = match cell.task {
            Task::Permit { permits } => inside.count() > permits as usize,
            _ => inside.any(|other| cell.group(other) != cell.group(worker)),
        };
        if is_wrong {
            self.too_many.fetch_add(1, Relaxed);
        }
    }

    /// What is wrong, once every process has left.
    pub fn wrong(&self, arena: &Arena, cell: &Cell) -> Option<String> {
        let sections = |worker: usize| arena.notes[worker].0.sections.load(Relaxed);
        match cell.task {
            Task::ReadWrite { .. } => arena.section.0.wrong((0..cell.processes).map(sections).sum()),
            Task::Group { .. } => {
                let seen = self.too_many.load(Relaxed);
                (seen != 0).then(|| format!("{VIOLATED}: {seen} times one of another group was inside"))
            }
            Task::Permit { permits } => {
                let seen = self.too_many.load(Relaxed);
                (seen != 0).then(|| format!("{VIOLATED}: {seen} times more than {permits} were inside"))
            }
            Task::Parts { .. } => (0..cell.processes)
                .flat_map(|worker| cell.parts(worker).into_iter().map(move |part| (worker, part)))
                .find_map(|(worker, part)| self.parts[part].0.wrong(sections(worker))),
        }
    }
}
