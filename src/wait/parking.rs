//! Where waiters park, and how they are unparked.

use crate::layout::Cell;
use crate::os::{clock, futex};
use turnlock_core::acquire::site::Unparked;
use turnlock_core::sync::{
    AtomicU32, AtomicU64,
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

/// A number for the parking spot of `slot` in the lock of `region`, never 0.
pub fn name_of(region: usize, slot: usize) -> u64 {
    ((region as u64) << 32) | (slot as u64 + 1)
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

/// The standby queue of a lock: those that left the bakery's queue to let others pass. One of them, the *candidate*, looks
/// at the lock now and then, and is the next to be queued for good; the others, the *crowd*, sleep until they are called to
/// be the candidate, the one that has waited longest first. So however many there are, one of them is awake or being woken
/// at a time.
///
/// Safety never depends on who is the candidate, nor does anybody wait for ever who was forgotten: each of the crowd looks
/// round after a while.
#[derive(Clone, Copy)]
pub struct Standby<'a> {
    /// Changes when the candidate should queue again.
    pub event: &'a AtomicU32,
    /// Not 0 while the candidate may be parked there.
    pub parked: &'a AtomicU32,
    /// 0, or the candidate's slot, plus 1.
    pub candidate: &'a AtomicU32,
    /// Not 0 since there was a crowd.
    pub crowded: &'a AtomicU32,
    /// When the candidate last looked, in nanoseconds.
    pub looked_at: &'a AtomicU64,
    /// For each slot 0, or since when it has waited, while it is in the crowd.
    pub crowd: &'a [AtomicU64],
    /// One more than the highest slot in use.
    pub slots_in_use: &'a AtomicU32,
    /// Each slot's cell.
    pub cells: &'a [Cell],
    /// The lock's number in the file.
    pub region: usize,
}

impl Standby<'_> {
    /// Unparks the candidate, if it is parked. After a full fence that comes after the store which let the next one in.
    #[inline]
    pub fn unpark_candidate(&self) {
        // Partner: the fence in `Waiter::stand_by_as_candidate`.
        if self.parked.load(Relaxed) != 0 {
            self.parked.store(0, Relaxed);
            self.event.fetch_add(1, Release);
            futex::wake_one(self.event);
        }
    }

    /// Returns whether `me` (a slot, plus 1) is the candidate, as it is from now on if there is none.
    #[inline]
    pub fn is_candidate(&self, me: u32) -> bool {
        let candidate = self.candidate.load(Relaxed);
        candidate == me || candidate == 0 && self.replace(0, me)
    }

    /// Makes `candidate` what it says, in the place of `before`. Returns whether it was that.
    fn replace(&self, before: u32, candidate: u32) -> bool {
        // Relaxed: who it is orders nothing.
        self.candidate.compare_exchange(before, candidate, Relaxed, Relaxed).is_ok()
    }

    /// If `me` was the candidate, it is so no more, and the one that has been in the crowd longest is. Returns whether it
    /// was.
    #[inline]
    pub fn retire(&self, me: u32) -> bool {
        let was_candidate = self.candidate.load(Relaxed) == me;
        if was_candidate {
            // Partner: the fence in `Waiter::stand_in_crowd`, as in `call_next`.
            full_fence();
            self.call_next(me);
        }
        was_candidate
    }

    /// Calls the one that has been in the crowd longest to be the candidate, in the place of `before`. After a full fence.
    #[cold]
    pub fn call_next(&self, before: u32) {
        let mut from = before;
        // Straight from one to the next: while there is none, anybody may be it.
        loop {
            match self.oldest() {
                Some((since, slot)) => {
                    if !self.replace(from, slot as u32 + 1) {
                        return;
                    }
                    if self.crowd[slot].compare_exchange(since, 0, Relaxed, Relaxed).is_ok() {
                        self.looked_at.store(clock::monotonic_ns(), Relaxed);
                        self.call(slot);
                        return;
                    }
                    // It has just left the crowd by itself.
                    from = slot as u32 + 1;
                }
                None if from == 0 || !self.replace(from, 0) => return,
                None => {
                    from = 0;
                    // Partner: the fence in `Waiter::stand_in_crowd`. If ours comes first, it sees that there is no
                    // candidate; if theirs does, the next look sees that it is there.
                    full_fence();
                }
            }
        }
    }

    /// Returns who has been in the crowd longest, and since when.
    pub(super) fn oldest(&self) -> Option<(u64, usize)> {
        if self.crowded.load(Relaxed) == 0 {
            return None;
        }
        let bound = (self.slots_in_use.load(Relaxed) as usize).min(self.crowd.len());
        let waiting = self.crowd[..bound].iter().enumerate().map(|(slot, since)| (since.load(Relaxed), slot));
        waiting.filter(|(since, _)| *since != 0).min()
    }

    /// Has whoever is parked in `slot` of the crowd look again.
    pub fn call(&self, slot: usize) {
        let called = &self.cells[slot].called;
        called.fetch_add(1, Release);
        futex::wake_all(called);
    }

    /// The number by which [`super::Cancel`] names where `slot` is parked in the crowd: that of the slot's parking spot.
    pub fn name_of(&self, slot: usize) -> u64 {
        name_of(self.region, slot)
    }

    /// Whoever was in `slot` of the crowd is dead.
    pub fn forget(&self, slot: usize) {
        if self.crowd[slot].load(Relaxed) != 0 {
            self.crowd[slot].store(0, Relaxed);
        }
    }

    /// As if there never had been anybody.
    pub fn clear(&self) {
        for word in [self.parked, self.candidate, self.crowded] {
            word.store(0, Relaxed);
        }
        self.looked_at.store(0, Relaxed);
    }

    /// Has all of them look again. After a full fence.
    #[cold]
    pub fn unpark_all(&self) {
        self.parked.store(0, Relaxed);
        self.event.fetch_add(1, Release);
        futex::wake_all(self.event);
        (0..self.crowd.len())
            .filter(|slot| self.crowd[*slot].load(Relaxed) != 0)
            .for_each(|slot| self.call(slot));
    }
}

#[cfg(test)]
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

    /// The words of a standby queue of three slots.
    #[derive(Default)]
    struct StandbyWords {
        words: [AtomicU32; 5],
        looked_at: AtomicU64,
        crowd: [AtomicU64; 3],
    }

    impl StandbyWords {
        fn queue<'a>(&'a self, cells: &'a [Cell]) -> Standby<'a> {
            let [event, parked, candidate, crowded, slots_in_use] = &self.words;
            slots_in_use.store(3, Relaxed);
            let (looked_at, crowd) = (&self.looked_at, &self.crowd);
            Standby { event, parked, candidate, crowded, looked_at, crowd, slots_in_use, cells, region: 0 }
        }
    }

    #[test]
    fn the_one_that_has_been_in_the_crowd_longest_is_called_to_be_the_candidate() {
        let words = StandbyWords::default();
        let cells: [Cell; 3] = Default::default();
        let queue = words.queue(&cells);
        let called = || cells.each_ref().map(|cell| cell.called.load(Relaxed));
        assert!(queue.is_candidate(1) && !queue.is_candidate(2));
        queue.crowded.store(1, Relaxed);
        words.crowd[1].store(20, Relaxed);
        words.crowd[2].store(10, Relaxed);
        // Another participant has relieved that candidate meanwhile: nothing is done.
        queue.call_next(2);
        assert_eq!((queue.candidate.load(Relaxed), called()), (1, [0, 0, 0]));
        queue.call_next(1);
        assert_eq!((queue.candidate.load(Relaxed), called()), (3, [0, 0, 1]));
        assert!(queue.retire(3) && !queue.retire(3));
        assert_eq!((queue.candidate.load(Relaxed), called()), (2, [0, 1, 1]));
        assert!(queue.retire(2));
        assert_eq!((queue.candidate.load(Relaxed), called()), (0, [0, 1, 1]));
    }
}
