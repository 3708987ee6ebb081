//! The bars that turnlock sets itself, and whether this run met them. Each is a ratio of numbers of one run.

use crate::contender::{C_ABI, PI, PING_PONG, ROBUST, RUST, STRICT, TICKET};
use harness::{
    number::{count, digits, time},
    results::{Results, Row},
    scenario::SCENARIOS,
};
use std::fmt::Write;

/// The default one.
const PATIENCE_NS: u64 = turnlock::DEFAULT_PATIENCE.as_nanos() as u64;

const TAKES_ALL: &str = "a String takes everything";

/// One line of the verdict.
struct Line {
    bar: String,
    /// `None`: this run did not measure it.
    outcome: Option<Outcome>,
}

struct Outcome {
    met: bool,
    numbers: String,
}

/// More than this share of the machine, and what others did decides close bars, and some that are not close.
const TOO_BUSY: f64 = 0.05;

/// `others` is the share of the machine that other programs took during the run.
pub fn print(results: &Results, others: Option<f64>) -> String {
    let lines = Judge(results).lines();
    let mut text = String::from("\n## Verdict\n\n");
    if let Some(share) = others {
        let so = if share > TOO_BUSY { ": TOO MUCH, this verdict does not count" } else { "" };
        writeln!(text, "Other programs took {:.1} % of the machine{so}.\n", share * 100.0).expect(TAKES_ALL);
    }
    let width = lines.iter().map(|line| line.bar.chars().count()).max().unwrap_or(0);
    writeln!(text, "| {:<width$} | {:<12} | ratio: ours, theirs |", "bar", "verdict").expect(TAKES_ALL);
    writeln!(text, "|{}|--------------|---|", "-".repeat(width + 2)).expect(TAKES_ALL);
    for Line { bar, outcome } in &lines {
        let (word, numbers) = match outcome {
            Some(Outcome { met: true, numbers }) => ("met", numbers.as_str()),
            Some(Outcome { met: false, numbers }) => ("NOT MET", numbers.as_str()),
            None => ("not measured", ""),
        };
        let line = format!("| {bar:<width$} | {word:<12} | {numbers} |");
        writeln!(text, "{line}").expect(TAKES_ALL);
    }
    let count = |wanted: Option<bool>| {
        lines.iter().filter(|line| line.outcome.as_ref().map(|outcome| outcome.met) == wanted).count()
    };
    let (met, not_met, not_measured) = (count(Some(true)), count(Some(false)), count(None));
    text + &format!("\n{met} met, {not_met} not met, {not_measured} not measured.\n")
}

struct Judge<'a>(&'a Results);

impl Judge<'_> {
    fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for slots in [1, 128] {
            for (contender, most) in [(RUST, 0.2), (C_ABI, 0.35)] {
                lines.push(self.cost(contender, slots, most));
            }
        }
        for processes in [2, 4, 8] {
            lines.push(self.burst(processes));
        }
        for processes in [2, 4, 8] {
            lines.push(self.rate("think", processes, RUST, ROBUST, 0.97));
        }
        for scenario in ["long-20us", "long-1ms"] {
            for processes in [2, 4, 8, 16] {
                lines.push(self.rate(scenario, processes, RUST, ROBUST, 0.98));
                lines.push(self.longest_waits(scenario, processes));
                lines.push(self.promised_waits(scenario, processes));
            }
        }
        lines.push(self.rate("burst", 2, STRICT, TICKET, 1.0));
        lines.push(self.rate("burst", 8, STRICT, TICKET, 1.0));
        lines.push(self.rate("burst", 8, STRICT, PI, 1.0));
        for contender in [RUST, STRICT] {
            lines.push(self.hand_over(contender));
        }
        lines
    }

    /// Two contenders in the same cell.
    fn pair(
        &self,
        scenario: &str,
        processes: usize,
        slots: usize,
        ours: &str,
        theirs: &str,
    ) -> Option<[&Row; 2]> {
        let row = |contender| self.0.row(scenario, processes, slots, contender);
        Some([row(ours)?, row(theirs)?])
    }

    fn cost(&self, contender: &str, slots: usize, most: f64) -> Line {
        let outcome = self.pair("uncontended", 1, slots, contender, ROBUST).map(|[ours, theirs]| {
            let ratio = ours.median() / theirs.median();
            Outcome {
                met: ratio <= most,
                numbers: format!(
                    "{}: {} ns, {} ns",
                    digits(ratio),
                    digits(ours.median()),
                    digits(theirs.median())
                ),
            }
        });
        let unit = if slots == 1 { "slot" } else { "slots" };
        Line { bar: format!("uncontended, {slots} {unit}: {contender} <= {most} x {ROBUST}"), outcome }
    }

    fn rate(&self, scenario: &str, processes: usize, ours: &str, theirs: &str, least: f64) -> Line {
        let bar = format!("{scenario}, {processes} processes: {ours} >= {least} x {theirs}");
        let pair = self.pair(scenario, processes, processes, ours, theirs);
        let outcome = pair.map(|[ours, theirs]| rates(ours, theirs, least));
        Line { bar, outcome }
    }

    fn burst(&self, processes: usize) -> Line {
        let line = self.rate("burst", processes, RUST, ROBUST, 5.0);
        let row = self.0.row("burst", processes, processes, RUST);
        let outcome = line.outcome.zip(row).map(|(outcome, row)| {
            let (mean, worst) = row.jain();
            Outcome {
                met: outcome.met && mean >= 0.97,
                numbers: format!("{}; Jain {mean:.3}, worst window {worst:.3}", outcome.numbers),
            }
        });
        Line { bar: format!("{}, Jain >= 0.97", line.bar), outcome }
    }

    fn longest_waits(&self, scenario: &str, processes: usize) -> Line {
        let pair = self.pair(scenario, processes, processes, RUST, ROBUST);
        let waits = pair.and_then(|[ours, theirs]| ours.waits().p999.zip(theirs.waits().p999));
        let outcome = waits.map(|(ours, theirs)| Outcome {
            met: ours <= theirs,
            numbers: format!("{}, {}", time(ours as f64), time(theirs as f64)),
        });
        Line { bar: format!("{scenario}, {processes} processes: {RUST}'s p99.9 wait <= {ROBUST}'s"), outcome }
    }

    /// No process waits longer than the patience plus, for each one ahead, a section and a hand-over.
    fn promised_waits(&self, scenario: &str, processes: usize) -> Line {
        let row = self.0.row(scenario, processes, processes, RUST);
        let sleeping = self.0.row("hand-over-asleep", processes, processes, RUST);
        let inside = SCENARIOS.iter().find(|one| one.name == scenario).map_or(0, |one| one.inside);
        let waits = row.and_then(|row| row.waits().p999).zip(sleeping.and_then(|row| row.waits().p99));
        let outcome = waits.map(|(wait, hand_over)| {
            let promised = PATIENCE_NS + (processes as u64 - 1) * (inside + hand_over);
            Outcome {
                met: wait <= promised,
                numbers: format!("{}, {}", time(wait as f64), time(promised as f64)),
            }
        });
        Line {
            bar: format!(
                "{scenario}, {processes} processes: {RUST}'s p99.9 wait <= patience + others x (section + hand-over)"
            ),
            outcome,
        }
    }

    fn hand_over(&self, contender: &str) -> Line {
        let outcome = self.pair("hand-over", 2, 2, contender, PING_PONG).map(|[ours, theirs]| {
            let ratio = ours.median() / theirs.median();
            Outcome {
                met: ratio <= 3.0,
                numbers: format!("{}: {}, {}", digits(ratio), time(ours.median()), time(theirs.median())),
            }
        });
        Line { bar: format!("hand-over, 2 processes: {contender} <= 3 x {PING_PONG}"), outcome }
    }
}

fn rates(ours: &Row, theirs: &Row, least: f64) -> Outcome {
    let (ours, theirs) = (ours.median(), theirs.median());
    Outcome {
        met: ours >= least * theirs,
        numbers: format!("{}: {}/s, {}/s", digits(ours / theirs), count(ours), count(theirs)),
    }
}
