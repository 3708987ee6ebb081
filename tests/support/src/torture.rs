//! The kill torture: workers take a lock over and over and leave a trail inside, by which each checks the one before;
//! the test kills them at random moments and starts others.

use super::{
    Dice, Place,
    actor::Actor,
    give_up, limit,
    shared::{Plain, Shareable, Shared},
    until,
};
use std::{
    collections::BTreeMap,
    fmt,
    path::Path,
    sync::atomic::{
        AtomicU8, AtomicU32, AtomicU64,
        Ordering::{Acquire, Relaxed, Release, SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use turnlock::{LockFile, Mutex, inspect};

/// Every worker has a serial number, from 1.
const SERIALS: usize = 4096;
/// So many seconds without an entry count as a hang.
const NO_PROGRESS: u64 = 10;

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Violation {
    /// Two were inside at once.
    DoubleEntry,
    /// The trail of a section that was left half-done was found, without an owner-dead notice.
    TornSection,
    /// A holder died inside, and the next one was not told.
    DeathNotTold,
    /// A living holder was declared dead.
    FalseDeath,
    /// A fencing token was not larger than the one before.
    OldToken,
    /// A call failed that cannot fail here.
    Failure,
}

impl Violation {
    pub const ALL: [Self; 6] = [
        Self::DoubleEntry,
        Self::TornSection,
        Self::DeathNotTold,
        Self::FalseDeath,
        Self::OldToken,
        Self::Failure,
    ];
}

/// Where a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
enum Phase {
    Starting,
    Outside,
    Locking,
    Inside,
    Unlocking,
}

impl Phase {
    const ALL: [Self; 5] = [Self::Starting, Self::Outside, Self::Locking, Self::Inside, Self::Unlocking];
}

/// What the workers share.
#[repr(C)]
struct Trail {
    stop: AtomicU32,
    /// While it is not 0, no worker leaves the section.
    linger: AtomicU32,
    /// The worker whose section is under way, by serial number; 0 = none.
    owner: AtomicU32,
    entries: AtomicU64,
    /// Two words that agree whenever no worker is inside.
    one: Plain,
    two: Plain,
    last_token: Plain,
    violations: [AtomicU64; Violation::ALL.len()],
    phase: [AtomicU8; SERIALS],
    /// Set before a worker is killed.
    condemned: [AtomicU8; SERIALS],
    /// Set by the worker that is told of its death.
    told: [AtomicU8; SERIALS],
}

// SAFETY: atomics and plain words, for which all zeros is a value.
unsafe impl Shareable for Trail {}

impl Trail {
    fn violate(&self, what: Violation) {
        self.violations[what as usize].fetch_add(1, SeqCst);
    }

    /// One section, as worker `me`.
    fn take_a_turn(&self, mutex: &Mutex, me: u32, dice: &mut Dice) {
        let phase = |now: Phase| self.phase[me as usize].store(now as u8, SeqCst);
        phase(Phase::Locking);
        let mut guard = match mutex.lock() {
            Ok(guard) => guard,
            Err(error) => {
                eprintln!("worker {me}: {error}");
                return self.violate(Violation::Failure);
            }
        };
        let told = guard.acquired().previous_owner_died;
        // From before the phase says so until after: who dies in the phase `Inside` dies as the owner.
        let before = self.owner.swap(me, SeqCst);
        phase(Phase::Inside);
        if before != 0 {
            let condemned = self.condemned[before as usize].load(SeqCst) != 0;
            match (told, condemned) {
                (true, true) => self.told[before as usize].store(1, SeqCst),
                (true, false) => self.violate(Violation::FalseDeath),
                (false, true) => self.violate(Violation::DeathNotTold),
                (false, false) => self.violate(Violation::DoubleEntry),
            }
        }
        if guard.fencing_token() <= self.last_token.get() {
            self.violate(Violation::OldToken);
        }
        self.last_token.set(guard.fencing_token());
        if told {
            self.two.set(self.one.get());
            if guard.mark_consistent().is_err() {
                self.violate(Violation::Failure);
            }
        } else if self.one.get() != self.two.get() {
            self.violate(Violation::TornSection);
        }
        let count = self.one.get() + 1;
        self.one.set(count);
        for _ in 0..dice.roll(20) {
            std::hint::spin_loop();
        }
        while self.linger.load(Relaxed) != 0 {
            std::hint::spin_loop();
        }
        self.two.set(count);
        phase(Phase::Unlocking);
        if self.owner.compare_exchange(me, 0, SeqCst, SeqCst).is_err() {
            self.violate(Violation::DoubleEntry);
        }
        self.entries.fetch_add(1, Release);
        if guard.unlock().is_err() {
            self.violate(Violation::Failure);
        }
        phase(Phase::Outside);
    }
}

/// The role, to be named in `roles!`.
pub fn tortured(words: &[String]) {
    let trail = Shared::<Trail>::open(Path::new(&words[1]));
    let me: u32 = words[2].parse().unwrap();
    let mutex = LockFile::open(&words[0]).unwrap().mutex("torture").unwrap();
    let mut dice = Dice(u64::from(me));
    while trail.stop.load(Relaxed) == 0 {
        trail.take_a_turn(&mutex, me, &mut dice);
        for _ in 0..dice.roll(20) {
            std::hint::spin_loop();
        }
    }
}

/// What a torture came to.
pub struct Report {
    pub kills: BTreeMap<String, u32>,
    pub entries: u64,
    pub died_inside: usize,
    pub died_inside_untold: usize,
    pub violations: Vec<(Violation, u64)>,
    pub took: Duration,
}

impl fmt::Display for Report {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        let Self { kills, entries, died_inside, died_inside_untold, violations, took } = self;
        write!(
            to,
            "{entries} entries in {took:.1?}; kills by phase {kills:?}; {died_inside} died inside, \
             {died_inside_untold} of them without a notice; violations {violations:?}"
        )
    }
}

/// Kills one of `workers` workers so many times, and looks at the trail. Ends early at the first violation. The
/// workers have a mutant, if one is named.
pub fn torture(place: &Place, workers: usize, kills: usize, seed: u64, mutant: &'static str) -> Report {
    assert!(workers + kills < SERIALS);
    let began = Instant::now();
    let (lock_file, trail_file) = (place.lock_file(), place.at("trail"));
    let trail = Shared::<Trail>::open(&trail_file);
    let mut dice = Dice(seed);
    let mut serials = 1..;
    let mut start = || {
        let serial: u32 = serials.next().unwrap();
        let words = [lock_file.to_str().unwrap(), trail_file.to_str().unwrap(), &serial.to_string()];
        (serial, Actor::start_with("tortured", &words, &[("TURNLOCK_MUTANT", mutant)]))
    };
    let mut living: Vec<_> = (0..workers).map(|_| start()).collect();
    let (mut died_inside, mut phases) = (Vec::new(), BTreeMap::new());
    for kill in 0..kills {
        if !is_going_on(&trail, &lock_file, kill) {
            break;
        }
        // Most of the time all of them take part when one is killed; sometimes the last one is still on its way in.
        if dice.roll(8) != 0 {
            let on_its_way = |serial: u32| trail.phase[serial as usize].load(SeqCst) == Phase::Starting as u8;
            until("every worker takes part", || !living.iter().any(|(serial, _)| on_its_way(*serial)));
            thread::sleep(Duration::from_micros(dice.roll(3000)));
        }
        // The victim is now any worker, wherever it is, now the one inside.
        let mut victim = dice.roll(workers as u64) as usize;
        if dice.roll(3) == 0 {
            trail.linger.store(1, SeqCst);
            until("a worker is inside, and stays", || {
                let owner = trail.owner.load(SeqCst);
                let inside = trail.phase[owner as usize].load(SeqCst) == Phase::Inside as u8;
                living
                    .iter()
                    .position(|(serial, _)| inside && *serial == owner)
                    .map(|at| victim = at)
                    .is_some()
            });
        }
        let (serial, actor) = &mut living[victim];
        // Some are stopped for a while first: no worker may take that for death.
        if dice.roll(8) == 0 {
            actor.signal(Signal::SIGSTOP);
            thread::sleep(Duration::from_millis(2));
            if dice.roll(2) == 0 {
                actor.signal(Signal::SIGCONT);
            }
        }
        trail.condemned[*serial as usize].store(1, SeqCst);
        actor.kill();
        trail.linger.store(0, SeqCst);
        let phase = Phase::ALL[usize::from(trail.phase[*serial as usize].load(SeqCst))];
        *phases.entry(phase).or_default() += 1;
        if phase == Phase::Inside {
            died_inside.push(*serial);
        }
        living[victim] = start();
    }
    if is_going_on(&trail, &lock_file, kills) {
        trail.stop.store(1, SeqCst);
        for (_, actor) in living {
            actor.end_well();
        }
        // This thread is left to be told of the last death.
        let mutex = LockFile::open(&lock_file).unwrap().mutex("torture").unwrap();
        trail.take_a_turn(&mutex, 0, &mut dice);
    }
    let untold = died_inside.iter().filter(|serial| trail.told[**serial as usize].load(SeqCst) == 0).count();
    let counts = Violation::ALL.map(|what| (what, trail.violations[what as usize].load(SeqCst)));
    Report {
        kills: phases.into_iter().map(|(phase, count)| (format!("{phase:?}"), count)).collect(),
        entries: trail.entries.load(SeqCst),
        died_inside: died_inside.len(),
        died_inside_untold: untold,
        violations: counts.into_iter().filter(|(_, count)| *count > 0).collect(),
        took: began.elapsed(),
    }
}

/// Waits until a worker has entered since this was called; after too long in vain, the test ends with a report. Returns
/// `false` if something has gone wrong.
fn is_going_on(trail: &Trail, lock_file: &Path, kill: usize) -> bool {
    let (entries, began) = (trail.entries.load(Acquire), Instant::now());
    loop {
        if trail.violations.iter().any(|count| count.load(SeqCst) != 0) {
            return false;
        }
        if trail.entries.load(Acquire) != entries {
            return true;
        }
        let limit = limit::seconds(NO_PROGRESS);
        if began.elapsed() > limit {
            let status = inspect::snapshot(lock_file);
            give_up(&format!("no worker entered for {limit:?} after kill {kill}: {status:#?}"));
        }
        thread::sleep(Duration::from_micros(20));
    }
}
