//! A linked lock: an agent moves it away, where another host enters, and brings it home.

use crate::oracle::{Tally, get};
use crate::plan::{BIAS, Death, LOCK, MOVE, Plan, TIMED, TRY};
use crate::search::all_hold;
use turnlock_core::trace::Step;

/// Explores the plans, each with the agent in each slot; they must all hold.
fn hold(name: &str, plans: &[Plan], least: usize) -> Tally {
    let plans: Vec<Plan> = plans.iter().cloned().flat_map(Plan::in_each_slot).collect();
    let tally = all_hold(name, &plans, least);
    assert!(get(&tally.moves) > 0, "the lock was never moved away");
    tally
}

fn agent_and_program() -> Plan {
    Plan::queue(&[&[MOVE], &[LOCK]]).linked()
}

#[test]
fn no_program_is_inside_while_it_is_away() {
    let tally = hold("an agent and a program", &[agent_and_program().usual_preemptions(4)], 100);
    assert!(get(&tally.refused_away) > 0, "no program ever came while it was away");
    let plan = Plan::queue(&[&[MOVE, MOVE], &[LOCK, LOCK]]).linked();
    hold("an agent and a program, both twice", &[plan.usual_preemptions(2)], 100);
    let plan = Plan::queue(&[&[MOVE], &[LOCK], &[LOCK]]).linked();
    hold("an agent and two programs", &[plan.usual_preemptions(1)], 100);
}

#[test]
fn one_that_gives_up_leaves_nothing_behind() {
    for (hurried, name) in [(TRY, "try"), (TIMED, "short wait")] {
        let plan = Plan::queue(&[&[MOVE], &[hurried, LOCK]]).linked();
        let tally = hold(&format!("an agent and a {name}"), &[plan.usual_preemptions(2)], 100);
        assert!(get(&tally.withdrawals) > 0, "no participant ever withdrew");
    }
}

#[test]
fn a_bias_ends_before_it_is_away_and_begins_when_it_is_home() {
    // The agent is never the owner: its slot is the second one.
    let plan = Plan::bias(&[&[BIAS], &[MOVE]]).linked();
    let tally = hold("an owner and an agent", &[plan.usual_preemptions(3)], 100);
    assert!(get(&tally.revocations) > 0 && get(&tally.biased_entries) > 0, "no bias, or it was not revoked");
    let plan = Plan::bias(&[&[BIAS, LOCK], &[MOVE]]).linked();
    hold("an owner twice and an agent", &[plan.usual_preemptions(2)], 100);
    let plan = Plan::bias(&[&[LOCK], &[MOVE], &[TIMED]]).linked();
    hold("an owner, an agent and a short wait", &[plan.usual_preemptions(1)], 100);
}

#[test]
fn an_agent_that_dies_leaves_it_as_it_is_to_the_next_one() {
    for step in [Step::Wait, Step::Enter, Step::LinkAway] {
        let plan = Plan::queue(&[&[MOVE.dying(Death::At(step)), MOVE], &[LOCK]]).linked();
        let tally = hold(&format!("an agent that dies at {step:?}"), &[plan.usual_preemptions(2)], 100);
        assert!(get(&tally.deaths) > 0, "no agent died");
        assert_eq!(get(&tally.notices_to_reaper) + get(&tally.notices_to_other), 0, "it was no holder");
    }
}

#[test]
fn a_death_inside_goes_along() {
    let plan = Plan::queue(&[&[MOVE], &[LOCK.dying(Death::Torn), LOCK]]).linked();
    let tally = hold("an agent and a holder that dies", &[plan.usual_preemptions(2)], 100);
    assert!(get(&tally.notices_to_reaper) + get(&tally.notices_to_other) > 0, "there was no notice");
}

#[cfg(feature = "mutants")]
mod with_mutants {
    use super::*;
    use crate::oracle::Property::{Data, Token};
    use crate::search::with_mutants::is_caught;
    use turnlock_core::mutants::Mutant;

    #[test]
    fn without_a_look_whether_it_is_away_two_hosts_are_inside() {
        is_caught(Mutant::AwayUnseen, &agent_and_program().preemptions(3), &[Data]);
    }

    #[test]
    fn without_release_order_it_comes_home_with_a_data_race() {
        is_caught(Mutant::RelaxedHome, &agent_and_program().preemptions(3), &[Data, Token]);
    }

    #[test]
    fn when_it_comes_home_before_its_tokens_they_fall() {
        is_caught(Mutant::HomeBeforeTokens, &agent_and_program().preemptions(3), &[Token]);
    }
}
