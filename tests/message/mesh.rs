//! The token on a mesh, searched.

use crate::{
    search::{goes_wrong, holds, longer},
    world::{Kept, Plan, QUIET},
};
use turnlock::message::RicartAgrawala;

fn machines(n: usize) -> Vec<RicartAgrawala> {
    (0..n).map(|me| RicartAgrawala::founding(n, me).unwrap()).collect()
}

const MESH: Plan = Plan { in_order: false, ..QUIET };

#[test]
fn two_at_will() {
    let plan = Plan { requests: 3, withdrawals: 1, repeats: 1, overtaken: Some(1), ..MESH };
    holds("two, withdrawals, repeats", machines(2), &plan);
}

#[test]
fn two_with_losses() {
    let plan = Plan { requests: 2, losses: 2, repeats: 1, retries: true, ..MESH };
    holds("two, losses, repeats", machines(2), &plan);
}

#[test]
fn two_come_and_go() {
    for kept in [Kept::State, Kept::Nothing] {
        let plan = Plan { requests: 2, departures: 1, returns: Some(kept), rulings: true, ..MESH };
        holds("two come and go", machines(2), &plan);
        let plan = Plan { requests: 2, deaths: 1, returns: Some(kept), rulings: true, ..MESH };
        holds("two, a death", machines(2), &plan);
        // One that departed returns to one that has died meanwhile, and forgets what it sent to it.
        let plan = Plan { requests: 1, departures: 1, ..plan };
        holds("two come and go, a death", machines(2), &plan);
        let plan = Plan { requests: 2, ..plan };
        longer(|| {
            let plan = Plan { losses: 1, repeats: 1, retries: true, deaths: 1, departures: 1, ..plan };
            holds("two come and go, a death, a loss, a repeat", machines(2), &plan);
        });
    }
}

#[test]
fn three() {
    // No participant is overtaken by more than the n - 1 others.
    holds("three", machines(3), &Plan { requests: 2, overtaken: Some(2), ..MESH });
    holds("three, a death", machines(3), &Plan { deaths: 1, rulings: true, ..MESH });
    longer(|| {
        let plan = Plan { withdrawals: 1, repeats: 1, losses: 1, retries: true, overtaken: Some(2), ..MESH };
        holds("three, withdrawals, a loss, a repeat", machines(3), &plan);
        holds("three come and go", machines(3), &Plan { departures: 1, rulings: true, ..MESH });
        let plan = Plan { deaths: 1, returns: Some(Kept::Nothing), rulings: true, ..MESH };
        holds("three, a death and a return", machines(3), &plan);
    });
}

#[test]
fn a_death_beside_a_departure() {
    // One that leaves does not wait for a token that died with its sender.
    let plan = Plan { wants: 1, withdrawals: 1, departures: 1, departs: 2, deaths: 1, rulings: true, ..MESH };
    holds("three, a death beside a departure", machines(3), &plan);
    longer(|| {
        let plan = Plan { wants: 0, withdrawals: 0, departs: 3, deaths: 2, ..plan };
        holds("three, two deaths beside three departures", machines(3), &plan);
    });
}

#[test]
fn one_joins_while_the_others_depart() {
    let plan = Plan { absent: 1, comes: 2, returns: Some(Kept::Nothing), rulings: true, ..MESH };
    let plan = Plan { departures: 1, departs: 2, ..plan };
    holds("three, one joins while the others depart", machines(3), &plan);
    longer(|| {
        let plan = Plan { deaths: 1, ..plan };
        holds("three, one joins while the others depart, and a death", machines(3), &plan);
    });
}

#[test]
fn a_lost_request_blocks_only_its_sender_until_it_asks_again() {
    goes_wrong("a lost request", machines(2), &Plan { losses: 1, ..MESH }, "can never be served");
}

#[test]
fn a_lost_token_blocks_everybody_until_a_ruling() {
    let plan = Plan { lost_tokens: 1, retries: true, ..MESH };
    goes_wrong("a lost token", machines(2), &plan, "can never be served");
    holds("a lost token, and a ruling", machines(2), &Plan { rulings: true, ..plan });
}

#[test]
fn a_ruling_on_suspicion_makes_two_privileges() {
    goes_wrong("a suspicion", machines(2), &Plan { suspicions: 1, ..MESH }, "is there twice");
}
