//! Searching through plans, one at a time.

use crate::{
    plan::{Plan, cancelled, circle, handed_on, released, retaken},
    world::{Tally, World},
};
#[cfg(loom)]
use loom::thread;
#[cfg(shuttle)]
use shuttle::thread;
use std::{
    sync::{Arc, MutexGuard, atomic::Ordering::SeqCst},
    time::Instant,
};
use support::{
    checker::{IS_LONG, alone, check},
    watchdog,
};

/// One execution. Thread 0 is the model's main thread.
fn execute(plan: &Plan, tally: &Arc<Tally>) {
    watchdog::sign_of_life();
    tally.executions.fetch_add(1, SeqCst);
    let world = World::new(plan, tally);
    let others: Vec<_> = (1..plan.len())
        .map(|me| {
            let world = Arc::clone(&world);
            thread::spawn(move || world.live(me))
        })
        .collect();
    world.live(0);
    others.into_iter().for_each(|other| other.join().unwrap());
    world.check_end();
}

pub fn explore(plan: &Plan, preemptions: usize, tally: &Arc<Tally>) {
    let scene = || {
        let (plan, tally) = (plan.clone(), Arc::clone(tally));
        move || execute(&plan, &tally)
    };
    if cfg!(shuttle) {
        check(None, scene());
    }
    check(Some(preemptions), scene());
}

/// How many preemptions: loom goes through all schedules with so many, shuttle through some.
pub const fn preemptions(loom: usize, shuttle: usize) -> usize {
    if cfg!(loom) { loom } else { shuttle }
}

pub fn without_mutants() -> MutexGuard<'static, ()> {
    alone(cfg!(feature = "mutants"), || {
        #[cfg(feature = "mutants")]
        turnlock_core::mutants::switch_on(None);
    })
}

/// Searches through the plan, which must hold, and says how much that was. Loom must find `least` executions or more, lest a search
/// become trivial unnoticed.
fn holds(name: &str, plan: &Plan, preemptions: usize, least: usize) -> Tally {
    let _field = without_mutants();
    let (began, tally) = (Instant::now(), Arc::<Tally>::default());
    let preemptions = preemptions + usize::from(*IS_LONG);
    // One execution takes microseconds.
    let rounds = if cfg!(loom) { 1 } else { 10 };
    (0..rounds).for_each(|_| explore(plan, preemptions, &tally));
    let tally = Arc::into_inner(tally).unwrap();
    let [executions, reports, circles] =
        [&tally.executions, &tally.reports, &tally.circles].map(|count| count.load(SeqCst));
    println!(
        "{name}, {preemptions} preemptions: {executions} executions, {:.1} s; {reports} reports by a thread beside others, {circles} \
         circles at the end",
        began.elapsed().as_secs_f64()
    );
    let least = if cfg!(loom) { least } else { 5000 };
    assert!(executions >= least, "{name}: {executions} executions, where {least} or more were found before");
    tally
}

fn finds(name: &str, plan: &Plan, preemptions: usize, least: usize) {
    let tally = holds(name, plan, preemptions, least);
    assert!(tally.circles.load(SeqCst) > 0, "{name}: there was no circle");
    assert!(tally.reports.load(SeqCst) > 0, "{name}: none was found beside others");
}

#[test]
fn a_circle_of_two_is_found_by_the_wait_that_closed_it() {
    finds("a circle of two", &circle(2, 2), preemptions(3, 3), 300);
}

#[test]
fn a_circle_of_three_is_found_by_the_wait_that_closed_it() {
    finds("a circle of three", &circle(3, 1), preemptions(3, 3), 500);
}

#[test]
fn what_was_released_before_a_wait_is_in_no_circle() {
    let tally = holds("released before the wait", &released(), preemptions(2, 4), 3_000);
    assert_eq!(tally.reports.load(SeqCst), 0);
}

#[test]
fn two_holds_of_a_lock_are_not_one_and_two_waits_for_it_neither() {
    let tally = holds("held twice, waited for twice", &retaken(), preemptions(1, 7), 200);
    assert_eq!(tally.reports.load(SeqCst), 0);
}

#[test]
fn a_circle_that_a_cancel_ends_was_there() {
    let tally = holds("a wait that is cancelled", &cancelled(), preemptions(3, 3), 5_000);
    assert!(tally.reports.load(SeqCst) > 0, "no circle was found before it was over");
}

#[test]
fn locks_that_are_handed_on_are_in_no_circle_but_in_those_that_last() {
    finds("handed on", &handed_on(if cfg!(loom) { 1 } else { 3 }), preemptions(3, 3), 3_000);
}
