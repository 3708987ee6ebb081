//! `turnlock reset`: opens a lock that is not recoverable.

use super::{
    escape, exit, file,
    lock::{Lock, OpenOptions},
    print,
};
use std::{path::PathBuf, process::ExitCode, time::Duration};
use turnlock::{Error, LockFile, Result};

/// Open a lock again that is closed because a holder died and its data was not repaired
///
/// Repair the data first, or give them up. Waits for its turn like everyone else; a lock that is well is left as it is. Of a
/// range lock or a keyed lock, every part that the dead left is marked consistent, once none has a holder; of a group lock what the
/// dead of every group left, once none is inside.
///
/// A barrier that is broken is opened anew, as `turnlock barrier --reset` does; those that wait there are told that it is broken.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  the lock is open
  1  the time limit passed
  64  the command line is wrong
  66  no such file or lock, or it is a condition, an event or a once, which are never closed
  71  something else went wrong, or standard output cannot be written to

EXAMPLES
  turnlock reset --lock accounts /run/app/app.lock    after the data are repaired
  turnlock reset --timeout 0.5 app.lock")]
pub struct Reset {
    /// The name of the lock in the file
    #[arg(long, short = 'l', value_name = "NAME", default_value = super::lock::DEFAULT)]
    lock: String,
    /// Wait at most so long for the turn, in seconds; fractions allowed
    #[arg(long, short = 'w', value_name = "SECONDS", value_parser = super::seconds::seconds, default_value = "10")]
    timeout: Duration,
    /// Print which lock is open as JSON
    #[arg(long)]
    json: bool,
    /// The lock file (/dev/fd/N: the one that descriptor N is open on)
    file: PathBuf,
}

/// Which lock something was done to.
#[derive(serde::Serialize)]
pub struct OfALock {
    pub path: String,
    pub lock: String,
}

impl Reset {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        match self.try_run() {
            Ok(path) if self.json => {
                print::json(&OfALock { path: path.to_string_lossy().into_owned(), lock: self.lock.clone() })
            }
            Ok(_) => {
                let path = escape::path(&self.file);
                print::and_end(&format!("{:?} in {path} is open\n", self.lock), 0)
            }
            Err(error) => print::fail(exit::code(&error), &error),
        }
    }

    fn try_run(&self) -> Result<PathBuf> {
        let mut options = LockFile::options();
        options.must_exist(true).label("turnlock reset");
        let file = file::open(&options, &self.file)?;
        let status = file::snapshot(&file::path(&file, &self.file))?;
        let kind = status.locks.iter().find(|lock| lock.name == self.lock).map(|lock| lock.kind);
        let instead = match kind {
            Some("barrier") => {
                file.barrier_options().open(&self.lock)?.reset()?;
                return Ok(file.path());
            }
            Some("condition") => "a condition, which is never closed",
            Some("event") => "an event, which is never closed: `turnlock notify --clear` clears it",
            Some("once") => "a once, which is never closed: `turnlock once --reset` has it be done again",
            _ => "",
        };
        if !instead.is_empty() {
            return Err(Error::Kind { path: file.path(), why: format!("{:?} is {instead}", self.lock) });
        }
        let options = OpenOptions { must_exist: true, ..OpenOptions::default() };
        Lock::open(&file, &self.lock, &options)?.reset_for(self.timeout)?;
        Ok(file.path())
    }
}
