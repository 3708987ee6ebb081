//! The table: one part for each cell, in Markdown whose columns also line up as plain text.

use harness::{
    align::align,
    number::{NONE, count, digits, time},
    results::{CellResults, Results, Row},
    scenario::{Measure, Shape},
};
use std::fmt::Write;

const COLUMNS: usize = 14;

pub fn print(results: &Results) -> String {
    let mut text = String::new();
    for cell in &results.cells {
        part(&mut text, cell).expect("a String takes everything");
    }
    text
}

fn part(text: &mut String, results: &CellResults) -> std::fmt::Result {
    let cell = &results.cell;
    let measure = cell.scenario.measure();
    let best = results.best_peer();
    writeln!(text, "\n### {}\n", cell.title())?;
    let better = if measure.less_is_better() { "less" } else { "more" };
    let peer = best.map_or(String::new(), |best| format!(" Best peer: {}.", best.name));
    writeln!(text, "{}. {}: {better} is better.{peer}\n", cell.scenario.about, measure.text())?;
    let timed = if measure == Measure::Latency { "hand-over" } else { "wait" };
    let mut lines =
        vec![["contender", "median", "min .. max", "/ best peer", "/ robust"].map(String::from).to_vec()];
    lines[0].extend(["p50", "p99", "p99.9", "max"].map(|column| format!("{timed} {column}")));
    lines[0].extend(
        ["cores busy", "CPU an entry", "wake-ups / hand-over", "switches", "Jain (worst)"].map(String::from),
    );
    let robust = results.row(crate::contender::ROBUST).map(Row::median);
    for row in &results.rows {
        lines.push(match &row.absent {
            Some(why) => {
                let briefly = why.split(':').next().unwrap_or_default();
                let mut line = vec![row.name.into(), briefly.into()];
                line.resize(COLUMNS, NONE.into());
                line
            }
            None => line(row, measure, cell.scenario.shape, best.map(Row::median), robust),
        });
    }
    align(text, &lines)
}

fn line(row: &Row, measure: Measure, shape: Shape, best: Option<f64>, robust: Option<f64>) -> Vec<String> {
    let value = |value: f64| if measure == Measure::Rate { count(value) } else { digits(value) };
    let ratio = |to: Option<f64>| to.map_or(NONE.into(), |to| digits(row.median() / to));
    let wait = |ns: Option<u64>| ns.map_or(NONE.into(), |ns| time(ns as f64));
    let (least, most) = row.spread();
    let waits = row.waits();
    let (wake_ups, switches) = row.for_each_hand_over();
    let jain = match (shape, row.jain()) {
        (Shape::Alone, _) => NONE.into(),
        (_, (mean, worst)) => format!("{mean:.3} ({worst:.3})"),
    };
    vec![
        row.name.into(),
        value(row.median()),
        format!("{} .. {}", value(least), value(most)),
        ratio(best),
        ratio(robust),
        wait(waits.p50),
        wait(waits.p99),
        wait(waits.p999),
        wait(waits.max),
        digits(row.cores()),
        time(row.cpu_ns()),
        digits(wake_ups),
        digits(switches),
        jain,
    ]
}
