//! The engine is away, and comes back.

use crate::{
    engine::{Etcd, cluster, etcd},
    host::{Host, status},
};
use nix::sys::signal::Signal;
use std::{net::TcpListener, thread};
use support::{until, until_some};

#[test]
fn an_engine_that_is_stopped_stops_no_program_at_home_and_gives_the_lock_to_no_other_host() {
    let Some(etcd) = etcd() else { return };
    let (a, b) = (Host::new(&etcd, "a"), Host::new(&etcd, "b"));
    let (first, _) = a.enter();
    etcd.signal(Signal::SIGSTOP);
    thread::scope(|programs| {
        let of_b = programs.spawn(|| b.enter());
        for next in 1..=100 {
            assert_eq!(a.enter(), (first + next, false));
        }
        assert!(!of_b.is_finished());
        etcd.signal(Signal::SIGCONT);
        let (token, told) = of_b.join().unwrap();
        assert!(token > first + 100 && !told, "{first} {token}");
    });
}

#[test]
fn an_engine_that_is_killed_and_started_again_is_gone_on_with() {
    let Some(etcd) = etcd() else { return };
    let (a, b) = (Host::new(&etcd, "a"), Host::new(&etcd, "b"));
    let (first, _) = a.enter();
    for round in 0..2 {
        etcd.kill();
        let (second, told) = if round == 0 { a.enter() } else { b.enter() };
        assert!(second > first && !told, "{first} {second}");
        assert!(if round == 0 { b.is_closed() } else { a.is_closed() });
        etcd.restart();
        let (third, told) = if round == 0 { b.enter() } else { a.enter() };
        assert!(third > second && !told, "{second} {third}");
    }
    until("it says where the lock is", || status(&etcd) == (Some("a".into()), Vec::new()));
}

#[test]
fn compacted_revisions_lose_nothing() {
    let Some(etcd) = etcd() else { return };
    let hosts = [Host::new(&etcd, "a"), Host::new(&etcd, "b")];
    let mut before = 0;
    for round in 0..6 {
        let (token, told) = hosts[round % 2].enter();
        assert!(token > before && !told, "{before} {token}");
        before = token;
        let revision = etcd.ctl(&["put", "other", "x", "--write-out", "json"]);
        let json: serde_json::Value = serde_json::from_str(&revision).unwrap();
        etcd.ctl(&["compact", &json["header"]["revision"].to_string()]);
    }
}

#[test]
fn a_member_that_is_dead_or_silent_is_left_for_the_next_one() {
    let Some(etcd) = etcd() else { return };
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let others = ["127.0.0.1:1".to_owned(), silent.local_addr().unwrap().to_string()];
    let hosts = ["a", "b"].map(|name| {
        let at = usize::from(name == "b");
        let endpoints: &'static str = format!("{},{}", others[at], etcd.endpoint()).leak();
        Host::with(&etcd, name, &["--endpoints", endpoints])
    });
    let (first, _) = hosts[0].enter();
    let (second, _) = hosts[1].enter();
    let (third, _) = hosts[0].enter();
    assert!(first < second && second < third, "{first} {second} {third}");
}

#[test]
fn a_cluster_goes_on_without_its_leader_and_the_agents_with_it() {
    let Some(members) = cluster() else { return };
    let all: Vec<_> = members.iter().map(Etcd::endpoint).collect();
    let all: &'static str = all.join(",").leak();
    let hosts = ["a", "b"].map(|name| Host::with(&members[0], name, &["--endpoints", all]));
    let mut last = 0;
    let mut enter = |host: &Host| {
        let (token, told) = host.enter();
        assert!(token > last && !told, "{last} {token}");
        last = token;
    };
    for signal in [Some(Signal::SIGSTOP), None] {
        hosts.iter().for_each(&mut enter);
        let leader = until_some("there is a leader", || members.iter().find(|member| member.is_leader()));
        match signal {
            Some(signal) => leader.signal(signal),
            None => leader.kill(),
        }
        hosts.iter().for_each(&mut enter);
        match signal {
            Some(_) => leader.signal(Signal::SIGCONT),
            None => leader.restart(),
        }
        until("it is one of three again", || leader.answers());
    }
    // Most members are gone: what is home stays home, and comes to no other host.
    members[..2].iter().for_each(Etcd::kill);
    enter(&hosts[1]);
    assert!(hosts[0].is_closed());
    members[..2].iter().for_each(Etcd::start);
    members.iter().for_each(Etcd::until_it_answers);
    hosts.iter().for_each(&mut enter);
}
