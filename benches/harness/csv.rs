//! Every round as one line of comma-separated values, for a reader who wants to do other sums. Times are in
//! nanoseconds.

use crate::results::{Results, RoundResult, Row};
use crate::statistics::{mean, spread};
use std::{
    fs,
    io::{self, Write},
    path::Path,
};

const COLUMNS: &str = "scenario,processes,slots_in_use,machines,contender,round,measure,value,entries,hand_overs,seconds,cpu_seconds,\
                       jain_mean,jain_worst,wait_p50,wait_p99,wait_p999,wait_max,wake_ups_a_hand_over,switches_a_hand_over,absent_because";

pub fn write(results: &Results, environment: &str, path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = io::BufWriter::new(fs::File::create(path)?);
    for line in environment.lines() {
        writeln!(file, "# {line}")?;
    }
    writeln!(file, "{COLUMNS}")?;
    for cell in &results.cells {
        let scenario = cell.cell.scenario;
        let machines = cell.cell.machines.map_or(String::new(), |machines| machines.to_string());
        let place = format!("{},{},{},{machines}", scenario.name, cell.cell.processes, cell.cell.slots);
        for row in &cell.rows {
            let place = format!("{place},{}", quoted(row.name));
            write_row(&mut file, &place, row, scenario.measure().text())?;
        }
    }
    file.flush()
}

fn write_row(file: &mut impl Write, place: &str, row: &Row, measure: &str) -> io::Result<()> {
    let measure = quoted(measure);
    if let Some(why) = &row.absent {
        writeln!(file, "{place},,{measure},,,,,,,,,,,,,,{}", quoted(why))?;
    }
    for (number, round) in row.rounds.iter().enumerate() {
        let RoundResult { value, entries, hand_overs, seconds, cpu_seconds, wake_ups, switches, jain, waits } =
            round;
        let (fair, worst) = (mean(jain), spread(jain.iter().copied()).0);
        let wait = |ns: Option<u64>| ns.map_or(String::new(), |ns| ns.to_string());
        let waits = [waits.p50, waits.p99, waits.p999, waits.max].map(wait).join(",");
        let number = number + 1;
        writeln!(
            file,
            "{place},{number},{measure},{value},{entries},{hand_overs},{seconds},{cpu_seconds},{fair},{worst},{waits},{wake_ups},{switches},"
        )?;
    }
    Ok(())
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into() }
}
