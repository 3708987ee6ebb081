//! Searching through plans, one at a time.

use crate::life;
use crate::oracle::{Tally, count, get};
use crate::plan::{Plan, READ, WRITE};
use crate::site::At;
use crate::world::World;
#[cfg(loom)]
use loom::thread;
#[cfg(shuttle)]
use shuttle::thread;
use std::sync::{Arc, MutexGuard};
use std::time::Instant;
use support::checker::{alone, check};
use support::watchdog;
use turnlock_core::algorithm::claim::Claim;
use turnlock_core::sync::Ordering::SeqCst;

/// One execution of all participants' visits: participant 0 is the model's main thread.
pub fn execute(plan: &Arc<Plan>, tally: &Arc<Tally>) {
    watchdog::sign_of_life();
    count(&tally.executions);
    let world = World::new(plan, tally);
    if plan.begins_biased {
        At::new(&world, 0).begin_biased(READ.claim);
    }
    if plan.begins_leased {
        world.link().set_lease_end(u64::MAX);
        world.oracle().leased = true;
    }
    if let Some(visit) = plan.begins_after {
        assert!(!world.visit(0, visit), "it did not die");
        At::new(&world, 0).attach();
    }
    let others: Vec<_> = (1..plan.visits.len())
        .map(|participant| {
            let world = Arc::clone(&world);
            thread::spawn(move || {
                let plan = Arc::clone(&world.plan);
                world.live(plan.slot_of(participant), &plan.visits[participant]);
            })
        })
        .collect();
    world.live(plan.slot_of(0), &plan.visits[0]);
    others.into_iter().for_each(|other| other.join().unwrap());
    if plan.block.is_some() {
        // What follows needs tokens.
        world.link().extend(1 << 40);
    }
    if plan.total() > 0 {
        world.oracle().elsewhere = 0;
        world.permits.store(plan.permits, SeqCst);
    }
    // The lock still works, for a writer and then for a reader.
    for (slot, visit) in [(plan.visits.len() - 1, WRITE), (0, READ)] {
        At::new(&world, slot).reap(slot);
        let claim = Claim { weight: plan.permits, ..visit.claim };
        assert!(world.visit(slot, crate::plan::Visit { claim, ..visit }));
    }
    At::new(&world, 0).check_cleared();
}

fn explore(preemptions: usize, plans: &[Plan], tally: &Arc<Tally>) {
    for plan in plans {
        let scene = || {
            let (plan, tally) = (Arc::new(plan.clone()), Arc::clone(tally));
            move || execute(&plan, &tally)
        };
        if cfg!(shuttle) {
            check(None, scene());
        }
        check(Some(preemptions), scene());
    }
}

pub fn without_mutants() -> MutexGuard<'static, ()> {
    let field = alone(cfg!(feature = "mutants"), || turnlock_core::trace::watch(life::watch));
    #[cfg(feature = "mutants")]
    turnlock_core::mutants::switch_on(None);
    field
}

/// Searches through the plans, which must all hold, and says how much that was. Loom must find `least` executions or more,
/// lest a search become trivial unnoticed.
pub fn all_hold(name: &str, preemptions: usize, plans: &[Plan], least: usize) -> Tally {
    let _field = without_mutants();
    let (began, tally) = (Instant::now(), Arc::<Tally>::default());
    explore(preemptions, plans, &tally);
    let tally = Arc::into_inner(tally).unwrap();
    let (executions, seconds) = (get(&tally.executions), began.elapsed().as_secs_f64());
    println!("{name}, {preemptions} preemptions: {executions} executions, {seconds:.1} s");
    let least = if cfg!(loom) { least } else { 500 };
    assert!(executions >= least, "{name}: {executions} executions, where {least} or more were found before");
    tally
}

#[cfg(all(feature = "mutants", loom))]
pub mod with_mutants {
    use super::*;
    use crate::oracle::Property;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use turnlock_core::mutants::{Mutant, switch_on};

    /// With the mutant the plan must fail for each of the properties, the others not being checked. For data and notice that
    /// may be loom's own verdict, a data race; what fails for another reason (it got too long, say) is not caught.
    pub fn is_caught(mutant: Mutant, preemptions: usize, plan: &Plan, properties: &[Property]) {
        let _field = without_mutants();
        switch_on(Some(mutant));
        for property in properties {
            let plan = Plan { only: Some(*property), ..plan.clone() };
            let reason = reason_of_failure(preemptions, &plan);
            let reason = reason.unwrap_or_else(|| panic!("{mutant:?} was not caught by {property:?}"));
            let by_loom = matches!(property, Property::Data | Property::OwnerDead)
                && reason.starts_with("Causality violation");
            let by_it = reason.contains(&format!("{property:?}: "));
            assert!(by_loom || by_it, "{mutant:?} failed, but not by {property:?}: {reason}");
            println!("{mutant:?} caught by {property:?}: {}", reason.lines().next().unwrap_or_default());
        }
    }

    fn reason_of_failure(preemptions: usize, plan: &Plan) -> Option<String> {
        let tally = Arc::default();
        let plans = std::slice::from_ref(plan);
        let outcome = catch_unwind(AssertUnwindSafe(|| explore(preemptions, plans, &tally)));
        let panic = outcome.err()?;
        let text = panic.downcast_ref::<String>().cloned();
        Some(text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default())
    }
}
