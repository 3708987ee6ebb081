//! `turnlock top`, `watch` and `explain`, as a user meets them: in a terminal of 80 columns, with keys, signals and a file that
//! goes; and as lines, for programs.
#![cfg(all(feature = "cli", not(any(loom, shuttle))))]

mod explain;
mod terminal;
mod top;
mod watch;

use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
};
use support::limit;

support::watched_for_seconds!(support::watchdog::USUAL);

/// The command under test.
const TURNLOCK: &str = env!("CARGO_BIN_EXE_turnlock");

/// A lock file in a folder of its own.
struct Fixture {
    folder: tempfile::TempDir,
    file: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("test.lock");
        Self { folder, file }
    }

    /// A process that holds `lock` until it is killed.
    fn hold(&self, lock: &str) -> Running {
        let running = self.run(lock);
        self.until_shown(lock, |seen| !seen["holders"].as_array().unwrap().is_empty());
        running
    }

    /// A process that wants `lock`, and holds it until it is told to end.
    fn run(&self, lock: &str) -> Running {
        let mut command = Command::new(TURNLOCK);
        command.args(["run", "--lock", lock]).arg(&self.file).arg("cat");
        let quiet = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Running(quiet.spawn().unwrap())
    }

    /// Waits until `status` shows this of a lock.
    fn until_shown(&self, lock: &str, is_so: impl Fn(&serde_json::Value) -> bool) {
        let look = || {
            let mut command = Command::new(TURNLOCK);
            let output = limit::output(command.args(["status", "--json"]).arg(&self.file)).unwrap();
            let status: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
            status["locks"].as_array()?.iter().any(|seen| seen["name"] == lock && is_so(seen)).then_some(())
        };
        limit::within(limit::of_processes(), look).unwrap_or_else(|| panic!("{lock} does not come so far"));
    }
}

/// A `turnlock run`, ended with its command when dropped.
struct Running(Child);

impl Running {
    /// Has its command end, and the lock be released.
    fn end(&mut self) {
        drop(self.0.stdin.take());
        limit::end_of(&mut self.0, "a turnlock run");
    }

    /// Kills it and its command, as kill -9 does: it dies inside.
    fn kill_9(&self) {
        let pid = self.0.id().to_string();
        let children = limit::output(Command::new("pgrep").args(["-P", &pid])).unwrap();
        // Stopped, it does not see its command end.
        assert!(limit::status(Command::new("kill").args(["-STOP", &pid])).unwrap().success());
        // The command keeps the lock while it runs.
        for pid in [String::from_utf8(children.stdout).unwrap().trim(), &pid] {
            assert!(limit::status(Command::new("kill").args(["-9", pid])).unwrap().success());
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // It may wait for a lock that it does not get.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
