//! The biased lock.

use crate::oracle::{Tally, get};
use crate::plan::{ABANDON, BIAS, Death, LEAVE_TORN, LOCK, PATIENT, Plan, TIMED, TRY, Visit, is_long};
use crate::search::all_hold;
use turnlock_core::trace::Step;

/// Where a bias owner dies when it comes again.
fn of_owner() -> impl Iterator<Item = Death> {
    OF_OWNER.into_iter().filter(|death| is_long() || death.is_apart())
}

const OF_OWNER: [Death; 6] = [
    Death::At(Step::Try),
    Death::At(Step::Token),
    Death::Entered,
    Death::Torn,
    Death::Written,
    Death::At(Step::Leave),
];
/// Where the queue head dies, and how it takes the lock.
const OF_HEAD: [(Death, Visit); 10] = [
    (Death::At(Step::Withdraw), TIMED),
    (Death::At(Step::Revoke), LOCK),
    (Death::At(Step::RevokeWait), LOCK),
    (Death::At(Step::Won), LOCK),
    (Death::At(Step::Unbias), LOCK),
    (Death::Torn, LOCK),
    (Death::At(Step::Leave), LOCK),
    (Death::At(Step::Held), BIAS),
    (Death::At(Step::Bias), BIAS),
    (Death::Torn, BIAS),
];

/// Explores the plans, each with the bias owner in each slot; they must all hold.
fn hold(name: &str, plans: &[Plan], least: usize) -> Tally {
    let plans: Vec<Plan> = plans.iter().cloned().flat_map(Plan::in_each_slot).collect();
    let tally = all_hold(name, &plans, least);
    assert!(get(&tally.revocations) > 0, "no participant ever revoked the bias");
    tally
}

/// The bias owner, and another participant that comes to take the lock.
fn duel(visit: Visit) -> Plan {
    Plan::bias(&[&[LOCK], &[visit]])
}

#[test]
fn one_is_the_owner_and_another_takes_it() {
    let tally = hold(
        "an owner and another that takes it",
        &[duel(LOCK).usual_preemptions(4).long(Plan::unbounded)],
        6000,
    );
    assert!(get(&tally.biased_entries) > 0, "no biased entry");
    assert!(get(&tally.refusals) > 0, "no biased acquisition was refused");
    hold("another that takes the bias", &[duel(BIAS).usual_preemptions(4)], 15_000);
}

#[test]
fn who_tries_without_being_the_owner_does_not_get_in_by_the_bias() {
    for (visit, how) in [(LOCK, "unbiased"), (BIAS, "biased")] {
        let plan = Plan::bias(&[&[LOCK.fast()], &[visit.fast()]]).usual_preemptions(4);
        hold(&format!("an owner and one {how}, both by the fast path"), &[plan], 3500);
    }
}

#[test]
fn what_is_pruned_after_a_look_in_vain_hides_nothing() {
    let plan = Plan { unpruned: true, ..duel(LOCK) }.preemptions(4).long(Plan::unbounded);
    hold("an owner and another that takes it, unpruned", &[plan], 15_000);
}

#[test]
fn the_owner_comes_again() {
    for (visit, how) in [(LOCK, "unbiased"), (BIAS, "biased")] {
        let plan = Plan::bias(&[&[BIAS, BIAS], &[visit]]).preemptions(2).long(|plan| plan.preemptions(4));
        hold(&format!("an owner twice, one {how}"), &[plan], 1600);
        let plan = Plan::bias(&[&[BIAS], &[visit, BIAS]]).preemptions(1).long(|plan| plan.preemptions(4));
        hold(&format!("an owner, one {how} and again"), &[plan], 110);
    }
}

#[test]
fn two_come_to_take_it() {
    // With both biased it is twice as many executions, and as many again where they see each other.
    let others = if is_long() { &[(LOCK, "unbiased"), (BIAS, "biased")][..] } else { &[(LOCK, "unbiased")] };
    for (visit, how) in others {
        let plan = Plan::bias(&[&[LOCK], &[*visit], &[BIAS]]).preemptions(1).long(|plan| plan.preemptions(3));
        let seen = is_long().then(|| Plan { sees_queued_for_good: true, ..plan.clone() });
        let plans: Vec<_> = [plan].into_iter().chain(seen).collect();
        hold(&format!("an owner, one {how} and another"), &plans, 25_000);
    }
}

#[test]
fn who_revokes_and_gives_up_leaves_it_to_the_owner() {
    for (hurried, name) in [(TRY, "try"), (TIMED, "short wait")] {
        let tally = hold(&format!("an owner and a {name}"), &[duel(hurried).usual_preemptions(4)], 9000);
        assert!(get(&tally.hurried_entries) > 0, "no try ever won");
        assert!(get(&tally.withdrawals) > 0, "no participant ever withdrew");
        let plan = Plan::bias(&[&[LOCK, LOCK], &[hurried, LOCK]]).usual_preemptions(2);
        hold(&format!("an owner twice, a {name} and an entry"), &[plan], 1600);
    }
}

fn deaths_hold(name: &str, death: Death, plan: Plan) {
    let tally = hold(&format!("a death at {death:?}, {name}"), &[plan], 200);
    assert!(get(&tally.deaths) > 0, "no participant died");
    let notice = get(&tally.notices_to_reaper) + get(&tally.notices_to_other) > 0;
    assert_eq!(notice, death.is_inside(), "was there a notice?");
}

#[test]
fn an_owner_that_dies_blocks_nobody_and_is_told_if_it_was_inside() {
    for death in of_owner() {
        let plan = Plan::bias(&[&[LOCK.dying(death)], &[BIAS]]).usual_preemptions(3);
        deaths_hold("of the owner", death, plan);
    }
}

#[test]
fn a_queue_head_that_dies_blocks_nobody_and_is_told_if_it_was_inside() {
    for (death, visit) in OF_HEAD {
        let plan = Plan::bias(&[&[LOCK], &[visit.dying(death)]]).usual_preemptions(3);
        let how = if visit.takes_bias { "biased" } else { "unbiased" };
        deaths_hold(&format!("of a queue head, {how}"), death, plan);
    }
}

#[test]
fn a_newcomer_that_finds_the_lock_biased_to_its_slot_does_no_harm() {
    for death in of_owner() {
        let plan = Plan::bias(&[&[LOCK.dying(death), LOCK], &[BIAS]]).usual_preemptions(2);
        deaths_hold("with a newcomer that takes it for its own", death, plan.clone());
        let plan = Plan { newcomer_is_fresh: true, ..plan };
        deaths_hold("with a newcomer", death, plan);
    }
}

#[test]
fn who_leaves_the_data_torn_closes_a_biased_lock_until_a_reset() {
    let plan = Plan::bias(&[&[LOCK.dying(Death::Torn), BIAS], &[LEAVE_TORN, Visit { resets: true, ..BIAS }]]);
    let tally = hold("a holder that leaves the data torn, and a newcomer", &[plan.preemptions(2)], 12_000);
    assert!(
        get(&tally.turned_away) > 0 && get(&tally.resets) > 0,
        "no participant was turned away, or none reset the lock"
    );
}

#[test]
fn who_abandons_a_biased_lock_leaves_a_notice() {
    let plan = Plan::bias(&[&[ABANDON], &[LOCK]]).preemptions(4);
    let tally = hold("an abandoned biased lock", &[plan], 7000);
    assert!(get(&tally.notices_to_other) > 0, "there was no notice");
}

#[test]
fn who_lets_others_pass_leaves_the_queue_to_the_owner() {
    let tally = hold("an owner and a patient one", &[duel(PATIENT).preemptions(4)], 4800);
    assert!(get(&tally.back_offs) > 0, "no waiter ever backed off");
}

#[test]
fn with_others_queued_for_good_nobody_takes_the_bias() {
    let plan = Plan { sees_queued_for_good: true, ..Plan::bias(&[&[BIAS, LOCK], &[BIAS]]) };
    hold("an owner and another that takes it, seen to be queued", &[plan.usual_preemptions(2)], 2500);
}

#[cfg(feature = "mutants")]
mod with_mutants {
    use super::*;
    use crate::oracle::Property::{Data, Exclusion, Order, OwnerDead, Token};
    use crate::search::with_mutants::is_caught;
    use turnlock_core::mutants::Mutant;

    #[test]
    fn without_a_fence_in_fenced_mode_two_are_inside() {
        is_caught(Mutant::NoFenceInFencedMode, &duel(LOCK).preemptions(3), &[Exclusion, Data, Token, Order]);
    }

    #[test]
    fn who_looks_before_it_says_that_it_tries_is_overlooked() {
        is_caught(Mutant::FlagAfterCheck, &duel(LOCK).preemptions(3), &[Exclusion, Data, Token, Order]);
    }

    #[test]
    fn who_gives_its_number_up_before_the_bias_word_names_it_is_overlooked() {
        is_caught(Mutant::LeaveBeforeBias, &duel(BIAS).preemptions(3), &[Exclusion, Data, Token]);
    }

    #[test]
    fn who_is_no_queue_head_and_writes_the_bias_word_hides_the_new_owner() {
        is_caught(Mutant::BiasByNonHead, &duel(BIAS).preemptions(3), &[Exclusion, Data]);
    }

    #[test]
    fn who_died_trying_was_no_holder() {
        let plan = Plan::bias(&[&[LOCK.dying(Death::At(Step::Try))], &[LOCK]]);
        is_caught(Mutant::OwnerDeadByTrying, &plan, &[OwnerDead]);
    }

    #[test]
    fn without_release_order_the_bias_brings_a_data_race() {
        is_caught(Mutant::RelaxedLeave, &duel(LOCK).preemptions(3), &[Data]);
    }
}
