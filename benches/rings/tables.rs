//! Two tables for each group of cells: the time for a hand-over, and the turns each second, against the number of
//! machines.

use harness::{
    align::align,
    number::{count, digits},
    results::{CellResults, Results, RoundResult, Row},
    statistics::{median, spread},
};
use std::fmt::Write;

pub fn print(results: &Results, others: Option<f64>) -> String {
    let mut text = String::new();
    let kind = |cell: &CellResults| (cell.cell.processes, cell.cell.idle() > 0);
    // A ring without absent machines has none that are attached either: it begins the first group of its kind.
    for group in results.cells.chunk_by(|a, b| kind(a) == kind(b)) {
        part(&mut text, group).expect("a String takes everything");
    }
    if let Some(share) = others {
        text.push_str(&format!("\nOther programs took {:.1} % of the machine.\n", share * 100.0));
    }
    text
}

fn part(text: &mut String, group: &[CellResults]) -> std::fmt::Result {
    let (processes, attached) = (group[0].cell.processes, group[0].cell.idle() > 0);
    let absent = if attached { "attached, and want no turn" } else { "were never there" };
    writeln!(text, "\n### {processes} processes take turns; the other machines {absent}")?;
    // Infinite, if there was none in a round.
    let pace = |round: &RoundResult| round.value;
    let turns = |round: &RoundResult| round.entries as f64 / round.seconds;
    writeln!(text, "\nTime for each hand-over, ns: median (least .. most) of the rounds; less is better.\n")?;
    align(text, &lines(group, pace, digits))?;
    writeln!(text, "\nTurns each second: more is better.\n")?;
    align(text, &lines(group, turns, count))
}

fn lines(group: &[CellResults], of: fn(&RoundResult) -> f64, show: fn(f64) -> String) -> Vec<Vec<String>> {
    let heading = |cell: &CellResults| format!("n = {}", cell.cell.machines.unwrap_or_default());
    let mut lines = vec![vec!["contender".to_owned()]];
    lines[0].extend(group.iter().map(heading));
    for (number, row) in group[0].rows.iter().enumerate() {
        let mut line = vec![row.name.to_owned()];
        line.extend(group.iter().map(|cell| in_words(&cell.rows[number], of, show)));
        lines.push(line);
    }
    lines
}

fn in_words(row: &Row, of: fn(&RoundResult) -> f64, show: fn(f64) -> String) -> String {
    let values = || row.rounds.iter().map(of);
    let (least, most) = spread(values());
    format!("{} ({} .. {})", show(median(values())), show(least), show(most))
}
