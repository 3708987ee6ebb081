//! A host: a lock file, its agent in a process of its own, and programs that enter.

use crate::engine::Etcd;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::Duration,
};
use support::{
    actor::{Actor, hear, say},
    limit, until,
};
use turnlock::{LockFile, Mutex, inspect};

/// What the lock is called.
pub const LOCK: &str = "accounts";

/// One host.
pub struct Host<'a> {
    etcd: &'a Etcd,
    pub name: &'static str,
    folder: tempfile::TempDir,
    options: Vec<&'static str>,
    agent: Option<Child>,
}

impl<'a> Host<'a> {
    /// One whose agent has begun.
    pub fn new(etcd: &'a Etcd, name: &'static str) -> Self {
        Self::with(etcd, name, &[])
    }

    /// Likewise, with these options.
    pub fn with(etcd: &'a Etcd, name: &'static str, options: &[&'static str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut host = Self { etcd, name, folder, options: options.into(), agent: None };
        host.start();
        host
    }

    /// Starts its agent, and waits until it has the lock.
    pub fn start(&mut self) {
        self.spawn();
        let agent = self.agent.as_mut().unwrap();
        let path = self.folder.path().join("app.lock");
        let said = self.folder.path().join("said");
        until("the agent has begun", || {
            if let Some(ended) = agent.try_wait().unwrap() {
                panic!("the agent has ended, {ended}: {}", std::fs::read_to_string(&said).unwrap());
            }
            is_attached(&path) && std::fs::read_to_string(&said).unwrap().contains(": host ")
        });
    }

    /// Starts it, and does not wait.
    pub fn spawn(&mut self) {
        let said = File::create(self.folder.path().join("said")).unwrap();
        let mut command = link(self.etcd);
        command.arg("run").arg(self.path()).args([LOCK, "--host", self.name]).args(&self.options);
        self.agent = Some(command.stdin(Stdio::null()).stderr(said).spawn().unwrap());
    }

    /// The lock file.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("app.lock")
    }

    /// The lock, as a program opens it.
    pub fn mutex(&self) -> Mutex {
        LockFile::open(self.path()).unwrap().mutex(LOCK).unwrap()
    }

    pub fn is_home(&self) -> bool {
        let lock = inspect::snapshot(self.path()).unwrap().locks.into_iter().find(|lock| lock.name == LOCK);
        lock.and_then(|lock| lock.link).is_some_and(|link| link.home)
    }

    /// `kill -9` of its agent.
    pub fn kill_agent(&mut self) {
        let mut agent = self.agent.take().unwrap();
        agent.kill().unwrap();
        limit::end_of(&mut agent, "the agent");
    }

    pub fn signal_agent(&self, signal: Signal) {
        kill(Pid::from_raw(self.agent.as_ref().unwrap().id() as i32), signal).unwrap();
    }

    /// What its agent has said.
    pub fn said(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("said")).unwrap()
    }

    /// Waits for its agent to end by itself: the exit code, and what it said.
    pub fn agent_ends(&mut self) -> (Option<i32>, String) {
        let ended = limit::end_of(&mut self.agent.take().unwrap(), "the agent");
        (ended.code(), self.said())
    }

    /// Enters, and leaves: the fencing token, and whether it was told of a death, which it repairs.
    pub fn enter(&self) -> (u64, bool) {
        let mutex = self.mutex();
        let mut guard =
            mutex.lock_for(limit::seconds(60)).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let acquired = guard.acquired();
        if acquired.previous_owner_died {
            guard.mark_consistent().unwrap();
        }
        guard.unlock().unwrap();
        (acquired.fencing_token, acquired.previous_owner_died)
    }

    /// Whether a program does not get in for a while.
    pub fn is_closed(&self) -> bool {
        self.mutex().lock_for(Duration::from_millis(300)).is_err()
    }

    /// A program that is inside, in a process of its own, and its fencing token.
    pub fn holder(&self) -> (Actor, u64) {
        let mut actor = Actor::start("holder", &[self.path().to_str().unwrap()]);
        let token = actor.expect_number("inside");
        (actor, token)
    }
}

impl Drop for Host<'_> {
    fn drop(&mut self) {
        if let Some(agent) = &mut self.agent {
            let _ = agent.kill();
            let _ = limit::within(limit::of_processes(), || agent.try_wait().ok().flatten());
        }
    }
}

fn is_attached(path: &Path) -> bool {
    let Ok(status) = inspect::snapshot(path) else { return false };
    status.locks.iter().any(|lock| lock.link.is_some_and(|link| link.agent.is_some()))
}

/// The program under test, at this etcd.
pub fn link(etcd: &Etcd) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnlock-link"));
    for name in ["CACERT", "CERT", "KEY", "USER", "PASSWORD"] {
        command.env_remove(format!("ETCDCTL_{name}"));
    }
    command.env("ETCDCTL_ENDPOINTS", etcd.endpoint());
    command
}

/// What it says, and how it ends.
pub fn linked(etcd: &Etcd, arguments: &[&str]) -> Output {
    limit::output(link(etcd).args(arguments)).unwrap()
}

/// The exit code, and standard error.
pub fn failed(etcd: &Etcd, arguments: &[&str]) -> (Option<i32>, String) {
    let output = linked(etcd, arguments);
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// What etcd has of the lock: its host, and those that wait.
pub fn status(etcd: &Etcd) -> (Option<String>, Vec<String>) {
    let output = linked(etcd, &["status", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let Some(lock) = json["locks"].get(0) else { return (None, Vec::new()) };
    let waiting = lock["waiting"].as_array().unwrap().iter().map(|host| host.as_str().unwrap().to_owned());
    (lock["host"].as_str().map(str::to_owned), waiting.collect())
}

/// Waits until these wait for the lock, in this order.
pub fn until_queued(etcd: &Etcd, hosts: &[&str]) {
    until(&format!("{hosts:?} wait"), || status(etcd).1 == hosts);
}

/// The role. Words: the lock file. It enters, says `inside` and its token, and leaves when it is told something.
pub fn holder(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex(LOCK).unwrap();
    let guard = mutex.lock_for(limit::seconds(60)).unwrap();
    say(&format!("inside {}", guard.fencing_token()));
    hear();
    guard.unlock().unwrap();
    say("left");
}
