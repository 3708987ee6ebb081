//! Semaphores whose permits are leased: a host that cannot reach etcd loses its own.

use crate::{
    engine::{Etcd, etcd},
    host::{Host, linked},
    semaphores::{TOTAL, all_take, jobs, status, take, taker_at},
};
use nix::sys::signal::Signal;
use std::time::Duration;
use support::{limit, until};
use turnlock::Error;

/// The length of the lease, in seconds.
const LEASED: &[&str] = &["--hold", "3", "--lease", "3", "--semaphore", "jobs=10"];

fn two(etcd: &Etcd) -> [Host<'_>; 2] {
    ["a", "b"].map(|name| Host::with(etcd, name, LEASED))
}

fn is_closed(host: &Host) -> bool {
    jobs(host).acquire_for(1, Duration::from_millis(300)).is_err()
}

#[test]
fn a_host_whose_agent_stands_still_loses_its_permits_in_time_and_who_is_inside_is_told() {
    let Some(etcd) = etcd() else { return };
    let [a, b] = &two(&etcd);
    let semaphore = jobs(a);
    let guard = semaphore.acquire_for(TOTAL - 1, limit::seconds(60)).unwrap();
    assert!(guard.still_owner());
    a.signal_agent(Signal::SIGSTOP);
    // The other host gets them while the program is inside; that it may be, by this clock, it was told before.
    let all = jobs(b);
    let all = all.acquire_for(TOTAL, limit::seconds(60)).unwrap();
    assert!(!guard.still_owner() && all.still_owner());
    // No program of this host enters, although nobody has told the file so, and its own permit was free.
    assert!(is_closed(a));
    a.signal_agent(Signal::SIGCONT);
    until("it has said so", || a.said().contains("other hosts may have those, too"));
    all.unlock().unwrap();
    // It has none anew while that program is inside.
    assert!(is_closed(a));
    assert!(matches!(guard.unlock(), Err(Error::LeaseEnded)));
    take(a, TOTAL);
    take(b, TOTAL);
}

#[test]
fn permits_of_a_host_that_is_gone_come_back_after_the_lease() {
    let Some(etcd) = etcd() else { return };
    let [mut a, b] = two(&etcd);
    let mut program = taker_at(&a, TOTAL);
    a.kill_agent();
    program.kill();
    assert!(jobs(&b).acquire_for(1, Duration::from_millis(500)).is_err(), "they are leased still");
    take(&b, TOTAL);
    assert_eq!(status(&etcd)["shares"], serde_json::json!({ "b": TOTAL }));
}

#[test]
fn an_engine_that_is_away_closes_it_and_what_no_other_host_took_is_its_own_again() {
    let Some(etcd) = etcd() else { return };
    let a = Host::with(&etcd, "a", LEASED);
    let semaphore = jobs(&a);
    let guard = semaphore.acquire_for(4, limit::seconds(60)).unwrap();
    etcd.kill();
    until("the lease is over", || !guard.still_owner());
    assert!(is_closed(&a));
    etcd.restart();
    until("it has its permits again", || guard.still_owner());
    take(&a, TOTAL - 4);
    guard.unlock().unwrap();
}

#[test]
fn no_more_permits_are_taken_than_there_are_while_an_agent_stands_still_and_others_are_killed() {
    let Some(etcd) = etcd() else { return };
    let options: &'static [&'static str] = &["--hold", "3", "--lease", "5", "--semaphore", "jobs=10"];
    let mut hosts = ["a", "b", "c"].map(|name| Host::with(&etcd, name, options));
    take(&hosts[0], TOTAL);
    for round in 0..2 {
        let killed = &mut hosts[(round + 1) % 3];
        killed.kill_agent();
        killed.start();
        all_take(&hosts, 50, || {
            // Longer than the lease: the others go on without its permits, and it comes back.
            hosts[round].signal_agent(Signal::SIGSTOP);
            until("its permits are the others'", || {
                let shares = status(&etcd)["shares"].clone();
                shares[hosts[round].name].is_null() && shares.as_object().is_some_and(|all| !all.is_empty())
            });
            hosts[round].signal_agent(Signal::SIGCONT);
            if round == 1 {
                etcd.kill();
                etcd.start();
            }
        });
    }
}

#[test]
fn an_agent_of_another_mode_is_refused() {
    let Some(etcd) = etcd() else { return };
    let a = Host::with(&etcd, "a", LEASED);
    take(&a, 1);
    let kept = Host::with(&etcd, "b", &["--semaphore", "jobs=10"]);
    assert!(is_closed(&kept));
    until("it has said so", || kept.said().contains("is leased by the other hosts"));
    let shown = String::from_utf8(linked(&etcd, &["status"]).stdout).unwrap();
    assert!(shown.contains("semaphore \"jobs\", 10 permits (leased): 1 at host \"a\", 9 at none"), "{shown}");
    take(&a, TOTAL);
}

#[test]
fn leased_permits_that_are_given_up_or_forgotten_are_others_at_once() {
    let Some(etcd) = etcd() else { return };
    let options: &'static [&'static str] = &["--lease", "60", "--leave", "--semaphore", "jobs=10"];
    let [mut a, mut b] = ["a", "b"].map(|name| Host::with(&etcd, name, options));
    take(&a, TOTAL);
    a.signal_agent(Signal::SIGTERM);
    let (code, said) = a.agent_ends();
    assert!(code == Some(0) && said.contains("all its permits are given back"), "{code:?} {said}");
    take(&b, TOTAL);
    b.kill_agent();
    let forgets = linked(&etcd, &["forget", "b"]);
    assert!(forgets.status.success(), "{forgets:?}");
    a.start();
    take(&a, TOTAL);
}
