//! Linked rwlocks, under loom: an agent moves one away, as a writer in its queue, lets another host write, and brings it home. And linked
//! semaphores: an agent makes the share of its host smaller, waits until those inside fit, lets another host have the rest, and gets it back.

use crate::life::BLOCK;
use crate::oracle::{Tally, get};
use crate::plan::{
    BIAS, HOLD, KEEP, LEASE, LEASE_SHARE, MOVE, Plan, READ, TO_READ, Then, UPGRADE, Visit, WRITE, permits,
    share,
};
use crate::search::all_hold;
use std::time::Duration;
use support::checker::IS_LONG;
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::Relation;

/// Explores the plan with the agent in each slot; it must hold.
fn holds(name: &str, preemptions: usize, plan: Plan, least: usize) -> Tally {
    let tally = all_hold(name, preemptions, &plan.linked(BLOCK).in_each_slot(), least);
    assert!(get(&tally.moves) > 0, "the lock was never moved away");
    tally
}

#[test]
fn no_program_is_inside_while_it_is_away() {
    for (program, name) in [(READ, "a reader"), (WRITE, "a writer"), (HOLD, "an upgradable reader")] {
        let tally = holds(&format!("an agent and {name}"), 2, Plan::rwlock(&[&[MOVE], &[program]]), 100);
        assert!(get(&tally.refused_away) > 0, "no program ever came while it was away");
    }
    holds("an agent and an upgrader", 1, Plan::rwlock(&[&[MOVE], &[UPGRADE]]), 100);
    holds("an agent twice and a reader twice", 1, Plan::rwlock(&[&[MOVE, MOVE], &[READ, READ]]), 100);
    let preemptions = if *IS_LONG { 1 } else { 0 };
    holds("an agent and two readers", preemptions, Plan::rwlock(&[&[MOVE], &[READ], &[READ]]), 30);
    holds("an agent, a reader and a writer", preemptions, Plan::rwlock(&[&[MOVE], &[READ], &[WRITE]]), 30);
}

#[test]
fn one_that_gives_up_leaves_nothing_behind() {
    for (hurried, name) in
        [(READ.tries(), "try"), (READ.timed(), "short wait"), (WRITE.timed(), "short write")]
    {
        let plan = Plan::biased(&[&[MOVE], &[hurried, READ]]);
        let tally = holds(&format!("an agent and a {name}"), 1, plan, 50);
        assert!(get(&tally.withdrawals) > 0, "no participant ever withdrew");
    }
}

#[test]
fn a_bias_towards_readers_ends_before_it_is_away() {
    let tally = holds("a biased reader and an agent", 2, Plan::biased(&[&[READ], &[MOVE]]), 100);
    assert!(get(&tally.revocations) > 0 && get(&tally.biased_entries) > 0, "no bias, or it was not revoked");
    let tally =
        holds("a biased reader twice and an agent", 1, Plan::biased(&[&[READ, BIAS, READ], &[MOVE]]), 100);
    assert!(get(&tally.biased_entries) > 0, "there was no bias");
}

#[test]
fn a_reserved_place_ends_before_it_is_away() {
    for again in [WRITE, READ] {
        let tally = holds("a reservation and an agent", 1, Plan::rwlock(&[&[KEEP, again], &[MOVE]]), 50);
        assert!(get(&tally.biased_entries) > 0, "no participant came in by its place");
        assert!(get(&tally.evictions) > 0, "the agent never took the place away");
    }
}

#[test]
fn an_agent_that_dies_leaves_it_as_it_is_to_the_next_one() {
    for step in 1..40 {
        let plan = Plan::biased(&[&[MOVE.dies(step), MOVE], &[READ]]).linked(BLOCK);
        let tally = all_hold(&format!("an agent that dies at step {step}"), 1, &[plan], 1);
        assert_eq!(get(&tally.deaths_of_writers), 0, "it was no holder");
        if get(&tally.deaths) == 0 {
            assert!(step > 5, "it never died");
            break;
        }
    }
}

#[test]
fn a_writers_death_goes_along() {
    let plan = Plan::rwlock(&[&[MOVE], &[WRITE.dies(crate::plan::INSIDE), WRITE]]);
    let tally = holds("an agent and a writer that dies", 1, plan, 50);
    assert!(get(&tally.notices) > 0, "there was no notice");
}

/// Tries to upgrade, and gives up where another participant reads.
fn hurried() -> Visit {
    HOLD.then(Then::Upgrade(Limit::For(Duration::ZERO)))
}

fn under_a_lease(visits: &[&[Visit]]) -> Plan {
    Plan { begins_leased: true, may_be_biased: true, ..Plan::rwlock(visits) }.linked(BLOCK)
}

#[test]
fn under_a_lease_none_comes_in_without_a_look_at_it() {
    let plan = Plan::biased(&[&[READ, BIAS, READ], &[LEASE]]).linked(BLOCK);
    let tally = all_hold("a biased reader and a lease", 1, &plan.in_each_slot(), 50);
    assert!(get(&tally.biased_entries) > 0, "there was no bias");
    let plan = under_a_lease(&[&[KEEP, WRITE], &[READ]]);
    all_hold("one that would reserve its place, and a reader", 1, &plan.in_each_slot(), 30);
    let tally = all_hold("an upgrade given up", 1, &[under_a_lease(&[&[READ, READ], &[hurried()]])], 30);
    assert!(get(&tally.upgrades_given_up) > 0, "no participant ever gave up");
}

#[test]
fn an_upgrade_takes_no_token_beyond_the_block() {
    let plan = Plan::rwlock(&[&[HOLD.then(Then::UpgradeTwice)]]);
    let tally = all_hold("a second upgrade and one token", 1, &[plan.clone().linked(2)], 1);
    assert!(get(&tally.upgrades) > 0 && get(&tally.upgrades_refused) == 0, "the block has two");
    let tally = all_hold("a second upgrade and no token", 1, &[Plan { block: Some(1), ..plan }], 1);
    assert!(get(&tally.upgrades) > 0 && get(&tally.upgrades_refused) > 0, "there was a token");
}

#[test]
fn readers_alone_are_inside_while_it_is_home_to_read() {
    for (program, name) in [(WRITE, "a writer"), (HOLD, "an upgradable reader"), (UPGRADE, "an upgrader")] {
        let plan = Plan::rwlock(&[&[TO_READ, MOVE], &[program]]);
        let tally = holds(&format!("a reading agent and {name}"), 1, plan, 100);
        assert!(get(&tally.left_to_readers) > 0, "no program ever came while it was home to read");
    }
    let tally = holds("a reading agent and a reader", 1, Plan::rwlock(&[&[TO_READ, MOVE], &[READ]]), 100);
    assert!(get(&tally.together) > 0, "no reader was inside beside one of another host");
    let (short, short_and_again): (&[Visit], &[Visit]) = (&[WRITE.timed()], &[WRITE.timed(), READ]);
    let plan = Plan::rwlock(&[&[TO_READ, MOVE], if *IS_LONG { short_and_again } else { short }]);
    let tally = holds("a reading agent and a short write", 1, plan, 100);
    assert!(get(&tally.left_to_readers) > 0 && get(&tally.withdrawals) > 0, "it was never in vain");
    let preemptions = if *IS_LONG { 1 } else { 0 };
    let plan = Plan::rwlock(&[&[TO_READ, MOVE], &[READ], &[WRITE]]);
    holds("a reading agent, a reader and a writer", preemptions, plan, 30);
}

#[test]
fn a_bias_towards_readers_begins_while_it_is_home_to_read_and_ends_before_it_is_away() {
    let tally = holds(
        "a biased reader and a reading agent",
        1,
        Plan::biased(&[&[BIAS, READ], &[TO_READ, MOVE]]),
        100,
    );
    assert!(get(&tally.revocations) > 0 && get(&tally.biased_entries) > 0, "no bias, or it was not revoked");
}

#[test]
fn an_agent_that_dies_leaves_it_home_to_read_or_away() {
    for step in 1..40 {
        let plan = Plan::rwlock(&[&[TO_READ.dies(step), TO_READ, MOVE], &[WRITE]]).linked(BLOCK);
        let tally = all_hold(&format!("a reading agent that dies at step {step}"), 1, &[plan], 1);
        assert_eq!(get(&tally.deaths_of_writers), 0, "it was no holder");
        if get(&tally.deaths) == 0 {
            assert!(step > 5, "it never died");
            break;
        }
    }
}

/// By an agent in the third slot.
const GIVE_AWAY: Then = Then::GiveAway { share: 1, slot: 2 };

fn semaphore(visits: &[&[Visit]]) -> Plan {
    Plan::new(Relation::Permits, visits)
}

#[test]
fn permits_are_another_hosts_once_the_share_is_drained() {
    let tally = holds("a share and all permits", 2, semaphore(&[&[share(1)], &[permits(2)]]), 100);
    assert!(get(&tally.refused_away) > 0, "no program ever wanted more than the share");
    holds("a share of none and a permit twice", 1, semaphore(&[&[share(0)], &[permits(1), permits(1)]]), 50);
    let preemptions = if *IS_LONG { 1 } else { 0 };
    holds(
        "a share and two permits",
        preemptions,
        semaphore(&[&[share(1)], &[permits(1)], &[permits(1)]]),
        10,
    );
    let plan = semaphore(&[&[permits(1)], &[permits(1).then(GIVE_AWAY)], &[]]).linked(BLOCK);
    all_hold("a permit given away, and two", 2, &[plan], 100);
    for hurried in [permits(2).tries(), permits(2).timed()] {
        let tally = holds("a share and a hurry", 1, semaphore(&[&[share(1)], &[hurried, permits(1)]]), 20);
        assert!(get(&tally.withdrawals) > 0, "no participant ever withdrew");
    }
}

#[test]
fn a_reserved_place_is_of_no_use_where_the_share_changes() {
    let one = permits(1).retains();
    for least in [0, 1] {
        let tally = holds("a share and a place", 1, semaphore(&[&[share(least)], &[one, one, one]]), 100);
        assert!(get(&tally.biased_entries) > 0, "no participant came in by its place");
    }
    let plan = semaphore(&[&[share(1), share(1)], &[one, one]]);
    holds("a share twice and a place", if *IS_LONG { 1 } else { 0 }, plan, 20);
    holds(
        "a share, a place and a permit",
        if *IS_LONG { 1 } else { 0 },
        semaphore(&[&[share(1)], &[one, one], &[permits(1)]]),
        10,
    );
}

/// One that comes in by its place, if it can, again and again.
fn by_its_place(times: usize) -> Vec<Visit> {
    vec![permits(1).retains(); times]
}

#[test]
fn a_lease_of_permits_begins_when_no_place_is_reserved_and_none_begins_under_it() {
    for times in [2, 3] {
        let plan = semaphore(&[&[LEASE_SHARE], &by_its_place(times)]);
        let tally = holds("a lease and a place", if times == 2 || *IS_LONG { 2 } else { 1 }, plan, 100);
        assert!(get(&tally.biased_entries) > 0, "no participant came in by its place");
    }
    let preemptions = if *IS_LONG { 1 } else { 0 };
    let plan = semaphore(&[&[LEASE_SHARE], &by_its_place(2), &[permits(1)]]);
    holds("a lease, a place and a permit", preemptions, plan, 10);
}

#[test]
fn an_agent_that_dies_leaves_a_share_that_the_next_one_drains() {
    for step in 1..20 {
        let plan = semaphore(&[&[share(1).dies(step), share(1)], &[permits(2)]]).linked(BLOCK);
        let tally = all_hold(&format!("an agent of a share that dies at step {step}"), 1, &[plan], 1);
        if get(&tally.deaths) == 0 {
            assert!(step > 2, "it never died");
            break;
        }
    }
}

#[cfg(feature = "mutants")]
mod with_mutants {
    use super::*;
    use crate::oracle::Property::{Data, Exclusion, Lease, Token};
    use crate::search::with_mutants::is_caught;
    use turnlock_core::mutants::Mutant;

    #[test]
    fn without_a_look_whether_it_is_away_two_hosts_are_inside() {
        for program in [READ, WRITE, HOLD] {
            let plan = Plan::rwlock(&[&[MOVE], &[program]]).linked(BLOCK);
            is_caught(Mutant::AwayUnseen, 2, &plan, &[Data]);
        }
    }

    #[test]
    fn a_reader_without_a_look_is_inside_beside_another_host() {
        let plan = Plan::rwlock(&[&[MOVE], &[READ]]).linked(BLOCK);
        is_caught(Mutant::ReaderEntersAway, 2, &plan, &[Data]);
    }

    #[test]
    fn a_writer_that_is_admitted_while_it_is_home_to_read_is_inside_beside_another_hosts_reader() {
        let plan = Plan::rwlock(&[&[TO_READ, MOVE], &[WRITE]]).linked(BLOCK);
        is_caught(Mutant::WriterEntersToRead, 1, &plan, &[Exclusion, Data]);
    }

    #[test]
    fn when_it_comes_home_to_read_before_its_token_readers_have_an_older_one() {
        let plan = Plan::rwlock(&[&[TO_READ, MOVE], &[READ]]).linked(BLOCK);
        is_caught(Mutant::ToReadBeforeToken, 1, &plan, &[Token]);
    }

    #[test]
    fn an_upgrade_that_is_given_up_hides_a_lease() {
        is_caught(Mutant::CancelsOverLease, 1, &under_a_lease(&[&[READ, READ], &[hurried()]]), &[Lease]);
    }

    #[test]
    fn a_bias_or_a_place_that_begins_under_a_lease_hides_it() {
        is_caught(Mutant::BiasUnderLease, 1, &under_a_lease(&[&[BIAS, READ]]), &[Lease]);
        is_caught(Mutant::BiasUnderLease, 1, &under_a_lease(&[&[KEEP, WRITE]]), &[Lease]);
    }

    #[test]
    fn an_upgrade_without_a_look_at_the_block_takes_another_hosts_token() {
        let plan = Plan::rwlock(&[&[HOLD.then(Then::UpgradeTwice)]]).linked(1);
        is_caught(Mutant::UpgradesBeyondBlock, 1, &plan, &[Token]);
    }

    #[test]
    fn permits_that_are_given_back_too_soon_are_inside_twice() {
        let two = semaphore(&[&[share(1)], &[permits(2)]]).linked(BLOCK);
        is_caught(Mutant::GivesBackUndrained, 2, &two, &[Exclusion]);
        is_caught(Mutant::DrainsWithoutBarrier, 2, &two, &[Exclusion]);
        // The one before the last that is inside has not entered yet, and does not count the last.
        let plan = semaphore(&[&[permits(1)], &[permits(1).then(GIVE_AWAY)], &[]]).linked(BLOCK);
        is_caught(Mutant::DrainsInsidersOnly, 2, &plan, &[Exclusion]);
    }

    #[test]
    fn a_lease_of_permits_that_begins_too_soon_is_hidden_by_a_place() {
        let plan = semaphore(&[&[LEASE_SHARE], &by_its_place(3)]).linked(BLOCK);
        is_caught(Mutant::LeaseDrainedOnce, 2, &plan, &[Lease]);
        let plan = Plan { begins_leased: true, ..semaphore(&[&by_its_place(2)]) }.linked(BLOCK);
        is_caught(Mutant::BiasUnderLease, 1, &plan, &[Lease]);
    }
}
