//! Waiting outside of the queue: as the designated waker, and in the passive set.

use super::{ASK_INTERRUPT, CHECK_AT_MOST, OVERDUE, Waiter, at_random};
use crate::acquire::site::Outcome;
use crate::mutants::{self, Mutant};
use crate::sync::Ordering::{Acquire, Relaxed};
use crate::wait::{platform::Platform, standby::CalledWord};
use std::time::Duration;

// A participant that leaves the queue unparks the designated waker, unless another participant is next. A bias owner
// unparks none, so the designated waker looks by itself, at a third of the time it has waited: a long patience should
// cost little too.
const LOOK_AT_LEAST: u64 = 100_000;
const LOOK_AT_MOST: u64 = 1_000_000;
/// A designated waker that has not looked for so long is stopped, or gone.
const MISSED_AFTER: u64 = 8 * LOOK_AT_MOST;
// A member of the passive set is woken when it is to be the designated waker. It looks round by itself for the case that the
// designated one is dead or stopped. All together do so every two milliseconds, where they are few. But all except one may have
// been killed together, so the nap of each must be short enough for that one; from 200 slots in use on the wake-ups of the living
// would cost too much.
const PASSIVE_NAP_FOR_EACH: u64 = 2_000_000;
const PASSIVE_NAP_AT_LEAST: u64 = 4_000_000;
const PASSIVE_NAP_AT_MOST: u64 = 60_000_000;
const PASSIVE_NAP_AT_MOST_FOR_EACH: u64 = 300_000;
const PASSIVE_NAP_SHARE: u64 = 16;

impl<P: Platform, C: CalledWord> Waiter<'_, P, C> {
    /// Parks outside of the queue until it is unparked, `must_wait` is false, or a while is over. As the designated waker that
    /// takes a millisecond at most; in the passive set as long as it takes to become the designated waker, or to miss one, among
    /// so many `participants`.
    pub fn stand_by(&mut self, participants: u32, must_wait: impl Fn() -> bool) -> Outcome {
        if self.claim_designation() {
            self.wait_as_designated_waker(must_wait)
        } else {
            self.wait_in_passive_set(participants, must_wait)
        }
    }

    fn wait_as_designated_waker(&mut self, must_wait: impl Fn() -> bool) -> Outcome {
        let standby = self.standby;
        let waited = self.waited();
        standby.designated_looked_at.store(self.began.unwrap_or(0) + waited, Relaxed);
        let nap = (waited / 3).clamp(LOOK_AT_LEAST, LOOK_AT_MOST);
        let left = self.left(waited).unwrap_or(0).min(self.patience.saturating_sub(waited)).min(nap);
        // Acquire. Partner: the release in `Standby::unpark_designated`; read before the last look, so that an unpark after it
        // counts.
        let seen = standby.event.load(Acquire);
        standby.parked.store(1, Relaxed);
        // Partners: the fence before `Standby::unpark_designated`, and that in `Cancel::request`.
        mutants::full_fence_unless(Mutant::NoFenceAsDesignated);
        // A request that comes after this look is seen at the next one: naps are short.
        if self.stop.take_request() {
            return Outcome::Cancelled;
        }
        if left == 0 || !must_wait() {
            return Outcome::LookAgain;
        }
        let by_signal = P::wait(standby.event, seen, Duration::from_nanos(left));
        if let Some(ended) = self.is_interrupted(by_signal) {
            ended
        } else if standby.event.load(Relaxed) == seen && must_wait() {
            Outcome::CheckAlive
        } else {
            Outcome::LookAgain
        }
    }

    fn wait_in_passive_set(&mut self, participants: u32, must_wait: impl Fn() -> bool) -> Outcome {
        let standby = self.standby;
        let waited = self.waited();
        let left = self.left(waited).unwrap_or(0).min(self.passive_nap(waited, participants));
        let (slot, since) = (self.me as usize - 1, self.began.unwrap_or(0).max(1));
        let (place, called) = (&standby.passive[slot], standby.cells[slot].called());
        // Acquire. Partner: the release in `Standby::call`; read before the last look.
        let seen = called.load(Acquire);
        place.store(since, Relaxed);
        standby.has_passive.store(1, Relaxed);
        // A cancel has the slot's own spot unparked, and finds the waiter here then.
        self.stop.about_to_park(standby.name_of(slot));
        // Partners: the fences in `Standby::designate_next` and in `Cancel::request`. If ours comes first, they see
        // us in the passive set; if theirs does, we see that none is designated, or the request.
        mutants::full_fence_unless(Mutant::NoFenceInPassiveSet);
        let stays =
            left > 0 && must_wait() && !self.stop.is_requested() && !standby.claim_designation(self.me);
        let by_signal = stays && P::wait(called, seen, Duration::from_nanos(left));
        self.stop.unparked();
        if let Some(ended) = self.is_interrupted(by_signal) {
            ended
        } else if self.stop.take_request() {
            Outcome::Cancelled
        } else if left == 0 {
            Outcome::TimedOut
        } else if !stays || called.load(Relaxed) != seen {
            Outcome::LookAgain
        } else {
            Outcome::CheckAlive
        }
    }

    /// How long to sleep in the passive set at most, in nanoseconds.
    fn passive_nap(&self, waited: u64, participants: u32) -> u64 {
        let participants = u64::from(participants);
        let longest = PASSIVE_NAP_AT_MOST.max(participants * PASSIVE_NAP_AT_MOST_FOR_EACH);
        let nap = (participants * PASSIVE_NAP_FOR_EACH).clamp(PASSIVE_NAP_AT_LEAST, longest);
        // A share of the time waited, as in the queue: a long wait should cost little.
        let nap = nap.max((waited / PASSIVE_NAP_SHARE).min(CHECK_AT_MOST));
        // Not all at the same time.
        let nap = nap - at_random(waited ^ u64::from(self.me)) % (nap / 2);
        let nap = if self.missed.is_some() { nap.min(OVERDUE) } else { nap };
        if self.stop.interrupt.is_some() { nap.min(ASK_INTERRUPT) } else { nap }
    }

    /// Leaves the passive set, if it is there. In a forked child: nothing, since the wait is its parent's.
    pub fn leave_passive_set(&self) {
        let place = &self.standby.passive[self.me as usize - 1];
        let since = place.load(Relaxed);
        if since != 0 && P::process_mark() == self.process {
            // Not by a store: a participant that calls us meanwhile either finds us gone or has called us.
            let _ = place.compare_exchange(since, 0, Relaxed, Relaxed);
        }
    }

    /// Makes this waiter the designated waker if there is none. Returns whether it is the designated waker.
    pub fn claim_designation(&self) -> bool {
        self.standby.claim_designation(self.me)
    }

    /// Returns the slots of the designated waker and of the one that would be the next, where those are others.
    pub fn designated_and_next(&self) -> [Option<usize>; 2] {
        let designated = (self.standby.designated.load(Relaxed) as usize).checked_sub(1);
        let next = self.standby.oldest().map(|(_, slot)| slot);
        [designated, next].map(|slot| slot.filter(|slot| *slot + 1 != self.me as usize))
    }

    /// Replaces a designated waker that does not come by the one that has been in the passive set longest: at two looks, some time
    /// apart. `is_kept_waiting` says whether a slot stands in the queue while another slot is inside.
    pub fn replace_designated(&mut self, is_kept_waiting: impl Fn(usize) -> bool) {
        let designated = self.standby.designated.load(Relaxed);
        let last = self.standby.designated_looked_at.load(Relaxed);
        let now = P::monotonic_ns();
        let slot = (designated as usize).checked_sub(1).filter(|_| designated != self.me);
        // A time to come is one that no participant wrote.
        let looks = last <= now && now - last <= MISSED_AFTER;
        if slot.is_none_or(|slot| looks || is_kept_waiting(slot)) {
            self.missed = None;
            return;
        }
        match self.missed.filter(|(missed, _)| *missed == designated) {
            None => self.missed = Some((designated, now)),
            Some((_, since)) if now - since >= OVERDUE => {
                self.standby.designate_next::<P>(designated);
            }
            Some(_) => {}
        }
    }
}
