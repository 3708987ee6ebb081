//! `turnlock report`: what a lock file has recorded, as a page with plots.
//!
//! | module | what it has |
//! |---|---|
//! | `numbers` | what is counted |
//! | `times` | times and spans in letters |
//! | `html` | text and tables as HTML |
//! | `plots` | the plots, as SVG |
//! | `sections` | the parts of the page: each a plot, its words, its table |
//! | `page` | the whole of it |

mod html;
mod numbers;
mod page;
mod plots;
mod sections;
mod times;

use super::{exit, output, print, recorded::Recorded};
use std::{path::PathBuf, process::ExitCode};

/// Make a page with plots of what a lock file has recorded: waits, order of service, holders, deaths
///
/// A lock file that was created with a recording (`turnlock create --record 100000`, or `turnlock grow`) keeps the latest
/// events: who asked for a lock, acquired it, released it, gave up, died. The page shows how long was waited (histogram and
/// percentiles), who asked when and was served when, who held each lock for how long, what happened last, who died, and the
/// numbers of all plots as tables. It is one file that loads nothing and runs nothing, for a screen of any width, light or dark.
///
/// Only looks, as `turnlock status` does: permission to read the file is enough, at any time.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  written
  1  the file keeps no recording; the message says how it gets one
  64  the command line is wrong
  66  the file cannot be read or is not a lock file
  71  the page cannot be written

EXAMPLES
  turnlock create --record 100000 app.lock          and then use it
  turnlock report app.lock -o report.html           open that in a browser
  turnlock report app.lock | ssh desk 'cat > report.html'
  turnlock trace app.lock -o trace.json             every event, for ui.perfetto.dev")]
pub struct Report {
    /// Where to write the page; standard output if not said
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The lock file (/dev/fd/N: the one that descriptor N is open on)
    file: PathBuf,
}

impl Report {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        let recorded = match Recorded::read(&self.file) {
            Ok(recorded) => recorded,
            Err((code, why)) => return print::fail(code, &why),
        };
        match page::of(&recorded) {
            Ok(page) => output::write(self.output.as_deref(), |to| to.write_all(page.as_bytes())),
            Err(error) => print::fail(exit::OS, &format!("a plot cannot be drawn: {error}")),
        }
    }
}
