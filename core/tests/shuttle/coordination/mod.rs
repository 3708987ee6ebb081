//! Conditions, events and barriers as they ship (`turnlock_core::coordination`): three to five participants in random schedules,
//! that sleep, give up and die between any two accesses, and newcomers in the slots of the dead.
//!
//! Shown: no notification is lost, but by a death of one that had not passed it on or had consumed it, and none is consumed twice; at
//! a barrier all that waited for a generation pass or all are told that it broke, all parties came where they pass, and a dead party
//! keeps none waiting; none waits on for an event that was set. Where none dies or gives up, all are woken: no nap is needed.

mod barriers;
mod conditions;
mod events;
#[cfg(feature = "mutants")]
mod with_mutants;
mod world;

use crate::scheduler::Lifetimes;
use crate::search::{Field, in_schedules, say};
use std::time::Instant;
use world::Plan;

type Execute = fn(Plan, &Lifetimes);

const CALM: Plan = Plan { participants: 3, rounds: 2, die: false, give_up: false };

fn holds(name: &str, execute: Execute, plan: Plan, schedules: usize) {
    let _field = Field::without_mutant();
    let started = Instant::now();
    in_schedules(name, schedules, move |lifetimes| execute(plan, lifetimes));
    say(format_args!("{name}: {:.1} s", started.elapsed().as_secs_f64()));
}

#[test]
fn each_notification_wakes_one_that_waits() {
    holds("condition, three", conditions::execute, CALM, 1000);
    holds("condition, five", conditions::execute, Plan { participants: 5, ..CALM }, 500);
}

#[test]
fn one_that_gives_up_takes_no_notification_with_it() {
    let plan = Plan { participants: 4, give_up: true, ..CALM };
    holds("condition, four, and some give up", conditions::execute, plan, 1000);
}

#[test]
fn deaths_lose_no_notification_and_none_reaches_two() {
    for participants in [3, 4, 5] {
        let plan = Plan { participants, die: true, give_up: participants == 4, ..CALM };
        holds(&format!("condition, deaths among {participants}"), conditions::execute, plan, 1000);
    }
}

#[test]
fn parties_pass_together_or_are_told_that_it_broke() {
    holds("barrier, three", barriers::execute, CALM, 1000);
    let plan = Plan { participants: 4, give_up: true, rounds: 3, ..CALM };
    holds("barrier, four, and some give up", barriers::execute, plan, 1000);
}

#[test]
fn a_dead_party_keeps_none_waiting() {
    for participants in [3, 4, 5] {
        let plan = Plan { participants, die: true, give_up: participants == 4, rounds: 3 };
        holds(&format!("barrier, deaths among {participants}"), barriers::execute, plan, 1000);
    }
}

#[test]
fn an_event_lets_all_go_on() {
    holds("event, five", events::execute, Plan { participants: 5, ..CALM }, 1000);
    let plan = Plan { participants: 5, die: true, give_up: true, ..CALM };
    holds("event, deaths among five", events::execute, plan, 1000);
}
