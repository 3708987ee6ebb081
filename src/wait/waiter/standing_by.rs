//! Standing by, outside of the queue: as the candidate, and in the crowd.

use super::{ASK_INTERRUPT, CHECK_AT_MOST, OVERDUE, Waiter, at_random};
use crate::os::{clock, fork, futex};
use std::time::Duration;
use turnlock_core::acquire::site::Outcome;
use turnlock_core::sync::{
    Ordering::{Acquire, Relaxed},
    full_fence,
};

// Whoever leaves the queue unparks the candidate, unless somebody else is next. A bias owner unparks nobody, so the
// candidate looks by itself, at a third of the time it has waited: a long patience should cost little too.
const STANDBY_AT_LEAST: u64 = 100_000;
const STANDBY_AT_MOST: u64 = 1_000_000;
/// A candidate that has not looked for so long is stopped, or gone.
const CANDIDATE_LOOKS: u64 = 8 * STANDBY_AT_MOST;
// One of the crowd is woken when it is to be the candidate; that it looks round by itself is for a candidate that is dead or
// stopped. All together do so every two milliseconds, where they are few. But all except one may have been killed together, so
// the nap of each must be short enough for that one; from 200 slots in use on the wake-ups of the living would cost too much.
const CROWD_FOR_EACH: u64 = 2_000_000;
const CROWD_AT_LEAST: u64 = 4_000_000;
const CROWD_AT_MOST: u64 = 60_000_000;
const CROWD_AT_MOST_FOR_EACH: u64 = 300_000;
const CROWD_SHARE: u64 = 16;

impl Waiter<'_> {
    /// Out of the queue: parks until it is unparked, `unchanged` is false, or a while is over. As the candidate that takes a
    /// millisecond at most, in the crowd as long as it takes to become the candidate, or to miss one: it is one of
    /// `participants`.
    pub fn stand_by(&mut self, participants: u32, unchanged: impl Fn() -> bool) -> Outcome {
        if self.is_candidate() {
            self.stand_by_as_candidate(unchanged)
        } else {
            self.stand_in_crowd(participants, unchanged)
        }
    }

    fn stand_by_as_candidate(&mut self, unchanged: impl Fn() -> bool) -> Outcome {
        let standby = self.standby;
        let waited = self.waited();
        standby.looked_at.store(self.began.unwrap_or(0) + waited, Relaxed);
        let nap = (waited / 3).clamp(STANDBY_AT_LEAST, STANDBY_AT_MOST);
        let left = self.left(waited).unwrap_or(0).min(self.patience.saturating_sub(waited)).min(nap);
        // Acquire. Partner: the release in `Standby::unpark_candidate`; read before the last look, so that an unpark after it
        // counts.
        let seen = standby.event.load(Acquire);
        standby.parked.store(1, Relaxed);
        // Partners: the fence before `Standby::unpark_candidate`, and that in `Cancel::request`.
        full_fence();
        // A request that comes after this look is seen at the next one: naps are short.
        if self.stop.cancel.clear() {
            return Outcome::Cancelled;
        }
        if left == 0 || !unchanged() {
            return Outcome::LookAgain;
        }
        let by_signal = futex::wait(standby.event, seen, Duration::from_nanos(left));
        if let Some(ended) = self.is_interrupted(by_signal) {
            ended
        } else if standby.event.load(Relaxed) == seen && unchanged() {
            Outcome::CheckAlive
        } else {
            Outcome::LookAgain
        }
    }

    fn stand_in_crowd(&mut self, participants: u32, unchanged: impl Fn() -> bool) -> Outcome {
        let standby = self.standby;
        let waited = self.waited();
        let participants = u64::from(participants);
        let longest = CROWD_AT_MOST.max(participants * CROWD_AT_MOST_FOR_EACH);
        let nap = (participants * CROWD_FOR_EACH).clamp(CROWD_AT_LEAST, longest);
        // A share of the time waited, as in the queue: a long wait should cost little.
        let nap = nap.max((waited / CROWD_SHARE).min(CHECK_AT_MOST));
        let nap = nap - at_random(waited ^ u64::from(self.me)) % (nap / 2);
        let nap = if self.missed.is_some() { nap.min(OVERDUE) } else { nap };
        let at_most = if self.stop.interrupt.is_some() { ASK_INTERRUPT } else { u64::MAX };
        let left = self.left(waited).unwrap_or(0).min(nap).min(at_most);
        let (slot, since) = (self.me as usize - 1, self.began.unwrap_or(0).max(1));
        let (place, called) = (&standby.crowd[slot], &standby.cells[slot].called);
        // Acquire. Partner: the release in `Standby::call`; read before the last look.
        let seen = called.load(Acquire);
        place.store(since, Relaxed);
        standby.crowded.store(1, Relaxed);
        let cancel = self.stop.cancel;
        // A cancel has the slot's own spot unparked, and finds us here then.
        cancel.about_to_park(standby.name_of(slot));
        // Partners: the fences in `Standby::call_next` and in `Cancel::request`.
        full_fence();
        let stays = left > 0 && unchanged() && !cancel.is_requested() && !standby.is_candidate(self.me);
        let by_signal = stays && futex::wait(called, seen, Duration::from_nanos(left));
        cancel.unparked();
        if let Some(ended) = self.is_interrupted(by_signal) {
            ended
        } else if cancel.clear() {
            Outcome::Cancelled
        } else if left == 0 {
            Outcome::TimedOut
        } else if !stays || called.load(Relaxed) != seen {
            Outcome::LookAgain
        } else {
            Outcome::CheckAlive
        }
    }

    /// Leaves the crowd, if it is there. In a forked child: nothing, since the wait is its parent's.
    pub fn leave_crowd(&self) {
        let place = &self.standby.crowd[self.me as usize - 1];
        let since = place.load(Relaxed);
        if since != 0 && fork::process_mark() == self.process {
            // Not by a store: whoever calls us meanwhile finds us gone, or has called us.
            let _ = place.compare_exchange(since, 0, Relaxed, Relaxed);
        }
    }

    /// Returns whether it is the candidate.
    pub fn is_candidate(&self) -> bool {
        self.standby.is_candidate(self.me)
    }

    /// Returns the slots of the candidate and of the one that has been in the crowd longest, where those are others.
    pub fn candidates(&self) -> [Option<usize>; 2] {
        let candidate = (self.standby.candidate.load(Relaxed) as usize).checked_sub(1);
        let next = self.standby.oldest().map(|(_, slot)| slot);
        [candidate, next].map(|slot| slot.filter(|slot| *slot + 1 != self.me as usize))
    }

    /// Has the one that has been in the crowd longest be the candidate in the place of one that does not come: at two looks,
    /// some time apart. `is_kept_waiting` says whether a slot stands in the queue, and somebody is inside.
    pub fn relieve_candidate(&mut self, is_kept_waiting: impl Fn(usize) -> bool) {
        let candidate = self.standby.candidate.load(Relaxed);
        let last = self.standby.looked_at.load(Relaxed);
        let now = clock::monotonic_ns();
        let slot = (candidate as usize).checked_sub(1).filter(|_| candidate != self.me);
        // A time to come is one that nobody wrote.
        let looks = last <= now && now - last <= CANDIDATE_LOOKS;
        if slot.is_none_or(|slot| looks || is_kept_waiting(slot)) {
            self.missed = None;
            return;
        }
        match self.missed.filter(|(missed, _)| *missed == candidate) {
            None => self.missed = Some((candidate, now)),
            Some((_, since)) if now - since >= OVERDUE => {
                full_fence();
                self.standby.call_next(candidate);
            }
            Some(_) => {}
        }
    }
}
