//! A host: a lock file, and its agent.

use super::process::{Guard, Process};
use std::{
    env, fs,
    fs::File,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use turnlock::inspect;

/// What the lock is called at every host.
pub const LOCK: &str = "counter";

/// One host.
pub struct Host {
    /// Its name: a letter.
    pub name: &'static str,
    /// Its lock file.
    pub path: PathBuf,
    agent: Option<Process>,
}

impl Host {
    /// One without an agent and, yet, without a file.
    pub fn new(name: &'static str, folder: &Path) -> Self {
        Self { name, path: folder.join(format!("{name}.lock")), agent: None }
    }

    /// Starts its agent, and does not wait.
    pub fn start_agent(&mut self, link: &Path, endpoint: &str, guard: &mut Guard) -> Result<(), String> {
        let said = File::create(self.log()).map_err(|error| format!("{}: {error}", self.log().display()))?;
        let mut command = linked(link, endpoint);
        command.arg("run").arg(&self.path).args([LOCK, "--host", self.name]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        self.agent = Some(Process::start(&mut command, guard)?);
        Ok(())
    }

    /// Returns whether its agent has begun.
    ///
    /// # Errors
    /// It has ended: what it said.
    pub fn has_agent(&self) -> Result<bool, String> {
        let said = fs::read_to_string(self.log()).unwrap_or_default();
        match self.agent.as_ref().and_then(Process::end) {
            Some(how) => Err(format!("the agent of host {} ended ({how}): {}", self.name, said.trim())),
            None => Ok(said.contains(": host ")),
        }
    }

    /// `kill -9` of its agent. Returns its process id.
    pub fn kill_agent(&mut self) -> u32 {
        self.agent.take().map_or(0, |agent| agent.id())
    }

    /// Returns whether a participant waits for the lock here.
    pub fn has_waiter(&self) -> bool {
        let Ok(file) = inspect::snapshot(&self.path) else { return false };
        file.locks.iter().any(|lock| lock.name == LOCK && !lock.queue.is_empty())
    }

    fn log(&self) -> PathBuf {
        self.path.with_extension("agent")
    }
}

/// turnlock-link, at this etcd and at no other.
pub fn linked(link: &Path, endpoint: &str) -> Command {
    let mut command = Command::new(link);
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ETCDCTL_")) {
        command.env_remove(name);
    }
    command.env("ETCDCTL_ENDPOINTS", endpoint);
    command
}
