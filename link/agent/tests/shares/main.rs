//! The agents of a semaphore on several hosts, over an engine and a network that are simulated: schedules at random, with
//! deaths at every step. (`docs/hosts.md`.)

mod calls;
mod cost;
mod fault;
mod host;
mod leases;
mod schedule;
mod store;
mod world;

support::watched_for_seconds!(support::watchdog::USUAL);

use fault::Fault;
use schedule::{
    a_take_comes_after_a_reclaim, a_take_comes_late, at_random, one_has_all, one_wants_all, setup,
};
use support::hosts::DRIFT;
use turnlock_link_agent::Mode;
use world::{Setup, Step, TOTAL, World, Wrong};

/// Faster than the others, by a seed for each.
const SCHEDULES: u64 = 2_500;
const STEPS: u32 = 250;

fn schedule(seed: u64, mode: Mode, fault: Option<Fault>) -> Result<World, Wrong> {
    let setup = setup(seed, 2 + (seed % 2) as usize, mode, fault);
    at_random(seed, STEPS, &setup).map_err(|wrong| format!("schedule {seed}: {wrong}"))
}

/// Likewise, where the engine ends leases before their time.
fn ended_early(seed: u64, fault: Option<Fault>) -> Result<World, Wrong> {
    let setup = Setup { ends_early: true, ..setup(seed, 2 + (seed % 2) as usize, Mode::Leased, fault) };
    at_random(seed, STEPS, &setup).map_err(|wrong| format!("schedule {seed}: {wrong}"))
}

/// Returns how many entries, agents refused, shares reclaimed and permits lost there were.
fn search(what: &str, schedule: impl Fn(u64) -> Result<World, Wrong>) -> [u32; 4] {
    let mut sums = [0; 4];
    for seed in 0..SCHEDULES {
        let world = schedule(seed).unwrap_or_else(|wrong| panic!("{wrong}"));
        let World { entries, refusals, reclaims, losses, .. } = world;
        for (sum, one) in sums.iter_mut().zip([entries, refusals, reclaims, losses]) {
            *sum += one;
        }
    }
    let [entries, refusals, reclaims, losses] = sums;
    println!(
        "{what}: {SCHEDULES} schedules of {STEPS} steps: {entries} entries, {refusals} agents refused, {reclaims} shares reclaimed, {losses} losses told"
    );
    assert!(entries > 10_000 && refusals > 10, "too little came up");
    sums
}

#[test]
fn schedules_at_random_hold() {
    search("kept", |seed| schedule(seed, Mode::Kept, None));
}

#[test]
fn schedules_at_random_hold_where_permits_are_leased() {
    let [_, _, reclaims, losses] = search("leased", |seed| schedule(seed, Mode::Leased, None));
    assert!(reclaims > 50 && losses > 10, "{reclaims} {losses}");
    let [_, _, reclaims, _] = search("leased, and ended early", |seed| ended_early(seed, None));
    assert!(reclaims > 500, "{reclaims}");
}

#[test]
fn one_host_gets_all_permits_if_it_wants_them_and_the_others_want_none() {
    for (hosts, mode) in (1..=3).flat_map(|hosts| [Mode::Kept, Mode::Leased].map(|mode| (hosts, mode))) {
        one_wants_all(hosts, mode).unwrap_or_else(|wrong| panic!("{hosts} hosts, {mode:?}: {wrong}"));
    }
}

#[test]
fn a_call_that_takes_permits_and_comes_late_changes_nothing() {
    for mode in [Mode::Kept, Mode::Leased] {
        a_take_comes_late(mode, None).unwrap_or_else(|wrong| panic!("{mode:?}: {wrong}"));
    }
}

#[test]
fn what_was_taken_again_is_not_taken_by_a_call_from_before() {
    a_take_comes_after_a_reclaim(None).unwrap_or_else(|wrong| panic!("{wrong}"));
}

/// A program stays inside while its host is in trouble of each kind, with clocks of each kind, and the engine ends its lease at once, if
/// `ends_early`; another host takes its permits. Returns how often.
fn overtake(fault: Option<Fault>, ends_early: bool) -> Result<u32, Wrong> {
    let (mut overtaken, clocks) = (0, [-DRIFT, 0, DRIFT]);
    for drifts in clocks.iter().flat_map(|one| clocks.map(|other| vec![*one, other])) {
        for trouble in [Step::Kill(0), Step::Stop(0), Step::Cut(0)] {
            let setup = Setup { drifts: drifts.clone(), ends_early, ..Setup::of(2, Mode::Leased, fault) };
            let mut world = one_has_all(&setup)?;
            world.go(Step::Want(1, 1))?;
            world.go(trouble)?;
            if ends_early {
                world.go(Step::EndEarly(0))?;
            }
            // Within two leases, of which each is kept some times, the other one is inside.
            for _ in 0..300 {
                world.go_on()?;
            }
            overtaken += u32::from(world.hosts[1].used() > 0 && world.hosts[0].used() == TOTAL);
            // Once those have left, it has some again.
            world.go(Step::Want(0, 1))?;
            world.settles()?;
        }
    }
    Ok(overtaken)
}

#[test]
fn a_program_that_stays_inside_is_told_before_one_at_another_host_has_its_permits() {
    for ends_early in [false, true] {
        assert_eq!(overtake(None, ends_early), Ok(27));
    }
    for (fault, ends_early) in [(Fault::GivesNoTimeToLeave, false), (Fault::TrustsTheEngine, true)] {
        let wrong = overtake(Some(fault), ends_early).expect_err("it is not found");
        assert!(wrong.contains("permits are inside") || wrong.contains("has a share of"), "{wrong}");
    }
}

fn find(faults: &[Fault], mode: Mode) {
    for fault in faults {
        let late = || a_take_comes_late(mode, Some(*fault)).err();
        let directed = || late().or_else(|| overtake(Some(*fault), false).err());
        let found =
            (0..SCHEDULES).find_map(|seed| schedule(seed, mode, Some(*fault)).err()).or_else(directed);
        let wrong = found.unwrap_or_else(|| panic!("{mode:?}: {fault:?} is not found"));
        println!("{mode:?}: {fault:?}: {}", wrong.lines().next().unwrap_or_default());
    }
}

#[test]
fn each_fault_is_found() {
    find(&Fault::ALL, Mode::Kept);
}

#[test]
fn each_fault_is_found_where_permits_are_leased() {
    find(&Fault::OF_LEASES, Mode::Leased);
    find(&Fault::ALL, Mode::Leased);
}

#[test]
fn each_fault_is_found_where_the_engine_ends_leases_early() {
    for fault in [Fault::TrustsTheEngine, Fault::ComparesSharesOnly] {
        let directed = || a_take_comes_after_a_reclaim(Some(fault)).err();
        let found = (0..SCHEDULES).find_map(|seed| ended_early(seed, Some(fault)).err()).or_else(directed);
        let wrong = found.unwrap_or_else(|| panic!("{fault:?} is not found"));
        println!("{fault:?}: {}", wrong.lines().next().unwrap_or_default());
    }
}
