//! What a worker does, for every contender alike. Generic over the lock, so that a call costs no dispatch.

use crate::{
    arena::{self, Arena, Phase},
    clock,
    lock::Lock,
    scenario::Shape,
    usage::Usage,
    work::Work,
};
use hdrhistogram::Histogram;
use std::{
    hint::{black_box, spin_loop},
    sync::atomic::Ordering::Relaxed,
    thread,
    time::Duration,
};

/// Pairs of lock and unlock between two looks at the phase, where a look would be seen in the result.
const BATCH: u64 = 100;
/// How long one waits for the others to do their part of a hand-over, at most.
const WAITS_FOR_OTHERS_NS: u64 = 2_000_000;
const LOOKS_BEFORE_A_YIELD: u32 = 100;
/// Among sleepers each worker sleeps so long after each section.
const SLEEP: Duration = Duration::from_micros(20);
/// In a crowd each worker sleeps so long after so many entries.
pub const CROWD_ENTRIES: u64 = 16;
pub const CROWD_SLEEP: Duration = Duration::from_micros(50);

/// One worker's task.
pub struct Task<'a> {
    pub arena: &'a Arena,
    pub worker: usize,
    pub processes: usize,
    pub shape: Shape,
    pub inside: Work,
    pub outside: Work,
}

impl Task<'_> {
    /// Attached: one entry to have a slot and warm pages, then the start gun, then the shape until the end.
    pub fn run<L: Lock>(&self, lock: &L) {
        let mut counts = Counts { task: self, entries: 0, sections: 0, hand_overs: 0, waits: arena::waits() };
        counts.turn(lock);
        lock.rest();
        self.arena.say_ready();
        while self.arena.phase() == Phase::Attach {
            // SAFETY: takes nothing.
            unsafe { libc::sched_yield() };
        }
        let before = Usage::of(libc::RUSAGE_THREAD);
        match self.shape {
            Shape::Alone => counts.alone(lock),
            Shape::Turns => counts.turns(lock),
            Shape::Relay => counts.relay(lock),
            Shape::HandOver => counts.hand_over(lock),
            Shape::Sleepers => counts.sleepers(lock),
            Shape::Crowd { share } => counts.crowd(lock, share),
        }
        let note = &self.arena.notes[self.worker].0;
        note.ended_at.store(clock::now(), Relaxed);
        note.put_usage(&Usage::of(libc::RUSAGE_THREAD).since(&before));
        lock.leave();
        self.arena.put_waits(self.worker, &counts.waits);
    }
}

struct Counts<'a> {
    task: &'a Task<'a>,
    entries: u64,
    sections: u64,
    hand_overs: u64,
    waits: Histogram<u64>,
}

impl Counts<'_> {
    fn alone<L: Lock>(&mut self, lock: &L) {
        while self.task.arena.phase() != Phase::Stop {
            for _ in 1..BATCH {
                let held = black_box(lock).lock();
                black_box(lock).unlock(held);
            }
            self.entries += BATCH - 1;
            self.turn(lock);
        }
    }

    fn turns<L: Lock>(&mut self, lock: &L) {
        loop {
            match self.task.arena.phase() {
                Phase::Stop => break,
                Phase::RunTimed => self.timed_turn(lock),
                Phase::Attach | Phase::Run => self.turn(lock),
            }
            self.task.outside.run();
        }
    }

    fn relay<L: Lock>(&mut self, lock: &L) {
        while self.task.arena.phase() != Phase::Stop {
            self.turn(lock);
        }
    }

    fn hand_over<L: Lock>(&mut self, lock: &L) {
        let section = &self.task.arena.section.0;
        let me = self.task.worker as u64 + 1;
        let all_others = self.task.processes as u64 - 1;
        while self.task.arena.phase() != Phase::Stop {
            section.asking.fetch_add(1, Relaxed);
            let asked = clock::now();
            let held = lock.lock();
            let entered = clock::now();
            section.asking.fetch_sub(1, Relaxed);
            self.record_hand_over(asked, entered);
            self.own();
            // The section also brings this cache line here, so that the last store before the unlock does not have
            // to wait for it.
            section.released.store(u64::MAX, Relaxed);
            self.until(|| section.asking.load(Relaxed) >= all_others);
            self.section();
            section.released.store(clock::now(), Relaxed);
            lock.unlock(held);
            self.note();
            // Without this, a lock that lets the same one in again would never hand over.
            self.until(|| section.owner.load(Relaxed) != me);
        }
    }

    fn sleepers<L: Lock>(&mut self, lock: &L) {
        // SAFETY: sets a number of this thread: a sleep is longer than asked for by 50 us otherwise.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        while self.task.arena.phase() != Phase::Stop {
            let asked = clock::now();
            let held = lock.lock();
            let entered = clock::now();
            self.record_hand_over(asked, entered);
            self.section();
            self.task.arena.section.0.released.store(clock::now(), Relaxed);
            lock.unlock(held);
            self.note();
            thread::sleep(SLEEP);
        }
    }

    /// Only if we waited already when the last owner unlocked, and only once all are at it.
    fn record_hand_over(&mut self, asked: u64, entered: u64) {
        let section = &self.task.arena.section.0;
        let (owner, released) = (section.owner.load(Relaxed), section.released.load(Relaxed));
        let was_another = owner != self.task.worker as u64 + 1;
        if was_another && asked < released && self.task.arena.phase() == Phase::RunTimed {
            self.waits.saturating_record(entered.saturating_sub(released));
        }
    }

    /// Waits for the others to do something, but not for ever: some may have stopped. Looks often, so that a section
    /// is not longer than it should be; and yields its core now and then, since a process that is waited for may need
    /// it.
    fn until(&self, done: impl Fn() -> bool) {
        let until = clock::now() + WAITS_FOR_OTHERS_NS;
        while clock::now() < until && self.task.arena.phase() != Phase::Stop {
            for _ in 0..LOOKS_BEFORE_A_YIELD {
                if done() {
                    return;
                }
                spin_loop();
            }
            // SAFETY: takes nothing.
            unsafe { libc::sched_yield() };
        }
    }

    fn crowd<L: Lock>(&mut self, lock: &L, share: u64) {
        for entry in 1..=share {
            if self.task.arena.phase() == Phase::Stop {
                break;
            }
            self.timed_turn(lock);
            if entry % CROWD_ENTRIES == 0 {
                thread::sleep(CROWD_SLEEP);
            }
        }
    }

    fn timed_turn<L: Lock>(&mut self, lock: &L) {
        let asked = clock::now();
        let held = lock.lock();
        self.waits.saturating_record(clock::now() - asked);
        self.section();
        lock.unlock(held);
        self.note();
    }

    #[inline]
    fn turn<L: Lock>(&mut self, lock: &L) {
        let held = lock.lock();
        self.section();
        lock.unlock(held);
        self.note();
    }

    #[inline]
    fn section(&mut self) {
        let section = &self.task.arena.section.0;
        self.own();
        section.enter();
        self.task.inside.run();
        section.leave();
        self.sections += 1;
    }

    /// Inside: writes down which worker is in, and whether that is a hand-over.
    #[inline]
    fn own(&mut self) {
        let owner = &self.task.arena.section.0.owner;
        let me = self.task.worker as u64 + 1;
        if owner.load(Relaxed) != me {
            owner.store(me, Relaxed);
            self.hand_overs += 1;
        }
    }

    #[inline]
    fn note(&mut self) {
        self.entries += 1;
        let note = &self.task.arena.notes[self.task.worker].0;
        note.entries.store(self.entries, Relaxed);
        note.sections.store(self.sections, Relaxed);
        note.hand_overs.store(self.hand_overs, Relaxed);
    }
}
