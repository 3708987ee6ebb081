//! Faults in the machines that the searches must see. `ci/mutants` builds them.

use crate::{
    in_file,
    search::search,
    subject::Subject,
    walks::{BUSY, walks},
    world::{Plan, QUIET},
};
use std::sync::{Mutex, PoisonError};
use turnlock::{
    message::{Bakery, LamportQueue, RicartAgrawala, TokenRing},
    mutants::{Mutant, switch_on},
};

/// One at a time: the switch is the whole program's.
static ALONE: Mutex<()> = Mutex::new(());

fn is_caught<A: Subject>(mutant: Mutant, machines: impl Fn() -> Vec<A>, plan: &Plan, how: &str) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    switch_on(Some(mutant));
    let found = search(&format!("{mutant:?}"), machines(), plan);
    switch_on(None);
    let wrong = found.wrong.unwrap_or_else(|| panic!("{mutant:?} was switched on and nothing was seen"));
    println!("{mutant:?}: {}", wrong.lines().next().unwrap_or_default());
    assert!(wrong.contains(how), "{mutant:?}: not '{how}', but {wrong}");
    let found = search(&format!("without {mutant:?}"), machines(), plan);
    assert!(found.wrong.is_none(), "without {mutant:?}: {}", found.wrong.unwrap_or_default());
}

fn queue(n: usize) -> Vec<LamportQueue> {
    (0..n).map(|me| LamportQueue::founding(n, me).unwrap()).collect()
}

fn bakery(n: usize) -> Vec<Bakery> {
    (0..n).map(|me| Bakery::founding(n, me).unwrap()).collect()
}

fn mesh(n: usize) -> Vec<RicartAgrawala> {
    (0..n).map(|me| RicartAgrawala::founding(n, me).unwrap()).collect()
}

fn ring(n: usize, tokens: usize) -> Vec<TokenRing> {
    (0..n).map(|me| TokenRing::founding(n, me, tokens).unwrap()).collect()
}

const MESH: Plan = Plan { in_order: false, ..QUIET };

#[test]
fn no_acknowledgement_is_caught() {
    is_caught(Mutant::NoAcknowledgement, || queue(2), &QUIET, "inside at once");
}

#[test]
fn a_token_sent_twice_is_caught() {
    is_caught(Mutant::TokenTwice, || mesh(3), &MESH, "is there twice");
}

#[test]
fn a_token_taken_again_is_caught() {
    let plan = Plan { requests: 2, repeats: 1, ..MESH };
    is_caught(Mutant::TokenTakenAgain, || mesh(2), &plan, "fencing token");
}

#[test]
fn a_request_forgotten_when_somebody_departs_is_caught() {
    let plan = Plan { departures: 1, departs: 1, ..MESH };
    is_caught(Mutant::RequestForgotten, || mesh(3), &plan, "can never be served");
}

#[test]
fn a_token_kept_by_one_that_has_given_up_is_caught() {
    is_caught(Mutant::TokenStranded, || mesh(2), &Plan { withdrawals: 1, ..MESH }, "can never be served");
}

fn is_caught_in_a_file(mutant: Mutant, plan: &in_file::Plan, how: &str) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    switch_on(Some(mutant));
    let found = in_file::search(&format!("{mutant:?}"), plan);
    switch_on(None);
    let wrong = found.wrong.unwrap_or_else(|| panic!("{mutant:?} was switched on and nothing was seen"));
    println!("{mutant:?}: {}", wrong.lines().next().unwrap_or_default());
    assert!(wrong.contains(how), "{mutant:?}: not '{how}', but {wrong}");
    let found = in_file::search(&format!("without {mutant:?}"), plan);
    assert!(found.wrong.is_none(), "without {mutant:?}: {}", found.wrong.unwrap_or_default());
}

#[test]
fn a_token_in_a_file_that_never_rests_is_caught() {
    is_caught_in_a_file(Mutant::TokenNeverRests, &in_file::QUIET, "and nobody waits");
}

#[test]
fn a_token_in_a_file_that_is_made_anew_because_it_is_missed_is_caught() {
    let plan = in_file::Plan { participants: 3, there: 3, deaths: 1, ..in_file::QUIET };
    is_caught_in_a_file(Mutant::MissedIsLost, &plan, "token 1 is");
}

#[test]
fn a_second_token_in_a_file_that_does_not_set_off_is_caught() {
    let plan = in_file::Plan { requests: 2, deaths: 1, ..in_file::QUIET };
    is_caught_in_a_file(Mutant::SecondTokenRests, &plan, "nothing happens any more");
}

#[test]
fn counters_taken_literally_are_caught() {
    for n in [2, 3] {
        is_caught(Mutant::CountersLiteral, || ring(n, 2), &Plan { requests: 2, ..QUIET }, "is there twice");
    }
}

#[test]
fn a_token_that_judges_in_its_first_round_is_caught() {
    is_caught(Mutant::NoFirstRound, || ring(2, 3), &Plan { lost_tokens: 2, ..QUIET }, "is there twice");
}

#[test]
fn an_end_that_is_taken_for_an_answer_is_caught() {
    let plan = Plan { departures: 8, ..BUSY };
    is_caught_by_walks(Mutant::EndIsAnswer, || queue(3), &plan, "fencing token");
    let plan = Plan { in_order: false, ..plan };
    is_caught_by_walks(Mutant::EndIsAnswer, || bakery(3), &plan, "fencing token");
}

#[test]
fn a_token_made_twice_with_one_number_is_caught() {
    let plan = Plan { deaths: 12, ..BUSY };
    is_caught_by_walks(Mutant::WardNumberKept, || ring(2, 2), &plan, "fencing token");
}

#[test]
fn a_token_of_a_dead_sender_that_a_leaver_waits_for_is_caught() {
    let plan = Plan { wants: 1, withdrawals: 1, departures: 1, departs: 2, deaths: 1, rulings: true, ..MESH };
    is_caught(Mutant::DeadSendersToken, || mesh(3), &plan, "can never be served");
}

#[test]
fn one_let_in_that_joins_no_more_is_caught() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    switch_on(Some(Mutant::StaleJoin));
    let is_let_in = crate::ring::lets_in_unasked();
    switch_on(None);
    assert!(is_let_in && !crate::ring::lets_in_unasked());
}

fn is_caught_by_walks<A: Subject>(mutant: Mutant, machines: impl Fn() -> Vec<A>, plan: &Plan, how: &str) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    switch_on(Some(mutant));
    let wrong = walks(&format!("{mutant:?}"), WALKS, plan, &machines);
    switch_on(None);
    let wrong = wrong.unwrap_or_else(|| panic!("{mutant:?} was switched on and nothing was seen"));
    assert!(wrong.contains(how), "{mutant:?}: not '{how}', but {wrong}");
    let wrong = walks(&format!("without {mutant:?}"), WALKS, plan, &machines);
    assert!(wrong.is_none(), "without {mutant:?}: {}", wrong.unwrap_or_default());
}

/// So many, from seeds that are always the same.
const WALKS: u64 = 3_000;

#[test]
fn those_that_leave_a_ring_and_wait_for_each_other_are_caught() {
    let plan = Plan { departures: 8, ..BUSY };
    is_caught_by_walks(Mutant::LeaversInCircle, || ring(4, 2), &plan, "not everybody is served");
}

#[test]
fn a_mark_of_a_former_life_is_caught() {
    let plan = Plan { departures: 8, deaths: 1, ..BUSY };
    is_caught_by_walks(Mutant::MarkOutlives, || ring(3, 2), &plan, "not everybody is served");
}

#[test]
fn a_mark_that_died_with_the_marked_one_is_caught() {
    let plan = Plan { departures: 8, deaths: 12, ..BUSY };
    is_caught_by_walks(Mutant::MarkNotRepeated, || ring(3, 2), &plan, "not everybody is served");
}
