//! `turnlock metrics`: the locks of some files as Prometheus reads them.
//!
//! | module | what it has |
//! |---|---|
//! | `families` | which metrics there are, what each means, and how they are written |
//! | `samples` | their values |

mod families;
mod samples;

use super::{exit, file, print};
use families::Samples;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Print the state of lock files as metrics, in Prometheus' text format
///
/// One look at each file, as `turnlock status` takes: how many hold each lock, wait for it and take part; whether a lock is
/// inconsistent; and counters of each lock that every file has, of acquisitions, those that had to wait, time-outs and
/// deaths. For node_exporter's textfile collector, or whatever serves text. Needs no permission but to read.
///
/// docs/metrics.md lists the names, which stay as they are.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  printed
  64  the command line is wrong
  66  a file cannot be read or is not a lock file: turnlock_file_readable is 0 for it, and the other files are there
  71  standard output cannot be written to

EXAMPLES
  turnlock metrics /run/app/*.lock
  turnlock metrics --recent app.lock | grep recent_wait
  turnlock metrics /run/app/*.lock > /var/lib/node_exporter/turnlock.prom.new &&
    mv /var/lib/node_exporter/turnlock.prom.new /var/lib/node_exporter/turnlock.prom")]
pub struct Metrics {
    /// Also how long was waited for each lock, and how long it was held, by what the file has recorded lately (if it keeps a
    /// recording: `turnlock create --record 100000`). Reads the whole recording
    #[arg(long)]
    recent: bool,
    /// Lock files (/dev/fd/N: the one that descriptor N is open on)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Metrics {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        let (mut found, mut code) = (Samples::default(), 0);
        // A label stands for one file: another one by the same would make two values of one metric.
        let mut named: HashMap<String, Option<file::Identity>> = HashMap::new();
        for path in &self.files {
            let looked = file::snapshot(path);
            let shown = looked.as_ref().map_or_else(|_| resolved(path), |status| status.path.clone());
            let label = shown.to_string_lossy().into_owned();
            let identity = file::identity(path);
            match named.insert(label.clone(), identity) {
                Some(other) if other == identity => continue,
                Some(_) => {
                    code = exit::NO_FILE;
                    let why = format!(
                        "{label} stands for two files: what is not UTF-8 in their names differs alone"
                    );
                    print::message(&why);
                    continue;
                }
                None => {}
            }
            let added = looked.and_then(|status| {
                let recording = if self.recent { file::recording(path)? } else { None };
                samples::of_file(&mut found, &label, &status, recording.as_ref());
                Ok(())
            });
            if let Err(error) = added {
                code = exit::NO_FILE;
                print::message(&error);
                samples::of_no_file(&mut found, &label);
            }
        }
        print::and_end(&found.text(), code)
    }
}

/// Returns the path from the root, with its folder resolved, as that of a file that can be read: a label means the same file
/// then and when it cannot be.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}
