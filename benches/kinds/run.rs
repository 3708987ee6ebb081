//! One round: one contender in one cell. Forks the processes, fires the start gun, reads the counters, ends it.

use crate::{
    cell::{Cell, Task},
    contender::{Kind, Nothing},
    worker::{Floor, Worker},
};
use harness::{
    arena::{Arena, Phase, VIOLATED},
    clock,
    place::Place,
    process::{self, Child},
    shared::Shared,
};
use hdrhistogram::Histogram;
use std::{
    io,
    sync::atomic::Ordering::Relaxed,
    thread,
    time::{Duration, Instant},
};

/// Longer than any lock here needs to let eight processes in once more. Then it hangs.
const LONGEST: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_micros(200);

/// How long a round's parts take.
#[derive(Clone, Copy, Debug)]
pub struct Lengths {
    pub warm_up: Duration,
    pub counted: Duration,
    /// The part in which waits are timed: reading the clock would be seen in the other one.
    pub timed: Duration,
}

impl Lengths {
    pub fn of(&self, cell: &Cell) -> Duration {
        self.warm_up + self.counted + if cell.times_waits() { self.timed } else { Duration::ZERO }
    }
}

/// What came of it.
pub struct Round {
    /// Each part is one.
    pub entries: u64,
    pub seconds: f64,
    /// Processor time of all workers.
    pub cpu_seconds: f64,
    /// Of writers, or of all that want a permit.
    pub waits: Histogram<u64>,
}

/// What rounds have in common.
pub struct Ground {
    pub lengths: Lengths,
    pub cores: Vec<usize>,
}

impl Ground {
    /// Shows that a violation would be noticed: a lock that locks nothing is caught.
    ///
    /// # Errors
    /// If it is not.
    pub fn check(&self) -> Result<(), String> {
        // Sections long enough that two overlap even on one core.
        let inside = Duration::from_millis(1);
        for task in [Task::ReadWrite { reads: 500 }, Task::Group { groups: 2 }, Task::Permit { permits: 1 }] {
            match self.round(&Nothing, &Cell { task, processes: 8, inside, alone: false }) {
                Err(why) if why.contains(VIOLATED) => {}
                Err(why) => return Err(why),
                Ok(_) => {
                    return Err(format!(
                        "a lock that locks nothing was not caught ({task:?}): the check does not work here"
                    ));
                }
            }
        }
        Ok(())
    }

    /// # Errors
    /// A sentence, if exclusion was violated, a process failed or the lock hangs: the numbers are worth nothing then.
    pub fn round(&self, kind: &dyn Kind, cell: &Cell) -> Result<Round, String> {
        let place = Place::new(None).map_err(|error| format!("no place for a lock: {error}"))?;
        kind.prepare(&place, cell);
        let result = self.in_place(kind, cell, &place);
        kind.clear(&place);
        result
    }

    fn in_place(&self, kind: &dyn Kind, cell: &Cell, place: &Place) -> Result<Round, String> {
        let (arena, floor) = (Shared::<Arena>::new(), Shared::<Floor>::new());
        let mut crew = Crew { arena: &arena, cell: *cell, workers: Vec::new() };
        for number in 0..cell.processes {
            let worker = Worker { arena: &arena, floor: &floor, number, cell: *cell };
            let child = Child::fork(|| {
                // With a core for each worker, each has its own; else the scheduler decides, as it does for
                // programs.
                if cell.processes <= self.cores.len() {
                    process::pin(self.cores[number]);
                }
                kind.work(place, &worker);
            });
            crew.workers.push(child.map_err(|error: io::Error| format!("fork: {error}"))?);
        }
        crew.until("is ready", |crew| crew.arena.ready() as usize == crew.workers.len())?;
        arena.set_phase(Phase::Run);
        thread::sleep(self.lengths.warm_up);
        let first = crew.sample();
        thread::sleep(self.lengths.counted);
        let last = crew.sample();
        if cell.times_waits() {
            arena.set_phase(Phase::RunTimed);
            thread::sleep(self.lengths.timed);
        }
        arena.set_phase(Phase::Stop);
        crew.until("has left", |crew| crew.workers.iter_mut().all(|worker| worker.ended() == Some(0)))?;
        if let Some(wrong) = floor.wrong(&arena, cell) {
            return Err(wrong);
        }
        Ok(Round {
            entries: (last.entries - first.entries) * cell.entries_at_once(),
            seconds: (last.at - first.at) as f64 * 1e-9,
            cpu_seconds: (last.cpu_time - first.cpu_time) as f64 * 1e-9,
            waits: arena.take_waits(cell.processes),
        })
    }
}

/// The processes of a round.
struct Crew<'a> {
    arena: &'a Arena,
    cell: Cell,
    workers: Vec<Child>,
}

/// The counters at one moment.
struct Sample {
    at: u64,
    entries: u64,
    cpu_time: u64,
}

impl Crew<'_> {
    /// Waits until every process `is` as `done` says.
    fn until(&mut self, is: &str, done: impl Fn(&mut Self) -> bool) -> Result<(), String> {
        let began = Instant::now();
        while !done(self) {
            let failed = self.workers.iter_mut().find_map(|worker| worker.ended().filter(|end| *end != 0));
            if let Some(status) = failed {
                return Err(format!("a process of the round ended with wait status {status:#x}"));
            }
            if began.elapsed() > LONGEST {
                return Err(format!("THE LOCK HANGS: after {} s not all {is}", LONGEST.as_secs()));
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    fn sample(&self) -> Sample {
        let notes = self.arena.notes[..self.cell.processes].iter();
        Sample {
            at: clock::now(),
            entries: notes.map(|note| note.0.entries.load(Relaxed)).sum(),
            cpu_time: self.workers.iter().map(Child::cpu_time).sum(),
        }
    }
}
