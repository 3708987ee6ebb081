//! Searching through plans, with a mutant switched on or without.

use crate::{
    oracle::{Tally, count, get},
    plan::{LOCK, Plan, RESET, together},
    scene::Scene,
    site::At,
};
use loom::model::Builder;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use support::watchdog;
use turnlock_core::sync::Ordering::SeqCst;

/// Explores a plan to the end.
fn explore(plan: &Plan, tally: &Arc<Tally>) {
    turnlock_core::trace::watch(crate::visit::watch);
    let (preemptions, threads) = (plan.preemptions, plan.visits.len());
    let (plan, tally) = (Arc::new(plan.clone()), Arc::clone(tally));
    explore_scene(preemptions, threads, move || {
        count(&tally.executions);
        execute(&plan, &tally);
    });
}

/// Explores what so many threads do to the end.
fn explore_scene(preemptions: Option<usize>, threads: usize, scene: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_threads = threads;
    // Either would end the search early and call that a success.
    (builder.max_duration, builder.max_permutations) = (None, None);
    builder.check(move || {
        watchdog::sign_of_life();
        scene();
    });
}

/// Explores what two threads do, which must hold, and says how much that was. Returns the number of executions.
pub fn two_hold(name: &str, scene: impl Fn() + Send + Sync + 'static) -> usize {
    let _field = Field::without_mutants();
    let (began, tally) = (processor_time(), Arc::<Tally>::default());
    let counted = Arc::clone(&tally);
    let preemptions = if std::env::var_os("TURNLOCK_LOOM_LONG").is_some() { None } else { Some(4) };
    explore_scene(preemptions, 2, move || {
        count(&counted.executions);
        scene();
    });
    let executions = get(&tally.executions);
    let bound = preemptions.map_or("any preemptions".into(), |most| format!("{most} preemptions"));
    let seconds = (processor_time() - began).as_secs_f64();
    say(format_args!("{name}, {bound}: {executions} executions, {seconds:.1} s"));
    executions
}

/// One execution of all participants' visits.
fn execute(plan: &Arc<Plan>, tally: &Arc<Tally>) {
    let scene = Scene::new(plan, tally);
    if plan.may_be_biased {
        At::new(&scene, plan.first_slot).begin_biased();
    }
    let all = Arc::clone(&scene);
    let slots = plan.visits.len();
    together(slots, move |participant| {
        let (scene, slot) = (&all, all.plan.slot_of(participant));
        if scene.plan.raise_bound && participant != 0 {
            scene.raise_bound(slot);
        }
        let mut is_alive = true;
        for visit in &scene.plan.visits[participant] {
            if !is_alive {
                At::new(scene, slot).attach();
            }
            is_alive = scene.visit(slot, *visit);
        }
    });
    let entries = get(&scene.oracle.entries);
    assert!(plan.entries().contains(&entries), "{entries} entries, not {:?}", plan.entries());
    // The lock still works, for the last slot and then for the first.
    let last = if plan.may_be_biased { slots - 1 } else { 0 };
    let visit = if plan.may_close() { RESET } else { LOCK };
    for (later, slot) in (0..=last).rev().enumerate() {
        At::new(&scene, slot).reap(slot);
        assert!(scene.visit(slot, visit));
        assert_eq!(scene.oracle.entries.load(SeqCst), entries + later + 1, "the last entry");
    }
    At::new(&scene, 0).check_cleared();
}

#[expect(
    clippy::explicit_write,
    reason = "the test harness keeps what `eprintln!` says to itself if a test passes"
)]
pub fn say(sentence: std::fmt::Arguments) {
    writeln!(std::io::stderr(), "loom: {sentence}").unwrap();
}

/// The mutant is one for the whole process, and tests are its threads: so one test at a time.
static FIELD: Mutex<()> = Mutex::new(());

struct Field(#[expect(dead_code, reason = "held until the test ends")] MutexGuard<'static, ()>);

impl Field {
    fn without_mutants() -> Self {
        let field = Field(FIELD.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        field.clear();
        watchdog::a_test_begins();
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

/// Returns how long this thread has run: loom's threads are parts of it, and a busy machine makes no search longer.
fn processor_time() -> Duration {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(said.split(' ').next().and_then(|run| run.parse().ok()).unwrap_or(0))
}

/// Explores the plans, which must all hold, and says how much that was. `least` executions or more must be found, lest
/// a search become trivial unnoticed.
pub fn all_hold(name: &str, plans: &[Plan], least: usize) -> Tally {
    let _field = Field::without_mutants();
    let began = processor_time();
    let tally = Arc::<Tally>::default();
    for plan in plans {
        explore(plan, &tally);
    }
    let tally = Arc::into_inner(tally).unwrap();
    let executions = get(&tally.executions);
    let bound = plans[0].preemptions.map_or("any preemptions".into(), |most| format!("{most} preemptions"));
    let seconds = (processor_time() - began).as_secs_f64();
    say(format_args!("{name}, {bound}: {executions} executions, {seconds:.1} s"));
    assert!(executions >= least, "{name}: {executions} executions, where {least} or more were found before");
    assert!(get(&tally.waits) > 0 || !plans.iter().any(Plan::has_waiters), "no participant ever waited");
    tally
}

#[cfg(feature = "mutants")]
pub mod with_mutants {
    use super::*;
    use crate::oracle::Property;
    use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
    use turnlock_core::mutants::{Mutant, switch_on};

    /// Explores the plan; if that panics, says why, and the panic is not reported as a failure of the test.
    fn reason_of_failure(plan: &Plan, tally: &Arc<Tally>) -> Option<String> {
        reason_of(|| explore(plan, tally))
    }

    /// With the mutant what two threads do must fail, with a reason in which `why` stands.
    pub fn two_fail(mutant: Mutant, why: &[&str], scene: impl Fn() + Send + Sync + 'static) {
        let _field = Field::without_mutants();
        switch_on(Some(mutant));
        let reason = reason_of(|| explore_scene(None, 2, scene));
        let reason = reason.unwrap_or_else(|| panic!("{mutant:?} was not caught"));
        assert!(
            why.iter().any(|why| reason.contains(why)),
            "{mutant:?} failed, but not by {why:?}: {reason}"
        );
        say(format_args!("{mutant:?} caught: {}", reason.lines().next().unwrap()));
    }

    fn reason_of(explore: impl FnOnce()) -> Option<String> {
        let here = std::thread::current().id();
        let reporter = Arc::new(take_hook());
        let for_others = Arc::clone(&reporter);
        set_hook(Box::new(move |panic| {
            if std::thread::current().id() != here {
                for_others(panic);
            }
        }));
        let outcome = catch_unwind(AssertUnwindSafe(explore));
        drop(take_hook());
        set_hook(Arc::into_inner(reporter).unwrap());
        let panic = outcome.err()?;
        let text = panic.downcast_ref::<String>().cloned();
        Some(text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap())
    }

    /// With the mutant the plan must fail for each of the properties ([`fails`]).
    pub fn is_caught(mutant: Mutant, plan: &Plan, properties: &[Property]) {
        let field = Field::without_mutants();
        switch_on(Some(mutant));
        fails_in(&field, &format!("{mutant:?}"), plan, properties);
    }

    /// The plan must fail for each of the properties, the others not being checked. For the data and the notice that may be
    /// loom's own verdict, a data race; what fails for another reason (the model got too long, say) is not caught.
    pub fn fails(name: &str, plan: &Plan, properties: &[Property]) {
        fails_in(&Field::without_mutants(), name, plan, properties);
    }

    fn fails_in(_: &Field, name: &str, plan: &Plan, properties: &[Property]) {
        let name = format!("{name}, {:?},", plan.form);
        for property in properties {
            let tally = Arc::<Tally>::default();
            let plan = Plan { only: Some(*property), ..plan.clone() };
            let reason = reason_of_failure(&plan, &tally);
            let executions = get(&tally.executions);
            let Some(reason) = reason else {
                panic!("{name} was not caught by {property:?} in {executions} executions");
            };
            let caught = reason.contains(&format!("{property:?}: "))
                || matches!(property, Property::Data | Property::OwnerDead)
                    && reason.starts_with("Causality violation");
            assert!(caught, "{name} failed, but not by {property:?}: {reason}");
            let reason = reason.lines().next().unwrap();
            say(format_args!("{name} caught by {property:?} in execution {executions}: {reason}"));
        }
    }
}
