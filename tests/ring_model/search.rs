//! Searching through plans, one at a time.

use crate::events::ROUNDS;
use crate::world::{self, EVICTIONS, LOST, Visit, World};
#[cfg(loom)]
use loom::thread;
#[cfg(shuttle)]
use shuttle::thread;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use support::watchdog;
use turnlock::algorithm::ring::{Membership, Rule};

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

/// With `TURNLOCK_LOOM_LONG` or `TURNLOCK_SHUTTLE_LONG` set, the searches go further.
pub static IS_LONG: LazyLock<bool> = LazyLock::new(|| {
    let name = if cfg!(loom) { "TURNLOCK_LOOM_LONG" } else { "TURNLOCK_SHUTTLE_LONG" };
    std::env::var_os(name).is_some()
});

/// The mutant is one for the whole process, and tests are its threads: so one test at a time.
static FIELD: Mutex<()> = Mutex::new(());

pub fn alone() -> MutexGuard<'static, ()> {
    let alone = FIELD.lock().unwrap_or_else(PoisonError::into_inner);
    watchdog::a_test_begins();
    turnlock::trace::watch(world::at);
    alone
}

/// Searches through every schedule with so many preemptions. Returns how many there were.
#[cfg(loom)]
pub fn check(preemptions: Option<usize>, scene: impl Fn() + Send + Sync + 'static) -> usize {
    use std::sync::{Arc, atomic::AtomicUsize};
    let count = Arc::new(AtomicUsize::new(0));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    (builder.max_duration, builder.max_permutations) = (None, None);
    builder.max_branches = 20_000;
    let counted = count.clone();
    builder.check(move || {
        counted.fetch_add(1, SeqCst);
        scene();
    });
    count.load(SeqCst)
}

/// Searches through schedules at random; with a number those with so many preemptions.
#[cfg(shuttle)]
pub fn check(preemptions: Option<usize>, scene: impl Fn() + Send + Sync + 'static) -> usize {
    use shuttle::scheduler::{PctScheduler, RandomScheduler};
    let mut config = shuttle::Config::new();
    // What it would warn of, no weak memory, is said above.
    config.silence_warnings = true;
    let schedules = if *IS_LONG { 60_000 } else { 1000 };
    match preemptions {
        None => shuttle::Runner::new(RandomScheduler::new(schedules), config).run(scene),
        Some(preemptions) => {
            // As many as a mutant takes, at least.
            let schedules = schedules * if cfg!(feature = "mutants") { 60 } else { 1 };
            shuttle::Runner::new(PctScheduler::new(preemptions, schedules), config).run(scene)
        }
    }
}

pub fn rules(machines: usize) -> [Rule; 3] {
    [Rule::KState, Rule::Raynal, Rule::Sum { step: machines - 1 }]
}

/// Searches through the plan for each rule, which must hold.
pub fn all_hold(name: &str, machines: usize, preemptions: Option<usize>, least: usize, visits: &[Visit]) {
    let _alone = alone();
    let standing = visits.iter().filter(|visit| visit.membership == Membership::Standing).count();
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
        assert!(rounds > 0 || standing < 2, "the turn never went round");
        let [evictions, lost] = [&EVICTIONS, &LOST].map(|count| count.load(SeqCst));
        if evicts {
            println!("  passed over {evictions} times, seen by the one that lost its turn {lost} times");
            assert!(evictions > 0 && lost > 0, "nobody was passed over");
        }
        let least = if cfg!(loom) { least } else { 2000 };
        assert!(executions >= least, "a search that has become smaller: {least} or more were found before");
    }
}
