//! The explanation as text, for a pipe, a file, or a reader that goes line by line.

use super::{
    stage::{Picture, Stop},
    table,
};
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
        text += &drawn(picture);
        match print::line(&text) {
            Ok(true) => self.ending.within(self.pace).map_or(Ok(()), |signal| Err(Stop::Quit(Some(signal)))),
            Ok(false) => Err(Stop::Quit(None)),
            Err(error) => Err(Stop::Unprinted(error)),
        }
    }
}

/// Returns the table, with a star at each cell that the step has changed.
fn drawn(picture: &Picture) -> String {
    let columns = table::columns(&picture.registers);
    let head = columns.iter().map(|(name, width)| format!("{name:<0$}", width + 2)).collect::<String>();
    let mut text = format!("  {FAINT}{}{FAINT:#}\n", head.trim_end());
    for row in table::rows(picture) {
        let mut line = String::from("  ");
        for (cell, (_, width)) in row.iter().zip(&columns) {
            let star = if cell.changed { "*" } else { "" };
            let _ = write!(line, "{:<1$}", format!("{}{star}", cell.text), width + 2);
        }
        text += line.trim_end();
        text.push('\n');
    }
    let words = table::of_the_lock(&picture.registers, picture);
    let words: Vec<String> =
        words.iter().map(|cell| format!("{}{}", cell.text, if cell.changed { "*" } else { "" })).collect();
    let _ = writeln!(text, "  {}", words.join(", "));
    text
}
