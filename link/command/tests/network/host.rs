//! A host: a station with a lock file, its agent, which is started again when it ends, and programs that enter.

use crate::{
    cables::{Own, Station, Switch},
    member::MEMBERS,
    program::{LOCK, PERMITS},
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    process::Child,
};
use support::{actor::Actor, limit};

/// The members, as each host is told of them, beginning with another one.
const ENDPOINTS: [&str; MEMBERS] = [
    "10.77.0.1:2379,10.77.0.2:2379,10.77.0.3:2379",
    "10.77.0.2:2379,10.77.0.3:2379,10.77.0.1:2379",
    "10.77.0.3:2379,10.77.0.1:2379,10.77.0.2:2379",
];
/// The agent's exit code if it cannot reach etcd when it begins.
const NO_ENGINE: i32 = 69;

/// What programs enter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    #[default]
    Mutex,
    /// Of which programs also read.
    RwLock,
    /// Of [`PERMITS`].
    Semaphore,
}

/// What a host's agent is started with.
#[derive(Clone, Default)]
pub struct Agency {
    /// Options of `turnlock-link run`.
    pub options: Vec<String>,
    /// `CLOCK_BOOTTIME` is ahead of this machine's by so many seconds, at the host.
    pub booted_earlier: u64,
    /// What the lock is.
    pub kind: Kind,
    /// A fault: it is not, for the programs.
    pub programs_have_another_clock: bool,
}

pub struct Host {
    pub name: &'static str,
    pub station: Station,
    place: usize,
    folder: tempfile::TempDir,
    agency: Agency,
    agent: Option<Child>,
    is_stopped: bool,
    pub programs: Vec<Program>,
    /// How often its agent was started.
    pub starts: u32,
}

pub struct Program {
    actor: Actor,
    history: PathBuf,
}

impl Host {
    /// The one of this place, whose agent has begun.
    pub fn begin(switch: &Switch, place: usize, agency: Agency) -> Result<Self, String> {
        let own = Own { memory: None, booted_earlier: agency.booted_earlier };
        let station = switch.station(MEMBERS + place, own)?;
        let mut host = Self {
            name: ["a", "b", "c"][place],
            station,
            place,
            folder: tempfile::tempdir().unwrap(),
            agency,
            agent: None,
            is_stopped: false,
            programs: Vec::new(),
            starts: 0,
        };
        host.start();
        support::until("the agent has begun", || {
            host.tend().unwrap();
            host.said().contains(": host ")
        });
        Ok(host)
    }

    /// Starts its agent, and does not wait.
    fn start(&mut self) {
        let said = File::options().create(true).append(true).open(self.folder.path().join("said")).unwrap();
        let mut command = self.station.command(env!("CARGO_BIN_EXE_turnlock-link"));
        for name in ["CACERT", "CERT", "KEY", "USER", "PASSWORD"] {
            command.env_remove(format!("ETCDCTL_{name}"));
        }
        command.arg("run").arg(self.path());
        match self.agency.kind {
            Kind::Mutex => command.arg(LOCK),
            Kind::RwLock => command.args(["--rwlock", LOCK]),
            Kind::Semaphore => command.arg("--semaphore").arg(format!("{LOCK}={PERMITS}")),
        };
        command.args(["--host", self.name]).args(&self.agency.options);
        command.args(["--endpoints", ENDPOINTS[self.place]]);
        self.agent = Some(command.stderr(said).spawn().unwrap());
        self.starts += 1;
    }

    /// Starts its agent again if that could not reach etcd, as a service manager does.
    ///
    /// # Errors
    /// It ended for another reason.
    pub fn tend(&mut self) -> Result<(), String> {
        let Some(ended) = self.agent.as_mut().and_then(|agent| agent.try_wait().unwrap()) else {
            return Ok(());
        };
        if ended.code() != Some(NO_ENGINE) {
            return Err(format!("the agent of {} has ended, {ended}: {}", self.name, self.said()));
        }
        self.start();
        Ok(())
    }

    /// `kill -9` of its agent, and another one.
    pub fn exchange_agent(&mut self) {
        let mut agent = self.agent.take().unwrap();
        let _ = agent.kill();
        limit::end_of(&mut agent, "the agent");
        self.is_stopped = false;
        self.start();
    }

    /// Lets its agent go on, if it was stopped.
    pub fn resume_agent(&mut self) {
        if self.is_stopped {
            self.signal_agent(Signal::SIGCONT);
        }
    }

    pub fn signal_agent(&mut self, signal: Signal) {
        let agent = self.agent.as_mut().unwrap();
        if agent.try_wait().unwrap().is_none() {
            kill(Pid::from_raw(agent.id() as i32), signal).unwrap();
            self.is_stopped = signal == Signal::SIGSTOP;
        }
    }

    /// The lock file.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("app.lock")
    }

    /// What its agents have said.
    pub fn said(&self) -> String {
        fs::read_to_string(self.folder.path().join("said")).unwrap_or_default()
    }

    /// Starts a program, with a number that no other one has.
    pub fn start_program(&mut self, folder: &Path, number: u64, is_leased: bool) {
        let history = folder.join(format!("{}.{number}", self.name));
        let has_its_clock = self.station.has_own_clock() && !self.agency.programs_have_another_clock;
        let keeper = if has_its_clock { self.station.pid().to_string() } else { String::new() };
        let words = [
            self.path().to_str().unwrap(),
            folder.join("register").to_str().unwrap(),
            history.to_str().unwrap(),
            &number.to_string(),
            &is_leased.to_string(),
            &keeper,
        ]
        .map(str::to_owned);
        let mut actor = Actor::start("program", &words.each_ref().map(String::as_str));
        actor.expect("ready");
        self.programs.push(Program { actor, history });
    }

    /// When a program of it entered last, as far as it has written that down.
    pub fn entered_last(&self) -> u64 {
        self.programs
            .iter()
            .filter_map(|program| program.last_entry())
            .map(|(begin, _)| begin)
            .max()
            .unwrap_or(0)
    }

    /// Kills a program that is inside, if one is. Returns whether one was.
    pub fn kill_one_inside(&mut self) -> bool {
        let inside = |program: &Program| program.last_entry().is_some_and(|(_, is_inside)| is_inside);
        let Some(at) = self.programs.iter().position(inside) else { return false };
        self.programs.remove(at).actor.kill();
        true
    }

    /// Has all its programs end.
    pub fn dismiss_programs(&mut self) {
        self.programs.drain(..).for_each(|program| program.actor.dismiss());
    }
}

impl Program {
    /// When it entered last, and whether it is inside.
    fn last_entry(&self) -> Option<(u64, bool)> {
        /// More than one entry takes, unless it stays for long.
        const TAIL: u64 = 1 << 14;
        let mut file = File::open(&self.history).ok()?;
        let length = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
        let mut tail = String::new();
        file.read_to_string(&mut tail).ok()?;
        let mut is_inside = true;
        for line in tail.lines().rev() {
            let words: Vec<_> = line.split(' ').collect();
            match words[..] {
                ["in" | "reads" | "takes", _, begin, _] => return Some((begin.parse().ok()?, is_inside)),
                ["out" | "abandons"] => is_inside = false,
                _ => {}
            }
        }
        None
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Some(agent) = &mut self.agent {
            let _ = agent.kill();
            let _ = limit::within(limit::of_processes(), || agent.try_wait().ok().flatten());
        }
    }
}
