//! What comes of transports that break the contract, and of rulings on suspicion: the oracle sees it.

use crate::{
    cables::Cables,
    crew::{BAKERY, Crew, LAMPORT, MESH, RING},
    sockets::Wrong,
};
use nix::sys::signal::Signal::SIGSTOP;
use std::{thread, time::Duration};
use support::NoHang;
use turnlock::message::Standing::Inside;

fn with(n: usize, algorithm: &'static str, wrong: Wrong, act: impl FnOnce(&mut Crew)) {
    let _no_hang = NoHang::for_seconds(300);
    let Some(cables) = Cables::between(n) else { return };
    act(&mut Crew::found(cables, algorithm, wrong));
}

/// The oracle sees that this one enters while 0 is inside.
fn two_are_inside(crew: &mut Crew, other: usize) {
    let said = crew.wait_wrong();
    println!("{}: {said}", crew.algorithm);
    let (zero, other) = (
        format!("participant 0 enters while {other} is inside"),
        format!("participant {other} enters while 0 is inside"),
    );
    assert!(said.contains(&zero) || said.contains(&other), "{said}");
}

#[test]
fn a_request_that_is_not_sent_again_lets_two_into_lamports_queue() {
    with(2, LAMPORT, Wrong::NothingAgain, |crew| {
        crew.cables.cut(0, 1);
        crew.order(0, "request");
        crew.wait("the request is lost with its connection", |crew| {
            let status = crew.ask(0);
            status.of("connected") == 0 && status.of("unconfirmed") == 0
        });
        crew.cables.heal(0, 1);
        crew.wait_connected();
        crew.assert_no_entry("no other has answered");
        // 0 takes this for a later request, and it is: it enters. 1 takes the acknowledgement for a sign that nothing older
        // is on its way, and it is: it enters.
        crew.order(1, "request");
        two_are_inside(crew, 1);
    });
}

fn silence_lets_two_in(algorithm: &'static str) {
    with(3, algorithm, Wrong::SilenceIsDeath, |crew| {
        crew.order(0, "request");
        crew.wait_standing(0, Inside);
        crew.cables.cut(0, 1);
        crew.wait("1 takes 0 for dead", |crew| crew.ask(1).of("connected") & 1 == 0);
        crew.order(1, "request");
        two_are_inside(crew, 1);
    });
}

#[test]
fn silence_taken_for_a_death_lets_two_into_lamports_queue() {
    silence_lets_two_in(LAMPORT);
}

#[test]
fn silence_taken_for_a_death_lets_two_into_the_bakery() {
    silence_lets_two_in(BAKERY);
}

fn a_ruling_on_suspicion_lets_two_in(algorithm: &'static str) {
    with(3, algorithm, Wrong::Nothing, |crew| {
        crew.order(0, "request");
        crew.wait_standing(0, Inside);
        crew.signal(0, SIGSTOP);
        crew.come_to_a_stand();
        crew.order(2, "request");
        assert_eq!(crew.tell(2, "rule 1099511627776"), "ok");
        two_are_inside(crew, 2);
    });
}

#[test]
fn a_ruling_on_suspicion_lets_two_in_on_the_mesh() {
    a_ruling_on_suspicion_lets_two_in(MESH);
}

#[test]
fn a_ruling_on_suspicion_lets_two_in_on_the_ring() {
    a_ruling_on_suspicion_lets_two_in(RING);
}

/// The token has a number of its own: it is taken once, though the transport brings it twice.
fn bears_messages_that_come_twice(algorithm: &'static str) {
    with(3, algorithm, Wrong::NoNumbers, |crew| {
        crew.all_want(5);
        for round in 0..40 {
            let (one, other) = (round % 3, (round + 1) % 3);
            crew.cables.cut(one, other);
            thread::sleep(Duration::from_millis(500));
            crew.cables.heal(one, other);
            crew.wait_entries(&[0, 1, 2], 3);
            let twice = crew.sum("twice");
            if round >= 4 && twice > 0 {
                println!("{algorithm}: {twice} messages came twice");
                return;
            }
        }
        // It takes a cut between a message and its confirmation. The simulator repeats messages whenever it likes.
        println!("{algorithm}: no message came twice this time: nothing was seen of it here");
    });
}

#[test]
fn the_mesh_bears_messages_that_come_twice() {
    bears_messages_that_come_twice(MESH);
}

#[test]
fn the_bakery_bears_messages_that_come_twice() {
    bears_messages_that_come_twice(BAKERY);
}
