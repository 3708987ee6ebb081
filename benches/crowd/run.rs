//! One run: one contender and one crowd, which is started, watched, and ended within its time limit.

use harness::{
    arena::{Arena, Phase},
    clock,
    contender::Kind,
    place::Place,
    process::Child,
    scenario::Shape,
    shared::Shared,
    statistics::{Percentiles, jain, spread},
    usage::Usage,
    work::Work,
    worker::Task,
};
use std::{
    io,
    sync::atomic::Ordering::Relaxed,
    thread,
    time::{Duration, Instant},
};

/// What every section does beside its two words, in processor time.
pub const SECTION: Duration = Duration::from_nanos(500);
/// Of Jain's index.
pub const WINDOW: Duration = Duration::from_secs(1);
/// Processes run for so long before they are counted.
const WARM_UP: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_millis(1);
/// Until every process is attached and has been in once.
const LONGEST_START: Duration = Duration::from_secs(60);
/// Until every process has left after the stop.
pub const LONGEST_END: Duration = Duration::from_secs(20);
/// A file has room for 128 participants by default. Larger crowds have a file that is made for so many.
const LARGE: (usize, u32) = (100, 512);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Members {
    /// Of one process, with so many entries to do together.
    Threads,
    /// For a fixed time.
    Processes,
}

/// A crowd: one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowd {
    pub members: Members,
    pub count: usize,
}

impl Crowd {
    pub fn title(&self) -> String {
        let members = match self.members {
            Members::Threads => "threads of one process",
            Members::Processes => "processes",
        };
        format!("{} {members}", self.count)
    }
}

/// How much each run is.
pub struct Size {
    /// Of all threads together.
    pub entries: u64,
    /// For processes.
    pub windows: u32,
    /// A run that takes longer is ended, and said to be not done.
    pub limit: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Done,
    /// The time was over before the work was done.
    NotDone,
    /// [`LONGEST_END`] after the stop not every process had left: killed.
    Hangs,
}

pub struct Outcome {
    pub end: End,
    pub entries: u64,
    pub hand_overs: u64,
    /// For that many entries.
    pub seconds: f64,
    pub usage: Usage,
    /// The entries that usage belongs to: those of processes before and after the windows too.
    pub used_for: u64,
    /// The worst window. NaN for threads, each of which has the same to do.
    pub jain: f64,
    pub waits: Percentiles,
}

impl Outcome {
    /// Time for each entry, in nanoseconds: infinite, if there was none.
    pub fn pace(&self) -> f64 {
        self.seconds * 1e9 / self.entries as f64
    }

    pub fn switches(&self) -> f64 {
        self.usage.switches() as f64 / self.used_for as f64
    }

    pub fn cpu_ns(&self) -> f64 {
        self.usage.cpu_ns as f64 / self.used_for as f64
    }
}

/// # Errors
/// A sentence, if exclusion was violated or a process failed: the numbers are worth nothing then.
pub fn run(kind: &dyn Kind, crowd: Crowd, size: &Size) -> Result<Outcome, String> {
    let machines = (crowd.count > LARGE.0).then_some(LARGE.1);
    let place = Place::new(machines).map_err(|error| format!("no place for a lock: {error}"))?;
    kind.prepare(&place);
    let result = in_place(kind, crowd, size, &place);
    kind.clear(&place);
    result
}

fn in_place(kind: &dyn Kind, crowd: Crowd, size: &Size, place: &Place) -> Result<Outcome, String> {
    let arena = Shared::<Arena>::new();
    let mut running = Running { crowd, arena: &arena, children: Vec::new() };
    running.start(kind, size, place).map_err(|error| format!("fork: {error}"))?;
    if !running.until(LONGEST_START, |running| running.is_ready())? {
        return Err(format!("not all are ready after {LONGEST_START:?}"));
    }
    let began = clock::now();
    arena.set_phase(Phase::RunTimed);
    let (first, last, all_in_time) = match crowd.members {
        Members::Threads => {
            let first = running.sample_at(began);
            let done = running.until(size.limit, |running| running.is_over())?;
            (first, None, done)
        }
        Members::Processes => {
            thread::sleep(WARM_UP);
            let samples: Vec<Sample> = running.watch(size.windows);
            let jains = samples.windows(2).map(|pair| pair[1].jain_since(&pair[0]));
            let worst = spread(jains).0;
            let mut samples = samples.into_iter();
            let first = samples.next().expect("there is one before the first window");
            (first, samples.last().map(|last| (last, worst)), true)
        }
    };
    arena.set_phase(Phase::Stop);
    let left = running.until(LONGEST_END, |running| running.is_over())?;
    let end = match (left, all_in_time) {
        (false, _) => End::Hangs,
        (true, false) => End::NotDone,
        (true, true) => End::Done,
    };
    if left {
        running.check()?;
    }
    let (last, jain) = last.unwrap_or_else(|| (running.sample_at(running.ended_at()), f64::NAN));
    Ok(Outcome {
        end,
        entries: last.entries() - first.entries(),
        hand_overs: last.hand_overs - first.hand_overs,
        seconds: (last.at - first.at) as f64 * 1e-9,
        usage: running.notes().fold(Usage::default(), |sum, note| sum.and(&note.usage())),
        // Each was in once before the start gun.
        used_for: running.sample_at(0).entries() - crowd.count as u64,
        jain,
        waits: Percentiles::of(&arena.take_waits(crowd.count)),
    })
}

/// The counters at one moment.
struct Sample {
    at: u64,
    entries: Vec<u64>,
    hand_overs: u64,
}

impl Sample {
    fn entries(&self) -> u64 {
        self.entries.iter().sum()
    }

    fn jain_since(&self, before: &Self) -> f64 {
        let shares = self.entries.iter().zip(&before.entries).map(|(now, then)| (now - then) as f64);
        jain(&shares.collect::<Vec<_>>())
    }
}

/// A run that goes on. Dropped, it is over: the children are killed.
struct Running<'a> {
    crowd: Crowd,
    arena: &'a Arena,
    children: Vec<Child>,
}

impl Running<'_> {
    fn start(&mut self, kind: &dyn Kind, size: &Size, place: &Place) -> io::Result<()> {
        let (count, arena) = (self.crowd.count, self.arena);
        let task = |worker: usize| Task {
            arena,
            worker,
            processes: count,
            shape: Shape::Crowd { share: share(self.crowd, worker, size.entries) },
            inside: Work(SECTION.as_nanos() as u64),
            outside: Work(0),
        };
        match self.crowd.members {
            Members::Threads => self.children.push(Child::fork(|| {
                thread::scope(|scope| {
                    for worker in 0..count {
                        scope.spawn(move || kind.work(place, &task(worker)));
                    }
                });
            })?),
            Members::Processes => {
                for worker in 0..count {
                    self.children.push(Child::fork(|| kind.work(place, &task(worker)))?);
                }
            }
        }
        Ok(())
    }

    /// Waits until something is so, for so long at most. Whether it is.
    fn until(&mut self, limit: Duration, is_so: impl Fn(&mut Self) -> bool) -> Result<bool, String> {
        let began = Instant::now();
        while !is_so(self) {
            if let Some(status) = self.children.iter_mut().find_map(|child| child.ended().filter(|s| *s != 0))
            {
                return Err(format!("a process of the run ended with wait status {status:#x}"));
            }
            if began.elapsed() > limit {
                return Ok(false);
            }
            thread::sleep(LOOK);
        }
        Ok(true)
    }

    fn is_ready(&mut self) -> bool {
        self.arena.ready() as usize == self.crowd.count
    }

    fn is_over(&mut self) -> bool {
        self.children.iter_mut().all(|child| child.ended() == Some(0))
    }

    fn notes(&self) -> impl Iterator<Item = &harness::arena::Note> {
        self.arena.notes[..self.crowd.count].iter().map(|note| &note.0)
    }

    fn sample_at(&self, at: u64) -> Sample {
        Sample {
            at,
            entries: self.notes().map(|note| note.entries.load(Relaxed)).collect(),
            hand_overs: self.notes().map(|note| note.hand_overs.load(Relaxed)).sum(),
        }
    }

    /// Reads the counters before the first window and after each.
    fn watch(&self, windows: u32) -> Vec<Sample> {
        let began = Instant::now();
        let at = |window| {
            thread::sleep((WINDOW * window).saturating_sub(began.elapsed()));
            self.sample_at(clock::now())
        };
        (0..=windows).map(at).collect()
    }

    /// When the last one was done; now, if one is not.
    fn ended_at(&self) -> u64 {
        let ends = self.notes().map(|note| note.ended_at.load(Relaxed));
        ends.map(|end| if end == 0 { clock::now() } else { end }).max().unwrap_or(0)
    }

    fn check(&self) -> Result<(), String> {
        let sections = self.notes().map(|note| note.sections.load(Relaxed)).sum();
        self.arena.section.0.wrong(sections).map_or(Ok(()), Err)
    }
}

/// One worker's entries.
fn share(crowd: Crowd, worker: usize, entries: u64) -> u64 {
    match crowd.members {
        Members::Processes => u64::MAX,
        Members::Threads => {
            let count = crowd.count as u64;
            entries / count + u64::from((worker as u64) < entries % count)
        }
    }
}
