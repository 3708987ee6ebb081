//! Readers and writers, groups, permits, ranges and keys, beside what else a program could take, in one run, interleaved, in
//! separate processes.
//!
//! `cargo bench --bench kinds` prints every table and a verdict, and writes every round as CSV and a plot.
//! `cargo bench --bench kinds -- --help` says what is measured and how.

#![allow(missing_docs)]

mod cell;
mod contender;
mod csv;
mod plot;
mod results;
mod run;
mod table;
mod verdict;
mod worker;

use clap::Parser;
use contender::{Contender, Field};
use harness::{introduce, others::Others, process, progress::Progress, schedule::order};
use results::Results;
use run::{Ground, Lengths};
use std::{path::PathBuf, process::ExitCode, time::Duration};

/// turnlock's rwlock, group lock, semaphore, range and keyed lock, and their peers, in one run, interleaved
///
/// Every contender runs in processes of its own, which attach by themselves, warm up and then enter and leave for a fixed
/// time. The contenders of a cell follow each other directly, round after round, so that they share whatever disturbs the
/// machine. Tables go to standard output.
///
/// A table shows, for each contender: the median of the rounds with the least and the most; its ratio to the best peer; how
/// many cores the processes kept busy, and the processor time for one entry; where a process may wait, how long writers
/// (or those that want a permit, or to enter as a member) waited, of all rounds together. Waits are timed in a part of the round of their own,
/// since reading the clock costs more than some locks; a wait that began before that part is not counted, and one that
/// began in it lasts at most until the round is over and the others have left.
///
/// Of group locks the nearest peer is a `pthread_rwlock`: one group alone reads; of two the first reads and the second
/// writes, one at a time, where turnlock has the members of either inside together.
///
/// Readers compare two words that writers change one after the other; a holder of a permit says so, and now and then
/// counts the others that do, and a member of a group looks so for those of another; each part has two words of its own. If exclusion is violated, the run ends with an error.
/// That it would be noticed is shown first, with a lock that locks nothing.
///
/// Absolute numbers belong to the machine. Compare rows of one run, on a machine that does nothing else.
#[derive(Parser)]
#[command(name = "kinds", max_term_width = 100, bin_name = "cargo bench --bench kinds --")]
struct Cli {
    /// One short round of everything, in less than a minute: shows that all works, proves no close verdict
    #[arg(long)]
    quick: bool,

    /// Only this kind (rwlock, group, semaphore or parts; repeat for more)
    #[arg(long, value_name = "NAME", value_parser = ["rwlock", "group", "semaphore", "parts"])]
    kind: Vec<String>,

    /// Only cells with this in their title (repeat for more)
    #[arg(long, value_name = "TEXT")]
    cell: Vec<String>,

    /// How many rounds [default: 5, or 1 with --quick]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,

    /// Where to write every round as comma-separated values
    #[arg(long, value_name = "PATH", default_value_os_t = output("csv"))]
    csv: PathBuf,

    /// Where to write the plot, as PNG
    #[arg(long, value_name = "PATH", default_value_os_t = output("png"))]
    plot: PathBuf,

    /// Name the cells and the contenders, and do nothing
    #[arg(long)]
    list: bool,

    /// What cargo says to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn output(ending: &str) -> PathBuf {
    harness::output(env!("CARGO_TARGET_TMPDIR"), "kinds", ending)
}

impl Cli {
    fn lengths(&self) -> Lengths {
        let ms = Duration::from_millis;
        if self.quick {
            Lengths { warm_up: ms(15), counted: ms(60), timed: ms(60) }
        } else {
            Lengths { warm_up: ms(30), counted: ms(200), timed: ms(150) }
        }
    }

    fn fields(&self) -> Vec<Field> {
        let mut fields = contender::fields();
        fields.retain(|field| self.kind.is_empty() || self.kind.iter().any(|kind| kind == field.name));
        for field in &mut fields {
            let wanted =
                |title: &str| self.cell.is_empty() || self.cell.iter().any(|text| title.contains(text));
            field.cells.retain(|cell| wanted(&cell.title()));
        }
        fields.retain(|field| !field.cells.is_empty());
        fields
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let fields = cli.fields();
    if cli.list {
        fields.iter().for_each(list);
        return ExitCode::SUCCESS;
    }
    match run(&cli, &fields) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kinds: {error}");
            ExitCode::FAILURE
        }
    }
}

fn list(field: &Field) {
    println!("{}:", field.name);
    field.cells.iter().for_each(|cell| println!("  {}", cell.title()));
    println!("  by");
    for Contender { name, about, kind, .. } in &field.contenders {
        let absent = kind.as_ref().err().map_or(String::new(), |why| format!(" ({why})"));
        println!("  {name:<28} {about}{absent}");
    }
}

fn run(cli: &Cli, fields: &[Field]) -> Result<(), String> {
    let environment = introduce();
    let lengths = cli.lengths();
    let rounds = cli.rounds.map_or(if cli.quick { 1 } else { 5 }, usize::from);
    let once = fields
        .iter()
        .flat_map(|field| field.cells.iter().map(|cell| lengths.of(cell) * field.contenders.len() as u32));
    eprintln!("{rounds} rounds of {:.0} seconds", once.sum::<Duration>().as_secs_f64() * 1.1);
    let ground = Ground { lengths, cores: process::cores() };
    ground.check()?;
    let began = Others::look();
    let results = measure(fields, &ground, rounds)?;
    let others = Others::look().share_since(&began);
    print!("{}{}", table::print(&results), verdict::print(&results, others));
    csv::write(&results, &environment.to_string(), &cli.csv)
        .map_err(|error| format!("{}: {error}", cli.csv.display()))?;
    plot::draw(&results, &cli.plot).map_err(|error| format!("{}: {error}", cli.plot.display()))?;
    println!("\nEvery round: {}\nPlot: {}", cli.csv.display(), cli.plot.display());
    Ok(())
}

/// Round by round through all cells, in each cell one contender after the other.
fn measure(fields: &[Field], ground: &Ground, rounds: usize) -> Result<Results, String> {
    let mut results = Results::new(fields);
    let mut progress = Progress::new(rounds * fields.iter().map(|field| field.cells.len()).sum::<usize>());
    for round in 0..rounds {
        for (field, found) in fields.iter().zip(&mut results.fields) {
            for (cell, found) in field.cells.iter().zip(&mut found.cells) {
                progress.show(&format!("round {} of {rounds}: {}", round + 1, cell.title()));
                for number in order(field.contenders.len(), round) {
                    let Contender { name, kind, .. } = &field.contenders[number];
                    let Ok(kind) = kind else { continue };
                    let outcome = ground.round(kind.as_ref(), cell).map_err(|why| {
                        progress.end();
                        format!("{name}, {}: {why}", cell.title())
                    })?;
                    found.rows[number].push(outcome);
                }
            }
        }
    }
    progress.end();
    Ok(results)
}
