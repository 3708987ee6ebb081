//! How many members of a group lock have died inside, and how many of these deaths are marked consistent.
//!
//! Members of one group are inside together and may all change what the lock protects, so there is no holder that is
//! alone with what a dead member left. Each later entrant is told of the death, whatever its group, until one that was
//! told marks it consistent. A member may die while another one, which was told of an earlier death, repairs what that
//! one left. So a holder marks the deaths that it was told of, and no later one:
//!
//! ```text
//! reaper:   the owner-dead notice; died += 1; the dead member's place is cleared
//! entrant:  inside; r = repaired; d = died; it is told if r != d, and keeps d
//! holder:   marks consistent: repaired = max(repaired, the d that it kept)
//! ```
//! A reaper that dies after its second step leaves the next one to count the death once more. As long as no entrant has marked it
//! by then, one mark covers both counts. Else the death is told a second time, of data that are in order: a member of the dead one's
//! group, which need not wait until its place is cleared, was told and repaired between the two. No order of the steps avoids that:
//! with the place cleared first, a reaper that dies then loses the death; a word that says that it is counted is one more store
//! after which, or before which, a reaper may die. To be told needlessly costs a look at the data.

use crate::sync::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// A group lock's words for it.
#[derive(Clone, Copy)]
pub struct MemberDeaths<'a> {
    /// How many members have died inside.
    pub died: &'a AtomicU64,
    /// How many of these deaths, the first ones, are marked consistent.
    pub repaired: &'a AtomicU64,
}

impl MemberDeaths<'_> {
    /// Counts the death of a member. After the owner-dead notice, and before its place is cleared.
    pub fn record(&self) {
        // Release. Partner: the acquire load in `untold`: an entrant that is told finds the notice.
        self.died.fetch_add(1, Release);
    }

    /// Returns how many have died so far, if not all of these deaths are marked consistent. A holder is told so when it is
    /// inside.
    pub fn untold(&self) -> Option<u64> {
        // Acquire. Partner: the exchange in `mark_consistent`: an entrant that is not told has the repair, and sees below
        // every death that was marked.
        let repaired = self.repaired.load(Acquire);
        // Acquire. Partner: the read-modify-write in `record`. A dead member of another group was cleared after it, and the
        // entrant has seen that.
        let died = self.died.load(Acquire);
        (repaired != died).then_some(died)
    }

    /// Marks the first `known` deaths consistent. Returns whether one of them was not.
    pub fn mark_consistent(&self, known: u64) -> bool {
        loop {
            // Acquire. Partner: the exchange below, of another holder: we see the deaths that it marked.
            let repaired = self.repaired.load(Acquire);
            let died = self.died.load(Relaxed);
            // More than have died is what something else than a participant wrote.
            let known = known.min(died);
            if (known..=died).contains(&repaired) {
                return false;
            }
            // Release. Partner: the acquire load in `untold`. Should we die right after, the repair is there before the word
            // that claims it.
            if self.repaired.compare_exchange(repaired, known, Release, Relaxed).is_ok() {
                return true;
            }
        }
    }

    /// Marks every death consistent: the lock is reset, by a participant that is alone inside.
    pub fn mark_all_consistent(&self) -> bool {
        // Relaxed: what was counted before is before us, since its reaper cleared the dead member's place after it.
        self.mark_consistent(self.died.load(Relaxed))
    }

    /// As if no member had died.
    pub fn clear(&self) {
        self.died.store(0, Relaxed);
        self.repaired.store(0, Relaxed);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_holder_marks_what_it_was_told_of_and_no_later_death() {
        let (died, repaired) = (AtomicU64::new(0), AtomicU64::new(0));
        let deaths = MemberDeaths { died: &died, repaired: &repaired };
        assert_eq!(deaths.untold(), None);
        assert!(!deaths.mark_consistent(0), "there is nothing to mark");
        deaths.record();
        assert_eq!(deaths.untold(), Some(1));
        assert!(!deaths.mark_consistent(0), "this holder was there before the death");
        deaths.record();
        assert!(deaths.mark_consistent(1));
        assert_eq!(deaths.untold(), Some(2), "the second death came after that holder");
        assert!(!deaths.mark_consistent(1), "it is marked already");
        assert!(deaths.mark_consistent(2));
        assert_eq!(deaths.untold(), None);
    }

    #[test]
    fn a_death_that_is_counted_twice_is_marked_once_unless_it_was_marked_between() {
        let (died, repaired) = (AtomicU64::new(0), AtomicU64::new(0));
        let deaths = MemberDeaths { died: &died, repaired: &repaired };
        // A reaper that died, and the next one.
        deaths.record();
        deaths.record();
        assert!(deaths.mark_consistent(deaths.untold().expect("told")));
        assert_eq!(deaths.untold(), None);
        deaths.record();
        assert!(deaths.mark_consistent(deaths.untold().expect("told")));
        deaths.record();
        assert!(deaths.mark_consistent(deaths.untold().expect("told a second time")));
        assert_eq!(deaths.untold(), None);
    }

    #[test]
    fn a_reset_marks_all() {
        let (died, repaired) = (AtomicU64::new(5), AtomicU64::new(2));
        let deaths = MemberDeaths { died: &died, repaired: &repaired };
        assert!(deaths.mark_all_consistent());
        assert_eq!(deaths.untold(), None);
        assert!(!deaths.mark_all_consistent());
    }

    #[test]
    fn words_that_were_written_over_are_told_and_can_be_marked() {
        for (dead, marked) in [(1, u64::MAX), (0, 7), (u64::MAX, 0)] {
            let (died, repaired) = (AtomicU64::new(dead), AtomicU64::new(marked));
            let deaths = MemberDeaths { died: &died, repaired: &repaired };
            let known = deaths.untold().expect("they differ");
            assert!(deaths.mark_consistent(known));
            assert_eq!(deaths.untold(), None);
            assert!(!deaths.mark_consistent(u64::MAX), "more are marked than have died");
        }
    }
}
