//! A process that enters and leaves, as fast as it can, as long as it is told to.

use super::contender::{Contender, Entry, Worker, all_and_none};
use hdrhistogram::Histogram;
use std::{
    hint::black_box,
    os::unix::process::parent_id,
    path::Path,
    time::{Duration, Instant},
};
use turnlock::{
    peers::SharedWords,
    sync::Ordering::{Acquire, Relaxed},
};

/// The words by which a round's processes talk. Each on a cache line pair of its own.
pub mod words {
    /// What is to be done: a [`super::Phase`].
    pub const PHASE: usize = 0;
    /// How many workers have been in once.
    pub const READY: usize = 16;
    /// Two plain counters that are written inside, and must agree.
    pub const ONE: usize = 32;
    pub const OTHER: usize = 33;
    /// How often they did not.
    pub const VIOLATIONS: usize = 48;
}

/// What workers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Phase {
    Wait = 0,
    /// Entries are counted.
    Count = 1,
    /// And each wait is timed, which takes longer than some locks.
    Time = 2,
    End = 3,
    /// Entries are counted, with nothing inside and nothing between two: for a process alone.
    CountBare = 4,
}

/// Waits of up to an hour, in nanoseconds, by two digits.
pub fn empty() -> Result<Histogram<u64>, String> {
    Histogram::new_with_bounds(1, 3_600_000_000_000, 2).map_err(|error| error.to_string())
}

/// What a worker has done, told on its standard output.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Done {
    /// Entries while they were counted, bare ones too.
    pub counted: u64,
    /// For so long.
    pub counted_seconds: f64,
    /// Entries in all but the bare ones.
    pub all: u64,
    /// How long it waited, in nanoseconds, and how often.
    pub waits: Vec<(u64, u64)>,
}

/// Takes part: `NAME FOLDER STEPS PARENT`, where STEPS says how much is done between two entries, and PARENT who started it.
pub fn take_part(arguments: &[String]) -> Result<(), String> {
    let [name, folder, steps, parent] = arguments else { return Err("four words are expected".into()) };
    let contender = all_and_none().find(|one| one.name == *name).ok_or("no contender of that name")?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("{text:?} is not a number"));
    let (steps, parent) = (number(steps)?, number(parent)?);
    let folder = Path::new(folder);
    let shared = SharedWords::open(&folder.join("words")).map_err(|error| error.to_string())?;
    contender.attach(folder, Work { shared, steps, contender, parent })
}

struct Work {
    shared: SharedWords,
    steps: u64,
    contender: Contender,
    /// Who started it: without it, it ends.
    parent: u64,
}

impl Work {
    /// Returns what is to be done, after so many entries.
    #[inline]
    fn phase(&self, entries: u64) -> u64 {
        if entries.is_multiple_of(BETWEEN_PARENTS) && u64::from(parent_id()) != self.parent {
            return Phase::End as u64;
        }
        self.shared.word(words::PHASE).load(Relaxed)
    }

    /// What is done inside.
    #[inline]
    fn section(&self) {
        let (one, other) = (self.shared.word(words::ONE), self.shared.word(words::OTHER));
        let (seen, also) = (one.load(Relaxed), other.load(Relaxed));
        if seen != also {
            self.shared.word(words::VIOLATIONS).fetch_add(1, Relaxed);
        }
        if !self.contender.is_shared() {
            one.store(seen + 1, Relaxed);
            other.store(also + 1, Relaxed);
        }
    }

    /// What is done outside.
    #[inline]
    fn pause(&self) {
        for step in 0..self.steps {
            black_box(step);
        }
    }
}

/// After so many entries one looks whether the parent is still there.
const BETWEEN_PARENTS: u64 = 1 << 14;
/// After so many entries one looks what is to be done, where nothing else is.
const BETWEEN_PHASES: u64 = 64;
/// How often one looks whether it begins.
const BETWEEN_LOOKS: Duration = Duration::from_micros(50);

impl Worker for Work {
    fn work<E: Entry>(self, lock: &E) -> Result<(), String> {
        let mut done = Done::default();
        // Whatever happens once happens before it counts.
        for _ in 0..100 {
            lock.enter(|| self.section())?;
            done.all += 1;
        }
        self.shared.word(words::READY).fetch_add(1, Relaxed);
        // Acquire. Partner: the release store of the phase in `round`.
        while self.shared.word(words::PHASE).load(Acquire) == Phase::Wait as u64
            && u64::from(parent_id()) == self.parent
        {
            std::thread::sleep(BETWEEN_LOOKS);
        }
        let (began, mut bare) = (Instant::now(), 0);
        while self.phase(bare) == Phase::CountBare as u64 {
            for _ in 0..BETWEEN_PHASES {
                lock.enter(|| ())?;
            }
            bare += BETWEEN_PHASES;
        }
        while self.phase(done.counted) == Phase::Count as u64 {
            lock.enter(|| self.section())?;
            done.counted += 1;
            self.pause();
        }
        done.counted_seconds = began.elapsed().as_secs_f64();
        let mut waits = empty()?;
        let mut timed = 0;
        while self.phase(timed) == Phase::Time as u64 {
            let began = Instant::now();
            let waited = lock.enter(|| {
                let waited = began.elapsed();
                self.section();
                waited
            })?;
            waits.saturating_record(u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX).max(1));
            timed += 1;
            self.pause();
        }
        done.all += done.counted + timed;
        done.counted += bare;
        done.waits = waits
            .iter_recorded()
            .map(|one| (one.value_iterated_to(), one.count_since_last_iteration()))
            .collect();
        println!("{}", serde_json::to_string(&done).map_err(|error| error.to_string())?);
        Ok(())
    }
}
