//! Where waiters sleep, and how they are woken.

use crate::os::futex;
use crate::sync::{
    AtomicU32,
    Ordering::{Relaxed, Release},
    full_fence,
};

/// The futex words of one slot in one lock: whoever waits for that slot sleeps here.
#[derive(Clone, Copy)]
pub struct ParkingSpot<'a> {
    /// Changes whenever the parked should look again.
    pub wake: &'a AtomicU32,
    /// 0, or how whoever may sleep here wants to be woken.
    pub parked: &'a AtomicU32,
    /// 0, or the slot that comes next after this one and is awake, plus 1.
    pub successor: &'a AtomicU32,
    /// A number for the spot, never 0, by which [`super::Cancel`] names it.
    pub name: u64,
}

/// Who waited for a slot that has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nobody, or somebody who has just come.
    Nobody,
    /// Somebody who slept, and is woken.
    Asleep,
    /// This slot, or it was a moment ago: whoever sleeps beside it may want to know.
    Awake(usize),
}

/// In [`ParkingSpot::parked`]: when the slot has left.
pub const IN_TIME: u32 = 1;
/// In [`ParkingSpot::parked`]: as soon as only that slot is before it, to be awake when it leaves.
pub const AHEAD_OF_TIME: u32 = 2;

impl ParkingSpot<'_> {
    /// Has everyone who sleeps here look again, if anyone does. Comes after the store that they wait for.
    ///
    /// Gives who is next now, as far as can be seen.
    #[inline]
    pub fn unpark(&self) -> Next {
        // Partner: the fence in `Waiter::sleep`. If ours comes first, the sleeper's last look sees what we stored and
        // it does not sleep; if theirs comes first, we see `parked`.
        full_fence();
        let mut next = Next::Nobody;
        if self.parked.load(Relaxed) != 0 {
            self.parked.store(0, Relaxed);
            self.unpark_all();
            next = Next::Asleep;
        }
        let successor = self.successor.load(Relaxed);
        if successor != 0 {
            self.successor.store(0, Relaxed);
            next = Next::Awake(successor as usize - 1);
        }
        next
    }

    /// Has whoever sleeps here look again already now, if it wants to: only this slot is before it.
    #[cold]
    pub fn unpark_early(&self) {
        // Relaxed: should it not be seen, the sleeper is woken in time.
        if self.parked.load(Relaxed) == AHEAD_OF_TIME {
            self.parked.store(0, Relaxed);
            self.unpark_all();
        }
    }

    /// Has everyone who sleeps here, or is about to, look again.
    pub fn unpark_all(&self) {
        self.wake.fetch_add(1, Release);
        futex::wake_all(self.wake);
    }
}

/// Where those sleep who stepped out of the line of a lock, to let others pass.
#[derive(Clone, Copy)]
pub struct Standby<'a> {
    /// Changes when one of them should come back.
    pub event: &'a AtomicU32,
    /// Not 0 while somebody may sleep there.
    pub polite: &'a AtomicU32,
}

impl Standby<'_> {
    /// Has the one who has slept longest come back, if anyone sleeps. After a full fence that comes after the store
    /// which let the next one in.
    #[inline]
    pub fn unpark_one(&self) {
        // Partner: the fence in `Waiter::step_aside`.
        if self.polite.load(Relaxed) != 0 {
            self.polite.store(0, Relaxed);
            self.event.fetch_add(1, Release);
            futex::wake_one(self.event);
        }
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

        /// How often somebody was told to look again, who may sleep here still, and who is next.
        fn now(&self) -> [u32; 3] {
            [&self.wake, &self.parked, &self.successor].map(|word| word.load(Relaxed))
        }
    }

    #[test]
    fn who_leaves_wakes_sleepers_once_and_names_the_next_one_once() {
        let words = Words::default();
        assert_eq!((words.spot().unpark(), words.now()), (Next::Nobody, [0, 0, 0]));
        for how in [IN_TIME, AHEAD_OF_TIME] {
            words.parked.store(how, Relaxed);
            let before = words.now()[0];
            assert_eq!((words.spot().unpark(), words.now()), (Next::Asleep, [before + 1, 0, 0]));
            assert_eq!((words.spot().unpark(), words.now()), (Next::Nobody, [before + 1, 0, 0]));
        }
        words.successor.store(7 + 1, Relaxed);
        assert_eq!((words.spot().unpark(), words.now()), (Next::Awake(7), [2, 0, 0]));
        assert_eq!(words.spot().unpark(), Next::Nobody);
    }

    #[test]
    fn only_who_wants_it_is_woken_ahead_of_time() {
        for (how, woken) in [(0, false), (IN_TIME, false), (AHEAD_OF_TIME, true)] {
            let words = Words::default();
            words.parked.store(how, Relaxed);
            words.spot().unpark_early();
            assert_eq!(words.now(), if woken { [1, 0, 0] } else { [0, how, 0] });
        }
    }

    #[test]
    fn one_is_called_where_somebody_stepped_aside() {
        let (event, polite) = (AtomicU32::new(0), AtomicU32::new(0));
        let standby = Standby { event: &event, polite: &polite };
        standby.unpark_one();
        assert_eq!(event.load(Relaxed), 0);
        polite.store(1, Relaxed);
        standby.unpark_one();
        standby.unpark_one();
        assert_eq!((event.load(Relaxed), polite.load(Relaxed)), (1, 0));
    }
}
