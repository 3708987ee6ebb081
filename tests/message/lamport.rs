//! Lamport's queue, searched.

use crate::{
    search::{goes_wrong, holds, longer},
    world::{Kept, Plan, QUIET},
};
use turnlock::message::LamportQueue;

fn machines(n: usize) -> Vec<LamportQueue> {
    (0..n).map(|me| LamportQueue::founding(n, me).unwrap()).collect()
}

#[test]
fn two_at_will() {
    holds("two, withdrawals", machines(2), &Plan { requests: 2, withdrawals: 1, ..QUIET });
    holds("two, a repeat", machines(2), &Plan { requests: 2, repeats: 1, ..QUIET });
    longer(|| {
        let plan = Plan { requests: 3, withdrawals: 1, repeats: 1, ..QUIET };
        holds("two, withdrawals, repeats, three requests", machines(2), &plan);
    });
}

#[test]
fn two_come_and_go() {
    for kept in [Kept::State, Kept::Nothing] {
        let plan = Plan { departures: 1, returns: Some(kept), rulings: true, ..QUIET };
        holds("two come and go", machines(2), &plan);
        let plan = Plan { deaths: 1, returns: Some(kept), rulings: true, ..QUIET };
        holds("two, a death", machines(2), &plan);
        longer(|| {
            let plan =
                Plan { requests: 2, departures: 1, deaths: 1, returns: Some(kept), rulings: true, ..QUIET };
            holds("two come and go, a death", machines(2), &plan);
        });
    }
}

#[test]
fn three() {
    longer(|| {
        holds("three", machines(3), &QUIET);
        holds("three, a death", machines(3), &Plan { deaths: 1, ..QUIET });
        let plan = Plan { departures: 1, departs: 1, returns: Some(Kept::Nothing), rulings: true, ..QUIET };
        holds("three, of which one comes and goes", machines(3), &plan);
    });
}

/// What was found by walks: the numbers of one that departs were lost to one that joins.
#[test]
fn one_joins_while_the_others_depart() {
    let plan = Plan { absent: 1, comes: 2, returns: Some(Kept::Nothing), rulings: true, ..QUIET };
    let plan = Plan { wants: 1, departures: 1, departs: 2, ..plan };
    holds("three, one joins while the others depart", machines(3), &plan);
    longer(|| {
        let plan = Plan { wants: 0, ..plan };
        holds("three, one joins while the others depart, all of which want it", machines(3), &plan);
    });
}

#[test]
fn a_death_beside_a_departure() {
    let plan = Plan { wants: 1, departures: 1, departs: 1, deaths: 1, rulings: true, ..QUIET };
    holds("three, a death beside a departure", machines(3), &plan);
    longer(|| {
        let plan = Plan { departs: 2, deaths: 2, ..plan };
        holds("three, two deaths beside two departures", machines(3), &plan);
        let plan = Plan { absent: 1, comes: 2, returns: Some(Kept::Nothing), departs: 1, deaths: 1, ..plan };
        holds("three, one joins beside a death and a departure", machines(3), &plan);
    });
}

#[test]
fn out_of_order_two_are_inside() {
    let plan = Plan { in_order: false, ..QUIET };
    goes_wrong("out of order", machines(2), &plan, "inside at once");
}

#[test]
fn with_a_message_lost_two_are_inside() {
    let plan = Plan { losses: 1, ..QUIET };
    goes_wrong("a loss", machines(2), &plan, "inside at once");
}
