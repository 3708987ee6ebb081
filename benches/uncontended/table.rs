//! Every call's median, and its ratio to the robust mutex.

use crate::{SLOTS, slots};
use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// The peer that the ratios are to.
pub const ROBUST: &str = "pthread robust";

/// Prints what criterion wrote since `began`.
pub fn print(began: SystemTime) {
    let columns: Vec<BTreeMap<String, f64>> =
        SLOTS.iter().map(|slots| medians(&folder().join(slots::group(*slots)), began)).collect();
    let mut names: Vec<&String> = columns.iter().flat_map(BTreeMap::keys).collect();
    names.sort();
    names.dedup();
    if names.is_empty() {
        return;
    }
    println!("\nMedians in nanoseconds (ratio to {ROBUST} in this run)\n");
    println!("| call | {} |", SLOTS.map(slots::group).join(" | "));
    println!("|---|{}", "---|".repeat(SLOTS.len()));
    for name in names {
        let cells: Vec<String> = columns.iter().map(|column| cell(column, name)).collect();
        println!("| {name} | {} |", cells.join(" | "));
    }
}

fn cell(column: &BTreeMap<String, f64>, name: &str) -> String {
    match (column.get(name), column.get(ROBUST)) {
        (Some(median), Some(robust)) => format!("{median:.1} ({:.2})", median / robust),
        (Some(median), None) => format!("{median:.1}"),
        (None, _) => "-".into(),
    }
}

/// Where criterion writes.
fn folder() -> PathBuf {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let target = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.or_else(|| scratch.parent().map(Path::to_owned));
    env::var_os("CRITERION_HOME").map_or_else(|| target.unwrap_or_default().join("criterion"), PathBuf::from)
}

/// Of each call of a group that was measured since `began`, by name.
fn medians(group: &Path, began: SystemTime) -> BTreeMap<String, f64> {
    let calls = fs::read_dir(group).into_iter().flatten().flatten();
    let median = |path: PathBuf| {
        let estimates = path.join("new/estimates.json");
        if fs::metadata(&estimates).ok()?.modified().ok()? < began {
            return None;
        }
        let estimates: serde_json::Value = serde_json::from_slice(&fs::read(estimates).ok()?).ok()?;
        let name: serde_json::Value =
            serde_json::from_slice(&fs::read(path.join("new/benchmark.json")).ok()?).ok()?;
        Some((name["function_id"].as_str()?.to_owned(), estimates["median"]["point_estimate"].as_f64()?))
    };
    calls.filter_map(|call| median(call.path())).collect()
}
