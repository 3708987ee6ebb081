//! Mutants, each of which the search must catch: by each property that it breaks, with either scheduler, and again from
//! the seed of the schedule that failed.

use crate::life::execute;
use crate::oracle::Tally;
use crate::plan::Plan;
use crate::plan::Property::{self, Awake, Away, Data, Exclusion, Notice, Order, Token};
use crate::scheduler::Lifetimes;
use crate::search::{Field, PCT_DEPTH, say, search};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Schedule, Scheduler, Task, TaskId};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64 as PlainU64, Ordering::SeqCst};
use turnlock_core::mutants::{Mutant, switch_on};

/// A scheduler that tells the seed of the current schedule, and is never dropped: when a schedule fails, the random
/// scheduler prints its seed on being dropped, and here a failure is what we want.
struct Quiet<S>(ManuallyDrop<S>, Arc<PlainU64>);

impl<S: Scheduler> Scheduler for Quiet<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        let schedule = self.0.new_execution();
        self.1.store(schedule.as_ref().map_or(0, |schedule| schedule.seed), SeqCst);
        schedule
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, yields: bool) -> Option<TaskId> {
        self.0.next_task(runnable, current, yields)
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// In which schedule the plan fails, the seed of that schedule, and why.
fn failure(plan: &Plan, scheduler: impl Scheduler + 'static) -> Option<(usize, u64, String)> {
    let tally = Arc::<Tally>::default();
    let (plan, counted) = (plan.clone(), Arc::clone(&tally));
    let (seed, reason) = failure_by(scheduler, move |lifetimes| execute(&plan, &counted, lifetimes))?;
    Some((tally.schedules.load(SeqCst), seed, reason))
}

/// The seed of the schedule that fails, and why. The panic is not reported as a failure of the test.
pub fn failure_by(
    scheduler: impl Scheduler + 'static,
    execute: impl Fn(&Lifetimes) + Send + Sync + 'static,
) -> Option<(u64, String)> {
    let seed = Arc::<PlainU64>::default();
    let here = std::thread::current().id();
    let reporter = Arc::new(take_hook());
    let for_others = Arc::clone(&reporter);
    set_hook(Box::new(move |panic| {
        if std::thread::current().id() != here {
            for_others(panic);
        }
    }));
    let scheduler = Quiet(ManuallyDrop::new(scheduler), Arc::clone(&seed));
    let outcome = catch_unwind(AssertUnwindSafe(|| search(scheduler, execute)));
    drop(take_hook());
    set_hook(Arc::into_inner(reporter).unwrap());
    let panic = outcome.err()?;
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap();
    Some((seed.load(SeqCst), text))
}

/// Which schedules must catch a mutant: what it takes may be too rare in those that are random all over, or to need more
/// preemptions than PCT makes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Both,
    PctAlone,
    RandomAlone,
}

/// The plan must fail for each of the properties, the others not being checked.
fn is_caught(name: &str, plan: &Plan, properties: &[Property], schedulers: By) {
    // Always the same, so that a mutant is caught in every run or in none.
    const SEED: u64 = 1974;
    const SCHEDULES: usize = 60_000;
    for property in properties {
        let plan = Plan { only: Some(*property), ..plan.clone() };
        let by = |scheduler: &str, failure: Option<(usize, u64, String)>| {
            let Some((schedules, seed, reason)) = failure else {
                panic!("{name} was not caught by {property:?} in {SCHEDULES} schedules ({scheduler})");
            };
            let caught = reason.contains(&format!("{property:?}: "));
            assert!(caught, "{name} failed, but not by {property:?} ({scheduler}): {reason}");
            (schedules, seed, reason)
        };
        if schedulers != By::RandomAlone {
            let pct = failure(&plan, PctScheduler::new_from_seed(SEED, PCT_DEPTH, SCHEDULES));
            let (pct, _, _) = by("PCT", pct);
            say(format_args!("{name} caught by {property:?} in schedule {pct} (PCT)"));
        }
        if schedulers == By::PctAlone {
            continue;
        }
        let random = failure(&plan, RandomScheduler::new_from_seed(SEED, SCHEDULES));
        let (random, seed, reason) = by("random", random);
        let line = reason.lines().next().unwrap();
        say(format_args!("{name} caught by {property:?} in schedule {random} (random): {line}"));
        let again = failure(&plan, RandomScheduler::new_from_seed(seed, 1));
        assert_eq!(again, Some((1, seed, reason)), "{name} from the seed of the schedule that failed");
    }
}

fn is_caught_when_on(mutant: Mutant, plan: &Plan, properties: &[Property]) {
    let _field = Field::without_mutant();
    switch_on(Some(mutant));
    is_caught(&format!("{mutant:?}"), plan, properties, By::Both);
}

#[test]
fn without_choosing_two_are_inside() {
    is_caught_when_on(Mutant::NoChoosing, &Plan::new(3, 3), &[Exclusion, Data, Token]);
}

#[test]
fn without_the_tie_break_two_are_inside() {
    is_caught_when_on(Mutant::NoTieBreak, &Plan::new(3, 3), &[Exclusion, Data, Token]);
}

#[test]
fn without_held_torn_data_come_without_notice() {
    is_caught_when_on(Mutant::NoHeld, &Plan::mortal(3, 3), &[Notice, Data]);
}

#[test]
fn when_the_number_is_cleared_before_the_notice_torn_data_come_without_it() {
    is_caught_when_on(Mutant::ClearBeforeNotice, &Plan::mortal(3, 3), &[Notice, Data]);
}

// No mutant lets a participant be overtaken under sequential consistency: shows that it would be seen.
#[test]
fn when_the_doorway_takes_no_notice_of_numbers_somebody_is_overtaken() {
    let _field = Field::without_mutant();
    let plan = Plan { unread_numbers: true, ..Plan::new(3, 3) };
    is_caught("a doorway without looking", &plan, &[Order], By::Both);
}

fn biased() -> Plan {
    Plan { bias: true, ..Plan::new(3, 5) }
}

#[test]
fn when_the_owner_looks_first_and_then_says_that_it_tries_two_are_inside() {
    is_caught_when_on(Mutant::FlagAfterCheck, &biased(), &[Exclusion]);
}

#[test]
fn when_the_number_is_cleared_before_the_bias_begins_two_are_inside() {
    is_caught_by(Mutant::LeaveBeforeBias, &biased(), &[Exclusion], By::PctAlone);
}

#[test]
fn when_the_owner_takes_its_mark_out_of_the_bias_word_two_are_inside() {
    let _field = Field::without_mutant();
    switch_on(Some(Mutant::BiasByNonHead));
    // Two are enough, and are where it must happen: of three it takes PCT tens of thousands of schedules.
    let plan = Plan { bias: true, ..Plan::new(2, 5) };
    is_caught("BiasByNonHead", &plan, &[Exclusion], By::RandomAlone);
}

#[test]
fn a_death_in_a_try_to_enter_is_told_though_it_was_none_inside() {
    let plan = Plan { bias: true, ..Plan::mortal(3, 5) };
    is_caught_when_on(Mutant::OwnerDeadByTrying, &plan, &[Notice]);
}

fn evicting() -> Plan {
    Plan { evict: true, ..Plan::new(3, 5) }
}

fn is_caught_at_random(mutant: Mutant, plan: &Plan, properties: &[Property]) {
    is_caught_by(mutant, plan, properties, By::RandomAlone);
}

fn is_caught_by(mutant: Mutant, plan: &Plan, properties: &[Property], schedulers: By) {
    let _field = Field::without_mutant();
    switch_on(Some(mutant));
    is_caught(&format!("{mutant:?}"), plan, properties, schedulers);
}

#[test]
fn when_who_passes_over_another_does_not_look_two_are_inside() {
    is_caught_at_random(Mutant::EvictsHolder, &evicting(), &[Exclusion, Data]);
}

#[test]
fn when_the_entry_step_looks_first_and_then_says_so_two_are_inside() {
    is_caught_at_random(Mutant::EntryCheckBeforeFlag, &evicting(), &[Exclusion, Data]);
}

#[test]
fn when_another_ones_eviction_is_believed_two_are_inside() {
    is_caught_at_random(Mutant::BelievesEviction, &evicting(), &[Exclusion]);
}

fn sleeping() -> Plan {
    Plan { sleep: true, patient: true, ..Plan::new(4, 4) }
}

#[test]
fn when_a_designated_waker_does_not_look_again_it_sleeps_on() {
    is_caught_at_random(Mutant::ParksWithoutLook, &sleeping(), &[Awake]);
}

#[test]
fn when_the_futex_word_is_read_after_the_last_look_a_waiter_sleeps_on() {
    let plan = Plan { sleep: true, ..Plan::new(3, 5) };
    is_caught_at_random(Mutant::WakeReadLate, &plan, &[Awake]);
}

#[test]
fn when_a_stale_successor_hint_counts_no_other_is_woken() {
    is_caught_at_random(Mutant::StaleSuccessorCounts, &sleeping(), &[Awake]);
}

#[test]
fn when_a_waiter_that_has_given_up_counts_as_woken_no_other_is() {
    let plan = Plan { withdraw: true, some_strict: true, ..sleeping() };
    is_caught_at_random(Mutant::StaleParkedCounts, &plan, &[Awake]);
}

#[test]
fn when_a_designated_waker_calls_no_other_they_sleep_on() {
    is_caught_at_random(Mutant::NextNotDesignated, &sleeping(), &[Awake]);
}

#[test]
fn when_a_stopped_designated_waker_stays_designated_the_others_sleep_on() {
    is_caught_at_random(Mutant::DesignatedNotReplaced, &Plan::stopped(4, 4), &[Awake]);
}

fn linked() -> Plan {
    Plan { sleep: true, ..Plan::linked(2, 4) }
}

#[test]
fn without_a_look_whether_it_is_away_a_program_enters_beside_another_host() {
    is_caught_when_on(Mutant::AwayUnseen, &Plan::linked(2, 4), &[Away, Token]);
}

#[test]
fn when_a_linked_lock_comes_home_before_its_tokens_they_are_another_hosts() {
    is_caught_at_random(Mutant::HomeBeforeTokens, &Plan::linked(2, 4), &[Token]);
}

#[test]
fn when_a_bias_begins_under_a_lease_its_owner_does_not_look_at_its_end() {
    let plan = Plan { bias: true, withdraw: true, ..Plan::linked(2, 5) };
    is_caught_at_random(Mutant::BiasUnderLease, &plan, &[Away]);
}

#[test]
fn when_an_agent_brings_its_lock_home_and_unparks_no_program_they_sleep_on() {
    is_caught_at_random(Mutant::HomeUnheard, &linked(), &[Awake]);
}

#[test]
fn when_the_agent_is_not_woken_programs_sleep_on() {
    is_caught_at_random(Mutant::WantsUnheard, &linked(), &[Awake]);
}

#[test]
fn when_the_head_alone_tells_the_agent_and_is_stopped_the_others_sleep_on() {
    is_caught_at_random(Mutant::HeadAloneTells, &Plan::on_demand(), &[Awake]);
}

#[test]
fn when_an_agent_takes_no_notice_of_those_that_let_others_pass_they_sleep_on() {
    is_caught_at_random(Mutant::StandbyUnwanted, &Plan::on_demand(), &[Awake]);
}

#[test]
fn when_a_waiter_that_was_passed_over_tells_the_agent_once_it_sleeps_on() {
    is_caught_at_random(Mutant::ToldOnce, &Plan::on_demand(), &[Awake]);
}
