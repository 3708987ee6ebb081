//! Claims that conflict now and then under loom and shuttle.
#![cfg(all(any(loom, shuttle), feature = "trace"))]

#[path = "../ring_model/checker.rs"]
mod checker;
mod life;
mod oracle;
mod plan;
mod search;
mod site;
#[cfg(feature = "mutants")]
mod with_mutants;
mod world;

use oracle::get;
use plan::{BIAS, HOLD, Plan, READ, Then, UPGRADE, WRITE, permits, range};
use search::all_hold;
use turnlock::algorithm::claim::Mode;

// Each execution is a sign of life.
support::watched_for_seconds!(300);

#[test]
fn d2() {
    all_hold("d2", 2, &[Plan { meets_always: true, ..Plan::rwlock(&[&[WRITE.then(Then::Downgrade(Mode::Shared)), WRITE], &[BIAS, READ]]) }], 1);
}
#[test]
fn d3() {
    all_hold("d3", 2, &[Plan::biased(&[&[WRITE], &[READ], &[UPGRADE.evicts(1)]])], 1);
}
#[test]
fn d1() {
    all_hold("d1", 3, &[Plan::rwlock(&[&[WRITE], &[READ], &[UPGRADE.evicts(1)]])], 1);
}
