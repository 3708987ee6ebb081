//! The agents of several hosts over an engine that is simulated: schedules at random, and all of the shortest ones, with deaths of agents,
//! programs and hosts, messages that are lost or late, hosts that are cut off, compactions. The clock moves when nothing else does.

mod calls;
mod cost;
mod fault;
mod host;
mod leases;
mod rules;
mod schedule;
mod store;
mod world;

use fault::Fault;
use host::{Cut, DRIFT, Stopped};
use schedule::{at_random, setup};
use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};
use turnlock_link_agent::Mode;
use world::{Setup, Step, World, Wrong};

/// How many are searched at random.
const SCHEDULES: u64 = 2_500;
const STEPS: u32 = 250;

support::watched_for_seconds!(support::watchdog::USUAL);

fn search(mode: Mode) -> [u32; 4] {
    let mut sums = [0; 4];
    for seed in 0..SCHEDULES {
        let setup = setup(seed, 2 + seed as usize % 2, mode, None);
        let world = at_random(seed, STEPS, &setup).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        let World { entries, homecomings, losses, refusals, .. } = world;
        for (sum, one) in sums.iter_mut().zip([entries, homecomings, losses, refusals]) {
            *sum += one;
        }
    }
    let [entries, homecomings, losses, refusals] = sums;
    println!(
        "{mode:?}: {SCHEDULES} schedules of {STEPS} steps: {entries} entries, {homecomings} homecomings, {losses} losses told, {refusals} refusals"
    );
    sums
}

#[test]
fn at_random_no_two_are_inside_tokens_rise_and_everyone_gets_in() {
    let [_, homecomings, _, refusals] = search(Mode::Kept);
    assert!(homecomings > 3_000 && refusals > 0);
}

#[test]
fn at_random_a_program_is_admitted_within_the_lease_alone_and_one_inside_is_told_in_time() {
    let [_, homecomings, losses, refusals] = search(Mode::Leased);
    assert!(homecomings > 3_000 && losses > 0 && refusals > 0);
}

/// A lease that the engine ends before its time.
fn ended_early(seed: u64, fault: Option<Fault>) -> Result<World, Wrong> {
    let setup = setup(seed, 2 + seed as usize % 2, Mode::Leased, fault);
    at_random(seed, STEPS, &Setup { ends_early: true, ..setup })
}

#[test]
fn at_random_leases_that_the_engine_ends_early_let_no_two_in() {
    let (mut robberies, mut entries) = (0, 0);
    for seed in 0..SCHEDULES {
        let world = ended_early(seed, None).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        (robberies, entries) = (robberies + world.robberies, entries + world.entries);
    }
    println!("{entries} entries, {robberies} leases ended early at home");
    assert!(robberies > 100, "{robberies}");
    let wrong = (0..SCHEDULES).find_map(|seed| ended_early(seed, Some(Fault::TrustsTheEngine)).err());
    println!("{:?}: {}", Fault::TrustsTheEngine, wrong.expect("it is found").lines().next().unwrap());
}

fn find(faults: &[Fault], mode: Mode) {
    for fault in faults {
        let run = |seed| at_random(seed, STEPS, &setup(seed, 2 + seed as usize % 2, mode, Some(*fault)));
        let found = (0..SCHEDULES).find_map(|seed| Some((seed, run(seed).err()?)));
        let (seed, wrong) = found.unwrap_or_else(|| panic!("{fault:?} is not found"));
        println!("{mode:?}: {fault:?}: {} (seed {seed})", wrong.lines().next().unwrap());
    }
}

#[test]
fn each_fault_is_found() {
    find(&Fault::ALL, Mode::Kept);
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
                        | Step::Enter(_)
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
        ends_early: false,
    });
    for at in 0..2 {
        world.go(Step::Start(at)).unwrap();
        world.go(Step::Enter(at)).unwrap();
    }
    world
}

#[test]
fn every_short_schedule_of_two_hosts() {
    let states = search_all(begin(Mode::Kept), 7, 1);
    println!("{states} states of 7 steps and 1 fault");
    assert!(states > 10_000);
}

/// Two hosts: a program of the first is inside, and one of the other waits.
fn one_inside(setup: &Setup) -> Result<World, Wrong> {
    let mut world = World::new(setup);
    for at in 0..2 {
        world.go(Step::Start(at))?;
    }
    world.go(Step::Enter(0))?;
    while world.entries == 0 {
        world.go(if world.messages.is_empty() { Step::Wait } else { Step::Deliver(0) })?;
        world.go(Step::Enter(0))?;
    }
    world.go(Step::Enter(1))?;
    while !world.messages.is_empty() {
        world.go(Step::Deliver(0))?;
    }
    Ok(world)
}

#[test]
fn every_short_schedule_of_two_hosts_at_a_leased_lock() {
    short_schedules_at_a_leased_lock(false);
}

#[test]
fn every_short_schedule_of_two_hosts_at_a_lock_whose_lease_the_engine_may_end_early() {
    short_schedules_at_a_leased_lock(true);
}

fn short_schedules_at_a_leased_lock(ends_early: bool) {
    let drifts = vec![DRIFT, -DRIFT];
    let setup = Setup { drifts, mode: Mode::Leased, stranger: None, fault: None, ends_early };
    let states = search_all(one_inside(&setup).unwrap(), 8, 1);
    println!("{states} states of 8 steps and 1 fault from when a program is inside");
    assert!(states > 10_000);
}

/// A program stays inside while its host is in trouble of each kind, with clocks of each kind, and the engine ends its lease at once, if
/// `ends_early`; another host takes the lock over. Returns how often.
fn overtake(fault: Option<Fault>, ends_early: bool) -> Result<u32, Wrong> {
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
            let setup =
                Setup { drifts: drifts.clone(), mode: Mode::Leased, stranger: None, fault, ends_early };
            let mut world = one_inside(&setup)?;
            world.go(trouble)?;
            if ends_early {
                world.go(Step::EndEarly)?;
            }
            // Within two leases, of which each is kept some times, the other one is inside.
            for _ in 0..200 {
                world.go(if world.messages.is_empty() { Step::Wait } else { Step::Deliver(0) })?;
                if world.overtaken == 0 {
                    world.go(Step::Enter(1))?;
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
    assert_eq!(overtake(None, false), Ok(45));
    assert_eq!(overtake(None, true), Ok(45));
    for (fault, ends_early, why) in [
        (Fault::GivesNoTimeToLeave, false, "too soon after one at"),
        (Fault::TrustsTheEngine, true, "is home at a, which has not the privilege"),
    ] {
        let wrong = overtake(Some(fault), ends_early).expect_err("it is not found");
        assert!(wrong.contains(why), "{wrong}");
    }
}
