//! Times on the command line.

use std::time::Duration;

/// Returns a time in seconds, with fractions.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{text:?} is not a number of seconds"))?;
    if seconds < 0.0 {
        return Err(format!("a time must not be negative, and {text} is"));
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("{text} seconds is not a time to wait"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_time_is_said() {
        assert_eq!(seconds("2.5"), Ok(Duration::from_millis(2500)));
        assert_eq!(seconds("-1"), Err("a time must not be negative, and -1 is".into()));
        assert_eq!(seconds("x"), Err("\"x\" is not a number of seconds".into()));
        assert!(["NaN", "inf", "1e30"].iter().all(|text| seconds(text).is_err()));
    }
}
