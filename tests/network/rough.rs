//! All want the section all the time, while cables are pulled out and put in again and processes are stopped and
//! killed.

use crate::{
    cables::Cables,
    crew::{BAKERY, Crew, LAMPORT, MESH, RING},
    sockets::Wrong,
};
use nix::sys::signal::Signal::{SIGCONT, SIGSTOP};
use std::{thread, time::Duration};
use support::{NoHang, simulator::Dice};
use turnlock::message::Standing;

/// How often something goes wrong.
const ROUNDS: u64 = 16;

fn rough(algorithm: &'static str) {
    let _no_hang = NoHang::for_seconds(400);
    let Some(cables) = Cables::between(3) else { return };
    let seed =
        std::env::var("TURNLOCK_SEED").map_or(1, |seed| seed.parse().expect("TURNLOCK_SEED is a number"));
    let (mut crew, mut dice) = (Crew::found(cables, algorithm, Wrong::Nothing), Dice::new(seed));
    crew.all_want(seed);
    let (mut cuts, mut stops, mut deaths, mut departures) = (0, 0, 0, 0);
    for round in 0..ROUNDS {
        let who = dice.within(0..3) as usize;
        let other = (who + dice.within(1..3) as usize) % 3;
        let pause = Duration::from_millis(dice.within(100..700));
        match round % 4 {
            // Twice as often as the others, and sometimes two cables at once.
            0 | 2 => {
                let third = 3 - who - other;
                let both = dice.permille(300);
                crew.cables.cut(who, other);
                if both {
                    crew.cables.cut(who, third);
                }
                thread::sleep(pause);
                if both {
                    crew.cables.heal(who, third);
                }
                crew.cables.heal(who, other);
                cuts += 1;
            }
            1 => {
                crew.signal(who, SIGSTOP);
                thread::sleep(pause);
                crew.signal(who, SIGCONT);
                stops += 1;
            }
            // A departure or a death, with a cable out. On the ring the place of one that died is taken up.
            _ => {
                let departs = round % 8 == 3;
                if departs {
                    crew.order(who, "enough");
                    crew.wait("it wants nothing", |crew| crew.ask(who).is(Standing::Idle));
                    crew.cables.cut(who, other);
                    crew.order(who, "leave");
                    thread::sleep(pause);
                    crew.cables.heal(who, other);
                    crew.depart(who);
                    departures += 1;
                } else {
                    crew.cables.cut(who, other);
                    thread::sleep(pause);
                    crew.kill(who);
                    crew.give_notice(who);
                    deaths += 1;
                }
                crew.bring_back(who, algorithm == RING && !departs);
                crew.cables.heal(who, other);
                crew.wait_connected();
                crew.wants(who, seed + round);
                crew.wait("it is served", |crew| {
                    crew.rule_if_lost();
                    crew.ask(who).of("entries") > 0
                });
            }
        }
        crew.wait_entries(&[0, 1, 2], 3);
    }
    let [broken, again] = ["broken", "again"].map(|what| crew.sum(what));
    let (entries, rulings) = (crew.shown().all(), crew.rulings);
    println!(
        "{algorithm}: {entries} entries, {cuts} cuts, {stops} stops, {deaths} deaths, {departures} departures, {rulings} rulings; \
         {broken} ends of connections broke, {again} messages sent again"
    );
    assert!(broken > 0 && deaths > 0, "{algorithm}: too little went wrong");
}

#[test]
fn lamports_queue() {
    rough(LAMPORT);
}

#[test]
fn ricart_and_agrawalas_mesh() {
    rough(MESH);
}

#[test]
fn misras_ring() {
    rough(RING);
}

#[test]
fn the_bakery() {
    rough(BAKERY);
}
