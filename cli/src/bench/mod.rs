//! `turnlock bench`: turnlock's locks and those of others, on this machine, in less than a minute.
//!
//! | module | what it has |
//! |---|---|
//! | `contender` | what is measured |
//! | `worker` | a process that enters and leaves |
//! | `round` | processes are started at a lock, and say what came of it |
//! | `results` | the numbers, and the table |
//! | `plot` | the picture |

mod contender;
mod plot;
mod results;
mod round;
mod worker;

use super::{escape, exit, fit, print};
use contender::Contender;
use results::{Contended, Machine, Results, Row};
use round::{Cell, Outcome};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::{
    hint::black_box,
    io::{IsTerminal, Write, stderr},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};
use turnlock::sync::{AtomicUsize, Ordering::Relaxed};

/// Measure turnlock's locks beside mutexes, semaphores and file locks of others, on this machine
///
/// Processes of their own lock and unlock as fast as they can: one alone, two, and twice as many as there are cores (four at
/// least), which do something in between. Measured are turnlock's kinds; pthread mutexes that processes share, plain and
/// robust; a POSIX semaphore; flock; a byte lock by fcntl (OFD). Contenders take turns, round after round, so that they
/// share whatever disturbs the machine. Of several processes, every section updates two words that must agree: a lock that
/// lets two in is an error. One alone does nothing inside.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  measured
  1  some contender could not be measured; the table says why
  64  the command line is wrong
  71  the plot or standard output cannot be written to
  128 + N  signal N ended it

EXAMPLES
  turnlock bench
  turnlock bench --seconds 10 --contender mutex
  turnlock bench --output bench.svg --json > bench.json")]
pub struct Bench {
    /// How long it may take, in seconds, about: 2 to 600
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(2..=600))]
    seconds: u64,
    /// Only contenders with this in their names (repeat for more)
    #[arg(long, value_name = "TEXT", value_parser = known)]
    contender: Vec<String>,
    /// Where the locks' files are to lie, for the time being; /dev/shm if not said, or the folder for temporary files
    #[arg(long, value_name = "PATH")]
    folder: Option<PathBuf>,
    /// Draw the numbers into this file, as SVG
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the numbers as JSON
    #[arg(long)]
    json: bool,
    /// Be one of the processes: how the bench starts this command.
    #[arg(long, hide = true, num_args = 4, allow_hyphen_values = true)]
    take_part: Vec<String>,
}

fn known(text: &str) -> Result<String, String> {
    match contender::all_and_none().any(|one| has(one, text)) {
        true => Ok(text.into()),
        false => Err(format!("there are {}", contender::ALL.map(|one| one.name).join("; "))),
    }
}

fn has(contender: Contender, text: &str) -> bool {
    // Only where it is asked for.
    let whole = contender != contender::NOTHING || text == contender.name;
    whole && contender.name.to_lowercase().contains(&text.to_lowercase())
}

/// A signal ended it.
struct Ended(i32);

/// Each cell is measured so often, contender after contender.
const ROUNDS: usize = 2;
/// Where less time is given, in seconds, once must do: starting processes takes time too.
const ONE_ROUND_BELOW: u64 = 10;
/// No shorter phase says anything.
const SHORTEST: Duration = Duration::from_millis(20);
/// What is done outside where more than two processes contend.
const OUTSIDE: Duration = Duration::from_nanos(2_000);

impl Bench {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        if !self.take_part.is_empty() {
            return match worker::take_part(&self.take_part) {
                Ok(()) => ExitCode::SUCCESS,
                Err(why) => print::fail(exit::FAILED, &why),
            };
        }
        // Before what takes long.
        if let Some(path) = &self.output
            && let Err(error) = plot::can_be_written(path)
        {
            return print::fail(exit::OS, &format!("{}: {error}", path.display()));
        }
        let results = match self.measure() {
            Ok(results) => results,
            Err(Ended(signal)) => {
                let code = u8::try_from(128 + signal).unwrap_or(exit::FAILED);
                return print::fail(code, &format!("ended by signal {signal}; nothing is left of it"));
            }
        };
        if let Some(path) = &self.output
            && let Err(error) = plot::draw(&results, path)
        {
            return print::fail(exit::OS, &format!("{}: {error}", path.display()));
        }
        let code = if results.contenders.iter().any(|row| row.problem.is_some()) { exit::FAILED } else { 0 };
        match self.json {
            true => print::json_and_end(&results, code),
            false => {
                let mut text = results::text(&results, fit::columns());
                if let Some(path) = &self.output {
                    text += &format!("\nPlot: {}\n", escape::path(path));
                }
                print::and_end(&text, code)
            }
        }
    }

    fn measure(&self) -> Result<Results, Ended> {
        let ended = Arc::new(AtomicUsize::new(0));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            // Where that cannot be, the signal ends this process at once, and its folder stays behind.
            let _ = signal_hook::flag::register_usize(signal, ended.clone(), signal as usize);
        }
        let began = Instant::now();
        let machine = machine();
        let contenders: Vec<Contender> = match &self.contender[..] {
            [] => contender::ALL.to_vec(),
            some => contender::all_and_none().filter(|one| some.iter().any(|text| has(*one, text))).collect(),
        };
        let folder = self.folder.clone().unwrap_or_else(usual_folder);
        let steps = steps_in(OUTSIDE);
        let cells = [
            Cell { processes: 1, steps: 0, timed: false, bare: true },
            Cell { processes: 2, steps: 0, timed: true, bare: false },
            Cell { processes: (2 * machine.cores).clamp(4, 32), steps, timed: true, bare: false },
        ];
        let rounds = if self.seconds < ONE_ROUND_BELOW { 1 } else { ROUNDS };
        let phases: usize = cells.iter().map(|cell| 1 + usize::from(cell.timed)).sum();
        let phase = Duration::from_secs(self.seconds) / (phases * rounds * contenders.len()) as u32;
        // Starting processes takes some of it.
        let phase = phase.mul_f64(0.85).max(SHORTEST);
        let mut seen: Vec<Vec<Vec<Outcome>>> =
            contenders.iter().map(|_| cells.iter().map(|_| Vec::new()).collect()).collect();
        let mut problems: Vec<Option<String>> = vec![None; contenders.len()];
        for round in 0..rounds {
            for (at_cell, cell) in cells.iter().enumerate() {
                for (at, contender) in contenders.iter().enumerate() {
                    self.busy(&format!(
                        "round {} of {rounds}: {} processes: {}",
                        round + 1,
                        cell.processes,
                        contender.name
                    ));
                    match round::run(*contender, *cell, &folder, phase, || ended.load(Relaxed) != 0) {
                        Ok(outcome) => seen[at][at_cell].push(outcome),
                        Err(_) if ended.load(Relaxed) != 0 => {}
                        Err(why) => problems[at] = Some(format!("{} processes: {why}", cell.processes)),
                    }
                    match ended.load(Relaxed) {
                        0 => {}
                        signal => {
                            self.busy("");
                            return Err(Ended(signal as i32));
                        }
                    }
                }
            }
        }
        self.busy("");
        let rows = contenders.iter().zip(&seen).zip(problems);
        let rows = rows.map(|((contender, seen), problem)| row(*contender, &cells, seen, problem)).collect();
        Ok(Results { machine, seconds: began.elapsed().as_secs_f64(), rounds, contenders: rows })
    }

    /// What is done just now, on a terminal.
    fn busy(&self, with: &str) {
        if stderr().is_terminal() {
            // No process reads it: it goes on.
            let _ = write!(stderr(), "\r\x1b[K{with}");
        }
    }
}

fn row(contender: Contender, cells: &[Cell], seen: &[Vec<Outcome>], problem: Option<String>) -> Row {
    let rate = |outcomes: &[Outcome]| median(outcomes.iter().map(|one| one.entries_per_second).collect());
    let contended = cells.iter().zip(seen).skip(1).filter_map(|(cell, outcomes)| {
        let mut waits = worker::empty().ok()?;
        outcomes.iter().try_for_each(|one| waits.add(&one.waits)).ok()?;
        let microseconds = |quantile| waits.value_at_quantile(quantile) as f64 / 1e3;
        Some(Contended {
            processes: cell.processes,
            outside_nanoseconds: if cell.steps > 0 { OUTSIDE.as_nanos() as u64 } else { 0 },
            entries_per_second: rate(outcomes)?,
            fairness: median(outcomes.iter().map(|one| one.fairness).collect())?,
            wait_p50_microseconds: microseconds(0.5),
            wait_p99_microseconds: microseconds(0.99),
            wait_max_microseconds: waits.max() as f64 / 1e3,
        })
    });
    Row {
        name: contender.name,
        turnlock: contender.is_turnlock(),
        alone_nanoseconds: rate(&seen[0]).filter(|rate| *rate > 0.0).map(|rate| 1e9 / rate),
        contended: contended.collect(),
        problem,
    }
}

fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() {
        0 => None,
        even if even % 2 == 0 => Some((numbers[middle - 1] + numbers[middle]) / 2.0),
        _ => Some(numbers[middle]),
    }
}

fn usual_folder() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.into() } else { std::env::temp_dir() }
}

/// Returns how many steps of a worker's pause take so long here.
fn steps_in(time: Duration) -> u64 {
    const TRIED: u64 = 1_000_000;
    let once = || {
        let began = Instant::now();
        for step in 0..TRIED {
            black_box(step);
        }
        began.elapsed()
    };
    // The fastest: no other program was in the way.
    let taken = (0..5).map(|_| once()).min().unwrap_or(time).max(Duration::from_nanos(1));
    (time.as_nanos() as u64).saturating_mul(TRIED) / taken.as_nanos() as u64
}

fn machine() -> Machine {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let processor = read("/proc/cpuinfo").and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    Machine {
        processor,
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        kernel: read("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned()),
        load: read("/proc/loadavg").and_then(|text| text.split(' ').next()?.parse().ok()),
    }
}
