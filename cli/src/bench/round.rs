//! One round: processes are started at a lock, work for a while, and say what came of it.

use super::{
    contender::Contender,
    worker::{self, Done, Phase, words},
};
use hdrhistogram::Histogram;
use std::{
    fs::File,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use turnlock::{
    peers::SharedWords,
    sync::Ordering::{Relaxed, Release},
};

/// How many processes there are, and what they do.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub processes: usize,
    /// How much is done between two entries.
    pub steps: u64,
    /// Whether waits are timed too.
    pub timed: bool,
    /// Whether nothing is done inside, so that what a lock itself takes is seen.
    pub bare: bool,
}

/// What came of a round.
#[derive(Debug)]
pub struct Outcome {
    pub entries_per_second: f64,
    /// Jain's index over the processes: 1 if all entered equally often, 1/n if one did alone.
    pub fairness: f64,
    /// Waits, in nanoseconds.
    pub waits: Histogram<u64>,
}

/// A program that is not ready, or does not end, after so long, hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// Workers, which are killed when this is dropped.
struct Workers(Vec<Child>);

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &mut self.0 {
            // It may have ended.
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}

/// Runs one, below `folder`, for so long in each phase; or until it `should_stop`, which is an error.
pub fn run(
    contender: Contender,
    cell: Cell,
    folder: &Path,
    phase: Duration,
    should_stop: impl Fn() -> bool,
) -> Result<Outcome, String> {
    let place = tempfile::tempdir_in(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let shared = SharedWords::open(&place.path().join("words")).map_err(|error| error.to_string())?;
    contender.create(place.path())?;
    let this =
        std::env::current_exe().map_err(|error| format!("cannot tell where this command is: {error}"))?;
    let mut workers = Workers(Vec::new());
    // What they say goes into files: so it need not be read while they work.
    let said = |worker: usize| place.path().join(format!("said-{worker}"));
    for at in 0..cell.processes {
        let output = File::create(said(at)).map_err(|error| error.to_string())?;
        let mut worker = Command::new(&this);
        worker.args(["bench", "--take-part", contender.name]).arg(place.path());
        worker.args([cell.steps.to_string(), std::process::id().to_string()]);
        let worker = worker.stdin(Stdio::null()).stdout(output).spawn();
        workers.0.push(worker.map_err(|error| format!("cannot start a process: {error}"))?);
    }
    let all_ready = || shared.word(words::READY).load(Relaxed) >= cell.processes as u64;
    wait_until(all_ready, "be ready", &mut workers)?;
    // Release. Partner: the acquire load of the phase in `worker`: whatever was made ready comes before it.
    let tell = |phase: Phase| shared.word(words::PHASE).store(phase as u64, Release);
    tell(if cell.bare { Phase::CountBare } else { Phase::Count });
    last(phase, &should_stop)?;
    if cell.timed {
        tell(Phase::Time);
        last(phase, &should_stop)?;
    }
    tell(Phase::End);
    let mut done: Vec<Done> = Vec::new();
    for (at, worker) in workers.0.iter_mut().enumerate() {
        until_it_ends(worker)?;
        let said = std::fs::read_to_string(said(at)).map_err(|error| error.to_string())?;
        done.push(serde_json::from_str(&said).map_err(|error| error.to_string())?);
    }
    let all: u64 = done.iter().map(|done| done.all).sum();
    let inside = shared.word(words::ONE).load(Relaxed);
    if shared.word(words::VIOLATIONS).load(Relaxed) > 0 || (!contender.is_shared() && inside != all) {
        return Err(format!(
            "two were inside at once: {inside} entries were counted inside, and {all} were made"
        ));
    }
    summed_up(&done)
}

/// Lets the workers work.
fn last(phase: Duration, should_stop: impl Fn() -> bool) -> Result<(), String> {
    let began = Instant::now();
    while let Some(left) = phase.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
        if should_stop() {
            return Err("it was ended".into());
        }
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
    Ok(())
}

fn wait_until(is_so: impl Fn() -> bool, what: &str, workers: &mut Workers) -> Result<(), String> {
    let began = Instant::now();
    while !is_so() {
        if began.elapsed() > PATIENCE {
            return Err(format!("its processes did not {what} within {PATIENCE:?}"));
        }
        for worker in &mut workers.0 {
            if let Ok(Some(status)) = worker.try_wait() {
                return Err(format!("one of its processes ended too soon ({status})"));
            }
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    Ok(())
}

fn until_it_ends(worker: &mut Child) -> Result<(), String> {
    let began = Instant::now();
    loop {
        match worker.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("one of its processes failed ({status})")),
            None if began.elapsed() > PATIENCE => return Err("one of its processes did not end".into()),
            None => std::thread::sleep(Duration::from_micros(500)),
        }
    }
}

fn summed_up(done: &[Done]) -> Result<Outcome, String> {
    let mut waits = worker::empty()?;
    for (value, count) in done.iter().flat_map(|done| &done.waits) {
        waits.saturating_record_n(*value, *count);
    }
    let rates: Vec<f64> =
        done.iter().map(|done| done.counted as f64 / done.counted_seconds.max(1e-9)).collect();
    let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
    let fairness = if squares > 0.0 { sum * sum / (rates.len() as f64 * squares) } else { 0.0 };
    Ok(Outcome { entries_per_second: sum, fairness, waits })
}
