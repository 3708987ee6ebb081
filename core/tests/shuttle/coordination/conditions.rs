//! Producers and consumers of items at a condition. A producer that died before it notified, and a consumer that died with a
//! notification that it had consumed, leave an item that none need come for; no consumer may wait beside any other.

use super::world::{Plan, SLOTS, Simulated, World};
use crate::scheduler::Lifetimes;
use shuttle::rand::{Rng, thread_rng};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool as PlainBool, AtomicUsize as PlainUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use turnlock_core::coordination::{Slept, Stage};
use turnlock_core::sync::Ordering::Relaxed;

const NOTIFIED: u64 = 2;
const PASSED: u64 = 3;
/// Above the tag and the state of an entry.
const NUMBER_AT: u32 = 15;

#[derive(Default)]
struct Data {
    /// With the lock.
    items: PlainUsize,
    /// For each slot: it has put an item there and not notified yet, or consumed a notification and not looked for an item yet.
    owes: [PlainBool; SLOTS],
    stranded: PlainUsize,
    consumed: Mutex<HashSet<u64>>,
}

fn produce(world: &World, data: &Data, me: usize) {
    world.take_lock();
    data.items.fetch_add(1, SeqCst);
    data.owes[me].store(true, SeqCst);
    world.give_lock();
    let condition = world.words.condition();
    let reap = |slot| world.reap_if_dead(slot, |slot| condition.reap(slot));
    condition.notify_one::<Simulated>(reap).unwrap();
    world.end_if_over();
    data.owes[me].store(false, SeqCst);
    world.happened();
}

fn consume(world: &World, data: &Data, me: usize) {
    let condition = world.words.condition();
    world.take_lock();
    while data.items.load(SeqCst) == 0 {
        data.owes[me].store(false, SeqCst);
        let ticket = condition.begin::<Simulated>(me);
        world.end_if_over();
        world.give_lock();
        let has_come = move |world: &World| !world.words.condition().is_waiting(me, ticket);
        let reap = |slot| world.reap_if_dead(slot, |slot| condition.reap(slot));
        let nap = || condition.look_after::<Simulated>(me, reap);
        let slept = world.sleep((me, true), has_come, nap);
        let gave_up = slept != Slept::Over && condition.give_up(me, ticket);
        world.end_if_over();
        world.take_lock();
        let entry = world.words.entry(me).load(Relaxed);
        let has_it = matches!(entry & 7, NOTIFIED | PASSED);
        condition.consume(me);
        world.end_if_over();
        if has_it {
            let is_first = data.consumed.lock().unwrap().insert(entry >> NUMBER_AT);
            assert!(is_first, "TWICE: one notification was consumed by two");
            data.owes[me].store(true, SeqCst);
            world.happened();
            world.pause();
        }
        assert!(!(gave_up && has_it), "it gave up, and was notified");
        if gave_up {
            return world.give_lock();
        }
    }
    data.items.fetch_sub(1, SeqCst);
    data.owes[me].store(false, SeqCst);
    world.give_lock();
    world.happened();
}

/// Slot 0 produces, the last slot does either, and the others consume.
fn live(world: &World, data: &Data, me: usize) {
    for _ in 0..world.plan.rounds {
        match me {
            0 => (1..world.plan.participants - 1).for_each(|_| produce(world, data, me)),
            _ if me + 1 < world.plan.participants || thread_rng().gen_ratio(1, 2) => consume(world, data, me),
            _ => produce(world, data, me),
        }
    }
    world.words.condition().decline::<Simulated>(me);
}

pub fn execute(plan: Plan, lifetimes: &Lifetimes) {
    let (world, data) = (World::new(plan, lifetimes), Arc::<Data>::default());
    let begin = |slot| {
        let data = Arc::clone(&data);
        let reap = |world: &World, slot| world.words.condition().reap(slot);
        world.begin(slot, reap, move |world| live(world, &data, slot));
    };
    (0..plan.participants).for_each(begin);
    world.run(|slot| {
        data.stranded.fetch_add(data.owes[slot].swap(false, SeqCst).into(), SeqCst);
        if world.deaths.load(SeqCst) < 2 * SLOTS && thread_rng().gen_ratio(1, 2) {
            begin(slot);
        }
    });
    let condition = world.words.condition();
    let waits = |slot: &usize| matches!(condition.stage(*slot), Some(Stage::Waiting(_)));
    let (items, stranded) = (data.items.load(SeqCst), data.stranded.load(SeqCst));
    let lost = items > stranded && world.sleepers().any(|slot| waits(&slot));
    assert!(!lost, "LOST: {items} items, {stranded} of them after a death, and a consumer waits");
    assert!(world.sleepers().all(|slot| waits(&slot)), "LOST: a consumer sleeps that was notified");
    world.end();
}
