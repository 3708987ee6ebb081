//! A victim whose wait closed a circle of two, from its first search for one on.

use crate::{
    arena::Arena,
    oracle::{LOCK, STRICT, Stage, enter_without_limit, options, the_living_go_on},
    tracee::{begin, end},
    trial::Trial,
};
use std::{
    io::{Read, Write, pipe},
    sync::atomic::{
        AtomicBool,
        Ordering::{Relaxed, SeqCst},
        compiler_fence,
    },
    thread::{self, sleep},
    time::Duration,
};
use support::format::{Format, peek_u64};
use turnlock::{Error, LockFile};

const PARTICIPANTS: u32 = 4;
const LOCKS: u32 = 2;
/// What the other one has. The victim has the lock that everything is about.
const OTHER_LOCK: &str = "b";
/// The other one's: the trial's own is before it.
const OTHER_SLOT: u64 = 1;
/// Where a slot's record says that it waits.
const WAIT_WORD: u64 = 56;

/// Each has a lock and waits for the other's, without a limit. The victim alone may be told, and begins where it asks its interrupt, which
/// is 20 ms after its wait began, before the first search that finds a circle. The other one's wait begins then: it is in the file before
/// the victim goes on.
pub fn is_told(trial: &Trial) {
    let path = trial.lock_file();
    {
        let file = options().participants(PARTICIPANTS).locks(LOCKS).open(&path).unwrap();
        STRICT.open(&file, OTHER_LOCK).unwrap();
    }
    let stage = Stage::with(trial, PARTICIPANTS, STRICT);

    let (mut at_work, has_it) = pipe().unwrap();
    let (goes_on, mut go) = pipe().unwrap();
    let other = trial.bystander(|| {
        // In a thread, which gives its slot back at its end.
        thread::scope(|threads| {
            threads.spawn(|| waits_for_the_victim(trial, has_it, goes_on));
        });
    });
    at_work.read_exact(&mut [0]).unwrap();

    let mut victim = trial.victim(|| closes_the_circle(trial));
    go.write_all(&[0]).unwrap();
    let format = Format { participants: PARTICIPANTS.into(), locks: LOCKS.into() };
    let waits = || peek_u64(&path, format.slot(OTHER_SLOT) + WAIT_WORD) as u16 != 0;
    while !waits() {
        sleep(Duration::from_micros(100));
    }
    victim.go(|_| {});
    victim.kill();
    other.join();
    the_living_go_on(trial, stage);
}

/// It is not told of a circle: it gets the lock because the victim died, or has released it.
fn waits_for_the_victim(trial: &Trial, mut has_it: impl Write, mut goes_on: impl Read) {
    let file = options().deadlock_errors(false).open(trial.lock_file()).unwrap();
    let [lock, own] = [LOCK, OTHER_LOCK].map(|name| STRICT.open(&file, name).unwrap());
    let held = own.lock().unwrap();
    has_it.write_all(&[0]).unwrap();
    goes_on.read_exact(&mut [0]).unwrap();
    enter_without_limit(trial, &lock);
    held.unlock().unwrap();
}

fn closes_the_circle(trial: &Trial) -> ! {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    let mut interrupted = LockFile::options();
    let file = interrupted
        .interrupted_by(|| {
            if !BEGUN.swap(true, Relaxed) {
                begin();
            }
            false
        })
        .open(trial.lock_file())
        .unwrap();
    let [lock, other] = [LOCK, OTHER_LOCK].map(|name| STRICT.open(&file, name).unwrap());
    let arena: &Arena = trial.arena;
    arena.is_busy(true);
    let held = lock.lock().unwrap();
    // A section that is as long as the wait.
    arena.inside.store(1, Relaxed);
    compiler_fence(SeqCst);
    arena.token.fetch_max(held.fencing_token(), Relaxed);
    arena.a.store(arena.a.load(Relaxed) + 1, Relaxed);
    let told = other.lock().err();
    assert!(matches!(told, Some(Error::CircularWait(_))), "the victim was to be told: {told:?}");
    arena.b.store(arena.b.load(Relaxed) + 1, Relaxed);
    compiler_fence(SeqCst);
    arena.inside.store(0, Relaxed);
    compiler_fence(SeqCst);
    held.unlock().unwrap();
    arena.is_busy(false);
    end(arena)
}
