//! A ring in a lock file, searched.

mod plan;
mod search;
mod words;
mod world;

use crate::search::longer;
pub use plan::{Fault, Plan, QUIET};
pub use search::search;

const THREE: Plan = Plan { participants: 3, there: 3, ..QUIET };

fn holds(name: &str, plan: &Plan) {
    let found = search(name, plan);
    assert!(found.wrong.is_none(), "{name}: {}", found.wrong.unwrap_or_default());
    assert!(found.states > 20, "{name}: {} states", found.states);
}

#[test]
fn in_rotation_and_then_at_rest() {
    holds("two, withdrawals", &Plan { requests: 3, withdrawals: 1, overtaken: Some(1), ..QUIET });
    holds("three, withdrawals", &Plan { requests: 2, withdrawals: 1, overtaken: Some(2), ..THREE });
}

#[test]
fn two_come_and_go() {
    holds("two join", &Plan { there: 0, requests: 2, lives: 1, ..QUIET });
    holds("two depart and return", &Plan { requests: 2, departures: 1, lives: 1, ..QUIET });
}

#[test]
fn two_and_deaths() {
    let plan = Plan { requests: 2, deaths: 1, lives: 1, ..QUIET };
    holds("two, a death", &plan);
    holds("two, two deaths", &Plan { deaths: 2, ..plan });
    holds("two, a death, a reaper's death", &Plan { deaths_of_reapers: 1, ..plan });
    longer(|| {
        holds("two, three deaths", &Plan { deaths: 3, lives: 2, requests: 3, withdrawals: 1, ..plan });
        holds(
            "two, all of it",
            &Plan { withdrawals: 1, departures: 1, lives: 2, deaths: 2, deaths_of_reapers: 1, ..plan },
        );
    });
}

#[test]
fn three() {
    holds("three, a death", &Plan { deaths: 1, ..THREE });
    holds("three, of whom one joins", &Plan { there: 2, lives: 1, ..THREE });
    longer(|| {
        holds("three, two requests, a death", &Plan { deaths: 1, requests: 2, ..THREE });
        holds("three, two deaths", &Plan { deaths: 2, ..THREE });
        holds("three, three deaths", &Plan { deaths: 3, ..THREE });
        holds("three join", &Plan { there: 0, lives: 1, ..THREE });
        holds("three depart and return", &Plan { departures: 1, lives: 1, ..THREE });
        holds("three, a death and a return", &Plan { deaths: 1, lives: 1, requests: 2, ..THREE });
        holds("three, a death, a reaper's death", &Plan { deaths: 1, deaths_of_reapers: 1, ..THREE });
    });
}

fn goes_wrong(name: &str, fault: Fault, plan: &Plan, how: &str) {
    let found = search(name, &Plan { fault: Some(fault), ..*plan });
    let wrong = found.wrong.unwrap_or_else(|| panic!("{name}: nothing is wrong in {} states", found.states));
    assert!(wrong.contains(how), "{name}: not '{how}', but {wrong}");
    println!("  {}", wrong.lines().next().unwrap_or_default());
}

#[test]
fn what_is_done_wrongly_in_the_file_is_seen() {
    let deaths = Plan { requests: 2, deaths: 2, lives: 1, ..QUIET };
    goes_wrong("a life over first", Fault::LifeEndsFirst, &deaths, "by the record");
    let reapers = Plan { requests: 2, deaths: 1, deaths_of_reapers: 1, lives: 2, departures: 1, ..QUIET };
    goes_wrong("lost at once", Fault::LostAtOnce, &reapers, "by the record");
    goes_wrong("sent to a life that is over", Fault::SendsUnseen, &deaths, "nothing happens any more");
    goes_wrong("what a dead one was sending", Fault::SendsForgotten, &deaths, "nothing happens any more");
    goes_wrong("taken, not written down", Fault::TakenUnwritten, &QUIET, "by the record");
    goes_wrong("no holder called", Fault::NobodyCalled, &QUIET, "nothing happens any more");
    goes_wrong("the second token forgotten", Fault::SecondForgotten, &deaths, "nothing happens any more");
}
