//! What is measured: the cells, each of which is one table.

use std::time::Duration;

/// What a worker does over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Reads, or else writes, so many times in a thousand.
    ReadWrite { reads: u64 },
    /// Enters as a member of one of so many groups, always of the same.
    Group { groups: u64 },
    /// Takes one of so many permits.
    Permit { permits: u32 },
    /// Takes so many parts at once that no other process wants.
    Parts { count: usize },
}

/// A task, and so many processes that do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    pub task: Task,
    pub processes: usize,
    /// The length of a section, in processor time, where it is more than a few words.
    pub inside: Duration,
    /// Measured as the processor time for an entry, since no process waits; else as entries each second.
    pub alone: bool,
}

const PROCESSES: [usize; 4] = [1, 2, 4, 8];
/// In a thousand.
pub const MIXES: [u64; 4] = [1000, 990, 950, 500];
/// One group alone, and two that take turns.
pub const GROUPS: [u64; 2] = [1, 2];
/// Of processes in a burst on a semaphore.
pub const BURST: usize = 8;
pub const PERMITS: [u32; 3] = [1, 2, 4];
pub const INSIDE: [Duration; 3] = [Duration::ZERO, Duration::from_micros(1), Duration::from_micros(20)];
/// Parts that are held at once, by so many processes together.
pub const PARTS: [(usize, usize); 5] = [(1, 1), (8, 1), (64, 1), (8, 8), (64, 8)];
/// The most parts that are held at once.
pub const MOST_PARTS: usize = 64;

/// Those of readers and writers.
pub fn rwlock() -> Vec<Cell> {
    let mut cells: Vec<Cell> = [1000, 0]
        .map(|reads| Cell {
            task: Task::ReadWrite { reads },
            processes: 1,
            inside: Duration::ZERO,
            alone: true,
        })
        .into();
    for reads in MIXES {
        for processes in PROCESSES {
            cells.push(Cell {
                task: Task::ReadWrite { reads },
                processes,
                inside: Duration::ZERO,
                alone: false,
            });
        }
    }
    cells
}

/// Those of groups.
pub fn group() -> Vec<Cell> {
    let cell = |groups, processes, alone| Cell {
        task: Task::Group { groups },
        processes,
        inside: Duration::ZERO,
        alone,
    };
    let mut cells = vec![cell(1, 1, true)];
    for groups in GROUPS {
        cells.extend(
            PROCESSES
                .into_iter()
                .skip_while(|processes| (*processes as u64) < groups)
                .map(|processes| cell(groups, processes, false)),
        );
    }
    cells
}

/// Those of semaphores.
pub fn semaphore() -> Vec<Cell> {
    let alone = Task::Permit { permits: 1 };
    let mut cells = vec![Cell { task: alone, processes: 1, inside: Duration::ZERO, alone: true }];
    for inside in INSIDE {
        for permits in PERMITS {
            cells.push(Cell { task: Task::Permit { permits }, processes: BURST, inside, alone: false });
        }
    }
    cells
}

/// Those of range and keyed locks.
pub fn parts() -> Vec<Cell> {
    let cell = |(together, processes)| Cell {
        task: Task::Parts { count: together / processes },
        processes,
        inside: Duration::ZERO,
        alone: processes == 1,
    };
    PARTS.map(cell).into()
}

impl Cell {
    /// Entries between two looks at the phase, where a look would be seen in the result.
    pub fn batch(&self) -> u64 {
        const BATCH: u64 = 64;
        if self.inside.is_zero() { BATCH / self.entries_at_once() } else { 1 }
    }

    /// What an entry is counted as: each part is one.
    pub fn entries_at_once(&self) -> u64 {
        if let Task::Parts { count } = self.task { count as u64 } else { 1 }
    }

    /// The group of a worker; 0 where there are none.
    pub fn group(&self, worker: usize) -> u64 {
        if let Task::Group { groups } = self.task { worker as u64 % groups } else { 0 }
    }

    /// The places, among all parts, of those that a worker takes at once. None where there are no parts.
    pub fn parts(&self, worker: usize) -> Vec<usize> {
        match self.task {
            Task::Parts { count } => (worker * count..(worker + 1) * count).collect(),
            Task::ReadWrite { .. } | Task::Group { .. } | Task::Permit { .. } => Vec::new(),
        }
    }

    /// Whether waits are timed: where a process may have to wait.
    pub fn times_waits(&self) -> bool {
        !self.alone
            && !matches!(
                self.task,
                Task::ReadWrite { reads: 1000 } | Task::Group { groups: 1 } | Task::Parts { .. }
            )
    }

    pub fn title(&self) -> String {
        let (task, processes) = (self.task_name(), self.processes);
        let plural = if processes == 1 { "process" } else { "processes" };
        match self.alone {
            true => format!("{task}, alone"),
            false => format!("{task}, {processes} {plural}"),
        }
    }

    pub fn task_name(&self) -> String {
        match self.task {
            Task::ReadWrite { reads: 1000 } => "rwlock, read".into(),
            Task::ReadWrite { reads: 0 } => "rwlock, write".into(),
            Task::ReadWrite { reads } => {
                format!("rwlock, {} % reads and {} % writes", reads / 10, 100 - reads / 10)
            }
            Task::Group { groups: 1 } => "group lock, one group".into(),
            Task::Group { groups } => format!("group lock, {groups} groups in turn"),
            Task::Permit { permits } => {
                let plural = if permits == 1 { "permit" } else { "permits" };
                format!("semaphore of {permits} {plural}, sections of {} us", self.inside.as_micros())
            }
            Task::Parts { count } => {
                let together = count * self.processes;
                let plural = if together == 1 { "part" } else { "parts" };
                format!("{together} {plural} at once, {count} by each process")
            }
        }
    }

    pub fn measure(&self) -> &'static str {
        match (self.task, self.alone) {
            (Task::Parts { .. }, true) => {
                "processor time for each part, taken and given back, ns: less is better"
            }
            (_, true) => "processor time for an entry, taken and given back, ns: less is better",
            (Task::Parts { .. }, false) => "parts each second, of all processes together: more is better",
            (_, false) => "entries each second, of all processes together: more is better",
        }
    }
}
