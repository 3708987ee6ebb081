//! `turnlock remove-lock`: takes a name out of a lock file.

use super::{escape, exit, file, print, reset::OfALock};
use std::{path::PathBuf, process::ExitCode};
use turnlock::{LockFile, Result};

/// Remove a named lock that no process uses, so that there is room for another one
///
/// Does not wait: a lock that has a holder or a waiter is left as it is. Programs that have it open are told that it
/// was removed when they lock it next; a program that opens it again by its name creates a new one. Conditions, events, barriers
/// and onces are removed likewise, while none waits for them.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  the lock is removed
  1  a process uses it, or is still to be told of a death
  64  the command line is wrong
  65  it is closed, since a holder died and its data was not repaired: see turnlock reset
  66  no such file or lock
  71  something else went wrong, or standard output cannot be written to

EXAMPLES
  turnlock remove-lock /run/app/app.lock job-17")]
pub struct RemoveLock {
    /// Print which lock is removed as JSON
    #[arg(long)]
    json: bool,
    /// The lock file (/dev/fd/N: the one that descriptor N is open on)
    file: PathBuf,
    /// The name of the lock in the file
    name: String,
}

impl RemoveLock {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        match self.try_run() {
            Ok(path) if self.json => {
                print::json(&OfALock { path: path.to_string_lossy().into_owned(), lock: self.name.clone() })
            }
            Ok(_) => {
                let path = escape::path(&self.file);
                print::and_end(&format!("{:?} is removed from {path}\n", self.name), 0)
            }
            Err(error) => print::fail(exit::code(&error), &error),
        }
    }

    fn try_run(&self) -> Result<PathBuf> {
        let mut options = LockFile::options();
        options.must_exist(true).label("turnlock remove-lock");
        let file = file::open(&options, &self.file)?;
        file.remove_lock(&self.name)?;
        Ok(file.path())
    }
}
