//! Searching through plans, one at a time.

use crate::events::ROUNDS;
use crate::world::{self, EVICTIONS, LOST, Visit, World};
#[cfg(loom)]
use loom::thread;
#[cfg(shuttle)]
use shuttle::thread;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering::SeqCst;
use support::checker::{self, check};
use support::watchdog;
use turnlock_core::algorithm::ring::{Membership, Rule};

/// One execution: participant 0 is the model's main thread.
pub fn execute(rule: Rule, machines: usize, visits: &[Visit]) {
    let somebody_dies = visits.iter().any(|visit| visit.end != world::End::Unlocks);
    let evicts = visits.iter().any(|visit| visit.evicts);
    let world = World::new(rule, machines, somebody_dies, evicts);
    watchdog::sign_of_life();
    // In machines that leave gaps between them, where there are enough.
    let machine = move |participant| if machines >= 4 { 2 * participant % machines } else { participant };
    let others: Vec<_> = visits
        .iter()
        .enumerate()
        .skip(1)
        .map(|(participant, visit)| {
            let (world, visit) = (world.clone(), *visit);
            thread::spawn(move || world.live(machine(participant), visit))
        })
        .collect();
    world.live(machine(0), visits[0]);
    others.into_iter().for_each(|other| other.join().unwrap());
    world.check(visits);
}

/// Waits until no other search runs.
pub fn alone() -> MutexGuard<'static, ()> {
    checker::alone(cfg!(feature = "mutants"), || turnlock_core::trace::watch(world::at))
}

pub fn rules(machines: usize) -> [Rule; 3] {
    [Rule::KState, Rule::Raynal, Rule::Sum { step: machines - 1 }]
}

/// Searches through the plan for each rule, which must hold.
pub fn all_hold(name: &str, machines: usize, preemptions: Option<usize>, least: usize, visits: &[Visit]) {
    let _alone = alone();
    let members = visits.iter().filter(|visit| visit.membership == Membership::EveryTurn).count();
    for rule in rules(machines) {
        let evicts = visits.iter().any(|visit| visit.evicts);
        for count in [&ROUNDS, &EVICTIONS, &LOST] {
            count.store(0, SeqCst);
        }
        let began = std::time::Instant::now();
        let scene = || {
            let visits = visits.to_vec();
            move || execute(rule, machines, &visits)
        };
        let executions = if cfg!(loom) {
            check(preemptions, scene())
        } else {
            check(None, scene()) + check(Some(4), scene())
        };
        let (rounds, seconds) = (ROUNDS.load(SeqCst), began.elapsed().as_secs_f64());
        println!("{name}, {rule:?}: {executions} executions, {rounds} rounds, {seconds:.1} s");
        assert!(rounds > 0 || members < 2, "the turn never went round");
        let [evictions, lost] = [&EVICTIONS, &LOST].map(|count| count.load(SeqCst));
        if evicts {
            println!("  passed over {evictions} times, seen by the one that lost its turn {lost} times");
            assert!(evictions > 0 && lost > 0, "no participant was passed over");
        }
        let least = if cfg!(loom) { least } else { 500 };
        assert!(executions >= least, "a search that has become smaller: {least} or more were found before");
    }
}
