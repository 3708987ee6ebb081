//! The standby queue: where those wait that let others pass.

use super::{parking::name_of, platform::Platform};
use crate::mutants::{self, Mutant};
use crate::sync::{
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, Release},
};

/// What belongs to one slot and has a word by which its participant is called from the passive set.
pub trait CalledWord {
    /// Returns the futex word that changes when the participant is called.
    fn called(&self) -> &AtomicU32;
}

/// The standby queue of a lock: the waiters that left the bakery's queue to let others pass. One of them, the *designated waker*
/// (as in nsync's and Abseil's mutexes), looks at the lock now and then, and is the next to be queued for good. The others, the
/// *passive set* (Dice, Malthusian Locks, EuroSys 2017), sleep until they are called to be the designated waker, the one that has
/// waited longest first. So one of them is awake or being woken at a time, however many there are.
///
/// Safety never depends on which one is designated. A member of the passive set that is forgotten looks round by itself after a
/// while.
pub struct Standby<'a, C> {
    /// Futex word: changes when the designated waker should queue again.
    pub event: &'a AtomicU32,
    /// Not 0 while the designated waker may be parked there.
    pub parked: &'a AtomicU32,
    /// 0, or the slot of the designated waker, plus 1.
    pub designated: &'a AtomicU32,
    /// Not 0 since the passive set had a member.
    pub has_passive: &'a AtomicU32,
    /// When the designated waker last looked, in nanoseconds.
    pub designated_looked_at: &'a AtomicU64,
    /// For each slot 0, or since when it has waited, while it is in the passive set.
    pub passive: &'a [AtomicU64],
    /// One more than the highest slot in use.
    pub slots_in_use: &'a AtomicU32,
    /// Each slot's words.
    pub cells: &'a [C],
    /// The lock's number in the file.
    pub region: usize,
}

impl<C> Clone for Standby<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Standby<'_, C> {}

impl<C: CalledWord> Standby<'_, C> {
    /// Unparks the designated waker, if it is parked. After a full fence that comes after the store which let the next one in.
    #[inline]
    pub fn unpark_designated<P: Platform>(&self) {
        // Partner: the fence in `Waiter::wait_as_designated_waker`. If the one before us comes first, its last look sees that the
        // lock was left; if its own does, we see `parked`.
        if self.parked.load(Relaxed) != 0 {
            self.parked.store(0, Relaxed);
            self.event.fetch_add(1, Release);
            // All: one that has been replaced since it looked may sleep here too, and would use up the wake-up.
            P::wake_all(self.event);
        }
    }

    /// Makes `me` (a slot, plus 1) the designated waker if there is none. Returns whether it is the designated waker.
    #[inline]
    pub fn claim_designation(&self, me: u32) -> bool {
        let designated = self.designated.load(Relaxed);
        designated == me || designated == 0 && self.designate(0, me)
    }

    /// Makes `new` the designated waker in the place of `before`; both a slot, plus 1, or 0. Returns whether it was `before`.
    fn designate(&self, before: u32, new: u32) -> bool {
        // Relaxed: which slot it is orders nothing.
        self.designated.compare_exchange(before, new, Relaxed, Relaxed).is_ok()
    }

    /// Ends the time of `me` as the designated waker, if it is that: the one that has been in the passive set longest is it from
    /// now on. Returns whether it was.
    #[inline]
    pub fn retire<P: Platform>(&self, me: u32) -> bool {
        let was_designated = self.designated.load(Relaxed) == me;
        if was_designated {
            self.designate_next::<P>(me);
        }
        was_designated
    }

    /// Makes the one that has been in the passive set longest the designated waker, in the place of `before`, and calls it.
    #[cold]
    pub fn designate_next<P: Platform>(&self, before: u32) {
        let mut from = before;
        // From one to the next without a moment between: while none is designated, any of them may become it.
        loop {
            match self.oldest() {
                Some((since, slot)) => {
                    if !self.designate(from, slot as u32 + 1) {
                        return;
                    }
                    if self.passive[slot].compare_exchange(since, 0, Relaxed, Relaxed).is_ok() {
                        self.designated_looked_at.store(P::monotonic_ns(), Relaxed);
                        self.call::<P>(slot);
                        return;
                    }
                    // It has just left the passive set by itself.
                    from = slot as u32 + 1;
                }
                None if from == 0 || !self.designate(from, 0) => return,
                None => {
                    from = 0;
                    // Partner: the fence in `Waiter::wait_in_passive_set`. If ours comes first, a newcomer sees that none is
                    // designated; if its own does, the next look here sees that it is there.
                    mutants::full_fence_unless(Mutant::NoFenceToDesignate);
                }
            }
        }
    }

    /// Returns the slot that has been in the passive set longest, and since when.
    pub(super) fn oldest(&self) -> Option<(u64, usize)> {
        if self.has_passive.load(Relaxed) == 0 {
            return None;
        }
        let bound = (self.slots_in_use.load(Relaxed) as usize).min(self.passive.len());
        let waiting =
            self.passive[..bound].iter().enumerate().map(|(slot, since)| (since.load(Relaxed), slot));
        waiting.filter(|(since, _)| *since != 0).min()
    }

    /// Returns whether a slot that `counts` is here, as the designated waker or in the passive set.
    pub fn has(&self, counts: impl Fn(usize) -> bool) -> bool {
        let bound = (self.slots_in_use.load(Relaxed) as usize).min(self.passive.len());
        // Relaxed: one that is just being called may be seen in neither. It queues then, and says there that it waits.
        let is_passive = |slot: &usize| self.passive[*slot].load(Relaxed) != 0;
        let designated = || (self.designated.load(Relaxed) as usize).checked_sub(1);
        (0..bound).filter(is_passive).any(&counts)
            || designated().is_some_and(|slot| slot < bound && counts(slot))
    }

    /// Has `slot` look again, if it is parked in the passive set.
    pub fn call<P: Platform>(&self, slot: usize) {
        let called = self.cells[slot].called();
        called.fetch_add(1, Release);
        P::wake_all(called);
    }

    /// The number by which [`super::Cancel`] names where `slot` is parked in the passive set: that of the slot's parking spot.
    pub fn name_of(&self, slot: usize) -> u64 {
        name_of(self.region, slot)
    }

    /// Removes `slot`, whose participant is dead, from the passive set.
    pub fn forget(&self, slot: usize) {
        if self.passive[slot].load(Relaxed) != 0 {
            self.passive[slot].store(0, Relaxed);
        }
    }

    /// Sets the words to what they were before the first waiter.
    pub fn clear(&self) {
        for word in [self.parked, self.designated, self.has_passive] {
            word.store(0, Relaxed);
        }
        self.designated_looked_at.store(0, Relaxed);
    }

    /// Has all of them look again. After a full fence.
    #[cold]
    pub fn unpark_all<P: Platform>(&self) {
        self.parked.store(0, Relaxed);
        self.event.fetch_add(1, Release);
        P::wake_all(self.event);
        (0..self.passive.len())
            .filter(|slot| self.passive[*slot].load(Relaxed) != 0)
            .for_each(|slot| self.call::<P>(slot));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::wait::platform::tests::NoneAsleep;

    impl CalledWord for AtomicU32 {
        fn called(&self) -> &AtomicU32 {
            self
        }
    }

    /// The words of a standby queue of three slots.
    #[derive(Default)]
    struct Words {
        words: [AtomicU32; 5],
        designated_looked_at: AtomicU64,
        passive: [AtomicU64; 3],
        called: [AtomicU32; 3],
    }

    impl Words {
        fn queue(&self) -> Standby<'_, AtomicU32> {
            let [event, parked, designated, has_passive, slots_in_use] = &self.words;
            slots_in_use.store(3, Relaxed);
            let (designated_looked_at, passive) = (&self.designated_looked_at, &self.passive);
            Standby {
                event,
                parked,
                designated,
                has_passive,
                designated_looked_at,
                passive,
                slots_in_use,
                cells: &self.called,
                region: 0,
            }
        }

        fn now(&self) -> (u32, [u32; 3]) {
            (self.words[2].load(Relaxed), self.called.each_ref().map(|called| called.load(Relaxed)))
        }
    }

    #[test]
    fn the_one_that_has_been_in_the_passive_set_longest_is_the_next_designated_waker() {
        let words = Words::default();
        let queue = words.queue();
        assert!(queue.claim_designation(1) && !queue.claim_designation(2));
        queue.has_passive.store(1, Relaxed);
        words.passive[1].store(20, Relaxed);
        words.passive[2].store(10, Relaxed);
        // Another participant has replaced that one meanwhile: nothing is done.
        queue.designate_next::<NoneAsleep>(2);
        assert_eq!(words.now(), (1, [0, 0, 0]));
        queue.designate_next::<NoneAsleep>(1);
        assert_eq!(words.now(), (3, [0, 0, 1]));
        assert!(queue.retire::<NoneAsleep>(3) && !queue.retire::<NoneAsleep>(3));
        assert_eq!(words.now(), (2, [0, 1, 1]));
        assert!(queue.retire::<NoneAsleep>(2));
        assert_eq!(words.now(), (0, [0, 1, 1]));
    }
}
