//! The queue, without a bias: the bakery, the owner words, and what is done for the dead.

use crate::oracle::{Tally, get};
use crate::plan::{ABANDON, Death, EVICT, Form, LEAVE_TORN, LOCK, PATIENT, Plan, RESET, TIMED, TRY, is_long};
use crate::search::all_hold;
use turnlock_core::trace::Step;

/// Where a participant dies.
fn deaths() -> impl Iterator<Item = Death> {
    DEATHS.into_iter().filter(|death| is_long() || death.is_apart())
}

const DEATHS: [Death; 9] = [
    Death::At(Step::Doorway),
    Death::At(Step::Wait),
    Death::At(Step::Won),
    Death::At(Step::Token),
    Death::Entered,
    Death::Torn,
    Death::Written,
    Death::At(Step::Leave),
    Death::At(Step::Wake),
];

/// Two participants, one entry each.
fn duel() -> Plan {
    Plan::queue(&[&[LOCK], &[LOCK]])
}

/// Searches the plans over one word for a slot; and, if the longer searches are wanted, over two, which no lock file has, with so
/// many preemptions, since each look at a slot is two steps. `least`: how many executions each search must find.
fn both_hold(name: &str, plans: &[Plan], preemptions: Option<usize>, least: [usize; 2]) -> Vec<Tally> {
    let mut tallies = vec![all_hold(name, plans, least[0])];
    if is_long() {
        tallies.push(two_words_hold(name, plans, preemptions, least[1]));
    }
    tallies
}

fn two_words_hold(name: &str, plans: &[Plan], preemptions: Option<usize>, least: usize) -> Tally {
    let two = |plan: &Plan| Plan { form: Form::TwoWords, preemptions, ..plan.clone() };
    all_hold(&format!("{name}; two words"), &plans.iter().map(two).collect::<Vec<_>>(), least)
}

#[test]
fn two_participants_enter_one_at_a_time_and_see_each_others_writes() {
    let name = "two participants, one entry each";
    all_hold(name, &[duel()], 4000);
    two_words_hold(name, &[duel()], if is_long() { None } else { Some(5) }, 18_000);
}

#[test]
fn what_is_pruned_after_a_look_in_vain_hides_nothing() {
    let plan = Plan { unpruned: true, ..duel() }.preemptions(4).long(Plan::unbounded);
    both_hold("two participants, one entry each, unpruned", &[plan], Some(4), [12_000, 12_000]);
}

#[test]
fn who_comes_back_waits_for_who_came_meanwhile() {
    let plans = Plan::queue(&[&[LOCK, LOCK], &[LOCK]]).usual_preemptions(4).in_each_slot();
    both_hold("two participants, two entries and one", &plans, Some(3), [18_000, 2000]);
    let plan = Plan::queue(&[&[LOCK, LOCK], &[LOCK, LOCK]]).usual_preemptions(3);
    both_hold("two participants, two entries each", &[plan], Some(3), [3000, 3000]);
}

#[test]
fn three_participants_enter_one_at_a_time() {
    let plan = Plan::queue(&[&[LOCK], &[LOCK], &[LOCK]]).usual_preemptions(2);
    both_hold("three participants, one entry each", &[plan], Some(2), [5000, 4000]);
}

#[test]
fn a_newcomer_who_raises_the_bound_is_not_overlooked() {
    let plan = Plan { raise_bound: true, ..duel() };
    both_hold("a newcomer raises the bound", &[plan], Some(5), [10_000, 20_000]);
}

#[test]
fn who_gives_up_leaves_nothing_behind() {
    let both_ways = |tallies: Vec<Tally>| {
        for tally in tallies {
            assert!(get(&tally.hurried_entries) > 0, "no try ever won");
            assert!(get(&tally.withdrawals) > 0, "no participant ever withdrew");
        }
    };
    // A try looks before it stands in the queue, too.
    for (hurried, name, is_try) in [(TRY, "try", true), (TIMED, "short wait", false)] {
        let usually = if is_try { 3 } else { 4 };
        let beside = Plan::queue(&[&[LOCK], &[hurried]]).preemptions(4).long(Plan::unbounded);
        let plans = beside.in_each_slot();
        both_ways(both_hold(&format!("a {name} beside a locker"), &plans, Some(5), [6000, 5000]));
        let twice = Plan::queue(&[&[hurried], &[hurried]]);
        let twice = twice.preemptions(usually).long(Plan::unbounded);
        let name_of_both = format!("a {name} beside another");
        both_ways(both_hold(&name_of_both, &twice.in_each_slot(), Some(5), [12_000, 5000]));
        for (then, again) in [(hurried, "and again"), (LOCK, "and then a lock")] {
            let plan = Plan::queue(&[&[LOCK], &[hurried, then]]);
            let plans = plan.preemptions(3).long(|plan| plan.preemptions(4)).in_each_slot();
            both_ways(both_hold(&format!("a {name} {again} beside a locker"), &plans, Some(3), [2500, 200]));
        }
        let plan = Plan::queue(&[&[LOCK], &[hurried.dying(Death::At(Step::Withdraw)), LOCK]]).preemptions(2);
        all_hold(&format!("a death of a {name} that gives up"), &plan.in_each_slot(), 1400);
    }
}

#[test]
fn who_lets_others_pass_leaves_the_queue_and_comes_back() {
    let plans = Plan::queue(&[&[LOCK], &[PATIENT]]).preemptions(4).in_each_slot();
    let tally = all_hold("a patient one beside a locker", &plans, 20_000);
    assert!(get(&tally.back_offs) > 0, "no waiter ever backed off");
}

#[test]
fn who_is_passed_over_queues_again() {
    let plan = Plan::queue(&[&[LOCK], &[EVICT]]).preemptions(3).long(|plan| plan.preemptions(4));
    let plans = plan.in_each_slot();
    let tally = all_hold("a locker and a participant that passes over it", &plans, 1000);
    assert!(
        get(&tally.evictions) > 0 && get(&tally.lost) > 0,
        "no waiter was passed over, or none lost its place by it"
    );
    let plans =
        Plan::queue(&[&[EVICT], &[EVICT]]).preemptions(2).long(|plan| plan.preemptions(3)).in_each_slot();
    all_hold("two who pass over each other", &plans, 1000);
    let plan = Plan::queue(&[&[LOCK], &[LOCK], &[EVICT]]).usual_preemptions(1);
    let plans = if is_long() { plan.in_each_slot() } else { vec![plan] };
    let tally = all_hold("two lockers and a participant that passes over them", &plans, 1000);
    assert!(
        get(&tally.evictions) > 0 && get(&tally.lost) > 0,
        "no waiter was passed over, or none lost its place by it"
    );
}

#[test]
fn a_death_at_any_step_blocks_nobody_and_is_told_if_it_was_inside() {
    for death in deaths() {
        let plans = Plan::queue(&[&[LOCK], &[LOCK.dying(death)]]).in_each_slot();
        let name = format!("a death at {death:?} beside a locker");
        for tally in both_hold(&name, &plans, Some(4), [50, 50]) {
            assert_eq!(get(&tally.notices_to_reaper) > 0, death.is_inside(), "was there a notice?");
        }
    }
}

#[test]
fn of_two_survivors_the_one_who_did_not_act_for_the_dead_may_get_the_notice() {
    for death in deaths() {
        let plan = Plan::queue(&[&[LOCK], &[LOCK], &[LOCK.dying(death)]]);
        // With one preemption fewer only that one gets it who acts for the dead.
        let most = if death.is_inside() || is_long() { 2 } else { 1 };
        let plans = plan.preemptions(most).in_each_slot();
        let name = format!("a death at {death:?} beside two lockers");
        let tally = all_hold(&name, &plans, 850);
        assert_eq!(get(&tally.notices_to_reaper) > 0, death.is_inside(), "was there a notice?");
        assert_eq!(get(&tally.notices_to_other) > 0, death.is_inside(), "for the other one too?");
        if is_long() {
            let plan = |plan: Plan| Plan { form: Form::TwoWords, ..plan }.preemptions(1);
            let plans: Vec<_> = plans.into_iter().map(plan).collect();
            let tally = all_hold(&format!("{name}; two words"), &plans, 3600);
            assert_eq!(get(&tally.notices_to_reaper) > 0, death.is_inside(), "was there a notice?");
        }
    }
}

#[test]
fn who_acts_for_the_dead_outside_of_the_queue_writes_the_notice_before_another_enters() {
    for death in deaths() {
        let plan = Plan::queue(&[&[LOCK], &[LOCK.dying(death), LOCK]]).preemptions(3);
        let plans = plan.long(|plan| plan.preemptions(4)).in_each_slot();
        let tally = all_hold(&format!("a death at {death:?}, and a newcomer"), &plans, 1000);
        assert_eq!(get(&tally.notices_to_other) > 0, death.is_inside(), "was there a notice?");
    }
    let plan = Plan::queue(&[&[LOCK], &[TRY], &[LOCK.dying(Death::Torn)]]);
    let plans = plan.preemptions(1).long(|plan| plan.preemptions(2)).in_each_slot();
    let tally = all_hold("a death at Torn beside a locker and a try", &plans, 15_000);
    let notices = get(&tally.notices_to_reaper) + get(&tally.notices_to_other);
    assert!(notices > 0, "there was no notice");
}

#[test]
fn who_dies_while_it_acts_for_the_dead_leaves_it_to_the_next_one() {
    for step in [Step::Reap, Step::ReapNotice, Step::ReapCleared] {
        let reaper = LOCK.dying(Death::At(step));
        let plan = Plan::queue(&[&[LOCK], &[reaper], &[LOCK.dying(Death::Torn)]]);
        let plans = plan.usual_preemptions(1).in_each_slot();
        let tally = all_hold(&format!("a death at {step:?} of who acts for the dead"), &plans, 900);
        let notices = get(&tally.notices_to_reaper) + get(&tally.notices_to_other);
        assert!(notices > 0, "there was no notice");
    }
}

#[test]
fn who_leaves_the_data_torn_closes_the_lock_until_a_reset() {
    let torn = LOCK.dying(Death::Torn);
    let plans = Plan::queue(&[&[LEAVE_TORN, RESET], &[torn, LOCK]]).preemptions(3).in_each_slot();
    let tally = all_hold("a holder that leaves the data torn, and a newcomer", &plans, 6500);
    assert!(
        get(&tally.turned_away) > 0 && get(&tally.resets) > 0,
        "no participant was turned away, or none reset the lock"
    );
    let plans = Plan::queue(&[&[LEAVE_TORN], &[torn], &[RESET]]).usual_preemptions(1).in_each_slot();
    let tally = all_hold("a holder that leaves the data torn, and a reset", &plans, 1400);
    assert!(get(&tally.resets) > 0, "no participant reset the lock");
}

#[test]
fn who_abandons_the_lock_leaves_a_notice() {
    let plans = Plan::queue(&[&[LOCK], &[ABANDON]]).in_each_slot();
    let tally = all_hold("an abandoned lock", &plans, 8000);
    assert!(get(&tally.notices_to_other) > 0, "there was no notice");
}

#[cfg(feature = "mutants")]
mod with_mutants {
    use super::*;
    use crate::oracle::Property::{self, Data, Exclusion, Order, OwnerDead, Token};
    use crate::plan::Misuse;
    use crate::search::with_mutants::{fails, is_caught};
    use turnlock_core::mutants::Mutant;

    /// Over one word for a slot, and over two.
    fn both_are_caught(mutant: Mutant, plan: &Plan, properties: &[Property]) {
        is_caught(mutant, plan, properties);
        is_caught(mutant, &Plan { form: Form::TwoWords, ..plan.clone().preemptions(3) }, properties);
    }

    #[test]
    fn without_choosing_two_are_inside() {
        both_are_caught(Mutant::NoChoosing, &duel(), &[Exclusion, Data, Token]);
    }

    // The two fences are also what keeps the order: without one of them a doorway that is long done may be overlooked.
    #[test]
    fn without_the_fence_after_choosing_two_are_inside_or_one_is_overtaken() {
        both_are_caught(Mutant::NoFenceAfterChoosing, &duel(), &[Exclusion, Data, Token, Order]);
    }

    #[test]
    fn without_the_fence_before_the_wait_two_are_inside_or_one_is_overtaken() {
        both_are_caught(Mutant::NoFenceBeforeWait, &duel(), &[Exclusion, Data, Token, Order]);
    }

    #[test]
    fn without_the_tie_break_two_are_inside() {
        both_are_caught(Mutant::NoTieBreak, &duel(), &[Exclusion, Data, Token]);
    }

    // The bakery still lets in one at a time, but the next one may not see what the last one wrote, its token included.
    #[test]
    fn leaving_without_release_order_is_a_data_race() {
        both_are_caught(Mutant::RelaxedLeave, &duel(), &[Data, Token]);
    }

    #[test]
    fn without_held_torn_data_come_without_a_notice() {
        let plan = Plan::queue(&[&[LOCK], &[LOCK.dying(Death::Torn)]]);
        both_are_caught(Mutant::NoHeld, &plan, &[OwnerDead, Data]);
    }

    #[test]
    fn a_number_that_is_cleared_before_the_notice_is_written_lets_somebody_in_without_it() {
        // Who waits for the dead one is the next one itself: only who does not stand in the queue lets another one in.
        let plan = Plan::queue(&[&[LOCK], &[LOCK.dying(Death::Torn), LOCK]]);
        both_are_caught(Mutant::ClearBeforeNotice, &plan, &[OwnerDead, Data]);
    }

    #[test]
    fn without_a_look_or_a_fence_who_passes_over_another_is_inside_with_it() {
        let plan = Plan::queue(&[&[LOCK], &[EVICT]]).preemptions(3);
        for mutant in [Mutant::EvictsHolder, Mutant::NoFenceToEvict, Mutant::EntryCheckBeforeFlag] {
            is_caught(mutant, &plan, &[Exclusion, Data, Token]);
        }
        is_caught(Mutant::NoFenceInFencedMode, &plan, &[Exclusion, Data, Token]);
    }

    // Two words need the order of their own stores and loads, beside the fences.
    #[test]
    fn two_words_that_are_stored_or_loaded_in_another_order_let_two_in() {
        let misuses = [
            Misuse::NumberStoredLast,
            Misuse::ChoosingStoredRelaxed,
            Misuse::NumberLoadedFirst,
            Misuse::ChoosingLoadedRelaxed,
        ];
        for misuse in misuses {
            let plan = Plan { form: Form::Misused(misuse), ..duel().preemptions(3) };
            fails("registers", &plan, &[Exclusion, Data, Token]);
        }
    }

    // They still let in one at a time, but the next one may not see what the last one wrote.
    #[test]
    fn two_words_whose_number_is_loaded_relaxed_are_a_data_race() {
        let plan = Plan { form: Form::Misused(Misuse::NumberLoadedRelaxed), ..duel().preemptions(3) };
        fails("registers", &plan, &[Data]);
    }
}
