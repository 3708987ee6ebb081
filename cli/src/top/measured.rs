//! What is measured of a lock from one look to the next: acquisitions a second, and how long was waited.

use crate::watch::change::{Change, Event};
use hdrhistogram::Histogram;
use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// Rates are those of this time.
const RATE_OVER: Duration = Duration::from_secs(5);
/// So many changes of each lock are kept.
const CHANGES: usize = 100;

/// The longest wait that is told from a longer one, in microseconds: ten days.
const LONGEST: u64 = 864_000_000_000;

/// What was measured of one lock.
#[derive(Default)]
pub struct Measured {
    /// The last fencing token, and when it was read.
    tokens: VecDeque<(Instant, u64)>,
    /// Waits that ended, in microseconds. Made when the first one ends.
    waits: Option<Histogram<u64>>,
    /// What happened last, the latest first.
    pub changes: VecDeque<Change>,
}

impl Measured {
    /// The last fencing token that was given out by the time `at`.
    pub fn token(&mut self, at: Instant, token: u64) {
        self.tokens.push_back((at, token));
        // One that is as old as that stays, to count from.
        while self.tokens.get(1).is_some_and(|(second, _)| at.duration_since(*second) >= RATE_OVER) {
            self.tokens.pop_front();
        }
    }

    /// Something happened to the lock.
    pub fn change(&mut self, change: &Change) {
        if let (Event::Acquired | Event::Left, Some(seconds)) = (change.event, change.waited_seconds) {
            let empty = || Histogram::new_with_bounds(1, LONGEST, 2).expect("these bounds are allowed");
            let waits = self.waits.get_or_insert_with(empty);
            waits.saturating_record((seconds * 1e6) as u64);
        }
        self.changes.push_front(change.clone());
        self.changes.truncate(CHANGES);
    }

    /// Acquisitions a second.
    pub fn rate(&self) -> Option<f64> {
        let ((since, first), (until, last)) = (self.tokens.front()?, self.tokens.back()?);
        let seconds = until.duration_since(*since).as_secs_f64();
        (seconds > 0.0).then(|| last.saturating_sub(*first) as f64 / seconds)
    }

    /// Returns how long was waited, in seconds, at this quantile, among the waits that were seen.
    pub fn waited(&self, quantile: f64) -> Option<f64> {
        self.waits.as_ref().map(|waits| waits.value_at_quantile(quantile) as f64 / 1e6)
    }

    /// Returns how many waits were seen to end.
    pub fn waits(&self) -> u64 {
        self.waits.as_ref().map_or(0, Histogram::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let (mut measured, began) = (Measured::default(), Instant::now());
        assert_eq!(measured.rate(), None);
        for second in 0..20 {
            // Ten a second, and from the tenth second on a hundred.
            let token = if second < 10 { second * 10 } else { 100 + (second - 10) * 100 };
            measured.token(began + Duration::from_secs(second), token);
        }
        assert_eq!(measured.rate(), Some(100.0));
        assert_eq!(measured.tokens.len(), 6);
    }

    #[test]
    fn waits_are_those_that_ended() {
        let mut measured = Measured::default();
        for (event, waited) in [
            (Event::Acquired, Some(1.0)),
            (Event::Left, Some(3.0)),
            (Event::Acquired, None),
            (Event::Waits, Some(9.0)),
        ] {
            measured.change(&Change { waited_seconds: waited, ..Change::of_lock(event, "build") });
        }
        assert_eq!((measured.waits(), measured.changes.len()), (2, 4));
        let near =
            |quantile, seconds: f64| (measured.waited(quantile).unwrap() - seconds).abs() < seconds / 50.0;
        assert!(near(0.5, 1.0) && near(0.99, 3.0));
    }
}
