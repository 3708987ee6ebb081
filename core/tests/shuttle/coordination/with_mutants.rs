//! Mutants of conditions, events and barriers, each of which the search must catch.

use super::{CALM, Execute, Plan, barriers, conditions, events};
use crate::search::{Field, say};
use crate::with_mutants::failure_by;
use shuttle::scheduler::RandomScheduler;
use turnlock_core::mutants::{Mutant, switch_on};

/// With the mutant a schedule fails, and says `how`.
fn is_caught(mutant: Mutant, execute: Execute, plan: Plan, how: &str) {
    // Always the same, so that a mutant is caught in every run or in none.
    const SEED: u64 = 1974;
    const SCHEDULES: usize = 60_000;
    let _field = Field::without_mutant();
    switch_on(Some(mutant));
    let scheduler = RandomScheduler::new_from_seed(SEED, SCHEDULES);
    let failure = failure_by(scheduler, move |lifetimes| execute(plan, lifetimes));
    let (_, reason) = failure.unwrap_or_else(|| panic!("{mutant:?} was not caught in {SCHEDULES} schedules"));
    assert!(reason.contains(how), "{mutant:?} failed, but not by {how:?}: {reason}");
    say(format_args!("{mutant:?} caught: {}", reason.lines().next().unwrap()));
}

fn mortal(participants: usize) -> Plan {
    Plan { participants, die: true, ..CALM }
}

#[test]
fn one_that_sleeps_without_a_look_sleeps_on() {
    is_caught(Mutant::SleepsWithoutLook, conditions::execute, CALM, "MISSED");
    is_caught(Mutant::SleepsWithoutLook, barriers::execute, CALM, "MISSED");
    is_caught(Mutant::SleepsWithoutLook, events::execute, CALM, "MISSED");
}

#[test]
fn a_notification_that_is_passed_on_twice_reaches_two() {
    is_caught(Mutant::PassedOnTwice, conditions::execute, mortal(5), "TWICE");
    is_caught(Mutant::OrphanReadOnce, conditions::execute, mortal(5), "TWICE");
}

#[test]
fn a_break_that_marks_no_entries_looks_like_a_pass() {
    is_caught(Mutant::BreaksUnmarked, barriers::execute, Plan { give_up: true, ..CALM }, "PASSED ALONE");
}
