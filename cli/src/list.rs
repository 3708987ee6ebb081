//! `turnlock list`: which lock files there are, and which locks in one.

use super::{
    describe::{BAD, FAINT, STRONG},
    escape, exit,
    failed::FileError,
    file, no_lock, print,
};
use std::{
    fmt::{Display, Write},
    fs::File,
    path::{Path, PathBuf},
    process::ExitCode,
};
use turnlock::inspect::{FileStatus, Life, LockStatus, WaiterState};

/// List the lock files in folders, or the locks in a file
///
/// Only looks, as `turnlock status` does, and takes one line for each. Of a folder those files are shown that begin as a lock
/// file does; what cannot be read is left out, or, if it was named, an error.
#[derive(clap::Args)]
#[command(after_help = "\
COLUMNS
  locks   how many locks the file has, of how many it has room for
  held    so many of them have a holder; of one lock: so many hold it
  wait    so many wait
  slots   so many take part, of how many can
  dead    so many of those died and were not removed yet; a waiter for one does it
  state   well; owner dead: the next holder is told; closed: until `turnlock reset`; of an event set or not set, of a
          barrier open or broken, of a once done or not done, of a condition idle or waited for

EXIT CODES
  0  shown
  64  the command line is wrong
  66  something that was named is not there, or is neither a folder nor a lock file
  71  standard output cannot be written to; a reader that closes the pipe is no error

EXAMPLES
  turnlock list                           lock files in this folder
  turnlock list --recursive /run /dev/shm
  turnlock list /run/app/app.lock         the locks in it
  turnlock list --json /run/app | jq -r '.files[].locks[].name'")]
pub struct List {
    /// Folders in folders too; symbolic links are not followed
    #[arg(long, short)]
    recursive: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Folders, and lock files; the current folder if not said
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
}

/// What was found.
#[derive(serde::Serialize)]
struct Found {
    files: Vec<FoundFile>,
    errors: Vec<FileError>,
}

/// A lock file.
#[derive(serde::Serialize)]
struct FoundFile {
    path: String,
    participants: usize,
    dead_participants: usize,
    participant_capacity: u32,
    lock_capacity: u32,
    locks: Vec<FoundLock>,
    /// Whether it was named itself, and not the folder that it is in.
    #[serde(skip)]
    named: bool,
}

/// A lock in it.
#[derive(serde::Serialize)]
struct FoundLock {
    name: String,
    kind: &'static str,
    state: &'static str,
    holders: usize,
    waiters: usize,
    #[serde(skip)]
    is_ill: bool,
}

/// So deep below a folder that was named, at most.
const DEPTH: usize = 32;

impl List {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        let mut found = Found { files: Vec::new(), errors: Vec::new() };
        for path in &self.paths {
            if path.is_dir() {
                let mut below = Vec::new();
                if let Err(error) = self.lock_files_in(path, DEPTH, &mut below) {
                    found.fail(path, &format!("{}: {error}", path.display()));
                }
                below.sort();
                // What is gone by now, or is not for us to read, is left out.
                let seen = below.iter().filter_map(|path| file::snapshot(path).ok());
                found.files.extend(seen.map(|status| FoundFile::of(&status, false)));
            } else {
                match file::snapshot(path) {
                    Ok(status) => found.files.push(FoundFile::of(&status, true)),
                    Err(error) => found.fail(path, &error),
                }
            }
        }
        let code = if found.errors.is_empty() { 0 } else { exit::NO_FILE };
        match self.json {
            true => print::json_and_end(&found, code),
            false => print::and_end(&text(&found, code == 0), code),
        }
    }

    fn lock_files_in(&self, folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
        for entry in folder.read_dir()?.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && self.recursive && depth > 0 {
                // A folder that is not for us to read is left out.
                let _ = self.lock_files_in(&entry.path(), depth - 1, found);
            } else if kind.is_file()
                && File::open(entry.path()).is_ok_and(|mut file| file::begins_as_a_lock_file(&mut file))
            {
                found.push(entry.path());
            }
        }
        Ok(())
    }
}

impl Found {
    fn fail(&mut self, path: &Path, error: &dyn Display) {
        print::complain(error);
        self.errors.push(FileError::new(path, error));
    }
}

impl FoundFile {
    fn of(status: &FileStatus, named: bool) -> Self {
        let dead = status.participants.iter().filter(|one| one.life == Life::Dead).count();
        Self {
            path: status.path.to_string_lossy().into_owned(),
            participants: status.participants.len() - dead,
            dead_participants: dead,
            participant_capacity: status.participant_capacity,
            lock_capacity: status.lock_capacity,
            locks: status.locks.iter().map(FoundLock::of).collect(),
            named,
        }
    }
}

impl FoundLock {
    fn of(lock: &LockStatus) -> Self {
        let waits = |state: WaiterState| state != WaiterState::RingMember;
        Self {
            name: lock.name.clone(),
            kind: lock.kind,
            state: lock.state,
            holders: lock.holders.len(),
            waiters: lock.queue.iter().filter(|waiter| waits(waiter.state)).count(),
            is_ill: no_lock::is_ill(lock),
        }
    }
}

/// Returns a state in words that fit a column.
fn state(state: &str) -> String {
    match state {
        "consistent" => "well".into(),
        "inconsistent" => "owner dead".into(),
        "not_recoverable" => "closed".into(),
        other => other.replace('_', " "),
    }
}

fn text(found: &Found, complete: bool) -> String {
    let mut text = String::new();
    let in_folders: Vec<&FoundFile> = found.files.iter().filter(|file| !file.named).collect();
    if !in_folders.is_empty() {
        let _ = writeln!(text, "{FAINT}    locks  held  wait      slots  dead  file{FAINT:#}");
    } else if found.files.is_empty() && complete {
        text += "no lock file\n";
    }
    for file in in_folders {
        let held = file.locks.iter().filter(|lock| lock.holders > 0).count();
        let waiting: usize = file.locks.iter().map(|lock| lock.waiters).sum();
        let _ = writeln!(
            text,
            "{:>9} {held:>5} {waiting:>5} {:>10} {:>5}  {}",
            format!("{}/{}", file.locks.len(), file.lock_capacity),
            format!("{}/{}", file.participants, file.participant_capacity),
            file.dead_participants,
            escape::text(&file.path)
        );
    }
    for file in found.files.iter().filter(|file| file.named) {
        if !text.is_empty() {
            text.push('\n');
        }
        let path = escape::text(&file.path);
        let _ = writeln!(text, "{STRONG}{path}{STRONG:#}");
        if file.locks.is_empty() {
            text += "no lock in it yet\n";
            continue;
        }
        let _ = writeln!(text, "{FAINT} held  wait  state       kind        lock{FAINT:#}");
        for lock in &file.locks {
            let state = state(lock.state);
            let style = if lock.is_ill { BAD } else { anstyle::Style::new() };
            let name = escape::text(&lock.name);
            let _ = writeln!(
                text,
                "{:>5} {:>5}  {style}{state:<10}{style:#}  {:<10}  {name}",
                lock.holders, lock.waiters, lock.kind
            );
        }
    }
    text
}
