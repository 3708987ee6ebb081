//! Mutants of the mailbox, each of which the search must catch.

use crate::{
    plan::{Plan, tries},
    search::with_mutants::is_caught,
};
use turnlock_core::mutants::Mutant;

fn two_ends() -> Plan {
    Plan::new(&[tries(4)], &[tries(3)])
}

#[test]
fn a_message_that_is_published_without_an_order_is_torn() {
    let by_its_words = Plan { sees_races: false, ..two_ends() };
    is_caught(Mutant::RelaxedPut, &by_its_words, "torn");
}

#[test]
fn a_message_that_is_published_before_it_is_written_is_torn() {
    let by_its_words = Plan { sees_races: false, ..two_ends() };
    is_caught(Mutant::TornMessage, &by_its_words, "torn");
}

/// No model has loads that happen after later stores; but that they may race loom sees.
#[test]
fn an_entry_that_is_freed_without_an_order_is_written_while_it_is_read() {
    is_caught(Mutant::RelaxedTake, &two_ends(), "Causality violation");
}
