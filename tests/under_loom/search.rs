//! Searching through plans, with a bug planted or without.

#[cfg(feature = "mutants")]
use super::world::Property;
use super::{Plan, Visits, world::Tally};
use crate::watchdog;
use loom::model::Builder;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;
use turnlock::sync::Ordering::SeqCst;

/// Explores a plan to the end.
pub fn explore<V: Visits>(plan: &Plan<V>, tally: &Arc<Tally>) {
    let mut builder = Builder::new();
    builder.preemption_bound = plan.preemptions;
    builder.max_threads = plan.visits.len();
    // Either would end the search early and call that a success.
    (builder.max_duration, builder.max_permutations) = (None, None);
    let (plan, tally) = (Arc::new(plan.clone()), Arc::clone(tally));
    builder.check(move || {
        tally.executions.fetch_add(1, SeqCst);
        watchdog::sign_of_life();
        V::execute(&plan, &tally);
    });
}

#[expect(
    clippy::explicit_write,
    reason = "the test harness keeps what `eprintln!` says to itself if a test passes"
)]
pub fn say(sentence: std::fmt::Arguments) {
    writeln!(std::io::stderr(), "loom: {sentence}").unwrap();
}

/// The planted bug is one for the whole process, and tests are its threads: so one test at a time.
static FIELD: Mutex<()> = Mutex::new(());

pub struct Field(#[expect(dead_code, reason = "held until the test ends")] MutexGuard<'static, ()>);

impl Field {
    pub fn unplanted() -> Self {
        let field = Field(FIELD.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        field.clear();
        watchdog::a_test_begins();
        field
    }

    fn clear(&self) {
        #[cfg(feature = "mutants")]
        turnlock::mutants::switch_on(None);
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Explores the plans, which must all hold, and says how much that was. `least` executions or more must be found, lest
/// a search become trivial unnoticed.
pub fn all_hold<V: Visits>(name: &str, plans: &[Plan<V>], least: usize) -> Tally {
    let _field = Field::unplanted();
    let started = Instant::now();
    let tally = Arc::<Tally>::default();
    for plan in plans {
        explore(plan, &tally);
    }
    let tally = Arc::into_inner(tally).unwrap();
    let executions = Tally::get(&tally.executions);
    say(format_args!("{name}: {executions} executions, {:.1} s", started.elapsed().as_secs_f64()));
    assert!(executions >= least, "{name}: {executions} executions, where {least} or more were found before");
    assert!(
        Tally::get(&tally.waits) > 0 || plans.iter().all(|plan| !plan.visits.iter().flatten().any(V::waits)),
        "nobody ever waited"
    );
    tally
}

#[cfg(feature = "mutants")]
pub mod planted {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
    use turnlock::mutants::{Mutant, plant};

    /// Explores the plan; if that panics, says why, and the panic is not reported as a failure of the test.
    fn reason_of_failure<V: Visits>(plan: &Plan<V>, tally: &Arc<Tally>) -> Option<String> {
        let here = std::thread::current().id();
        let reporter = Arc::new(take_hook());
        let for_others = Arc::clone(&reporter);
        set_hook(Box::new(move |panic| {
            if std::thread::current().id() != here {
                for_others(panic);
            }
        }));
        let outcome = catch_unwind(AssertUnwindSafe(|| explore(plan, tally)));
        drop(take_hook());
        set_hook(Arc::into_inner(reporter).unwrap());
        let panic = outcome.err()?;
        let text = panic.downcast_ref::<String>().cloned();
        Some(text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap())
    }

    /// With the bug planted the plan must fail for each of the properties, the others not being checked. For the data
    /// that may be loom's own verdict, a data race; what fails for another reason (the model got too long, say) is
    /// not caught.
    pub fn is_caught<V: Visits>(bug: Mutant, plan: &Plan<V>, properties: &[Property]) {
        let _field = Field::unplanted();
        plant(Some(bug));
        for property in properties {
            let tally = Arc::<Tally>::default();
            let plan = Plan { only: Some(*property), bug: Some(bug), ..plan.clone() };
            let reason = reason_of_failure(&plan, &tally);
            let executions = Tally::get(&tally.executions);
            let Some(reason) = reason else {
                panic!("{bug:?} was not caught by {property:?} in {executions} executions");
            };
            let caught = reason.contains(&format!("{property:?}: "))
                || *property == Property::Data && reason.starts_with("Causality violation");
            assert!(caught, "{bug:?} failed, but not by {property:?}: {reason}");
            let reason = reason.lines().next().unwrap();
            say(format_args!("{bug:?} caught by {property:?} in execution {executions}: {reason}"));
        }
    }
}
