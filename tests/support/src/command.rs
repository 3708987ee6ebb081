//! The command `turnlock` at a lock file of a test's own: run to its end, or holding a lock until it is told to end.

use super::{limit, until};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};
use turnlock::inspect::{self, FileStatus, Life};

/// A lock file, which need not be there yet, in a folder of its own; and the command, at this path.
pub struct Fixture {
    turnlock: &'static str,
    folder: tempfile::TempDir,
    pub file: PathBuf,
}

impl Fixture {
    pub fn new(turnlock: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().canonicalize().unwrap().join("test.lock");
        Self { turnlock, folder, file }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// `turnlock WORD OPTIONS FILE`.
    pub fn command(&self, word: &str, options: &[&str]) -> Command {
        let mut turnlock = Command::new(self.turnlock);
        turnlock.arg(word).args(options).arg(&self.file);
        turnlock
    }

    /// What that says, and how it ends.
    pub fn turnlock(&self, word: &str, options: &[&str]) -> Output {
        limit::output(&mut self.command(word, options)).unwrap()
    }

    /// The exit code of `turnlock run OPTIONS FILE COMMAND`.
    pub fn run(&self, options: &[&str], command: &[&str]) -> Option<i32> {
        let mut run = self.command("run", options);
        limit::status(run.arg("--").args(command).stderr(Stdio::null())).unwrap().code()
    }

    /// A `turnlock run` that wants what these options say, and holds it until it is told to end.
    pub fn want(&self, options: &[&str]) -> Running {
        let mut run = self.command("run", options);
        let quiet = run.arg("cat").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Running(quiet.spawn().unwrap())
    }

    /// Likewise, and it has come in.
    pub fn hold(&self, options: &[&str]) -> Running {
        let holder = self.want(options);
        let mut holders =
            self.seen(|status| status.locks.into_iter().flat_map(|lock| lock.holders).collect());
        until("it holds the lock", || holders().iter().any(|seen| seen.pid() == holder.pid()));
        holder
    }

    /// A holder of this is dead, and no reaper has removed it.
    pub fn leave_dead(&self, options: &[&str]) {
        let mut holder = self.hold(&[&["--close"], options].concat());
        holder.kill();
        let mut participants = self.seen(|status| status.participants);
        until("it is dead", || participants().iter().any(|seen| seen.life == Life::Dead));
    }

    fn seen<T>(&self, what: impl Fn(FileStatus) -> Vec<T>) -> impl FnMut() -> Vec<T> {
        move || inspect::snapshot(&self.file).map(&what).unwrap_or_default()
    }
}

/// A `turnlock run`, killed with its command when dropped.
pub struct Running(Child);

impl Running {
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Has its command end, and the lock be unlocked.
    pub fn end(&mut self) {
        drop(self.0.stdin.take());
        limit::end_of(&mut self.0, "a turnlock run");
    }

    /// It and its command die, as by kill -9: inside, if it holds the lock.
    pub fn kill(&mut self) {
        let pid = self.pid();
        let signal = |name: &str, pid: &str| {
            let _ = Command::new("kill").args([name, pid]).stderr(Stdio::null()).status();
        };
        // Stopped, it does not see its command end.
        signal("-STOP", &pid.to_string());
        let commands = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        commands.split_whitespace().for_each(|command| signal("-KILL", command));
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            self.kill();
        }
    }
}

/// What it said on standard output.
pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What it said on standard error.
pub fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
