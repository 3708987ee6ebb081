//! A host: a lock file, its agent, and its programs.

use crate::engine::Etcd;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};
use support::{actor::Actor, limit, until};
use turnlock::{LockFile, Mutex};

/// The agent's options of each mode.
pub const MODES: [(&str, &[&str]); 2] = [("kept", &[]), ("leased", &["--lease", "10"])];

/// One host.
pub struct Host {
    /// What the lock is called there, as at the hosts that share it.
    pub lock: String,
    name: String,
    folder: tempfile::TempDir,
    agent: Option<Child>,
}

/// As many hosts that share a lock of this name, which no other has.
pub fn hosts(etcd: &Etcd, lock: &str, count: usize, options: &[&str]) -> Vec<Host> {
    (0..count).map(|at| Host::begin(etcd, lock, &[lock], &format!("{lock}-{at}"), options)).collect()
}

/// Likewise, a rwlock.
pub fn hosts_with_rwlock(etcd: &Etcd, lock: &str, count: usize, options: &[&str]) -> Vec<Host> {
    let names = |at| format!("{lock}-{at}");
    (0..count).map(|at| Host::begin(etcd, lock, &["--rwlock", lock], &names(at), options)).collect()
}

impl Host {
    fn begin(etcd: &Etcd, lock: &str, named: &[&str], name: &str, options: &[&str]) -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let mut host = Self { lock: lock.into(), name: name.into(), folder, agent: None };
        let said = host.folder.path().join("said");
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnlock-link"));
        command.arg("run").arg(host.path()).args(named);
        command.args(["--host", name, "--endpoints", &etcd.endpoint()]);
        command.args(options).stdin(Stdio::null()).stderr(File::create(&said).unwrap());
        host.agent = Some(command.spawn().unwrap());
        until("the agent has begun", || fs::read_to_string(&said).unwrap().contains(": host "));
        host
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("app.lock")
    }

    /// The lock, as a program opens it.
    pub fn mutex(&self) -> Mutex {
        LockFile::open(self.path()).unwrap().mutex(&self.lock).unwrap()
    }

    /// Enters, and leaves.
    pub fn enter(&self) {
        let mutex = self.mutex();
        let mut guard = mutex.lock_for(limit::seconds(100)).unwrap();
        if guard.acquired().previous_owner_died {
            guard.mark_consistent().unwrap();
        }
        guard.unlock().unwrap();
    }

    /// A program in a process of its own, in this role.
    pub fn program(&self, role: &'static str, words: &[&str]) -> Actor {
        let path = self.path();
        let words = [&[path.to_str().unwrap(), &self.lock], words].concat();
        Actor::start(role, &words)
    }

    /// A program that is inside.
    pub fn holder(&self) -> Actor {
        let mut holder = self.program("holder", &[]);
        holder.expect_number("inside");
        holder
    }

    /// A program that waits, and has done so for a while.
    pub fn waiter(&self, waiting: usize) -> Actor {
        let waiter = self.program("holder", &[]);
        support::until_waiting(&self.path(), &self.lock, waiting);
        waiter
    }

    pub fn signal_agent(&self, signal: Signal) {
        kill(Pid::from_raw(self.agent.as_ref().unwrap().id() as i32), signal).unwrap();
    }

    /// `kill -9` of its agent.
    pub fn kill_agent(&mut self) {
        let mut agent = self.agent.take().unwrap();
        agent.kill().unwrap();
        limit::end_of(&mut agent, "the agent");
    }

    /// Says that it is gone.
    pub fn forget(&self, etcd: &Etcd) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnlock-link"));
        let output = limit::output(command.args(["forget", &self.name, "--endpoints", &etcd.endpoint()]));
        assert!(output.unwrap().status.success());
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Some(agent) = &mut self.agent {
            let _ = agent.kill();
            let _ = agent.wait();
        }
    }
}

/// `turnlock`, where it was built beside turnlock-link.
pub fn turnlock() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_BIN_EXE_turnlock-link")).with_file_name("turnlock");
    path.is_file().then_some(path)
}
