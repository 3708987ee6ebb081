//! What was measured, and as a table.

use super::super::{
    describe::{BAD, FAINT, STRONG},
    fit,
};
use std::fmt::Write;

/// Everything.
#[derive(Debug, serde::Serialize)]
pub struct Results {
    pub machine: Machine,
    pub seconds: f64,
    pub rounds: usize,
    pub contenders: Vec<Row>,
}

/// Where it was measured.
#[derive(Debug, serde::Serialize)]
pub struct Machine {
    pub processor: Option<String>,
    pub cores: usize,
    pub kernel: Option<String>,
    /// How many processes wanted to run before it began, on average of a minute.
    pub load: Option<f64>,
}

/// One contender's numbers: medians of the rounds.
#[derive(Debug, serde::Serialize)]
pub struct Row {
    pub name: &'static str,
    pub turnlock: bool,
    /// Nanoseconds for lock and unlock, one process alone.
    pub alone_nanoseconds: Option<f64>,
    pub contended: Vec<Contended>,
    /// Why numbers are missing.
    pub problem: Option<String>,
}

/// Several processes at one lock.
#[derive(Debug, serde::Serialize)]
pub struct Contended {
    pub processes: usize,
    /// Processor time that each spends outside between two entries, about.
    pub outside_nanoseconds: u64,
    pub entries_per_second: f64,
    pub fairness: f64,
    pub wait_p50_microseconds: f64,
    pub wait_p99_microseconds: f64,
    pub wait_max_microseconds: f64,
}

/// Returns the table, and what its columns mean.
pub fn text(results: &Results, columns: usize) -> String {
    let machine = &results.machine;
    let mut text = String::new();
    let name = machine.processor.as_deref().unwrap_or("processor not known");
    let kernel = machine.kernel.as_deref().unwrap_or("of some version");
    let about = format!(
        "{name}, {} cores, Linux {kernel}; {} rounds, {:.0} s",
        machine.cores, results.rounds, results.seconds
    );
    text += &fit::fit(&about, "", "  ", columns);
    if let Some(load) = machine.load.filter(|load| *load > 0.5) {
        let warning = format!(
            "{BAD}Others use this machine{BAD:#} (load {load:.1}): expect other numbers when it is quiet."
        );
        text += &fit::fit(&warning, "", "  ", columns);
    }
    let cells: Vec<&Contended> = results
        .contenders
        .iter()
        .map(|row| &row.contended)
        .max_by_key(|cells| cells.len())
        .map_or(Vec::new(), |cells| cells.iter().collect());
    let _ = write!(text, "\n{STRONG}{:24} {:>8}", "", "alone");
    for cell in &cells {
        let _ = write!(text, "  {:>20}", format!("{} processes", cell.processes));
    }
    let _ = write!(text, "{STRONG:#}\n{FAINT}{:24} {:>8}", "", "ns");
    for _ in &cells {
        let _ = write!(text, "  {:>6} {:>8} {:>4}", "M/s", "worst ms", "fair");
    }
    let _ = writeln!(text, "{FAINT:#}");
    for row in &results.contenders {
        let alone = row.alone_nanoseconds.map_or("-".into(), short);
        let _ = write!(text, "{:24} {alone:>8}", row.name);
        for cell in &row.contended {
            let (rate, wait) =
                (short(cell.entries_per_second / 1e6), short(cell.wait_max_microseconds / 1e3));
            let _ = write!(text, "  {rate:>6} {wait:>8} {:>4.2}", cell.fairness);
        }
        text.push('\n');
        if let Some(problem) = &row.problem {
            text += &fit::fit(&format!("{BAD}{problem}{BAD:#}"), "  ", "    ", columns);
        }
    }
    text.push('\n');
    let outside = cells.last().map_or(0, |cell| cell.outside_nanoseconds);
    let last = format!(
        "M/s: million entries a second, of all processes together; without a pause of two, and with about {outside} ns of work \
         outside of more"
    );
    for meaning in [
        "ns: nanoseconds for lock and unlock without another contender",
        &last,
        "worst ms: the longest wait that was seen, in milliseconds (each wait is timed then, which takes longer than some locks)",
        "fair: Jain's index, 1.00 if all processes entered equally often",
        "Compare rows of one run; numbers of a virtual or busy machine vary. `cargo bench` in turnlock's sources takes longer and \
         says more.",
    ] {
        text += &fit::fit(meaning, "  ", "    ", columns);
    }
    text
}

/// Three digits that count.
fn short(number: f64) -> String {
    match number {
        _ if number >= 99.95 => format!("{number:.0}"),
        _ if number >= 9.995 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}
