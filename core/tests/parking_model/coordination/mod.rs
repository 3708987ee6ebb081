//! Conditions, events and barriers (`turnlock_core::coordination`): two or three participants, with the deaths that matter. What a
//! waiter does in its naps, a thread of the scene does.

mod barriers;
mod conditions;
mod events;

use super::futex::{self, Loom};
use std::time::Duration;
use support::checker::{alone, check};
use support::coordination_words;
use turnlock_core::acquire::site::Limit;
use turnlock_core::coordination::Slept;

type Words = coordination_words::Words<3>;

/// Has `me` sleep until `is_over`, where it is called (`alone`) or where all do.
fn sleep(words: &Words, me: usize, alone: bool, is_over: impl Fn() -> bool) {
    let limit = Limit::For(Duration::from_secs(1_000_000));
    assert_eq!(words.sleep::<Loom>((me, alone), limit, is_over, || Ok(())), Slept::Over);
}

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
    assert!(executions > 5, "{name}: {executions} executions");
}

const WAITS: Scene = (conditions::waits_and_is_notified, None);
const GIVES_UP: Scene = (conditions::gives_up_beside_a_notification, None);
const TWO_WAIT: Scene = (conditions::two_wait_for_two_notifications, Some(3));
const DIED_NOTIFIED: Scene = (conditions::the_notification_of_a_dead_one_is_passed_on_by_two, None);
const PASSER_DIED: Scene = (conditions::a_participant_died_while_it_passed_on, Some(3));
const TWO_PASS_ON: Scene = (conditions::two_waiters_pass_on_to_one, None);
const PASSED_OR_GIVEN_UP: Scene = (conditions::one_gives_up_while_a_notification_is_passed_on, Some(3));
const EVENT: Scene = (events::waits_until_it_is_set, None);
const EVENT_CLEARED: Scene = (events::goes_on_though_it_is_cleared_again, None);
const BARRIER: Scene = (barriers::two_meet_twice, Some(3));
const BARRIER_RESET: Scene = (barriers::one_waits_beside_a_reset, Some(4));
const BARRIER_DEATH: Scene = (barriers::one_waits_for_a_party_that_dies, None);

#[test]
fn a_waiter_is_woken_by_the_notification_that_comes_between_its_unlock_and_its_sleep() {
    holds("a waiter and a notifier", WAITS);
}

#[test]
fn a_notification_of_one_that_gives_up_counts_for_it_or_for_none() {
    holds("a waiter that gives up", GIVES_UP);
}

#[test]
fn two_notifications_reach_two_waiters() {
    holds("two waiters", TWO_WAIT);
}

#[test]
fn the_notification_of_a_dead_one_reaches_another_once() {
    holds("a dead waiter, two that pass on", DIED_NOTIFIED);
}

#[test]
fn two_that_pass_on_at_once_give_it_to_one() {
    holds("a dead waiter, two waiters that pass on", TWO_PASS_ON);
}

#[test]
fn what_a_dead_one_has_passed_on_is_not_passed_on_again() {
    holds("a participant that died while it passed on", PASSER_DIED);
    holds("one that gives up while another passes on", PASSED_OR_GIVEN_UP);
}

#[test]
fn an_event_wakes_one_that_is_about_to_sleep() {
    holds("an event", EVENT);
    holds("an event that is cleared", EVENT_CLEARED);
}

#[test]
fn a_barrier_lets_all_go_on_and_can_be_used_again() {
    holds("a barrier, twice", BARRIER);
}

#[test]
fn a_reset_barrier_is_broken_for_one_that_waited() {
    holds("a barrier, beside a reset", BARRIER_RESET);
    holds("a barrier, beside a death", BARRIER_DEATH);
}

#[cfg(feature = "mutants")]
mod with_mutants {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use turnlock_core::mutants::{Mutant, switch_on};

    /// With the mutant the search ends in an error that says `how`.
    fn is_caught(mutant: Mutant, (scene, preemptions): Scene, how: &str) {
        let _field = alone(true, || switch_on(Some(mutant)));
        let outcome =
            catch_unwind(AssertUnwindSafe(|| println!("{mutant:?}: {}", check(preemptions, scene))));
        switch_on(None);
        let panic = outcome.err().unwrap_or_else(|| panic!("{mutant:?} was not caught"));
        let text = panic.downcast_ref::<String>().cloned();
        let reason = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap();
        assert!(reason.contains(how), "{mutant:?} failed, but not by {how:?}: {reason}");
        println!("{mutant:?} caught: {}", reason.lines().next().unwrap_or_default());
    }

    #[test]
    fn one_that_sleeps_without_a_look_sleeps_on() {
        is_caught(Mutant::SleepsWithoutLook, WAITS, "deadlock");
        is_caught(Mutant::SleepsWithoutLook, EVENT, "deadlock");
    }

    #[test]
    fn a_notification_that_dies_with_its_waiter_is_lost() {
        is_caught(Mutant::NotificationDies, DIED_NOTIFIED, "LOST");
    }

    #[test]
    fn without_a_look_for_a_copy_a_notification_reaches_two() {
        is_caught(Mutant::PassedOnTwice, PASSER_DIED, "TWICE");
    }

    #[test]
    fn without_another_look_at_the_orphan_a_notification_reaches_two() {
        is_caught(Mutant::OrphanReadOnce, TWO_PASS_ON, "TWICE");
    }

    #[test]
    fn with_its_own_entry_cleared_first_a_notification_reaches_two() {
        is_caught(Mutant::OwnEntryFirst, PASSER_DIED, "TWICE");
    }

    #[test]
    fn one_that_gives_up_by_a_store_loses_a_notification() {
        is_caught(Mutant::GivesUpByStore, GIVES_UP, "LOST");
    }

    #[test]
    fn a_break_that_marks_no_entries_looks_like_a_pass() {
        is_caught(Mutant::BreaksUnmarked, BARRIER_RESET, "PASSED ALONE");
    }
}
