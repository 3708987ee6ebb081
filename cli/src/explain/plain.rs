//! The explanation as text, for a pipe, a file, or a reader that goes line by line.

use super::picture::{Cell, Picture, Stop, Table};
use crate::{
    describe::{FAINT, STRONG},
    print,
    terminal::Ending,
    words_in_lines::broken,
};
use std::{fmt::Write, time::Duration};

/// What has been printed so far.
pub struct Plain {
    pace: Duration,
    chapter: String,
    ending: Ending,
}

impl Plain {
    /// With so much time from one step to the next.
    pub fn new(pace: Duration) -> std::io::Result<Self> {
        Ok(Self { pace, chapter: String::new(), ending: Ending::listen()? })
    }

    /// Prints a picture.
    pub fn show(&mut self, picture: &Picture) -> Result<(), Stop> {
        let mut text = String::new();
        if picture.chapter != self.chapter {
            let _ = writeln!(text, "\n{STRONG}{}{STRONG:#}", picture.chapter);
            self.chapter.clone_from(&picture.chapter);
        }
        text.push('\n');
        for sentence in &picture.sentences {
            for (at, line) in broken(sentence, 76).iter().enumerate() {
                let _ = writeln!(text, "{} {line}", if at == 0 { "-" } else { " " });
            }
        }
        text += &drawn(&picture.table);
        match print::line(&text) {
            Ok(true) => self.ending.within(self.pace).map_or(Ok(()), |signal| Err(Stop::Quit(Some(signal)))),
            Ok(false) => Err(Stop::Quit(None)),
            Err(error) => Err(Stop::Unprinted(error)),
        }
    }
}

/// Returns the table, with a star at each cell that the step has changed.
fn drawn(table: &Table) -> String {
    let head = table.columns.iter().map(|(name, width)| format!("{name:<0$}", width + 2)).collect::<String>();
    let mut text = format!("  {FAINT}{}{FAINT:#}\n", head.trim_end());
    let starred = |cell: &Cell| format!("{}{}", cell.text, if cell.changed { "*" } else { "" });
    for row in &table.rows {
        let cells = row.iter().zip(&table.columns);
        let line: String =
            cells.map(|(cell, (_, width))| format!("{:<1$}", starred(cell), width + 2)).collect();
        let _ = writeln!(text, "  {}", line.trim_end());
    }
    for line in &table.lines {
        let _ = writeln!(text, "  {}", line.iter().map(starred).collect::<Vec<_>>().join(", "));
    }
    text
}
