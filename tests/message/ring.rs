//! Tokens on a ring, searched.

use crate::{
    search::{goes_wrong, holds, longer},
    world::{Kept, Plan, QUIET},
};
use turnlock::message::{Action, Event, Machine, TokenRing, TokenRingMessage as Say};

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
fn two_deaths_in_a_row() {
    let plan = Plan { deaths: 2, rulings: true, retries: true, ..RING };
    holds("two, two deaths", machines(2, 2), &plan);
    holds("two, three deaths", machines(2, 2), &Plan { deaths: 3, ..plan });
    longer(|| {
        holds("three, two deaths", machines(3, 2), &plan);
    });
}

#[test]
fn departures_of_all() {
    let plan = Plan { requests: 0, departures: 1, rulings: true, retries: true, ..RING };
    holds("three depart", machines(3, 1), &plan);
    longer(|| {
        holds("four depart", machines(4, 1), &plan);
    });
    let plan = Plan { requests: 1, absent: 1, returns: Some(Kept::Nothing), ..plan };
    let others = |n: usize| Plan { wants: n - 1, comes: n - 1, departs: n - 1, ..plan };
    holds("three, one joins while the others depart", machines(3, 1), &others(3));
    longer(|| {
        holds("three, one joins while the others depart, two tokens", machines(3, 2), &others(3));
        holds("four, one joins while the others depart", machines(4, 1), &others(4));
    });
}

#[test]
fn a_death_beside_a_departure() {
    let plan = Plan { departures: 1, departs: 1, deaths: 1, rulings: true, retries: true, ..RING };
    holds("three, one token, a death beside a departure", machines(3, 1), &Plan { wants: 1, ..plan });
    longer(|| {
        holds("three, a death beside a departure", machines(3, 2), &plan);
        let all = Plan { requests: 0, departs: 3, ..plan };
        holds("three, one token, a death beside three departures", machines(3, 1), &all);
        let joins = Plan { wants: 2, absent: 1, comes: 2, returns: Some(Kept::Nothing), ..plan };
        holds("three, one token, one joins beside a death and a departure", machines(3, 1), &joins);
    });
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

/// Returns whether one that is alone on its ring lets in who has asked to join, before that one has said that it still does.
pub fn lets_in_unasked() -> bool {
    let mut alone = TokenRing::restarted(3, 0, 1, 1, 0).unwrap();
    alone.on(Event::Retry).unwrap();
    let welcomes = |actions: &[Action<Say>]| {
        actions.iter().any(|action| matches!(action, Action::Send { message: Say::Welcome { .. }, .. }))
    };
    let asked = alone.on(Event::Receive { from: 2, message: Say::Join { life: 1 } }).unwrap();
    let is_unasked = welcomes(&asked);
    if let Some(Action::Send { message: Say::Mark { round, .. }, .. }) = asked.first() {
        let message = Say::Clear { round: *round, next: 2 };
        let let_in = alone.on(Event::Receive { from: 2, message }).unwrap();
        assert!(is_unasked || welcomes(&let_in));
    }
    is_unasked
}

#[test]
fn one_that_asked_to_join_long_ago_is_asked_first() {
    assert!(!lets_in_unasked());
}
