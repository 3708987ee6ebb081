//! The rows of the list of locks: which are shown, and in which order.

use super::{measured::Measured, source::Source};
use crate::watch::changes::waiting;
use std::cmp::{Ordering, Reverse};
use turnlock::inspect::{LockStatus, ParticipantStatus};

/// By which column the rows are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Name,
    Kind,
    Since,
    Waiting,
    Rate,
    Median,
    Tail,
}

impl Sort {
    /// In the order of the columns.
    pub const ALL: [Sort; 7] =
        [Sort::Name, Sort::Kind, Sort::Since, Sort::Waiting, Sort::Rate, Sort::Median, Sort::Tail];

    /// Returns the column so many further to the right.
    pub fn beside(self, by: isize) -> Self {
        let at = Self::ALL.iter().position(|sort| *sort == self).unwrap_or(0);
        Self::ALL[(at as isize + by).rem_euclid(Self::ALL.len() as isize) as usize]
    }
}

/// A lock of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which of the files.
    pub file: usize,
    /// The lock's name.
    pub lock: String,
}

impl Row {
    /// Returns the lock, as it was at the last look.
    pub fn status<'a>(&self, sources: &'a [Source]) -> Option<&'a LockStatus> {
        sources.get(self.file)?.status()?.locks.iter().find(|lock| lock.name == self.lock)
    }

    /// Returns what was measured of it.
    pub fn measured<'a>(&self, sources: &'a [Source]) -> Option<&'a Measured> {
        sources.get(self.file)?.measured(&self.lock)
    }
}

/// Returns the rows that fit the filter, sorted. Numbers: the largest first; names from A to Z; `reversed`: the other way
/// round.
pub fn rows(sources: &[Source], filter: &str, sort: Sort, reversed: bool) -> Vec<Row> {
    let filter = filter.to_lowercase();
    let mut keyed = Vec::new();
    for (file, source) in sources.iter().enumerate() {
        let locks = source.status().map(|status| &status.locks[..]).unwrap_or_default();
        for lock in locks.iter().filter(|lock| fits(lock, &filter)) {
            let row = Row { file, lock: lock.name.clone() };
            keyed.push((key(lock, source.measured(&lock.name), sort), row));
        }
    }
    keyed.sort_by(|(one, row), (other, another)| {
        let order = compare(one, other);
        let order = if reversed { order.reverse() } else { order };
        order.then_with(|| (row.file, &row.lock).cmp(&(another.file, &another.lock)))
    });
    keyed.into_iter().map(|(_, row)| row).collect()
}

enum Key {
    Text(String),
    Number(Reverse<f64>),
}

fn key(lock: &LockStatus, measured: Option<&Measured>, sort: Sort) -> Key {
    let number = |number: Option<f64>| Key::Number(Reverse(number.unwrap_or(-1.0)));
    let held = || lock.holders.iter().map(|holder| holder.for_seconds.unwrap_or(0.0)).reduce(f64::max);
    match sort {
        Sort::Name => Key::Text(lock.name.clone()),
        Sort::Kind => Key::Text(lock.kind.into()),
        Sort::Since => number(held()),
        Sort::Waiting => number(Some(waiting(lock).count() as f64)),
        Sort::Rate => number(measured.and_then(Measured::rate)),
        Sort::Median => number(measured.and_then(|measured| measured.waited(0.5))),
        Sort::Tail => number(measured.and_then(|measured| measured.waited(0.99))),
    }
}

fn compare(one: &Key, other: &Key) -> Ordering {
    match (one, other) {
        (Key::Text(one), Key::Text(other)) => one.cmp(other),
        (Key::Number(Reverse(one)), Key::Number(Reverse(other))) => other.total_cmp(one),
        _ => Ordering::Equal,
    }
}

/// Returns whether the lock's name or kind has the filter in it, or the label, the program or the pid of a participant.
fn fits(lock: &LockStatus, filter: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(filter);
    let is = |one: &ParticipantStatus| has(&one.label) || has(&one.program) || one.pid.to_string() == filter;
    has(&lock.name)
        || has(lock.kind)
        || lock.holders.iter().any(|holder| is(&holder.participant))
        || lock.queue.iter().any(|waiter| is(&waiter.participant))
}
