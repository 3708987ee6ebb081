//! Spans of time in few letters.

use super::describe;

/// Returns a span of time in seven letters at most.
pub fn short(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 0.001 => "<1 ms".into(),
        seconds if seconds < 0.9995 => format!("{:.0} ms", seconds * 1e3),
        seconds if seconds < 172_800.0 => describe::span(seconds),
        seconds => format!("{:.0} d", seconds / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn spans_fit_their_column() {
        for (seconds, text) in [
            (0.0, "<1 ms"),
            (0.25, "250 ms"),
            (0.9996, "1.0 s"),
            (119.0, "119 s"),
            (7199.0, "120 min"),
            (172_799.0, "48.0 h"),
            (200_000.0, "2 d"),
        ] {
            assert_eq!(super::short(seconds), text);
            assert!(text.len() <= 7);
        }
    }
}
