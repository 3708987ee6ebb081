//! `turnlock reset`: opens a lock that is not recoverable.

use super::{
    escape, exit, file,
    lock::{Lock, OpenOptions},
    print,
};
use std::{path::PathBuf, process::ExitCode, time::Duration};
use turnlock::{Error, LockFile, Result};

/// Open a lock again that is closed because a holder died and nobody repaired its data
///
/// Repair the data first, or give them up. Waits for its turn like everyone else; a lock that is well is left as it is. Of a
/// range lock or a keyed lock, every part that the dead left is marked consistent, once nobody holds any.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  the lock is open
  1  the time limit passed
  64  the command line is wrong
  66  no such file or lock
  71  something else went wrong, or standard output cannot be written to")]
pub struct Reset {
    /// The name of the lock in the file
    #[arg(long, short = 'l', value_name = "NAME", default_value = "default")]
    lock: String,
    /// Wait at most so long for the turn, in seconds; fractions allowed
    #[arg(long, short = 'w', value_name = "SECONDS", value_parser = super::seconds::seconds, default_value = "10")]
    timeout: Duration,
    /// The lock file (/dev/fd/N: the one that descriptor N is open on)
    file: PathBuf,
}

impl Reset {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        match self.try_run() {
            Ok(()) => {
                let path = escape::path(&self.file);
                print::and_end(&format!("{:?} in {path} is open\n", self.lock), 0)
            }
            Err(error @ Error::TimedOut) => print::fail(exit::FAILED, &error),
            Err(error @ (Error::WouldBlock | Error::System { .. } | Error::ParticipantsFull { .. })) => {
                print::fail(exit::OS, &error)
            }
            Err(error) => print::fail(exit::NO_FILE, &error),
        }
    }

    fn try_run(&self) -> Result<()> {
        let mut options = LockFile::options();
        options.must_exist(true).label("turnlock reset");
        let file = file::open(&options, &self.file)?;
        let options = OpenOptions { must_exist: true, ..OpenOptions::default() };
        Lock::open(&file, &self.lock, &options)?.reset_for(self.timeout)
    }
}
