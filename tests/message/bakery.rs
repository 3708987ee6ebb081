//! The bakery by messages, searched.

use crate::{
    search::{goes_wrong, holds, longer},
    world::{Kept, Plan, QUIET},
};
use turnlock::message::Bakery;

fn machines(n: usize) -> Vec<Bakery> {
    (0..n).map(|me| Bakery::founding(n, me).unwrap()).collect()
}

const BAKERY: Plan = Plan { in_order: false, retries: true, ..QUIET };

#[test]
fn two_at_will() {
    holds("two, withdrawals", machines(2), &Plan { requests: 2, withdrawals: 1, ..BAKERY });
    holds("two, a loss, a repeat", machines(2), &Plan { losses: 1, repeats: 1, ..BAKERY });
    longer(|| {
        let plan = Plan { requests: 2, withdrawals: 1, repeats: 1, losses: 1, ..BAKERY };
        holds("two, withdrawals, a loss, a repeat", machines(2), &plan);
    });
}

#[test]
fn two_come_and_go() {
    for kept in [Kept::State, Kept::Nothing] {
        let plan = Plan { departures: 1, returns: Some(kept), rulings: true, ..BAKERY };
        holds("two come and go", machines(2), &plan);
        let plan = Plan { deaths: 1, returns: Some(kept), rulings: true, ..BAKERY };
        holds("two, a death", machines(2), &plan);
        longer(|| {
            let plan = Plan { departures: 1, deaths: 1, ..plan };
            holds("two come and go, a death", machines(2), &plan);
        });
    }
}

#[test]
fn three() {
    longer(|| {
        holds("three", machines(3), &BAKERY);
        holds("three, a death", machines(3), &Plan { deaths: 1, ..BAKERY });
        let plan = Plan { departures: 1, departs: 1, returns: Some(Kept::Nothing), rulings: true, ..BAKERY };
        holds("three, of which one comes and goes", machines(3), &plan);
    });
}

/// What was found by walks: the numbers of one that departs were lost to one that joins.
#[test]
fn one_joins_while_the_others_depart() {
    let plan = Plan { absent: 1, comes: 2, returns: Some(Kept::Nothing), rulings: true, ..BAKERY };
    let plan = Plan { wants: 1, departures: 1, departs: 2, ..plan };
    holds("three, one joins while the others depart", machines(3), &plan);
    longer(|| {
        let plan = Plan { wants: 0, ..plan };
        holds("three, one joins while the others depart, all of which want it", machines(3), &plan);
    });
}

#[test]
fn a_death_beside_a_departure() {
    let plan = Plan { wants: 1, departures: 1, departs: 1, deaths: 1, rulings: true, ..BAKERY };
    holds("three, a death beside a departure", machines(3), &plan);
    longer(|| {
        let plan = Plan { departs: 2, deaths: 2, ..plan };
        holds("three, two deaths beside two departures", machines(3), &plan);
        let plan = Plan { absent: 1, comes: 2, returns: Some(Kept::Nothing), departs: 1, deaths: 1, ..plan };
        holds("three, one joins beside a death and a departure", machines(3), &plan);
    });
}

#[test]
fn a_loss_blocks_its_asker_until_it_asks_again() {
    let plan = Plan { losses: 1, retries: false, ..BAKERY };
    goes_wrong("a loss", machines(2), &plan, "can never be served");
}
