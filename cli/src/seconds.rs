//! Times on the command line.

use std::time::Duration;

/// Returns a time in seconds, with fractions.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{text:?} is not a number of seconds"))?;
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("{text} seconds is not a time to wait"))
}
