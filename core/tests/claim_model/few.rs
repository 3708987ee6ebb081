//! Every schedule of a few participants, under loom.

use crate::groups::one_repairs_while_another_dies;
use crate::oracle::get;
use crate::plan::{
    BIAS, HOLD, INSIDE, KEEP, Plan, READ, Then, Threads, UPGRADE, Visit, WRITE, member, permits, range,
};
use crate::search::{all_hold, without_mutants};
use std::time::Duration;
use support::checker::IS_LONG;
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::{Mode, Relation};

#[test]
fn a_reader_is_inside_beside_an_upgradable_one_and_never_beside_a_writer() {
    all_hold("a reader and a writer", 2, &Plan::rwlock(&[&[READ], &[WRITE]]).in_each_slot(), 500);
    let plans = Plan::rwlock(&[&[READ], &[UPGRADE]]).in_each_slot();
    let tally = all_hold("a reader and an upgrader", 2, &plans, 2000);
    assert!(get(&tally.upgrades) > 0 && get(&tally.together) > 0, "they never met");
    all_hold("a writer and an upgrader", 2, &Plan::rwlock(&[&[WRITE], &[UPGRADE]]).in_each_slot(), 1000);
}

#[test]
fn who_downgrades_lets_readers_in_and_no_writer() {
    for to in [Mode::Shared, Mode::Upgradable] {
        let one = WRITE.then(Then::Downgrade(to));
        let tally =
            all_hold("a writer that downgrades, and a reader", 2, &[Plan::rwlock(&[&[one], &[READ]])], 200);
        assert!(get(&tally.together) > 0, "they never met");
        all_hold("a writer that downgrades, and a writer", 2, &[Plan::rwlock(&[&[one], &[WRITE]])], 200);
    }
    let both = HOLD.then(Then::UpgradeAndDowngrade(Mode::Shared));
    all_hold("an upgrader that downgrades, and a reader", 1, &[Plan::rwlock(&[&[both], &[READ]])], 100);
}

/// A reader that comes in by the new mode may bias the lock before the downgrade is done.
#[test]
fn who_downgrades_does_not_write_over_the_bias() {
    let one = WRITE.then(Then::Downgrade(Mode::Shared));
    let plan = Plan { meets_always: true, ..Plan::rwlock(&[&[one, WRITE], &[BIAS, READ]]) };
    all_hold("a writer that downgrades, and a reader that biases", 1, &[plan], 100);
}

#[test]
fn a_writer_revokes_the_bias_and_waits_for_the_readers() {
    let tally =
        all_hold("a biased reader and a writer", 3, &Plan::biased(&[&[READ], &[WRITE]]).in_each_slot(), 1000);
    assert!(get(&tally.biased_entries) > 0 && get(&tally.revocations) > 0, "there was no bias");
    let plan = Plan::biased(&[&[READ, READ], &[WRITE]]);
    all_hold("a biased reader twice and a writer", 2, &[plan], 300);
    let tally = all_hold("a biased reader and an upgrader", 2, &[Plan::biased(&[&[READ], &[UPGRADE]])], 200);
    assert!(get(&tally.biased_entries) > 0 && get(&tally.upgrades) > 0, "there was no bias");
}

#[test]
fn who_gives_up_leaves_the_bias_to_the_readers() {
    for (hurried, name) in [(WRITE.timed(), "short wait"), (WRITE.tries(), "try")] {
        let plan = Plan::biased(&[&[READ, READ], &[hurried, WRITE]]);
        let tally = all_hold(&format!("a biased reader, a {name} and a write"), 2, &[plan], 50);
        assert!(get(&tally.withdrawals) > 0, "no participant ever gave up");
    }
    let hurried = HOLD.then(Then::Upgrade(Limit::For(Duration::ZERO)));
    let plan = Plan::biased(&[&[READ], &[hurried, WRITE]]);
    let tally = all_hold("a biased reader and an upgrade given up", 2, &[plan], 200);
    assert!(get(&tally.upgrades_given_up) > 0, "no participant ever gave up");
}

#[test]
fn a_reader_biases_the_lock_beside_one_who_upgrades_or_writes() {
    for other in [UPGRADE, WRITE] {
        all_hold("a reader that biases, and another", 1, &[Plan::rwlock(&[&[BIAS, READ], &[other]])], 100);
    }
}

#[test]
fn permits_are_never_too_many_and_nobody_is_overtaken() {
    let plan = Plan::new(Relation::Permits, &[&[permits(1)], &[permits(1)], &[permits(2)]]);
    let tally = all_hold("permits of two: 1, 1 and 2", 1, &plan.in_each_slot(), 100);
    assert!(get(&tally.together) > 0, "they never met");
    let plan = Plan::new(Relation::Permits, &[&[permits(2).then(Then::Keep(1))], &[permits(1)]]);
    let tally = all_hold("a holder that gives one of two permits back", 3, &plan.in_each_slot(), 100);
    assert!(get(&tally.together) > 0, "they never met");
}

#[test]
fn parts_are_held_by_one_each() {
    use Mode::{Exclusive, Shared};
    for relation in [Relation::Ranges, Relation::Keys] {
        let [one, other] = [range(0, 1, Exclusive), range(2, 3, Exclusive)];
        let tally = all_hold("two apart", 2, &[Plan::new(relation, &[&[one], &[other]])], 100);
        assert!(get(&tally.together) > 0, "they never met");
        // Who comes again wants another part.
        all_hold("one of both, and one of each", 2, &[Plan::new(relation, &[&[one, other], &[other]])], 500);
    }
    let plan = Plan::new(Relation::Ranges, &[&[range(0, 2, Exclusive)], &[range(1, 3, Shared)]]);
    all_hold("two that overlap", 3, &plan.in_each_slot(), 100);
}

#[test]
fn members_of_a_group_are_inside_together_and_nobody_is_overtaken() {
    let [one, other] = [member(1), member(2)];
    let plan = Plan::new(Relation::Groups, &[&[one], &[one]]);
    let tally = all_hold("two of one group", 2, &[plan], 50);
    assert!(get(&tally.together) > 0, "they never met");
    let plan = Plan::new(Relation::Groups, &[&[one], &[other]]);
    all_hold("one of each of two groups", 3, &plan.in_each_slot(), 100);
    // Who comes again is of another group.
    let plan = Plan::new(Relation::Groups, &[&[one, other], &[other]]);
    let preemptions = if *IS_LONG { 2 } else { 1 };
    let tally = all_hold("one of both groups, and one of one", preemptions, &plan.in_each_slot(), 200);
    assert!(get(&tally.together) > 0, "they never met");
    // Three take ten seconds in each order of slots.
    let plans = Plan::new(Relation::Groups, &[&[one], &[one], &[other]]).in_each_slot();
    let plans = if *IS_LONG { &plans[..] } else { &plans[..1] };
    let tally = all_hold("two of one group and one of another", 1, plans, 100);
    assert!(get(&tally.together) > 0, "they never met");
    let plan = Plan::new(Relation::Groups, &[&[one, one], &[other.timed(), other]]);
    let tally = all_hold("one that gives up", 1, &plan.in_each_slot(), 30);
    assert!(get(&tally.withdrawals) > 0, "no participant ever gave up");
}

#[test]
fn who_is_passed_over_queues_again() {
    for (one, evictor) in [(READ, WRITE), (WRITE, READ), (WRITE, UPGRADE)] {
        let plan = Plan::rwlock(&[&[one], &[evictor.evicts(1)]]);
        let tally = all_hold("one, and another who passes over it", 1, &plan.in_each_slot(), 50);
        assert!(get(&tally.evictions) > 0, "no participant was passed over");
    }
    let plan = Plan::new(Relation::Groups, &[&[member(1)], &[member(2).evicts(1)]]);
    let tally =
        all_hold("a member, and one of another group who passes over it", 1, &plan.in_each_slot(), 50);
    assert!(get(&tally.evictions) > 0, "no participant was passed over");
}

/// With `most` preemptions only in the longer run: two take minutes.
fn comes_in_by_its_place(most: usize, again: Visit, other: Visit) {
    let preemptions = if *IS_LONG { most } else { 1 };
    let plans = Plan::rwlock(&[&[KEEP.by(again.threads), again], &[other]]).in_each_slot();
    let tally =
        all_hold("a participant that keeps its place reserved, and another", preemptions, &plans, 100);
    assert!(get(&tally.biased_entries) > 0, "no participant came in by its place");
    assert!(get(&tally.evictions) > 0, "no participant took the place away");
}

#[test]
fn a_writer_comes_in_by_its_place_until_a_reader_takes_it_away() {
    comes_in_by_its_place(2, WRITE, READ);
}

#[test]
fn a_writer_comes_in_by_its_place_until_another_takes_it_away() {
    comes_in_by_its_place(2, WRITE, WRITE);
}

#[test]
fn a_reader_comes_in_by_its_place_until_a_writer_takes_it_away() {
    comes_in_by_its_place(2, READ, WRITE);
}

#[test]
fn a_reader_comes_in_by_its_place_and_another_beside_it() {
    comes_in_by_its_place(1, READ, READ);
}

#[test]
fn a_reader_comes_in_by_its_place_until_one_who_upgrades_takes_it_away() {
    comes_in_by_its_place(1, READ, UPGRADE);
}

#[test]
fn a_reader_comes_in_by_its_place_until_another_biases_the_lock() {
    comes_in_by_its_place(1, READ, BIAS);
}

#[test]
fn a_participant_of_several_threads_comes_in_by_its_place() {
    for threads in [Threads::Home, Threads::Another] {
        for (again, other) in [(WRITE, READ), (READ, WRITE)] {
            comes_in_by_its_place(1, again.by(threads), other.by(threads));
        }
        let one = permits(1).retains().by(threads);
        let plan = Plan::new(Relation::Permits, &[&[one, one], &[permits(2)]]);
        let tally = all_hold("permits by the reservation of several threads", 1, &plan.in_each_slot(), 50);
        assert!(get(&tally.biased_entries) > 0, "no participant came in by its place");
    }
}

#[test]
fn two_retain_their_places() {
    all_hold("two who keep their place reserved", 1, &[Plan::rwlock(&[&[KEEP, READ], &[READ, KEEP]])], 30);
}

#[test]
fn two_retain_their_places_and_hurry() {
    let both: &[Visit] = &[READ.tries(), WRITE.timed()];
    // One after the other is a search of minutes.
    let others = if *IS_LONG { vec![both] } else { vec![&both[..1], &both[1..]] };
    for other in others {
        let plan = Plan::rwlock(&[&[KEEP, READ.timed()], other]);
        all_hold("two who keep their place reserved and hurry", 1, &[plan], 30);
    }
}

#[test]
fn who_has_a_place_downgrades() {
    let plan = Plan::rwlock(&[&[KEEP, WRITE.then(Then::Downgrade(Mode::Shared))], &[READ]]);
    all_hold("a writer that has a place and downgrades", 1, &[plan], 30);
}

#[test]
fn permits_are_not_too_many_beside_a_retained_place() {
    let one = permits(1).retains();
    for other in [permits(1), permits(2)] {
        let plan = Plan::new(Relation::Permits, &[&[one, one, permits(1)], &[other]]);
        let preemptions = if *IS_LONG { 2 } else { 1 };
        let tally = all_hold("permits by a reservation", preemptions, &plan.in_each_slot(), 200);
        assert!(get(&tally.biased_entries) > 0, "no participant came in by its place");
    }
    let plan =
        Plan::new(Relation::Permits, &[&[permits(2).retains(), permits(2).then(Then::Keep(1))], &[one]]);
    all_hold("a holder that gives back some permits that it has by its place", 1, &plan.in_each_slot(), 100);
}

/// Participant 0 dies at each of its steps in turn.
fn deaths(name: &str, plan: impl Fn(Visit) -> Plan, mortal: Visit, wrote: bool) {
    let mut writers = 0;
    for step in 1..40 {
        let plan = plan(mortal.dies(step));
        let tally = all_hold(&format!("{name}, a death at step {step}"), 1, &[plan], 1);
        writers += get(&tally.deaths_of_writers);
        if get(&tally.deaths) == 0 {
            assert!(step > 5, "it never died");
            break;
        }
    }
    assert_eq!(writers > 0, wrote, "did it die as a writer?");
}

#[test]
fn a_death_blocks_nobody_and_is_told_if_it_was_a_writers_inside() {
    let beside = |other: Visit| move |visit| Plan::rwlock(&[&[visit], &[other]]);
    deaths("a reader", beside(WRITE), READ, false);
    deaths("a writer", beside(READ), WRITE, true);
    deaths("an upgrader", beside(READ), UPGRADE, true);
    deaths("a biased reader", |visit| Plan::biased(&[&[visit], &[WRITE]]), READ, false);
    deaths("a writer that revokes", |visit| Plan::biased(&[&[visit], &[READ]]), WRITE, true);
    let place = |visit| Plan::rwlock(&[&[WRITE.retains(), visit], &[READ]]);
    deaths("a writer with a reservation", place, WRITE, true);
    deaths("a reader with a reservation", place, READ, false);
    let taken = |visit| Plan::rwlock(&[&[visit], &[WRITE.retains(), WRITE]]);
    deaths("a reader that takes a place away", taken, READ, false);
    let permits_of = |visit| Plan::new(Relation::Permits, &[&[visit], &[permits(2)]]);
    deaths("one with a permit", permits_of, permits(1), false);
}

#[test]
fn a_members_death_is_told_to_the_other_groups() {
    let beside = |others: Vec<Visit>| move |visit| Plan::new(Relation::Groups, &[&[visit], &others]);
    deaths("a member, and one of another group", beside(vec![member(2)]), member(1), true);
    deaths("a member, and one of both groups", beside(vec![member(1), member(2)]), member(1), true);
}

#[test]
fn a_death_beside_a_repair_is_told() {
    let _field = without_mutants();
    one_repairs_while_another_dies();
}

/// The third waits for both, and counts the death of the second while the first, which was told of an earlier one, repairs.
#[test]
fn a_member_marks_no_death_that_it_was_not_told_of() {
    let plan = Plan::after_a_members_death(&[&[member(1)], &[member(1).dies(INSIDE)], &[member(2)]]);
    // With a preemption it is a search of a minute. Every order of the two words is searched below.
    let preemptions = if *IS_LONG { 1 } else { 0 };
    let name = "one that repairs, one that dies beside it, and one that comes later";
    let tally = all_hold(name, preemptions, &[plan], 50);
    assert!(get(&tally.deaths) > 1 && get(&tally.notices) > 1, "too little came up");
}

/// A reader that enters by the bias does not look whether a notice is due.
#[test]
fn who_gives_up_lets_no_reader_past_a_notice() {
    let hurried = HOLD.then(Then::Upgrade(Limit::For(Duration::ZERO)));
    let plan = Plan::after_death(&[&[READ, READ], &[hurried]]);
    let tally = all_hold("a dead writer, a reader and an upgrade given up", 1, &[plan], 1000);
    assert!(get(&tally.deaths_of_writers) > 0 && get(&tally.upgrades_given_up) > 0, "too little came up");
}
