//! The checker that a suite is built for: loom, which goes through every schedule, or shuttle, which goes through many.

use crate::watchdog;
use std::sync::{
    LazyLock, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering::SeqCst},
};

/// With `TURNLOCK_LOOM_LONG` or `TURNLOCK_SHUTTLE_LONG` set, the searches go further.
pub static IS_LONG: LazyLock<bool> = LazyLock::new(|| {
    let name = if cfg!(loom) { "TURNLOCK_LOOM_LONG" } else { "TURNLOCK_SHUTTLE_LONG" };
    std::env::var_os(name).is_some()
});

/// The mutant is one for the whole process, and tests are its threads: so one test at a time.
static FIELD: Mutex<()> = Mutex::new(());

/// Of the schedules for mutants.
#[cfg(shuttle)]
const SEED: u64 = 1974;

static FOR_MUTANT: AtomicBool = AtomicBool::new(false);

/// Waits until no other search runs, and runs `begin` then, which has this one's steps watched. `for_mutant`: it is to find a
/// mutant, and goes as far as that takes.
pub fn alone(for_mutant: bool, begin: impl FnOnce()) -> MutexGuard<'static, ()> {
    let alone = FIELD.lock().unwrap_or_else(PoisonError::into_inner);
    watchdog::a_test_begins();
    FOR_MUTANT.store(for_mutant, SeqCst);
    begin();
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

/// Searches through schedules at random; with a number those with so many preemptions. For a mutant always the same ones, so
/// that it is caught in every run or in none.
#[cfg(shuttle)]
pub fn check(preemptions: Option<usize>, scene: impl Fn() + Send + Sync + 'static) -> usize {
    use shuttle::scheduler::{PctScheduler, RandomScheduler};
    let mut config = shuttle::Config::new();
    // What it would warn of, no weak memory, is said above.
    config.silence_warnings = true;
    let schedules = if *IS_LONG { 60_000 } else { 250 };
    let for_mutant = FOR_MUTANT.load(SeqCst);
    match preemptions {
        // As many as a mutant takes, at least; so below.
        None if for_mutant => {
            shuttle::Runner::new(RandomScheduler::new_from_seed(SEED, 500), config).run(scene)
        }
        None => shuttle::Runner::new(RandomScheduler::new(schedules), config).run(scene),
        Some(preemptions) if for_mutant => {
            let scheduler = PctScheduler::new_from_seed(SEED, preemptions, 60_000);
            shuttle::Runner::new(scheduler, config).run(scene)
        }
        Some(preemptions) => {
            shuttle::Runner::new(PctScheduler::new(preemptions, schedules), config).run(scene)
        }
    }
}
