//! One round: one contender in one cell. Forks the processes, fires the start gun, reads the counters, ends it.

use crate::{
    arena::{Arena, Phase},
    clock,
    contender::Kind,
    place::Place,
    process::{self, Child},
    scenario::{Cell, Hogs, Shape},
    shared::Shared,
    statistics,
    usage::Usage,
    work::Work,
    worker::Task,
};
use hdrhistogram::Histogram;
use std::{
    sync::atomic::Ordering::Relaxed,
    thread,
    time::{Duration, Instant},
};

/// The window of Jain's index.
pub const WINDOW: Duration = Duration::from_millis(100);
/// Longer than any lock here needs to let sixteen processes in once more. Then it hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a round's parts take.
#[derive(Clone, Copy, Debug)]
pub struct Lengths {
    pub warm_up: Duration,
    pub windows: u32,
    pub alone: Duration,
    pub hand_over: Duration,
    /// The part in which waits are timed where timing them would disturb.
    pub timed: Duration,
}

impl Lengths {
    pub fn of(&self, cell: &Cell) -> Duration {
        self.warm_up + self.counted(cell) + self.timed_apart(cell)
    }

    fn counted(&self, cell: &Cell) -> Duration {
        match cell.scenario.shape {
            Shape::Alone => self.alone,
            Shape::Turns | Shape::Relay | Shape::Crowd { .. } => WINDOW * self.windows,
            Shape::HandOver => self.hand_over,
            Shape::Sleepers if cell.scenario.hogs == Hogs::None => self.hand_over,
            // There are few of them.
            Shape::Sleepers => 4 * self.hand_over,
        }
    }

    fn timed_apart(&self, cell: &Cell) -> Duration {
        let apart = cell.scenario.shape == Shape::Turns && cell.scenario.times_apart;
        if apart { self.timed } else { Duration::ZERO }
    }
}

/// What came of it.
pub struct Round {
    pub entries: u64,
    /// Of them those after another worker's.
    pub hand_overs: u64,
    pub seconds: f64,
    /// Processor time of all workers.
    pub cpu_seconds: f64,
    /// From the start gun to the end of each worker: what the kernel counted, and the hand-overs in that time.
    pub usage: Usage,
    pub used_for_hand_overs: u64,
    /// One for each window.
    pub jain: Vec<f64>,
    /// For [`Shape::HandOver`] and [`Shape::Sleepers`], the hand-overs.
    pub waits: Histogram<u64>,
}

/// What rounds have in common.
pub struct Ground {
    pub lengths: Lengths,
    pub cores: Vec<usize>,
}

impl Ground {
    /// # Errors
    /// A sentence, if exclusion was violated, a process failed or the lock hangs: the numbers are worth nothing then.
    pub fn round(&self, kind: &dyn Kind, cell: &Cell) -> Result<Round, String> {
        let place = Place::new(cell.machines).map_err(|error| format!("no place for a lock: {error}"))?;
        kind.prepare(&place);
        let result = self.in_place(kind, cell, &place);
        kind.clear(&place);
        result
    }

    fn in_place(&self, kind: &dyn Kind, cell: &Cell, place: &Place) -> Result<Round, String> {
        let arena = Shared::<Arena>::new();
        let mut crew = Crew { arena: &arena, workers: Vec::new(), others: Vec::new() };
        self.muster(&mut crew, kind, cell, place).map_err(|error| format!("fork: {error}"))?;
        let counted = if cell.scenario.times_apart { Phase::Run } else { Phase::RunTimed };
        // A process that waits since the start gun is timed from there, where that is possible: a lock that starves a
        // process should not look better for it.
        let hands_over = matches!(cell.scenario.shape, Shape::HandOver | Shape::Sleepers);
        let warm_up = if hands_over { Phase::Run } else { counted };
        let before = crew.sample().hand_overs;
        arena.set_phase(warm_up);
        thread::sleep(self.lengths.warm_up);
        arena.set_phase(counted);
        let samples = crew.watch(self.lengths.counted(cell));
        let apart = self.lengths.timed_apart(cell);
        if !apart.is_zero() {
            arena.set_phase(Phase::RunTimed);
            thread::sleep(apart);
        }
        crew.dismiss()?;
        let (first, last) = (&samples[0], &samples[samples.len() - 1]);
        let notes = || arena.notes[..cell.processes].iter();
        Ok(Round {
            entries: last.entries.iter().sum::<u64>() - first.entries.iter().sum::<u64>(),
            hand_overs: last.hand_overs - first.hand_overs,
            seconds: (last.at - first.at) as f64 * 1e-9,
            cpu_seconds: (last.cpu_time - first.cpu_time) as f64 * 1e-9,
            usage: notes().fold(Usage::default(), |sum, note| sum.and(&note.0.usage())),
            used_for_hand_overs: notes().map(|note| note.0.hand_overs.load(Relaxed)).sum::<u64>() - before,
            jain: samples.windows(2).map(|pair| pair[1].jain_since(&pair[0])).collect(),
            waits: arena.take_waits(cell.processes),
        })
    }

    /// Forks every process and waits until all are ready for the start gun.
    fn muster(&self, crew: &mut Crew, kind: &dyn Kind, cell: &Cell, place: &Place) -> std::io::Result<()> {
        let arena = crew.arena;
        let mut expected = 0;
        if cell.idle() > 0 {
            crew.others.push(Child::fork(|| {
                let _idle = kind.idle(place, cell.idle());
                arena.say_ready();
                wait_for_ever();
            })?);
            // First, so that the workers' slots lie behind all the idle ones.
            expected += 1;
            crew.wait_until_ready(expected);
        }
        let hogs = match cell.scenario.hogs {
            Hogs::None => 0,
            Hogs::OneOnEachCore => self.cores.len(),
            Hogs::Number(number) => number,
        };
        for core in self.cores.iter().cycle().take(hogs) {
            crew.others.push(Child::fork(|| {
                process::pin(*core);
                loop {
                    Work(1_000_000).run();
                }
            })?);
        }
        // With a core for each worker, each has its own; else the scheduler decides, as it does for programs.
        let pinned = hogs == 0 && cell.processes <= self.cores.len();
        for worker in 0..cell.processes {
            let task = Task {
                arena,
                worker,
                processes: cell.processes,
                shape: cell.scenario.shape,
                inside: Work(cell.scenario.inside),
                outside: Work(cell.scenario.outside),
            };
            crew.workers.push(Child::fork(|| {
                if pinned {
                    process::pin(self.cores[worker]);
                }
                kind.work(place, &task);
            })?);
            expected += 1;
        }
        crew.wait_until_ready(expected);
        Ok(())
    }
}

fn wait_for_ever() -> ! {
    loop {
        thread::sleep(Duration::from_secs(3600));
    }
}

/// The processes of a round.
struct Crew<'a> {
    arena: &'a Arena,
    workers: Vec<Child>,
    /// Idle participants and hogs: killed at the end.
    others: Vec<Child>,
}

/// The counters at one moment.
struct Sample {
    at: u64,
    entries: Vec<u64>,
    hand_overs: u64,
    cpu_time: u64,
}

impl Sample {
    fn jain_since(&self, before: &Self) -> f64 {
        let shares: Vec<f64> =
            self.entries.iter().zip(&before.entries).map(|(now, then)| (now - then) as f64).collect();
        statistics::jain(&shares)
    }
}

impl Crew<'_> {
    /// A process that fails to get ready is found by [`Crew::dismiss`].
    fn wait_until_ready(&mut self, expected: u32) {
        let began = Instant::now();
        while self.arena.ready() < expected && began.elapsed() < PATIENCE && !self.a_worker_ended() {
            thread::sleep(Duration::from_micros(200));
        }
    }

    fn a_worker_ended(&mut self) -> bool {
        self.workers.iter_mut().chain(&mut self.others).any(|child| child.ended().is_some())
    }

    /// Reads the counters every [`WINDOW`], for so long.
    fn watch(&self, length: Duration) -> Vec<Sample> {
        let began = Instant::now();
        let mut samples = vec![self.sample()];
        let mut until = Duration::ZERO;
        while until < length {
            until = (until + WINDOW).min(length);
            thread::sleep(until.saturating_sub(began.elapsed()));
            samples.push(self.sample());
        }
        samples
    }

    fn sample(&self) -> Sample {
        let count = |worker: usize| self.arena.notes[worker].0.entries.load(Relaxed);
        let hand_overs = |worker: usize| self.arena.notes[worker].0.hand_overs.load(Relaxed);
        Sample {
            at: clock::now(),
            entries: (0..self.workers.len()).map(count).collect(),
            hand_overs: (0..self.workers.len()).map(hand_overs).sum(),
            cpu_time: self.workers.iter().map(Child::cpu_time).sum(),
        }
    }

    /// Has every process leave, and checks that all went well.
    fn dismiss(mut self) -> Result<(), String> {
        self.arena.set_phase(Phase::Stop);
        let began = Instant::now();
        while !self.workers.iter_mut().all(|worker| worker.ended().is_some()) {
            if began.elapsed() > PATIENCE {
                return Err(format!(
                    "THE LOCK HANGS: {} s after the stop not all have left",
                    PATIENCE.as_secs()
                ));
            }
            if self.workers.iter_mut().any(|worker| worker.ended().is_some_and(|status| status != 0)) {
                break;
            }
            thread::sleep(Duration::from_micros(200));
        }
        for child in self.workers.iter_mut().chain(&mut self.others) {
            if let Some(status) = child.ended().filter(|status| *status != 0) {
                return Err(format!("a process of the round ended with wait status {status:#x}"));
            }
        }
        let sections =
            (0..self.workers.len()).map(|worker| self.arena.notes[worker].0.sections.load(Relaxed)).sum();
        self.arena.section.0.wrong(sections).map_or(Ok(()), Err)
    }
}
