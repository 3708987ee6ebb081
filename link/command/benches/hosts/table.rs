//! What is printed: Markdown.

use crate::{Options, engine::Etcd, host::turnlock};
use std::{process::Command, time::Duration};

/// Says what is measured, and on what.
pub fn introduce(etcd: &Etcd, options: &Options) {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown");
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let version = Command::new("etcd").arg("--version").output().map(|output| output.stdout);
    let version = String::from_utf8(version.unwrap_or_default()).unwrap_or_default();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!(
        "On {} of {}, Linux {}; {}, one member at {}, its data in {}; load before: {}. turnlock {}{}.",
        std::thread::available_parallelism().map_or(0, usize::from),
        model.trim_start_matches(['\t', ':', ' ']),
        kernel.trim(),
        version.lines().next().unwrap_or("etcd"),
        etcd.endpoint(),
        options.data.display(),
        load.split(' ').next().unwrap_or("?"),
        env!("CARGO_PKG_VERSION"),
        if turnlock().is_some() { "" } else { "; the command is not built, and is left out" }
    );
}

/// Prints a table.
pub fn print(columns: &[&str], rows: &[Vec<String>]) {
    println!("| {} |", columns.join(" | "));
    println!("|---|{}", "--:|".repeat(columns.len() - 1));
    for row in rows {
        println!("| {} |", row.join(" | "));
    }
}

/// Returns the median.
pub fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    let middle = of.len() / 2;
    if of.len() % 2 == 1 { of[middle] } else { (of[middle - 1] + of[middle]) / 2.0 }
}

/// Returns a time with three digits: its median, and from where to where it was.
pub fn times(of: &[Duration]) -> String {
    let seconds: Vec<f64> = of.iter().map(Duration::as_secs_f64).collect();
    let (least, most) = (of.iter().min(), of.iter().max());
    let range = match (least, most) {
        (Some(least), Some(most)) if of.len() > 1 => {
            format!(" ({} .. {})", time(least.as_secs_f64()), time(most.as_secs_f64()))
        }
        _ => String::new(),
    };
    format!("{}{range}", time(median(seconds)))
}

/// Returns a time with three digits.
pub fn time(seconds: f64) -> String {
    let (number, unit) = match seconds {
        _ if seconds >= 1.0 => (seconds, "s"),
        _ if seconds >= 1e-3 => (seconds * 1e3, "ms"),
        _ if seconds >= 1e-6 => (seconds * 1e6, "us"),
        _ => (seconds * 1e9, "ns"),
    };
    let digits = if number >= 100.0 {
        0
    } else if number >= 10.0 {
        1
    } else {
        2
    };
    format!("{number:.digits$} {unit}")
}
