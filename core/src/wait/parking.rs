//! Where waiters park, and how they are unparked.

use super::platform::Platform;
use crate::acquire::site::Unparked;
use crate::mutants::{self, Mutant};
use crate::sync::{
    AtomicU32,
    Ordering::{Relaxed, Release},
};

/// The parking spot of one slot in one lock, made of futex words: the waiters for that slot park here.
#[derive(Clone, Copy)]
pub struct ParkingSpot<'a> {
    /// Futex word: changes whenever those parked here should look again.
    pub wake: &'a AtomicU32,
    /// 0, or how the waiter that may be parked here wants to be unparked: `WHEN_LEFT` or `EARLY`.
    pub parked: &'a AtomicU32,
    /// 0, or the slot that comes next after this one and is awake, plus 1.
    pub successor: &'a AtomicU32,
    /// A number for the spot, never 0, by which [`super::Cancel`] names it.
    pub name: u64,
}

/// A number for the parking spot of `slot` in the lock of `region`, never 0.
pub fn name_of(region: usize, slot: usize) -> u64 {
    ((region as u64) << 32) | (slot as u64 + 1)
}

/// In [`ParkingSpot::parked`]: when the slot has left.
pub const WHEN_LEFT: u32 = 1;
/// In [`ParkingSpot::parked`]: as soon as only that slot is before it, to be awake when it leaves.
pub const EARLY: u32 = 2;

impl ParkingSpot<'_> {
    /// Unparks the waiters that are parked here, after the store that they wait for. Returns what was found.
    #[inline]
    pub fn unpark<P: Platform>(&self) -> Unparked {
        // Partner: the fence in `Waiter::park`. If ours comes first, the waiter's last look sees what we stored and it
        // does not park; if theirs comes first, we see `parked`.
        mutants::full_fence_unless(Mutant::NoFenceBeforeUnpark);
        let mut next = Unparked::NoWaiter;
        if self.parked.load(Relaxed) != 0 {
            self.parked.store(0, Relaxed);
            // The word may be of one that has given up since: then no waiter is awake by this.
            if self.unpark_all::<P>() {
                next = Unparked::Parked;
            }
        }
        let successor = self.successor.load(Relaxed);
        if successor != 0 {
            self.successor.store(0, Relaxed);
            next = Unparked::Awake(successor as usize - 1);
        }
        next
    }

    /// Unparks the waiter that is parked here ahead of its turn, if it asked for that: only this slot is before it.
    #[cold]
    pub fn unpark_early<P: Platform>(&self) {
        // Relaxed: should it not be seen, the waiter is unparked when the slot has left.
        if self.parked.load(Relaxed) == EARLY {
            self.parked.store(0, Relaxed);
            self.unpark_all::<P>();
        }
    }

    /// Has the waiters that are parked here, or about to be, look again. Returns whether any slept.
    pub fn unpark_all<P: Platform>(&self) -> bool {
        self.wake.fetch_add(1, Release);
        P::wake_all(self.wake)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::wait::platform::tests::{Asleep, NoneAsleep};

    #[derive(Default)]
    struct Words {
        wake: AtomicU32,
        parked: AtomicU32,
        successor: AtomicU32,
    }

    impl Words {
        fn spot(&self) -> ParkingSpot<'_> {
            ParkingSpot { wake: &self.wake, parked: &self.parked, successor: &self.successor, name: 1 }
        }

        /// How often waiters were told to look again, whether some may still be parked, and the successor.
        fn now(&self) -> [u32; 3] {
            [&self.wake, &self.parked, &self.successor].map(|word| word.load(Relaxed))
        }
    }

    #[test]
    fn an_unlock_unparks_once_and_names_the_successor_once() {
        let words = Words::default();
        assert_eq!((words.spot().unpark::<NoneAsleep>(), words.now()), (Unparked::NoWaiter, [0, 0, 0]));
        for how in [WHEN_LEFT, EARLY] {
            words.parked.store(how, Relaxed);
            let before = words.now()[0];
            assert_eq!(
                (words.spot().unpark::<Asleep<true>>(), words.now()),
                (Unparked::Parked, [before + 1, 0, 0])
            );
            assert_eq!(
                (words.spot().unpark::<Asleep<true>>(), words.now()),
                (Unparked::NoWaiter, [before + 1, 0, 0])
            );
        }
        // One that has given up.
        words.parked.store(WHEN_LEFT, Relaxed);
        assert_eq!((words.spot().unpark::<NoneAsleep>(), words.now()), (Unparked::NoWaiter, [3, 0, 0]));
        words.successor.store(7 + 1, Relaxed);
        assert_eq!((words.spot().unpark::<NoneAsleep>(), words.now()), (Unparked::Awake(7), [3, 0, 0]));
        assert_eq!(words.spot().unpark::<NoneAsleep>(), Unparked::NoWaiter);
    }

    #[test]
    fn only_a_waiter_that_wants_it_is_unparked_early() {
        for (how, woken) in [(0, false), (WHEN_LEFT, false), (EARLY, true)] {
            let words = Words::default();
            words.parked.store(how, Relaxed);
            words.spot().unpark_early::<NoneAsleep>();
            assert_eq!(words.now(), if woken { [1, 0, 0] } else { [0, how, 0] });
        }
    }
}
