//! Torture: workers share one lock and are killed, at random moments and at each named step, and stopped; an oracle in
//! plain shared memory watches. No hang, no double entry, no torn data without news, tokens that only rise.
//!
//! Needs `--features named-steps,seeded-bugs`. `TURNLOCK_TORTURE_KILLS` says how many kills (5,000 if not said);
//! `TURNLOCK_TORTURE_SEED` repeats a run's choices (not its schedule). The long run and its table are in
//! `docs/reliability.md`.
#![cfg(all(feature = "named-steps", feature = "seeded-bugs", not(any(loom, shuttle))))]

mod arena;
#[path = "../support/forked.rs"]
mod forked;
#[allow(dead_code)]
#[path = "../support/format.rs"]
mod format;
mod killer;
mod random;
mod report;
mod worker;

use arena::Fault;
use killer::{Outcome, Round};
use std::{sync::Mutex, time::Duration};
use turnlock::{DEFAULT_PATIENCE, seeded::Bug, steps::Step};

/// One torture at a time: they would starve each other.
static ONE: Mutex<()> = Mutex::new(());

fn kills() -> u64 {
    std::env::var("TURNLOCK_TORTURE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(5_000)
}

fn seed() -> u64 {
    let given = std::env::var("TURNLOCK_TORTURE_SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64)
}

#[test]
fn nobody_hangs_or_enters_twice_whoever_is_killed_wherever() {
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (kills, seed) = (kills(), seed());
    let cores = std::thread::available_parallelism().map_or(2, usize::from).max(2);
    println!("seed {seed}, {cores} cores");
    let round = |name, workers, stops, patience, retains| Round {
        name,
        workers,
        stops,
        patience,
        retains,
        bug: None,
        mostly_at: None,
    };
    let strict = Duration::ZERO;
    let rounds = [
        round("workers = cores, strict", cores, false, strict, false),
        round("workers = cores, strict, retaining, stops", cores, true, strict, true),
        round("workers = cores + 1, patient, retaining", cores + 1, false, DEFAULT_PATIENCE, true),
        round("workers = 3 x cores, patient, stops", 3 * cores, true, DEFAULT_PATIENCE, false),
    ];
    let share = kills.div_ceil(rounds.len() as u64);
    let outcomes: Vec<Outcome> = rounds.iter().map(|round| killer::torture(round, share, seed)).collect();
    let fault = report::print(&outcomes);
    assert!(fault.is_none(), "{}", fault.unwrap());
}

/// Bugs that show when participants die, or when they run on several cores at once. That the oracle can see them is
/// what makes its silence worth something.
fn is_caught(bug: Bug, mostly_at: Option<Step>, may_show_as: &[Fault]) {
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let cores = std::thread::available_parallelism().map_or(2, usize::from).max(2);
    // Usually the first attempt is enough; on a machine that gives us one core at a time, a missing fence needs more.
    for attempt in 1..=40 {
        let stops = attempt % 2 == 0;
        let patience = Duration::ZERO;
        let retains = bug.is_of_retentions();
        let round =
            Round { name: "seeded bug", workers: cores, stops, patience, retains, bug: Some(bug), mostly_at };
        let outcome = killer::torture(&round, 2_000, seed());
        if let Some(fault) = may_show_as.iter().find(|fault| outcome.count(**fault) > 0) {
            println!("{bug:?}: {fault:?} after at most {} kills", outcome.kills() * attempt);
            return;
        }
    }
    panic!("{bug:?} was planted and nothing was seen");
}

#[test]
fn a_missing_fence_before_the_wait_is_caught() {
    is_caught(Bug::NoFenceBeforeWait, None, &[Fault::DoubleEntry, Fault::Torn, Fault::Token]);
}

#[test]
fn a_missing_choosing_is_caught() {
    is_caught(Bug::NoChoosing, None, &[Fault::DoubleEntry, Fault::Torn, Fault::Token]);
}

#[test]
fn a_missing_tie_break_is_caught() {
    is_caught(Bug::NoTieBreak, None, &[Fault::DoubleEntry, Fault::Torn, Fault::Token]);
}

#[test]
fn a_death_that_is_forgotten_before_it_is_written_down_is_caught() {
    is_caught(Bug::ForgetBeforeNews, Some(Step::Reap), &[Fault::DoubleEntry, Fault::Torn]);
}

#[test]
fn an_owner_that_is_never_written_down_is_caught() {
    is_caught(Bug::NoHeld, None, &[Fault::DoubleEntry, Fault::Torn]);
}

#[test]
fn a_missing_barrier_after_asking_is_caught() {
    is_caught(Bug::NoMembarrier, None, &[Fault::DoubleEntry, Fault::Torn, Fault::Token]);
}

#[test]
fn a_retainer_that_looks_before_it_says_that_it_tries_is_caught() {
    is_caught(Bug::FlagAfterCheck, None, &[Fault::DoubleEntry, Fault::Torn, Fault::Token]);
}

#[test]
fn a_number_given_up_before_control_is_written_is_caught() {
    is_caught(Bug::LeaveBeforeControl, None, &[Fault::DoubleEntry, Fault::Torn, Fault::Token]);
}

#[test]
fn a_retainer_that_writes_control_itself_is_caught() {
    is_caught(Bug::ControlByNonCandidate, None, &[Fault::DoubleEntry, Fault::Torn, Fault::Token]);
}
