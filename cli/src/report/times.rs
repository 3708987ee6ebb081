//! Times and spans of a report, in letters.

/// Returns a span of nanoseconds to three digits: "850 ns", "12.3 µs", "4.56 ms", "1.20 s", "3 min 20 s".
pub fn span(nanoseconds: u64) -> String {
    let digits = |value: f64, unit: &str| match value {
        _ if value >= 99.95 => format!("{value:.0} {unit}"),
        _ if value >= 9.995 => format!("{value:.1} {unit}"),
        _ => format!("{value:.2} {unit}"),
    };
    let value = nanoseconds as f64;
    match nanoseconds {
        0..1_000 => format!("{nanoseconds} ns"),
        1_000..999_500 => digits(value / 1e3, "µs"),
        999_500..999_500_000 => digits(value / 1e6, "ms"),
        999_500_000..120_000_000_000 => digits(value / 1e9, "s"),
        120_000_000_000..7_200_000_000_000 => {
            let seconds = (value / 1e9).round() as u64;
            format!("{} min {} s", seconds / 60, seconds % 60)
        }
        _ => {
            let minutes = (value / 60e9).round() as u64;
            format!("{} h {} min", minutes / 60, minutes % 60)
        }
    }
}

/// Returns a span that is a power of ten, for an axis: "10 ms".
pub fn decade(nanoseconds: f64) -> String {
    match nanoseconds {
        _ if nanoseconds < 999.0 => format!("{nanoseconds:.0} ns"),
        _ if nanoseconds < 999e3 => format!("{:.0} µs", nanoseconds / 1e3),
        _ if nanoseconds < 999e6 => format!("{:.0} ms", nanoseconds / 1e6),
        _ => format!("{:.0} s", nanoseconds / 1e9),
    }
}

/// Returns a moment, given in nanoseconds since 1970, in UTC: "2026-11-23 10:04:12.345678".
pub fn moment(unix_nanoseconds: u64) -> String {
    let seconds = unix_nanoseconds / 1_000_000_000;
    let [day, second] = [seconds / 86_400, seconds % 86_400];
    let (year, month, day) = date(day);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}.{:06}",
        second / 3600,
        second / 60 % 60,
        second % 60,
        unix_nanoseconds % 1_000_000_000 / 1000
    )
}

/// Returns the year, month and day of a day that is counted from 1970-01-01, in the Gregorian calendar: `civil_from_days` of
/// Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms", for days that are not before 1970.
fn date(day: u64) -> (u64, u64, u64) {
    // From 0000-03-01 on: the day that leap years add is a year's last.
    let day = day + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let from_january = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + u64::from(from_january <= 2), from_january, of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_three_digits() {
        for (nanoseconds, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_234, "1.23 µs"),
            (99_960, "100 µs"),
            (999_600, "1.00 ms"),
            (45_600_000, "45.6 ms"),
            (1_200_000_000, "1.20 s"),
            (200_000_000_000, "3 min 20 s"),
            (7_260_000_000_000, "2 h 1 min"),
        ] {
            assert_eq!(span(nanoseconds), text);
        }
        assert_eq!([1e2, 1e4, 1e8, 1e10].map(decade), ["100 ns", "10 µs", "100 ms", "10 s"]);
    }

    /// What date(1) says of them, and of each day between.
    #[test]
    fn moments_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00.000000"),
            (951_782_399, "2000-02-28 23:59:59.000000"),
            (951_782_400, "2000-02-29 00:00:00.000000"),
            (1_795_428_252, "2026-11-23 10:04:12.000000"),
            (4_107_542_400, "2100-03-01 00:00:00.000000"),
        ] {
            assert_eq!(moment(seconds * 1_000_000_000), text);
        }
        assert_eq!(moment(1_234_567_891), "1970-01-01 00:00:01.234567");
        let mut before = (1969, 12, 31);
        for day in 0..60_000 {
            let (year, month, of_month) = date(day);
            let follows = match before {
                (before_year, before_month, _) if of_month == 1 => {
                    (year, month) == (before_year, before_month + 1)
                        || (year, month, before_month) == (before_year + 1, 1, 12)
                }
                (before_year, before_month, before_day) => {
                    (year, month, of_month) == (before_year, before_month, before_day + 1)
                }
            };
            assert!(follows, "{before:?} is followed by {:?}", (year, month, of_month));
            before = (year, month, of_month);
        }
    }
}
