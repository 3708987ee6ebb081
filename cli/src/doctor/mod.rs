//! `turnlock doctor`: whether a lock file is well where it lies, and what to do about what is not.
//!
//! | module | what it has |
//! |---|---|
//! | `finding` | one thing that was looked at |
//! | `mounts` | on which file system a path lies |
//! | `cleaners` | rules of programs that delete what looks old |
//! | `place` | file system, folder, permissions, cleaners |
//! | `content` | what the file holds: deaths, want of room, fences |
//! | `deadlock` | participants that wait for one another |

mod cleaners;
mod content;
mod deadlock;
mod finding;
mod mounts;
mod place;

use super::{
    describe::{BAD, FAINT, STRONG, quoted},
    escape, exit, file, fit, print, users,
};
use finding::{Finding, Severity};
use std::{
    fmt::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};
use turnlock::Error;

/// Look for what is wrong with a lock file, or with the place for one, and say what to do about it
///
/// Looks at: file system, folder, permissions, cleaners that may delete it, version, boot, membarrier, dead participants, room,
/// locks that are closed, or held by a stopped process, or kept after their holder has ended; deadlocks. Changes nothing. If there is
/// no such file yet, it looks at the place where it would be.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  no problem (there may be notes)
  1  a problem was found
  64  the command line is wrong
  71  standard output cannot be written to; a reader that closes the pipe is no error

A problem hurts, or will; a note is worth knowing. Each says what to do.

EXAMPLES
  turnlock doctor /run/app/app.lock
  turnlock doctor --all app.lock                what is well too
  turnlock doctor --json app.lock | jq -r '.findings[] | select(.severity == \"problem\").to_do'")]
pub struct Doctor {
    /// Print JSON: every finding
    #[arg(long)]
    json: bool,
    /// Show what is well too
    #[arg(long, short = 'a')]
    all: bool,
    /// The lock file (/dev/fd/N: the one that descriptor N is open on)
    file: PathBuf,
}

/// What was found.
#[derive(serde::Serialize)]
struct Report {
    path: String,
    problems: usize,
    notes: usize,
    findings: Vec<Finding>,
}

impl Doctor {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        let report = report(&self.file);
        let code = if report.problems > 0 { exit::FAILED } else { 0 };
        match self.json {
            true => print::json_and_end(&report, code),
            false => print::and_end(&text(&report, self.all, fit::columns()), code),
        }
    }
}

fn report(named: &Path) -> Report {
    let mut findings = Vec::new();
    let (status, missing) = match file::snapshot(named) {
        Ok(status) => (Some(status), false),
        Err(error) => {
            let error = users::with_users(error, named);
            let missing = matches!(error, Error::NotFound { .. }) && !file::descriptor(named);
            if !missing {
                findings.push(unreadable(&error));
            }
            // Of what is no lock file nothing else is said: its permissions are right for what it is.
            if matches!(error, Error::NotALockFile { .. }) {
                return Report::of(named, findings);
            }
            (None, missing)
        }
    };
    // With its folder resolved.
    let path = status.as_ref().map_or_else(|| resolved(named), |status| Some(status.path.clone()));
    match &path {
        Some(path) => {
            let meta = if file::descriptor(named) { named.metadata() } else { path.symlink_metadata() };
            let meta = meta.ok().filter(|meta| meta.is_file());
            if missing {
                findings.push(Finding::note(
                    "file",
                    "there is no such file yet",
                    format!("nothing: who opens it first creates it; or turnlock create {}", quoted(named)),
                ));
            }
            // What came by a descriptor may have no path that leads to it.
            if path.is_absolute() && (missing || path.exists()) {
                findings.extend(place::findings(path, meta.as_ref()));
            }
        }
        None => findings.push(Finding::problem(
            "folder",
            "there is no such folder",
            format!("mkdir -p {}", quoted(named.parent().unwrap_or(Path::new(".")))),
        )),
    }
    findings.extend(content::machine());
    if let Some(status) = &status {
        findings.extend(content::findings(status));
    }
    Report::of(path.as_deref().unwrap_or(named), findings)
}

impl Report {
    fn of(path: &Path, findings: Vec<Finding>) -> Self {
        let count = |wanted: Severity| findings.iter().filter(|one| one.severity == wanted).count();
        let (problems, notes) = (count(Severity::Problem), count(Severity::Note));
        Self { path: path.to_string_lossy().into_owned(), problems, notes, findings }
    }
}

/// The library says what it is and what to do in one sentence, divided by a colon, behind the path.
fn unreadable(error: &Error) -> Finding {
    let about = match error {
        Error::Version { .. } => "version",
        Error::FileSystem { .. } => "file system",
        Error::Permission { .. } => "permissions",
        _ => "file",
    };
    let said = error.to_string();
    let (finding, to_do) = said.rsplit_once(": ").unwrap_or((&said, "see `turnlock status`"));
    Finding::problem(about, finding, to_do)
}

fn resolved(path: &Path) -> Option<PathBuf> {
    let folder = match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        folder => folder?,
    };
    Some(folder.canonicalize().ok()?.join(path.file_name()?))
}

fn text(report: &Report, all: bool, columns: usize) -> String {
    let count = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let verdict = match (report.problems, report.notes) {
        (0, 0) => "all is well".into(),
        (0, notes) => format!("no problem, {}", count(notes, "note")),
        (problems, 0) => count(problems, "problem"),
        (problems, notes) => format!("{}, {}", count(problems, "problem"), count(notes, "note")),
    };
    let mut text = fit::fit(
        &format!("{STRONG}{}{STRONG:#}: {verdict}", escape::text(&report.path)),
        "",
        "    ",
        columns,
    );
    for finding in &report.findings {
        let (mark, style) = match finding.severity {
            Severity::Good if !all => continue,
            Severity::Good => ("well", FAINT),
            Severity::Note => ("note", STRONG),
            Severity::Problem => ("problem", BAD),
        };
        let line = format!("{style}{mark}{style:#}: {}: {}", finding.about, escape::text(&finding.finding));
        text += &fit::fit(&line, "  ", "    ", columns);
        if let Some(to_do) = &finding.to_do {
            text += &fit::fit(&escape::text(to_do), "    -> ", "       ", columns);
        }
    }
    let well = report.findings.len() - report.problems - report.notes;
    if !all && well > 0 {
        let _ = writeln!(text, "{FAINT}  {well} more looked at, and well; --all shows them{FAINT:#}");
    }
    text
}
