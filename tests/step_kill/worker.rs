//! A worker: a process that starts one trial after the other, and does nothing else. Each trial is a fresh child of it
//! and so finds the same memory as every other, to the last byte of the heap: its victim goes the same way.

use super::{
    arena::Arena,
    order::{Fate, Point},
    trial::{Trial, in_child, wait_for},
};
use std::{
    io::{self, PipeReader, PipeWriter, Read, Write, pipe},
    sync::atomic::Ordering::SeqCst,
};
use support::limit;

pub struct Worker {
    pub arena: &'static Arena,
    folder: tempfile::TempDir,
    pid: i32,
    orders: PipeWriter,
}

/// What a worker is made of before it is one.
struct Makings {
    arena: &'static Arena,
    folder: tempfile::TempDir,
    incoming: PipeReader,
    orders: PipeWriter,
}

impl Worker {
    /// One on each of `processors`. After each trial it writes its place in the row into `reports`.
    ///
    /// Nothing is allocated from the first one's start to the last one's: their heaps are the same, and so their
    /// victims go the same way.
    pub fn row(processors: &[usize], reports: &PipeWriter, play: fn(&Trial)) -> Vec<Self> {
        let make = |_: &usize| {
            // Where files are fastest, and where a mapping keeps a byte lock.
            let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
            let (incoming, orders) = pipe().unwrap();
            Makings { arena: Arena::new(), folder, incoming, orders }
        };
        let makings: Vec<Makings> = processors.iter().map(make).collect();
        let mut row = Vec::with_capacity(makings.len());
        for (name, (makings, processor)) in (0..=u8::MAX).zip(makings.into_iter().zip(processors)) {
            let Makings { arena, folder, incoming, orders } = makings;
            let pid = in_child(arena, || {
                stay_on(*processor);
                works(arena, &folder, incoming, name, reports, play);
            });
            row.push(Self { arena, folder, pid, orders });
        }
        row
    }

    /// Has it run a trial.
    pub fn start(&mut self, point: Point, instructions_to_note: u32, fate: Fate) {
        self.arena.clear();
        self.arena.order.write(point, instructions_to_note, fate);
        self.orders.write_all(&[1]).unwrap();
    }

    /// If it is no more: how it ended, and what it said. It stays as it is until it is dropped.
    pub fn has_ended(&self) -> Option<String> {
        // SAFETY: only asks, about a child of our own; all zeros is such a structure, and stays so while it lives.
        let (asked, about) = unsafe {
            let mut about: libc::siginfo_t = std::mem::zeroed();
            let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
            (libc::waitid(libc::P_PID, self.pid as u32, &mut about, how), about)
        };
        assert_eq!(asked, 0, "waitid: {}", io::Error::last_os_error());
        // SAFETY: `waitid` has written these.
        let (pid, status) = unsafe { (about.si_pid(), about.si_status()) };
        let said = || self.arena.result.complaint().unwrap_or_else(|| "it said nothing".into());
        (pid != 0).then(|| format!("a worker ended with status or signal {status}: {}", said()))
    }

    /// Cleans up after a trial that ended before it did so itself.
    pub fn sweep(&self) {
        for entry in std::fs::read_dir(self.folder.path()).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // SAFETY: a child of our own that has not been waited for; its own children die with it.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        if std::thread::panicking() {
            // No second panic, and no zombie matters any more.
            return;
        }
        limit::status_of(self.pid, 0);
    }
}

/// A worker's life. No allocation in it. It waits for an order as long as it takes: it dies with the crew.
fn works(
    arena: &'static Arena,
    folder: &tempfile::TempDir,
    mut orders: PipeReader,
    name: u8,
    mut reports: &PipeWriter,
    play: fn(&Trial),
) {
    while orders.read(&mut [0]).unwrap() > 0 {
        let status = wait_for(Trial::start(arena, folder.path(), play));
        arena.result.status.store(status as u32, SeqCst);
        reports.write_all(&[name]).unwrap();
    }
}

/// Keeps the worker and the victim that it steps on one processor: half the price of a step. Nothing depends on it.
fn stay_on(processor: usize) {
    // SAFETY: a set of processors is plain data, ours, and as long as we say.
    unsafe {
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut one);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &one);
    }
}
