//! The real retained privilege, bakery and ownership words under loom: who was last in enters again without asking, and
//! who is at the head of the line takes the privilege from it.
//!
//! In *fenced* mode: loom has no membarrier, so every mark says that its process has none either, and both sides pass
//! full fences. The mode with membarrier is for the Spin model (`spec/retained_tso.pml`) and for torture.
//!
//! The steps are those of `src/lock/engine.rs` and `src/lock/turn.rs`, written again here (see [`Scene::visit`]): first
//! as the retainer, if `control` says so; else through the line, and at its head ask, pass the fence, wait until the
//! retainer is outside, then settle plainly or retaining. Whoever waits acts for the dead as `src/recovery.rs` does.
//! Whether to retain is the plan's choice, not the counters', and nobody is polite or asleep.
//!
//! Shown: what `tests/loom_bakery.rs` shows, with one holder at a time from `settle` or from a retained entry on; order
//! among those who go through the line; and who is asked no longer enters by the privilege. Nobody waits for ever: an
//! execution that gets too long is a failure.
//!
//! | searched | executions |
//! |---|---|
//! | a retainer and one who takes it to hold plainly; unpruned | 38,833; 60,784 |
//! | … to retain it, 5 preemptions | 23,789 |
//! | both try without looking first, 4 preemptions | 8,314 |
//! | the retainer or the other comes twice, 4 preemptions | 168,062 |
//! | a retainer and two who come, 2 preemptions | 61,414 |
//! | a try, 5 preemptions; with more entries, 3 preemptions | 14,368; 35,365 |
//! | a death at each of 6 steps of the retainer, 4 preemptions | 33,672 |
//! | the same, with a newcomer in its slot, 3 preemptions | 157,188 |
//! | a death at each of 8 steps of the other, 4 preemptions | 16,468 |
//!
//! A minute in all on one core.
//!
//! With the feature `mutants`, the bugs of the retained privilege must be caught, except those of membarrier.
//! `LeaveBeforeBias` and `BiasByNonHead` are planted in the engine, which loom cannot run, and no public way
//! says whether a bug is planted; so the steps here have these two on their own (`Plan::bug`).
//!
//! What loom does not see is what `tests/loom_bakery.rs` says, and one thing more (see [`Scene::meet`]).
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release --no-default-features --features mutants --test loom_retained
//! ```
#![cfg(loom)]

mod under_loom;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize as PlainUsize, Ordering::SeqCst};
use support::watchdog;
use turnlock::algorithm::Protocol;
use turnlock::algorithm::bias::{Bias, BiasOwner, Mark};
use turnlock::algorithm::ownership::{Health, TRYING};
use turnlock::mutants::Mutant;
use turnlock::sync::{
    AtomicU64,
    Ordering::{Acquire, Relaxed},
    full_fence,
};
use under_loom::search::all_hold;
use under_loom::world::{Property, Tally, World};
use under_loom::{Visits, together};

use How::{DieAt, Lock, Try};
use Then::{Plainly, Retaining};

type Plan = under_loom::Plan<Visit>;

// Each execution is a sign of life.
support::watched_for_seconds!(300);

/// Where a participant stops for good. Between two of these it writes nothing that another could read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Death {
    /// A retainer on the way in.
    Try,
    /// A retainer on the way in that has found its own name: the fencing token is taken, `held` says that it tries.
    TokenTaken,
    /// A candidate that has asked.
    Ask,
    /// At the head of the line, and the retainer is outside.
    Won,
    /// `control` says that nobody retains it; `held` is not written.
    Settle,
    /// A new retainer: `held` is written, `control` is not.
    Held,
    /// A new retainer: `control` says so, its number still stands.
    Retain,
    Entered,
    /// One of the two data words is written.
    Torn,
    Written,
    /// `held` is 0 again, and the number (if it has one) still stands.
    Exited,
    Left,
}

impl Death {
    /// Those that a retainer may die when it comes again.
    const OF_RETAINER: [Death; 6] =
        [Death::Try, Death::TokenTaken, Death::Entered, Death::Torn, Death::Written, Death::Exited];
    /// Those of a candidate that retains the privilege, or holds plainly.
    const OF_CANDIDATE: [(Death, Then); 8] = [
        (Death::Ask, Plainly),
        (Death::Won, Plainly),
        (Death::Settle, Plainly),
        (Death::Torn, Plainly),
        (Death::Exited, Plainly),
        (Death::Held, Retaining),
        (Death::Retain, Retaining),
        (Death::Torn, Retaining),
    ];

    /// Is the dead one then written down as the holder?
    fn is_inside(self) -> bool {
        matches!(self, Death::Held | Death::Retain | Death::Entered | Death::Torn | Death::Written)
    }
}

/// How a participant comes to the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// Waits as long as it takes.
    Lock,
    /// Looks once who is before it, and once whether the retainer is outside; else gives up.
    Try,
    /// As `Lock`, but dies there, if it comes there.
    DieAt(Death),
}

/// How the one who won holds the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Plainly,
    Retaining,
}

#[derive(Clone, Copy, Debug)]
struct Visit {
    how: How,
    then: Then,
    /// Tries to enter by the privilege without looking first whether it has it.
    blindly: bool,
}

const PLAIN: Visit = Visit { how: Lock, then: Plainly, blindly: false };
const RETAIN: Visit = Visit { how: Lock, then: Retaining, blindly: false };
const TRY: Visit = Visit { how: Try, then: Plainly, blindly: false };

const fn die_at(death: Death, then: Then) -> Visit {
    Visit { how: DieAt(death), then, blindly: false }
}

/// A lock with the words of the privilege, which participant 0 retains from the start.
struct Scene {
    world: World,
    control: AtomicU64,
    began_at: AtomicU64,
    back_off: AtomicU64,
    plain_entries: AtomicU64,
    last: AtomicU64,
    /// See [`Scene::meet`].
    meeting: AtomicU64,
    /// For the checker only: the candidate asks, and has passed its fence; the number of the request, or 0.
    asking: PlainUsize,
    times_asked: PlainUsize,
    tally: Arc<Tally>,
    bug: Option<Mutant>,
}

fn mark(slot: usize) -> Mark {
    Mark::new(slot, true)
}

impl Scene {
    fn new(plan: &Plan, tally: &Arc<Tally>) -> Self {
        let zero = || AtomicU64::new(0);
        let scene = Scene {
            world: World::new(plan),
            control: zero(),
            began_at: zero(),
            back_off: zero(),
            plain_entries: zero(),
            last: zero(),
            meeting: zero(),
            asking: PlainUsize::new(0),
            times_asked: PlainUsize::new(0),
            tally: Arc::clone(tally),
            bug: plan.bug,
        };
        scene.privilege().retain(mark(plan.first_slot), 0);
        scene
    }

    fn privilege(&self) -> Bias<'_> {
        Bias {
            control: &self.control,
            began_at: &self.began_at,
            back_off: &self.back_off,
            plain_entries: &self.plain_entries,
            last: &self.last,
        }
    }

    /// Before each access of `control` that others' stores or loads of it race with.
    ///
    /// Loom looks only at a word's last access to see what races with a store, and a candidate loads `control` right
    /// before it stores: that hides the retainer's loads, and the other order would not be searched. Two stores of one
    /// word do race. Nobody loads this one, so it orders nothing.
    fn meet(&self) {
        self.meeting.store(0, Relaxed);
    }

    fn planted(&self, bug: Mutant) -> bool {
        self.bug == Some(bug)
    }

    /// The `ordinal`-th visit of slot `me`, counted from 1. `false`: it died.
    fn visit(&self, me: usize, ordinal: usize, visit: Visit) -> bool {
        let dies = |here| visit.how == DieAt(here);
        let (world, privilege) = (&self.world, self.privilege());
        // As `At::enter_retained`; or blindly, as `lock/retained.rs` does.
        self.meet();
        if visit.blindly || privilege.seen() == Some(me) {
            if dies(Death::Try) || dies(Death::TokenTaken) {
                return self.die_trying(me, dies(Death::TokenTaken));
            }
            let unasked = visit.blindly || privilege.is_unasked(mark(me));
            if unasked && let Some(token) = self.enter_retained(me) {
                return self.section(me, token, &dies) && self.leave_retained(me, &dies);
            }
            self.tally.refusals.fetch_add(1, SeqCst);
            if self.planted(Mutant::BiasByNonHead) {
                self.meet();
                privilege.hold_plainly();
            }
        }
        let bakery = world.bakery();
        let number = bakery.doorway(me).unwrap();
        world.oracle.waiting[me].store(ordinal, SeqCst);
        // As `At::come`, and else `Turn::come`.
        let at_once = world.comes_at_once(me, number) && privilege.is_free_for(me);
        if !at_once && visit.how != Try {
            world.wait(me, number, &self.tally);
        } else if !at_once && bakery.blocker(me, number).unwrap().is_some() {
            world.withdraw(me, &self.tally);
            return true;
        }
        if !at_once && let Some(retainer) = privilege.retainer(me, world.held.iter()) {
            self.ask(retainer);
            if dies(Death::Ask) {
                return self.die(me);
            }
            while world.held[retainer.slot].load(Acquire) != 0 {
                if visit.how == Try {
                    self.asking.store(0, SeqCst);
                    self.meet();
                    privilege.take_back(retainer);
                    world.withdraw(me, &self.tally);
                    return true;
                }
                if !world.act_for(retainer.slot, me) {
                    world.look_again_later(&self.tally);
                }
            }
        }
        if visit.how == Try {
            self.tally.tries_won.fetch_add(1, SeqCst);
        }

        // The privilege is ours. No access of the model lies between the look that said so and here.
        self.asking.store(0, SeqCst);
        world.arrive(me);
        world.check_order(me, bakery.0.before_me.get());
        if dies(Death::Won) {
            return self.die_outside(me);
        }
        match visit.then {
            Retaining if world.ownership().health() == Health::Consistent => {
                self.settle_retaining(me, &dies) && self.leave_retained(me, &dies)
            }
            _ => self.settle_plainly(me, &dies),
        }
    }

    fn enter_retained(&self, me: usize) -> Option<u64> {
        self.meet();
        let asking = self.asking.load(SeqCst);
        let (world, held) = (&self.world, &self.world.held[me]);
        let token = self.privilege().enter(held, mark(me), &world.ownership())?;
        let ignored = asking != 0 && self.asking.load(SeqCst) == asking;
        assert!(
            !ignored || !world.checks(Property::Order),
            "Order: {me} was asked, and entered all the same"
        );
        world.arrive(me);
        self.tally.retained_entries.fetch_add(1, SeqCst);
        Some(token)
    }

    fn ask(&self, retainer: BiasOwner) {
        assert!(retainer.fenced, "no mark is of a process with membarrier");
        self.meet();
        self.privilege().ask(retainer);
        full_fence();
        let asked = self.times_asked.fetch_add(1, SeqCst) + 1;
        self.asking.store(asked, SeqCst);
        self.tally.asked.fetch_add(1, SeqCst);
    }

    fn settle_plainly(&self, me: usize, dies: &dyn Fn(Death) -> bool) -> bool {
        let (world, held) = (&self.world, &self.world.held[me]);
        self.meet();
        self.privilege().hold_plainly();
        if dies(Death::Settle) {
            return self.die_outside(me);
        }
        let token = world.ownership().enter(held).unwrap();
        if !self.section(me, token, dies) {
            return false;
        }
        world.ownership().exit(held);
        if dies(Death::Exited) {
            return self.die_outside(me);
        }
        world.depart();
        world.bakery().leave(me);
        !dies(Death::Left) || self.die(me)
    }

    fn settle_retaining(&self, me: usize, dies: &dyn Fn(Death) -> bool) -> bool {
        let world = &self.world;
        if self.planted(Mutant::LeaveBeforeBias) {
            world.bakery().leave(me);
        }
        let token = world.ownership().enter(&world.held[me]).unwrap();
        if dies(Death::Held) {
            return self.die_inside(me, token);
        }
        self.meet();
        self.privilege().retain(mark(me), token);
        if dies(Death::Retain) {
            return self.die_inside(me, token);
        }
        world.bakery().leave(me);
        self.section(me, token, dies)
    }

    fn section(&self, me: usize, token: u64, dies: &dyn Fn(Death) -> bool) -> bool {
        let world = &self.world;
        world.check_token(token);
        let health = world.ownership().health();
        world.hear(me, health, &self.tally);
        let lives = world.work(me, token, health, [Death::Entered, Death::Torn, Death::Written].map(dies));
        self.tally.deaths.fetch_add(usize::from(!lives), SeqCst);
        lives
    }

    fn leave_retained(&self, me: usize, dies: &dyn Fn(Death) -> bool) -> bool {
        self.meet();
        self.world.depart();
        // What comes after `held` = 0 only looks.
        self.privilege().leave(&self.world.held[me], mark(me));
        !(dies(Death::Exited) || dies(Death::Left)) || self.die(me)
    }

    fn die(&self, me: usize) -> bool {
        self.world.die(me);
        self.tally.deaths.fetch_add(1, SeqCst);
        false
    }

    /// Dies after winning or after its section, not written down as the holder.
    fn die_outside(&self, me: usize) -> bool {
        self.world.die_inside(me, None);
        self.tally.deaths.fetch_add(1, SeqCst);
        false
    }

    fn die_inside(&self, me: usize, token: u64) -> bool {
        self.world.check_token(token);
        self.world.die_inside(me, Some(token));
        self.tally.deaths.fetch_add(1, SeqCst);
        false
    }

    /// As `Bias::enter` goes, up to there.
    fn die_trying(&self, me: usize, takes_token: bool) -> bool {
        let world = &self.world;
        self.meet();
        world.held[me].store(TRYING, Relaxed);
        full_fence();
        if takes_token {
            // What it writes into `held` is not there yet.
            let not_yet = AtomicU64::new(0);
            self.privilege().enter(&not_yet, mark(me), &world.ownership());
        }
        self.die(me)
    }
}

impl Visits for Visit {
    fn waits(&self) -> bool {
        self.how == Lock
    }

    fn execute(plan: &Arc<Plan>, tally: &Arc<Tally>) {
        let scene = Arc::new(Scene::new(plan, tally));
        let all = (Arc::clone(plan), Arc::clone(&scene));
        together(plan.visits.len(), move |participant| {
            let (plan, scene) = &all;
            let slot = plan.slot_of(participant);
            let mut alive = true;
            for (ordinal, visit) in plan.visits[participant].iter().enumerate() {
                if !alive {
                    scene.world.move_in(slot, &scene.tally);
                }
                alive = scene.visit(slot, ordinal + 1, *visit);
            }
        });
        let visits = || plan.visits.iter().flatten();
        let certain = visits().filter(|visit| visit.how == Lock).count();
        let entries = scene.world.oracle.entries.load(SeqCst);
        assert!(
            (certain..=visits().count()).contains(&entries),
            "{entries} entries, {certain} of them certain"
        );
        // The lock still works, for the last slot and then for the first.
        let slots = plan.visits.len();
        for slot in (0..slots).rev() {
            scene.world.act_for(slot, slot);
            assert!(scene.visit(slot, usize::MAX, PLAIN));
        }
        scene.world.check_cleared(0, entries + slots);
    }
}

fn count(count: &PlainUsize) -> usize {
    count.load(SeqCst)
}

/// Explores the plans, each with the retainer in each slot; they must all hold.
fn hold(name: &str, plans: &[Plan], least: usize) -> Tally {
    let plans: Vec<Plan> = plans.iter().cloned().flat_map(Plan::in_each_slot).collect();
    let tally = all_hold(name, &plans, least);
    assert!(count(&tally.asked) > 0, "nobody ever asked");
    tally
}

/// Who retains the privilege, and one who comes to take it.
fn duel(then: Visit) -> Plan {
    Plan::new(&[&[PLAIN], &[then]])
}

#[test]
fn one_retains_and_another_takes() {
    let tally = hold("a retainer and one who takes it", &[duel(PLAIN)], 20_000);
    assert!(count(&tally.retained_entries) > 0, "no retained entry");
    assert!(count(&tally.refusals) > 0, "nobody was refused");
    hold("one who retains it in turn, 5 preemptions", &[duel(RETAIN).preemptions(5)], 13_000);
}

#[test]
fn who_tries_without_having_the_privilege_does_not_get_in_by_it() {
    let blind = |then| Visit { blindly: true, ..then };
    for then in [PLAIN, RETAIN] {
        let plan = Plan::new(&[&[blind(PLAIN)], &[blind(then)]]).preemptions(4);
        hold(&format!("a retainer and {:?}, both try blindly, 4 preemptions", then.then), &[plan], 2000);
    }
}

#[test]
fn what_is_pruned_after_a_look_in_vain_hides_nothing() {
    hold("the first, unpruned", &[Plan { unpruned: true, ..duel(PLAIN) }], 20_000);
}

#[test]
fn the_retainer_comes_again() {
    for then in [PLAIN, RETAIN] {
        let plan = Plan::new(&[&[RETAIN, RETAIN], &[then]]).preemptions(4);
        hold(&format!("a retainer twice, {:?}, 4 preemptions", then.then), &[plan], 10_000);
        let plan = Plan::new(&[&[RETAIN], &[then, RETAIN]]).preemptions(4);
        hold(&format!("a retainer, {:?} twice, 4 preemptions", then.then), &[plan], 20_000);
    }
}

#[test]
fn two_come_to_take_it() {
    for then in [PLAIN, RETAIN] {
        let plan = Plan::new(&[&[PLAIN], &[then], &[RETAIN]]).preemptions(2);
        hold(&format!("a retainer, {:?} and another, 2 preemptions", then.then), &[plan], 8000);
    }
}

#[test]
fn who_asks_and_gives_up_leaves_it_to_the_retainer() {
    let tally = hold("a retainer and a try, 5 preemptions", &[duel(TRY).preemptions(5)], 8000);
    assert!(count(&tally.tries_won) > 0, "no try ever won");
    assert!(count(&tally.withdrawals) > 0, "nobody ever withdrew");
    let plan = Plan::new(&[&[PLAIN, PLAIN], &[TRY, PLAIN]]).preemptions(3);
    hold("a retainer twice, a try and an entry, 3 preemptions", &[plan], 18_000);
}

fn deaths_hold(name: &str, death: Death, plan: Plan) {
    let tally = hold(&format!("a death at {death:?}, {name}"), &[plan], 200);
    assert!(count(&tally.deaths) > 0, "nobody died");
    let news = count(&tally.news_to_actor) + count(&tally.news_to_other) > 0;
    assert_eq!(news, death.is_inside(), "was there news?");
}

#[test]
fn a_retainer_that_dies_blocks_nobody_and_is_told_if_it_was_inside() {
    for death in Death::OF_RETAINER {
        let plan = Plan::new(&[&[die_at(death, Plainly)], &[RETAIN]]).preemptions(4);
        deaths_hold("of the retainer, 4 preemptions", death, plan);
    }
}

#[test]
fn a_candidate_that_dies_blocks_nobody_and_is_told_if_it_was_inside() {
    for (death, then) in Death::OF_CANDIDATE {
        let plan = Plan::new(&[&[PLAIN], &[die_at(death, then)]]).preemptions(4);
        deaths_hold(&format!("of a candidate, {then:?}, 4 preemptions"), death, plan);
    }
}

#[test]
fn a_newcomer_that_finds_its_slot_named_as_the_retainer_does_no_harm() {
    for death in Death::OF_RETAINER {
        let plan = Plan::new(&[&[die_at(death, Plainly), PLAIN], &[RETAIN]]).preemptions(3);
        deaths_hold("with a newcomer, 3 preemptions", death, plan);
    }
}

#[cfg(feature = "mutants")]
mod planted {
    use super::*;
    use under_loom::search::planted::is_caught;
    use under_loom::world::Property::{Data, Exclusion, News, Order, Token};

    #[test]
    fn without_a_fence_in_fenced_mode_two_are_inside() {
        is_caught(Mutant::NoFenceInFencedMode, &duel(PLAIN).preemptions(3), &[Exclusion, Data, Token, Order]);
    }

    #[test]
    fn who_looks_before_it_says_that_it_tries_is_overlooked() {
        is_caught(Mutant::FlagAfterCheck, &duel(PLAIN).preemptions(3), &[Exclusion, Data, Token, Order]);
    }

    #[test]
    fn who_gives_its_number_up_before_control_names_it_is_overlooked() {
        is_caught(Mutant::LeaveBeforeBias, &duel(RETAIN).preemptions(3), &[Exclusion, Data, Token]);
    }

    #[test]
    fn who_is_no_candidate_and_writes_control_hides_the_new_retainer() {
        is_caught(Mutant::BiasByNonHead, &duel(RETAIN).preemptions(3), &[Exclusion, Data]);
    }

    #[test]
    fn who_died_trying_was_no_holder() {
        is_caught(
            Mutant::OwnerDeadByTrying,
            &Plan::new(&[&[die_at(Death::Try, Plainly)], &[PLAIN]]),
            &[News],
        );
    }

    #[test]
    fn without_release_order_the_privilege_brings_a_data_race() {
        is_caught(Mutant::RelaxedLeave, &duel(PLAIN).preemptions(3), &[Data]);
    }
}
