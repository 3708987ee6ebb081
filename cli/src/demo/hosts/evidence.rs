//! What was seen: what the verdict compares with what is claimed.

use std::time::Duration;

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// The hosts' names, in their order.
    pub hosts: Vec<&'static str>,
    /// What stands in the counter.
    pub counter: String,
    /// What stands in the journal: a line for each turn, with its host and its fencing token.
    pub journal: String,
    /// How many turns the hosts had while all wanted the lock.
    pub contended: usize,
    /// A program was killed inside.
    pub killed_inside: Scene,
    /// An agent was killed while the lock was home.
    pub agent_at_home: Scene,
    /// An agent was killed while the lock was away.
    pub agent_away: Scene,
    /// etcd was killed.
    pub outage: Scene,
    /// A host was dead, until it was forgotten.
    pub dead_host: Scene,
    /// How long it took, from the first turn.
    pub seconds: f64,
}

/// Something was killed at a time when a program of another host wanted the lock.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// The turns of the host that has the lock, meanwhile.
    pub turns_at_home: u64,
    /// The turns of all others, meanwhile. None, if the lock is any good.
    pub other_turns: u64,
    /// The program that wanted it, when it could have it; `None`: it did not come in.
    pub next: Option<Next>,
}

/// The program that came in next.
#[derive(Clone, Copy, Debug)]
pub struct Next {
    /// Its host.
    pub host: &'static str,
    /// It was told that the holder before it died inside.
    pub told: bool,
    /// How long it took, from when it could.
    pub after: Duration,
}

/// One turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn<'a> {
    /// The host of the program.
    pub host: &'a str,
    /// Its fencing token.
    pub fencing_token: u64,
}

/// Returns every turn, in the order of the journal. A line that is no turn is an error, with its number.
pub fn turns(journal: &str) -> Result<Vec<Turn<'_>>, String> {
    let turn = |line| {
        let (host, token): (&str, &str) = str::split_once(line, ' ')?;
        Some(Turn { host, fencing_token: token.parse().ok()? })
    };
    let parsed = journal.lines().enumerate().map(|(at, line)| {
        turn(line).ok_or_else(|| format!("line {} of the journal is no turn: {line:?}", at + 1))
    });
    parsed.collect()
}

/// Returns how often a turn was at another host than the one before.
pub fn hand_overs(turns: &[Turn]) -> usize {
    turns.windows(2).filter(|pair| pair[0].host != pair[1].host).count()
}
