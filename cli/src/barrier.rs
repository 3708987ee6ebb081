//! `turnlock barrier`: until all parties have come.

use super::{
    escape,
    failed::{Failed, Failure},
    file, no_lock, print,
    waits::{self, Wait, Waits},
};
use std::{path::PathBuf, process::ExitCode};
use turnlock::LockFile;

/// Wait at a barrier until all parties have come
///
/// N processes, or threads, of whatever programs, each wait here; when the last one has come, all go on, and the barrier can be
/// used again for the next stage. The lock file and the barrier are created if they are not there.
///
/// A party that dies in its wait breaks the barrier, and so does one whose time is over, or whose wait a signal ends: all that wait
/// are told who it was, and so are those that come later, until the barrier is reset. So none waits for one that never comes, as
/// long as that one has come once; give --timeout for one that may not even be started.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  all have come; with --reset, it is open anew
  -E CODE (1)  the time limit passed, and the barrier is broken for the others
  64  the command line is wrong
  65  it is broken: the message says at whom
  66  the lock file cannot be opened or created; or the name is that of something else, or of a barrier with another number of
      parties, or the barrier was removed meanwhile
  71  something else went wrong
  128 + N  signal N ended the wait, and the barrier is broken for the others

EXAMPLES
  for shard in 1 2 3; do
    (./load $shard && turnlock barrier /run/app.lock loaded 3 && ./index $shard) &
  done; wait
  turnlock barrier -w 60 /run/app.lock loaded 3 || turnlock notify /run/app.lock stop
  turnlock barrier --json /run/app.lock loaded 3 | jq .last    true for one of them
  turnlock barrier --reset /run/app.lock loaded                after one has died")]
pub struct BarrierWait {
    /// Open it anew, whether it is broken or not, and do not wait. Those that wait are told that it is broken
    #[arg(long, conflicts_with_all = ["timeout", "parties"])]
    reset: bool,
    /// Print as JSON whether this one was the last to come
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    waits: Waits,
    /// The lock file (/dev/fd/N: the one that descriptor N is open on)
    file: PathBuf,
    /// The name of the barrier in the file, 1 to 63 bytes
    name: String,
    /// How many parties it has, this one included; may be left out where the barrier is there
    #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    parties: Option<u32>,
}

/// What was done at a barrier.
#[derive(serde::Serialize)]
struct Done<'a> {
    path: String,
    name: &'a str,
    /// Whether this one was the last to come; nothing of a reset.
    last: Option<bool>,
}

impl BarrierWait {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        let done = match self.reset {
            true => self.reset().map(|path| (path, None)).map_err(Failed::from),
            false => self.wait().map(|(path, last)| (path, Some(last))),
        };
        match done {
            Ok((path, last)) if self.json => {
                print::json(&Done { path: path.to_string_lossy().into_owned(), name: &self.name, last })
            }
            Ok((_, None)) => {
                let path = escape::path(&self.file);
                print::and_end(&format!("{:?} in {path} is open\n", self.name), 0)
            }
            Ok(_) => ExitCode::SUCCESS,
            Err(failed) => failed.end(),
        }
    }

    fn reset(&self) -> Result<PathBuf, Failure> {
        let mut options = LockFile::options();
        options.must_exist(true).label("turnlock barrier");
        let file = file::open(&options, &self.file).map_err(waits::failure)?;
        let barrier = file.barrier_options().open(&self.name).map_err(waits::failure)?;
        barrier.reset().map_err(waits::failure)?;
        Ok(file.path())
    }

    fn wait(&self) -> Result<(PathBuf, bool), Failed> {
        let signals = waits::keep_signals()?;
        let wait = Wait {
            waits: &self.waits,
            limit: self.waits.timeout,
            file: &self.file,
            name: &self.name,
            label: "turnlock barrier",
            signals: &signals,
        };
        wait.with(|opened, limit| {
            let parties = self.parties.unwrap_or(0);
            no_lock::check_room(&opened.file, parties)?;
            let mut options = opened.file.barrier_options();
            let barrier = options.parties(parties).open(&self.name)?;
            let last = match limit {
                None => barrier.wait_as(&opened.participant),
                Some(limit) => barrier.wait_for_as(&opened.participant, limit),
            }?;
            Ok((opened.file.path(), last))
        })
    }
}
