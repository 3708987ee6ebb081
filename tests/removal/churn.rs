//! Locks that are opened, locked, removed and created anew, of both kinds and in a region or two, by several threads of
//! several processes at once; some of which, while they only remove and create, are killed.
//!
//! The oracle: for each *name* two plain words that agree whenever no participant is inside, whose section it is, and the
//! last fencing token. It knows nothing of removals: the holder of a lock by a name has it alone.

use std::{
    path::Path,
    sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};
use support::{
    Dice, NoHang, Place,
    actor::{Actor, hear, say},
    either::{Kind, Lock},
    join, limit,
    shared::{Plain, Shareable, Shared},
};
use turnlock::{Error, LockFile, RingAlgorithm};

pub const NAMES: [&str; 3] = ["a", "b", "c"];
const THREADS: u64 = 2;

#[repr(C)]
struct Painted {
    owner: AtomicU64,
    one: Plain,
    two: Plain,
    last_token: Plain,
}

#[repr(C)]
pub struct Arena {
    stop: AtomicU32,
    names: [Painted; NAMES.len()],
    entries: AtomicU64,
    stale: AtomicU64,
    removals: AtomicU64,
    refusals: AtomicU64,
    pub failures: AtomicU64,
}

// SAFETY: atomics and plain words.
unsafe impl Shareable for Arena {}

impl Arena {
    fn has_shown_enough(&self) -> bool {
        let shown = [(&self.entries, 100), (&self.removals, 20), (&self.stale, 20)];
        shown.iter().all(|(count, enough)| count.load(SeqCst) > *enough)
    }

    fn fail(&self, what: &str) {
        if self.failures.fetch_add(1, SeqCst) < 5 {
            eprintln!("{what}");
        }
    }

    /// Inside, by a name: no other participant is.
    fn section(&self, name: usize, me: u64, token: u64, died: bool) {
        self.section_while(name, me, token, died, || ());
    }

    /// Likewise; `meanwhile` happens while it is inside.
    pub fn section_while<R>(
        &self,
        name: usize,
        me: u64,
        token: u64,
        died: bool,
        meanwhile: impl FnOnce() -> R,
    ) -> R {
        let painted = &self.names[name];
        let before = painted.owner.swap(me, SeqCst);
        let (one, two) = (painted.one.get(), painted.two.get());
        painted.one.set(one + 1);
        let happened = meanwhile();
        if before != 0 || one != two {
            self.fail(&format!("{me} is inside {:?} beside {before} ({one}, {two})", NAMES[name]));
        }
        if token <= painted.last_token.get() {
            self.fail(&format!("token {token} of {:?} after {}", NAMES[name], painted.last_token.get()));
        }
        if died {
            self.fail(&format!("told of a death in {:?}, where no holder died", NAMES[name]));
        }
        painted.last_token.set(token);
        painted.two.set(one + 1);
        painted.owner.store(0, SeqCst);
        self.entries.fetch_add(1, SeqCst);
        happened
    }

    fn remove(&self, file: &LockFile, name: usize) {
        match file.remove_lock(NAMES[name]) {
            Ok(()) => drop(self.removals.fetch_add(1, SeqCst)),
            Err(Error::InUse { .. } | Error::NotFound { .. }) => drop(self.refusals.fetch_add(1, SeqCst)),
            Err(error) => self.fail(&format!("removing: {error}")),
        }
    }
}

/// The lock of this name: as it is, or as the dice say if it is created now. `None`: the directory is full.
fn open(arena: &Arena, file: &LockFile, name: usize, dice: &mut Dice) -> Option<Lock> {
    let kinds = [
        Kind::Mutex { patience: Duration::from_millis(1) },
        Kind::Ring(RingAlgorithm::KState),
        Kind::Ring(RingAlgorithm::Raynal),
    ];
    loop {
        match kinds[dice.roll(3) as usize].open(file, NAMES[name]) {
            Ok(lock) => return Some(lock),
            Err(Error::Kind { .. }) => {}
            Err(Error::LocksFull { .. }) => return None,
            Err(error) => {
                arena.fail(&format!("opening: {error}"));
                return None;
            }
        }
    }
}

fn churn(arena: &Arena, file: &LockFile, me: u64) {
    let mut dice = Dice(me);
    let mut open_ones: Vec<(usize, Lock)> = Vec::new();
    while arena.stop.load(SeqCst) == 0 {
        if open_ones.len() < 6 || dice.roll(8) == 0 {
            let name = dice.roll(NAMES.len() as u64) as usize;
            open_ones.extend(open(arena, file, name, &mut dice).map(|lock| (name, lock)));
        }
        if open_ones.is_empty() {
            arena.remove(file, dice.roll(NAMES.len() as u64) as usize);
            continue;
        }
        let at = dice.roll(open_ones.len() as u64) as usize;
        let (name, lock) = &open_ones[at];
        // Often enough for the bias, at times.
        for _ in 0..1 + dice.roll(40) {
            match lock.lock_for(limit::of_processes()) {
                Ok(guard) => {
                    arena.section(*name, me, guard.fencing_token(), guard.acquired().previous_owner_died);
                    if let Err(error) = guard.unlock() {
                        arena.fail(&format!("unlocking: {error}"));
                    }
                }
                Err(Error::NotFound { .. }) => {
                    arena.stale.fetch_add(1, SeqCst);
                    break;
                }
                Err(error) => {
                    arena.fail(&format!("locking: {error}"));
                    break;
                }
            }
        }
        if dice.roll(3) == 0 {
            arena.remove(file, dice.roll(NAMES.len() as u64) as usize);
        }
        // Stale ones are kept for a while.
        if open_ones.len() > 8 {
            open_ones.swap_remove(dice.roll(8) as usize);
        }
    }
}

/// Words: the lock file, the arena, a seed.
pub fn churns(words: &[String]) {
    let arena = Shared::<Arena>::open(Path::new(&words[1]));
    let file = LockFile::open(&words[0]).unwrap();
    let seed: u64 = words[2].parse().unwrap();
    thread::scope(|threads| {
        for thread in 0..THREADS {
            let (arena, file) = (&arena, &file);
            threads.spawn(move || churn(arena, file, seed * THREADS + thread + 1));
        }
    });
    say("done");
    hear();
}

/// Only removes and creates, and takes no lock: to be killed anywhere. Words as [`churns`].
pub fn removes(words: &[String]) {
    let arena = Shared::<Arena>::open(Path::new(&words[1]));
    let file = LockFile::open(&words[0]).unwrap();
    let mut dice = Dice(words[2].parse().unwrap());
    say("begins");
    loop {
        arena.remove(&file, dice.roll(NAMES.len() as u64) as usize);
        drop(open(&arena, &file, dice.roll(NAMES.len() as u64) as usize, &mut dice));
    }
}

/// Returns how often a participant was inside beside another, or something else went wrong.
fn play(locks: u32, kills: bool) -> u64 {
    let _no_hang = NoHang::for_seconds(200);
    let place = Place::new();
    let (path, arena_at) = (place.lock_file(), place.at("arena"));
    let file = LockFile::options().participants(16).locks(locks).open(&path).unwrap();
    let arena = Shared::<Arena>::open(&arena_at);
    let start = |role, seed: u64| {
        let words = [path.to_str().unwrap(), arena_at.to_str().unwrap(), &seed.to_string()];
        Actor::start(role, &words)
    };
    let mut actors = [1, 2].map(|seed| start("churns", seed));
    let (began, mut killed) = (Instant::now(), 0);
    thread::scope(|threads| {
        let here = threads.spawn(|| churn(&arena, &file, 100));
        let mut dice = Dice(7);
        // On a slow machine longer: until enough has happened to show anything.
        while began.elapsed() < Duration::from_millis(2500) || !arena.has_shown_enough() {
            if kills {
                let mut victim = start("removes", 1000 + killed);
                victim.expect("begins");
                thread::sleep(Duration::from_micros(dice.roll(3000)));
                victim.kill();
                killed += 1;
            } else {
                thread::sleep(Duration::from_millis(10));
            }
        }
        arena.stop.store(1, SeqCst);
        join(here);
    });
    for actor in &mut actors {
        actor.expect("done");
    }
    actors.into_iter().for_each(Actor::dismiss);
    let [entries, stale, removals, refusals, failures] =
        [&arena.entries, &arena.stale, &arena.removals, &arena.refusals, &arena.failures]
            .map(|count| count.load(SeqCst));
    println!(
        "{locks} locks: {entries} entries, {stale} by stale handles refused, {removals} removals and {refusals} refused, \
         {killed} removers killed, {failures} failures"
    );
    // Whatever happened, there is room for as many as ever, and each is as good as new.
    for name in NAMES {
        let _ = file.remove_lock(name);
    }
    let mutexes: Vec<_> = (0..locks).map(|name| file.mutex(&format!("new {name}")).unwrap()).collect();
    for mutex in &mutexes {
        assert!(!mutex.lock_for(limit::of_processes()).unwrap().acquired().previous_owner_died);
    }
    failures
}

#[test]
fn one_region_changes_hands_between_names_and_kinds() {
    assert_eq!(play(1, false), 0);
}

#[test]
fn two_regions_change_hands_between_three_names() {
    assert_eq!(play(2, false), 0);
}

#[test]
fn removers_are_killed_anywhere() {
    assert_eq!(play(2, true), 0);
}
