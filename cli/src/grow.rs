//! `turnlock grow`: a larger lock file in the place of one that is full.

use super::{create::Created, escape, exit, file, print};
use std::{path::PathBuf, process::ExitCode};
use turnlock::{Error, LockFile, Result};

/// Make room in a lock file for more participants, locks or mailboxes, or for a recording
///
/// Puts a larger file in its place that holds the same: locks, fencing tokens, what is known of deaths; owner, group and
/// mode. Refused while a process uses the file, which would go on in the old one: end its programs first. A program
/// that only has it open is told when it locks next that the file was replaced, and opens it anew.
/// A newcomer waits for it meanwhile, a third of a second at most.
///
/// Whatever happens on the way, kill -9 and a full disk included, the old file is there as it was, or the new one whole. (A
/// file called .turnlock- and a number that was left beside it is unused, and may be deleted.)
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("larger").required(true).multiple(true))]
#[command(after_help = "\
EXIT CODES
  0  the file is larger
  1  a process uses it, it is as large already, or a ring in it does not allow that number of participants
  64  the command line is wrong
  66  no such lock file, or it cannot be opened
  71  something else went wrong (no room on the disk), or standard output cannot be written to

EXAMPLES
  turnlock grow --participants 500 /run/app/app.lock
  turnlock grow --locks 1000 --json app.lock
  turnlock grow --record 100000 app.lock                  from now on it records what happens")]
pub struct Grow {
    /// Room for so many participants at once (threads and processes), 1 to 4096; as it is if not said
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096), group = "larger")]
    participants: Option<u32>,
    /// Room for so many named locks, 1 to 4096; as it is if not said
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096), group = "larger")]
    locks: Option<u32>,
    /// So many participants can take locks by messages, at most 16: those in the lowest slots; as it is if not said
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16), group = "larger")]
    mailboxes: Option<u32>,
    /// Record what happens: the file keeps so many of the latest events, 64 to 16777216, rounded up to a power of two, of 32
    /// bytes each, for `turnlock trace` and `turnlock report`. What was recorded in a shorter recording is lost
    #[arg(long, value_name = "EVENTS", value_parser = clap::value_parser!(u32).range(64..=16_777_216),
        group = "larger")]
    record: Option<u32>,
    /// Print what it is now as JSON
    #[arg(long)]
    json: bool,
    /// The lock file
    file: PathBuf,
}

impl Grow {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        let grown = self.try_run().map_err(|error| {
            let code = match error {
                Error::InvalidArgument(_) => exit::FAILED,
                _ => exit::code(&error),
            };
            (code, error.to_string())
        });
        let now = grown.and_then(|()| Created::of(&self.file).map_err(|why| (exit::OS, why)));
        match now {
            Ok(now) if self.json => print::json(&now),
            Ok(now) => print::and_end(&now.in_words("is larger"), 0),
            Err((code, why)) => print::fail(code, &why),
        }
    }

    fn try_run(&self) -> Result<()> {
        if file::descriptor(&self.file) {
            return Err(Error::InvalidArgument(format!(
                "{} is a descriptor, and a descriptor stays with its file: give the file's path",
                escape::path(&self.file)
            )));
        }
        let mut options = LockFile::options();
        options.participants(self.participants.unwrap_or(0)).locks(self.locks.unwrap_or(0));
        options.mailboxes(self.mailboxes.unwrap_or(0)).recorded_events(self.record.unwrap_or(0));
        options.label("turnlock grow").grow(&self.file).map(drop)
    }
}
