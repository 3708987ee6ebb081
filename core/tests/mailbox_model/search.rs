//! Searching through plans, one at a time.

use crate::{
    ends::{self, Tally, execute},
    plan::{End, Life, Plan, tries},
};
use std::{
    sync::{Arc, MutexGuard, atomic::Ordering::SeqCst},
    time::Instant,
};
use support::checker::{IS_LONG, alone, check};

fn without_mutants() -> MutexGuard<'static, ()> {
    let field = alone(cfg!(feature = "mutants"), || turnlock_core::trace::watch(ends::watch));
    #[cfg(feature = "mutants")]
    turnlock_core::mutants::switch_on(None);
    field
}

fn explore(plan: &Plan, preemptions: Option<usize>, tally: &Arc<Tally>) -> usize {
    let (plan, tally) = (plan.clone(), tally.clone());
    check(preemptions, move || execute(&plan, &tally))
}

/// Searches through the plans, which must all hold, and says how much that was: `least` executions or more, lest a search become
/// trivial unnoticed.
fn all_hold(name: &str, plans: &[Plan], least: usize) -> Tally {
    let _field = without_mutants();
    let (began, tally) = (Instant::now(), Arc::<Tally>::default());
    let preemptions = (!*IS_LONG).then_some(4);
    let executions: usize = plans.iter().map(|plan| explore(plan, preemptions, &tally)).sum();
    let bound = preemptions.map_or("any preemptions".into(), |most| format!("{most} preemptions"));
    let tally = Arc::into_inner(tally).unwrap();
    let seconds = began.elapsed().as_secs_f64();
    let [full, empty, taken, deaths, again] =
        [&tally.full, &tally.empty, &tally.taken, &tally.deaths, &tally.read_again]
            .map(|count| count.load(SeqCst));
    println!(
        "{name}, {bound}: {executions} executions, {seconds:.1} s; {taken} messages taken, {full} times full, \
         {empty} times empty, {deaths} deaths, {again} messages read again"
    );
    assert!(executions >= least, "{name}: {executions} executions, where {least} or more were found before");
    assert!(taken > 0 && empty > 0, "{name}: the ends never met");
    tally
}

/// Where both counts begin: at 0, and where they wrap.
fn from_anywhere(plan: Plan) -> [Plan; 2] {
    [plan.clone(), plan.starting_at(u64::MAX - 1)]
}

#[test]
fn messages_come_whole_once_and_in_order_also_where_the_ring_is_full_and_wraps() {
    let plans = from_anywhere(Plan::new(&[tries(4)], &[tries(3)]));
    let tally = all_hold("two ends", &plans, 10_000);
    assert!(tally.full.load(SeqCst) > 0, "it was never full");
}

/// In its last try, or in the only one; and then the next life.
#[test]
fn what_a_dead_producer_had_begun_is_not_there_and_the_next_life_comes_whole() {
    let dies = |how| [1, 2].map(|before| [tries(before).dies(how), tries(2)]);
    let hows = [End::WordsWritten(0), End::WordsWritten(1), End::WordsWritten(2), End::BeforeTheStore];
    let lives = hows.into_iter().flat_map(dies);
    let plans: Vec<Plan> =
        lives.flat_map(|lives: [Life; 2]| from_anywhere(Plan::new(&lives, &[tries(3)]))).collect();
    let tally = all_hold("a producer dies", &plans, 30_000);
    assert!(tally.deaths.load(SeqCst) > 0, "no producer died");
}

#[test]
fn what_a_dead_consumer_had_read_is_read_again() {
    let lives = [tries(2).dies(End::BeforeTheStore), tries(2)];
    let plans = from_anywhere(Plan::new(&[tries(3)], &lives));
    let tally = all_hold("a consumer dies", &plans, 10_000);
    assert!(tally.read_again.load(SeqCst) > 0, "nothing was read again");
}

#[test]
fn both_may_die() {
    let [producer, consumer] = [2, 1].map(|before| [tries(before).dies(End::BeforeTheStore), tries(2)]);
    let tally = all_hold("both die", &from_anywhere(Plan::new(&producer, &consumer)), 5_000);
    assert!(tally.deaths.load(SeqCst) > 0 && tally.read_again.load(SeqCst) > 0, "neither end died");
}

#[cfg(feature = "mutants")]
pub mod with_mutants {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use turnlock_core::mutants::{Mutant, switch_on};

    /// With the mutant the plan must fail, with a reason in which `why` stands.
    pub fn is_caught(mutant: Mutant, plan: &Plan, why: &str) {
        let _field = without_mutants();
        switch_on(Some(mutant));
        let outcome = catch_unwind(AssertUnwindSafe(|| explore(plan, None, &Arc::default())));
        switch_on(None);
        let panic = outcome.err().unwrap_or_else(|| panic!("{mutant:?} was not caught by {why:?}"));
        let text = panic.downcast_ref::<String>().cloned();
        let reason = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap();
        assert!(reason.contains(why), "{mutant:?} failed, but not by {why:?}: {reason}");
        println!("{mutant:?} caught: {}", reason.lines().next().unwrap_or_default());
    }
}
