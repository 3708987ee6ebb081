//! `turnlock watch`: a line for each change that is seen at a lock file.
//!
//! | module | what it has |
//! |---|---|
//! | `change` | one change, as JSON and in words |
//! | `changes` | what changed between two looks |

pub mod change;
pub mod changes;

use super::{
    escape, exit, print,
    seconds::seconds,
    watched_file::{Look, WatchedFile},
};
use change::{Change, Event};
use changes::Seen;
use std::{
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

/// Print a line whenever a process acquires a lock, releases it, waits or dies
///
/// Looks at the file again and again, as `turnlock status` does: it takes no slot, does not wait and changes nothing.
/// So it sees what lasts at least as long as the interval between two looks; how many acquisitions came and went in
/// between is told by the fencing tokens (of a rwlock, those of writers), in a line of their own. It goes on when the
/// file is deleted, replaced or truncated, and says so. Ends by Ctrl-C, or when it has something to say and its lines
/// are not read any more.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  the reader of the lines has closed the pipe
  64  the command line is wrong
  66  the file cannot be read or is not a lock file when it begins
  71  standard output cannot be written to

EXAMPLES
  turnlock watch app.lock                            for people
  turnlock watch app.lock --lock build               one of its locks
  systemd-cat -t app.lock turnlock watch --journal app.lock
                                                     deaths and closed locks into the journal
  turnlock watch --json app.lock | jq 'select(.event == \"died\")'

docs/status.md lists the events and the fields of their JSON.")]
pub struct Watch {
    /// Print a JSON object in each line (fencing tokens as decimal strings, since they exceed 2^53)
    #[arg(long)]
    json: bool,
    /// Print only what a log should keep: deaths, locks that close or wait for a repair, a file that is lost or replaced; each line
    /// with a priority in front for systemd's journal
    #[arg(long, conflicts_with = "json")]
    journal: bool,
    /// From one look to the next, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "0.1", value_parser = interval)]
    interval: Duration,
    /// Only this lock, and not who else takes part in the file
    #[arg(long, value_name = "NAME")]
    lock: Option<String>,
    /// The lock file (/dev/fd/N: the one that descriptor N is open on)
    file: PathBuf,
}

/// Returns the time between two looks: not so short that looking is all that is done.
pub fn interval(text: &str) -> Result<Duration, String> {
    let interval = seconds(text)?;
    match (Duration::from_millis(1)..=Duration::from_secs(3600)).contains(&interval) {
        true => Ok(interval),
        false => Err("it has to be between 0.001 and 3600 seconds".into()),
    }
}

impl Watch {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        let mut file = WatchedFile::new(&self.file);
        let mut before: Option<Seen> = None;
        let mut lost = None;
        loop {
            let look = file.look();
            let at = Instant::now();
            let changes = match look {
                Look::Nothing { error, .. } if before.is_none() && lost.is_none() => {
                    return print::fail(exit::NO_FILE, &error);
                }
                Look::Nothing { why, error } => {
                    before = None;
                    let told = lost.replace(why) == Some(why);
                    let change = Change::of_file(Event::FileLost);
                    let change = Change { why: Some(why), message: Some(error), ..change };
                    if told { Vec::new() } else { vec![change] }
                }
                Look::Same(status) if before.is_some() => {
                    let now = Seen { status, at };
                    let changes = before.as_ref().map(|before| changes::between(before, &now));
                    before = Some(now);
                    changes.unwrap_or_default()
                }
                Look::Same(status) | Look::Another(status) => {
                    let event = match (&before, lost.take()) {
                        (None, None) => Event::Watching,
                        (None, Some(_)) => Event::FileFound,
                        (Some(_), _) => Event::FileReplaced,
                    };
                    let message = Some(escape::path(&status.path));
                    let first = Change { message, ..Change::of_file(event) };
                    let changes = std::iter::once(first).chain(changes::at_first(&status)).collect();
                    before = Some(Seen { status, at });
                    changes
                }
            };
            if let Some(end) = self.print(&changes) {
                return end;
            }
            std::thread::sleep(self.interval);
        }
    }

    /// Prints the changes that are wanted. Gives the exit code if that was the end.
    fn print(&self, changes: &[Change]) -> Option<ExitCode> {
        let mut text = String::new();
        for change in changes {
            // What concerns the file concerns each of its locks.
            let of_file = change.lock.is_none() && change.participant.is_none();
            if self.lock.is_some() && self.lock != change.lock && !of_file {
                continue;
            }
            let line = match (self.json, self.journal) {
                (true, _) => serde_json::to_string(change).ok(),
                (false, true) => change.for_journal(),
                (false, false) => Some(change.in_words()),
            };
            text.extend(line.map(|line| line + "\n"));
        }
        match print::line(&text) {
            Ok(true) => None,
            Ok(false) => Some(ExitCode::SUCCESS),
            Err(error) => Some(print::fail(exit::OS, &format!("cannot write to standard output: {error}"))),
        }
    }
}
