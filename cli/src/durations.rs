//! Many spans of time, and what can be said of them.

use super::recorded_spans::{End, Kind, Span};
use std::collections::BTreeMap;

/// Spans of time, in nanoseconds.
///
/// They are kept as they are: a recording may name a hundred thousand locks of a few spans each, and a histogram of each would
/// take thousands of times as much memory.
#[derive(Default)]
pub struct Durations {
    /// The shortest first.
    spans: Vec<u64>,
}

impl From<Vec<u64>> for Durations {
    fn from(mut spans: Vec<u64>) -> Self {
        spans.sort_unstable();
        Self { spans }
    }
}

impl Durations {
    /// How many.
    pub fn count(&self) -> u64 {
        self.spans.len() as u64
    }

    /// Returns the one that so large a part is not longer than: 0.5 gives the median, 0 the shortest. 0 if there is none.
    pub fn quantile(&self, part: f64) -> u64 {
        let rank = (part * self.spans.len() as f64).ceil() as usize;
        let last = self.spans.len().saturating_sub(1);
        self.spans.get(rank.saturating_sub(1).min(last)).copied().unwrap_or(0)
    }

    /// The longest. 0 if there is none.
    pub fn longest(&self) -> u64 {
        self.spans.last().copied().unwrap_or(0)
    }

    /// All together.
    pub fn total(&self) -> u128 {
        self.spans.iter().copied().map(u128::from).sum()
    }

    /// Returns how many of them are in [`from`, `to`).
    pub fn between(&self, from: u64, to: u64) -> u64 {
        let before = |end: u64| self.spans.partition_point(|span| *span < end);
        before(to).saturating_sub(before(from)) as u64
    }
}

/// How long one waited for a lock that was acquired, and how long it was held.
#[derive(Default)]
pub struct OfLock {
    /// From asking to acquiring, of those that acquired it.
    pub waits: Durations,
    /// From acquiring to releasing, or to being found dead; of a rwlock, to being upgraded or downgraded too.
    pub holds: Durations,
    /// At a condition or a barrier, or for an event: from the beginning of the wait until what it was for came.
    pub woken: Durations,
}

/// Of each lock, as far as both ends are known.
pub fn by_lock(spans: &[Span]) -> BTreeMap<usize, OfLock> {
    let mut found: BTreeMap<usize, [Vec<u64>; 3]> = BTreeMap::new();
    for span in spans {
        let Some(nanoseconds) = span.nanoseconds() else { continue };
        match (span.kind, span.end) {
            (Kind::Wait, End::Acquired) => found.entry(span.lock).or_default()[0].push(nanoseconds),
            (Kind::Wait, End::Woken) => found.entry(span.lock).or_default()[2].push(nanoseconds),
            (Kind::Hold, _) => found.entry(span.lock).or_default()[1].push(nanoseconds),
            _ => {}
        }
    }
    let of = |(lock, [waits, holds, woken]): (usize, [Vec<u64>; 3])| {
        (lock, OfLock { waits: waits.into(), holds: holds.into(), woken: woken.into() })
    };
    found.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_spans_in_their_order() {
        let durations = Durations::from((1..=1000).rev().collect::<Vec<u64>>());
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|part| durations.quantile(part)), [1, 500, 990, 1000]);
        assert_eq!((durations.longest(), durations.count(), durations.total()), (1000, 1000, 500_500));
        assert_eq!([0.0, 0.99].map(|part| Durations::default().quantile(part)), [0, 0]);
    }

    /// Beyond the longest there is none, however far.
    #[test]
    fn what_is_in_a_bar_is_in_no_other() {
        let durations = Durations::from(vec![5, 7, 1 << 40, 7]);
        let counted = [(0, 5), (5, 6), (6, 100), (100, 1 << 40), (1 << 40, 1 << 41), (1 << 41, u64::MAX)];
        assert_eq!(counted.map(|(from, to)| durations.between(from, to)), [0, 1, 2, 0, 1, 0]);
        assert_eq!((durations.between(0, u64::MAX), durations.between(7, 5)), (4, 0));
    }
}
