//! The queue, without a bias: the bakery, the owner words, and what is done for the dead.

use crate::oracle::{Tally, get};
use crate::plan::{ABANDON, Death, LOCK, PATIENT, Plan, TIMED, TRY};
use crate::search::{all_hold, is_long};
use turnlock::acquire::site::Limit;
use turnlock::trace::Step;

/// Where a participant dies.
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

#[test]
fn two_participants_enter_one_at_a_time_and_see_each_others_writes() {
    all_hold("two participants, one entry each", &[duel()], 4000);
}

#[test]
fn what_is_pruned_after_a_look_in_vain_hides_nothing() {
    all_hold("two participants, one entry each, unpruned", &[Plan { unpruned: true, ..duel() }], 8000);
}

#[test]
fn who_comes_back_waits_for_who_came_meanwhile() {
    let plans = Plan::queue(&[&[LOCK, LOCK], &[LOCK]]).preemptions(5).in_each_slot();
    all_hold("two participants, two entries and one, 5 preemptions", &plans, 50_000);
    let plan = Plan::queue(&[&[LOCK, LOCK], &[LOCK, LOCK]]).preemptions(4);
    all_hold("two participants, two entries each, 4 preemptions", &[plan], 30_000);
}

#[test]
fn three_participants_enter_one_at_a_time() {
    let plan = Plan::queue(&[&[LOCK], &[LOCK], &[LOCK]]).preemptions(3);
    all_hold("three participants, one entry each, 3 preemptions", &[plan], 50_000);
}

#[test]
fn a_newcomer_who_raises_the_bound_is_not_overlooked() {
    all_hold("a newcomer raises the bound", &[Plan { raise_bound: true, ..duel() }], 10_000);
}

#[test]
fn who_gives_up_leaves_nothing_behind() {
    let both_ways = |tally: Tally| {
        assert!(get(&tally.hurried_entries) > 0, "no try ever won");
        assert!(get(&tally.withdrawals) > 0, "nobody ever withdrew");
    };
    for (hurried, name) in [(TRY, "try"), (TIMED, "short wait")] {
        let plans = Plan::queue(&[&[LOCK], &[hurried]]).in_each_slot();
        both_ways(all_hold(&format!("a {name} beside a locker"), &plans, 7000));
        let both = Plan::queue(&[&[hurried], &[hurried]]);
        let both = if hurried.limit == Limit::Never { both.preemptions(5) } else { both };
        both_ways(all_hold(&format!("a {name} twice"), &both.in_each_slot(), 2000));
        let plans = Plan::queue(&[&[LOCK], &[hurried, hurried]]).preemptions(4).in_each_slot();
        both_ways(all_hold(&format!("a {name} and again, beside a locker, 4 preemptions"), &plans, 10_000));
        let plans = Plan::queue(&[&[LOCK], &[hurried, LOCK]]).preemptions(4).in_each_slot();
        both_ways(all_hold(&format!("a {name}, then a lock, beside a locker, 4 preemptions"), &plans, 10_000));
    }
}

#[test]
fn who_lets_others_pass_leaves_the_queue_and_comes_back() {
    let plans = Plan::queue(&[&[LOCK], &[PATIENT]]).preemptions(4).in_each_slot();
    let tally = all_hold("a patient one beside a locker, 4 preemptions", &plans, 0);
    assert!(get(&tally.back_offs) > 0, "nobody ever backed off");
}

#[test]
fn a_death_at_any_step_blocks_nobody_and_is_told_if_it_was_inside() {
    for death in DEATHS {
        let plans = Plan::queue(&[&[LOCK], &[LOCK.dying(death)]]).in_each_slot();
        let tally = all_hold(&format!("a death at {death:?} beside a locker"), &plans, 50);
        assert_eq!(get(&tally.notices_to_reaper) > 0, death.is_inside(), "was there a notice?");
    }
}

#[test]
fn of_two_survivors_the_one_who_did_not_act_for_the_dead_may_get_the_notice() {
    for death in DEATHS {
        let plans = Plan::queue(&[&[LOCK], &[LOCK], &[LOCK.dying(death)]]).preemptions(2).in_each_slot();
        let name = format!("a death at {death:?} beside two lockers, 2 preemptions");
        let tally = all_hold(&name, &plans, 5000);
        assert_eq!(get(&tally.notices_to_reaper) > 0, death.is_inside(), "was there a notice?");
        assert_eq!(get(&tally.notices_to_other) > 0, death.is_inside(), "for the other one too?");
    }
}

#[test]
fn who_abandons_the_lock_leaves_a_notice() {
    let plans = Plan::queue(&[&[LOCK], &[ABANDON]]).in_each_slot();
    let tally = all_hold("an abandoned lock", &plans, 0);
    assert!(get(&tally.notices_to_other) > 0, "there was no notice");
}

#[cfg(feature = "mutants")]
mod planted {
    use super::*;
    use crate::scene::Property::{Data, Exclusion, News, Order, Token};
    use crate::search::planted::is_caught;
    use turnlock::mutants::Mutant;

    #[test]
    fn without_choosing_two_are_inside() {
        is_caught(Mutant::NoChoosing, &duel(), &[Exclusion, Data, Token]);
    }

    // The two fences are also what keeps the order: without one of them a doorway that is long done may be overlooked.
    #[test]
    fn without_the_fence_after_choosing_two_are_inside_or_one_is_overtaken() {
        is_caught(Mutant::NoFenceAfterChoosing, &duel(), &[Exclusion, Data, Token, Order]);
    }

    #[test]
    fn without_the_fence_before_the_wait_two_are_inside_or_one_is_overtaken() {
        is_caught(Mutant::NoFenceBeforeWait, &duel(), &[Exclusion, Data, Token, Order]);
    }

    #[test]
    fn without_the_tie_break_two_are_inside() {
        is_caught(Mutant::NoTieBreak, &duel(), &[Exclusion, Data, Token]);
    }

    // The bakery still lets in one at a time, but the next one may not see what the last one wrote, its token included.
    #[test]
    fn leaving_without_release_order_is_a_data_race() {
        is_caught(Mutant::RelaxedLeave, &duel(), &[Data, Token]);
    }

    #[test]
    fn without_held_torn_data_come_without_a_notice() {
        let plan = Plan::queue(&[&[LOCK], &[LOCK.dying(Death::Torn)]]);
        is_caught(Mutant::NoHeld, &plan, &[News, Data]);
    }

    #[test]
    fn a_number_that_is_cleared_before_the_notice_is_written_lets_somebody_in_without_it() {
        let plan = Plan::queue(&[&[LOCK], &[LOCK], &[LOCK.dying(Death::Torn)]]).preemptions(2);
        is_caught(Mutant::ClearBeforeNotice, &plan, &[News, Data]);
    }
}
