//! Parties that meet, break the barrier by giving up or dying, and reset it.

use super::world::{Plan, Simulated, World};
use crate::scheduler::Lifetimes;
use shuttle::rand::{Rng, thread_rng};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use turnlock_core::coordination::{Arrival, Cause, Slept, Standing};

/// What became of the parties that waited for a generation.
#[derive(Default)]
struct Outcome {
    arrived: usize,
    passed: usize,
    broken: usize,
}

type Outcomes = Mutex<HashMap<u64, Outcome>>;

/// Returns whether all came.
fn meet(world: &World, outcomes: &Outcomes, me: usize) -> bool {
    let parties = world.plan.participants;
    let barrier = world.words.barrier(parties as u32);
    let arrival = barrier.arrive::<Simulated>(me);
    world.end_if_over();
    world.happened();
    let generation = match arrival {
        Arrival::Last => return true,
        Arrival::Broken(_) => return false,
        Arrival::Removed => panic!("removed"),
        Arrival::Waits(generation) => generation,
    };
    outcomes.lock().unwrap().entry(generation).or_default().arrived += 1;
    let is_over = move |world: &World| !world.words.barrier(parties as u32).is_waiting(generation);
    let reap = |slot| world.reap_if_dead(slot, |slot| barrier.reap(slot));
    let nap = || barrier.look_after::<Simulated>(me, generation, reap);
    let slept = world.sleep((me, false), is_over, nap);
    if slept != Slept::Over {
        barrier.break_generation::<Simulated>(generation, Cause::GaveUp, me);
    }
    let standing = barrier.standing::<Simulated>(me, generation);
    world.end_if_over();
    world.happened();
    let mut outcomes = outcomes.lock().unwrap();
    let outcome = outcomes.get_mut(&generation).unwrap();
    match standing {
        Standing::Passed => outcome.passed += 1,
        Standing::Broken(_) => outcome.broken += 1,
        Standing::Waits | Standing::Removed => panic!("{standing:?}"),
    }
    assert!(outcome.passed == 0 || outcome.broken == 0, "PASSED ALONE: others were told that it broke");
    let all_came = outcome.arrived + 1 == parties;
    assert!(outcome.passed == 0 || all_came, "PASSED ALONE: {} others had come", outcome.arrived - 1);
    outcome.passed > 0
}

fn live(world: &World, outcomes: &Outcomes, me: usize) {
    let barrier = world.words.barrier(world.plan.participants as u32);
    for _ in 0..world.plan.rounds {
        if !meet(world, outcomes, me) && thread_rng().gen_ratio(1, 2) {
            barrier.reset::<Simulated>(me).unwrap();
            world.end_if_over();
            world.happened();
        }
    }
    barrier.leave(me);
}

pub fn execute(plan: Plan, lifetimes: &Lifetimes) {
    let (world, outcomes) = (World::new(plan, lifetimes), Arc::<Outcomes>::default());
    let parties = plan.participants as u32;
    let begin = |slot| {
        let outcomes = Arc::clone(&outcomes);
        let reap = move |world: &World, slot| world.words.barrier(parties).reap(slot);
        world.begin(slot, reap, move |world| live(world, &outcomes, slot));
    };
    (0..plan.participants).for_each(begin);
    world.run(|slot| {
        if world.deaths.load(std::sync::atomic::Ordering::SeqCst) < 8 && thread_rng().gen_ratio(1, 2) {
            begin(slot);
        }
    });
    let barrier = world.words.barrier(parties);
    let is_unnoticed = |slot: usize| barrier.is_dead(slot) || world.is_dead(slot) && barrier.is_party(slot);
    let unnoticed = world.sleepers().next().is_some() && (0..plan.participants).any(is_unnoticed);
    assert!(!unnoticed, "UNNOTICED: a party is dead, and another one waits on");
    world.end();
}
