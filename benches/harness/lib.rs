//! What the benches share: forks the processes of a round, checks exclusion, counts and times, writes the rounds down.
#![allow(missing_docs, reason = "only the benches see it")]

pub mod align;
pub mod arena;
pub mod clock;
pub mod contender;
pub mod csv;
pub mod environment;
pub mod lock;
pub mod number;
pub mod others;
pub mod picture;
pub mod place;
pub mod process;
pub mod progress;
pub mod results;
pub mod round;
pub mod scenario;
pub mod schedule;
pub mod self_check;
pub mod shared;
pub mod statistics;
pub mod usage;
pub mod work;
pub mod worker;

use environment::Environment;
use others::Others;
use results::Results;
use round::{Ground, Lengths};
use schedule::Schedule;
use std::path::{Path, PathBuf};

/// Prints what the machine is, and what speaks against measuring on it now.
pub fn introduce() -> Environment {
    let environment = Environment::look();
    print!("{environment}");
    if let Some(warning) = environment.warning() {
        println!("\n{warning}");
    }
    environment
}

/// Runs the whole schedule, after the self check. The results, and the share of the machine that other programs took.
///
/// # Errors
/// As [`Schedule::run`] and [`self_check::run`].
pub fn measure(schedule: &Schedule, lengths: Lengths) -> Result<(Results, Option<f64>), String> {
    let seconds = schedule.estimate(&lengths).as_secs();
    eprintln!("{} cells, {} rounds: about {seconds} seconds", schedule.cells.len(), schedule.rounds);
    let ground = Ground { lengths, cores: process::cores() };
    self_check::run(&ground)?;
    let began = Others::look();
    let results = schedule.run(&ground)?;
    Ok((results, Others::look().share_since(&began)))
}

/// Writes every round of a run on this machine as comma-separated values.
///
/// # Errors
/// A sentence that names the file, if it cannot be written.
pub fn write_csv(results: &Results, environment: &Environment, path: &Path) -> Result<(), String> {
    csv::write(results, &environment.to_string(), path)
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Where a bench writes its files: in the build folder, where nothing is kept for ever. `scratch` is cargo's folder for
/// temporary files of the bench, in the build folder.
pub fn output(scratch: &str, bench: &str, ending: &str) -> PathBuf {
    let target = Path::new(scratch).parent().expect("it is a folder in the build folder");
    target.join(bench).join(bench).with_extension(ending)
}
