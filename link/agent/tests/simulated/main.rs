//! The agents of several hosts over an engine that is simulated: schedules at random, and all of the shortest ones, with deaths of agents,
//! programs and hosts, messages that are lost or late, hosts that are cut off, compactions. The clock moves when nothing else does.

mod calls;
mod fault;
mod store;
mod world;

use fault::Fault;
use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};
use support::Dice;
use world::{Step, World, Wrong};

support::watched_for_seconds!(support::watchdog::USUAL);

/// What became of one schedule.
struct Run {
    entries: u32,
    homecomings: u32,
}

/// Of so many hosts, so many steps at random; then nothing fails any more, and everyone must get in.
fn at_random(seed: u64, hosts: usize, steps: u32, fault: Option<Fault>) -> Result<Run, Wrong> {
    let (mut dice, mut world) = (Dice(seed), World::new(hosts, fault));
    // Some schedules are gentle, so that they get far.
    let rate_of_faults = dice.roll(3);
    // In some the oldest messages lie about, while later ones come.
    let is_late = dice.roll(2) == 0;
    for _ in 0..steps {
        let steps = world.steps();
        let weight = |step: &Step| match step {
            Step::Deliver(0) if is_late => 4,
            Step::Deliver(_) if is_late => 30,
            Step::Deliver(0) => 60,
            Step::Deliver(_) => 10,
            Step::Enter(_) | Step::Leave(_) | Step::MoveAway(_) | Step::Start(_) | Step::Mend(_) => 20,
            Step::Wait => 15,
            Step::Lose(_) | Step::Kill(_) | Step::Cut(_) | Step::Compact => 2 * rate_of_faults,
            Step::Die(_) => rate_of_faults,
            Step::Forget => u64::from(rate_of_faults == 2 && seed.is_multiple_of(4)),
        };
        let mut at = dice.roll(steps.iter().map(weight).sum());
        let step = steps.iter().find(|step| {
            let weight = weight(step);
            let is_it = at < weight;
            at = at.saturating_sub(weight);
            is_it
        });
        world.go(*step.unwrap())?;
    }
    world.settles()?;
    Ok(Run { entries: world.entries, homecomings: world.homecomings })
}

#[test]
fn at_random_no_two_are_inside_tokens_rise_and_everyone_gets_in() {
    let (mut entries, mut homecomings) = (0, 0);
    for seed in 0..3_000 {
        let run = at_random(seed, 2 + seed as usize % 2, 150, None)
            .unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        entries += run.entries;
        homecomings += run.homecomings;
    }
    println!("3000 schedules of 150 steps: {entries} entries, {homecomings} homecomings");
    assert!(homecomings > 3_000);
}

#[test]
fn each_fault_is_found() {
    for fault in Fault::ALL {
        let found = (0..40_000).find_map(|seed| Some((seed, at_random(seed, 3, 150, Some(fault)).err()?)));
        let (seed, wrong) = found.unwrap_or_else(|| panic!("{fault:?} is not found"));
        println!("{fault:?}: {} (seed {seed})", wrong.lines().next().unwrap());
    }
}

/// Every schedule of two hosts, up to so many steps from when both have begun, with at most so many faults: breadth first, each state once.
#[test]
fn every_short_schedule_of_two_hosts() {
    const DEPTH: usize = 7;
    const FAULTS: u8 = 1;
    let mut world = World::new(2, None);
    world.go(Step::Start(0)).unwrap();
    world.go(Step::Start(1)).unwrap();
    for at in 0..2 {
        world.go(Step::Enter(at)).unwrap();
    }
    let key = |world: &World, faults: u8| {
        let mut hasher = DefaultHasher::new();
        (world, faults).hash(&mut hasher);
        hasher.finish()
    };
    let (mut seen, mut states) = (HashSet::from([key(&world, 0)]), vec![(world, 0)]);
    for depth in 0..DEPTH {
        let mut next = Vec::new();
        for (world, faults) in &states {
            for step in world.steps() {
                let is_fault = !matches!(
                    step,
                    Step::Deliver(_)
                        | Step::Enter(_)
                        | Step::Leave(_)
                        | Step::MoveAway(_)
                        | Step::Start(_)
                        | Step::Wait
                );
                let faults = faults + u8::from(is_fault);
                if faults > FAULTS || matches!(step, Step::Forget) {
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
    println!("{} states of {DEPTH} steps and {FAULTS} fault", seen.len());
    assert!(seen.len() > 10_000);
}
