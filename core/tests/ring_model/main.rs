//! The real rings under loom (every interleaving of a few participants, and every stale value that the C11 orders let a
//! load return) and under shuttle (many random schedules of more of them): the acquisition that ships
//! (`acquire::operations`, with `acquire::rotation`), at a site whose registers are the checker's.
//!
//! Shown, deaths at every store of an unlock included: one holder at a time; a holder sees what the last holder wrote;
//! exactly one machine has the privilege, after every store; no participant is left waiting, whichever one is passed over
//! and at whichever moment; the next holder after a death inside is told, and no other; and the turn goes round exactly
//! among the ring members.
//!
//! Under loom 273,000 executions, 20 seconds of one core; under shuttle 120,000, half a minute. With the feature `mutants`,
//! and in a copy of the sources that has the patches of `tests/mutants/`, the mutants of `with_mutants` must be caught.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release -p turnlock-core --features trace --test ring_model
//! RUSTFLAGS="--cfg shuttle" cargo test --release -p turnlock-core --features trace --test ring_model
//! ```
#![cfg(all(any(loom, shuttle), feature = "trace"))]

mod events;
mod machines;
mod queue;
mod search;
#[cfg(feature = "mutants")]
mod with_mutants;
mod world;

use search::{all_hold, alone, execute, rules};
use support::checker::{IS_LONG, check};
use turnlock_core::algorithm::ring::Membership;
use world::{End, Visit};

// All searches together take some seconds.
support::watched_for_seconds!(600);

/// So many turns, and a wish for each.
const fn on_demand(turns: usize) -> Visit {
    Visit { membership: Membership::OneTurn, turns, end: End::Unlocks, evicts: false }
}

/// So many turns among the ring members.
const fn stands(turns: usize) -> Visit {
    Visit { membership: Membership::EveryTurn, turns, end: End::Unlocks, evicts: false }
}

/// One that passes over others.
const fn evicts(visit: Visit) -> Visit {
    Visit { evicts: true, ..visit }
}

#[test]
fn two_on_demand() {
    let preemptions = if *IS_LONG { 4 } else { 3 };
    all_hold("two on demand", 2, Some(preemptions), 10_000, &[on_demand(1), on_demand(1)]);
}

#[test]
fn two_who_stand() {
    all_hold("two who stand", 2, Some(3), 18_000, &[stands(2), stands(2)]);
}

#[test]
fn one_who_stands_and_one_on_demand_who_comes_back() {
    let (turns, preemptions, least) = if *IS_LONG { (1, 3, 60_000) } else { (2, 2, 1600) };
    all_hold("one stands, one comes back", 2, Some(preemptions), least, &[stands(turns), on_demand(2)]);
}

/// A participant that has the turn and has not entered may be passed over, at any moment, whether it is stopped or not.
#[test]
fn one_that_is_passed_over_asks_again() {
    let preemptions = if *IS_LONG { 4 } else { 3 };
    let turns = if cfg!(loom) { 1 } else { 6 };
    let visits = [on_demand(turns), evicts(on_demand(turns))];
    all_hold("evicts one", 2, Some(preemptions), 7000, &visits);
}

#[test]
fn a_member_passes_over_one_on_demand() {
    let turns = if cfg!(loom) { 1 } else { 6 };
    all_hold("stands and evicts", 2, Some(3), 7000, &[evicts(stands(turns)), on_demand(turns)]);
}

/// Participant 0 dies in its last turn, or gives the lock up as if dead; the others take their turns all the same.
#[test]
fn a_death_at_each_store_of_an_unlock() {
    let others = if cfg!(loom) { vec![on_demand(1)] } else { vec![on_demand(3), stands(3)] };
    let ends = (0..8).map(End::DiesAtStore).chain([End::DiesInside, End::Abandons]);
    a_death(ends, on_demand(1), &others);
}

/// Participant 0 dies while it waits and passes over others.
#[test]
fn a_death_at_each_store_of_one_that_passes_over_others() {
    let one = evicts(on_demand(1));
    let others = if cfg!(loom) { vec![on_demand(1)] } else { vec![on_demand(3), evicts(on_demand(3))] };
    a_death((0..if cfg!(loom) { 4 } else { 12 }).map(End::DiesWaitingAtStore), one, &others);
}

fn a_death(ends: impl Iterator<Item = End> + Clone, mortal: Visit, others: &[Visit]) {
    let _alone = alone();
    let machines = if cfg!(loom) { 2 } else { 8 };
    for (rule, end) in rules(machines).into_iter().flat_map(|rule| ends.clone().map(move |end| (rule, end))) {
        let visits = [vec![Visit { end, ..mortal }], others.to_vec()].concat();
        let began = std::time::Instant::now();
        let executions = check(Some(2).filter(|_| cfg!(loom)), move || execute(rule, machines, &visits));
        println!("{end:?}, {rule:?}: {executions} executions, {:.1} s", began.elapsed().as_secs_f64());
        assert!(executions > 10, "a search that has become trivial");
    }
}

#[cfg(shuttle)]
#[test]
fn four_of_both_kinds_with_gaps_between_them() {
    all_hold("four", 8, None, 0, &[stands(3), on_demand(4), stands(2), on_demand(5)]);
    all_hold("three on demand", 3, None, 0, &[on_demand(6), on_demand(6), on_demand(6)]);
}

#[cfg(shuttle)]
#[test]
fn everyone_passes_over_everyone() {
    let [one, member] = [evicts(on_demand(4)), evicts(stands(3))];
    all_hold("three evict", 3, None, 0, &[one, one, one]);
    all_hold("four evict, one of them stands", 8, None, 0, &[member, one, one, on_demand(4)]);
}
