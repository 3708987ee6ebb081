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
}
