//! What a hand-over costs in each turn ring, beside the bakery, and how that grows with the number of machines.
//!
//! `cargo bench --bench rings` prints the tables and writes every round as CSV; `cargo bench --bench rings -- --help`
//! says what is measured and how. Processes, rounds and checks are those of the bench `contention`.

#![allow(missing_docs)]

mod contender;
mod tables;

use clap::Parser;
use harness::{
    introduce, measure,
    round::Lengths,
    scenario::{Cell, Hogs, Scenario, Shape},
    schedule::Schedule,
    write_csv,
};
use std::{path::PathBuf, process::ExitCode, time::Duration};

/// The turn rings' hand-over against the number of machines, beside the bakery's
///
/// Two processes (with a core for each, where there are two cores), or four, lock and unlock all the time; the section
/// is two words that must agree, and it notes who was in last. The lock file is made for n participants: a ring of n
/// machines, n - 2 or n - 4 of which are absent. Absent ones were never there (no slot beyond the processes' was ever
/// in use), or they are attached and want no turn, which makes every look at all slots longer.
///
/// Each table has, for each n, the median of the rounds and the least and the most of them. The time for a hand-over is
/// the time of the round through the number of turns that came from another process, so it includes lock, section,
/// unlock and the way to the other processor. Members hand over at every turn; on demand one may come again
/// before the other has asked, and a bakery with patience mostly lets the same one in again: compare both tables.
///
/// The contenders follow each other directly, round after round. Absolute numbers belong to the machine. Compare rows
/// of one run, on a machine that does nothing else.
#[derive(Parser)]
#[command(name = "rings", max_term_width = 100, bin_name = "cargo bench --bench rings --")]
struct Cli {
    /// One round of everything: shows that all works
    #[arg(long)]
    quick: bool,

    /// How many rounds [default: 7, or 1 with --quick]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,

    /// Only contenders with this in their name (repeat for more)
    #[arg(long, value_name = "TEXT")]
    contender: Vec<String>,

    /// Where to write every round as comma-separated values
    #[arg(long, value_name = "PATH", default_value_os_t = output())]
    csv: PathBuf,

    /// What cargo says to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn output() -> PathBuf {
    harness::output(env!("CARGO_TARGET_TMPDIR"), "rings", "csv")
}

static RELAY: Scenario = Scenario {
    name: "relay",
    about: "lock, an empty section (two words, and who was in), unlock, nothing between",
    shape: Shape::Relay,
    inside: 0,
    outside: 0,
    hogs: Hogs::None,
    times_apart: true,
    sizes: &[],
};

/// One table for each of these: processes, whether the absent machines are attached, and the numbers of machines.
const GROUPS: [(usize, bool, &[u32]); 4] = [
    (2, false, &[2, 4, 8, 16, 32, 64]),
    (2, true, &[4, 16, 64]),
    (4, false, &[4, 16, 64]),
    (4, true, &[16, 64]),
];

fn cells() -> Vec<Cell> {
    let cell = |processes, attached, machines: u32| Cell {
        scenario: &RELAY,
        processes,
        slots: if attached { machines as usize } else { processes },
        machines: Some(machines),
    };
    let group = |(processes, attached, machines): (usize, bool, &'static [u32])| {
        machines.iter().map(move |machines| cell(processes, attached, *machines))
    };
    GROUPS.into_iter().flat_map(group).collect()
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rings: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<(), String> {
    let environment = introduce();
    let mut contenders = contender::all();
    contenders.retain(|contender| cli.contender.is_empty() || contender.is_named(&cli.contender));
    let schedule = Schedule {
        cells: cells(),
        contenders: &contenders,
        rounds: cli.rounds.map_or(if cli.quick { 1 } else { 7 }, usize::from),
    };
    let ms = Duration::from_millis;
    let lengths = Lengths { warm_up: ms(10), windows: 1, alone: ms(0), hand_over: ms(0), timed: ms(0) };
    let (results, others) = measure(&schedule, lengths)?;
    print!("{}", tables::print(&results, others));
    write_csv(&results, &environment, &cli.csv)?;
    println!("\nEvery round: {}", cli.csv.display());
    Ok(())
}
