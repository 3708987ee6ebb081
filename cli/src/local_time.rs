//! Moments as people here read them: in the time zone of this machine, or of $TZ.

use chrono::{DateTime, Local, Offset};

/// Returns a moment, given in nanoseconds since 1970: "2026-11-23 10:04:12.345678".
pub fn moment(unix_nanoseconds: u64) -> String {
    at(unix_nanoseconds).format("%Y-%m-%d %H:%M:%S%.6f").to_string()
}

/// Returns the time of day of a moment, given in seconds since 1970: "10:04:12.345".
pub fn clock(unix_seconds: f64) -> String {
    at((unix_seconds * 1e9) as u64).format("%H:%M:%S%.3f").to_string()
}

/// Returns the time zone at a moment, for a heading: "UTC", "UTC+01:00".
pub fn zone(unix_nanoseconds: u64) -> String {
    let offset = at(unix_nanoseconds).offset().fix();
    if offset.local_minus_utc() == 0 { "UTC".into() } else { format!("UTC{offset}") }
}

fn at(unix_nanoseconds: u64) -> DateTime<Local> {
    DateTime::from_timestamp_nanos(unix_nanoseconds.try_into().unwrap_or(i64::MAX)).with_timezone(&Local)
}
