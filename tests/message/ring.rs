//! Tokens on a ring, searched.

use crate::{
    search::{goes_wrong, holds, longer},
    world::{Kept, Plan, QUIET},
};
use turnlock::message::TokenRing;

fn machines(n: usize, tokens: usize) -> Vec<TokenRing> {
    (0..n).map(|me| TokenRing::founding(n, me, tokens).unwrap()).collect()
}

/// One waiting is overtaken by each other one once, unless a token is lost.
const RING: Plan = QUIET;

#[test]
fn in_rotation() {
    holds(
        "two, withdrawals",
        machines(2, 2),
        &Plan { requests: 3, withdrawals: 1, overtaken: Some(1), ..RING },
    );
    holds("three", machines(3, 2), &Plan { requests: 2, overtaken: Some(2), ..RING });
    holds("three, one token", machines(3, 1), &Plan { requests: 2, overtaken: Some(2), ..RING });
    longer(|| {
        let plan = Plan { requests: 2, withdrawals: 1, overtaken: Some(2), ..RING };
        holds("three, withdrawals", machines(3, 2), &plan);
    });
}

#[test]
fn misras_tokens_are_lost_and_made_anew() {
    // Both may be lost: then it takes a ruling.
    for n in [2, 3] {
        let name = format!("{n}, two losses");
        holds(&name, machines(n, 2), &Plan { lost_tokens: 2, rulings: true, ..RING });
    }
    longer(|| {
        holds("four, a loss", machines(4, 2), &Plan { lost_tokens: 1, ..RING });
    });
}

#[test]
fn both_tokens_lost_and_nothing_is_made_anew() {
    let plan = Plan { lost_tokens: 2, ..RING };
    goes_wrong("both lost", machines(2, 2), &plan, "can never be served");
}

#[test]
fn a_death_breaks_the_ring_until_its_place_is_taken_up() {
    for n in [2, 3] {
        let name = format!("{n}, a death, taken up");
        holds(&name, machines(n, 2), &Plan { deaths: 1, rulings: true, retries: true, ..RING });
    }
}

#[test]
fn come_and_go() {
    for kept in [Kept::State, Kept::Nothing] {
        let plan = Plan { departures: 1, returns: Some(kept), rulings: true, retries: true, ..RING };
        holds("two come and go", machines(2, 2), &plan);
        longer(|| {
            holds("two come and go, a token lost", machines(2, 2), &Plan { lost_tokens: 1, ..plan });
            holds("three, of which one comes and goes", machines(3, 2), &Plan { departs: 1, ..plan });
            holds("three, of which two come and go", machines(3, 2), &Plan { departs: 2, ..plan });
        });
    }
}

#[test]
fn more_tokens() {
    holds("two, three tokens, a loss", machines(2, 3), &Plan { lost_tokens: 1, ..RING });
    longer(|| {
        holds("two, three tokens, two losses", machines(2, 3), &Plan { lost_tokens: 2, ..RING });
        holds("three, three tokens, two losses", machines(3, 3), &Plan { lost_tokens: 2, ..RING });
        holds("two, four tokens, two losses", machines(2, 4), &Plan { lost_tokens: 2, ..RING });
    });
}

#[test]
fn a_ruling_on_suspicion_makes_two_privileges() {
    goes_wrong("a suspicion", machines(2, 2), &Plan { suspicions: 1, ..RING }, "is there twice");
}
