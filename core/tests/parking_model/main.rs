//! Parking (`turnlock_core::wait`) and what sleeps besides (`turnlock_core::coordination`) under loom: every interleaving of a waiter and of one that unparks it, and every stale value
//! that the C11 orders let a load return.
//!
//! The waiter, the parking spot and the standby queue are those that ship, over a futex of loom's mutex and condition
//! variable. Time never ends a sleep here: a wake-up that is lost leaves a thread asleep for ever, which loom reports as a
//! deadlock. That the naps' ends make up for what is lost, and for deaths and stops, is for the suite under shuttle.
//!
//! With the feature `mutants` those of `with_mutants` must be caught.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release -p turnlock-core --features trace --test parking_model
//! ```
#![cfg(loom)]

mod coordination;
mod futex;
mod scenes;

use scenes::{Scene, agent, cancelled, designated, passive, queued};
use support::checker::{alone, check};

// Each search is a sign of life.
support::watched_for_seconds!(300);

fn holds(name: &str, scene: Scene) {
    let _field = alone(cfg!(feature = "mutants"), || {
        #[cfg(feature = "mutants")]
        turnlock_core::mutants::switch_on(None);
    });
    let began = std::time::Instant::now();
    let executions = check(None, scene);
    println!("{name}, any preemptions: {executions} executions, {:.1} s", began.elapsed().as_secs_f64());
    assert!(executions > 10, "{name}: {executions} executions");
}

#[test]
fn a_waiter_in_the_queue_is_unparked_when_the_slot_before_it_leaves() {
    holds("a waiter in the queue", queued);
}

#[test]
fn a_waiter_in_the_queue_is_unparked_when_it_is_cancelled() {
    holds("a waiter that is cancelled", cancelled);
}

#[test]
fn a_designated_waker_is_unparked_when_the_lock_is_left() {
    holds("a designated waker", designated);
}

#[test]
fn a_waiter_in_the_passive_set_is_designated_when_the_designated_one_retires() {
    holds("a waiter in the passive set", passive);
}

#[test]
fn an_agent_is_woken_when_a_program_wants_its_lock() {
    holds("an agent", agent);
}

#[cfg(feature = "mutants")]
mod with_mutants {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use turnlock_core::mutants::{Mutant, switch_on};

    /// With the mutant a thread sleeps for ever.
    fn is_caught(mutant: Mutant, scene: Scene) {
        let _field = alone(true, || switch_on(Some(mutant)));
        let outcome = catch_unwind(AssertUnwindSafe(|| check(None, scene)));
        switch_on(None);
        let panic = outcome.err().unwrap_or_else(|| panic!("{mutant:?} was not caught"));
        let text = panic.downcast_ref::<String>().cloned();
        let reason = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap();
        assert!(reason.contains("deadlock"), "{mutant:?} failed, but not by a sleep for ever: {reason}");
        println!("{mutant:?} caught: {}", reason.lines().next().unwrap_or_default());
    }

    #[test]
    fn without_a_fence_before_its_last_look_a_waiter_sleeps_on() {
        is_caught(Mutant::NoFenceBeforePark, queued);
        is_caught(Mutant::NoFenceBeforePark, cancelled);
    }

    #[test]
    fn without_a_fence_after_leaving_a_waiter_sleeps_on() {
        is_caught(Mutant::NoFenceBeforeUnpark, queued);
        is_caught(Mutant::NoFenceBeforeUnpark, designated);
    }

    #[test]
    fn without_a_fence_after_the_request_a_cancelled_waiter_sleeps_on() {
        is_caught(Mutant::NoFenceToCancel, cancelled);
    }

    #[test]
    fn without_a_fence_before_its_last_look_a_designated_waker_sleeps_on() {
        is_caught(Mutant::NoFenceAsDesignated, designated);
    }

    #[test]
    fn without_a_fence_in_the_passive_set_none_is_designated() {
        is_caught(Mutant::NoFenceInPassiveSet, passive);
    }

    #[test]
    fn without_a_fence_after_the_last_one_retired_none_is_designated() {
        is_caught(Mutant::NoFenceToDesignate, passive);
    }

    #[test]
    fn when_the_futex_word_is_read_after_the_last_look_a_waiter_sleeps_on() {
        is_caught(Mutant::WakeReadLate, queued);
    }

    #[test]
    fn without_a_fence_after_a_program_wants_a_lock_the_agent_sleeps_on() {
        is_caught(Mutant::NoFenceToWant, agent);
    }

    #[test]
    fn without_a_fence_before_its_last_look_an_agent_sleeps_on() {
        is_caught(Mutant::NoFenceBeforeBell, agent);
    }
}
