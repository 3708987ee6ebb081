//! Traffic that only looks cyclic: locks of several kinds in all orders, by threads of several processes, where something ends each
//! circle by itself. None of it is a deadlock, and none may be told of one.

use rand_like::Random;
use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use support::{
    NoHang, Place,
    actor::{Actor, say},
    limit,
};
use turnlock::{Condition, Error, KeyedLock, LockFile, Mutex, RangeLock, Result, RwLock};

/// Ten minutes, if the environment says so; else some seconds.
fn seconds() -> u64 {
    match std::env::var("TURNLOCK_DEADLOCK_LONG").is_ok_and(|set| set == "1") {
        true => 600,
        false => 6,
    }
}

/// The limit of the whole suite, in seconds.
pub fn longest() -> u64 {
    seconds() + support::watchdog::USUAL
}

/// How often a process says that it goes on.
const GOES_ON: Duration = Duration::from_secs(20);
const PROCESSES: u64 = 3;
const THREADS: u64 = 3;

#[test]
fn traffic_that_only_looks_cyclic_is_told_of_none() {
    let (_no_hang, place) = (NoHang::for_seconds(seconds() + 120), Place::new());
    let path = place.lock_file();
    let (path, seconds) = (path.to_str().unwrap(), seconds().to_string());
    let start = |seed: u64| Actor::start("traffic", &[path, &seed.to_string(), &seconds]);
    let processes: Vec<Actor> = (0..PROCESSES).map(start).collect();
    for mut process in processes {
        let mut said = process.hear();
        while said == "goes on" {
            said = process.hear();
        }
        println!("{said}");
        assert!(said.starts_with("well "), "{said}");
        process.end_well();
    }
}

/// The role. Words: the lock file, a seed, how many seconds.
pub fn traffic(words: &[String]) {
    let file = Arc::new(LockFile::open(&words[0]).unwrap());
    let seed: u64 = words[1].parse().unwrap();
    let seconds: u64 = words[2].parse().unwrap();
    // A role that is told nothing has a limit of its own.
    limit::end_this_process_after(limit::seconds(seconds + 60));
    let end = Instant::now() + Duration::from_secs(seconds);
    let run = |thread| {
        let file = file.clone();
        move || Traffic::new(&file, seed * THREADS + thread).run(end)
    };
    let threads: Vec<_> = (0..THREADS).map(|thread| thread::spawn(run(thread))).collect();
    while Instant::now() + GOES_ON < end {
        thread::sleep(GOES_ON);
        say("goes on");
    }
    let runs: Vec<Counts> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let sum = |of: fn(&Counts) -> u64| runs.iter().map(of).sum::<u64>();
    say(&format!(
        "well {} rounds, {} waits of more than 100 ms, {} tries and limits in vain",
        sum(|counts| counts.rounds),
        sum(|counts| counts.long),
        sum(|counts| counts.in_vain)
    ));
}

#[derive(Default)]
struct Counts {
    rounds: u64,
    long: u64,
    in_vain: u64,
}

/// One thread. Its locks have an order: mutex, rwlock, ranges, keys. It waits without a limit in that order only, and in any other with
/// one, or not at all.
struct Traffic {
    mutex: Mutex,
    rwlock: RwLock,
    ranges: RangeLock,
    keys: KeyedLock,
    /// Taken by participants that threads share, in any order.
    owned: [Mutex; 2],
    changed: Condition,
    random: Random,
    counts: Counts,
}

impl Traffic {
    fn new(file: &LockFile, seed: u64) -> Self {
        Self {
            mutex: file.mutex("mutex").unwrap(),
            rwlock: file.rwlock("rwlock").unwrap(),
            ranges: file.range_lock("ranges").unwrap(),
            keys: file.keyed_lock("keys").unwrap(),
            owned: ["one", "two"].map(|name| file.mutex(name).unwrap()),
            changed: file.condition("changed").unwrap(),
            random: Random(seed),
            counts: Counts::default(),
        }
    }

    fn run(mut self, end: Instant) -> Counts {
        while Instant::now() < end {
            match self.random.below(10) {
                0..4 => self.in_order(),
                4..7 => self.in_any_order(),
                7 => self.by_shared_participants(),
                8 => self.waits_at_a_condition(),
                _ => self.notifies(),
            }
            self.counts.rounds += 1;
        }
        // Those that wait at the condition have a limit.
        self.counts
    }

    /// What a wait without a limit gave. That it closed a circle would be a lie.
    fn has<G>(&mut self, began: Instant, taken: Result<G>) -> G {
        self.counts.long += u64::from(began.elapsed() > Duration::from_millis(100));
        taken.unwrap_or_else(|error| panic!("a wait that closes no circle: {error}"))
    }

    /// What one with a limit gave.
    fn may_have<G>(&mut self, taken: Result<G>) -> Option<G> {
        match taken {
            Ok(guard) => Some(guard),
            Err(Error::TimedOut(_) | Error::WouldBlock(_)) => {
                self.counts.in_vain += 1;
                None
            }
            Err(error) => panic!("a wait with a limit: {error}"),
        }
    }

    fn stay(&mut self) {
        let most = if self.random.below(8) == 0 { 120 } else { 8 };
        thread::sleep(Duration::from_millis(self.random.below(most)));
    }

    fn limit(&mut self) -> Duration {
        Duration::from_millis(self.random.below(60))
    }

    fn in_order(&mut self) {
        let (mutex, rwlock, ranges, keys) =
            (self.mutex.clone(), self.rwlock.clone(), self.ranges.clone(), self.keys.clone());
        let first = self.random.below(4);
        let _mutex = (first == 0).then(|| self.has(Instant::now(), mutex.lock()));
        let reads = self.random.below(2) == 0;
        let _read = (first <= 1 && reads).then(|| self.has(Instant::now(), rwlock.read()));
        let _write = (first <= 1 && !reads).then(|| self.has(Instant::now(), rwlock.write()));
        self.stay();
        let start = self.random.below(20);
        let _range = (first <= 2).then(|| self.has(Instant::now(), ranges.write(start..start + 10)));
        let key = ["a", "b"][self.random.below(2) as usize];
        let _key = self.has(Instant::now(), keys.lock_exclusive(key));
        self.stay();
    }

    fn in_any_order(&mut self) {
        let (mutex, rwlock, ranges, keys) =
            (self.mutex.clone(), self.rwlock.clone(), self.ranges.clone(), self.keys.clone());
        // Without a limit where it holds nothing.
        let start = self.random.below(20);
        let _range = self.has(Instant::now(), ranges.write(start..start + 5));
        self.stay();
        let limit = self.limit();
        let taken = if self.random.below(2) == 0 { rwlock.try_write() } else { rwlock.write_for(limit) };
        let _write = self.may_have(taken);
        let limit = self.limit();
        let taken = if self.random.below(2) == 0 { mutex.try_lock() } else { mutex.lock_for(limit) };
        let _mutex = self.may_have(taken);
        self.stay();
        let limit = self.limit();
        let _key = self.may_have(keys.try_lock_exclusive_for("a", limit));
    }

    /// Holds by owned guards, which another thread drops, while this one waits without a limit for what others hold.
    fn by_shared_participants(&mut self) {
        let which = self.random.below(2) as usize;
        let first = self.owned[which].clone().lock_owned();
        let first = self.has(Instant::now(), first);
        let later = Duration::from_millis(self.random.below(150));
        let releases = thread::spawn(move || {
            thread::sleep(later);
            drop(first);
        });
        let other = self.owned[1 - which].clone();
        let taken = other.lock();
        drop(self.has(Instant::now(), taken));
        releases.join().unwrap();
    }

    fn waits_at_a_condition(&mut self) {
        let (mutex, changed, limit) = (self.mutex.clone(), self.changed.clone(), self.limit());
        let mut guard = self.has(Instant::now(), mutex.lock());
        let waited = changed.wait_for(&mut guard, limit);
        self.may_have(waited);
        self.stay();
    }

    fn notifies(&mut self) {
        let mutex = self.mutex.clone();
        let _guard = self.has(Instant::now(), mutex.lock());
        self.changed.notify_all().unwrap();
        self.stay();
    }
}

mod rand_like {
    /// Numbers that look random (Steele, Lea and Flood's SplitMix64).
    pub struct Random(pub u64);

    impl Random {
        pub fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (mixed ^ (mixed >> 31)) % limit
        }
    }
}
