//! Numbers for people to read.

/// What stands where there is no number.
pub const NONE: &str = "-";

/// Three digits that count, with k, M or G.
pub fn count(value: f64) -> String {
    let (value, unit) = match value {
        value if value >= 1e9 => (value / 1e9, " G"),
        value if value >= 1e6 => (value / 1e6, " M"),
        value if value >= 1e4 => (value / 1e3, " k"),
        value => (value, ""),
    };
    format!("{}{unit}", digits(value))
}

/// Nanoseconds, in the unit that suits them.
pub fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns >= 1e9 => (ns / 1e9, "s"),
        ns if ns >= 1e6 => (ns / 1e6, "ms"),
        ns if ns >= 1e4 => (ns / 1e3, "us"),
        ns => (ns, "ns"),
    };
    if value.is_nan() { NONE.into() } else { format!("{} {unit}", digits(value)) }
}

pub fn digits(value: f64) -> String {
    match value.abs() {
        nan if nan.is_nan() => NONE.into(),
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        small if small >= 0.1 || small == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
