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
//! | two participants, one entry each; and with a newcomer | 5,112; 15,037 |
//! | a death at each of 9 steps, in each slot, beside a locker | 63,543 |
//! | the same beside two lockers, 2 preemptions | 102,477 |
//! | three participants, one entry each, 3 preemptions | 66,383 |
//! | two participants, two entries and one, 5 preemptions; two each, 4 | 60,121; 44,822 |
//! | tries beside lockers and tries | 63,223 |
//!
//! Half a minute in all on one core.
//!
//! With the feature `seeded-bugs`, the same models must fail for each bug planted in this room, and each property that
//! the bug breaks must catch it alone, the others being switched off. `ForgetBeforeNews` and `ReapWithoutByteLock` are
//! planted in the room `recovery`, which loom cannot run.
//!
//! What loom does not see. A fence is no scheduling point of its own: it happens together with the access before it.
//! A fence synchronises with every fence before it, a little more than C11 promises. And a dead thread's stores are in
//! memory when its byte lock is free, since that is what the kernel gives us. The fences that are needed are caught
//! here all the same, and the Spin model with store buffers has each of them as a step.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release --no-default-features --features seeded-bugs --test loom_bakery
//! ```
//! The search is deterministic, so a failure comes back when its test is run again; with `LOOM_LOCATION=1` it names
//! the places of the racing accesses.
#![cfg(loom)]

use loom::{cell::UnsafeCell, model::Builder, thread};
use std::cell::Cell;
use std::io::Write;
use std::sync::atomic::{AtomicBool as PlainBool, AtomicU64 as PlainU64, AtomicUsize as PlainUsize};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;
use turnlock::algorithm::bakery::{Bakery, Line, Registers};
use turnlock::algorithm::ownership::{Health, Ownership};
use turnlock::algorithm::{Place, Protocol};
use turnlock::sync::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
};

use Visit::{DieAt, Lock, Try};

/// What must hold in every execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Property {
    /// One holder at a time.
    Exclusion,
    /// The data are plain memory (`loom::cell::UnsafeCell`): an access that is not ordered after the last holder's
    /// writes is a failure even if it finds the right value.
    Data,
    /// Each fencing token is larger than the one before.
    Token,
    /// Nobody is overtaken by a participant who began its doorway after theirs was finished.
    Order,
    /// The next holder after a death inside has the news, with the dead holder's token; after any other, none.
    News,
}

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

/// One model.
#[derive(Clone)]
struct Plan {
    /// Each participant's visits, one after another. Participant 0 is the model's main thread.
    visits: Vec<Vec<Visit>>,
    /// Which slot participant 0 has; participant 1 has the next one, and so on around.
    first_slot: usize,
    /// How many preemptions an execution may have; `None`: any number.
    preemptions: Option<usize>,
    /// Participants other than 0 raise the bound on the slots in use, each before its first visit.
    newcomers: bool,
    /// Whether what follows a look in vain is explored too (see [`World::wait`]).
    unpruned: bool,
    /// The property that is checked; `None`: all of them.
    only: Option<Property>,
}

impl Plan {
    fn new(visits: &[&[Visit]]) -> Self {
        let visits = visits.iter().map(|visits| visits.to_vec()).collect();
        Plan { visits, first_slot: 0, preemptions: None, newcomers: false, unpruned: false, only: None }
    }

    fn preemptions(self, most: usize) -> Self {
        Plan { preemptions: Some(most), ..self }
    }

    /// The same plan with the slots dealt out in every way around, since the slot breaks ties.
    fn in_each_slot(self) -> Vec<Self> {
        (0..self.visits.len()).map(|first_slot| Plan { first_slot, ..self.clone() }).collect()
    }
}

/// Two participants, one entry each.
fn duel() -> Plan {
    Plan::new(&[&[Lock], &[Lock]])
}

// What a slot's byte lock, which the kernel holds for the living, can be.
const FREE: u32 = 0;
const LOCKED: u32 = 1;

/// The registers of one lock, what it protects, and what the properties are checked against.
struct World {
    words: Vec<AtomicU64>,
    bound: AtomicU32,
    held: Vec<AtomicU64>,
    token: AtomicU64,
    state: AtomicU32,
    byte_locks: Vec<AtomicU32>,
    /// The protected data: two words that must agree.
    data: [UnsafeCell<u64>; 2],
    /// The dead holder's token, as told by whoever acted for it.
    news: UnsafeCell<u64>,
    oracle: Oracle,
    unpruned: bool,
    only: Option<Property>,
}

// SAFETY: whether the cells are used by one thread at a time is what the models ask; loom fails where they are not.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

/// The truth, as seen by one who sees everything at once. Plain atomics of the standard library: they are no steps of
/// the model and order nothing in it.
#[derive(Default)]
struct Oracle {
    inside: PlainUsize,
    last_token: PlainU64,
    /// What the last complete section wrote.
    written: PlainU64,
    /// A holder died inside, and nobody repaired the data since.
    died_inside: PlainBool,
    /// The token of the last who did.
    dead_token: PlainU64,
    /// The participant who acted for it; 0 = none did, else its slot + 1.
    actor: PlainUsize,
    /// For each slot, which of its visits stands in the line; 0 = none.
    waiting: [PlainUsize; 3],
    entries: PlainUsize,
}

/// What the executions of a search came upon: a search that never came upon what its test is named after shows nothing.
#[derive(Default)]
struct Tally {
    executions: PlainUsize,
    waits: PlainUsize,
    withdrawals: PlainUsize,
    tries_won: PlainUsize,
    /// News that came to the one who had acted for the dead, and to another one.
    news_to_actor: PlainUsize,
    news_to_other: PlainUsize,
}

impl Tally {
    fn get(count: &PlainUsize) -> usize {
        count.load(SeqCst)
    }
}

/// The bakery's own registers; the oracle notes who is in the line at the very step in which a doorway begins.
struct Watched<'a> {
    line: Line<'a>,
    oracle: &'a Oracle,
    before_me: Cell<[usize; 3]>,
}

impl Registers for Watched<'_> {
    fn bound(&self) -> usize {
        self.line.bound()
    }

    fn set_choosing(&self, me: usize) {
        self.line.set_choosing(me);
        self.before_me.set(self.oracle.waiting.each_ref().map(|visit| visit.load(SeqCst)));
    }

    fn set_number(&self, me: usize, number: u64) {
        self.line.set_number(me, number);
    }

    fn clear(&self, me: usize) {
        self.line.clear(me);
    }

    fn read(&self, slot: usize) -> Place {
        self.line.read(slot)
    }

    fn read_word(&self, slot: usize) -> u64 {
        self.line.read_word(slot)
    }
}

impl World {
    fn new(plan: &Plan) -> Self {
        let slots = plan.visits.len();
        let registers = || (0..slots).map(|_| AtomicU64::new(0)).collect();
        World {
            words: registers(),
            bound: AtomicU32::new(if plan.newcomers { 1 } else { slots as u32 }),
            held: registers(),
            token: AtomicU64::new(0),
            state: AtomicU32::new(Health::Consistent as u32),
            byte_locks: (0..slots).map(|_| AtomicU32::new(LOCKED)).collect(),
            data: [UnsafeCell::new(0), UnsafeCell::new(0)],
            news: UnsafeCell::new(0),
            oracle: Oracle::default(),
            unpruned: plan.unpruned,
            only: plan.only,
        }
    }

    fn bakery(&self) -> Bakery<Watched<'_>> {
        let line = Line { words: &self.words, bound: &self.bound };
        Bakery(Watched { line, oracle: &self.oracle, before_me: Default::default() })
    }

    fn ownership(&self) -> Ownership<'_> {
        Ownership { token: &self.token, state: &self.state }
    }

    fn checks(&self, property: Property) -> bool {
        self.only.is_none_or(|only| only == property)
    }

    /// The `ordinal`-th visit of slot `me`, counted from 1.
    fn visit(&self, me: usize, ordinal: usize, how: Visit, tally: &Tally) {
        let (bakery, ownership, oracle) = (self.bakery(), self.ownership(), &self.oracle);
        let held = &self.held[me];
        let dies = |here| how == DieAt(here);
        if dies(Death::Choosing) {
            bakery.0.set_choosing(me);
            return self.die(me);
        }
        let number = bakery.doorway(me).unwrap();
        oracle.waiting[me].store(ordinal, SeqCst);
        if dies(Death::Doorway) {
            return self.die(me);
        }
        if how == Try {
            if bakery.blocker(me, number).unwrap().is_some() {
                oracle.waiting[me].store(0, SeqCst);
                tally.withdrawals.fetch_add(1, SeqCst);
                return bakery.withdraw(me);
            }
            tally.tries_won.fetch_add(1, SeqCst);
        } else {
            self.wait(me, number, tally);
        }

        // Inside. No access of the model lies between the look that let us in and here.
        let others_inside = oracle.inside.fetch_add(1, SeqCst);
        assert!(others_inside == 0 || !self.checks(Property::Exclusion), "Exclusion: two are inside");
        oracle.waiting[me].store(0, SeqCst);
        for (slot, visit) in bakery.0.before_me.get().into_iter().enumerate() {
            let overtaken = visit != 0 && oracle.waiting[slot].load(SeqCst) == visit;
            assert!(!overtaken || !self.checks(Property::Order), "Order: slot {slot} was overtaken by {me}");
        }
        if dies(Death::Won) {
            return self.die_inside(me, None);
        }
        if dies(Death::TokenTaken) {
            self.token.store(self.token.load(Relaxed) + 1, Relaxed);
            return self.die_inside(me, None);
        }
        let (token, health) = ownership.enter(held).unwrap();
        let last = oracle.last_token.swap(token, SeqCst);
        assert!(token > last || !self.checks(Property::Token), "Token: {token} after {last}");
        self.hear(me, health, tally);
        if dies(Death::Entered) {
            return self.die_inside(me, Some(token));
        }
        self.read(health);
        if health == Health::Inconsistent {
            self.write(0, 0);
            self.write(1, 0);
            ownership.mark_consistent();
            oracle.died_inside.store(false, SeqCst);
        }
        self.write(0, token);
        if dies(Death::Torn) {
            return self.die_inside(me, Some(token));
        }
        self.write(1, token);
        oracle.written.store(token, SeqCst);
        if dies(Death::Written) {
            return self.die_inside(me, Some(token));
        }
        ownership.exit(held);
        if dies(Death::Exited) {
            return self.die_inside(me, None);
        }
        oracle.inside.fetch_sub(1, SeqCst);
        oracle.entries.fetch_add(1, SeqCst);
        bakery.leave(me);
        if dies(Death::Left) {
            self.die(me);
        }
    }

    fn wait(&self, me: usize, number: u64, tally: &Tally) {
        let bakery = self.bakery();
        while let Some(blocker) = bakery.blocker(me, number).unwrap() {
            if !bakery.still_blocks(&blocker) {
                continue;
            }
            // As the waiting loop of `lock` does before it asks for deaths.
            bakery.insist(me, number);
            if self.act_for(blocker.slot, me) {
                continue;
            }
            tally.waits.fetch_add(1, SeqCst);
            // A look in vain changes nothing, so it may as well have come later; and that execution is explored too.
            // Hence what follows this one need not be.
            if !self.unpruned {
                loom::skip_branch();
            }
            // Nothing changes here until another participant goes on.
            thread::yield_now();
        }
    }

    /// As `recovery::reap`: whoever gets a dead slot's byte lock acts for it.
    fn act_for(&self, slot: usize, me: usize) -> bool {
        let byte_lock = &self.byte_locks[slot];
        // A read-modify-write, since the kernel's answer is never out of date.
        if byte_lock.compare_exchange(FREE, LOCKED, AcqRel, Relaxed).is_err() {
            return false;
        }
        self.ownership().forget(&self.held[slot], |token| {
            // SAFETY: with the byte lock of a dead holder in hand nobody else is inside; loom fails where that is wrong.
            self.news.with_mut(|news| unsafe { *news = token });
            self.oracle.actor.store(me + 1, SeqCst);
        });
        self.bakery().forget(slot);
        byte_lock.store(FREE, Release);
        true
    }

    /// The thread stops here, and its byte lock is free. The release store stands for the kernel, which gives the byte
    /// lock up after the last of the dead one's stores.
    fn die(&self, me: usize) {
        self.oracle.waiting[me].store(0, SeqCst);
        self.byte_locks[me].store(FREE, Release);
    }

    /// Dies between winning and leaving; with a token if it is written down as the holder.
    fn die_inside(&self, me: usize, token: Option<u64>) {
        if let Some(token) = token {
            self.oracle.died_inside.store(true, SeqCst);
            self.oracle.dead_token.store(token, SeqCst);
        }
        self.oracle.inside.fetch_sub(1, SeqCst);
        self.die(me);
    }

    /// Compares what the lock says of a death with what happened.
    fn hear(&self, me: usize, health: Health, tally: &Tally) {
        if !self.checks(Property::News) {
            return;
        }
        let happened =
            if self.oracle.died_inside.load(SeqCst) { Health::Inconsistent } else { Health::Consistent };
        assert_eq!(health, happened, "News: what the lock says, and what happened");
        if health == Health::Inconsistent {
            // SAFETY: only for a holder, while no dead holder is left to act for; loom fails where that is wrong.
            let told = self.news.with(|news| unsafe { *news });
            assert_eq!(
                told,
                self.oracle.dead_token.load(SeqCst),
                "News: the token told, and the dead holder's"
            );
            let told_by_me = self.oracle.actor.load(SeqCst) == me + 1;
            let count = if told_by_me { &tally.news_to_actor } else { &tally.news_to_other };
            count.fetch_add(1, SeqCst);
        }
    }

    fn read(&self, health: Health) {
        if !self.checks(Property::Data) {
            return;
        }
        // SAFETY: only for the holder; loom fails where that is wrong.
        let [left, right] = self.data.each_ref().map(|word| word.with(|word| unsafe { *word }));
        if health == Health::Consistent {
            assert_eq!(left, right, "Data: torn, and nobody told");
            assert_eq!(
                left,
                self.oracle.written.load(SeqCst),
                "Data: what is there, and what was written last"
            );
        }
    }

    fn write(&self, word: usize, value: u64) {
        if self.checks(Property::Data) {
            // SAFETY: only for the holder; loom fails where that is wrong.
            self.data[word].with_mut(|word| unsafe { *word = value });
        }
    }

    /// When everybody has gone, the lock still works and nothing of them is left.
    fn close(&self, me: usize, tally: &Tally) {
        let before = self.oracle.entries.load(SeqCst);
        self.visit(me, usize::MAX, Lock, tally);
        for slot in 0..self.words.len() {
            self.act_for(slot, me);
            assert_eq!(self.bakery().place(slot), Place::Idle, "slot {slot} left something in the line");
            assert_eq!(self.held[slot].load(Acquire), 0, "slot {slot} is still written down as a holder");
        }
        assert_eq!(self.oracle.entries.load(SeqCst), before + 1, "the last entry");
    }
}

/// One execution of a plan.
fn execute(plan: &Arc<Plan>, tally: &Arc<Tally>) {
    let slots = plan.visits.len();
    let world = Arc::new(World::new(plan));
    let take_part = move |plan: &Plan, world: &World, tally: &Tally, participant: usize| {
        let slot = (plan.first_slot + participant) % slots;
        if plan.newcomers && participant != 0 {
            world.bound.fetch_max(slot as u32 + 1, AcqRel);
        }
        for (visit, how) in plan.visits[participant].iter().enumerate() {
            world.visit(slot, visit + 1, *how, tally);
        }
    };
    let others: Vec<_> = (1..slots)
        .map(|participant| {
            let (plan, world, tally) = (Arc::clone(plan), Arc::clone(&world), Arc::clone(tally));
            thread::spawn(move || take_part(&plan, &world, &tally, participant))
        })
        .collect();
    take_part(plan, &world, tally, 0);
    for other in others {
        other.join().unwrap();
    }
    let visits = || plan.visits.iter().flatten();
    let certain = visits().filter(|how| matches!(how, Lock | DieAt(Death::Left))).count();
    let tries = visits().filter(|how| **how == Try).count();
    let entries = world.oracle.entries.load(SeqCst);
    assert!(
        (certain..=certain + tries).contains(&entries),
        "{entries} entries, of {certain} + {tries} at most"
    );
    world.close(plan.first_slot, tally);
}

/// Explores a plan to the end.
fn explore(plan: &Plan, tally: &Arc<Tally>) {
    let mut builder = Builder::new();
    builder.preemption_bound = plan.preemptions;
    builder.max_threads = plan.visits.len();
    // Either would end the search early and call that a success.
    (builder.max_duration, builder.max_permutations) = (None, None);
    let (plan, tally) = (Arc::new(plan.clone()), Arc::clone(tally));
    builder.check(move || {
        tally.executions.fetch_add(1, SeqCst);
        execute(&plan, &tally);
    });
}

#[expect(
    clippy::explicit_write,
    reason = "the test harness keeps what `eprintln!` says to itself if a test passes"
)]
fn say(sentence: std::fmt::Arguments) {
    writeln!(std::io::stderr(), "loom: {sentence}").unwrap();
}

/// The planted bug is one for the whole process, and tests are its threads: so one test at a time.
static FIELD: Mutex<()> = Mutex::new(());

struct Field(#[expect(dead_code, reason = "held until the test ends")] MutexGuard<'static, ()>);

impl Field {
    fn unplanted() -> Self {
        let field = Field(FIELD.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        field.clear();
        field
    }

    fn clear(&self) {
        #[cfg(feature = "seeded-bugs")]
        turnlock::seeded::plant(None);
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Explores the plans, which must all hold, and says how much that was. `least` executions or more must be found, lest
/// a search become trivial unnoticed.
fn all_hold(name: &str, plans: &[Plan], least: usize) -> Tally {
    let _field = Field::unplanted();
    let started = Instant::now();
    let tally = Arc::<Tally>::default();
    for plan in plans {
        explore(plan, &tally);
    }
    let tally = Arc::into_inner(tally).unwrap();
    let executions = Tally::get(&tally.executions);
    say(format_args!("{name}: {executions} executions, {:.1} s", started.elapsed().as_secs_f64()));
    assert!(executions >= least, "{name}: {executions} executions, where {least} or more were found before");
    assert!(
        Tally::get(&tally.waits) > 0
            || plans.iter().all(|plan| !plan.visits.iter().flatten().any(|how| *how == Lock)),
        "nobody ever waited"
    );
    tally
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
    both_ways(all_hold("a try beside a locker", &plans, 8000));
    let plans = Plan::new(&[&[Try], &[Try]]).in_each_slot();
    both_ways(all_hold("two tries", &plans, 3000));
    let plans = Plan::new(&[&[Lock], &[Try, Try]]).preemptions(4).in_each_slot();
    both_ways(all_hold("two tries in a row beside a locker, 4 preemptions", &plans, 1000));
    let plans = Plan::new(&[&[Lock], &[Try, Lock]]).preemptions(4).in_each_slot();
    both_ways(all_hold("a try and then a lock beside a locker, 4 preemptions", &plans, 1000));
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

#[cfg(feature = "seeded-bugs")]
mod planted {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
    use turnlock::seeded::{Bug, plant};

    use Property::{Data, Exclusion, News, Order, Token};

    /// Explores the plan; if that panics, says why, and the panic is not reported as a failure of the test.
    fn reason_of_failure(plan: &Plan, tally: &Arc<Tally>) -> Option<String> {
        let here = std::thread::current().id();
        let reporter = Arc::new(take_hook());
        let for_others = Arc::clone(&reporter);
        set_hook(Box::new(move |panic| {
            if std::thread::current().id() != here {
                for_others(panic);
            }
        }));
        let outcome = catch_unwind(AssertUnwindSafe(|| explore(plan, tally)));
        drop(take_hook());
        set_hook(Arc::into_inner(reporter).unwrap());
        let panic = outcome.err()?;
        let text = panic.downcast_ref::<String>().cloned();
        Some(text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap())
    }

    /// With the bug planted the plan must fail for each of the properties, the others not being checked. For the data
    /// that may be loom's own verdict, a data race; what fails for another reason (the model got too long, say) is
    /// not caught.
    fn is_caught(bug: Bug, plan: &Plan, properties: &[Property]) {
        let _field = Field::unplanted();
        plant(Some(bug));
        for property in properties {
            let tally = Arc::<Tally>::default();
            let plan = Plan { only: Some(*property), ..plan.clone() };
            let reason = reason_of_failure(&plan, &tally);
            let executions = Tally::get(&tally.executions);
            let Some(reason) = reason else {
                panic!("{bug:?} was not caught by {property:?} in {executions} executions");
            };
            let caught = reason.contains(&format!("{property:?}: "))
                || *property == Data && reason.starts_with("Causality violation");
            assert!(caught, "{bug:?} failed, but not by {property:?}: {reason}");
            let reason = reason.lines().next().unwrap();
            say(format_args!("{bug:?} caught by {property:?} in execution {executions}: {reason}"));
        }
    }

    #[test]
    fn without_choosing_two_are_inside() {
        is_caught(Bug::NoChoosing, &duel(), &[Exclusion, Data, Token]);
    }

    // The two fences are also what keeps the order: without one of them a doorway that is long done may be overlooked.
    #[test]
    fn without_the_fence_after_choosing_two_are_inside_or_one_is_overtaken() {
        is_caught(Bug::NoFenceAfterChoosing, &duel(), &[Exclusion, Data, Token, Order]);
    }

    #[test]
    fn without_the_fence_before_the_wait_two_are_inside_or_one_is_overtaken() {
        is_caught(Bug::NoFenceBeforeWait, &duel(), &[Exclusion, Data, Token, Order]);
    }

    #[test]
    fn without_the_tie_break_two_are_inside() {
        is_caught(Bug::NoTieBreak, &duel(), &[Exclusion, Data, Token]);
    }

    // The bakery still lets in one at a time, but the next one may not see what the last one wrote, its token included.
    #[test]
    fn leaving_without_release_order_is_a_data_race() {
        is_caught(Bug::RelaxedLeave, &duel(), &[Data, Token]);
    }

    #[test]
    fn without_held_torn_data_come_without_the_news() {
        let plan = Plan::new(&[&[Lock], &[DieAt(Death::Torn)]]);
        is_caught(Bug::NoHeld, &plan, &[News, Data]);
    }
}
