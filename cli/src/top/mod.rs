//! `turnlock top`: a live screen of the locks of some files.
//!
//! | module | what it has |
//! |---|---|
//! | `source` | one of the files: what it says now, what was measured |
//! | `measured` | acquisitions a second, waits |
//! | `rows` | the list: sorted, filtered |
//! | `columns` | which columns there is room for |
//! | `app` | what is shown, and what keys do |
//! | `draw` | the screen: the line of each file, the list, the keys |
//! | `lock_page`, `registers_page`, `help_page` | the pages |
//! | `words` | what stands in the cells |

mod app;
mod broken;
mod columns;
mod draw;
mod help_page;
mod lock_page;
mod measured;
mod registers_page;
mod rows;
mod source;
mod words;

use super::{
    exit, file, print,
    terminal::{self, Input, Screen},
    watch::interval,
};
use app::App;
use std::{
    io,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

/// Watch the locks of files on a live screen: who holds, who waits, since when
///
/// Shows each lock with its holder and since when, how many wait and how often it is acquired; one lock in full, with its
/// queue in order and what happened to it; and, for a reader who wants to see the algorithm, its registers. The key ?
/// says what the columns mean and what the keys do. Only looks: it takes no slot, does not wait and writes nothing, so
/// it needs permission to read the files only, and works while everything is stuck. It goes on when a file is deleted,
/// replaced or truncated, and says so.
///
/// Waits are sampled: those that begin and end between two looks are not seen, so that p50 and p99 are those of longer
/// waits.
#[derive(clap::Args)]
#[command(after_help = "\
KEYS
  up, down    select a lock           Enter      open it
  r           the lock's registers    Esc, left  back to the list
  /           filter                  < > R      sort
  p           pause                   + -        draw less, more often
  ?           help                    q          quit

EXIT CODES
  0  quit
  64  the command line is wrong, or there is no terminal
  66  a file cannot be read or is not a lock file when it begins
  71  the terminal cannot be written to
  128 + N  signal N ended it

EXAMPLES
  turnlock top /run/app.lock
  turnlock top --interval 2 /run/*.lock

Without a terminal: turnlock watch, turnlock status.")]
pub struct Top {
    /// From one drawing to the next, in seconds; looks are more frequent
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = interval)]
    interval: Duration,
    /// The lock files (/dev/fd/N: the one that descriptor N is open on)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Top {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        for path in &self.files {
            // What is wrong from the beginning is more likely a mistake than something to wait for.
            if let Err(error) = file::snapshot(path) {
                return print::fail(exit::NO_FILE, &error);
            }
        }
        if !terminal::is_there() {
            let what = "top needs a terminal to read keys from and to draw on; for a pipe or a file: turnlock watch, \
                        or turnlock status";
            return print::fail(exit::USAGE, &what);
        }
        match self.show() {
            Ok(None) => ExitCode::SUCCESS,
            Ok(Some(signal)) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(exit::FAILED)),
            Err(error) => print::fail(exit::OS, &format!("the terminal: {error}")),
        }
    }

    /// Shows the screen until a key or a signal ends it. Returns that signal.
    fn show(&self) -> io::Result<Option<usize>> {
        let mut screen = Screen::open()?;
        let mut app = App::new(&self.files, self.interval);
        loop {
            let cost = look(&mut app);
            screen.draw(|frame| draw::draw(frame, &mut app))?;
            let drawn = Instant::now();
            // Looks in between, so that fewer waits go unseen.
            let between = LOOK_EVERY.max(cost * LOOKING_TAKES_ONE_IN);
            let mut looked = drawn;
            while drawn.elapsed() < app.interval {
                match screen.next((looked + between).min(drawn + app.interval))? {
                    Input::Key(key) if !app.key(&key) => return Ok(None),
                    Input::Key(_) | Input::Redraw => screen.draw(|frame| draw::draw(frame, &mut app))?,
                    Input::Signal(signal) => return Ok(Some(signal)),
                    Input::Nothing if looked.elapsed() >= between => {
                        look(&mut app);
                        looked = Instant::now();
                    }
                    Input::Nothing => {}
                }
            }
        }
    }
}

/// How often files are looked at, at most and if that costs little.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Looking takes one part in so many of the time.
const LOOKING_TAKES_ONE_IN: u32 = 20;

/// Looks, and gives how long that took.
fn look(app: &mut App) -> Duration {
    let began = Instant::now();
    app.look();
    began.elapsed()
}

#[cfg(test)]
mod tests;
