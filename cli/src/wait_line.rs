//! What is said while one waits: on a terminal a line that is kept up to date and taken away at the end, elsewhere one
//! message.

use super::{escape, print, processes};
use std::io::{self, IsTerminal, Write};

/// The line.
pub struct WaitLine {
    /// It can be written over.
    live: bool,
    /// It stands on the screen.
    shown: bool,
}

/// What each line begins with.
const PREFIX: &str = "turnlock: ";
/// Where a terminal does not tell how wide it is.
const USUAL_WIDTH: usize = 80;

impl WaitLine {
    /// None yet. `keeps`: what was said before is to stay on the screen, one message below the other.
    pub fn new(keeps: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|terminal| terminal == "dumb");
        Self { live: !keeps && !dumb && io::stderr().is_terminal(), shown: false }
    }

    /// Shows what `text` makes for so many columns. Returns whether it is worth showing again what has changed.
    pub fn show(&mut self, text: impl Fn(usize) -> String) -> bool {
        // What runs in the background does not write into another process's line.
        if self.live && processes::is_in_foreground() {
            let width = terminal_size::terminal_size_of(io::stderr())
                .map_or(USUAL_WIDTH, |(width, _)| usize::from(width.0));
            let columns = width.saturating_sub(1);
            let text = escape::text(&text(columns.saturating_sub(PREFIX.len())));
            let line: String = format!("{PREFIX}{text}").chars().take(columns).collect();
            write(&format!("\r{line}\x1b[K"));
            self.shown = true;
            return true;
        }
        self.live = false;
        self.clear();
        print::message(&text(usize::MAX));
        false
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            write("\r\x1b[K");
        }
    }
}

impl Drop for WaitLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A terminal that is gone reads nothing; and the wait goes on.
fn write(text: &str) {
    let mut terminal = io::stderr().lock();
    let _ = terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush());
}
