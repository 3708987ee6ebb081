//! Agents and programs that are killed.

use crate::{
    engine::etcd,
    host::{Host, status, until_queued},
};
use nix::sys::signal::Signal;
use std::thread;
use support::until;

#[test]
fn a_lock_that_is_away_stays_closed_without_its_agent_and_opens_with_the_next_one() {
    let Some(etcd) = etcd() else { return };
    let (a, mut b) = (Host::new(&etcd, "a"), Host::new(&etcd, "b"));
    let (first, _) = a.enter();
    b.kill_agent();
    assert!(b.is_closed());
    let (second, _) = a.enter();
    b.start();
    let (third, told) = b.enter();
    assert!(first < second && second < third && !told, "{first} {second} {third} {told}");
}

#[test]
fn an_agent_that_is_killed_while_it_waits_leaves_the_queue_and_the_next_one_waits_anew() {
    let Some(etcd) = etcd() else { return };
    let (a, mut b, c) = (Host::new(&etcd, "a"), Host::new(&etcd, "b"), Host::new(&etcd, "c"));
    let (mut holder, _) = a.holder();
    thread::scope(|programs| {
        let [of_b, of_c] = [&b, &c].map(|host| (host.mutex(), host.name));
        let enters = |(mutex, name): (turnlock::Mutex, &'static str)| {
            programs.spawn(move || {
                let guard = mutex.lock_for(support::limit::seconds(100));
                guard.unwrap_or_else(|error| panic!("{name}: {error}")).fencing_token()
            })
        };
        let of_b = enters(of_b);
        until_queued(&etcd, &["b"]);
        let of_c = enters(of_c);
        until_queued(&etcd, &["b", "c"]);
        b.kill_agent();
        // By its lease, 10 s.
        until_queued(&etcd, &["c"]);
        b.start();
        until_queued(&etcd, &["c", "b"]);
        holder.tell("leave");
        assert!(of_c.join().unwrap() < of_b.join().unwrap());
    });
    holder.expect("left");
}

#[test]
fn programs_at_home_go_on_without_an_agent_and_the_next_one_lets_others_have_the_lock() {
    let Some(etcd) = etcd() else { return };
    let (mut a, b) = (Host::new(&etcd, "a"), Host::new(&etcd, "b"));
    let (first, _) = a.enter();
    a.kill_agent();
    let (second, _) = a.enter();
    assert_eq!(second, first + 1, "it goes on in its block");
    assert!(b.is_closed());
    a.start();
    let (third, told) = b.enter();
    assert!(second < third && !told, "{second} {third} {told}");
    until("it is away", || !a.is_home());
}

#[test]
fn the_next_holder_at_another_host_is_told_of_a_program_that_was_killed_inside() {
    let Some(etcd) = etcd() else { return };
    let (a, b) = (Host::new(&etcd, "a"), Host::new(&etcd, "b"));
    let (mut holder, first) = a.holder();
    holder.kill();
    let (second, told) = b.enter();
    assert!(first < second && told, "{first} {second} {told}");
    let (third, told) = a.enter();
    assert!(second < third && !told, "{second} {third} {told}");
}

#[test]
fn an_agent_that_is_asked_to_end_leaves_its_locks_as_they_are() {
    let Some(etcd) = etcd() else { return };
    let mut a = Host::new(&etcd, "a");
    let (first, _) = a.enter();
    a.signal_agent(Signal::SIGTERM);
    let (code, said) = a.agent_ends();
    assert_eq!(code, Some(0), "{said}");
    assert!(a.is_home());
    assert_eq!(a.enter().0, first + 1);
}

#[test]
fn a_host_that_leaves_gives_up_what_it_has_and_comes_back() {
    let Some(etcd) = etcd() else { return };
    let (mut a, b) = (Host::with(&etcd, "a", &["--leave"]), Host::new(&etcd, "b"));
    let (mut holder, first) = a.holder();
    thread::scope(|programs| {
        let behind = a.mutex();
        let waits = programs
            .spawn(move || behind.lock_for(support::limit::seconds(100)).map(|guard| guard.fencing_token()));
        support::until_waiting(&a.path(), crate::host::LOCK, 1);
        a.signal_agent(Signal::SIGTERM);
        support::until_waiting(&a.path(), crate::host::LOCK, 2);
        holder.tell("leave");
        let (code, said) = a.agent_ends();
        assert!(code == Some(0) && said.contains("other hosts may have them"), "{code:?} {said}");
        assert_eq!(status(&etcd), (None, Vec::new()), "no host has it, and none waits");
        let (second, told) = b.enter();
        assert!(first < second && !told, "{first} {second} {told}");
        a.start();
        let third = waits.join().unwrap().unwrap();
        assert!(third == first + 1 || third > second, "{first} {second} {third}");
    });
    holder.expect("left");
}

#[test]
fn a_second_signal_ends_one_that_leaves() {
    let Some(etcd) = etcd() else { return };
    let mut a = Host::with(&etcd, "a", &["--leave"]);
    let (mut holder, first) = a.holder();
    a.signal_agent(Signal::SIGTERM);
    until("it leaves", || !support::queue_at(&a.path(), crate::host::LOCK).is_empty());
    a.signal_agent(Signal::SIGINT);
    let (code, said) = a.agent_ends();
    assert_eq!(code, Some(0), "{said}");
    holder.tell("leave");
    holder.expect("left");
    assert!(a.is_home());
    assert_eq!(a.enter(), (first + 1, false));
}
