//! The commands that look after a lock file, as whoever runs a machine meets them.
#![cfg(all(feature = "cli", not(any(loom, shuttle))))]

mod bench;
mod commands;
mod completions;
mod doctor;
mod growing;
mod killed;
mod read_only;
mod schema;
mod status;

use std::{
    io::BufReader,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Output, Stdio},
};
use support::{limit, until};

support::watched_for_seconds!(support::watchdog::USUAL);

const TURNLOCK: &str = env!("CARGO_BIN_EXE_turnlock");

struct Fixture {
    folder: tempfile::TempDir,
    file: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().canonicalize().unwrap().join("test.lock");
        Self { folder, file }
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// `turnlock WORD OPTIONS FILE`.
    fn command(&self, word: &str, options: &[&str]) -> Command {
        let mut turnlock = Command::new(TURNLOCK);
        turnlock.arg(word).args(options).arg(&self.file);
        turnlock
    }

    fn turnlock(&self, word: &str, options: &[&str]) -> Output {
        limit::output(&mut self.command(word, options)).unwrap()
    }

    fn run(&self, options: &[&str], command: &[&str]) -> Option<i32> {
        let mut run = self.command("run", options);
        limit::status(run.arg("--").args(command).stderr(Stdio::null())).unwrap().code()
    }

    /// A `turnlock run` whose command is inside.
    fn hold(&self, options: &[&str]) -> Holder {
        let mut run = self.command("run", options);
        run.args(["--", "sh", "-c", "echo inside; exec sleep 60"]).stdout(Stdio::piped());
        let mut child = run.spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        assert_eq!(limit::line(&mut output, &mut child).as_deref(), Ok("inside"));
        Holder { child, _output: output }
    }

    /// Somebody who held this lock is dead, and nobody has removed it.
    fn leave_dead(&self, options: &[&str]) {
        let mut holder = self.hold(&[&["--close"], options].concat());
        holder.kill();
        until("it is dead", || {
            self.json("status")["participants"].as_array().unwrap().iter().any(|one| one["life"] == "dead")
        });
    }

    /// What a command prints as JSON, whatever its exit code.
    fn json(&self, word: &str) -> serde_json::Value {
        json(&self.turnlock(word, &["--json"]))
    }
}

/// A `turnlock run`, and what it runs.
struct Holder {
    child: Child,
    _output: BufReader<ChildStdout>,
}

impl Holder {
    /// `turnlock` first, and then its command.
    fn kill(&mut self) {
        let pid = self.child.id();
        let commands =
            std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let _ = self.child.kill();
        let _ = self.child.wait();
        for command in commands.split_whitespace() {
            let _ = Command::new("kill").args(["-KILL", command]).stderr(Stdio::null()).status();
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.kill();
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(output), errors(output)))
}
