//! The hosts, their programs, the engine, and the counter and the journal that all share.

use super::{
    super::no_verdict::NoVerdict,
    ears::Ears,
    engine::Engine,
    evidence::Next,
    found::Found,
    host::{self, Host},
    process::Guard,
    program::Program,
};
use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// The names of the hosts.
const NAMES: [&str; super::MOST as usize] = ["a", "b", "c", "d", "e"];
/// The programs at each host.
pub const AT_EACH: usize = 2;
/// How long a process may take for what usually takes it a moment.
const PATIENCE: Duration = Duration::from_secs(20);
const TICK: Duration = Duration::from_millis(10);

/// All that takes part.
pub struct Stage {
    /// What is heard.
    pub ears: Ears,
    /// The hosts, in their order.
    pub hosts: Vec<Host>,
    /// Those of one host after those of another.
    programs: Vec<Program>,
    engine: Engine,
    found: Found,
    folder: PathBuf,
    // Last: what it guards is gone when it goes.
    guard: Guard,
}

impl Stage {
    /// Starts etcd, and at each host its agent and its programs.
    pub fn set(folder: &Path, found: Found, count: usize, keep: bool, ears: Ears) -> Result<Self, NoVerdict> {
        for (file, text) in [("counter", "0\n"), ("journal", "")] {
            let path = folder.join(file);
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        let hosts = NAMES[..count].iter().map(|name| Host::new(name, folder)).collect();
        let engine = Engine::new(&found.etcd.0, folder)?;
        let guard = Guard::begin((!keep).then_some(folder));
        let programs = Vec::new();
        let mut stage = Self { ears, hosts, programs, engine, found, folder: folder.into(), guard };
        stage.start_engine()?;
        for host in 0..count {
            stage.spawn_agent(host)?;
        }
        for host in 0..count {
            stage.await_agent(host)?;
            for _ in 0..AT_EACH {
                let number = stage.programs.len();
                let program = Program::start(number, &stage.hosts[host], &stage.ears, &mut stage.guard)?;
                stage.programs.push(program);
            }
        }
        Ok(stage)
    }

    /// Starts etcd, with the data that it has, and waits until it answers.
    pub fn start_engine(&mut self) -> Result<(), NoVerdict> {
        self.engine.start(&mut self.guard)?;
        self.until("etcd answers", |stage| stage.engine.answers())
    }

    /// `kill -9` of etcd.
    pub fn kill_engine(&mut self) {
        self.engine.kill();
    }

    /// Starts the agent of a host, and waits until it has begun.
    pub fn start_agent(&mut self, host: usize) -> Result<(), NoVerdict> {
        self.spawn_agent(host)?;
        self.await_agent(host)
    }

    fn spawn_agent(&mut self, host: usize) -> Result<(), String> {
        let endpoint = self.engine.endpoint();
        self.hosts[host].start_agent(&self.found.link, &endpoint, &mut self.guard)
    }

    fn await_agent(&mut self, host: usize) -> Result<(), NoVerdict> {
        self.until("the agent begins", |stage| stage.hosts[host].has_agent())
    }

    /// Returns a program of a host.
    pub fn program(&mut self, host: usize, at: usize) -> &mut Program {
        &mut self.programs[host * AT_EACH + at]
    }

    /// Waits until this program has done what it was told: the number that it says, and what comes after it.
    pub fn hear(&mut self, host: usize, at: usize, word: &str) -> Result<(u64, String), NoVerdict> {
        let program = &self.programs[host * AT_EACH + at];
        let said = program.says(&mut self.ears, word, PATIENCE)?;
        said.ok_or_else(|| {
            format!("a program at host {} has not done its {word} within {PATIENCE:?}", self.hosts[host].name)
                .into()
        })
    }

    /// Likewise: the turns that the first program of this host has taken, until it was told to stop; none, if it stood still.
    pub fn turns_taken(&mut self, host: usize) -> Result<u64, NoVerdict> {
        let program = &self.programs[host * AT_EACH];
        Ok(program.says(&mut self.ears, "turns", PATIENCE)?.map_or(0, |(turns, _)| turns))
    }

    /// Has the lock brought to this host: a program of it takes a turn.
    pub fn bring_home(&mut self, host: usize) -> Result<(), NoVerdict> {
        self.program(host, 0).tell("turn");
        self.hear(host, 0, "turn").map(drop)
    }

    /// Waits until the first program of this host, which was told to take a turn, waits for it; or has taken it, which the verdict finds out.
    pub fn until_waited_for(&mut self, host: usize) -> Result<(), NoVerdict> {
        let so = |stage: &Self| stage.hosts[host].has_waiter() || stage.ears.has_said(host * AT_EACH);
        self.until("a program waits", |stage| Ok(so(stage)))
    }

    /// Waits for the turn of the first program of this host, which it was told to take; `began`: since when it can.
    pub fn next(&mut self, host: usize, began: Instant) -> Result<Option<Next>, NoVerdict> {
        let program = &self.programs[host * AT_EACH];
        let said = program.says(&mut self.ears, "turn", PATIENCE)?;
        let name = self.hosts[host].name;
        Ok(said.map(|(_, told)| Next { host: name, told: told == "told", after: began.elapsed() }))
    }

    /// Says that a host is gone.
    pub fn forget(&mut self, host: usize) -> Result<(), NoVerdict> {
        let mut command = host::linked(&self.found.link, &self.engine.endpoint());
        let done = super::super::limit::output(command.args(["forget", self.hosts[host].name]))
            .map_err(|error| format!("turnlock-link forget: {error}"))?;
        if !done.status.success() {
            let why = String::from_utf8_lossy(&done.stderr).trim().to_owned();
            return Err(format!("turnlock-link forget: {why}").into());
        }
        Ok(())
    }

    /// Returns how many turns there were.
    pub fn turns(&self) -> usize {
        self.read("journal").lines().count()
    }

    /// Returns what stands in the counter, or in the journal.
    pub fn read(&self, file: &str) -> String {
        let read = fs::read(self.folder.join(file));
        read.map_or_else(|error| error.to_string(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Waits until this is so; one that says what has gone wrong ends that.
    pub fn until(&mut self, what: &str, so: impl Fn(&Self) -> Result<bool, String>) -> Result<(), NoVerdict> {
        let began = Instant::now();
        while !so(self)? {
            if began.elapsed() > PATIENCE {
                return Err(format!("not within {PATIENCE:?}: {what}").into());
            }
            self.ears.pass(TICK)?;
        }
        Ok(())
    }
}
