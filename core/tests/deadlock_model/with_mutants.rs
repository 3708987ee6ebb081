//! Mutants of the search, each of which the checker must catch.

#[cfg(loom)]
use crate::plan::cancelled;
use crate::{
    plan::{Plan, circle, released, retaken},
    search::{explore, preemptions, without_mutants},
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};
use turnlock_core::mutants::{Mutant, switch_on};

/// With the mutant the plan must fail, with a reason in which `why` stands.
fn is_caught(mutant: Mutant, plan: &Plan, preemptions: usize, why: &str) {
    let _field = without_mutants();
    switch_on(Some(mutant));
    let outcome = catch_unwind(AssertUnwindSafe(|| explore(plan, preemptions, &Arc::default())));
    switch_on(None);
    let panic = outcome.err().unwrap_or_else(|| panic!("{mutant:?} was not caught"));
    let text = panic.downcast_ref::<String>().cloned();
    let reason = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap();
    assert!(reason.contains(why), "{mutant:?} failed, but not by {why:?}: {reason}");
    println!("{mutant:?} caught: {}", reason.lines().next().unwrap_or_default());
}

#[test]
fn one_reading_takes_a_hold_and_a_wait_after_it_for_one_moment() {
    is_caught(Mutant::OneReading, &released(), preemptions(2, 4), "FALSE ALARM");
}

#[test]
fn a_second_reading_of_the_slots_alone_takes_two_holds_for_one() {
    is_caught(Mutant::ComparesSlotsOnly, &retaken(), preemptions(2, 7), "FALSE ALARM");
}

/// Shuttle has no memory orders.
#[cfg(loom)]
#[test]
fn a_wait_that_is_published_without_an_order_shows_a_hold_that_it_ended() {
    is_caught(Mutant::RelaxedWait, &released(), 2, "FALSE ALARM");
}

#[cfg(loom)]
#[test]
fn without_a_fence_on_either_side_a_wait_that_is_over_is_read() {
    for mutant in [Mutant::NoFenceAfterWait, Mutant::NoFenceBetweenReadings] {
        is_caught(mutant, &cancelled(), 3, "FALSE ALARM");
    }
}

#[test]
fn a_search_past_waits_that_began_later_tells_a_circle_twice() {
    is_caught(Mutant::PastLaterWaits, &circle(2, 0), 1, "which did not close it");
}
