//! The requests of futures (`turnlock_core::requests`) under loom: every interleaving of what leaves a request, polls it, withdraws it
//! or has it fail, and of the server.
//!
//! The requests and the server are those that ship; the lock that the server acquires is made of loom's mutex and condition variable,
//! and its call can be cancelled as one in a file can. Time never ends a sleep here: a request that is forgotten, or a server that is
//! not cancelled, leaves a thread asleep for ever, which loom reports as a deadlock. At the end of each scene no request has the lock.
//!
//! With the feature `mutants` those of `with_mutants` must be caught.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release -p turnlock-core --features trace --test request_model
//! ```
#![cfg(loom)]

mod lock;
mod scenes;

use scenes::{AHEAD, FAILS, GRANTED, HELD_ON, NEXT, TWO, WITHDRAWN};
use support::checker::{alone, check};

// Each search is a sign of life.
support::watched_for_seconds!(300);

/// What threads do, and how many preemptions there are.
type Scene = (fn(), Option<usize>);

fn holds(name: &str, (scene, preemptions): Scene) {
    let _field = alone(cfg!(feature = "mutants"), || {
        #[cfg(feature = "mutants")]
        turnlock_core::mutants::switch_on(None);
    });
    let began = std::time::Instant::now();
    let executions = check(preemptions, scene);
    let bound = preemptions.map_or("any".into(), |most| format!("{most}"));
    println!("{name}, {bound} preemptions: {executions} executions, {:.1} s", began.elapsed().as_secs_f64());
    assert!(executions >= 10, "{name}: {executions} executions");
}

#[test]
fn a_request_is_granted_and_its_future_is_woken() {
    holds("a request", GRANTED);
}

#[test]
fn a_request_that_joins_while_the_server_ends_is_served() {
    holds("two requests, a server that ends", TWO);
}

#[test]
fn what_a_withdrawn_request_was_granted_is_given_back() {
    holds("a withdrawal beside a grant", WITHDRAWN);
}

#[test]
fn the_call_for_a_withdrawn_request_is_cancelled() {
    holds("a withdrawal while the lock is held", HELD_ON);
}

#[test]
fn the_next_request_is_served_after_a_withdrawal() {
    holds("a withdrawal before another request", NEXT);
}

#[test]
fn a_server_that_waits_until_something_is_taken_goes_on_then() {
    holds("a server that is not to go ahead", AHEAD);
}

#[test]
fn a_request_whose_time_is_over_fails_or_is_granted() {
    holds("a time limit beside a grant", FAILS);
}

#[cfg(feature = "mutants")]
mod with_mutants {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use turnlock_core::mutants::{Mutant, switch_on};

    /// With the mutant the scene fails, with a reason in which `why` stands.
    fn is_caught(mutant: Mutant, (scene, preemptions): Scene, why: &str) {
        let _field = alone(true, || switch_on(Some(mutant)));
        let outcome = catch_unwind(AssertUnwindSafe(|| check(preemptions, scene)));
        switch_on(None);
        let panic = outcome.err().unwrap_or_else(|| panic!("{mutant:?} was not caught"));
        let text = panic.downcast_ref::<String>().cloned();
        let reason = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap();
        assert!(reason.contains(why), "{mutant:?} failed, but not by {why:?}: {reason}");
        println!("{mutant:?} caught: {}", reason.lines().next().unwrap_or_default());
    }

    #[test]
    fn a_grant_that_a_withdrawal_does_not_look_for_is_held_for_ever() {
        is_caught(Mutant::GrantForgotten, WITHDRAWN, "STILL HELD");
    }

    #[test]
    fn a_server_that_ends_without_a_last_look_leaves_a_request_behind() {
        is_caught(Mutant::ServerEndsUnseen, TWO, "deadlock");
    }

    #[test]
    fn a_call_for_a_request_that_was_withdrawn_before_it_is_never_cancelled() {
        is_caught(Mutant::WithdrawalUnseen, HELD_ON, "deadlock");
    }
}
