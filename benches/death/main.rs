//! How long after `kill -9` of a holder it is noticed, and what the time goes to.
//!
//! `cargo bench --bench death` prints a table; `cargo bench --bench death -- --help` says what is measured and how.

#![allow(missing_docs)]

mod holder;
mod many;
mod page;
mod robust_futex;
mod trial;
mod victim;

use clap::Parser;
use harness::{introduce, statistics};
use holder::{Child, Holder, Keeping};
use std::process::ExitCode;
use trial::{Moments, NAMES};

/// How long after `kill -9` of a holder it is noticed, and what the time goes to
///
/// A holder, a process of its own with so much memory that it has written to, is killed while a waiter has waited for a
/// few milliseconds. Counted from before the signal is sent, in milliseconds:
///
/// - futex: a robust futex that the holder's thread had, too, is marked by the kernel as its dead owner's
///
/// - byte lock: the holder's slot is free for every process to see
///
/// - waiter: the waiter has the lock, and is told of the death
///
/// - pidfd: poll says that the process has ended
///
/// - waitpid: its parent has the process's status
///
/// The first two are looked at every 20 microseconds. Each cell is the median, and in brackets the most. A slot is kept by
/// a mapping, as usual, or by a descriptor. A child, where there is one, shares all memory and stands where vfork's stands
/// before its exec; it lives on for 300 milliseconds after the kill or so.
///
/// Then many die: a holder (or those inside) and all that wait behind it, killed together; waiters, killed one by one while
/// another process holds the lock, which then unlocks; workers that are killed and replaced for four seconds, then left alone.
/// Counted is for how long the lock stands free: after the last death until the one waiter that lives has it, or after the
/// unlock; for the workers the longest time that none was inside, in three seconds of calm. Death policy *release*, and the
/// robust mutex of the C library beside.
#[derive(Parser)]
#[command(name = "death", max_term_width = 100, bin_name = "cargo bench --bench death --")]
struct Cli {
    /// One trial of each
    #[arg(long)]
    quick: bool,

    /// How many trials of each [default: 9, or 1 with --quick]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    trials: Option<u16>,

    /// How much memory the holder has, in MiB (repeat for more) [default: 0, 64, 256, 1024]
    #[arg(long, value_name = "MIB")]
    memory: Vec<u64>,

    /// Only rows in which many die
    #[arg(long, conflicts_with = "memory")]
    many: bool,

    /// Of the rows in which many die only those with this in their names
    #[arg(long, value_name = "WORDS", default_value = "")]
    rows: String,

    /// What cargo says to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

const MEMORY: [u64; 4] = [0, 64, 256, 1024];

fn main() -> ExitCode {
    holder::play_if_asked();
    victim::play_if_asked();
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("death: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Every kind of holder that fits, and one without memory but with a child.
fn holders(sizes: &[u64]) -> Vec<Holder> {
    let mut holders = Vec::new();
    for &mebibytes in sizes {
        if !fits(mebibytes) {
            println!("Left out: {mebibytes} MiB, which do not fit.");
            continue;
        }
        for keeping in [Keeping::Mapping, Keeping::Descriptor] {
            holders.push(Holder { mebibytes, keeping, child: Child::None });
        }
    }
    for keeping in [Keeping::Mapping, Keeping::Descriptor] {
        holders.push(Holder { mebibytes: 0, keeping, child: Child::SharesMemory });
    }
    holders
}

/// With a quarter to spare.
fn fits(mebibytes: u64) -> bool {
    let information = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available =
        information.lines().find_map(|line| line.strip_prefix("MemAvailable:")?.split_whitespace().next());
    let available = available.and_then(|kibibytes| kibibytes.parse().ok()).unwrap_or(0) / 1024;
    mebibytes + mebibytes / 4 <= available
}

fn run(cli: &Cli) -> Result<(), String> {
    introduce();
    let trials = cli.trials.map_or(if cli.quick { 1 } else { 9 }, usize::from);
    if !cli.many {
        show_one_death(cli, trials)?;
    }
    show_many_deaths(cli, trials)
}

fn show_one_death(cli: &Cli, trials: usize) -> Result<(), String> {
    let sizes = if cli.memory.is_empty() { &MEMORY[..] } else { &cli.memory };
    println!("\nMilliseconds after the kill: median (most) of {trials}\n");
    println!("| memory, MiB | kept by | child | {} |", NAMES.join(" | "));
    println!("|---|---|---|{}", "---|".repeat(NAMES.len()));
    for holder in holders(sizes) {
        let trials = (0..trials).map(|_| trial::run(&holder)).collect::<Result<Vec<Moments>, _>>()?;
        let cell = |moment: usize| {
            let of_all = || trials.iter().map(|moments| moments[moment].as_secs_f64() * 1e3);
            format!("{:.2} ({:.2})", statistics::median(of_all()), statistics::spread(of_all()).1)
        };
        let cells: Vec<_> = (0..NAMES.len()).map(cell).collect();
        println!("| {} | {} | {} | {} |", holder.mebibytes, holder.keeping, holder.child, cells.join(" | "));
    }
    Ok(())
}

/// Takes less trials: many deaths take long.
fn show_many_deaths(cli: &Cli, trials: usize) -> Result<(), String> {
    let trials = cli.trials.map_or_else(|| trials.div_ceil(3), usize::from);
    println!("\nMilliseconds that the lock stands free after many deaths: median (most) of {trials}\n");
    println!("| who dies | free |\n|---|---|");
    for row in many::rows(cli.quick).iter().filter(|row| row.name.contains(&cli.rows)) {
        let took = (0..trials).map(|_| row.run()).collect::<Result<Vec<_>, _>>();
        let took = took.map_err(|error| format!("{}: {error}", row.name))?;
        let of_all = || took.iter().map(|time| time.as_secs_f64() * 1e3);
        println!(
            "| {} | {:.1} ({:.1}) |",
            row.name,
            statistics::median(of_all()),
            statistics::spread(of_all()).1
        );
    }
    Ok(())
}
