//! Hosts whose programs read all the time.

use crate::{
    Options,
    engine::Etcd,
    host::{Host, hosts, hosts_with_rwlock},
    table,
};
use support::actor::Actor;

/// For how long, in seconds.
const TIME: f64 = 5.0;
/// Between two entries of one that also writes, in milliseconds; 0: none does.
const WRITES: [u64; 3] = [0, 1_000, 100];

/// Prints its table.
pub fn measure(etcd: &Etcd, options: &Options) {
    let mut rows = Vec::new();
    let mut row = |title: String, all: &[Host], writes: Option<u64>| {
        let rounds: Vec<[f64; 2]> = (0..options.slow_rounds).map(|_| round(etcd, all, writes)).collect();
        let median = |at: usize| table::median(rounds.iter().map(|round| round[at]).collect());
        rows.push(vec![title, format!("{:.0}", median(0)), format!("{:.0}", median(1))]);
    };
    row("a mutex, kept".into(), &hosts(etcd, "read-mutex", 3, &[]), None);
    for (mode, of) in [("kept", &[][..]), ("leased", &["--lease", "10"])] {
        let all = hosts_with_rwlock(etcd, &format!("read-{mode}"), 3, of);
        for writes in WRITES {
            let title = match writes {
                0 => format!("a rwlock, {mode}"),
                often => format!("written by one of them every {often} ms"),
            };
            row(title, &all, Some(writes));
        }
    }
    let columns = [
        "a program at each of three hosts enters all the time",
        "entries a second",
        "requests to etcd a second",
    ];
    table::print(&columns, &rows);
}

/// Entries and requests a second. `writes`: they read, and the first one also writes, so often.
fn round(etcd: &Etcd, all: &[Host], writes: Option<u64>) -> [f64; 2] {
    let begin = |(at, host): (usize, &Host)| match writes {
        None => host.program("contender", &[&TIME.to_string()]),
        Some(often) => {
            let often = if at == 0 { often } else { 0 };
            host.program("reader", &[&TIME.to_string(), &often.to_string()])
        }
    };
    let before = etcd.requests();
    let mut programs: Vec<Actor> = all.iter().enumerate().map(begin).collect();
    let mut sum = |word: &str| -> f64 { programs.iter_mut().map(|one| one.expect_number(word) as f64).sum() };
    let entries = sum("entries");
    if writes.is_none() {
        for word in ["stays", "in-use"] {
            sum(word);
        }
    }
    [entries / TIME, (etcd.requests() - before) as f64 / TIME]
}
