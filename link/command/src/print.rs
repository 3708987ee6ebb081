//! What the program prints: results on standard output, messages on standard error.

use crate::{exit, failure::Failure};
use std::io::{self, ErrorKind, Write};

/// Prints one line on standard error: "turnlock-link: ..." One that cannot be written is dropped: there is nowhere left to say so.
pub fn message(what: &str) {
    let _ = writeln!(io::stderr().lock(), "turnlock-link: {}", fit(what));
}

/// Prints a result. A reader that closes the pipe has read enough.
pub fn result(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(exit::OS, format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Returns what others wrote (names of locks and hosts, what an engine says) without control characters.
pub fn fit(text: &str) -> String {
    let letter =
        |letter: char| if letter.is_control() { letter.escape_default().to_string() } else { letter.into() };
    text.chars().map(letter).collect()
}
