//! The command line: what each word means, and how each command ends. It uses the library's public surface only.

mod command;
mod create;
mod demo;
mod describe;
mod escape;
mod exit;
mod explain;
mod file;
mod lock;
mod print;
mod processes;
mod remove_lock;
mod reset;
mod run;
mod seconds;
mod spans;
mod status;
mod terminal;
mod top;
mod waiting;
mod wanted;
mod watch;
mod watched_file;
mod words_in_lines;

use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

/// Locks in a file: first come first served, safe against kill -9, no daemon
///
/// A lock file is created by whoever opens it first, and holds any number of named locks. Every program that opens the
/// same file takes turns with the others, whatever language it is written in. When a holder dies, the next one gets the
/// lock and is told.
#[derive(Parser)]
#[command(name = "turnlock", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(Box<run::Run>),
    Status(status::Status),
    Top(top::Top),
    Watch(watch::Watch),
    Create(create::Create),
    Reset(reset::Reset),
    RemoveLock(remove_lock::RemoveLock),
    Demo(demo::Demo),
    Explain(explain::Explain),
}

impl Cli {
    /// What goes together and what does not, where that depends on values.
    fn checked(self) -> Result<Self, clap::Error> {
        if let Command::Run(run) = &self.command
            && let Err(what) = run.check()
        {
            let mut cli = Self::command();
            let usage_of = cli.find_subcommand_mut("run").expect("it is one of the commands");
            return Err(usage_of.error(clap::error::ErrorKind::ArgumentConflict, what));
        }
        Ok(self)
    }
}

/// Parses the command line and runs the command.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse().and_then(Cli::checked) {
        Ok(cli) => cli,
        Err(error) => return print::usage(&error),
    };
    match cli.command {
        Command::Run(run) => run.run(),
        Command::Status(status) => status.run(),
        Command::Top(top) => top.run(),
        Command::Watch(watch) => watch.run(),
        Command::Create(create) => create.run(),
        Command::Reset(reset) => reset.run(),
        Command::RemoveLock(remove) => remove.run(),
        Command::Demo(demo) => demo.run(),
        Command::Explain(explain) => explain.run(),
    }
}
