//! Many participants, simulated: links as bad as each machine's contract allows, withdrawals, departures, returns with a
//! state and without, deaths, stops. At most one is inside, fencing tokens rise, every participant has all its entries.
//!
//! A failure names its seed; `TURNLOCK_SEED` runs that one alone.

use support::{
    simulator::{Habits, Simulated, Simulation},
    watchdog,
};
use turnlock::message::{Bakery, LamportQueue, RicartAgrawala, TokenRing};

/// Runs with these numbers of participants and, for each, so many seeds.
fn rough<A: Simulated>(name: &str, sizes: &[usize], seeds: u64, make: impl Fn(usize, usize) -> A) {
    let chosen =
        std::env::var("TURNLOCK_SEED").ok().map(|seed| seed.parse().expect("TURNLOCK_SEED is a number"));
    for n in sizes {
        let (mut entries, mut deaths, mut departures, mut withdrawals, mut rulings) = (0, 0, 0, 0, 0);
        for seed in chosen.map_or(1..seeds + 1, |seed| seed..seed + 1) {
            watchdog::sign_of_life();
            let machines = (0..*n).map(|me| make(*n, me)).collect();
            let habits = Habits { entries: if *n > 8 { 3 } else { 20 }, ..Habits::rough() };
            let mut simulation = Simulation::new(machines, seed, habits);
            simulation.run(100_000_000);
            let counts = &simulation.counts;
            entries += counts.entries;
            deaths += counts.deaths;
            departures += counts.departures;
            withdrawals += counts.withdrawals;
            rulings += counts.rulings;
        }
        println!(
            "{name} of {n}: {entries} entries, {withdrawals} withdrawals, {departures} departures, {deaths} deaths, \
             {rulings} rulings"
        );
        assert!(
            chosen.is_some() || deaths * departures * withdrawals > 0,
            "{name} of {n}: too little happened"
        );
    }
}

#[test]
fn lamports_queue() {
    rough("lamport", &[2, 5, 16], 4, |n, me| LamportQueue::founding(n, me).unwrap());
    rough("lamport", &[64], 1, |n, me| LamportQueue::founding(n, me).unwrap());
}

#[test]
fn ricart_and_agrawalas_mesh() {
    rough("mesh", &[2, 5, 16], 4, |n, me| RicartAgrawala::founding(n, me).unwrap());
    rough("mesh", &[64], 1, |n, me| RicartAgrawala::founding(n, me).unwrap());
}

#[test]
fn misras_ring() {
    rough("ring", &[2, 5, 16], 4, |n, me| TokenRing::founding(n, me, 2).unwrap());
    rough("ring", &[64], 1, |n, me| TokenRing::founding(n, me, 2).unwrap());
}

#[test]
fn rings_with_more_tokens() {
    rough("ring with 4 tokens", &[2, 5, 16], 4, |n, me| TokenRing::founding(n, me, 4).unwrap());
}

#[test]
fn the_bakery() {
    rough("bakery", &[2, 5, 16], 4, |n, me| Bakery::founding(n, me).unwrap());
    rough("bakery", &[64], 1, |n, me| Bakery::founding(n, me).unwrap());
}
