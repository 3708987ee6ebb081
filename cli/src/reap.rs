//! `turnlock reap`: removes dead participants from a lock file.

use super::{describe, escape, exit, file, print};
use std::{fmt::Write, path::PathBuf, process::ExitCode};
use turnlock::{LockFile, Reaped, Result};

/// Remove the participants of a lock file that are dead
///
/// Not needed as a rule: a waiter removes a dead participant in its way, and newcomers take its slot. It tells the next
/// holder of what the dead held as always, so nothing is lost; and a live participant is left alone, however long it
/// has been stopped.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  no dead participant is left in it
  64  the command line is wrong
  66  no such lock file, or it cannot be opened
  71  something else went wrong, or standard output cannot be written to

EXAMPLES
  turnlock reap /run/app/app.lock
  turnlock reap --json app.lock | jq '.reaped | length'")]
pub struct Reap {
    /// Print who was removed as JSON
    #[arg(long)]
    json: bool,
    /// The lock file (/dev/fd/N: the one that descriptor N is open on)
    file: PathBuf,
}

/// What was done.
#[derive(serde::Serialize)]
struct Done {
    path: String,
    reaped: Vec<Dead>,
}

/// A dead participant.
#[derive(serde::Serialize)]
struct Dead {
    slot: usize,
    label: String,
    pid: u32,
    thread: u32,
}

impl Reap {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        match self.try_run() {
            Ok(done) if self.json => print::json(&done),
            Ok(done) => print::and_end(&in_words(&done), 0),
            Err(error) => print::fail(exit::code(&error), &error),
        }
    }

    fn try_run(&self) -> Result<Done> {
        let mut options = LockFile::options();
        options.must_exist(true).label("turnlock reap");
        let file = file::open(&options, &self.file)?;
        let dead = |Reaped { slot, label, pid, thread, .. }| Dead { slot, label, pid, thread };
        let reaped = file.reap()?.into_iter().map(dead).collect();
        Ok(Done { path: file.path().to_string_lossy().into_owned(), reaped })
    }
}

fn in_words(done: &Done) -> String {
    let path = escape::text(&done.path);
    let mut text = match done.reaped.len() {
        0 => format!("{path}: no participant in it is dead\n"),
        1 => format!("{path}: 1 dead participant is removed\n"),
        many => format!("{path}: {many} dead participants are removed\n"),
    };
    for dead in &done.reaped {
        let _ = writeln!(
            text,
            "  slot {:<4} {} {}",
            dead.slot,
            escape::text(&dead.label),
            describe::process(dead.pid, dead.thread)
        );
    }
    text
}
