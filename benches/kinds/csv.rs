//! Every round as one line of comma-separated values, for a reader who wants to do other sums. Times are in
//! nanoseconds.

use crate::{
    cell::Task,
    results::{Results, RoundResult},
};
use std::{
    fs,
    io::{self, Write},
    path::Path,
};

const COLUMNS: &str = "kind,reads_per_mille,permits,inside,parts_by_each,groups,processes,contender,round,measure,value,entries,seconds,\
                       cpu_seconds,wait_p50,wait_p99,wait_p999,wait_max,absent_because";

pub fn write(results: &Results, environment: &str, path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = io::BufWriter::new(fs::File::create(path)?);
    for line in environment.lines() {
        writeln!(file, "# {line}")?;
    }
    writeln!(file, "{COLUMNS}")?;
    for (field, cell) in results.fields.iter().flat_map(|field| field.cells.iter().map(move |c| (field, c))) {
        let task = match cell.cell.task {
            Task::ReadWrite { reads } => format!("{reads},,0,,"),
            Task::Group { groups } => format!(",,0,,{groups}"),
            Task::Permit { permits } => format!(",{permits},{},,", cell.cell.inside.as_nanos()),
            Task::Parts { count } => format!(",,0,{count},"),
        };
        let measure = if cell.cell.alone { "processor ns" } else { "entries a second" };
        for row in &cell.rows {
            let place = format!("{},{task},{},\"{}\"", field.name, cell.cell.processes, row.name);
            if let Some(why) = &row.absent {
                writeln!(file, "{place},,{measure},,,,,,,,,\"{}\"", why.replace('"', "\"\""))?;
            }
            for (number, round) in row.rounds.iter().enumerate() {
                let RoundResult { value, entries, seconds, cpu_seconds, waits } = round;
                let wait = |ns: Option<u64>| ns.map_or(String::new(), |ns| ns.to_string());
                let waits = [waits.p50, waits.p99, waits.p999, waits.max].map(wait).join(",");
                let number = number + 1;
                writeln!(
                    file,
                    "{place},{number},{measure},{value},{entries},{seconds},{cpu_seconds},{waits},"
                )?;
            }
        }
    }
    file.flush()
}
