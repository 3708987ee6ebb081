//! Two hosts, at each a program that wants the lock again as soon as it has left.

use crate::{
    Options,
    engine::Etcd,
    host::{Host, hosts},
    table,
};
use support::actor::Actor;

/// For how long, in seconds.
const TIME: f64 = 5.0;

/// Prints its table.
pub fn measure(etcd: &Etcd, options: &Options) {
    let kinds: [(&str, &[&str]); 4] = [
        ("kept", &[]),
        ("kept, `--hold-most 200`", &["--hold-most", "200"]),
        ("leased", &["--lease", "10"]),
        ("leased, `--hold-most 200`", &["--lease", "10", "--hold-most", "200"]),
    ];
    let mut rows = Vec::new();
    for (at, (title, of)) in kinds.into_iter().enumerate() {
        let all = hosts(etcd, &format!("contended-{at}"), 2, of);
        let rounds: Vec<[f64; 4]> = (0..options.slow_rounds).map(|_| round(etcd, &all)).collect();
        let median = |at: usize| table::median(rounds.iter().map(|round| round[at]).collect());
        rows.push(vec![
            title.into(),
            format!("{:.1}", median(0)),
            format!("{:.0} %", median(1) * 100.0),
            format!("{:.0}", median(2)),
            format!("{:.1}", median(3)),
        ]);
    }
    let columns = [
        "two hosts contend",
        "hand-overs a second",
        "of the time in use",
        "entries a second",
        "requests to etcd each hand-over",
    ];
    table::print(&columns, &rows);
}

/// Hand-overs and entries a second, the share of time in use, and requests for each hand-over.
fn round(etcd: &Etcd, all: &[Host]) -> [f64; 4] {
    let before = etcd.requests();
    let mut contenders: Vec<Actor> =
        all.iter().map(|host| host.program("contender", &[&TIME.to_string()])).collect();
    let mut sum =
        |word: &str| -> f64 { contenders.iter_mut().map(|one| one.expect_number(word) as f64).sum() };
    let (entries, stays, in_use) = (sum("entries"), sum("stays"), sum("in-use"));
    let hand_overs = (stays - 1.0).max(1.0);
    [hand_overs / TIME, in_use / 1e6 / TIME, entries / TIME, (etcd.requests() - before) as f64 / hand_overs]
}
