//! An entry at a linked lock that is home, beside one at a lock that is not linked, in a file in which another process takes part, too.

use crate::{
    Options,
    engine::Etcd,
    host::{Host, MODES, hosts},
    table,
};
use nix::time::ClockId;
use std::{
    thread,
    time::{Duration, Instant},
};
use support::actor::Actor;
use turnlock::{LockFile, Mutex};

const ENTRIES: u32 = 200_000;

/// Prints its table.
pub fn measure(etcd: &Etcd, options: &Options) {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = folder.path().join("plain.lock");
    let plain = LockFile::open(&path).unwrap().mutex("plain").unwrap();
    let mut other = Actor::start("opener", &[path.to_str().unwrap()]);
    other.expect_number("open");
    let linked: Vec<(&str, Host)> = MODES
        .iter()
        .map(|(mode, of)| (*mode, hosts(etcd, &format!("home-{mode}"), 1, of).remove(0)))
        .collect();
    let mutexes: Vec<Mutex> = linked.iter().map(|(_, host)| host.mutex()).collect();
    // It is home then, and biased, if it can be.
    for mutex in mutexes.iter().chain([&plain]) {
        entry(mutex);
    }
    thread::sleep(Duration::from_secs(1));
    let mut nanoseconds = vec![Vec::new(); mutexes.len() + 1];
    let mut requests = vec![0; mutexes.len()];
    let began = Instant::now();
    // In turn, so that what else the machine does meets all.
    for _ in 0..options.rounds {
        nanoseconds[0].push(entry(&plain));
        for (at, mutex) in mutexes.iter().enumerate() {
            nanoseconds[at + 1].push(entry(mutex));
        }
    }
    // Alone, so that what the others ask is not counted.
    drop(mutexes);
    let taken = began.elapsed();
    drop(linked);
    for (at, (mode, of)) in MODES.iter().enumerate() {
        let host = hosts(etcd, &format!("count-{mode}"), 1, of).remove(0);
        let mutex = host.mutex();
        entry(&mutex);
        // What comes after the lock is home.
        thread::sleep(Duration::from_secs(2));
        let (before, since) = (etcd.requests(), Instant::now());
        while since.elapsed() < taken.max(Duration::from_secs(10)) {
            entry(&mutex);
        }
        requests[at] =
            ((etcd.requests() - before) as f64 / since.elapsed().as_secs_f64() * 100.0).round() as u64;
    }
    let medians: Vec<f64> = nanoseconds.into_iter().map(table::median).collect();
    let mut rows =
        vec![vec!["not linked, beside another process".into(), ns(medians[0]), "1.00".into(), "-".into()]];
    for (at, (mode, _)) in MODES.iter().enumerate() {
        let (entry, requests) = (medians[at + 1], requests[at] as f64 / 100.0);
        rows.push(vec![
            format!("linked, home, {mode}"),
            ns(entry),
            format!("{:.2}", entry / medians[0]),
            format!("{requests}"),
        ]);
    }
    table::print(
        &["lock and unlock, Rust", "median of the rounds", "ratio", "requests to etcd a second, meanwhile"],
        &rows,
    );
}

fn ns(nanoseconds: f64) -> String {
    format!("{nanoseconds:.2} ns")
}

/// Returns how many nanoseconds of processor time an entry takes: what else the machine does is not in it.
fn entry(mutex: &Mutex) -> f64 {
    let began = processor_time();
    for _ in 0..ENTRIES {
        mutex.lock().unwrap().unlock().unwrap();
    }
    (processor_time() - began).as_secs_f64() * 1e9 / f64::from(ENTRIES)
}

fn processor_time() -> Duration {
    ClockId::CLOCK_THREAD_CPUTIME_ID.now().unwrap().into()
}
