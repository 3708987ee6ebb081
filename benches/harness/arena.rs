//! What the processes of one round share beside the lock: the phase, the protected words, and what each worker counted.

use crate::{shared::Zeroed, usage::Usage};
use hdrhistogram::Histogram;
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

pub const MAX_WORKERS: usize = 256;
/// As many different values as a histogram of [`waits`] can hold.
const MAX_VALUES: usize = 4096;

/// How the sentence about a violation begins.
pub const VIOLATED: &str = "MUTUAL EXCLUSION VIOLATED";

/// What the workers are to do now. The bench counts entries between two reads of the workers' counters, not by phase;
/// a phase says whether waits are timed, and when to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Phase {
    /// Every process attaches and waits for the start gun.
    Attach = 0,
    /// Enter and leave; no clock is read, since that costs more than some locks.
    Run,
    /// Enter and leave, and time each wait.
    RunTimed,
    /// Leave, and go.
    Stop,
}

#[repr(C)]
pub struct Arena {
    phase: Padded<AtomicU32>,
    ready: Padded<AtomicU32>,
    pub section: Padded<Section>,
    pub notes: [Padded<Note>; MAX_WORKERS],
    waits: [SharedHistogram; MAX_WORKERS],
}

// SAFETY: atomics only.
unsafe impl Zeroed for Arena {}

/// Two cache lines to itself, since processors fetch lines in pairs.
#[repr(C, align(128))]
pub struct Padded<T>(pub T);

/// What the lock protects. Each word is loaded, and stored one larger: not an atomic addition. Outside the section
/// the two agree with each other and, at the end, with the number of sections.
#[repr(C)]
pub struct Section {
    first: AtomicU64,
    second: AtomicU64,
    /// Worker + 1 that was in last.
    pub owner: AtomicU64,
    /// When it was about to unlock. For timing hand-overs, as the next word.
    pub released: AtomicU64,
    /// How many are in `lock` now.
    pub asking: AtomicU64,
    violations: AtomicU64,
}

impl Section {
    /// The first half of what a section does.
    #[inline]
    pub fn enter(&self) {
        let (first, second) = (self.first.load(Relaxed), self.second.load(Relaxed));
        if first != second {
            self.violations.fetch_add(1, Relaxed);
        }
        self.first.store(first + 1, Relaxed);
    }

    /// What one does that only reads, beside others that do.
    #[inline]
    pub fn look(&self) {
        if self.first.load(Relaxed) != self.second.load(Relaxed) {
            self.violations.fetch_add(1, Relaxed);
        }
    }

    /// The second half.
    #[inline]
    pub fn leave(&self) {
        self.second.store(self.second.load(Relaxed) + 1, Relaxed);
    }

    /// What is wrong, when no process is inside and so many sections were gone through.
    pub fn wrong(&self, sections: u64) -> Option<String> {
        let (first, second) = (self.first.load(Relaxed), self.second.load(Relaxed));
        let seen = self.violations.load(Relaxed);
        (first != sections || second != sections || seen != 0).then(|| {
            format!(
                "{VIOLATED}: {seen} entries found the two words disagreeing; \
                 they are {first} and {second} after {sections} sections"
            )
        })
    }
}

/// One worker's counters.
#[repr(C)]
pub struct Note {
    /// Lock + unlock pairs.
    pub entries: AtomicU64,
    /// Those that went through the protected words.
    pub sections: AtomicU64,
    /// Those before which another worker was in.
    pub hand_overs: AtomicU64,
    /// When it was done: 0 before.
    pub ended_at: AtomicU64,
    /// Of the time between the start gun and the end.
    sleeps: AtomicU64,
    preemptions: AtomicU64,
    cpu_ns: AtomicU64,
}

impl Note {
    pub fn put_usage(&self, usage: &Usage) {
        self.sleeps.store(usage.sleeps, Relaxed);
        self.preemptions.store(usage.preemptions, Relaxed);
        self.cpu_ns.store(usage.cpu_ns, Relaxed);
    }

    /// Nothing, before the worker has ended.
    pub fn usage(&self) -> Usage {
        Usage {
            sleeps: self.sleeps.load(Relaxed),
            preemptions: self.preemptions.load(Relaxed),
            cpu_ns: self.cpu_ns.load(Relaxed),
        }
    }
}

#[repr(C)]
struct SharedHistogram {
    length: AtomicU32,
    values: [(AtomicU64, AtomicU64); MAX_VALUES],
}

impl Arena {
    #[inline]
    pub fn phase(&self) -> Phase {
        match self.phase.0.load(Relaxed) {
            0 => Phase::Attach,
            1 => Phase::Run,
            2 => Phase::RunTimed,
            _ => Phase::Stop,
        }
    }

    pub fn set_phase(&self, phase: Phase) {
        self.phase.0.store(phase as u32, Relaxed);
    }

    pub fn say_ready(&self) {
        self.ready.0.fetch_add(1, Release);
    }

    pub fn ready(&self) -> u32 {
        self.ready.0.load(Acquire)
    }

    /// Hands a worker's waits to the bench, at its end.
    pub fn put_waits(&self, worker: usize, waits: &Histogram<u64>) {
        let shared = &self.waits[worker];
        let mut length = 0;
        for (place, value) in shared.values.iter().zip(waits.iter_recorded()) {
            place.0.store(value.value_iterated_to(), Relaxed);
            place.1.store(value.count_at_value(), Relaxed);
            length += 1;
        }
        shared.length.store(length, Release);
    }

    /// The waits of those of so many workers that have ended.
    pub fn take_waits(&self, workers: usize) -> Histogram<u64> {
        let mut all = waits();
        for shared in &self.waits[..workers] {
            let length = shared.length.load(Acquire) as usize;
            for (value, count) in &shared.values[..length] {
                all.saturating_record_n(value.load(Relaxed), count.load(Relaxed));
            }
        }
        all
    }
}

/// An empty histogram: 1 ns to 100 s, to one per cent.
pub fn waits() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 100_000_000_000, 2).expect("the bounds are right")
}
