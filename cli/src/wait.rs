//! `turnlock wait`: until an event is set.

use super::{
    failed::Failed,
    waits::{self, Wait, Waits},
};
use std::{path::PathBuf, process::ExitCode, time::Duration};

/// Wait until an event is set
///
/// An event has a name in the lock file, as locks have. It is set by `turnlock notify`, or by a program in any language, and
/// stays set until it is cleared, or until the machine boots. If it is set already, there is nothing to wait for. A wait that
/// began before it was set ends also if it was cleared since.
///
/// The event, and the lock file, are created if they are not there: it does not matter whether the one that waits or the one that
/// sets comes first. A wait holds nothing; kill -9 leaves nothing behind. A lock file that is deleted or replaced during the wait
/// is opened again.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  it is set, or was set during the wait
  -E CODE (1)  the time limit passed; with --try, it is not set
  64  the command line is wrong
  66  the lock file cannot be opened or created, or the name is that of something else; or the event was removed meanwhile
  71  something else went wrong
  128 + N  signal N ended the wait

EXAMPLES
  turnlock wait /run/app.lock ready && ./client
  turnlock wait -w 30 /run/app.lock ready || echo 'not ready after half a minute'
  if turnlock wait --try /run/app.lock stop; then exit; fi      in a loop, which `turnlock notify /run/app.lock stop` ends
  turnlock notify /run/app.lock ready                            by the one that is ready")]
pub struct WaitForEvent {
    /// Do not wait: only see whether it is set
    #[arg(long = "try", short = 'n', conflicts_with = "timeout")]
    try_once: bool,
    #[command(flatten)]
    waits: Waits,
    /// The lock file (/dev/fd/N: the one that descriptor N is open on)
    file: PathBuf,
    /// The name of the event in the file, 1 to 63 bytes
    name: String,
}

impl WaitForEvent {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        self.try_run().map_or_else(Failed::end, |()| ExitCode::SUCCESS)
    }

    fn try_run(&self) -> Result<(), Failed> {
        let signals = waits::keep_signals()?;
        let limit = if self.try_once { Some(Duration::ZERO) } else { self.waits.timeout };
        let wait = Wait {
            waits: &self.waits,
            limit,
            file: &self.file,
            name: &self.name,
            label: "turnlock wait",
            signals: &signals,
        };
        wait.with(|opened, limit| {
            let event = opened.file.event(&self.name)?;
            match limit {
                None => event.wait_as(&opened.participant),
                Some(limit) => event.wait_for_as(&opened.participant, limit),
            }
        })
    }
}
