//! What should be, and what was seen: what the verdict compares.

use super::programs::Language;
use std::time::Duration;

/// What `kill -9` sends.
pub const SIGKILL: i32 = 9;

/// What a program should have done at the end.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// Which program.
    pub language: Language,
    /// How many turns it has, in the journal.
    pub turns: u64,
    /// How many it was asked for.
    pub asked: u64,
    /// The turn in which it was killed, half-way through: that one counts, since its journal line is written.
    pub die_at: Option<u64>,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// What stands in the counter.
    pub counter: String,
    /// What stands in the journal.
    pub journal: String,
    /// The victim's stop inside.
    pub stop: Option<Stop>,
    /// The holder that was told of a death.
    pub notices: Vec<Notice>,
    /// How each program ended.
    pub endings: Vec<Ending>,
    /// What the programs wrote to standard error.
    pub complaints: Vec<(Language, String)>,
    /// It stood still; who held the lock and who waited.
    pub hang: Option<String>,
    /// How long it took, from the start of the programs.
    pub seconds: f64,
}

impl Evidence {
    /// Keeps a line of standard error; the first ones tell most.
    pub fn complaint(&mut self, language: Language, line: String) {
        if self.complaints.iter().filter(|(whose, _)| *whose == language).count() < 10 {
            self.complaints.push((language, line));
        }
    }

    /// Returns how long after the kill the next one got in, if it has yet.
    pub fn next_after(&self) -> Option<Duration> {
        self.stop.as_ref()?.next_after
    }
}

/// A program stopped half-way through a turn, and was killed there.
#[derive(Clone, Debug)]
pub struct Stop {
    /// Which.
    pub language: Language,
    /// Its process.
    pub pid: u32,
    /// The fencing token of that turn.
    pub fencing_token: u64,
    /// How many turns others had while it stood there. None, if the lock is any good.
    pub entered_meanwhile: u64,
    /// Who waited for it.
    pub waiting: Vec<String>,
    /// How long after the kill the next turn was seen.
    pub next_after: Option<Duration>,
}

/// A program was told of a holder's death.
#[derive(Clone, Debug)]
pub struct Notice {
    /// The holder that was told.
    pub told: Language,
    /// The label of the dead.
    pub dead: String,
    /// Its process.
    pub pid: u32,
}

/// How a program ended.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// Which.
    pub language: Language,
    /// How.
    pub end: End,
}

/// The ways to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// What a program says when it has stopped half-way through a turn.
#[derive(Clone, Copy)]
pub struct Stopped {
    /// The number of its turn.
    pub turn: u64,
    /// The fencing token of that turn.
    pub fencing_token: u64,
}
