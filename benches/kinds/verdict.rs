//! The bars that turnlock sets itself, and whether this run met them. Each is a ratio of medians of one run.

use crate::{
    cell::{BURST, Cell, INSIDE, MIXES, PERMITS, Task},
    contender::{C_ABI, POSIX, PREFERS_READERS, PREFERS_WRITERS, RUST, SYSV},
    results::{Results, Row},
};
use harness::{
    align::align,
    number::{count, digits},
};
use std::time::Duration;

/// Times the faster of the two `pthread_rwlock`s, where every process reads: from Rust, and through the C ABI.
const READS_ONLY: [f64; 2] = [3.0, 2.0];
/// Times the POSIX semaphore's time.
const MOST_TIME: f64 = 1.5;
/// More than this share of the machine, and what others did decides close bars, and some that are not close.
const TOO_BUSY: f64 = 0.05;

/// A bar, and how it came out.
struct Line {
    bar: String,
    /// `None`: this run did not measure it.
    outcome: Option<(bool, String)>,
}

/// `others` is the share of the machine that other programs took during the run.
pub fn print(results: &Results, others: Option<f64>) -> String {
    let lines = lines(results);
    let mut text = String::from("\n## Verdict\n\n");
    if let Some(share) = others {
        let so = if share > TOO_BUSY { ": TOO MUCH, this verdict does not count" } else { "" };
        text.push_str(&format!("Other programs took {:.1} % of the machine{so}.\n\n", share * 100.0));
    }
    let mut rows = vec![["bar", "verdict", "ratio: ours, theirs"].map(String::from).to_vec()];
    rows.extend(lines.iter().map(|Line { bar, outcome }| match outcome {
        Some((met, numbers)) => {
            vec![bar.clone(), if *met { "met" } else { "NOT MET" }.into(), numbers.clone()]
        }
        None => vec![bar.clone(), "not measured".into(), String::new()],
    }));
    align(&mut text, &rows).expect("a String takes everything");
    let count = |wanted: Option<bool>| {
        lines.iter().filter(|line| line.outcome.as_ref().map(|(met, _)| *met) == wanted).count()
    };
    let (met, not_met, not_measured) = (count(Some(true)), count(Some(false)), count(None));
    text + &format!("\n{met} met, {not_met} not met, {not_measured} not measured.\n")
}

fn lines(results: &Results) -> Vec<Line> {
    let rwlocks = [PREFERS_READERS, PREFERS_WRITERS];
    let mut lines = Vec::new();
    for reads in MIXES {
        for processes in [1, 2, 4, 8] {
            let cell =
                Cell { task: Task::ReadWrite { reads }, processes, inside: Duration::ZERO, alone: false };
            let least = if reads == 1000 { READS_ONLY } else { [1.0; 2] };
            for (ours, least) in [RUST, C_ABI].into_iter().zip(least) {
                lines.push(rate(results, &cell, ours, &rwlocks, "pthread_rwlock", least));
            }
        }
    }
    let alone = Cell { task: Task::Permit { permits: 1 }, processes: 1, inside: Duration::ZERO, alone: true };
    lines.extend([RUST, C_ABI].map(|ours| cost(results, &alone, ours, POSIX, MOST_TIME)));
    for inside in INSIDE {
        for permits in PERMITS {
            let cell = Cell { task: Task::Permit { permits }, processes: BURST, inside, alone: false };
            lines.extend([RUST, C_ABI].map(|ours| rate(results, &cell, ours, &[SYSV], SYSV, 1.0)));
        }
    }
    lines
}

/// Against the fastest of `theirs`, which are called `name` together.
fn rate(results: &Results, cell: &Cell, ours: &str, theirs: &[&str], name: &str, least: f64) -> Line {
    let medians = results.cell(cell).and_then(|found| {
        let best = theirs.iter().filter_map(|peer| found.row(peer)).map(Row::median).reduce(f64::max);
        Some((found.row(ours)?.median(), best?))
    });
    let outcome = medians.map(|(ours, theirs)| {
        let numbers = format!("{}: {}/s, {}/s", digits(ours / theirs), count(ours), count(theirs));
        (ours >= least * theirs, numbers)
    });
    Line { bar: format!("{}: {ours} >= {least} x {name}", cell.title()), outcome }
}

fn cost(results: &Results, cell: &Cell, ours: &str, theirs: &str, most: f64) -> Line {
    let rows = results.cell(cell).and_then(|found| Some([found.row(ours)?, found.row(theirs)?]));
    let outcome = rows.map(|rows| rows.map(Row::median)).map(|[ours, theirs]| {
        let numbers = format!("{}: {} ns, {} ns", digits(ours / theirs), digits(ours), digits(theirs));
        (ours <= most * theirs, numbers)
    });
    Line { bar: format!("{}: {ours} <= {most} x {theirs}", cell.title()), outcome }
}
