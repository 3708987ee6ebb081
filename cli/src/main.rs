//! The `turnlock` command: what each word of the command line means, and how each command ends. It uses the library's public
//! surface only.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(all(feature = "screens", feature = "plots")),
    allow(
        dead_code,
        unused_imports,
        reason = "some of it only the commands that are left out use; lints are run with all"
    )
)]

mod acquire;
mod asked;
mod barrier;
#[cfg(feature = "plots")]
mod bench;
mod completions;
mod conflict;
mod create;
mod deadlocks;
mod demo;
mod describe;
mod doctor;
mod durations;
mod escape;
mod exit;
#[cfg(feature = "screens")]
mod explain;
mod failed;
mod file;
mod fit;
mod flock;
mod grow;
mod hold;
mod lease;
#[cfg(not(all(feature = "screens", feature = "plots")))]
mod left_out;
mod link;
mod list;
mod local_time;
mod lock;
mod metrics;
mod no_lock;
mod notify;
mod once;
mod output;
mod print;
mod processes;
mod reap;
mod recorded;
mod recorded_spans;
mod remove_lock;
#[cfg(feature = "plots")]
mod report;
mod reset;
mod rm;
mod run;
mod seconds;
mod shell;
mod signals;
mod spans;
mod status;
#[cfg(feature = "screens")]
mod terminal;
mod terms;
#[cfg(feature = "screens")]
mod top;
mod trace;
mod users;
mod wait;
mod wait_line;
mod waiting;
mod waits;
mod wanted;
mod watch;
mod watched_file;
mod words_in_lines;

use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::{ffi::OsString, path::Path, process::ExitCode};

/// Locks in a file: first come first served, safe against kill -9, no daemon
///
/// A lock file is created by the first process that opens it, and holds any number of named locks. Every program that
/// opens the same file takes turns with the others, whatever language it is written in. When a holder dies, the next
/// one gets the lock and is told.
#[derive(Parser)]
#[command(name = "turnlock", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(Box<run::Run>),
    #[command(name = "lock")]
    LockByDescriptor(Box<hold::LockByDescriptor>),
    #[command(name = "unlock")]
    UnlockByDescriptor(hold::UnlockByDescriptor),
    Flock(Box<flock::Flock>),
    Wait(Box<wait::WaitForEvent>),
    Notify(Box<notify::Notify>),
    Barrier(Box<barrier::BarrierWait>),
    Once(Box<once::RunOnce>),
    Status(status::Status),
    List(list::List),
    Doctor(doctor::Doctor),
    #[cfg(feature = "screens")]
    Top(top::Top),
    #[cfg(not(feature = "screens"))]
    #[command(hide = true)]
    Top(left_out::LeftOut),
    Watch(watch::Watch),
    Trace(trace::Trace),
    #[cfg(feature = "plots")]
    Report(report::Report),
    #[cfg(not(feature = "plots"))]
    #[command(hide = true)]
    Report(left_out::LeftOut),
    Metrics(metrics::Metrics),
    Create(create::Create),
    Grow(grow::Grow),
    Reset(reset::Reset),
    Reap(reap::Reap),
    RemoveLock(remove_lock::RemoveLock),
    Rm(rm::Rm),
    Link(link::Link),
    Completions(completions::Completions),
    Demo(demo::Demo),
    #[cfg(feature = "plots")]
    Bench(bench::Bench),
    #[cfg(not(feature = "plots"))]
    #[command(hide = true)]
    Bench(left_out::LeftOut),
    #[cfg(feature = "screens")]
    Explain(explain::Explain),
    #[cfg(not(feature = "screens"))]
    #[command(hide = true)]
    Explain(left_out::LeftOut),
}

impl Cli {
    /// Returns what goes together and what does not, where that depends on values.
    fn checked(self) -> Result<Self, clap::Error> {
        let (name, checked) = match &self.command {
            Command::Run(run) => ("run", run.check()),
            Command::LockByDescriptor(lock) => ("lock", lock.check()),
            Command::Flock(flock) => ("flock", flock.check()),
            #[cfg(feature = "screens")]
            Command::Explain(explain) => ("explain", explain.check()),
            _ => return Ok(self),
        };
        if let Err(what) = checked {
            let mut cli = Self::command();
            let usage_of = cli.find_subcommand_mut(name).expect("it is one of the commands");
            return Err(usage_of.error(clap::error::ErrorKind::ArgumentConflict, what));
        }
        Ok(self)
    }
}

/// Returns the command line. Called by the name flock, turnlock does what that does.
fn words() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    if words.first().is_some_and(|name| Path::new(name).file_name() == Some("flock".as_ref())) {
        words.insert(1, "flock".into());
    }
    words
}

/// Returns whether a command that can print JSON is given --json.
fn asks_for_json(words: &[OsString]) -> bool {
    // Before all commands are described, which takes as long as much of what they do.
    if !words.iter().take_while(|word| *word != "--").any(|word| word == "--json") {
        return false;
    }
    let cli = Cli::command();
    let command = words.get(1).and_then(|name| cli.find_subcommand(name));
    command.is_some_and(|command| command.get_arguments().any(|argument| argument.get_id() == "json"))
}

/// Parses the command line. `run`, which scripts start again and again, is described by itself first, and with the others only
/// where that is not all: for help, and for what is wrong.
fn parsed(words: Vec<OsString>) -> Result<ArgMatches, clap::Error> {
    if words.get(1).is_some_and(|name| name == "run") {
        let run = run::Run::augment_args(clap::Command::new("run"));
        if let Ok(matches) = clap::Command::new("turnlock").subcommand(run).try_get_matches_from(&words) {
            return Ok(matches);
        }
    }
    Cli::command().try_get_matches_from(words)
}

/// Returns the files that the command line names.
fn files(matches: &ArgMatches) -> Vec<OsString> {
    let Some((_, command)) = matches.subcommand() else { return Vec::new() };
    // What flock(1) calls so begins with the file.
    let begins_with_one = |name: &&str| if *name == "words" { 1 } else { usize::MAX };
    let names = ["file", "files", "paths", "words"];
    let of = |name| {
        let words = command.try_get_raw(name).ok().flatten().into_iter().flatten();
        words.take(begins_with_one(&name)).map(OsString::from)
    };
    names.into_iter().flat_map(of).collect()
}

/// Parses the command line and runs the command.
fn main() -> ExitCode {
    let words = words();
    if asks_for_json(&words) {
        print::errors_as_json();
    }
    let parsed = parsed(words).and_then(|matches| {
        print::files_as_typed(files(&matches));
        Cli::from_arg_matches(&matches)
    });
    let cli = match parsed.and_then(Cli::checked) {
        Ok(cli) => cli,
        Err(error) => return print::usage(&error),
    };
    match cli.command {
        Command::Run(run) => run.run(),
        Command::LockByDescriptor(lock) => lock.run(),
        Command::UnlockByDescriptor(unlock) => unlock.run(),
        Command::Flock(flock) => flock.run(),
        Command::Wait(wait) => wait.run(),
        Command::Notify(notify) => notify.run(),
        Command::Barrier(barrier) => barrier.run(),
        Command::Once(once) => once.run(),
        Command::Status(status) => status.run(),
        Command::List(list) => list.run(),
        Command::Doctor(doctor) => doctor.run(),
        #[cfg(feature = "screens")]
        Command::Top(top) => top.run(),
        #[cfg(not(feature = "screens"))]
        Command::Top(left_out) => left_out.run("top", "screens"),
        Command::Watch(watch) => watch.run(),
        Command::Trace(trace) => trace.run(),
        #[cfg(feature = "plots")]
        Command::Report(report) => report.run(),
        #[cfg(not(feature = "plots"))]
        Command::Report(left_out) => left_out.run("report", "plots"),
        Command::Metrics(metrics) => metrics.run(),
        Command::Create(create) => create.run(),
        Command::Grow(grow) => grow.run(),
        Command::Reset(reset) => reset.run(),
        Command::Reap(reap) => reap.run(),
        Command::RemoveLock(remove) => remove.run(),
        Command::Rm(rm) => rm.run(),
        Command::Link(link) => link.run(),
        Command::Completions(completions) => completions.run(),
        Command::Demo(demo) => demo.run(),
        #[cfg(feature = "plots")]
        Command::Bench(bench) => bench.run(),
        #[cfg(not(feature = "plots"))]
        Command::Bench(left_out) => left_out.run("bench", "plots"),
        #[cfg(feature = "screens")]
        Command::Explain(explain) => explain.run(),
        #[cfg(not(feature = "screens"))]
        Command::Explain(left_out) => left_out.run("explain", "screens"),
    }
}
