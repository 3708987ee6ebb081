//! Members of groups: what they do inside, and what is told of their deaths.
//!
//! Each slot has a word of the data, which its participant writes while it is inside, beside the others of its group. A member
//! reads the words of those that are never inside with its own group: plain memory, so its group must come after theirs.

use crate::life::{Try, moment};
use crate::oracle::{Property, count};
use crate::plan::Visit;
use crate::site::At;
use crate::world::World;
use turnlock_core::acquire::operations::Acquisition;
use turnlock_core::algorithm::{
    claim::{Claim, ClaimCell},
    member_deaths::MemberDeaths,
};
use turnlock_core::error::Error;
use turnlock_core::sync::Ordering::Relaxed;

/// What is true of the members that died inside.
#[derive(Debug, Default)]
pub struct DeadMembers {
    /// The slots of those that no reaper has counted yet, and their groups.
    uncounted: Vec<(usize, u64)>,
    /// The groups of those that were counted, in this order; one is counted twice if its reaper dies in between.
    counted: Vec<u64>,
    /// How many of these, the first ones, were marked consistent, and by members of which group.
    marked: Vec<(usize, u64)>,
}

impl DeadMembers {
    /// The member in `slot` has died inside.
    pub fn died(&mut self, slot: usize, claim: Claim) {
        self.uncounted.push((slot, claim.extent.first));
    }

    /// Returns whether a member of `group`, which has just come in, must be told, and whether it may be. A death in its own group
    /// may be counted, or marked consistent, while it comes in.
    fn is_due(&self, group: u64) -> (bool, bool) {
        assert!(
            self.uncounted.iter().all(|(_, dead)| *dead == group),
            "OwnerDead: one of another group died inside, and was not counted"
        );
        let upto = |counts: &dyn Fn(u64) -> bool| {
            let marked = self.marked.iter().filter(|(_, by)| counts(*by)).map(|(upto, _)| *upto);
            marked.max().unwrap_or(0)
        };
        let must = self.counted[upto(&|_| true)..].iter().any(|dead| *dead != group);
        (must, self.counted.len() > upto(&|by| by != group))
    }
}

impl At<'_> {
    fn member_deaths(&self) -> MemberDeaths<'_> {
        MemberDeaths { died: &self.world.members_died, repaired: &self.world.deaths_repaired }
    }

    /// Counts the death of the member in `slot`.
    pub fn record_member(&self, slot: usize, token: u64, claim: Claim) -> bool {
        self.world.members_notice.store(token, Relaxed);
        self.member_deaths().record();
        let members = &mut self.world.oracle().members;
        members.uncounted.retain(|(dead, _)| *dead != slot);
        members.counted.push(claim.extent.first);
        false
    }

    /// Returns whether the member in slot `me` is to be told.
    pub fn tell_members(&self, me: usize) -> bool {
        let untold = self.member_deaths().untold();
        if let Some(deaths) = untold {
            self.world.cells[me].claim().last.store(deaths, Relaxed);
        }
        untold.is_some()
    }

    /// Marks what the member in slot `me` was told of as consistent.
    pub fn mark_members(&self, me: usize, claim: Claim) -> bool {
        let known = self.world.cells[me].claim().last.load(Relaxed);
        let marked = self.member_deaths().mark_consistent(known);
        if marked {
            self.world.oracle().members.marked.push((known as usize, claim.extent.first));
        }
        marked
    }
}

impl World {
    /// Is inside with its group.
    pub fn section_of_member(
        &self,
        me: usize,
        attempt: &Try,
        Acquisition { token, owner_dead }: Acquisition,
    ) {
        let group = attempt.claim.extent.first;
        if self.checks(Property::OwnerDead) {
            let (must, may) = self.oracle().members.is_due(group);
            assert!(!must || owner_dead, "OwnerDead: {me} is not told of a dead member");
            assert!(may || !owner_dead, "OwnerDead: {me} is told of a death that there was not");
            let notice = self.members_notice.load(Relaxed);
            assert!(!owner_dead || notice != 0, "OwnerDead: {me} is told, and there is no notice");
        }
        moment();
        if self.checks(Property::Data) {
            for slot in
                (0..self.plan.visits.len()).filter(|slot| *slot != me && !self.is_ever_in(*slot, group))
            {
                let written = self.data[slot].get();
                assert!(
                    written < token,
                    "Data: {written}, written by one that is inside with {me}, or comes later"
                );
            }
            self.data[me].set(token);
        }
        if owner_dead {
            count(&self.tally.notices);
            moment();
            match attempt.mark_consistent() {
                // Another one of the group has.
                Ok(()) | Err(Error::NotInconsistent) => {}
                Err(error) => panic!("{me} cannot mark it consistent: {error}"),
            }
        }
        moment();
    }

    /// Returns whether the participant in `slot` is ever inside with this group.
    fn is_ever_in(&self, slot: usize, group: u64) -> bool {
        let is_it = |visit: &Visit| visit.claim.extent.first == group;
        let begins_there = slot == 0 && self.plan.begins_after.as_ref().is_some_and(is_it);
        let participants = 0..self.plan.visits.len();
        let mut here = participants.filter(|participant| self.plan.slot_of(*participant) == slot);
        begins_there || here.any(|participant| self.plan.visits[participant].iter().any(is_it))
    }
}

/// The words alone: a member that was told of a death repairs, while a reaper counts a second one. Panics if the second death is
/// told to none.
#[cfg(loom)]
pub fn one_repairs_while_another_dies() {
    use loom::{sync::Arc, thread};
    use turnlock_core::sync::AtomicU64;
    loom::model(|| {
        let words = Arc::new([1, 0].map(AtomicU64::new));
        let reaper = thread::spawn({
            let words = Arc::clone(&words);
            move || MemberDeaths { died: &words[0], repaired: &words[1] }.record()
        });
        let deaths = MemberDeaths { died: &words[0], repaired: &words[1] };
        let known = deaths.untold().expect("the first death");
        assert!(deaths.mark_consistent(known));
        reaper.join().unwrap();
        assert_eq!(deaths.untold(), (known < 2).then_some(2), "OwnerDead: of two deaths {known} were told");
    });
}
