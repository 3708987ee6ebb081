//! What workers and killer share: the protected data, the oracle's words, and a note on each worker.

use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use support::forked::shared_with_children;

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Fault {
    /// Two in the critical section at once, or a dead owner without a notice.
    DoubleEntry,
    /// The two words disagree, and no owner-dead notice came.
    Torn,
    /// A fencing token that is not larger than the last.
    Token,
    /// A call failed that must not.
    Error,
    /// No worker came in for ten seconds, or for five where some are stopped for long.
    Hang,
    /// An owner-dead notice, though no worker had died whose death it could tell of.
    FalseNotice,
    /// When all workers were dead, something was not to be had any more; or an item was not consumed.
    Lost,
    /// An item was consumed twice.
    Twice,
    /// A wait ended, and what it waited for had not come.
    Spurious,
}

pub const FAULTS: [Fault; 9] = [
    Fault::DoubleEntry,
    Fault::Torn,
    Fault::Token,
    Fault::Error,
    Fault::Hang,
    Fault::FalseNotice,
    Fault::Lost,
    Fault::Twice,
    Fault::Spurious,
];
pub const MAX_WORKERS: usize = 16;
const LATENCIES: usize = 1 << 17;
const KILLS_NOTED: usize = 256;

#[repr(C)]
pub struct Arena {
    /// The protected data: outside the critical section they agree.
    pub a: AtomicU64,
    pub b: AtomicU64,
    /// The worker that is inside, plus 1.
    pub owner: AtomicU32,
    pub last_token: AtomicU64,
    pub progress: AtomicU64,
    pub told: AtomicU64,
    /// How many workers have died.
    pub deaths: AtomicU64,
    /// How many times a worker found that it had lost its place in the queue, or its turn on a ring.
    pub evicted: AtomicU64,
    pub faults: [AtomicU64; FAULTS.len()],
    pub last_error: AtomicU32,
    pub workers: [Note; MAX_WORKERS],
    kills_noted: AtomicU64,
    killed: [Killed; KILLS_NOTED],
    latency_count: AtomicU64,
    latencies: [AtomicU32; LATENCIES],
}

/// One worker, as it writes itself down.
#[repr(C, align(128))]
pub struct Note {
    /// The last [`turnlock::trace::Step`] it came to; 0 = outside.
    pub step: AtomicU32,
    /// The step at which it is to kill itself; 0 = none.
    pub armed: AtomicU32,
    /// How many times it may pass that step before.
    pub skip: AtomicU32,
    /// The step at which it is to stop itself; 0 = none.
    pub stops_at: AtomicU32,
    /// 1: it has, or is about to.
    pub stopped: AtomicU32,
    /// The [`super::claims::Phase`] that it is in; 0 = outside.
    pub phase: AtomicU32,
    /// The phase in which it is to kill itself; 0 = none.
    pub armed_phase: AtomicU32,
    /// How many named steps and other places in that phase it may pass before.
    pub phase_skip: AtomicU32,
    /// 1: it is about to be killed, or was.
    pub condemned: AtomicU32,
}

#[repr(C)]
struct Killed {
    pid: AtomicU32,
    at: AtomicU64,
}

impl Arena {
    /// In memory that forked children share; never unmapped.
    pub fn new() -> &'static Self {
        // SAFETY: it has only atomic integers.
        unsafe { shared_with_children() }
    }

    pub fn fault(&self, fault: Fault) {
        self.faults[fault as usize].fetch_add(1, Relaxed);
    }

    pub fn faults(&self) -> u64 {
        self.faults.iter().map(|count| count.load(Relaxed)).sum()
    }

    /// Called right before worker `me`, process `pid`, is killed.
    pub fn note_kill(&self, me: usize, pid: u32) {
        self.workers[me].condemned.store(1, SeqCst);
        let at = self.kills_noted.fetch_add(1, SeqCst) as usize % KILLS_NOTED;
        self.killed[at].at.store(monotonic_ns(), Relaxed);
        self.killed[at].pid.store(pid, Relaxed);
    }

    /// How many workers were killed, or are about to be.
    pub fn kills(&self) -> u64 {
        self.kills_noted.load(SeqCst)
    }

    /// The owner-dead notice of `pid` came to a waiter that had begun to wait at `began`.
    pub fn note_told(&self, pid: u32, began: u64) {
        self.told.fetch_add(1, Relaxed);
        let Some(killed) = self.killed.iter().find(|killed| killed.pid.load(Relaxed) == pid) else { return };
        // If the holder that was told dies before it has repaired, the next holder is told of that holder's death
        // rather than of this one.
        killed.pid.store(0, Relaxed);
        let now = monotonic_ns();
        let waited = now.saturating_sub(killed.at.load(Relaxed).max(began));
        let at = self.latency_count.fetch_add(1, Relaxed) as usize;
        if let Some(place) = self.latencies.get(at) {
            place.store(waited.min(u64::from(u32::MAX)) as u32, Relaxed);
        }
    }

    /// From death (or from beginning to wait, if later) to the next holder's owner-dead notice, in nanoseconds.
    pub fn latencies(&self) -> impl Iterator<Item = u64> + '_ {
        let count = (self.latency_count.load(Relaxed) as usize).min(LATENCIES);
        self.latencies[..count].iter().map(|latency| u64::from(latency.load(Relaxed)))
    }
}

pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a timespec of our own.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
