//! Many that die: together, one after another, or all the time; and how long the lock stands free after.

use crate::{
    page,
    robust_futex::RobustFutex,
    victim::{self, Ask, Does, PERMITS},
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    path::{Path, PathBuf},
    process::Child as Process,
    ptr::NonNull,
    sync::{
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};
use turnlock::LockFile;

/// One row.
pub struct Row {
    /// What happens, and to how many.
    pub name: String,
    run: Box<dyn Fn() -> Result<Duration, String>>,
}

impl Row {
    /// How long it took.
    pub fn run(&self) -> Result<Duration, String> {
        (self.run)()
    }
}

/// All rows; with `few`, those with few deaths only.
pub fn rows(few: bool) -> Vec<Row> {
    use Ask::*;
    let mut rows = Vec::new();
    let mut add = |name: String, run: Box<dyn Fn() -> Result<Duration, String>>| rows.push(Row { name, run });
    let mut together = |first: Ask, others: Ask, living: Ask, number: usize, participants: u32| {
        let all = match (first, others) {
            _ if others == living && first == living => living.name().to_owned(),
            _ if first == others => format!("{} inside; then {}", others.name(), living.name()),
            _ => format!("{} behind {}; then {}", others.name(), first.name(), living.name()),
        };
        let slots = if participants == 128 { String::new() } else { format!(", {participants} slots") };
        add(
            format!("together: {all}, 1 + {number}{slots}"),
            Box::new(move || die_together(first, others, living, number, participants)),
        );
    };
    let sizes: &[usize] = if few { &[10] } else { &[1, 10, 50, 100] };
    for &number in sizes {
        together(Robust, Robust, Robust, number, 128);
        together(Mutex, Mutex, Mutex, number, 128);
    }
    let number = if few { 10 } else { 50 };
    together(Strict, Strict, Strict, number, 128);
    together(Write, Read, Write, number, 128);
    together(Read, Read, Write, number, 128);
    together(Permit, Permit, AllPermits, number, 128);
    together(AllPermits, Permit, AllPermits, number, 128);
    for ask in [Range, Key, Turn] {
        together(ask, ask, ask, number, 128);
    }
    for ask in [LamportQueue, RicartAgrawala, TokenRing, MessageBakery] {
        together(ask, ask, ask, 13, 128);
    }
    if !few {
        for ask in [Mutex, Strict, Write, Range, Turn] {
            together(ask, ask, ask, 400, 500);
        }
    }
    let singly: &[(Ask, &[usize])] = if few {
        &[(Mutex, &[10])]
    } else {
        &[
            (Mutex, &[20, 30, 50, 100]),
            (Strict, &[50]),
            (Write, &[50]),
            (AllPermits, &[50]),
            (Range, &[50]),
            (Key, &[50]),
            (Turn, &[50, 100]),
            (LamportQueue, &[13]),
        ]
    };
    for &(ask, numbers) in singly {
        for &number in numbers {
            for is_last in [false, true] {
                let place = if is_last { "last" } else { "in the midst" };
                add(
                    format!("one by one: {}, {number}, one that lives came {place}", ask.name()),
                    Box::new(move || die_one_by_one(ask, number, is_last)),
                );
            }
        }
    }
    for ask in [Mutex, Strict, Write, AllPermits, Range, Turn] {
        for (lives, workers) in [(20, 8), (3, 4)] {
            add(
                format!("all the time: {}, {workers} workers, each lives {lives} ms or more", ask.name()),
                Box::new(move || die_all_the_time(ask, workers, lives, few)),
            );
        }
    }
    rows
}

const LIMIT: Duration = Duration::from_secs(60);

/// Until victims that have begun to wait do wait.
const SETTLE: Duration = Duration::from_millis(60);

/// A folder with a lock file.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(ask: Ask, participants: u32) -> Result<Self, String> {
        let folder = tempfile::Builder::new()
            .prefix("turnlock-bench-")
            .tempdir_in("/dev/shm")
            .map_err(|error| format!("a folder in /dev/shm: {error}"))?;
        let mut options = LockFile::options();
        options.participants(participants);
        if ask.is_by_messages() {
            options.mailboxes(16);
        }
        let place = Self { folder };
        if ask != Ask::Robust {
            options.open(place.lock_file()).map_err(|error| error.to_string())?;
        }
        Ok(place)
    }

    fn lock_file(&self) -> PathBuf {
        self.folder.path().join("lock")
    }
}

/// Processes that are killed when they are dropped, if not before.
#[derive(Default)]
struct Victims(Vec<Process>);

impl Victims {
    fn add(&mut self, ask: Ask, file: &Path) -> Result<(), String> {
        let mut process = victim::start(ask, Does::Stays, file)?;
        let begun = victim::wait_until(&mut process, "begins");
        self.0.push(process);
        begun
    }

    fn kill(&mut self) {
        for process in &self.0 {
            let _ = kill(Pid::from_raw(process.id() as i32), Signal::SIGKILL);
        }
        for mut process in self.0.drain(..) {
            let _ = process.wait();
        }
    }
}

impl Drop for Victims {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A thread of this process that waits for a lock. Says when it has it, and releases it.
fn wait_for(ask: Ask, path: PathBuf) -> Result<mpsc::Receiver<Result<Instant, String>>, String> {
    let (entered, hears) = mpsc::channel();
    let (begins, begun) = mpsc::channel();
    thread::spawn(move || {
        let enter = || {
            if ask == Ask::Robust {
                let futex = RobustFutex::open(&path)?;
                let _ = begins.send(());
                futex.lock_and_mend();
                return Ok(Instant::now());
            }
            let text = |error: turnlock::Error| error.to_string();
            let enter = LockFile::open(&path).and_then(|file| ask.open(&file)).map_err(text)?;
            let _ = begins.send(());
            let held = enter().map_err(text)?;
            let now = Instant::now();
            drop(held);
            Ok(now)
        };
        let _ = entered.send(enter());
    });
    begun.recv_timeout(LIMIT).map_err(|_| "the waiter does not begin".to_owned())?;
    Ok(hears)
}

fn hear(from: &mpsc::Receiver<Result<Instant, String>>) -> Result<Instant, String> {
    from.recv_timeout(LIMIT).map_err(|_| format!("the waiter has not got the lock after {LIMIT:?}"))?
}

fn die_together(
    first: Ask,
    others: Ask,
    living: Ask,
    number: usize,
    participants: u32,
) -> Result<Duration, String> {
    let place = Place::new(first, participants)?;
    let mut victims = Victims::default();
    victims.add(first, &place.lock_file())?;
    thread::sleep(SETTLE);
    for _ in 0..number {
        victims.add(others, &place.lock_file())?;
    }
    thread::sleep(SETTLE);
    let waiter = wait_for(living, place.lock_file())?;
    thread::sleep(SETTLE);
    let killed = Instant::now();
    victims.kill();
    Ok(hear(&waiter)?.saturating_duration_since(killed))
}

fn die_one_by_one(ask: Ask, number: usize, is_last: bool) -> Result<Duration, String> {
    let place = Place::new(ask, 128)?;
    let text = |error: turnlock::Error| error.to_string();
    let enter = LockFile::open(place.lock_file()).and_then(|file| ask.open(&file)).map_err(text)?;
    let held = enter().map_err(text)?;
    let mut victims = Victims::default();
    let mut waiter = None;
    for at in 0..number {
        if at == number / 2 && !is_last {
            waiter = Some(wait_for(ask, place.lock_file())?);
        }
        victims.add(ask, &place.lock_file())?;
    }
    thread::sleep(SETTLE);
    let waiter = match waiter {
        Some(waiter) => waiter,
        None => wait_for(ask, place.lock_file())?,
    };
    for (at, mut process) in victims.0.drain(..).enumerate() {
        thread::sleep(Duration::from_millis(10 + (at as u64 * 17) % 50));
        let _ = process.kill();
        let _ = process.wait();
    }
    let unlocked = Instant::now();
    drop(held);
    Ok(hear(&waiter)?.saturating_duration_since(unlocked))
}

/// When a process was last inside, in a file.
pub struct Clock(NonNull<AtomicU64>);

impl Clock {
    pub fn open(path: &Path) -> Result<Self, String> {
        Ok(Self(page::open(path)?.0))
    }

    fn word(&self) -> &AtomicU64 {
        // SAFETY: the page is never unmapped, and all use it as this.
        unsafe { self.0.as_ref() }
    }

    /// A process is inside now.
    pub fn tick(&self) {
        self.word().store(now(), Relaxed);
    }

    /// For how long no process has been.
    fn silent(&self) -> Duration {
        Duration::from_nanos(now().saturating_sub(self.word().load(Relaxed)))
    }
}

fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the time there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The longest time that the lock stands free, in a calm after a storm.
fn die_all_the_time(ask: Ask, workers: usize, lives: u64, few: bool) -> Result<Duration, String> {
    let (storm, calm) = if few { (500, 500) } else { (4_000, 3_000) };
    let place = Place::new(ask, 128)?;
    let clock = Clock::open(&place.lock_file().with_extension("clock"))?;
    let start = || victim::start(ask, Does::Works, &place.lock_file());
    let mut victims = Victims::default();
    for _ in 0..workers {
        victims.0.push(start()?);
    }
    let began = Instant::now();
    let mut next = 0;
    while began.elapsed() < Duration::from_millis(storm) {
        thread::sleep(Duration::from_millis(lives));
        let _ = victims.0[next].kill();
        let _ = victims.0[next].wait();
        victims.0[next] = start()?;
        next = (next + 1) % workers;
    }
    let calm_began = Instant::now();
    let mut longest = Duration::ZERO;
    while calm_began.elapsed() < Duration::from_millis(calm) || clock.silent() > Duration::from_millis(500) {
        if calm_began.elapsed() > LIMIT {
            return Err(format!("no participant came in for {:?}", clock.silent()));
        }
        // In the storm those that were killed may all have been too young to come in.
        longest = longest.max(clock.silent().min(calm_began.elapsed()));
        thread::sleep(Duration::from_micros(200));
    }
    Ok(longest)
}

/// So that as many victims as there may be have a permit each.
const _: () = assert!(PERMITS >= 128);
