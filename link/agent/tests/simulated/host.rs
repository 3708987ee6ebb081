//! One host: its lock file, its clock, its agent.

use std::sync::Arc;
use support::hosts::{Clock, DRIFT};
use turnlock_link_agent::{Agent, Config, Data, Event, Found, Host, Mode, NO_DEADLINE, Nanoseconds, Wish};

/// What lies in a host's lock file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LockFile {
    pub is_home: bool,
    /// And then readers alone are admitted.
    pub is_to_read: bool,
    pub last_token: u64,
    pub token_end: u64,
    pub data: Data,
    pub wanted: Option<Wish>,
    /// By the host's clock.
    pub until: Nanoseconds,
}

/// A program that is inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inside {
    pub token: u64,
    pub wish: Wish,
}

/// Who of a host is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stopped {
    Agent,
    /// And its programs.
    All,
}

/// What is lost of a host that is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cut {
    /// What it sends.
    Sent,
    /// And what it is sent.
    Both,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OneHost {
    pub name: Host,
    pub config: Config,
    pub file: LockFile,
    pub inside: Option<Inside>,
    pub agent: Option<Agent>,
    pub life: u32,
    /// By its own clock.
    pub wakes_at: Option<Nanoseconds>,
    /// The agent waits for the lock, to move it away.
    pub is_leaving: bool,
    /// The agent dies after the first of the several things that it does next.
    pub dies_amid: bool,
    pub stopped: Option<Stopped>,
    /// What the agent is told when it goes on.
    pub missed: Vec<Event>,
    pub cut_off: Option<Cut>,
    /// What the calls of its agents were numbered to.
    pub numbers: u64,
    /// When its agent sent the last call that keeps a lease.
    pub kept_at: Nanoseconds,
    own_clock: Clock,
}

impl OneHost {
    pub fn new(at: usize, config: Config, drift: i64) -> Self {
        Self {
            name: Arc::from(["a", "b", "c", "d"][at]),
            config,
            file: LockFile {
                is_home: false,
                is_to_read: false,
                // Each host's own first token, as its wall clock had it.
                last_token: 100 + at as u64,
                token_end: 0,
                data: Data::Consistent,
                wanted: None,
                until: NO_DEADLINE,
            },
            inside: None,
            agent: None,
            life: 0,
            wakes_at: None,
            is_leaving: false,
            dies_amid: false,
            stopped: None,
            missed: Vec::new(),
            cut_off: None,
            numbers: 0,
            kept_at: 0,
            own_clock: Clock { offset: at as u64 * 7_000_000_000, drift },
        }
    }

    /// What its clock shows at this time.
    pub fn clock(&self, now: Nanoseconds) -> Nanoseconds {
        self.own_clock.at(now)
    }

    /// The first time at which its clock shows `clock`, or more.
    pub fn time_of(&self, clock: Nanoseconds) -> Nanoseconds {
        self.own_clock.time_of(clock)
    }

    pub fn is_leased(&self) -> bool {
        self.config.mode == Mode::Leased
    }

    /// For so long, by its own clock, a program has been told that it is inside without the privilege before one at another host is inside.
    pub fn told_before(&self) -> Nanoseconds {
        self.config.margin - self.config.lease / 1000 * DRIFT as u64
    }

    /// Whether its file admits a program at this time.
    pub fn admits(&self, wish: Wish, now: Nanoseconds) -> bool {
        self.is_open_to(wish) && self.clock(now) < self.file.until
    }

    /// Likewise, but for its deadline.
    pub fn is_open_to(&self, wish: Wish) -> bool {
        let file = &self.file;
        file.is_home && (wish == Wish::Read || file.last_token < file.token_end)
    }

    pub fn found(&self) -> Found {
        let LockFile { is_home, is_to_read, last_token, token_end, data, wanted, until } = self.file;
        Found { is_home, is_home_to_read: is_to_read, last_token, token_end, data, wanted, until }
    }

    /// The agent is gone, and what it was told and asked for.
    pub fn kill_agent(&mut self) {
        (self.agent, self.wakes_at, self.is_leaving, self.dies_amid) = (None, None, false, false);
        self.missed.clear();
        if self.stopped == Some(Stopped::Agent) {
            self.stopped = None;
        }
    }
}
