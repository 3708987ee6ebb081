//! The tables: one for each crowd, in Markdown whose columns also line up as plain text.

use crate::{
    results::{CrowdResults, Results, Row, Summary},
    run::{End, LONGEST_END, Members, Outcome},
};
use harness::{
    align::align,
    number::{NONE, digits, time},
};
use std::{fmt::Write, time::Duration};

pub fn print(results: &Results, limit: Duration) -> String {
    let mut text = String::new();
    for crowd in &results.crowds {
        part(&mut text, crowd, limit).expect("a String takes everything");
    }
    text
}

fn part(text: &mut String, results: &CrowdResults, limit: Duration) -> std::fmt::Result {
    writeln!(text, "\n### {}\n", results.crowd.title())?;
    let processes = results.crowd.members == Members::Processes;
    let mut heading = vec!["contender", "time / robust: median", "worst", "time an entry", "worst"];
    heading.extend(["switches an entry", "worst", "CPU an entry", "worst"]);
    heading.extend(["hand-overs", "p99.9 wait", "longest wait"]);
    if processes {
        heading.push("Jain, worst second");
    }
    heading.push("runs");
    let mut lines = vec![heading.into_iter().map(String::from).collect()];
    lines.extend(results.rows.iter().map(|row| line(results, row, processes, limit)));
    align(text, &lines)
}

fn line(results: &CrowdResults, row: &Row, processes: bool, limit: Duration) -> Vec<String> {
    let both = |of: Summary, show: fn(f64) -> String| {
        if of.most.is_nan() { [NONE.into(), NONE.into()] } else { [show(of.median), show(of.most)] }
    };
    let mut line = vec![row.name.to_owned()];
    line.extend(both(results.ratio(row), digits));
    line.extend(both(row.of(Outcome::pace), time));
    line.extend(both(row.of(Outcome::switches), digits));
    line.extend(both(row.of(Outcome::cpu_ns), time));
    let hand_overs = row.of(|run| run.hand_overs as f64 / run.entries as f64);
    line.push(digits(hand_overs.median));
    let wait = |ns: Option<u64>| ns.map_or(f64::NAN, |ns| ns as f64);
    line.push(time(row.of(|run| wait(run.waits.p999)).most));
    line.push(time(row.of(|run| wait(run.waits.max)).most));
    if processes {
        line.push(format!("{:.3}", row.of(|run| run.jain).least));
    }
    line.push(ends(row, limit));
    line
}

/// How many runs there were, and how many of them did not come to their end.
fn ends(row: &Row, limit: Duration) -> String {
    let mut text = row.runs.len().to_string();
    let not_done = format!("not done in {limit:?}");
    let hangs = format!("STILL INSIDE {LONGEST_END:?} after the stop");
    for (end, what) in [(End::NotDone, not_done), (End::Hangs, hangs)] {
        match row.ended(end) {
            0 => {}
            number => text.push_str(&format!("; {number} {what}")),
        }
    }
    text
}
