//! turnlock and its peers, measured in one run, interleaved, in separate processes.
//!
//! `cargo bench --bench contention` prints every table and a verdict, and writes every round as CSV and a plot.
//! `cargo bench --bench contention -- --help` says what is measured and how.

#![allow(missing_docs)]

mod contender;
mod plot;
mod table;
mod verdict;

use clap::Parser;
use harness::{
    contender::Contender,
    introduce, measure,
    round::Lengths,
    scenario::{SCENARIOS, Scenario},
    schedule::Schedule,
    write_csv,
};
use std::{path::PathBuf, process::ExitCode, time::Duration};

/// turnlock and its peers, in one run, interleaved
///
/// Every contender runs in processes of its own, which attach by themselves, warm up and then enter and leave for a
/// fixed time. The contenders of a cell follow each other directly, round after round, so that they share whatever
/// disturbs the machine. Tables go to standard output.
///
/// A table shows, for each contender: the median of the rounds with the least and the most; its ratio to the best peer
/// and to the robust mutex; how long one waited for the lock (all rounds together; a wait cannot be longer than a
/// round); how many cores the processes kept busy, and the processor time for one entry; for each hand-over (an entry
/// after another process's) the wake-ups (voluntary context switches) and all context switches, a yield to another
/// process included; Jain's index over windows of 100 ms (1: all entered equally often), the mean and the worst window.
///
/// In every section two plain words are updated, which must agree: if exclusion is violated, the run ends with an
/// error. That it would be noticed is shown first, with a lock that locks nothing.
///
/// Reading the clock costs more than some locks, so where sections are short the waits are timed in a part of the
/// round of their own. Lock + unlock alone is measured in processor time, since no process waits, and three times in
/// each round.
///
/// Work inside and outside of sections is counted in processor time, not in steps: a core whose neighbour is busy for
/// a while is slower, and long sections would measure that.
///
/// Absolute numbers belong to the machine. Compare rows of one run, on a machine that does nothing else.
#[derive(Parser)]
#[command(name = "contention", max_term_width = 100, bin_name = "cargo bench --bench contention --")]
struct Cli {
    /// One short round of everything, in less than 90 seconds: shows that all works, proves no close verdict
    #[arg(long)]
    quick: bool,

    /// Only this scenario (repeat for more); --list names them
    #[arg(long, value_name = "NAME", value_parser = known_scenario)]
    scenario: Vec<String>,

    /// Only contenders with this in their name (repeat for more), and the robust mutex
    #[arg(long, value_name = "TEXT")]
    contender: Vec<String>,

    /// How many rounds [default: 5, or 1 with --quick]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,

    /// Where to write every round as comma-separated values
    #[arg(long, value_name = "PATH", default_value_os_t = output("csv"))]
    csv: PathBuf,

    /// Where to write the plot, as SVG
    #[arg(long, value_name = "PATH", default_value_os_t = output("svg"))]
    plot: PathBuf,

    /// Name the scenarios and the contenders, and do nothing
    #[arg(long)]
    list: bool,

    /// What cargo says to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn output(ending: &str) -> PathBuf {
    harness::output(env!("CARGO_TARGET_TMPDIR"), "contention", ending)
}

fn known_scenario(name: &str) -> Result<String, String> {
    let names = SCENARIOS.each_ref().map(|scenario| scenario.name);
    if names.contains(&name) { Ok(name.into()) } else { Err(format!("there are {}", names.join(", "))) }
}

impl Cli {
    fn lengths(&self) -> Lengths {
        let ms = Duration::from_millis;
        if self.quick {
            Lengths { warm_up: ms(10), windows: 1, alone: ms(30), hand_over: ms(60), timed: ms(40) }
        } else {
            Lengths { warm_up: ms(20), windows: 2, alone: ms(60), hand_over: ms(150), timed: ms(100) }
        }
    }

    fn wants(&self, contender: &Contender) -> bool {
        self.contender.is_empty()
            || contender.name == contender::ROBUST
            || contender.is_named(&self.contender)
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut contenders = contender::all();
    if cli.list {
        list(&contenders);
        return ExitCode::SUCCESS;
    }
    contenders.retain(|contender| cli.wants(contender));
    match run(&cli, &contenders) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("contention: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli, contenders: &[Contender]) -> Result<(), String> {
    let environment = introduce();
    for (contender, why) in contenders.iter().filter_map(|one| Some((one.name, one.kind.as_ref().err()?))) {
        println!("\nAbsent: {contender}, {why}.");
    }
    let wanted = |name: &str| cli.scenario.is_empty() || cli.scenario.iter().any(|wanted| wanted == name);
    let scenarios = SCENARIOS.iter().filter(|scenario| wanted(scenario.name));
    let schedule = Schedule {
        cells: scenarios.flat_map(Scenario::cells).collect(),
        contenders,
        rounds: cli.rounds.map_or(if cli.quick { 1 } else { 5 }, usize::from),
    };
    let (results, others) = measure(&schedule, cli.lengths())?;
    print!("{}{}", table::print(&results), verdict::print(&results, others));
    write_csv(&results, &environment, &cli.csv)?;
    plot::draw(&results, &cli.plot).map_err(|error| format!("{}: {error}", cli.plot.display()))?;
    println!("\nEvery round: {}\nPlot: {}", cli.csv.display(), cli.plot.display());
    Ok(())
}

fn list(contenders: &[Contender]) {
    println!("Scenarios:");
    for scenario in &SCENARIOS {
        println!("  {:<28} {}", scenario.name, scenario.about);
    }
    println!("\nContenders:");
    for contender in contenders {
        let absent = contender.kind.as_ref().err().map_or(String::new(), |why| format!(" ({why})"));
        println!("  {:<28} {}{absent}", contender.name, contender.about);
    }
}
