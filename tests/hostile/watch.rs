//! A watch in hand: every call returns within its limit, with a result or an error that is no defect's.

use std::{
    collections::BTreeMap,
    fmt,
    time::{Duration, Instant},
};
use turnlock::{Result, status::*};

/// What a call may take beyond its limit: the machine is busy with other things too.
pub const SLACK: Duration = Duration::from_secs(10);
/// For calls that take no limit and need not wait for any participant.
pub const AT_ONCE: Duration = Duration::ZERO;

/// How many calls there were, what they said, and by how much the worst of them overran its limit.
#[derive(Default)]
pub struct Watch {
    pub calls: u64,
    pub worst: Duration,
    said: BTreeMap<i32, u64>,
}

impl Watch {
    /// Makes a call that has `limit`.
    pub fn call<T>(&mut self, what: &str, limit: Duration, act: impl FnOnce() -> Result<T>) -> Result<T> {
        let began = Instant::now();
        let result = act();
        let over = began.elapsed().saturating_sub(limit);
        let code = result.as_ref().map_or_else(|error| error.code(), |_| TURNLOCK_OK);
        assert!(over < SLACK, "{what} (status {code}) took {over:?} longer than its limit of {limit:?}");
        assert_ne!(code, TURNLOCK_ERROR_INTERNAL, "{what}");
        self.calls += 1;
        self.worst = self.worst.max(over);
        *self.said.entry(code).or_default() += 1;
        result
    }

    /// Takes another's record over.
    pub fn add(&mut self, other: Watch) {
        self.calls += other.calls;
        self.worst = self.worst.max(other.worst);
        for (code, times) in other.said {
            *self.said.entry(code).or_default() += times;
        }
    }

    /// As one line, for [`Watch::parse`].
    pub fn line(&self) -> String {
        let said: Vec<_> = self.said.iter().map(|(code, times)| format!("{code}={times}")).collect();
        format!("{} {} {}", self.calls, self.worst.as_micros(), said.join(","))
    }

    /// The opposite of [`Watch::line`].
    pub fn parse(line: &str) -> Self {
        let parse = |word: &str| word.parse().unwrap_or_else(|_| panic!("{line:?} is no report"));
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_else(|| panic!("{line:?} is no report"));
        let (calls, worst) = (parse(word()), Duration::from_micros(parse(word())));
        let said = word().split(',').filter_map(|pair| pair.split_once('='));
        Self { calls, worst, said: said.map(|(code, times)| (code.parse().unwrap(), parse(times))).collect() }
    }
}

impl fmt::Display for Watch {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{} calls, at worst {:?} beyond the limit", self.calls, self.worst)?;
        for (code, times) in &self.said {
            write!(out, "; {times} x {:?}", turnlock::status_text(*code))?;
        }
        Ok(())
    }
}
