//! Locks that are leased: a host that cannot reach etcd loses them.

use crate::{
    engine::etcd,
    host::{Host, linked, status},
};
use nix::sys::signal::Signal;
use support::{limit, until};

/// The length of the lease, in seconds.
const LEASED: [&str; 2] = ["--lease", "3"];

#[test]
fn a_host_whose_agent_stands_still_loses_the_lock_in_time_and_who_is_inside_is_told() {
    let Some(etcd) = etcd() else { return };
    let (a, b) = (Host::with(&etcd, "a", &LEASED), Host::with(&etcd, "b", &LEASED));
    let mutex = a.mutex();
    let guard = mutex.lock_for(limit::seconds(60)).unwrap();
    assert!(guard.still_owner());
    let first = guard.fencing_token();
    a.signal_agent(Signal::SIGSTOP);
    // The other host gets it while the program is inside; that it may be, by this clock, it was told before.
    let (second, told) = b.enter();
    assert!(!guard.still_owner());
    assert!(second > first && told, "{first} {second}");
    assert!(guard.unlock().is_err());
    // No program of this host enters, although nobody has told the file so.
    assert!(a.is_closed());
    a.signal_agent(Signal::SIGCONT);
    let (third, _) = a.enter();
    assert!(third > second, "{second} {third}");
    let (fourth, told) = b.enter();
    assert!(fourth > third && !told, "{third} {fourth}");
}

#[test]
fn an_engine_that_is_away_closes_the_lock_and_a_host_that_no_other_followed_goes_on() {
    let Some(etcd) = etcd() else { return };
    let a = Host::with(&etcd, "a", &LEASED);
    let (first, _) = a.enter();
    etcd.kill();
    until("the lease is over", || a.is_closed());
    etcd.restart();
    let (second, told) = a.enter();
    assert!(second > first && !told, "{first} {second} {told}");
}

#[test]
fn an_agent_of_another_mode_is_refused() {
    let Some(etcd) = etcd() else { return };
    let a = Host::with(&etcd, "a", &LEASED);
    let (first, _) = a.enter();
    let mut kept = Host::new(&etcd, "b");
    assert!(kept.is_closed());
    let text = linked(&etcd, &["status"]).stdout;
    assert!(String::from_utf8_lossy(&text).contains("at host \"a\" (leased)"));
    until("it has said so", || kept.said().contains("is leased by the other hosts"));
    assert_eq!(status(&etcd), (Some("a".into()), Vec::new()));
    kept.signal_agent(Signal::SIGTERM);
    assert_eq!(kept.agent_ends().0, Some(0));
    assert_eq!(a.enter(), (first + 1, false));
}

#[test]
fn a_leased_lock_that_is_given_up_goes_to_another_host_at_once() {
    let Some(etcd) = etcd() else { return };
    let mut a = Host::with(&etcd, "a", &["--lease", "60", "--leave"]);
    let (first, _) = a.enter();
    a.signal_agent(Signal::SIGTERM);
    assert_eq!(a.agent_ends().0, Some(0));
    let b = Host::with(&etcd, "b", &["--lease", "60"]);
    let (second, told) = b.enter();
    assert!(second > first && !told, "{first} {second}");
}
