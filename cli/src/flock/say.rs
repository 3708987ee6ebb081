//! flock(1)'s messages: scripts read some of them.

use crate::{escape, print};
use std::{
    ffi::OsStr,
    io::{self, Write},
    time::Duration,
};

/// Says on standard output how long the wait took. A closed output changes nothing.
pub fn took(time: Duration) {
    let _ = print::result(&format!(
        "flock: getting lock took {}.{:06} seconds\n",
        time.as_secs(),
        time.subsec_micros()
    ));
}

/// Says on standard output what is executed.
pub fn executing(program: &OsStr) {
    let _ = print::result(&format!("flock: executing {}\n", escape::text(&program.to_string_lossy())));
}

/// On standard error.
pub fn not_taken(waited: bool) {
    error(if waited { "timeout while waiting to get lock" } else { "failed to get lock" });
}

/// On standard error: what went wrong with `what`.
pub fn failed(what: &str, source: &io::Error) {
    let source = source.to_string();
    let plain = source.split(" (os error").next().unwrap_or(&source);
    error(&format!("{what}: {plain}"));
}

/// On standard error.
pub fn error(text: &str) {
    let mut errors = io::stderr().lock();
    // There is nowhere left to say that it cannot be written.
    let _ = writeln!(errors, "flock: {}", escape::text(text)).and_then(|()| errors.flush());
}
