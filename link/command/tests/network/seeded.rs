//! Faults that break the lock: the check finds them, in what programs of the real thing wrote down.

use crate::{cables::alone, host::Agency, program::now, runs::agencies, world::World};
use nix::sys::signal::Signal;
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

/// Stops the agent of this host while its lock is home: it stays home then.
fn stop_at_home(world: &mut World, host: usize) {
    support::until("the lock is home where the agent is stopped", || {
        world.goes_on(Duration::from_millis(20));
        world.hosts[host].signal_agent(Signal::SIGSTOP);
        // What was under way has ended by then.
        world.goes_on(Duration::from_millis(300));
        let since = now();
        world.goes_on(Duration::from_millis(100));
        let is_home = world.hosts[host].entered_last() > since;
        if !is_home {
            world.hosts[host].resume_agent();
        }
        is_home
    });
}

/// Waits until a program of another host than this one has entered since.
fn until_another_is_in(world: &mut World, host: usize) {
    let since = now();
    support::until("another host has the lock too", || {
        world.goes_on(Duration::from_millis(20));
        (0..world.hosts.len()).any(|other| other != host && world.hosts[other].entered_last() > since)
    });
}

/// Whether the check finds what it has to find, in the end.
fn is_found(mut world: World) {
    world.goes_on(BESIDE);
    let wrong = world.is_over().0.expect_err("two hosts that were inside at once are found");
    let is_of_it =
        ["two are inside", "the fencing token did not rise", "was read", "the register is torn", "refused"];
    assert!(is_of_it.iter().any(|part| wrong.contains(part)), "{wrong}");
}

#[test]
fn a_host_that_is_forgotten_and_goes_on_is_found() {
    alone(|| {
        let mut world = world(false, agencies(false));
        stop_at_home(&mut world, 0);
        let mut forget = Command::new(env!("CARGO_BIN_EXE_turnlock-link"));
        forget.args(["forget", "a", "--endpoints", "10.77.0.1:2379"]);
        assert!(limit::status(&mut forget).unwrap().success());
        until_another_is_in(&mut world, 0);
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
        stop_at_home(&mut world, 0);
        until_another_is_in(&mut world, 0);
        is_found(world);
    });
}

#[test]
fn hosts_that_are_linked_by_two_prefixes_are_found() {
    alone(|| {
        let mut agencies = agencies(false);
        agencies[2].options.extend(["--prefix".to_owned(), "another".to_owned()]);
        is_found(world(false, agencies));
    });
}
