//! Many spans of time, and what can be said of them.

use super::spells::{End, Kind, Spell};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// Spans of time, in nanoseconds.
pub struct Durations {
    /// To three digits.
    histogram: Histogram<u64>,
    longest: u64,
    total: u128,
}

impl Default for Durations {
    fn default() -> Self {
        let histogram = Histogram::new(3).expect("3 digits are among those that there can be");
        Self { histogram, longest: 0, total: 0 }
    }
}

impl Durations {
    /// One more.
    pub fn add(&mut self, nanoseconds: u64) {
        // Of a span that no memory is left for, only what is counted here is known.
        let _ = self.histogram.record(nanoseconds);
        self.longest = self.longest.max(nanoseconds);
        self.total += u128::from(nanoseconds);
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The one that so large a part is not longer than: 0.5 gives the median. 0 if there is none.
    pub fn quantile(&self, part: f64) -> u64 {
        self.histogram.value_at_quantile(part).min(self.longest)
    }

    /// The longest, exactly.
    pub fn longest(&self) -> u64 {
        self.longest
    }

    /// All together, exactly.
    pub fn total(&self) -> u128 {
        self.total
    }

    /// How many of them are in [`from`, `to`), to three digits of both.
    pub fn between(&self, from: u64, to: u64) -> u64 {
        if to <= from { 0 } else { self.histogram.count_between(from, to - 1) }
    }
}

/// How long one waited for a lock that was acquired, and how long it was held.
#[derive(Default)]
pub struct OfLock {
    /// From asking to acquiring, of those that acquired it.
    pub waits: Durations,
    /// From acquiring to releasing, or to being found dead.
    pub holds: Durations,
}

/// Of each lock, as far as both ends are known.
pub fn by_lock(spells: &[Spell]) -> BTreeMap<usize, OfLock> {
    let mut found: BTreeMap<usize, OfLock> = BTreeMap::new();
    for spell in spells {
        let Some(nanoseconds) = spell.nanoseconds() else { continue };
        match (spell.kind, spell.end) {
            (Kind::Wait, End::Acquired) => found.entry(spell.lock).or_default().waits.add(nanoseconds),
            (Kind::Hold, _) => found.entry(spell.lock).or_default().holds.add(nanoseconds),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_never_longer_than_the_longest() {
        let mut durations = Durations::default();
        (1..=1000).for_each(|span| durations.add(span * 1_000_003));
        let [median, most] = [0.5, 1.0].map(|part| durations.quantile(part));
        assert!((499_000_000..=501_000_000).contains(&median), "{median}");
        assert_eq!((most, durations.longest(), durations.count()), (1_000_003_000, 1_000_003_000, 1000));
        assert_eq!(durations.total(), 500_500 * 1_000_003);
        assert_eq!(durations.between(0, u64::MAX), 1000);
        assert_eq!(Durations::default().quantile(0.99), 0);
    }
}
