//! The agents of a semaphore on several hosts, over an engine and a network that are simulated: schedules at random, with
//! deaths at every step. (`docs/hosts.md`.)

mod calls;
mod cost;
mod fault;
mod host;
mod schedule;
mod store;
mod world;

support::watched_for_seconds!(support::watchdog::USUAL);

use fault::Fault;
use schedule::{a_take_comes_late, at_random, one_wants_all};
use world::{World, Wrong};

/// Faster than the others, by a seed for each.
const SCHEDULES: u64 = 2_500;
const STEPS: u32 = 250;

fn schedule(seed: u64, fault: Option<Fault>) -> Result<World, Wrong> {
    let hosts = 2 + (seed % 2) as usize;
    at_random(seed, STEPS, hosts, fault).map_err(|wrong| format!("schedule {seed}: {wrong}"))
}

#[test]
fn schedules_at_random_hold() {
    let (mut entries, mut refusals) = (0, 0);
    for seed in 0..SCHEDULES {
        let world = schedule(seed, None).unwrap_or_else(|wrong| panic!("{wrong}"));
        entries += world.entries;
        refusals += world.refusals;
    }
    println!("{SCHEDULES} schedules of {STEPS} steps: {entries} entries, {refusals} agents refused");
    assert!(entries > 10_000 && refusals > 10, "too little came up");
}

#[test]
fn one_host_gets_all_permits_if_it_wants_them_and_the_others_want_none() {
    for hosts in 1..=3 {
        one_wants_all(hosts, None).unwrap_or_else(|wrong| panic!("{hosts} hosts: {wrong}"));
    }
}

#[test]
fn a_call_that_takes_permits_and_comes_late_changes_nothing() {
    a_take_comes_late(None).unwrap_or_else(|wrong| panic!("{wrong}"));
}

#[test]
fn each_fault_is_found() {
    for fault in Fault::ALL {
        let directed = || a_take_comes_late(Some(fault)).err();
        let found = (0..SCHEDULES).find_map(|seed| schedule(seed, Some(fault)).err()).or_else(directed);
        let wrong = found.unwrap_or_else(|| panic!("{fault:?} is not found"));
        println!("{fault:?}: {}", wrong.lines().next().unwrap_or_default());
    }
}
