//! Members of a group lock that died inside.

use super::{FileLock, claims::FileClaims};
use turnlock_core::algorithm::{
    claim::{Claim, Mode},
    member_deaths::MemberDeaths,
};
use turnlock_core::sync::Ordering::Relaxed;

impl<'a, F: FileClaims> FileLock<'a, F> {
    /// Returns how many members of the group lock have died, and how many of these deaths are marked consistent.
    pub fn member_deaths(&self) -> MemberDeaths<'a> {
        let words = self.lock.words;
        MemberDeaths { died: &words.members_died, repaired: &words.deaths_repaired }
    }

    /// Returns whether the holder in slot `me` is to be told of a member's death. What it is told of stands in its claim from
    /// then on: it is all that this holder marks consistent, and the participant that unlocks for it.
    pub(super) fn tell_member_deaths(&self, me: usize) -> bool {
        let untold = self.member_deaths().untold();
        if let Some(deaths) = untold {
            self.lock.cells()[me].claim.last.store(deaths, Relaxed);
        }
        untold.is_some()
    }

    /// Marks the deaths consistent of which the holder in slot `me` was told, or all if it claims everything. Returns whether
    /// there were any.
    pub(super) fn mark_member_deaths(&self, me: usize, claim: Claim) -> bool {
        if claim.mode == Mode::Everything {
            self.member_deaths().mark_all_consistent()
        } else {
            self.member_deaths().mark_consistent(self.lock.cells()[me].claim.last.load(Relaxed))
        }
    }
}
