//! What each call costs without another contender, beside peers, by criterion. With one slot in use our process is the
//! only one that takes part in the file, and entries have no fence; with more, another process has the others.
//!
//! `cargo bench --bench uncontended` measures everything in under a minute and prints, at the end, every call's
//! median and its ratio to the robust mutex in the same run. `cargo bench --bench uncontended -- TEXT` measures what has
//! that in its name, and criterion's other options work too.

#![allow(missing_docs)]

mod c_abi;
mod slots;
mod table;

use c_abi::{CAbi, Held};
use criterion::{BenchmarkGroup, Criterion, measurement::WallTime};
use harness::{
    contender::{Family, Lock, file_lock::Flock, pthread, pthread_rwlock::PthreadRwLock, semaphore::Posix},
    introduce,
    place::Place,
};
use slots::Slots;
use std::{
    hint::black_box,
    time::{Duration, Instant, SystemTime},
};
use turnlock::{LockFile, Mutex, Participant};

/// How many slots are in use: all but ours by another process.
const SLOTS: [usize; 3] = [1, 8, 128];
const LIMIT: Duration = Duration::from_secs(1);
/// A lock has to be taken some times by the same participant before it is biased.
const WARM: usize = 100;

type Group<'a> = BenchmarkGroup<'a, WallTime>;

fn main() {
    introduce();
    let began = SystemTime::now();
    let mut criterion = Criterion::default()
        .without_plots()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(150))
        .measurement_time(Duration::from_millis(500))
        .configure_from_args();
    for slots in SLOTS {
        let mut group = criterion.benchmark_group(slots::group(slots));
        peers(&mut group);
        rust(&mut group, slots);
        if let Err(why) = c(&mut group, slots) {
            println!("Absent: the C ABI, {why}.");
        }
        group.finish();
    }
    criterion.final_summary();
    table::print(began);
}

fn peers(group: &mut Group) {
    peer(group, table::ROBUST, pthread::Family(pthread::Variant::Robust));
    peer(group, "pthread normal", pthread::Family(pthread::Variant::Normal));
    peer(group, "POSIX semaphore", Posix);
    peer(group, "flock", Flock);
    let place = Place::new(None).unwrap();
    PthreadRwLock::prepare(&place, false);
    let rwlock = PthreadRwLock::attach(&place);
    for (name, writes) in [("pthread_rwlock, read", false), ("pthread_rwlock, write", true)] {
        group.bench_function(name, |bencher| bencher.iter(|| black_box(&rwlock).with(writes, || {})));
    }
}

fn peer<F: Family>(group: &mut Group, name: &str, family: F) {
    let place = Place::new(None).unwrap();
    family.prepare(&place);
    let lock = family.attach(&place, 0);
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            let held = black_box(&lock).lock();
            black_box(&lock).unlock(held);
        });
    });
    family.clear(&place);
}

fn rust(group: &mut Group, slots: usize) {
    let in_use = Slots::new(slots);
    let files: Vec<LockFile> = in_use.paths().map(|path| LockFile::open(path).unwrap()).collect();
    let mutexes: Vec<Mutex> = files.iter().map(|file| file.mutex("bench").unwrap()).collect();
    let mutex = &mutexes[0];
    for mutex in &mutexes {
        (0..WARM).for_each(|_| drop(mutex.lock().unwrap()));
    }
    group.bench_function("Rust lock, unlock", |bencher| {
        bencher.iter(|| black_box(mutex).lock().unwrap().unlock().unwrap());
    });
    group.bench_function("Rust lock, guard dropped", |bencher| {
        bencher.iter(|| drop(black_box(mutex).lock().unwrap()));
    });
    group.bench_function("Rust try_lock", |bencher| {
        bencher.iter(|| drop(black_box(mutex).try_lock().unwrap()));
    });
    group.bench_function("Rust lock_for", |bencher| {
        bencher.iter(|| drop(black_box(mutex).lock_for(LIMIT).unwrap()));
    });
    for count in [2, 4] {
        let mut turns = mutexes.iter().take(count).cycle();
        group.bench_function(format!("Rust, {count} files in turn"), |bencher| {
            bencher.iter(|| drop(black_box(turns.next()).map(|mutex| mutex.lock().unwrap())));
        });
    }
    let records = LockFile::options().recorded_events(1 << 16).open(in_use.beside()).unwrap();
    let recorded = records.mutex("bench").unwrap();
    (0..WARM).for_each(|_| drop(recorded.lock().unwrap()));
    group.bench_function("Rust, in a file that records", |bencher| {
        bencher.iter(|| drop(black_box(&recorded).lock().unwrap()));
    });
    group.bench_function("Rust status", |bencher| bencher.iter(|| black_box(mutex).status().unwrap()));
    let (rwlock, semaphore) = (files[0].rwlock("rwlock").unwrap(), files[0].semaphore("semaphore").unwrap());
    (0..WARM).for_each(|_| drop(rwlock.read().unwrap()));
    group.bench_function("Rust read", |bencher| bencher.iter(|| drop(black_box(&rwlock).read().unwrap())));
    (0..WARM).for_each(|_| drop(rwlock.write().unwrap()));
    group.bench_function("Rust write", |bencher| bencher.iter(|| drop(black_box(&rwlock).write().unwrap())));
    (0..WARM).for_each(|_| drop(semaphore.acquire(1).unwrap()));
    group.bench_function("Rust permit", |bencher| {
        bencher.iter(|| drop(black_box(&semaphore).acquire(1).unwrap()))
    });
    let participant = files[0].participant().unwrap();
    (0..WARM).for_each(|_| drop(mutex.lock_as(&participant).unwrap()));
    group.bench_function("Rust lock_as", |bencher| {
        bencher.iter(|| drop(black_box(mutex).lock_as(black_box(&participant)).unwrap()));
    });
    drop(participant);
    attaching(group, &files[0]);
    drop((rwlock, semaphore, mutexes, files));
    opening(group, &in_use);
}

fn attaching(group: &mut Group, file: &LockFile) {
    let attach = || -> Participant { file.participant().unwrap() };
    group.bench_function("Rust attach", |bencher| bencher.iter_custom(|times| timed(times, attach, drop)));
    group.bench_function("Rust detach", |bencher| {
        bencher.iter_custom(|times| {
            let attached = (0..times).map(|_| attach());
            attached.map(|participant| time(|| drop(participant)).0).sum()
        });
    });
}

/// Of a file that this process has not open.
fn opening(group: &mut Group, in_use: &Slots) {
    let path = in_use.paths().next().expect("there is one");
    let open = || LockFile::open(&path).unwrap();
    group.bench_function("Rust open", |bencher| bencher.iter_custom(|times| timed(times, open, drop)));
    let first_lock = || {
        let file = open();
        let mutex = file.mutex("bench").unwrap();
        drop(mutex.lock().unwrap());
        (mutex, file)
    };
    group.bench_function("Rust open, and a first lock", |bencher| {
        bencher.iter_custom(|times| timed(times, first_lock, drop))
    });
}

/// How long `act` takes so many times, without what `undo` takes.
fn timed<T>(times: u64, act: impl Fn() -> T, undo: impl Fn(T)) -> Duration {
    let once = |_| {
        let (took, made) = time(&act);
        undo(made);
        took
    };
    (0..times).map(once).sum()
}

fn time<T>(act: impl FnOnce() -> T) -> (Duration, T) {
    let began = Instant::now();
    let made = act();
    (began.elapsed(), made)
}

fn c(group: &mut Group, slots: usize) -> Result<(), String> {
    let c = CAbi::new()?;
    let in_use = Slots::new(slots);
    let mutexes: Vec<_> = in_use.paths().map(|path| c.open(&path)).collect();
    let mutex = mutexes[0];
    for mutex in &mutexes {
        (0..WARM).for_each(|_| mutex.unlock_after(mutex.lock()));
    }
    group.bench_function("C lock, unlock", |bencher| bencher.iter(|| mutex.unlock_after(mutex.lock())));
    group.bench_function("C try_lock", |bencher| bencher.iter(|| mutex.unlock_after(mutex.try_lock())));
    group.bench_function("C lock_for", |bencher| bencher.iter(|| mutex.unlock_after(mutex.lock_for(LIMIT))));
    for count in [2, 4] {
        let mut turns = mutexes.iter().take(count).cycle();
        group.bench_function(format!("C, {count} files in turn"), |bencher| {
            bencher.iter(|| turns.next().map(|mutex| mutex.unlock_after(mutex.lock())));
        });
    }
    (0..WARM).for_each(|_| mutex.read());
    group.bench_function("C read", |bencher| bencher.iter(|| mutex.read()));
    (0..WARM).for_each(|_| mutex.write());
    group.bench_function("C write", |bencher| bencher.iter(|| mutex.write()));
    (0..WARM).for_each(|_| mutex.permit());
    group.bench_function("C permit", |bencher| bencher.iter(|| mutex.permit()));
    for (held, name) in [
        (Held::Mutex, "C hold, mutex"),
        (Held::Read, "C hold, read"),
        (Held::Write, "C hold, write"),
        (Held::Permit, "C hold, permit"),
    ] {
        (0..WARM).for_each(|_| mutex.acquire_and_release(held));
        group.bench_function(name, |bencher| bencher.iter(|| mutex.acquire_and_release(held)));
    }
    mutexes.iter().for_each(c_abi::CMutex::close);
    Ok(())
}
