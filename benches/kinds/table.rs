//! The tables: one for each cell, in Markdown whose columns also line up as plain text.

use crate::results::{CellResults, Results, Row};
use harness::{
    align::align,
    number::{NONE, count, digits, time},
};
use std::fmt::Write;

pub fn print(results: &Results) -> String {
    let mut text = String::new();
    for field in &results.fields {
        for cell in &field.cells {
            part(&mut text, cell).expect("a String takes everything");
        }
    }
    text
}

fn part(text: &mut String, results: &CellResults) -> std::fmt::Result {
    writeln!(text, "\n### {}\n", results.cell.title())?;
    let best = results.best_peer();
    let peer = best.map_or(String::new(), |best| format!(" Best peer: {}.", best.name));
    writeln!(text, "{}.{peer}\n", results.cell.measure())?;
    let timed = results.cell.times_waits();
    let mut heading = vec!["contender", "median", "min .. max", "/ best peer", "cores busy", "CPU an entry"];
    if timed {
        heading.extend(["wait p50", "wait p99", "wait p99.9", "longest wait"]);
    }
    let mut lines = vec![heading.iter().map(|text| text.to_string()).collect::<Vec<_>>()];
    for row in &results.rows {
        let mut line = match &row.absent {
            Some(why) => vec![row.name.to_string(), why.clone()],
            None => line(row, results.cell.alone, best.map(Row::median)),
        };
        if timed && row.absent.is_none() {
            let waits = row.waits();
            let wait = |ns: Option<u64>| ns.map_or(NONE.into(), |ns| time(ns as f64));
            line.extend([waits.p50, waits.p99, waits.p999, waits.max].map(wait));
        }
        line.resize(heading.len(), NONE.into());
        lines.push(line);
    }
    align(text, &lines)
}

fn line(row: &Row, alone: bool, best: Option<f64>) -> Vec<String> {
    let value = |value: f64| if alone { digits(value) } else { count(value) };
    let (least, most) = row.spread();
    vec![
        row.name.into(),
        value(row.median()),
        format!("{} .. {}", value(least), value(most)),
        best.map_or(NONE.into(), |best| digits(row.median() / best)),
        digits(row.cores()),
        time(row.cpu_ns()),
    ]
}
