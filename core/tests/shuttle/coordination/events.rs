//! Participants that wait for an event, and others that set and clear it.

use super::world::{Plan, Simulated, World};
use crate::scheduler::Lifetimes;
use shuttle::rand::{Rng, thread_rng};

fn live(world: &World, me: usize) {
    let event = world.words.event();
    for _ in 0..world.plan.rounds {
        if me < 2 {
            event.set::<Simulated>().unwrap();
            world.end_if_over();
            if thread_rng().gen_ratio(1, 2) {
                event.clear().unwrap();
            }
        } else {
            let began = event.begin().unwrap();
            let has_come = move |world: &World| world.words.event().came(began);
            world.sleep((me, false), has_come, || Ok(()));
        }
        world.end_if_over();
        world.happened();
    }
}

/// Slots 0 and 1 set it, and the others wait. At last it is set once more, and all go on.
pub fn execute(plan: Plan, lifetimes: &Lifetimes) {
    let world = World::new(plan, lifetimes);
    let begin = |slot| world.begin(slot, |_, _| {}, move |world| live(world, slot));
    (0..plan.participants).for_each(begin);
    let run = || {
        world.run(|slot| {
            if world.deaths.load(std::sync::atomic::Ordering::SeqCst) < 8 && thread_rng().gen_ratio(1, 2) {
                begin(slot);
            }
        });
    };
    run();
    world.none_has_missed_it();
    while world.sleepers().next().is_some() {
        world.words.event().clear().unwrap();
        world.words.event().set::<Simulated>().unwrap();
        run();
        world.none_has_missed_it();
    }
    world.end();
}
