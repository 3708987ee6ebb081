//! Crowds do not collapse: turnlock's mutex with up to hundreds of participants, beside the robust mutex.
//!
//! `cargo bench --bench crowd` prints every table and a verdict, and writes every run as CSV and a plot.
//! `cargo bench --bench crowd -- --help` says what is measured and how.

#![allow(missing_docs)]

mod contender;
mod csv;
mod plot;
mod results;
mod run;
mod table;
mod verdict;

use clap::Parser;
use contender::{Entrant, ROBUST};
use harness::{
    arena::MAX_WORKERS,
    contender::{boxed, pthread},
    introduce,
    others::Others,
    process,
    progress::Progress,
    round::{Ground, Lengths},
    scenario::{SCENARIOS, Scenario},
    schedule::order,
    self_check,
    statistics::Percentiles,
};
use results::Results;
use run::{Crowd, Members, SECTION, Size, WINDOW};
use std::{path::PathBuf, process::ExitCode, time::Duration};

const EXAMPLES: &str = "\
Examples:
  cargo bench --bench crowd -- --threads 64 --processes 8
  cargo bench --bench crowd -- --threads 2,100 --contenders strict,ticket --patience 10ms
  cargo bench --bench crowd -- --contenders turnlock --rounds 20";

/// Crowds on one lock: does it go on as fast with 256 participants as with 2?
///
/// Every participant does the same: lock, a section of 500 ns (in processor time), unlock, and after every 16 entries
/// a sleep of 50 us. Where waiters queue strictly, a crowd ends in a convoy: every entry is a hand-over to a sleeper,
/// and the lock is idle while that one wakes up. The sleep is what lets one form.
///
/// Threads of one process have a number of entries to do together, the same for each number of threads. Processes go
/// on for a number of seconds after a warm-up. What is compared is the time for an entry, as a ratio to the robust
/// process-shared pthread mutex's: of all runs of that one the median, so that its own rows show how much it spreads.
///
/// Each table has, for each contender, the median of the runs and the worst: the time, the context switches (voluntary
/// and involuntary) and the processor time for an entry; the share of entries that were hand-overs; the longest wait,
/// and for processes Jain's index over windows of a second (1: all entered equally often), of which the worst counts.
///
/// A run that takes longer than the limit is ended: its row says so, and its time is that of the entries it did. In
/// every section two plain words are updated, which must agree; if exclusion is violated, the bench ends with an error.
///
/// The wake-up in the bar of the longest wait is measured first: the robust mutex's hand-over to a sleeper, p99.
///
/// No process is pinned to a core. Absolute numbers belong to the machine. Compare rows of one run, on a machine that
/// does nothing else; for a number to be kept, with --rounds 20.
#[derive(Parser)]
#[command(
    name = "crowd",
    max_term_width = 100,
    bin_name = "cargo bench --bench crowd --",
    after_help = EXAMPLES
)]
struct Cli {
    /// Crowds of threads, and of processes only if those are named too [default: 2,4,8,16,32,64,100,128,256]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = crowd_size)]
    threads: Vec<usize>,

    /// Crowds of processes, and of threads only if those are named too [default: 2,4,8,16,32,64]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = crowd_size)]
    processes: Vec<usize>,

    /// Only contenders with one of these in their name or description, and the robust mutex
    #[arg(long, value_name = "TEXTS", value_delimiter = ',')]
    contenders: Vec<String>,

    /// turnlock with these patiences too, as 500us, 10ms or 1s
    #[arg(long, value_name = "TIMES", value_delimiter = ',', value_parser = duration)]
    patience: Vec<Duration>,

    /// How often each is run
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,

    /// How many entries the threads of a crowd do together
    #[arg(long, value_name = "NUMBER", default_value_t = 64_000, value_parser = clap::value_parser!(u64).range(1..))]
    entries: u64,

    /// For how many seconds processes are counted
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,

    /// How long a run may take
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = duration)]
    limit: Duration,

    /// Where to write every run as comma-separated values
    #[arg(long, value_name = "PATH", default_value_os_t = output("csv"))]
    csv: PathBuf,

    /// Where to write the plot, as PNG
    #[arg(long, value_name = "PATH", default_value_os_t = output("png"))]
    plot: PathBuf,

    /// Name the contenders, and do nothing
    #[arg(long)]
    list: bool,

    /// What cargo says to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

const THREADS: [usize; 9] = [2, 4, 8, 16, 32, 64, 100, 128, 256];
const PROCESSES: [usize; 6] = [2, 4, 8, 16, 32, 64];

fn output(ending: &str) -> PathBuf {
    harness::output(env!("CARGO_TARGET_TMPDIR"), "crowd", ending)
}

fn crowd_size(text: &str) -> Result<usize, String> {
    let size = text.parse().map_err(|_| "this is no number")?;
    if (2..=MAX_WORKERS).contains(&size) { Ok(size) } else { Err(format!("a crowd has 2 to {MAX_WORKERS}")) }
}

fn duration(text: &str) -> Result<Duration, String> {
    let units = [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let parsed = units.iter().find_map(|(unit, seconds)| {
        let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
        Duration::try_from_secs_f64(number * seconds).ok()
    });
    parsed.ok_or_else(|| "a time has a number and a unit: ns, us, ms or s".into())
}

impl Cli {
    fn crowds(&self) -> Vec<Crowd> {
        let (mut threads, mut processes) = (&self.threads[..], &self.processes[..]);
        if threads.is_empty() && processes.is_empty() {
            (threads, processes) = (&THREADS, &PROCESSES);
        }
        let crowds =
            |members, counts: &[usize]| counts.iter().map(|&count| Crowd { members, count }).collect();
        let both: [Vec<Crowd>; 2] =
            [crowds(Members::Threads, threads), crowds(Members::Processes, processes)];
        both.concat()
    }

    fn wants(&self, entrant: &Entrant) -> bool {
        let contender = &entrant.contender;
        let about = contender.about.to_lowercase();
        self.contenders.is_empty()
            || contender.name == ROBUST
            || contender.is_named(&self.contenders)
            || self.contenders.iter().any(|part| about.contains(&part.to_lowercase()))
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut entrants = contender::all(&cli.patience);
    if cli.list {
        for Entrant { contender, .. } in &entrants {
            println!("{:<28} {}", contender.name, contender.about);
        }
        return ExitCode::SUCCESS;
    }
    entrants.retain(|entrant| cli.wants(entrant));
    match run(&cli, &entrants) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("crowd: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli, entrants: &[Entrant]) -> Result<(), String> {
    let environment = introduce();
    let size = Size { entries: cli.entries, windows: cli.seconds, limit: cli.limit };
    println!(
        "\nSections of {SECTION:?}, a sleep of {:?} after every {} entries. Threads: {} entries together; processes: {:?} \
         each; a limit of {:?}; {} runs of each.",
        harness::worker::CROWD_SLEEP,
        harness::worker::CROWD_ENTRIES,
        size.entries,
        WINDOW * size.windows,
        size.limit,
        cli.rounds
    );
    let wake_up = wake_up()?;
    let began = Others::look();
    let results = measure(&cli.crowds(), entrants, usize::from(cli.rounds), &size)?;
    let others = Others::look().share_since(&began);
    print!("{}{}", table::print(&results, size.limit), verdict::print(&results, wake_up, others));
    csv::write(&results, &environment.to_string(), &cli.csv)
        .map_err(|error| format!("{}: {error}", cli.csv.display()))?;
    plot::draw(&results, &cli.plot).map_err(|error| format!("{}: {error}", cli.plot.display()))?;
    println!("\nEvery run: {}\nPlot: {}", cli.csv.display(), cli.plot.display());
    Ok(())
}

/// How long it takes from an unlock until a sleeper is in, with the robust mutex: p99. After the check that a violation
/// would be noticed.
fn wake_up() -> Result<Duration, String> {
    let ms = Duration::from_millis;
    let lengths = Lengths { warm_up: ms(20), windows: 1, alone: ms(0), hand_over: ms(500), timed: ms(0) };
    let ground = Ground { lengths, cores: process::cores() };
    self_check::run(&ground)?;
    let cell = SCENARIOS.iter().flat_map(Scenario::cells).find(|cell| cell.is("hand-over-asleep", 2, 2));
    let robust = boxed(pthread::Family(pthread::Variant::Robust));
    let round = ground.round(robust.as_ref(), &cell.expect("there is such a cell"))?;
    Percentiles::of(&round.waits).p99.map(Duration::from_nanos).ok_or("no process handed over".into())
}

fn measure(crowds: &[Crowd], entrants: &[Entrant], rounds: usize, size: &Size) -> Result<Results, String> {
    let mut results = Results::new(crowds, entrants);
    let mut progress = Progress::new(rounds * crowds.len());
    for round in 0..rounds {
        for (at, crowd) in crowds.iter().enumerate() {
            progress.show(&format!("round {} of {rounds}: {}", round + 1, crowd.title()));
            for number in order(entrants.len(), round) {
                let contender = &entrants[number].contender;
                let Ok(kind) = &contender.kind else { continue };
                let outcome = run::run(kind.as_ref(), *crowd, size).map_err(|why| {
                    progress.end();
                    format!("{}, {}: {why}", contender.name, crowd.title())
                })?;
                results.crowds[at].rows[number].runs.push(outcome);
            }
        }
    }
    progress.end();
    Ok(results)
}
