//! What it costs to acquire a lock by a future: alone, and many futures over a few locks.
//!
//! `cargo bench --bench futures` prints the table, in half a minute. *Alone*: one future acquires and releases a lock that no other wants,
//! over and over; beside a plain `lock` of the same file, and tokio's `Mutex`, which is for one process and knows no deaths. *N over M*:
//! N tasks on tokio's runtime, with two threads, each acquire one of M locks over and over and yield once inside, so that the others come
//! and wait; beside tokio's `Mutex`, and N threads that wait in `lock`. Each figure is nanoseconds for an entry of all tasks together, the
//! median of the rounds, with the least and the most, and the processor time for one; the contenders follow each other directly, round
//! after round. An update that is lost inside ends the run. Absolute numbers belong to the machine.

#![allow(missing_docs)]

use harness::{
    align::align,
    clock, introduce,
    place::Place,
    statistics::{median, spread},
};
use std::{
    error::Error,
    future::Future,
    hint::black_box,
    process,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};
use tokio::{runtime, sync, task};
use turnlock::{LockFile, Mutex};

const ROUNDS: usize = 9;
const ALONE: u64 = 200_000;
/// Of all tasks of a round together.
const ENTRIES: u64 = 20_480;
const THREADS: usize = 2;
/// So many futures over so many locks.
const CROWDS: [(u64, u64); 3] = [(16, 1), (64, 8), (1024, 16)];
/// So many threads, at most, are put in the place of futures.
const MOST_THREADS: u64 = 64;

/// Plays a round. Returns how many entries there were.
type Play = Box<dyn Fn() -> Result<u64, Box<dyn Error>>>;

struct Row {
    what: String,
    /// The first is what the others are compared with.
    plays: Vec<(&'static str, Play)>,
}

/// What a lock protects: a number that its holder alone changes.
#[derive(Default)]
struct Number(AtomicU64);

impl Number {
    /// One more, with a yield in between.
    async fn add(&self) {
        let number = self.0.load(Relaxed);
        task::yield_now().await;
        self.0.store(number + 1, Relaxed);
    }

    /// The same on a thread of its own.
    fn add_blocking(&self) {
        let number = self.0.load(Relaxed);
        thread::yield_now();
        self.0.store(number + 1, Relaxed);
    }
}

/// Locks, each with its number.
struct Floor<L>(Vec<(L, Number)>);

impl Floor<Mutex> {
    /// The file lies in the place.
    fn of_turnlock(place: &Place, locks: u64) -> turnlock::Result<Arc<Self>> {
        let file = LockFile::open(place.path())?;
        let locks = (0..locks).map(|number| Ok((file.mutex(&format!("lock {number}"))?, Number::default())));
        Ok(Arc::new(Self(locks.collect::<turnlock::Result<_>>()?)))
    }
}

impl Floor<sync::Mutex<()>> {
    fn of_tokio(locks: u64) -> Arc<Self> {
        Arc::new(Self((0..locks).map(|_| Default::default()).collect()))
    }
}

impl<L> Floor<L> {
    fn lock_of(&self, number: u64) -> &(L, Number) {
        &self.0[number as usize % self.0.len()]
    }

    /// # Errors
    /// If an update was lost.
    fn entries(&self, expected: u64) -> Result<u64, Box<dyn Error>> {
        let counted: u64 = self.0.iter().map(|(_, number)| number.0.load(Relaxed)).sum();
        if counted != expected {
            return Err(
                format!("{expected} entries, and {counted} were counted: two were inside at once").into()
            );
        }
        Ok(counted)
    }
}

/// Runs so many tasks on tokio's runtime. `enter(number)` is one entry of that task.
fn crowd<F: Future<Output = ()> + Send>(tasks: u64, enter: impl Fn(u64) -> F + Clone + Send + 'static) {
    let runtime =
        runtime::Builder::new_multi_thread().worker_threads(THREADS).build().expect("threads are to be had");
    runtime.block_on(async {
        let tasks: Vec<_> = (0..tasks)
            .map(|number| {
                let enter = enter.clone();
                tokio::spawn(async move {
                    for _ in 0..ENTRIES / tasks {
                        enter(number).await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("no task fails");
        }
    });
}

fn alone() -> Row {
    let blocking: Play = Box::new(|| {
        let place = Place::new(None)?;
        let floor = Floor::of_turnlock(&place, 1)?;
        for _ in 0..ALONE {
            drop(black_box(&floor.0[0].0).lock()?);
        }
        Ok(ALONE)
    });
    let ours: Play = Box::new(|| {
        let place = Place::new(None)?;
        let floor = Floor::of_turnlock(&place, 1)?;
        futures_lite::future::block_on(async {
            for _ in 0..ALONE {
                drop(black_box(&floor.0[0].0).lock_async().await?);
            }
            Ok(ALONE)
        })
    });
    let tokios: Play = Box::new(|| {
        let floor = Floor::of_tokio(1);
        futures_lite::future::block_on(async {
            for _ in 0..ALONE {
                drop(black_box(&floor.0[0].0).lock().await);
            }
        });
        Ok(ALONE)
    });
    let plays = vec![("turnlock, lock_async", ours), ("turnlock, lock", blocking), ("tokio Mutex", tokios)];
    Row { what: "alone".into(), plays }
}

fn many(futures: u64, locks: u64) -> Row {
    let ours: Play = Box::new(move || {
        let place = Place::new(None)?;
        let floor = Floor::of_turnlock(&place, locks)?;
        let shared = floor.clone();
        crowd(futures, move |number| {
            let floor = shared.clone();
            async move {
                let (lock, inside) = floor.lock_of(number);
                let _guard = lock.lock_async().await.expect("it is to be had");
                inside.add().await;
            }
        });
        floor.entries(ENTRIES)
    });
    let tokios: Play = Box::new(move || {
        let floor = Floor::of_tokio(locks);
        let shared = floor.clone();
        crowd(futures, move |number| {
            let floor = shared.clone();
            async move {
                let (lock, inside) = floor.lock_of(number);
                let _guard = lock.lock().await;
                inside.add().await;
            }
        });
        floor.entries(ENTRIES)
    });
    let threads: Play = Box::new(move || {
        let place = Place::new(None)?;
        let floor = Floor::of_turnlock(&place, locks)?;
        thread::scope(|scope| {
            for number in 0..futures {
                let (lock, inside) = floor.lock_of(number);
                scope.spawn(move || {
                    for _ in 0..ENTRIES / futures {
                        let _guard = lock.lock().expect("it is to be had");
                        inside.add_blocking();
                    }
                });
            }
        });
        floor.entries(ENTRIES)
    });
    let mut plays = vec![("turnlock, lock_async", ours), ("tokio Mutex", tokios)];
    if futures <= MOST_THREADS {
        plays.push(("turnlock, lock, threads", threads));
    }
    Row { what: format!("{futures} over {locks}"), plays }
}

/// What an entry took.
#[derive(Clone, Copy)]
struct Round {
    ns: f64,
    /// Of all threads of this process.
    cpu_ns: f64,
}

impl Round {
    fn of(play: &Play) -> Result<Self, Box<dyn Error>> {
        let cpu_time = || clock::cpu_time(process::id() as i32);
        let (began, began_cpu) = (clock::now(), cpu_time());
        let entries = play()? as f64;
        let ended = clock::now();
        Ok(Self { ns: (ended - began) as f64 / entries, cpu_ns: (cpu_time() - began_cpu) as f64 / entries })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    introduce();
    let mut rows = vec![alone()];
    rows.extend(CROWDS.map(|(futures, locks)| many(futures, locks)));
    let heading =
        ["what", "contender", "ns", "least .. most", "lock_async / it", "CPU ns", "lock_async / it"];
    let mut table = vec![heading.map(String::from).to_vec()];
    for row in &rows {
        let mut rounds = vec![Vec::new(); row.plays.len()];
        for _ in 0..ROUNDS {
            for ((_, play), rounds) in row.plays.iter().zip(&mut rounds) {
                rounds.push(Round::of(play)?);
            }
        }
        let time = |rounds: &[Round]| median(rounds.iter().map(|round| round.ns));
        let cpu_time = |rounds: &[Round]| median(rounds.iter().map(|round| round.cpu_ns));
        let (own, own_cpu) = (time(&rounds[0]), cpu_time(&rounds[0]));
        for ((name, _), rounds) in row.plays.iter().zip(&rounds) {
            let (least, most) = spread(rounds.iter().map(|round| round.ns));
            table.push(vec![
                row.what.clone(),
                (*name).into(),
                format!("{:.0}", time(rounds)),
                format!("{least:.0} .. {most:.0}"),
                format!("{:.2}", own / time(rounds)),
                format!("{:.0}", cpu_time(rounds)),
                format!("{:.2}", own_cpu / cpu_time(rounds)),
            ]);
        }
    }
    let mut text = String::new();
    align(&mut text, &table)?;
    print!("\n{text}");
    Ok(())
}
