//! The acquisition that ships (`acquire`, with `algorithm` below it) under shuttle, at a site whose registers are the
//! checker's: three to five participants, several visits each, in random schedules, with the bias, with waiters that back
//! off, give up, try or have a time limit, with resets, as a queue and as a ring; and with deaths between any two accesses
//! of the shipped code.
//!
//! A participant dies by not being scheduled any more: its words stay as they are, wherever it was, in the doorway, in a
//! revocation, in the middle of acting for another dead one. Some time later the kernel, which is the model's main thread
//! here, gives up the byte locks that it had. Others may then act for it, or a new life begins in its slot.
//!
//! Shown (see [`plan::Property`]): one holder at a time; fencing tokens strictly increase; first come first served among
//! those that queue; and a death is told if it was inside, is not told if it was outside, and blocks no participant once a
//! reaper acts for the dead. An execution that goes on for a million steps is a failure too: no participant waits for ever.
//!
//! In the tests `sleepers_*` waiters sleep: the waiter that ships runs over a kernel of the execution (`kernel`), whose time passes
//! when all sleep. Participants are stopped and cancelled besides. Shown there, as `Awake`: the lock is not free while all that want
//! it sleep; with deaths, a bias or stops, which nothing tells a sleeper of, not for long.
//!
//! Conditions, events and barriers are in `coordination`, with an oracle of their own.
//!
//! Each search prints its seed and what came up in it, deaths and all. Half of its schedules are random, half by PCT
//! (probabilistic concurrency testing: few preemptions, at any place). Some 84,000 schedules in all; half a minute of one core. With
//! `TURNLOCK_SHUTTLE_LONG` set, forty times as many schedules.
//!
//! Shuttle runs everything sequentially consistent: a missing fence or a missing release order it cannot show, which is
//! what the searches under loom are for. Mutants of other kinds are caught, with the feature `mutants` and in a copy of the
//! sources that has the patches of `tests/mutants/` (`with_mutants`).
//!
//! ```text
//! RUSTFLAGS="--cfg shuttle" cargo test --release -p turnlock-core --features trace --test shuttle
//! ```
//! To replay a failure, run the one test that failed with `TURNLOCK_SCHEDULE` set to the `failing schedule` that it
//! printed, line breaks and all: it then executes this one schedule only. To repeat a whole search, set
//! `SHUTTLE_RANDOM_SEED` to its seed; without, every run has new ones.
#![cfg(all(shuttle, feature = "trace"))]

mod agent;
mod coordination;
mod kernel;
mod life;
mod oracle;
mod parking;
mod plan;
mod scheduler;
mod search;
mod site;
mod time;
#[cfg(feature = "mutants")]
mod with_mutants;

use plan::Plan;
use search::{all_deaths_came_up, all_hold, came_up};

// All searches together take a minute or two.
support::watched_for_seconds!(600);

#[test]
fn three_participants_enter_one_at_a_time_in_the_order_of_their_arrival() {
    all_hold("three participants", Plan::new(3, 5), 1500);
}

#[test]
fn five_participants_enter_one_at_a_time_in_the_order_of_their_arrival() {
    all_hold("five participants", Plan::new(5, 3), 750);
}

#[test]
fn a_waiter_that_gives_up_leaves_nothing_behind() {
    let tally = all_hold("withdrawals", Plan { withdraw: true, ..Plan::new(4, 4) }, 1000);
    assert!(came_up(&[&tally.withdrawals]));
}

#[test]
fn deaths_anywhere_block_nobody_and_are_told_if_they_were_inside() {
    let tally = all_hold("deaths among three", Plan::mortal(3, 4), 5000);
    assert!(all_deaths_came_up(&tally));
}

#[test]
fn deaths_among_five_block_nobody_and_are_told_if_they_were_inside() {
    let tally = all_hold("deaths among five", Plan::mortal(5, 4), 2000);
    assert!(all_deaths_came_up(&tally));
}

#[test]
fn a_lock_that_was_left_without_repair_stays_closed_through_deaths_until_a_reset() {
    let tally = all_hold("no repair", Plan { careless: true, ..Plan::mortal(4, 4) }, 2000);
    assert!(came_up(&[&tally.notices, &tally.refused_when_closed, &tally.resets]));
}

#[test]
fn a_biased_lock_has_one_holder_at_a_time() {
    let tally = all_hold("bias among three", Plan { bias: true, ..Plan::new(3, 5) }, 2000);
    assert!(came_up(&[&tally.biased, &tally.revocations]));
}

#[test]
fn deaths_and_withdrawals_at_a_biased_lock_block_nobody() {
    let tally = all_hold("bias and deaths among three", Plan { bias: true, ..Plan::mortal(3, 5) }, 3750);
    assert!(all_deaths_came_up(&tally));
    assert!(came_up(&[&tally.biased, &tally.revocations, &tally.deaths_biased, &tally.withdrawals]));
}

#[test]
fn waiters_that_let_others_pass_come_back() {
    let plan = Plan { patient: true, bias: true, careless: true, ..Plan::mortal(4, 4) };
    let tally = all_hold("bias, patience and deaths among four", plan, 2500);
    assert!(all_deaths_came_up(&tally));
    assert!(came_up(&[&tally.back_offs, &tally.biased, &tally.deaths_biased, &tally.resets]));
}

#[test]
fn waiters_that_are_passed_over_queue_again() {
    let tally = all_hold("evictions among three", Plan { evict: true, ..Plan::new(3, 5) }, 1000);
    assert!(came_up(&[&tally.evictions]));
    let tally =
        all_hold("evictions among five", Plan { evict: true, withdraw: true, ..Plan::new(5, 3) }, 1000);
    assert!(came_up(&[&tally.evictions, &tally.withdrawals]));
}

#[test]
fn evictions_and_deaths_at_a_biased_lock_block_nobody() {
    let plan = Plan { evict: true, bias: true, patient: true, ..Plan::mortal(4, 5) };
    let tally = all_hold("evictions, bias, patience and deaths among four", plan, 2000);
    assert!(all_deaths_came_up(&tally));
    assert!(came_up(&[&tally.evictions, &tally.biased, &tally.revocations, &tally.back_offs]));
    let plan = Plan { evict: true, bias: true, ..Plan::mortal(3, 5) };
    let tally = all_hold("evictions, bias and deaths among three", plan, 2000);
    assert!(all_deaths_came_up(&tally) && came_up(&[&tally.evictions, &tally.deaths_biased]));
}

#[test]
fn on_a_ring_deaths_and_withdrawals_block_nobody() {
    let plan = Plan { ring: true, careless: true, ..Plan::mortal(4, 4) };
    let tally = all_hold("rings and deaths among four", plan, 1500);
    assert!(all_deaths_came_up(&tally));
    assert!(came_up(&[&tally.withdrawals, &tally.refused_when_closed, &tally.resets]));
}

#[test]
fn evictions_and_deaths_on_a_ring_block_nobody() {
    let plan = Plan { ring: true, evict: true, ..Plan::mortal(4, 4) };
    let tally = all_hold("rings, evictions and deaths among four", plan, 1500);
    assert!(all_deaths_came_up(&tally) && came_up(&[&tally.evictions, &tally.withdrawals]));
}

#[test]
fn no_program_is_inside_while_a_linked_lock_is_away() {
    let tally = all_hold("a linked lock, two programs", Plan::linked(2, 4), 1000);
    assert!(came_up(&[&tally.moves, &tally.homecomings, &tally.extended]));
    let plan = Plan { bias: true, withdraw: true, ..Plan::linked(2, 5) };
    let tally = all_hold("a linked lock, bias and withdrawals, two programs", plan, 2000);
    assert!(came_up(&[&tally.moves, &tally.biased, &tally.revocations, &tally.leases, &tally.withdrawals]));
}

#[test]
fn whoever_dies_no_program_is_inside_while_a_linked_lock_is_away() {
    let plan = Plan { link: true, evict: true, ..Plan::mortal(4, 4) };
    let tally = all_hold("a linked lock, deaths, three programs", plan.clone(), 3000);
    assert!(came_up(&[&tally.dead_agents, &tally.found_away, &tally.found_home, &tally.deaths_inside]));
    let plan = Plan { bias: true, careless: true, ..plan };
    let tally = all_hold("a linked lock, bias and deaths, three programs", plan, 3000);
    assert!(came_up(&[&tally.dead_agents, &tally.deaths_biased, &tally.resets, &tally.notices]));
}

#[test]
fn sleepers_are_woken_when_a_linked_lock_comes_home() {
    let plan = Plan { sleep: true, ..Plan::linked(2, 4) };
    let tally = all_hold("a linked lock and sleep, two programs", plan.clone(), 1500);
    assert!(came_up(&[&tally.agent_slept, &tally.homecomings, &tally.extended]));
    let plan = Plan { withdraw: true, patient: true, participants: 4, ..plan };
    let tally = all_hold("a linked lock, sleep, patience and withdrawals, three programs", plan, 1500);
    assert!(came_up(&[&tally.agent_slept, &tally.withdrawals, &tally.cancelled, &tally.back_offs]));
}

#[test]
fn an_agent_is_told_of_sleepers_whoever_dies_or_stops() {
    let plan = Plan { sleep: true, link: true, ..Plan::mortal(4, 4) };
    let tally = all_hold("a linked lock, sleep and deaths, three programs", plan, 1500);
    assert!(came_up(&[&tally.dead_agents, &tally.agent_slept, &tally.all_asleep]));
    let plan = Plan { link: true, stop: true, bias: true, sleep: true, patient: true, ..Plan::mortal(4, 4) };
    let tally = all_hold("a linked lock, sleep, bias, stops and deaths, three programs", plan, 1500);
    assert!(came_up(&[&tally.evictions, &tally.stopped, &tally.agent_slept]));
}

#[test]
fn an_agent_is_told_of_those_that_wait_behind_one_that_is_stopped() {
    let tally = all_hold("a linked lock on demand, sleep and stops, four programs", Plan::on_demand(), 300);
    assert!(came_up(&[&tally.agent_slept, &tally.stopped, &tally.back_offs, &tally.evictions]));
}

#[test]
fn sleepers_are_woken_when_the_lock_is_free() {
    all_hold("sleep among three", Plan { sleep: true, ..Plan::new(3, 5) }, 1000);
}

#[test]
fn sleepers_that_let_others_pass_are_woken_when_the_lock_is_free() {
    let plan = Plan { sleep: true, patient: true, ..Plan::new(4, 4) };
    let tally = all_hold("sleep and patience among four", plan, 1500);
    assert!(came_up(&[&tally.back_offs]));
}

#[test]
fn sleepers_that_give_up_leave_no_wake_up_unused() {
    let plan = Plan { sleep: true, patient: true, withdraw: true, ..Plan::new(4, 4) };
    let tally = all_hold("sleep, patience and withdrawals among four", plan.clone(), 1500);
    assert!(came_up(&[&tally.withdrawals, &tally.cancelled]));
    let plan = Plan { some_strict: true, ..plan };
    let tally = all_hold("sleep, patience of some and withdrawals among four", plan, 1500);
    assert!(came_up(&[&tally.withdrawals, &tally.cancelled, &tally.back_offs]));
}

#[test]
fn sleepers_find_deaths_soon() {
    let plan = Plan { sleep: true, ..Plan::mortal(4, 4) };
    let tally = all_hold("sleep and deaths among four", plan, 1500);
    assert!(all_deaths_came_up(&tally) && came_up(&[&tally.all_asleep]));
    let plan = Plan { sleep: true, patient: true, bias: true, ..Plan::mortal(5, 4) };
    let tally = all_hold("sleep, bias, patience and deaths among five", plan, 1500);
    assert!(all_deaths_came_up(&tally) && came_up(&[&tally.deaths_biased, &tally.all_asleep]));
}

#[test]
fn sleepers_pass_over_those_that_are_stopped() {
    let plan = Plan { sleep: true, patient: true, stop: true, bias: true, ..Plan::mortal(4, 4) };
    let tally = all_hold("sleep, bias, patience, stops and deaths among four", plan, 1500);
    assert!(came_up(&[&tally.evictions, &tally.stopped, &tally.all_asleep]));
    let tally = all_hold("sleep, patience and stops among four", Plan::stopped(4, 4), 1000);
    assert!(came_up(&[&tally.evictions, &tally.stopped, &tally.all_asleep]));
}

#[test]
fn sleepers_on_a_ring_find_deaths_soon() {
    let plan = Plan { sleep: true, ring: true, ..Plan::mortal(4, 4) };
    let tally = all_hold("rings, sleep and deaths among four", plan, 1500);
    assert!(all_deaths_came_up(&tally) && came_up(&[&tally.all_asleep]));
}
