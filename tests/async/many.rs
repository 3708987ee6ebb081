//! Ten thousand futures over sixteen locks, under tokio and under smol's executor, and another process at the same locks.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};
use support::{
    Dice, NoHang, Place,
    actor::{Actor, hear, say},
    until,
};
use turnlock::{KeyedLock, LockFile, Mutex, RangeLock, Result, RwLock, Semaphore};

const LOCKS: u64 = 16;
const FUTURES: u64 = 10_000;
const THREADS: usize = 2;

/// One of the locks, all of it.
enum Lock {
    Mutex(Mutex),
    RwLock(RwLock),
    Semaphore(Semaphore),
    Range(RangeLock),
    Key(KeyedLock),
}

/// The locks, and a number in a file for each, which its holder alone changes.
struct Locks {
    locks: Vec<Lock>,
    numbers: File,
}

impl Locks {
    fn open(path: &Path) -> Self {
        let file = LockFile::open(path).unwrap();
        let locks = (0..LOCKS).map(|number| {
            let name = &format!("lock {number}");
            match number % 8 {
                0 => Lock::RwLock(file.rwlock(name).unwrap()),
                1 => Lock::Semaphore(file.semaphore_options().permits(2).open(name).unwrap()),
                2 => Lock::Range(file.range_lock(name).unwrap()),
                3 => Lock::Key(file.keyed_lock(name).unwrap()),
                _ => Lock::Mutex(file.mutex(name).unwrap()),
            }
        });
        let locks = locks.collect();
        let mut numbers = File::options();
        numbers.create(true).truncate(false).read(true).write(true);
        Self { locks, numbers: numbers.open(path.with_extension("numbers")).unwrap() }
    }

    fn number(&self, lock: u64) -> u64 {
        let mut bytes = [0; 8];
        self.numbers.read_exact_at(&mut bytes, 8 * lock).map_or(0, |()| u64::from_ne_bytes(bytes))
    }

    /// One more: lost if another is inside.
    fn section(&self, lock: u64) {
        let number = self.number(lock);
        self.numbers.write_all_at(&(number + 1).to_ne_bytes(), 8 * lock).unwrap();
    }

    async fn take_turn(&self, lock: u64) -> Result<()> {
        match &self.locks[lock as usize] {
            Lock::Mutex(mutex) => {
                let _guard = mutex.lock_async().await?;
                self.section(lock);
            }
            Lock::RwLock(rwlock) => {
                drop(rwlock.read_async().await?);
                let _guard = rwlock.write_async().await?;
                self.section(lock);
            }
            Lock::Semaphore(semaphore) => {
                drop(semaphore.acquire_async(1).await?);
                let _guard = semaphore.acquire_async(2).await?;
                self.section(lock);
            }
            Lock::Range(range) => {
                let _guard = range.lock_exclusive_async(..).await?;
                self.section(lock);
            }
            Lock::Key(keyed) => {
                let _guard = keyed.lock_exclusive_async("key").await?;
                self.section(lock);
            }
        }
        Ok(())
    }

    fn take_turn_blocking(&self, lock: u64) -> Result<()> {
        match &self.locks[lock as usize] {
            Lock::Mutex(mutex) => {
                let _guard = mutex.lock()?;
                self.section(lock);
            }
            Lock::RwLock(rwlock) => {
                let _guard = rwlock.write()?;
                self.section(lock);
            }
            Lock::Semaphore(semaphore) => {
                let _guard = semaphore.acquire(2)?;
                self.section(lock);
            }
            Lock::Range(range) => {
                let _guard = range.write(..)?;
                self.section(lock);
            }
            Lock::Key(keyed) => {
                let _guard = keyed.write("key")?;
                self.section(lock);
            }
        }
        Ok(())
    }
}

/// How many threads of this process wait for its futures.
fn servers() -> usize {
    let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = threads.map(|thread| fs::read_to_string(thread.path().join("comm")).unwrap_or_default());
    names.filter(|name| name.trim_end() == "turnlock wait").count()
}

fn under_tokio(locks: Arc<Locks>) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_time().build().unwrap();
    runtime.block_on(async {
        let tasks: Vec<_> = (0..FUTURES)
            .map(|number| {
                let locks = locks.clone();
                tokio::spawn(async move { locks.take_turn(number % LOCKS).await.unwrap() })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

fn under_smol(locks: Arc<Locks>) {
    let executor = async_executor::Executor::new();
    let (over, over_too) = (AtomicBool::new(false), Arc::new(AtomicUsize::new(0)));
    let tasks: Vec<_> = (0..FUTURES)
        .map(|number| {
            let (locks, done) = (locks.clone(), over_too.clone());
            executor.spawn(async move {
                locks.take_turn(number % LOCKS).await.unwrap();
                done.fetch_add(1, Relaxed);
            })
        })
        .collect();
    thread::scope(|threads| {
        for _ in 1..THREADS {
            threads.spawn(|| {
                futures_lite::future::block_on(executor.run(async {
                    while !over.load(Relaxed) {
                        futures_lite::future::yield_now().await;
                    }
                }));
            });
        }
        futures_lite::future::block_on(executor.run(async {
            for task in tasks {
                task.await;
            }
        }));
        over.store(true, Relaxed);
    });
    assert_eq!(over_too.load(Relaxed) as u64, FUTURES);
}

/// Words: the lock file, `tokio` or `smol`.
pub fn runs_futures(words: &[String]) {
    let locks = Arc::new(Locks::open(Path::new(&words[0])));
    say("ready");
    hear();
    let (over, most) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let looks = thread::spawn({
        let (over, most) = (over.clone(), most.clone());
        move || {
            while !over.load(Relaxed) {
                most.fetch_max(servers(), Relaxed);
                thread::sleep(Duration::from_millis(2));
            }
        }
    });
    match words[1].as_str() {
        "tokio" => under_tokio(locks.clone()),
        _ => under_smol(locks.clone()),
    }
    over.store(true, Relaxed);
    looks.join().unwrap();
    say(&format!("servers {}", most.load(Relaxed)));
    // They end when there is nothing to wait for.
    until("no server is left", || servers() == 0);
    say("done");
}

/// Words: the lock file. Until it hears something.
pub fn takes_turns_beside_them(words: &[String]) {
    let locks = Locks::open(Path::new(&words[0]));
    say("ready");
    let over = AtomicBool::new(false);
    let mut turns = 0;
    thread::scope(|threads| {
        threads.spawn(|| {
            hear();
            over.store(true, Relaxed);
        });
        let mut dice = Dice(33);
        while !over.load(Relaxed) {
            locks.take_turn_blocking(dice.roll(LOCKS)).unwrap();
            turns += 1;
        }
    });
    say(&format!("turns {turns}"));
}

fn ten_thousand(runtime: &str) {
    let _no_hang = NoHang::for_seconds(240);
    let place = Place::new();
    let path = place.lock_file();
    let path = path.to_str().unwrap();
    let locks = Locks::open(Path::new(path));
    let mut futures = Actor::start("runs_futures", &[path, runtime]);
    let mut other = Actor::start("takes_turns_beside_them", &[path]);
    futures.expect("ready");
    other.expect("ready");
    futures.tell("begin");
    let servers = futures.expect_number("servers");
    // Two lines of a rwlock would be one for its upgradable holders.
    assert!((1..=LOCKS).contains(&servers), "{servers} servers");
    other.tell("end");
    let turns = other.expect_number("turns");
    futures.expect("done");
    let all: u64 = (0..LOCKS).map(|lock| locks.number(lock)).sum();
    assert_eq!(all, FUTURES + turns, "sections that two were in at once");
    assert!(turns > 100, "the other process hardly came in: {turns}");
    futures.end_well();
    other.end_well();
    (0..LOCKS).for_each(|lock| locks.take_turn_blocking(lock).unwrap());
}

#[test]
fn ten_thousand_futures_share_sixteen_locks_with_another_process_under_tokio() {
    ten_thousand("tokio");
}

#[test]
fn ten_thousand_futures_share_sixteen_locks_with_another_process_under_smol() {
    ten_thousand("smol");
}
