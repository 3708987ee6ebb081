//! Every run as one line of comma-separated values, for a reader who wants to do other sums. Times are in nanoseconds.

use crate::{results::Results, run::Members};
use std::{
    fs,
    io::{self, Write},
    path::Path,
};

const COLUMNS: &str = "members,count,contender,round,end,entries,hand_overs,seconds,used_for_entries,sleeps,preemptions,cpu_ns,\
                       jain_worst,wait_p50,wait_p99,wait_p999,wait_max";

pub fn write(results: &Results, environment: &str, path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = io::BufWriter::new(fs::File::create(path)?);
    for line in environment.lines() {
        writeln!(file, "# {line}")?;
    }
    writeln!(file, "{COLUMNS}")?;
    for crowd in &results.crowds {
        let members = match crowd.crowd.members {
            Members::Threads => "threads",
            Members::Processes => "processes",
        };
        for row in &crowd.rows {
            for (round, run) in row.runs.iter().enumerate() {
                let wait = |ns: Option<u64>| ns.map_or(String::new(), |ns| ns.to_string());
                let waits = [run.waits.p50, run.waits.p99, run.waits.p999, run.waits.max].map(wait).join(",");
                write!(
                    file,
                    "{members},{},\"{}\",{},{:?},",
                    crowd.crowd.count,
                    row.name,
                    round + 1,
                    run.end
                )?;
                write!(file, "{},{},{},{},", run.entries, run.hand_overs, run.seconds, run.used_for)?;
                write!(file, "{},{},{},", run.usage.sleeps, run.usage.preemptions, run.usage.cpu_ns)?;
                writeln!(file, "{},{waits}", run.jain)?;
            }
        }
    }
    file.flush()
}
