//! The agents of several hosts over an engine that is simulated: schedules at random, and all of the shortest ones, with deaths of agents,
//! programs and hosts, messages that are lost or late, hosts that are cut off, compactions. The clock moves when nothing else does.

mod calls;
mod cost;
mod fault;
mod host;
mod leases;
mod reading;
mod rules;
mod schedule;
mod store;
mod world;

use fault::Fault;
use host::{Cut, Stopped};
use schedule::{at_random, setup};
use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};
use support::hosts::DRIFT;
use turnlock_link_agent::{Mode, Wish};
use world::{Setup, Step, World, Wrong};

/// How many are searched at random.
const SCHEDULES: u64 = 2_500;
const STEPS: u32 = 250;

support::watched_for_seconds!(support::watchdog::USUAL);

/// The hosts of this schedule. `reads`: their programs read, too.
fn setup_of(seed: u64, mode: Mode, reads: bool, fault: Option<Fault>) -> Setup {
    Setup { reads, ..setup(seed, 2 + seed as usize % 2, mode, fault) }
}

fn search(mode: Mode, reads: bool) -> [u32; 5] {
    let mut sums = [0; 5];
    for seed in 0..SCHEDULES {
        let setup = setup_of(seed, mode, reads, None);
        let world = at_random(seed, STEPS, &setup).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        let World { entries, homecomings, losses, refusals, together, .. } = world;
        for (sum, one) in sums.iter_mut().zip([entries, homecomings, losses, refusals, together]) {
            *sum += one;
        }
    }
    let [entries, homecomings, losses, refusals, together] = sums;
    println!(
        "{mode:?}: {SCHEDULES} schedules of {STEPS} steps: {entries} entries, {homecomings} homecomings, {losses} losses told, {refusals} refusals, \
         {together} readers beside those of another host"
    );
    sums
}

#[test]
fn at_random_no_two_are_inside_tokens_rise_and_everyone_gets_in() {
    let [_, homecomings, _, refusals, _] = search(Mode::Kept, false);
    assert!(homecomings > 3_000 && refusals > 0);
}

#[test]
fn at_random_a_program_is_admitted_within_the_lease_alone_and_one_inside_is_told_in_time() {
    let [_, homecomings, losses, refusals, _] = search(Mode::Leased, false);
    assert!(homecomings > 3_000 && losses > 0 && refusals > 0);
}

#[test]
fn at_random_readers_of_several_hosts_are_inside_together_and_no_writer_beside_them() {
    for mode in [Mode::Kept, Mode::Leased] {
        let [_, homecomings, _, _, together] = search(mode, true);
        assert!(homecomings > 3_000 && together > 300, "{together}");
    }
}

/// A lease that the engine ends before its time.
fn ended_early(seed: u64, reads: bool, fault: Option<Fault>) -> Result<World, Wrong> {
    at_random(seed, STEPS, &Setup { ends_early: true, ..setup_of(seed, Mode::Leased, reads, fault) })
}

#[test]
fn at_random_leases_that_the_engine_ends_early_let_no_two_in() {
    for (reads, trusts) in [(false, Fault::TrustsTheEngine), (true, Fault::TrustsTheReaders)] {
        let (mut robberies, mut entries) = (0, 0);
        for seed in 0..SCHEDULES {
            let world = ended_early(seed, reads, None).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
            (robberies, entries) = (robberies + world.robberies, entries + world.entries);
        }
        println!("{entries} entries, {robberies} leases ended early at home");
        assert!(robberies > 100, "{robberies}");
        let wrong = (0..SCHEDULES).find_map(|seed| ended_early(seed, reads, Some(trusts)).err());
        println!("{trusts:?}: {}", wrong.expect("it is found").lines().next().unwrap());
    }
}

fn find(faults: &[Fault], mode: Mode) {
    for fault in faults {
        let run = |seed, reads| at_random(seed, STEPS, &setup_of(seed, mode, reads, Some(*fault)));
        // Those of readers in the second half.
        let seeds = [false, true].into_iter().flat_map(|reads| (0..SCHEDULES).map(move |seed| (seed, reads)));
        let found = seeds.into_iter().find_map(|(seed, reads)| Some((seed, run(seed, reads).err()?)));
        let (seed, wrong) = found.unwrap_or_else(|| panic!("{fault:?} is not found"));
        println!("{mode:?}: {fault:?}: {} (seed {seed})", wrong.lines().next().unwrap());
    }
}

#[test]
fn each_fault_is_found() {
    find(&Fault::ALL, Mode::Kept);
    // With a lease it ends by itself.
    find(&[Fault::ForgetsNoReader], Mode::Kept);
}

#[test]
fn each_fault_is_found_at_a_leased_lock() {
    find(&Fault::OF_LEASES, Mode::Leased);
    find(&Fault::ALL, Mode::Leased);
}

/// Every schedule from there on, of up to so many steps with at most so many faults: breadth first, each state once. Returns how many states.
fn search_all(begin: World, depth: usize, faults_at_most: u8) -> usize {
    let key = |world: &World, faults: u8| {
        let mut hasher = DefaultHasher::new();
        (world, faults).hash(&mut hasher);
        hasher.finish()
    };
    let (mut seen, mut states) = (HashSet::from([key(&begin, 0)]), vec![(begin, 0)]);
    for depth in 0..depth {
        let mut next = Vec::new();
        for (world, faults) in &states {
            for step in world.steps() {
                let is_fault = !matches!(
                    step,
                    Step::Deliver(_)
                        | Step::DeliverLate(_)
                        | Step::Enter(..)
                        | Step::Leave(_)
                        | Step::MoveAway(_)
                        | Step::Start(_)
                        | Step::Resume(_)
                        | Step::Wait
                );
                let faults = faults + u8::from(is_fault);
                if faults > faults_at_most || matches!(step, Step::Forget | Step::Delay(_)) {
                    continue;
                }
                let mut after = world.clone();
                after
                    .go(step)
                    .unwrap_or_else(|wrong| panic!("at depth {depth}, {step:?}: {wrong}\n{world:#?}"));
                if seen.insert(key(&after, faults)) {
                    next.push((after, faults));
                }
            }
        }
        states = next;
    }
    seen.len()
}

/// Two hosts that begin at a lock, and a program of each wants it.
fn begin(mode: Mode) -> World {
    let mut world = World::new(&Setup {
        drifts: vec![DRIFT, -DRIFT],
        mode,
        stranger: None,
        fault: None,
        reads: false,
        ends_early: false,
    });
    for at in 0..2 {
        world.go(Step::Start(at)).unwrap();
        world.go(Step::Enter(at, Wish::Write)).unwrap();
    }
    world
}

#[test]
fn every_short_schedule_of_two_hosts() {
    let states = search_all(begin(Mode::Kept), 7, 1);
    println!("{states} states of 7 steps and 1 fault");
    assert!(states > 10_000);
}

/// Two hosts: a program of the first is inside, to read if programs do, and one of the other waits to write.
fn one_inside(setup: &Setup) -> Result<World, Wrong> {
    let mut world = World::new(setup);
    for at in 0..2 {
        world.go(Step::Start(at))?;
    }
    let first = world.wishes()[0];
    world.go(Step::Enter(0, first))?;
    while world.entries == 0 {
        world.go(if world.messages.is_empty() { Step::Wait } else { Step::Deliver(0) })?;
        world.go(Step::Enter(0, first))?;
    }
    world.go(Step::Enter(1, Wish::Write))?;
    while !world.messages.is_empty() {
        world.go(Step::Deliver(0))?;
    }
    Ok(world)
}

#[test]
fn every_short_schedule_of_two_hosts_at_a_leased_lock() {
    short_schedules_at_a_leased_lock(false, false);
}

#[test]
fn every_short_schedule_of_two_hosts_at_a_lock_whose_lease_the_engine_may_end_early() {
    short_schedules_at_a_leased_lock(false, true);
}

#[test]
fn every_short_schedule_of_two_hosts_at_a_lock_that_is_read() {
    let drifts = vec![DRIFT, -DRIFT];
    let setup =
        Setup { drifts, mode: Mode::Kept, stranger: None, fault: None, reads: true, ends_early: false };
    let states = search_all(one_inside(&setup).unwrap(), 8, 1);
    println!("{states} states of 8 steps and 1 fault from when a program reads");
    assert!(states > 10_000);
    for ends_early in [false, true] {
        short_schedules_at_a_leased_lock(true, ends_early);
    }
}

fn short_schedules_at_a_leased_lock(reads: bool, ends_early: bool) {
    let drifts = vec![DRIFT, -DRIFT];
    let setup = Setup { drifts, mode: Mode::Leased, stranger: None, fault: None, reads, ends_early };
    let states = search_all(one_inside(&setup).unwrap(), 8, 1);
    println!("{states} states of 8 steps and 1 fault from when a program is inside");
    assert!(states > 10_000);
}

/// A program stays inside, to read if `reads`, while its host is in trouble of each kind, with clocks of each kind, and the engine ends its lease at once, if
/// `ends_early`; another host takes the lock over. Returns how often.
fn overtake(fault: Option<Fault>, reads: bool, ends_early: bool) -> Result<u32, Wrong> {
    let mut overtaken = 0;
    let clocks = [-DRIFT, 0, DRIFT];
    for drifts in clocks.iter().flat_map(|one| clocks.map(|other| vec![*one, other])) {
        for trouble in [
            Step::Kill(0),
            Step::Stop(0, Stopped::Agent),
            Step::Stop(0, Stopped::All),
            Step::Cut(0, Cut::Sent),
            Step::Cut(0, Cut::Both),
        ] {
            let setup = Setup {
                drifts: drifts.clone(),
                mode: Mode::Leased,
                stranger: None,
                fault,
                reads,
                ends_early,
            };
            let mut world = one_inside(&setup)?;
            world.go(trouble)?;
            if ends_early {
                world.go(Step::EndEarly)?;
            }
            // Within two leases, of which each is kept some times, the other one is inside.
            for _ in 0..200 {
                world.go(if world.messages.is_empty() { Step::Wait } else { Step::Deliver(0) })?;
                if world.overtaken == 0 {
                    world.go(Step::Enter(1, Wish::Write))?;
                }
            }
            overtaken += world.overtaken;
            world.settles()?;
        }
    }
    Ok(overtaken)
}

#[test]
fn a_program_that_stays_inside_is_told_before_one_at_another_host_comes_in() {
    for (reads, ends_early) in [(false, false), (false, true), (true, false), (true, true)] {
        assert_eq!(overtake(None, reads, ends_early), Ok(45));
    }
    for (fault, reads, ends_early, why) in [
        (Fault::GivesNoTimeToLeave, false, false, "too soon after one at"),
        (Fault::GivesNoTimeToLeave, true, false, "too soon after one at"),
        (Fault::TrustsTheEngine, false, true, "is home at a, which has not the privilege"),
        (Fault::TrustsTheReaders, true, true, "is home at a, which has not the privilege"),
    ] {
        let wrong = overtake(Some(fault), reads, ends_early).expect_err("it is not found");
        assert!(wrong.contains(why), "{wrong}");
    }
}
