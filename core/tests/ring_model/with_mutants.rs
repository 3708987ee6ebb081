//! Mutants of the rings, each of which the search must catch.

use crate::search::{alone, execute};
#[cfg(shuttle)]
use crate::world::End;
use crate::world::{CHECKS_FIRST, Visit};
use crate::{evicts, on_demand, stands};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::SeqCst;
use support::checker::check;
use turnlock_core::algorithm::ring::Rule;
use turnlock_core::mutants::{Mutant, switch_on};

fn is_caught(mutant: Mutant, rule: Rule, machines: usize, preemptions: usize, visits: &[Visit]) {
    let _alone = alone();
    switch_on(Some(mutant));
    // Only while no other search runs. It needs one preemption more otherwise.
    CHECKS_FIRST.store(mutant == Mutant::JoinWithoutLock, SeqCst);
    let visits = visits.to_vec();
    let scene = move || execute(rule, machines, &visits);
    let outcome = catch_unwind(AssertUnwindSafe(|| check(Some(preemptions), scene)));
    switch_on(None);
    CHECKS_FIRST.store(false, SeqCst);
    let panic = outcome.err().unwrap_or_else(|| panic!("{mutant:?} was switched on and nothing was seen"));
    let text = panic.downcast_ref::<String>().cloned();
    let text =
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default();
    println!("{mutant:?}: {}", text.lines().next().unwrap_or_default());
}

#[cfg(loom)]
#[test]
fn a_state_stored_without_release_order_is_caught() {
    is_caught(Mutant::RelaxedLeave, Rule::Raynal, 2, 3, &[stands(2), stands(2)]);
}

// Chance does not find it in 150,000 schedules: it must bring one back in the few steps in which another acts for it. Loom
// does in the 238,600th execution.
#[cfg(loom)]
#[test]
fn joining_without_the_reconfiguration_lock_is_caught() {
    is_caught(Mutant::JoinWithoutLock, Rule::KState, 2, 3, &[on_demand(2), on_demand(1)]);
}

#[cfg(shuttle)]
#[test]
fn coming_back_with_the_old_state_is_caught() {
    is_caught(Mutant::StateNotRenewed, Rule::Raynal, 3, 4, &[stands(4), on_demand(6), on_demand(6)]);
}

#[cfg(shuttle)]
#[test]
fn absent_machines_that_are_not_counted_are_caught() {
    is_caught(Mutant::AbsentNotCounted, Rule::Raynal, 8, 4, &[stands(4), on_demand(6), on_demand(6)]);
}

#[cfg(loom)]
#[test]
fn no_fence_before_the_look_whether_it_is_inside_is_caught() {
    is_caught(Mutant::NoFenceToEvict, Rule::KState, 2, 3, &[on_demand(1), evicts(on_demand(1))]);
}

#[cfg(shuttle)]
fn is_caught_among_three_that_evict(mutant: Mutant) {
    let one = evicts(on_demand(4));
    is_caught(mutant, Rule::KState, 3, 4, &[one, one, one]);
}

#[cfg(shuttle)]
#[test]
fn passing_over_one_that_has_entered_is_caught() {
    is_caught_among_three_that_evict(Mutant::EvictsHolder);
}

#[cfg(shuttle)]
#[test]
fn an_entry_step_that_looks_first_is_caught() {
    is_caught_among_three_that_evict(Mutant::EntryCheckBeforeFlag);
}

#[cfg(shuttle)]
#[test]
fn entering_without_an_entry_step_is_caught() {
    is_caught_among_three_that_evict(Mutant::EntersUnasked);
}

#[cfg(shuttle)]
#[test]
fn being_outside_before_the_privilege_is_passed_on_is_caught() {
    is_caught_among_three_that_evict(Mutant::OutsideBeforePass);
}

/// The one that ended its membership died before it passed the privilege on.
#[cfg(shuttle)]
#[test]
fn waiting_without_a_look_whether_one_is_a_member_is_caught() {
    let one = evicts(on_demand(4));
    let dies = Visit { end: End::DiesWaitingAtStore(2), ..evicts(on_demand(1)) };
    is_caught(Mutant::MembershipUnseen, Rule::KState, 3, 4, &[dies, one, one]);
}
