//! `turnlock trace`: the recording of a lock file, for Perfetto and what else reads Chrome's trace events.
//!
//! | module | what it has |
//! |---|---|
//! | `tracks` | which wait or hold is drawn on which track |
//! | `events` | the trace events |

mod events;
mod tracks;

use super::{output, print, recorded::Recorded};
use std::{path::PathBuf, process::ExitCode};

/// Write what a lock file has recorded as a trace, for Perfetto (ui.perfetto.dev) or chrome://tracing
///
/// A lock file that was created with a recording (`turnlock create --record 100000`, or `turnlock grow`) keeps the latest
/// events: who asked for a lock, acquired it, released it, gave up, died. This makes Chrome's trace events of them, as JSON: a
/// track for each thread, with a slice for each wait and each hold; arrows from a holder to the one that waited for it; marks
/// for deaths, recoveries, time-outs and the like; and for each lock how many wait and hold. What goes on now is drawn until
/// now. Several files come into one trace.
///
/// Only looks, as `turnlock status` does: permission to read the file is enough, at any time.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  written
  1  the file keeps no recording; the message says how it gets one
  64  the command line is wrong
  66  a file cannot be read or is not a lock file
  71  the output cannot be written

Times are those of CLOCK_MONOTONIC, in microseconds with three decimals; otherData says when that began. On a track slices
are inside each other or one behind the other: where a thread holds locks that overlap otherwise, it has further tracks, by its
name and a number. Two processes of the same number, in different PID namespaces, share a track.

EXAMPLES
  turnlock create --record 100000 app.lock               and then use it
  turnlock trace app.lock -o trace.json                  open that in ui.perfetto.dev
  turnlock trace app.lock | gzip > trace.json.gz         which Perfetto reads too
  turnlock trace app.lock | jq '.traceEvents[] | select(.ph == \"i\")'")]
pub struct Trace {
    /// Where to write it; standard output if not said
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Lock files (/dev/fd/N: the one that descriptor N is open on)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Trace {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        let mut read = Vec::new();
        for file in &self.files {
            match Recorded::read(file) {
                Ok(recorded) => read.push(recorded),
                Err((code, why)) => return print::fail(code, &why),
            }
        }
        output::write(self.output.as_deref(), |to| events::write(&read, to))
    }
}
