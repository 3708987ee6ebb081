//! Mutants of claims and of the bias towards readers, each of which the search must catch.

use crate::groups::one_repairs_while_another_dies;
use crate::oracle::Property::{Data, Exclusion, Order, OwnerDead, Token};
use crate::plan::{BIAS, HOLD, KEEP, Plan, READ, Then, UPGRADE, WRITE, member};
use crate::search::{with_mutants::is_caught, without_mutants};
use std::{panic::catch_unwind, time::Duration};
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::{Mode, Relation};
use turnlock_core::mutants::{Mutant, switch_on};

#[test]
fn without_a_fence_a_reader_that_enters_by_the_bias_is_overlooked() {
    for mutant in [Mutant::NoFenceToRevokeReaders, Mutant::NoFenceInFencedMode] {
        is_caught(mutant, 3, &Plan::biased(&[&[READ], &[WRITE]]), &[Data]);
    }
    let plan = Plan::rwlock(&[&[READ], &[UPGRADE]]);
    is_caught(Mutant::NoFenceToRevokeReaders, 3, &plan, &[Data]);
}

#[test]
fn a_revocation_that_is_given_up_to_nobody_hides_biased_readers() {
    let hurried = HOLD.then(Then::Upgrade(Limit::For(Duration::ZERO)));
    let plan = Plan::biased(&[&[READ], &[hurried, WRITE]]);
    is_caught(Mutant::CancelsToNobody, 2, &plan, &[Exclusion, Data]);
}

#[test]
fn a_revocation_that_is_given_up_to_readers_hides_a_notice() {
    let hurried = HOLD.then(Then::Upgrade(Limit::For(Duration::ZERO)));
    is_caught(Mutant::CancelsOverNotice, 1, &Plan::after_death(&[&[READ, READ], &[hurried]]), &[OwnerDead]);
}

#[test]
fn a_reader_that_looked_at_the_modes_before_an_upgrade_is_inside_with_the_writer() {
    let plan = Plan::rwlock(&[&[UPGRADE], &[READ]]);
    for mutant in [Mutant::NoLookForUpgrade, Mutant::UpgradeEndsTooSoon] {
        is_caught(mutant, 2, &plan, &[Data]);
    }
}

#[test]
fn a_dead_reader_told_as_a_writer_is_seen() {
    let plan = Plan::rwlock(&[&[READ.dies(6)], &[READ]]);
    is_caught(Mutant::DeadReaderIsOwnerDead, 2, &plan, &[OwnerDead]);
}

#[test]
fn a_place_that_was_taken_away_lets_nobody_in() {
    for mutant in [Mutant::ReservationWithoutLook, Mutant::EndsWithoutBarrier] {
        is_caught(mutant, 3, &Plan::rwlock(&[&[KEEP, WRITE], &[WRITE]]), &[Data]);
    }
}

#[test]
fn a_reader_does_not_go_past_a_writer_that_is_inside_by_its_place() {
    is_caught(Mutant::PassesWriterByReservation, 2, &Plan::rwlock(&[&[KEEP, WRITE], &[READ]]), &[Data]);
    let plan = Plan::rwlock(&[&[KEEP, READ, WRITE], &[READ]]);
    is_caught(Mutant::WriterLeftAsReader, 2, &plan, &[Data]);
}

#[test]
fn a_dead_reader_inside_by_its_place_told_as_a_writer_is_seen() {
    let plan = Plan::rwlock(&[&[KEEP, READ.dies(6)], &[READ]]);
    is_caught(Mutant::DeadReservedReaderIsOwnerDead, 2, &plan, &[OwnerDead]);
}

#[test]
fn a_claim_that_comes_after_its_number_is_overlooked() {
    let plan = Plan::rwlock(&[&[READ, WRITE], &[READ]]);
    is_caught(Mutant::ClaimAfterNumber, 2, &plan, &[Exclusion]);
}

#[test]
fn a_reader_that_takes_a_token_is_seen() {
    is_caught(Mutant::ReaderTakesToken, 2, &Plan::rwlock(&[&[READ], &[READ]]), &[Token]);
}

#[test]
fn a_downgrade_that_writes_over_the_bias_hides_biased_readers() {
    let one = WRITE.then(Then::Downgrade(Mode::Shared));
    let plan = Plan { meets_always: true, ..Plan::rwlock(&[&[one, WRITE], &[BIAS, READ]]) };
    is_caught(Mutant::DowngradesOverReaders, 2, &plan, &[Data]);
}

#[test]
fn a_reader_that_biases_by_a_store_writes_over_an_upgrade() {
    let plan = Plan { meets_always: true, ..Plan::rwlock(&[&[UPGRADE], &[BIAS, READ]]) };
    is_caught(Mutant::RebiasByStore, 2, &plan, &[Data]);
}

#[test]
fn two_groups_that_do_not_conflict_are_together() {
    let plan = Plan::new(Relation::Groups, &[&[member(1)], &[member(2)]]);
    is_caught(Mutant::GroupsTogether, 1, &plan, &[Exclusion, Data]);
}

#[test]
fn one_that_joins_its_group_goes_before_another_that_waits() {
    let plan = Plan::new(Relation::Groups, &[&[member(1)], &[member(1)], &[member(2)]]);
    is_caught(Mutant::JoinsOverWaiter, 1, &plan, &[Order]);
}

#[test]
fn a_death_that_is_marked_by_one_that_was_not_told_is_lost() {
    let _field = without_mutants();
    switch_on(Some(Mutant::MarksUntoldDeath));
    let panic = catch_unwind(one_repairs_while_another_dies).expect_err("MarksUntoldDeath was not caught");
    let reason = panic.downcast_ref::<String>().cloned().unwrap_or_default();
    assert!(reason.contains("OwnerDead: "), "it failed otherwise: {reason}");
}
