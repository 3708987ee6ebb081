//! Faults that break the lock: the check finds them, in what programs of the real thing wrote down. And one that must not break it.

use crate::{
    cables::alone,
    host::{Agency, Kind},
    runs::agencies,
    world::World,
};
use std::{process::Command, time::Duration};
use support::limit;

/// How long two hosts enter that do not exclude each other: hundreds of entries.
const BESIDE: Duration = Duration::from_millis(1_500);

/// A world with these agents in which programs enter, if it can be here.
fn world(is_leased: bool, agencies: [Agency; 3]) -> World {
    support::watchdog::a_test_begins();
    let mut world = World::begin(is_leased, agencies).unwrap();
    world.start_programs();
    world
}

/// Whether the check finds what it has to find, in the end.
fn is_found(mut world: World) {
    world.goes_on(BESIDE);
    let wrong = world.is_over().0.expect_err("two hosts that were inside at once are found");
    let is_of_it = [
        "two are inside",
        "are taken at once",
        "the fencing token did not rise",
        "was read",
        "the register is torn",
        "refused",
    ];
    assert!(is_of_it.iter().any(|part| wrong.contains(part)), "{wrong}");
}

#[test]
fn a_host_that_is_forgotten_and_goes_on_is_found() {
    alone(|| {
        let mut world = world(false, agencies(false));
        world.stop_at_home(0);
        let mut forget = Command::new(env!("CARGO_BIN_EXE_turnlock-link"));
        forget.args(["forget", "a", "--endpoints", "10.77.0.1:2379"]);
        assert!(limit::status(&mut forget).unwrap().success());
        world.until_another_is_in(0);
        is_found(world);
    });
}

#[test]
fn a_lease_by_another_clock_than_that_of_the_programs_is_found() {
    alone(|| {
        let mut agencies = agencies(true);
        agencies[0] =
            Agency { booted_earlier: 1_000, programs_have_another_clock: true, ..agencies[0].clone() };
        let mut world = world(true, agencies);
        world.stop_at_home(0);
        world.until_another_is_in(0);
        is_found(world);
    });
}

/// As a member does that was the leader and does not know of the new one (etcd#15247).
#[test]
fn leases_that_etcd_ends_early_let_no_other_host_in_beside_the_one_that_has_the_lock() {
    alone(|| {
        let mut world = world(true, agencies(true));
        world.until_each_host_is_in();
        world.stop_at_home(0);
        assert!(world.end_leases());
        world.until_another_is_in(0);
        world.heal();
        world.until_each_host_is_in();
        let seen = world.is_over().0.unwrap();
        assert!(seen.told > 0, "it was no hand-over: {seen:?}");
    });
}

#[test]
fn hosts_that_are_linked_by_two_prefixes_are_found() {
    by_two_prefixes(Kind::Mutex);
}

#[test]
fn hosts_whose_permits_are_shared_out_by_two_prefixes_are_found() {
    by_two_prefixes(Kind::Semaphore);
}

fn by_two_prefixes(kind: Kind) {
    alone(|| {
        let mut agencies = agencies(false).map(|agency| Agency { kind, ..agency });
        agencies[2].options.extend(["--prefix".to_owned(), "another".to_owned()]);
        is_found(world(false, agencies));
    });
}
