//! Where waiters park, and how they are unparked.

use crate::acquire::site::Unparked;
use crate::os::futex;
use crate::sync::{
    AtomicU32,
    Ordering::{Relaxed, Release},
    full_fence,
};

/// The parking spot of one slot in one lock, made of futex words: whoever waits for that slot parks here.
#[derive(Clone, Copy)]
pub struct ParkingSpot<'a> {
    /// Changes whenever the parked should look again.
    pub wake: &'a AtomicU32,
    /// 0, or how whoever may be parked here wants to be unparked: `WHEN_LEFT` or `EARLY`.
    pub parked: &'a AtomicU32,
    /// 0, or the slot that comes next after this one and is awake, plus 1.
    pub successor: &'a AtomicU32,
    /// A number for the spot, never 0, by which [`super::Cancel`] names it.
    pub name: u64,
}

/// In [`ParkingSpot::parked`]: when the slot has left.
pub const WHEN_LEFT: u32 = 1;
/// In [`ParkingSpot::parked`]: as soon as only that slot is before it, to be awake when it leaves.
pub const EARLY: u32 = 2;

impl ParkingSpot<'_> {
    /// Unparks everyone who is parked here. Comes after the store that they wait for.
    ///
    /// Returns what was found.
    #[inline]
    pub fn unpark(&self) -> Unparked {
        // Partner: the fence in `Waiter::park`. If ours comes first, the waiter's last look sees what we stored and it
        // does not park; if theirs comes first, we see `parked`.
        full_fence();
        let mut next = Unparked::Nobody;
        if self.parked.load(Relaxed) != 0 {
            self.parked.store(0, Relaxed);
            self.unpark_all();
            next = Unparked::Parked;
        }
        let successor = self.successor.load(Relaxed);
        if successor != 0 {
            self.successor.store(0, Relaxed);
            next = Unparked::Awake(successor as usize - 1);
        }
        next
    }

    /// Unparks whoever is parked here already now, if it wants to be: only this slot is before it.
    #[cold]
    pub fn unpark_early(&self) {
        // Relaxed: should it not be seen, the waiter is unparked when the slot has left.
        if self.parked.load(Relaxed) == EARLY {
            self.parked.store(0, Relaxed);
            self.unpark_all();
        }
    }

    /// Has everyone who is parked here, or about to be, look again.
    pub fn unpark_all(&self) {
        self.wake.fetch_add(1, Release);
        futex::wake_all(self.wake);
    }
}

/// The standby queue of a lock: where those are parked that left the bakery's queue to let others pass.
#[derive(Clone, Copy)]
pub struct Standby<'a> {
    /// Changes when one of them should queue again.
    pub event: &'a AtomicU32,
    /// Not 0 while somebody may be parked there.
    pub parked: &'a AtomicU32,
}

impl Standby<'_> {
    /// Unparks the one that has been parked longest, if anyone is. After a full fence that comes after the store which
    /// let the next one in.
    #[inline]
    pub fn unpark_one(&self) {
        // Partner: the fence in `Waiter::back_off`.
        if self.parked.load(Relaxed) != 0 {
            self.parked.store(0, Relaxed);
            self.event.fetch_add(1, Release);
            futex::wake_one(self.event);
        }
    }

    /// Unparks all of them. After a full fence, as [`Standby::unpark_one`].
    #[cold]
    pub fn unpark_all(&self) {
        self.parked.store(0, Relaxed);
        self.event.fetch_add(1, Release);
        futex::wake_all(self.event);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

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

        /// How often somebody was told to look again, who may be parked still, and who is next.
        fn now(&self) -> [u32; 3] {
            [&self.wake, &self.parked, &self.successor].map(|word| word.load(Relaxed))
        }
    }

    #[test]
    fn an_unlock_unparks_once_and_names_the_successor_once() {
        let words = Words::default();
        assert_eq!((words.spot().unpark(), words.now()), (Unparked::Nobody, [0, 0, 0]));
        for how in [WHEN_LEFT, EARLY] {
            words.parked.store(how, Relaxed);
            let before = words.now()[0];
            assert_eq!((words.spot().unpark(), words.now()), (Unparked::Parked, [before + 1, 0, 0]));
            assert_eq!((words.spot().unpark(), words.now()), (Unparked::Nobody, [before + 1, 0, 0]));
        }
        words.successor.store(7 + 1, Relaxed);
        assert_eq!((words.spot().unpark(), words.now()), (Unparked::Awake(7), [2, 0, 0]));
        assert_eq!(words.spot().unpark(), Unparked::Nobody);
    }

    #[test]
    fn only_a_waiter_that_wants_it_is_unparked_early() {
        for (how, woken) in [(0, false), (WHEN_LEFT, false), (EARLY, true)] {
            let words = Words::default();
            words.parked.store(how, Relaxed);
            words.spot().unpark_early();
            assert_eq!(words.now(), if woken { [1, 0, 0] } else { [0, how, 0] });
        }
    }

    #[test]
    fn one_is_unparked_where_somebody_backed_off() {
        let (event, parked) = (AtomicU32::new(0), AtomicU32::new(0));
        let standby = Standby { event: &event, parked: &parked };
        standby.unpark_one();
        assert_eq!(event.load(Relaxed), 0);
        parked.store(1, Relaxed);
        standby.unpark_one();
        standby.unpark_one();
        assert_eq!((event.load(Relaxed), parked.load(Relaxed)), (1, 0));
    }
}
