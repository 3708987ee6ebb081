//! The real bakery and the real ownership words under loom: every interleaving of a few participants, and every stale
//! value that the C11 orders let a load return.
//!
//! Shown (see [`Property`]): one holder at a time; whoever enters sees what the last holder wrote; fencing tokens
//! strictly increase; first come first served; and a death at any step is told if it was inside, is not told if it
//! was outside, and blocks nobody once somebody acts for the dead. Participants may also give up while they wait.
//!
//! Every search prints how much it explored. Two participants with one entry each, deaths and tries included, are
//! searched without bound; the larger models up to a number of preemptions, which each of them names.
//!
//! | searched | executions |
//! |---|---|
//! | two participants, one entry each; and with a newcomer | 4,185; 10,088 |
//! | a death at each of 9 steps, in each slot, beside a locker | 50,307 |
//! | the same beside two lockers, 2 preemptions | 120,995 |
//! | three participants, one entry each, 3 preemptions | 70,656 |
//! | two participants, two entries and one, 5 preemptions; two each, 4 | 79,463; 78,029 |
//! | tries beside lockers and tries | 56,680 |
//!
//! Half a minute in all on one core.
//!
//! With the feature `mutants`, the same models must fail for each bug planted in this room, and each property that
//! the bug breaks must catch it alone, the others being switched off. `ClearBeforeNotice` and `ReapWithoutByteLock` are
//! planted in the room `recovery`, which loom cannot run.
//!
//! What loom does not see. A fence is no scheduling point of its own: it happens together with the access before it.
//! A fence synchronises with every fence before it, a little more than C11 promises. And a dead thread's stores are in
//! memory when its byte lock is free, since that is what the kernel gives us. The fences that are needed are caught
//! here all the same, and the Spin model with store buffers has each of them as a step.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release --no-default-features --features mutants --test loom_bakery
//! ```
//! The search is deterministic, so a failure comes back when its test is run again; with `LOOM_LOCATION=1` it names
//! the places of the racing accesses.
#![cfg(loom)]

mod under_loom;

use std::sync::Arc;
use support::watchdog;
use turnlock::algorithm::Protocol;
use turnlock::algorithm::bakery::Registers;
use turnlock::sync::Ordering::{AcqRel, Relaxed, SeqCst};
use under_loom::search::all_hold;
use under_loom::world::{Tally, World};
use under_loom::{Visits, together};

use Visit::{DieAt, Lock, Try};

type Plan = under_loom::Plan<Visit>;

// Each execution is a sign of life.
support::watched_for_seconds!(300);

/// Where a participant stops for good. Between two of these it writes nothing that another could read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Death {
    Choosing,
    Doorway,
    Won,
    /// Half-way through `enter`: the fencing token is taken, `held` is not written.
    TokenTaken,
    Entered,
    /// One of the two data words is written.
    Torn,
    Written,
    Exited,
    Left,
}

impl Death {
    const ALL: [Death; 9] = [
        Death::Choosing,
        Death::Doorway,
        Death::Won,
        Death::TokenTaken,
        Death::Entered,
        Death::Torn,
        Death::Written,
        Death::Exited,
        Death::Left,
    ];

    /// Is the dead one then written down as the holder?
    fn is_inside(self) -> bool {
        matches!(self, Death::Entered | Death::Torn | Death::Written)
    }
}

/// How a participant comes to the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visit {
    /// Waits as long as it takes.
    Lock,
    /// Looks once, and withdraws if somebody is before it.
    Try,
    /// As `Lock`, but dies there.
    DieAt(Death),
}

/// Two participants, one entry each.
fn duel() -> Plan {
    Plan::new(&[&[Lock], &[Lock]])
}

/// The `ordinal`-th visit of slot `me`, counted from 1.
fn visit(world: &World, me: usize, ordinal: usize, how: Visit, tally: &Tally) {
    let (bakery, ownership, oracle) = (world.bakery(), world.ownership(), &world.oracle);
    let held = &world.held[me];
    let dies = |here| how == DieAt(here);
    if dies(Death::Choosing) {
        bakery.0.set_choosing(me);
        return world.die(me);
    }
    let number = bakery.doorway(me).unwrap();
    oracle.waiting[me].store(ordinal, SeqCst);
    if dies(Death::Doorway) {
        return world.die(me);
    }
    if how == Try {
        if !bakery.is_next(me, number) {
            return world.withdraw(me, tally);
        }
        tally.tries_won.fetch_add(1, SeqCst);
    } else if !world.comes_at_once(me, number) {
        world.wait(me, number, tally);
    }

    world.arrive(me);
    world.check_order(me, bakery.0.before_me.get());
    if dies(Death::Won) {
        return world.die_inside(me, None);
    }
    if dies(Death::TokenTaken) {
        world.token.store(world.token.load(Relaxed) + 1, Relaxed);
        return world.die_inside(me, None);
    }
    let token = ownership.enter(held).unwrap();
    world.check_token(token);
    let health = ownership.health();
    world.hear(me, health, tally);
    if !world.work(me, token, health, [Death::Entered, Death::Torn, Death::Written].map(dies)) {
        return;
    }
    ownership.exit(held);
    if dies(Death::Exited) {
        return world.die_inside(me, None);
    }
    world.depart();
    bakery.leave(me);
    if dies(Death::Left) {
        world.die(me);
    }
}

impl Visits for Visit {
    fn waits(&self) -> bool {
        *self == Lock
    }

    fn execute(plan: &Arc<Plan>, tally: &Arc<Tally>) {
        let world = Arc::new(World::new(plan));
        let all = (Arc::clone(plan), Arc::clone(&world), Arc::clone(tally));
        together(plan.visits.len(), move |participant| {
            let (plan, world, tally) = &all;
            let slot = plan.slot_of(participant);
            if plan.newcomers && participant != 0 {
                world.bound.fetch_max(slot as u32 + 1, AcqRel);
            }
            for (ordinal, how) in plan.visits[participant].iter().enumerate() {
                visit(world, slot, ordinal + 1, *how, tally);
            }
        });
        let visits = || plan.visits.iter().flatten();
        let certain = visits().filter(|how| matches!(how, Lock | DieAt(Death::Left))).count();
        let tries = visits().filter(|how| **how == Try).count();
        let entries = world.oracle.entries.load(SeqCst);
        assert!(
            (certain..=certain + tries).contains(&entries),
            "{entries} entries, of {certain} + {tries} at most"
        );
        // The lock still works.
        visit(&world, plan.first_slot, usize::MAX, Lock, tally);
        world.check_cleared(plan.first_slot, entries + 1);
    }
}

#[test]
fn two_participants_enter_one_at_a_time_and_see_each_others_writes() {
    all_hold("two participants, one entry each", &[duel()], 4000);
}

#[test]
fn what_is_pruned_after_a_look_in_vain_hides_nothing() {
    all_hold("two participants, one entry each, unpruned", &[Plan { unpruned: true, ..duel() }], 8000);
}

#[test]
fn who_comes_back_waits_for_who_came_meanwhile() {
    let plans = Plan::new(&[&[Lock, Lock], &[Lock]]).preemptions(5).in_each_slot();
    all_hold("two participants, two entries and one, 5 preemptions", &plans, 50_000);
    let plan = Plan::new(&[&[Lock, Lock], &[Lock, Lock]]).preemptions(4);
    all_hold("two participants, two entries each, 4 preemptions", &[plan], 30_000);
}

#[test]
fn three_participants_enter_one_at_a_time() {
    let plan = Plan::new(&[&[Lock], &[Lock], &[Lock]]).preemptions(3);
    all_hold("three participants, one entry each, 3 preemptions", &[plan], 50_000);
}

#[test]
fn a_newcomer_who_raises_the_bound_is_not_overlooked() {
    all_hold("a newcomer raises the bound", &[Plan { newcomers: true, ..duel() }], 10_000);
}

#[test]
fn who_gives_up_leaves_nothing_behind() {
    let both_ways = |tally: Tally| {
        assert!(Tally::get(&tally.tries_won) > 0, "no try ever won");
        assert!(Tally::get(&tally.withdrawals) > 0, "nobody ever withdrew");
    };
    let plans = Plan::new(&[&[Lock], &[Try]]).in_each_slot();
    both_ways(all_hold("a try beside a locker", &plans, 7000));
    let plans = Plan::new(&[&[Try], &[Try]]).in_each_slot();
    both_ways(all_hold("two tries", &plans, 2000));
    let plans = Plan::new(&[&[Lock], &[Try, Try]]).preemptions(4).in_each_slot();
    both_ways(all_hold("two tries in a row beside a locker, 4 preemptions", &plans, 10_000));
    let plans = Plan::new(&[&[Lock], &[Try, Lock]]).preemptions(4).in_each_slot();
    both_ways(all_hold("a try and then a lock beside a locker, 4 preemptions", &plans, 10_000));
}

#[test]
fn a_death_at_any_step_blocks_nobody_and_is_told_if_it_was_inside() {
    for death in Death::ALL {
        let plans = Plan::new(&[&[Lock], &[DieAt(death)]]).in_each_slot();
        let tally = all_hold(&format!("a death at {death:?} beside a locker"), &plans, 50);
        assert_eq!(Tally::get(&tally.news_to_actor) > 0, death.is_inside(), "was there news?");
    }
}

#[test]
fn of_two_survivors_the_one_who_did_not_act_for_the_dead_may_get_the_news() {
    for death in Death::ALL {
        let plans = Plan::new(&[&[Lock], &[Lock], &[DieAt(death)]]).preemptions(2).in_each_slot();
        let tally =
            all_hold(&format!("a death at {death:?} beside two lockers, 2 preemptions"), &plans, 5000);
        assert_eq!(Tally::get(&tally.news_to_actor) > 0, death.is_inside(), "was there news?");
        assert_eq!(Tally::get(&tally.news_to_other) > 0, death.is_inside(), "for the other one too?");
    }
}

#[cfg(feature = "mutants")]
mod planted {
    use super::*;
    use turnlock::mutants::Mutant;
    use under_loom::search::planted::is_caught;
    use under_loom::world::Property::{Data, Exclusion, News, Order, Token};

    #[test]
    fn without_choosing_two_are_inside() {
        is_caught(Mutant::NoChoosing, &duel(), &[Exclusion, Data, Token]);
    }

    // The two fences are also what keeps the order: without one of them a doorway that is long done may be overlooked.
    #[test]
    fn without_the_fence_after_choosing_two_are_inside_or_one_is_overtaken() {
        is_caught(Mutant::NoFenceAfterChoosing, &duel(), &[Exclusion, Data, Token, Order]);
    }

    #[test]
    fn without_the_fence_before_the_wait_two_are_inside_or_one_is_overtaken() {
        is_caught(Mutant::NoFenceBeforeWait, &duel(), &[Exclusion, Data, Token, Order]);
    }

    #[test]
    fn without_the_tie_break_two_are_inside() {
        is_caught(Mutant::NoTieBreak, &duel(), &[Exclusion, Data, Token]);
    }

    // The bakery still lets in one at a time, but the next one may not see what the last one wrote, its token included.
    #[test]
    fn leaving_without_release_order_is_a_data_race() {
        is_caught(Mutant::RelaxedLeave, &duel(), &[Data, Token]);
    }

    #[test]
    fn without_held_torn_data_come_without_the_news() {
        let plan = Plan::new(&[&[Lock], &[DieAt(Death::Torn)]]);
        is_caught(Mutant::NoHeld, &plan, &[News, Data]);
    }
}
