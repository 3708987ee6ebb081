//! How long a participant's sections at one lock are, as far as it matters: whether they are shorter than a wake-up.

use super::platform::Platform;
use crate::sync::{AtomicU64, Ordering::Relaxed};

/// A wake-up takes 50 microseconds where nothing else runs.
const WAKE_UP: u64 = 100_000;

/// What one participant has learned of its sections at one lock that it had waited for. One word: when the section began that it
/// is in, in nanoseconds; its lowest bit: whether the one before was shorter than a wake-up.
#[derive(Clone, Copy, Debug)]
pub struct SectionClock<'a>(pub &'a AtomicU64);

const SHORT: u64 = 1;

impl SectionClock<'_> {
    /// A section begins. Returns whether the last one was shorter than a wake-up; of the first it is not known.
    pub fn begin<P: Platform>(self) -> bool {
        // Relaxed, here and below: only the participant's own calls use it, and it is a guess.
        let was_short = self.0.load(Relaxed) & SHORT;
        self.0.store(P::monotonic_ns() & !SHORT | was_short, Relaxed);
        was_short != 0
    }

    /// A section ends, if one began. Returns how long it took, in nanoseconds.
    #[inline]
    pub fn end<P: Platform>(self) -> Option<u64> {
        let word = self.0.load(Relaxed);
        (word > SHORT).then(|| self.note::<P>(word & !SHORT))
    }

    #[cold]
    fn note<P: Platform>(self, began: u64) -> u64 {
        let took = P::monotonic_ns().saturating_sub(began);
        self.0.store(if took < WAKE_UP { SHORT } else { 0 }, Relaxed);
        took
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::wait::platform::tests::NoneAsleep;
    use std::time::Duration;

    #[test]
    fn a_section_is_short_only_if_the_one_before_was() {
        let word = AtomicU64::new(0);
        let clock = SectionClock(&word);
        assert_eq!((clock.end::<NoneAsleep>(), word.load(Relaxed)), (None, 0), "none began");
        assert!(!clock.begin::<NoneAsleep>());
        std::thread::sleep(Duration::from_nanos(2 * WAKE_UP));
        assert!(clock.end::<NoneAsleep>().is_some_and(|took| took >= 2 * WAKE_UP));
        assert!(!clock.begin::<NoneAsleep>());
        // As if it had begun just now, however busy the machine is.
        word.store(NoneAsleep::monotonic_ns().saturating_add(WAKE_UP) & !SHORT, Relaxed);
        assert_eq!(clock.end::<NoneAsleep>(), Some(0));
        assert!(clock.begin::<NoneAsleep>());
    }
}
