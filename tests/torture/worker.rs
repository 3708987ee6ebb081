//! A worker: takes the lock in every way there is, checks what it finds, and dies where it is told to.

use super::arena::{Arena, Fault, monotonic_ns};
use std::{
    sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::Relaxed},
    time::Duration,
};
use support::Dice;
use support::either::Lock;
use turnlock::{
    Acquired, Error, LockFile, PreviousOwner,
    trace::{self, Step},
};

static ARENA: AtomicPtr<Arena> = AtomicPtr::new(std::ptr::null_mut());
static ME: AtomicUsize = AtomicUsize::new(0);
static ON_RING: AtomicBool = AtomicBool::new(false);
/// Whether the last it began was a doorway, rather than the wait for its turn on a ring.
static QUEUED: AtomicBool = AtomicBool::new(false);

/// What a worker works with.
pub struct Post<'a> {
    pub file: &'a LockFile,
    pub lock: &'a Lock,
    /// Whether it takes part as a member.
    pub stands: bool,
}

/// What a forked child does until it is killed.
pub fn work(arena: &'static Arena, me: usize, post: &Post, mut dice: Dice) -> ! {
    begins(arena, me, matches!(post.lock, Lock::Ring(_)));
    let mut bursting = 0;
    loop {
        if let Err(error) = one_turn(arena, me, post, &mut dice) {
            arena.last_error.store(error.code() as u32, Relaxed);
            arena.fault(Fault::Error);
        }
        arena.workers[me].step.store(0, Relaxed);
        // Sometimes many in a row: that is when the lock becomes biased.
        if bursting > 0 {
            bursting -= 1;
            continue;
        }
        match dice.roll(8) {
            0 => std::thread::yield_now(),
            1..3 => pause(dice.roll(2_000)),
            3 => bursting = dice.roll(200),
            _ => {}
        }
    }
}

/// A worker's first act: its steps are watched from here on.
pub fn begins(arena: &'static Arena, me: usize, on_ring: bool) {
    ARENA.store(std::ptr::from_ref(arena).cast_mut(), Relaxed);
    ME.store(me, Relaxed);
    ON_RING.store(on_ring, Relaxed);
    trace::watch(watch);
}

/// Dies here, if it is in the phase in which it is to die, and has passed enough places in that.
pub fn beat(arena: &Arena, me: usize) {
    let note = &arena.workers[me];
    let armed = note.armed_phase.load(Relaxed);
    if armed != 0 && armed == note.phase.load(Relaxed) {
        match note.phase_skip.load(Relaxed) {
            0 => dies(arena, me),
            skip => note.phase_skip.store(skip - 1, Relaxed),
        }
    }
}

fn dies(arena: &Arena, me: usize) {
    arena.note_kill(me, std::process::id());
    // SAFETY: kills this process.
    unsafe { libc::kill(std::process::id() as i32, libc::SIGKILL) };
}

/// Called at every named step.
fn watch(step: Step) {
    // SAFETY: set to the leaked arena before anything is watched.
    let arena = unsafe { &*ARENA.load(Relaxed) };
    let me = ME.load(Relaxed);
    let note = &arena.workers[me];
    note.step.store(step as u32, Relaxed);
    match step {
        Step::Doorway => QUEUED.store(true, Relaxed),
        Step::Reconfigure | Step::Rotate => QUEUED.store(false, Relaxed),
        _ => {}
    }
    // On a ring, a peer passed over this worker's turn; an eviction from the queue for the reconfiguration lock does not count.
    if step == Step::Evicted && !(ON_RING.load(Relaxed) && QUEUED.load(Relaxed)) {
        arena.evicted.fetch_add(1, Relaxed);
    }
    if note.stops_at.load(Relaxed) == step as u32 {
        note.stops_at.store(0, Relaxed);
        note.stopped.store(1, Relaxed);
        // SAFETY: stops this process.
        unsafe { libc::raise(libc::SIGSTOP) };
    }
    if note.armed.load(Relaxed) == step as u32 {
        match note.skip.load(Relaxed) {
            0 => dies(arena, me),
            skip => note.skip.store(skip - 1, Relaxed),
        }
    }
    beat(arena, me);
}

fn one_turn(arena: &Arena, me: usize, post: &Post, dice: &mut Dice) -> turnlock::Result<()> {
    let Post { file, lock, stands } = *post;
    let gives_up = arena.workers[me].armed.load(Relaxed) == Step::Withdraw as u32;
    // A time limit does not make a ring member give up.
    if stands && (gives_up || dice.in_hundred(4)) {
        lock.leave()?;
    }
    let began = monotonic_ns();
    match dice.roll(20) {
        0 => {
            if stands {
                // The ring would wait for this thread, which is to wait as another participant now.
                lock.leave()?;
            }
            let participant = file.participant()?;
            let mut guard = lock.lock_as(&participant)?;
            let (acquired, dead) = (guard.acquired(), guard.previous_owner());
            section(arena, me, acquired, dead, began, dice, || guard.mark_consistent());
            guard.unlock()
        }
        way => {
            let taken = match way {
                1 => lock.try_lock(),
                // A worker that is to die while giving up has to give up first.
                _ if gives_up && !stands => lock.lock_for(Duration::ZERO),
                2..4 => lock.lock_for(Duration::from_nanos(dice.roll(20_000))),
                _ => lock.lock(),
            };
            let mut guard = match taken {
                Err(Error::WouldBlock(_) | Error::TimedOut(_)) => return Ok(()),
                taken => taken?,
            };
            let (acquired, dead) = (guard.acquired(), guard.previous_owner());
            section(arena, me, acquired, dead, began, dice, || guard.mark_consistent());
            guard.unlock()
        }
    }
}

fn section(
    arena: &Arena,
    me: usize,
    acquired: Acquired,
    dead: Option<PreviousOwner>,
    began: u64,
    dice: &mut Dice,
    mark_consistent: impl FnOnce() -> turnlock::Result<()>,
) {
    let owner = me as u32 + 1;
    if let Some(dead) = dead {
        arena.note_told(dead.pid, began);
        arena.b.store(arena.a.load(Relaxed), Relaxed);
        arena.owner.store(0, Relaxed);
        if mark_consistent().is_err() {
            arena.fault(Fault::Error);
        }
    }
    if arena.owner.swap(owner, Relaxed) != 0 {
        arena.fault(Fault::DoubleEntry);
    }
    let (a, b) = (arena.a.load(Relaxed), arena.b.load(Relaxed));
    if a != b {
        arena.fault(Fault::Torn);
    }
    if arena.last_token.swap(acquired.fencing_token, Relaxed) >= acquired.fencing_token {
        arena.fault(Fault::Token);
    }
    arena.a.store(a + 1, Relaxed);
    if dice.in_hundred(20) {
        pause(dice.roll(400));
    }
    if dice.in_hundred(2) {
        std::thread::yield_now();
    }
    arena.b.store(a + 1, Relaxed);
    if arena.owner.swap(0, Relaxed) != owner {
        arena.fault(Fault::DoubleEntry);
    }
    arena.progress.fetch_add(1, Relaxed);
}

fn pause(times: u64) {
    for _ in 0..times {
        std::hint::spin_loop();
    }
}
