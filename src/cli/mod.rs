//! The command line: what each word means, and how each command ends. It uses the library's public surface only.

mod demo;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Exit codes of sysexits.h, as flock(1) uses them.
pub mod exit {
    /// Something failed that has no code of its own.
    pub const FAILED: u8 = 1;
    /// The command line is wrong.
    pub const USAGE: u8 = 64;
    /// The lock file cannot be opened or created.
    pub const NO_FILE: u8 = 66;
    /// The command could not be started.
    pub const CANNOT_RUN: u8 = 69;
}

#[derive(Parser)]
#[command(name = "turnlock", version, about = "Locks in a file: first come first served, safe against kill -9, no daemon")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Demo),
}

/// Parses the command line and runs the command.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { exit::USAGE } else { 0 });
        }
    };
    match cli.command {
        Command::Demo(demo) => demo.run(),
    }
}
