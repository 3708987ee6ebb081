//! What a lost peer means, for each machine: who waits, and until what. The tables in docs/messages.md.
//!
//! Looking on for a while shows that a participant waits. A machine that is right cannot fail there, however slow
//! this computer is: what it waits for comes only afterwards.

use crate::{
    cables::Cables,
    crew::{BAKERY, Crew, LAMPORT, MESH, RING},
    sockets::Wrong,
};
use nix::sys::signal::Signal::{SIGCONT, SIGSTOP};
use support::NoHang;
use turnlock::message::Standing::{Inside, Waiting};

/// The participant that dies.
const VICTIM: usize = 1;
const OTHERS: [usize; 2] = [0, 2];

fn with_three(algorithm: &'static str, act: impl FnOnce(&mut Crew)) {
    let _no_hang = NoHang::for_seconds(300);
    let Some(cables) = Cables::between(3) else { return };
    let mut crew = Crew::found(cables, algorithm, Wrong::Nothing);
    act(&mut crew);
    println!("{algorithm}: {:?}, {} rulings", crew.shown(), crew.rulings);
}

/// All are told of the victim's death, and what there is to rule is ruled. On the ring a participant has to take
/// up its place.
fn mend(crew: &mut Crew) {
    crew.give_notice(VICTIM);
    if crew.algorithm == RING {
        crew.assert_no_entry("the ring is broken");
        crew.bring_back(VICTIM, true);
        crew.wait_connected();
    } else if crew.algorithm == MESH {
        crew.assert_no_entry("there is no token");
    }
    crew.rule_until_served(&OTHERS);
}

/// The victim returns, and all are served.
fn whole_again(crew: &mut Crew) {
    if crew.algorithm != RING {
        crew.bring_back(VICTIM, false);
    }
    crew.all_want(3);
    crew.wait_entries(&[0, 1, 2], 3);
}

fn one_that_wants_nothing(algorithm: &'static str) {
    with_three(algorithm, |crew| {
        crew.settle();
        crew.kill(VICTIM);
        crew.come_to_a_stand();
        OTHERS.into_iter().for_each(|me| crew.order(me, "request"));
        if algorithm == MESH {
            // No participant waits for it, before any notice.
            crew.serve(&OTHERS);
            crew.give_notice(VICTIM);
        } else {
            crew.assert_no_entry(
                "one has died that is to answer, or to pass the tokens on, and no other was told",
            );
            mend(crew);
        }
        whole_again(crew);
    });
}

fn one_that_waits(algorithm: &'static str) {
    with_three(algorithm, |crew| {
        crew.order(0, "request");
        crew.wait_standing(0, Inside);
        for me in [VICTIM, 2] {
            crew.order(me, "request");
            crew.settle();
            crew.wait_standing(me, Waiting);
        }
        crew.kill(VICTIM);
        crew.order(0, "release");
        // It was before the other one, or the token was sent to it.
        crew.assert_no_entry("one has died that was next, and no other was told");
        crew.order(0, "request");
        mend(crew);
        whole_again(crew);
    });
}

fn the_holder(algorithm: &'static str) {
    with_three(algorithm, |crew| {
        crew.order(VICTIM, "request");
        crew.wait_standing(VICTIM, Inside);
        for me in OTHERS {
            crew.order(me, "request");
        }
        // Silent, and not dead: to the others that is the same.
        crew.signal(VICTIM, SIGSTOP);
        crew.assert_no_entry("the holder is stopped");
        crew.kill(VICTIM);
        crew.assert_no_entry("the holder has died, and no other was told");
        mend(crew);
        whole_again(crew);
    });
}

/// The holder is stopped and goes on: no other has taken it for dead.
fn a_silent_holder(algorithm: &'static str) {
    with_three(algorithm, |crew| {
        crew.order(0, "request");
        crew.wait_standing(0, Inside);
        [1, 2].into_iter().for_each(|me| crew.order(me, "request"));
        crew.signal(0, SIGSTOP);
        crew.assert_no_entry("the holder is stopped");
        crew.signal(0, SIGCONT);
        crew.assert_no_entry("the holder is inside");
        crew.serve(&[0, 1, 2]);
    });
}

/// The cable between 0 and 1 is out, with 0 inside or not.
fn a_cable_that_is_out(algorithm: &'static str) {
    with_three(algorithm, |crew| {
        crew.settle();
        crew.cables.cut(0, 1);
        crew.come_to_a_stand();
        crew.order(2, "request");
        if algorithm == RING {
            crew.assert_no_entry("a cable of the ring is out");
        } else {
            // The two that do not hear of each other want nothing.
            crew.serve(&[2]);
        }
        crew.order(0, "request");
        if algorithm == MESH {
            // The token is at 2, which hears of all.
            crew.serve(&[0]);
            // It is at 0 now, which does not hear of this:
            crew.order(1, "request");
            crew.assert_no_entry("the owner of the token cannot know who wants it");
            // but 2 does, and passes the token on.
            crew.order(2, "request");
            crew.serve(&[2, 1]);
        } else {
            crew.assert_no_entry(
                "a cable is out, and the one that wants the section needs an answer over it",
            );
            if algorithm != RING {
                crew.wait("2 has heard of it", |crew| {
                    (algorithm == BAKERY || crew.ask(0).of("unconfirmed") == 1)
                        && crew.ask(2).of("unread") == 0
                });
                crew.order(2, "request");
                crew.assert_no_entry("one is before it that needs an answer over a cable that is out");
            }
        }
        crew.cables.heal(0, 1);
        if algorithm != MESH {
            crew.serve(&[0, 2]);
        }
        crew.all_want(4);
        crew.wait_entries(&[0, 1, 2], 3);
    });
}

/// The cable between 0 and 1 goes out with 0 inside, and 1 next.
fn a_cable_to_the_next_that_is_out(algorithm: &'static str) {
    with_three(algorithm, |crew| {
        crew.order(0, "request");
        crew.wait_standing(0, Inside);
        crew.order(1, "request");
        crew.settle();
        crew.cables.cut(0, 1);
        crew.order(0, "release");
        crew.order(2, "request");
        crew.assert_no_entry("what 0 has to say to the next one is on its way over a cable that is out");
        assert!(!crew.rule_if_lost(), "a token that is on its way is not lost");
        crew.cables.heal(0, 1);
        crew.serve(&[1, 2]);
    });
}

macro_rules! of_each_machine {
    ($($what:ident),* $(,)?) => {$(
        mod $what {
            #[test]
            fn lamports_queue() {
                super::$what(super::LAMPORT);
            }
            #[test]
            fn ricart_and_agrawalas_mesh() {
                super::$what(super::MESH);
            }
            #[test]
            fn misras_ring() {
                super::$what(super::RING);
            }
            #[test]
            fn the_bakery() {
                super::$what(super::BAKERY);
            }
        }
    )*};
}

of_each_machine! { one_that_wants_nothing, one_that_waits, the_holder, a_silent_holder, a_cable_that_is_out, a_cable_to_the_next_that_is_out }
