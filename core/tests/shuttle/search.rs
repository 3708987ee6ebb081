//! Searching through a plan, one at a time.

use crate::life::execute;
use crate::oracle::{self, Tally};
use crate::plan::Plan;
use crate::scheduler::{Lifetimes, Mortal};
use shuttle::scheduler::{PctScheduler, RandomScheduler, ReplayScheduler, Scheduler};
use shuttle::{Config, Runner};
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::sync::atomic::{AtomicUsize as PlainUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, Once};
use std::time::Instant;
use support::watchdog;

/// Calls `execute` as often as the scheduler wants.
pub fn search(scheduler: impl Scheduler + 'static, execute: impl Fn(&Lifetimes) + Send + Sync + 'static) {
    let mut config = Config::new();
    // What it would warn of, no weak memory, is said in `main`.
    config.silence_warnings = true;
    let lifetimes = Lifetimes::new();
    let scheduler = Mortal { inner: scheduler, lifetimes: lifetimes.clone() };
    Runner::new(scheduler, config).run(move || {
        watchdog::sign_of_life();
        execute(&lifetimes);
    });
}

#[expect(
    clippy::explicit_write,
    reason = "the test harness keeps what `eprintln!` says to itself if a test passes"
)]
pub fn say(sentence: std::fmt::Arguments) {
    writeln!(std::io::stderr(), "shuttle: {sentence}").unwrap();
}

/// The mutant is one for the whole process, and tests are its threads: so one test at a time.
static FIELD: Mutex<()> = Mutex::new(());

pub struct Field(#[expect(dead_code, reason = "held until the test ends")] MutexGuard<'static, ()>);

impl Field {
    pub fn without_mutant() -> Self {
        let field = Field(FIELD.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        watchdog::a_test_begins();
        turnlock_core::trace::watch(oracle::at);
        // Shuttle reports schedules from a panic hook that it installs at its first run: let it do that before a test
        // puts another hook on top.
        static HOOK: Once = Once::new();
        HOOK.call_once(|| shuttle::check(|| ()));
        field.clear();
        field
    }

    fn clear(&self) {
        #[cfg(feature = "mutants")]
        turnlock_core::mutants::switch_on(None);
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Names a schedule to be executed instead of a search.
const ONE_SCHEDULE: &str = "TURNLOCK_SCHEDULE";

/// How many preemptions at random places PCT makes, and one more.
pub const PCT_DEPTH: usize = 4;

/// Tries the plan in so many schedules of each kind, which must all hold, and says what came up.
pub fn all_hold(name: &str, plan: Plan, schedules: usize) -> Arc<Tally> {
    let _field = Field::without_mutant();
    let tally = Arc::<Tally>::default();
    let started = Instant::now();
    let (counted, plan) = (Arc::clone(&tally), plan.clone());
    in_schedules(name, schedules, move |lifetimes| execute(&plan, &counted, lifetimes));
    say(format_args!("{name}: {:.1} s, {tally:?}", started.elapsed().as_secs_f64()));
    tally
}

/// Calls `execute` in so many schedules of each kind.
pub fn in_schedules(
    name: &str,
    schedules: usize,
    execute: impl Fn(&Lifetimes) + Clone + Send + Sync + 'static,
) {
    let schedules =
        if std::env::var_os("TURNLOCK_SHUTTLE_LONG").is_some() { 40 * schedules } else { schedules };
    let seed = RandomState::new().hash_one(());
    if let Ok(schedule) = std::env::var(ONE_SCHEDULE) {
        search(ReplayScheduler::new_from_encoded(&schedule), execute);
    } else {
        let seed_told = std::env::var("SHUTTLE_RANDOM_SEED").unwrap_or(seed.to_string());
        say(format_args!("{name}: seed {seed_told}, {schedules} schedules random and as many by PCT"));
        search(RandomScheduler::new_from_seed(seed, schedules), execute.clone());
        search(PctScheduler::new_from_seed(seed, PCT_DEPTH, schedules), execute);
    }
}

/// Whether each of these happened at least once. Of a single schedule that is not asked.
pub fn came_up(counters: &[&PlainUsize]) -> bool {
    std::env::var_os(ONE_SCHEDULE).is_some() || counters.iter().all(|counter| counter.load(SeqCst) > 0)
}

pub fn all_deaths_came_up(tally: &Tally) -> bool {
    let Tally { deaths_inside, deaths_in_queue, deaths_elsewhere, deaths_acting, .. } = tally;
    let Tally { acted_for_others, abandoned, notices, .. } = tally;
    came_up(&[deaths_inside, deaths_in_queue, deaths_elsewhere, deaths_acting])
        && came_up(&[acted_for_others, abandoned, notices])
}
