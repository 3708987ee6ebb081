//! `turnlock notify`: sets an event, or lets those go on that wait for a condition.

use super::{escape, exit, failed::Failure, file, print, waits};
use std::{path::PathBuf, process::ExitCode};
use turnlock::{Error, LockFile, inspect::FileStatus};

/// Set or clear an event, or notify those that wait for a condition
///
/// Of an event: sets it, and all that wait for it go on (`turnlock wait`). It is created, and the lock file too, if there is
/// nothing of that name. It stays set until it is cleared, by --clear, or until the machine boots.
///
/// Of a condition, for which programs wait that have a lock: notifies the one that has waited longest, or --all that wait by
/// now, and says how many that were. One that was notified takes its lock again first. To change the data that they wait for, and
/// then notify, hold the lock: `turnlock run --lock rows app.lock ./change`, and then this.
///
/// Does not wait.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  the event is set, or cleared; or the condition is notified, also if no participant waits for it
  64  the command line is wrong
  66  the lock file cannot be opened or created, or the name is that of something else
  71  something else went wrong, or standard output cannot be written to

EXAMPLES
  turnlock notify /run/app.lock ready           all that `turnlock wait /run/app.lock ready` go on
  turnlock notify --clear /run/app.lock ready   who waits from now on waits until it is set again
  turnlock notify --all /run/app.lock changed   a condition: programs that look at their data again")]
pub struct Notify {
    /// Clear the event
    #[arg(long, conflicts_with = "all")]
    clear: bool,
    /// Notify all that wait for the condition, and not only the one that has waited longest
    #[arg(long, short = 'a')]
    all: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
    /// Say it of an event too
    #[arg(long, short = 'v')]
    verbose: bool,
    #[command(flatten, next_help_heading = "If the lock file is created now")]
    creation: super::create::Creation,
    /// The lock file (/dev/fd/N: the one that descriptor N is open on)
    file: PathBuf,
    /// The name of the event or the condition in the file, 1 to 63 bytes
    name: String,
}

/// What was done.
#[derive(serde::Serialize)]
struct Done<'a> {
    path: String,
    name: &'a str,
    kind: &'static str,
    /// Of an event: whether it is set now.
    set: Option<bool>,
    /// Of an event: whether it was not so before.
    changed: Option<bool>,
    /// Of a condition: how many were notified.
    notified: Option<u32>,
}

impl Notify {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        match self.try_run() {
            Ok(done) => {
                if done.notified.is_some() || self.verbose {
                    print::message(&done.in_words());
                }
                if self.json { print::json(&done) } else { ExitCode::SUCCESS }
            }
            Err(failure) => print::fail(failure.code, &failure.why),
        }
    }

    fn try_run(&self) -> Result<Done<'_>, Failure> {
        // To clear an event, or to notify those that wait for a condition, creates nothing.
        let must_exist = self.clear || self.all;
        let mut options = self.creation.options();
        options.must_exist(must_exist).label("turnlock notify");
        let file = file::open(&options, &self.file).map_err(waits::failure)?;
        let status = file::snapshot(&file::path(&file, &self.file)).map_err(waits::failure)?;
        let kind = self.kind_in(&status);
        let path = file.path().to_string_lossy().into_owned();
        let done = Done { path, name: &self.name, kind: "event", set: None, changed: None, notified: None };
        match kind {
            Some("condition") if self.clear => {
                Err(self.wrong(&file, "a condition, of which there is nothing to clear: leave --clear out"))
            }
            Some("condition") => {
                let mut options = file.condition_options();
                let condition = options.must_exist(true).open(&self.name).map_err(waits::failure)?;
                let notified = if self.all { condition.notify_all() } else { condition.notify_one() };
                Ok(Done { kind: "condition", notified: Some(notified.map_err(waits::failure)?), ..done })
            }
            Some("event") if self.all => {
                Err(self.wrong(&file, "an event, which lets all go on when it is set: leave --all out"))
            }
            Some("event") | None => {
                let mut options = file.event_options();
                let event = options.must_exist(must_exist).open(&self.name).map_err(waits::failure)?;
                let changed = if self.clear { event.clear() } else { event.set() };
                let changed = Some(changed.map_err(waits::failure)?);
                Ok(Done { set: Some(!self.clear), changed, ..done })
            }
            Some(other) => {
                let what = format!("a {other}: only events and conditions are notified; use another name");
                Err(self.wrong(&file, &what))
            }
        }
    }

    fn kind_in(&self, status: &FileStatus) -> Option<&'static str> {
        status.locks.iter().find(|lock| lock.name == self.name).map(|lock| lock.kind)
    }

    fn wrong(&self, file: &LockFile, what: &str) -> Failure {
        let why = format!("{:?} is {what}", self.name);
        Failure::new(exit::NO_FILE, Error::Kind { path: file.path(), why })
    }
}

impl Done<'_> {
    fn in_words(&self) -> String {
        let name = escape::text(self.name);
        match (self.notified, self.set, self.changed) {
            (Some(0), ..) => format!("no participant waits for {name:?}"),
            (Some(1), ..) => format!("1 that waits for {name:?} is notified"),
            (Some(count), ..) => format!("{count} that wait for {name:?} are notified"),
            (None, Some(true), Some(true)) => format!("{name:?} is set"),
            (None, Some(true), _) => format!("{name:?} was set already"),
            (None, _, Some(true)) => format!("{name:?} is cleared"),
            (None, ..) => format!("{name:?} was not set"),
        }
    }
}
