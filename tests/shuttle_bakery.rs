//! The real bakery and the real ownership words under shuttle: three to five participants, several visits each, in
//! random schedules, with withdrawals, and with deaths between any two accesses of the real code.
//!
//! A participant dies by not being scheduled any more: its words stay as they are, wherever it was, in the doorway, in
//! `enter`, in the middle of acting for another dead one. Some time later the kernel, which is the model's main thread
//! here, gives up the byte locks that it had. Others may then act for it, or a new life begins in its slot.
//!
//! Shown (see [`Property`]): one holder at a time; fencing tokens strictly increase; first come first served; and a
//! death is told if it was inside, is not told if it was outside, and blocks nobody once somebody acts for the dead. An
//! execution that goes on for a million steps is a failure too: nobody waits for ever.
//!
//! Each search prints its seed and what came up in it, deaths and all. Half of its schedules are random, half by PCT
//! (probabilistic concurrency testing: few preemptions, at any place). 79,000 schedules in all, with some 250,000
//! deaths, 40,000 of them inside; a dozen seconds of one core.
//!
//! With the feature `mutants`, `NoChoosing`, `NoTieBreak` and `NoHeld` must be caught, and so must a recovery in
//! the wrong order, which the test itself does. Shuttle runs everything sequentially consistent: a missing fence or a
//! missing release order it cannot show, which is what `tests/loom` is for.
//!
//! ```text
//! RUSTFLAGS="--cfg shuttle" cargo test --release --no-default-features --features mutants --test shuttle_bakery
//! ```
//! To replay a failure, run the one test that failed with `TURNLOCK_SCHEDULE` set to the `failing schedule` that it
//! printed, line breaks and all: it then executes this one schedule only. To repeat a whole search, set
//! `SHUTTLE_RANDOM_SEED` to its seed; without, every run has new ones.
#![cfg(shuttle)]

use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{PctScheduler, RandomScheduler, ReplayScheduler, Schedule, Scheduler, Task, TaskId};
use shuttle::{Config, Runner, current, thread};
use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool as PlainBool, AtomicU64 as PlainU64, AtomicUsize as PlainUsize};
use std::sync::{Arc, Mutex, MutexGuard, Once};
use std::time::Instant;
use support::watchdog;
use turnlock::algorithm::bakery::{Bakery, Line, Registers};
use turnlock::algorithm::ownership::{Health, Ownership};
use turnlock::algorithm::{Place, Protocol};
use turnlock::sync::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
};

// All searches together take a minute.
support::watched_for_seconds!(600);

/// What must hold in every execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Property {
    /// One holder at a time.
    Exclusion,
    /// A holder that is not told otherwise finds the two data words as the last section left them.
    Data,
    /// Each fencing token is larger than the one before.
    Token,
    /// Nobody is overtaken by a participant who began its doorway after theirs was finished.
    Order,
    /// The next holder after a death inside has the news, with the dead holder's token; after any other, none. A
    /// lock that was left without repair stays closed.
    News,
}

/// What the test itself may do wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    /// A dead one's register is cleared before its death is written down.
    ClearBeforeNotice,
    /// The doorway takes no notice of the others' numbers.
    UnreadNumbers,
}

/// One model: what the participants may do.
#[derive(Clone)]
struct Plan {
    participants: usize,
    /// How many visits each of them makes, over all its lives.
    visits: usize,
    /// May they give up while they wait?
    withdraw: bool,
    /// May they die?
    die: bool,
    /// May a holder that has the news leave without repair?
    careless: bool,
    wrong: Option<Wrong>,
    /// The property that is checked; `None`: all of them.
    only: Option<Property>,
}

impl Plan {
    fn new(participants: usize, visits: usize) -> Self {
        Plan { participants, visits, withdraw: false, die: false, careless: false, wrong: None, only: None }
    }

    fn mortal(participants: usize, visits: usize) -> Self {
        Plan { withdraw: true, die: true, ..Plan::new(participants, visits) }
    }
}

/// Most slots in a plan, and most tasks in one execution of it.
const MOST: usize = 5;
const MOST_TASKS: usize = 64;

/// In steps: about three visits.
const LONGEST_LIFE: u64 = 100;

/// A byte lock that nobody has. Any other value is the task that has it.
const FREE: u32 = u32::MAX;

/// How many more steps each task will be scheduled for. Who has none left is dead.
#[derive(Clone)]
struct Lifetimes(Arc<[PlainU64; MOST_TASKS]>);

impl Lifetimes {
    const ENDLESS: u64 = u64::MAX;

    fn new() -> Self {
        Lifetimes(Arc::new([const { PlainU64::new(Self::ENDLESS) }; MOST_TASKS]))
    }

    fn set(&self, task: usize, steps: u64) {
        self.0[task].store(steps, SeqCst);
    }

    fn is_over(&self, task: usize) -> bool {
        self.0[task].load(SeqCst) == 0
    }

    fn make_all_endless(&self) {
        self.0.iter().for_each(|steps| steps.store(Self::ENDLESS, SeqCst));
    }
}

/// A scheduler that lets nobody run whose lifetime is over.
struct Mortal<S> {
    inner: S,
    lifetimes: Lifetimes,
}

impl<S: Scheduler> Scheduler for Mortal<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.lifetimes.make_all_endless();
        self.inner.new_execution()
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, yields: bool) -> Option<TaskId> {
        let alive = |task: &&&Task| !self.lifetimes.is_over(task.id().into());
        let living: Vec<&Task> = runnable.iter().filter(alive).copied().collect();
        let next = self.inner.next_task(&living, current, yields)?;
        let steps = &self.lifetimes.0[usize::from(next)];
        if steps.load(SeqCst) != Lifetimes::ENDLESS {
            steps.fetch_sub(1, SeqCst);
        }
        Some(next)
    }

    fn next_u64(&mut self) -> u64 {
        self.inner.next_u64()
    }
}

/// The registers of one lock, what it protects, and what the properties are checked against.
struct World {
    plan: Plan,
    words: Vec<AtomicU64>,
    bound: AtomicU32,
    held: Vec<AtomicU64>,
    token: AtomicU64,
    state: AtomicU32,
    byte_locks: Vec<AtomicU32>,
    /// The protected data: two words that must agree.
    data: [AtomicU64; 2],
    /// The dead holder's token, as told by whoever acted for it.
    news: AtomicU64,
    oracle: Oracle,
    tally: Arc<Tally>,
    lifetimes: Lifetimes,
}

/// The truth, as seen by one who sees everything at once. Plain atomics of the standard library: no steps of the model.
#[derive(Default)]
struct Oracle {
    /// For each slot, is it between having won and leaving?
    inside: [PlainBool; MOST],
    last_token: PlainU64,
    /// What the last complete section wrote.
    written: PlainU64,
    /// A holder died inside, and nobody repaired the data since.
    died_inside: PlainBool,
    /// The token of the last who did.
    dead_token: PlainU64,
    /// Somebody left without repair.
    closed: PlainBool,
    /// For each slot, which of its visits stands in the line; 0 = none.
    waiting: [PlainUsize; MOST],
    /// For each slot, how many visits it has yet to make.
    to_make: [PlainUsize; MOST],
    /// For each slot, the token of the section that is being executed; 0 = none.
    section: [PlainU64; MOST],
    /// For each slot, the task that uses it; 0 = none yet.
    user: [PlainUsize; MOST],
    /// For each slot, is nobody using it any more?
    gone: [PlainBool; MOST],
    /// How many visits were begun.
    begun: PlainUsize,
    /// Nobody dies or gives up any more.
    closing: PlainBool,
    /// All is over.
    over: PlainBool,
}

/// Unwinds the stack of a dead task.
struct Buried;

impl Oracle {
    /// After an access of the model. When all is over the dead are let run again, since shuttle wants every task to
    /// end; and this is where they do.
    fn end_if_over(&self) {
        if self.over.load(SeqCst) {
            resume_unwind(Box::new(Buried));
        }
    }

    /// The same, passing on what the access gave.
    fn watch<T>(&self, given: T) -> T {
        self.end_if_over();
        given
    }
}

/// What the executions of a search came upon: a search that never came upon what its test is named after shows nothing.
#[derive(Debug, Default)]
struct Tally {
    schedules: PlainUsize,
    entries: PlainUsize,
    withdrawals: PlainUsize,
    /// Deaths of holders; of those who stood in the line or had just won or left; all others.
    deaths_inside: PlainUsize,
    deaths_in_line: PlainUsize,
    deaths_elsewhere: PlainUsize,
    /// Which of all these were acting for another dead one.
    deaths_acting: PlainUsize,
    /// How often somebody who waited got the byte lock of the one it waited for.
    acted_for_others: PlainUsize,
    news: PlainUsize,
    entries_when_closed: PlainUsize,
}

fn count(counter: &PlainUsize) {
    counter.fetch_add(1, SeqCst);
}

/// The bakery's own registers; the oracle notes who is in the line at the very step in which a doorway begins.
struct Watched<'a> {
    line: Line<'a>,
    oracle: &'a Oracle,
    before_me: Cell<[usize; MOST]>,
    in_doorway: Cell<bool>,
    wrong: Option<Wrong>,
}

impl Registers for Watched<'_> {
    fn bound(&self) -> usize {
        self.oracle.watch(self.line.bound())
    }

    fn set_choosing(&self, me: usize) {
        self.line.set_choosing(me);
        self.oracle.end_if_over();
        self.in_doorway.set(true);
        self.before_me.set(self.oracle.waiting.each_ref().map(|visit| visit.load(SeqCst)));
    }

    fn set_number(&self, me: usize, number: u64) {
        self.line.set_number(me, number);
        self.oracle.end_if_over();
        self.in_doorway.set(false);
    }

    fn clear(&self, me: usize) {
        self.line.clear(me);
        self.oracle.end_if_over();
    }

    fn read(&self, slot: usize) -> Place {
        let unread = self.in_doorway.get() && self.wrong == Some(Wrong::UnreadNumbers);
        if unread { Place::Idle } else { self.oracle.watch(self.line.read(slot)) }
    }

    fn read_word(&self, slot: usize) -> u64 {
        self.oracle.watch(self.line.read_word(slot))
    }
}

impl World {
    fn new(plan: &Plan, tally: &Arc<Tally>, lifetimes: &Lifetimes) -> Self {
        let registers = || (0..plan.participants).map(|_| AtomicU64::new(0)).collect();
        let oracle = Oracle::default();
        oracle.to_make.iter().for_each(|visits| visits.store(plan.visits, SeqCst));
        World {
            plan: plan.clone(),
            words: registers(),
            bound: AtomicU32::new(0),
            held: registers(),
            token: AtomicU64::new(0),
            state: AtomicU32::new(Health::Consistent as u32),
            byte_locks: (0..plan.participants).map(|_| AtomicU32::new(FREE)).collect(),
            data: [AtomicU64::new(0), AtomicU64::new(0)],
            news: AtomicU64::new(0),
            oracle,
            tally: Arc::clone(tally),
            lifetimes: lifetimes.clone(),
        }
    }

    fn bakery(&self) -> Bakery<Watched<'_>> {
        let line = Line { words: &self.words, bound: &self.bound };
        Bakery(Watched {
            line,
            oracle: &self.oracle,
            before_me: Default::default(),
            in_doorway: Default::default(),
            wrong: self.plan.wrong,
        })
    }

    fn ownership(&self) -> Ownership<'_> {
        Ownership { token: &self.token, state: &self.state }
    }

    fn checks(&self, property: Property) -> bool {
        self.plan.only.is_none_or(|only| only == property)
    }

    /// As the kernel gives it out: to one task at a time, at once.
    fn take_byte_lock(&self, slot: usize) -> bool {
        let byte_lock = &self.byte_locks[slot];
        self.oracle.watch(byte_lock.compare_exchange(FREE, task() as u32, AcqRel, Relaxed)).is_ok()
    }

    fn give_byte_lock(&self, slot: usize) {
        self.byte_locks[slot].store(FREE, Release);
    }

    /// One life in slot `me`: whoever gets its byte lock is the slot.
    fn live(&self, me: usize) {
        let closing = self.oracle.closing.load(SeqCst);
        self.oracle.user[me].store(task(), SeqCst);
        if self.plan.die && !closing && thread_rng().gen_ratio(3, 4) {
            self.lifetimes.set(task(), thread_rng().gen_range(0..LONGEST_LIFE));
        }
        while !self.take_byte_lock(me) {
            thread::yield_now();
        }
        self.recover(me);
        self.bound.fetch_max(me as u32 + 1, AcqRel);
        while self.oracle.to_make[me].load(SeqCst) > 0 {
            self.oracle.to_make[me].fetch_sub(1, SeqCst);
            self.visit(me);
            self.assert_nothing_left(me);
        }
        self.give_byte_lock(me);
        self.oracle.gone[me].store(true, SeqCst);
    }

    fn visit(&self, me: usize) {
        let (bakery, oracle) = (self.bakery(), &self.oracle);
        let number = bakery.doorway(me).unwrap();
        oracle.waiting[me].store(oracle.begun.fetch_add(1, SeqCst) + 1, SeqCst);
        while !bakery.is_next(me, number) {
            let Some(blocker) = bakery.blocker(me, number).unwrap() else { break };
            while bakery.still_blocks(&blocker) {
                if self.plan.withdraw && !oracle.closing.load(SeqCst) && thread_rng().gen_ratio(1, 10) {
                    oracle.waiting[me].store(0, SeqCst);
                    count(&self.tally.withdrawals);
                    return bakery.withdraw(me);
                }
                // As the waiting loop of `lock` does before it asks for deaths.
                bakery.insist(me, number);
                // As `recovery::reap`: whoever gets the dead one's byte lock acts for it.
                if self.take_byte_lock(blocker.slot) {
                    count(&self.tally.acted_for_others);
                    self.recover(blocker.slot);
                    self.give_byte_lock(blocker.slot);
                }
                thread::yield_now();
            }
        }

        // Inside. No step of the model lies between the look that let us in and here.
        let others_inside = oracle.inside.iter().any(|inside| inside.load(SeqCst));
        assert!(!others_inside || !self.checks(Property::Exclusion), "Exclusion: two are inside");
        oracle.inside[me].store(true, SeqCst);
        oracle.waiting[me].store(0, SeqCst);
        for (slot, visit) in bakery.0.before_me.get().into_iter().enumerate() {
            let overtaken = visit != 0 && oracle.waiting[slot].load(SeqCst) == visit;
            assert!(!overtaken || !self.checks(Property::Order), "Order: slot {slot} was overtaken by {me}");
        }
        self.section(me);
        oracle.inside[me].store(false, SeqCst);
        count(&self.tally.entries);
        bakery.leave(me);
    }

    /// From having won until right before `leave`.
    fn section(&self, me: usize) {
        let (ownership, oracle, held) = (self.ownership(), &self.oracle, &self.held[me]);
        let token = oracle.watch(ownership.enter(held)).unwrap();
        let health = oracle.watch(ownership.health());
        let last = oracle.last_token.swap(token, SeqCst);
        assert!(token > last || !self.checks(Property::Token), "Token: {token} after {last}");
        oracle.section[me].store(token, SeqCst);
        self.hear(health);
        self.work(token, health);
        oracle.section[me].store(0, SeqCst);
        ownership.exit(held);
        oracle.end_if_over();
    }

    /// What a holder does with the data.
    fn work(&self, token: u64, health: Health) {
        match health {
            Health::Consistent => self.read(),
            Health::Inconsistent if self.plan.careless && thread_rng().gen_ratio(1, 3) => {
                self.oracle.closed.store(true, SeqCst);
                return;
            }
            Health::Inconsistent => {
                self.data[0].store(0, Relaxed);
                self.data[1].store(0, Relaxed);
                self.ownership().mark_consistent();
                self.oracle.died_inside.store(false, SeqCst);
            }
            Health::NotRecoverable => {
                count(&self.tally.entries_when_closed);
                return;
            }
        }
        self.data[0].store(token, Relaxed);
        self.data[1].store(token, Relaxed);
        self.oracle.written.store(token, SeqCst);
    }

    fn read(&self) {
        let [left, right] = self.oracle.watch(self.data.each_ref().map(|word| word.load(Relaxed)));
        if self.checks(Property::Data) {
            assert_eq!(left, right, "Data: torn, and nobody told");
            let written = self.oracle.written.load(SeqCst);
            assert_eq!(left, written, "Data: what is there, and what was written last");
        }
    }

    /// Compares what the lock says of a death with what happened.
    fn hear(&self, health: Health) {
        let told = self.oracle.watch(self.news.load(Relaxed));
        let [closed, died_inside] =
            [&self.oracle.closed, &self.oracle.died_inside].map(|happened| happened.load(SeqCst));
        if self.checks(Property::News) {
            let happened = match (closed, died_inside) {
                (true, _) => Health::NotRecoverable,
                (false, true) => Health::Inconsistent,
                (false, false) => Health::Consistent,
            };
            assert_eq!(health, happened, "News: what the lock says, and what happened");
            let dead_token = self.oracle.dead_token.load(SeqCst);
            assert_eq!(told, dead_token, "News: the token told, and that of the last holder who died");
        }
        if health == Health::Inconsistent {
            count(&self.tally.news);
        }
    }

    /// As `recovery::recover_in_lock`, with the slot's byte lock in hand.
    fn recover(&self, slot: usize) {
        if self.plan.wrong == Some(Wrong::ClearBeforeNotice) {
            self.bakery().forget(slot);
        }
        self.ownership().forget(&self.held[slot], |token| self.news.store(token, Relaxed));
        self.bakery().forget(slot);
    }

    fn assert_nothing_left(&self, slot: usize) {
        assert_eq!(self.bakery().place(slot), Place::Idle, "slot {slot} left something in the line");
        let held = self.oracle.watch(self.held[slot].load(Acquire));
        assert_eq!(held, 0, "slot {slot} is still written down as a holder");
    }

    /// What the kernel does when the task that used the slot is dead, and what the oracle is to know of it.
    fn bury(&self, slot: usize, dead: usize) {
        let oracle = &self.oracle;
        // As long as the dead one has its own byte lock, nobody else writes its words.
        let has_slot = self.byte_locks[slot].load(Acquire) == dead as u32;
        let token = self.held[slot].load(Acquire).max(oracle.section[slot].swap(0, SeqCst));
        if has_slot && token != 0 {
            oracle.died_inside.store(true, SeqCst);
            oracle.dead_token.store(token, SeqCst);
            // It may have been about to close the lock, and not have come to it.
            oracle.closed.store(self.ownership().health() == Health::NotRecoverable, SeqCst);
            count(&self.tally.deaths_inside);
        } else if has_slot && self.bakery().place(slot) != Place::Idle {
            count(&self.tally.deaths_in_line);
        } else {
            count(&self.tally.deaths_elsewhere);
        }
        oracle.inside[slot].store(false, SeqCst);
        oracle.waiting[slot].store(0, SeqCst);
        for (other, byte_lock) in self.byte_locks.iter().enumerate() {
            if byte_lock.compare_exchange(dead as u32, FREE, AcqRel, Relaxed).is_ok() && other != slot {
                count(&self.tally.deaths_acting);
            }
        }
    }

    /// When everybody has gone, the lock still works and nothing of them is left.
    fn close(&self) {
        self.oracle.closing.store(true, SeqCst);
        self.oracle.to_make[0].store(1, SeqCst);
        self.live(0);
        for slot in 0..self.plan.participants {
            assert!(self.take_byte_lock(slot), "the byte lock of {slot} was never given up");
            self.recover(slot);
            self.assert_nothing_left(slot);
        }
    }
}

/// The task that runs.
fn task() -> usize {
    current::me().into()
}

/// One execution of a plan.
fn execute(plan: &Plan, tally: &Arc<Tally>, lifetimes: &Lifetimes) {
    count(&tally.schedules);
    let world = Arc::new(World::new(plan, tally, lifetimes));
    let begin_life = |slot| {
        let world = Arc::clone(&world);
        // Never joined: it may die.
        thread::spawn(move || {
            let life = catch_unwind(AssertUnwindSafe(|| world.live(slot)));
            life.unwrap_or_else(|end| {
                if !end.is::<Buried>() {
                    resume_unwind(end)
                }
            });
        });
    };
    (0..plan.participants).for_each(begin_life);
    let mut lives = plan.participants;
    let oracle = &world.oracle;
    // This thread is the kernel.
    while !oracle.gone[..plan.participants].iter().all(|gone| gone.load(SeqCst)) {
        for slot in 0..plan.participants {
            let user = oracle.user[slot].load(SeqCst);
            if oracle.gone[slot].load(SeqCst) || !lifetimes.is_over(user) {
                continue;
            }
            world.bury(slot, user);
            lives += 1;
            if lives < MOST_TASKS && thread_rng().gen_ratio(3, 4) {
                oracle.user[slot].store(0, SeqCst);
                begin_life(slot);
            } else {
                oracle.gone[slot].store(true, SeqCst);
            }
        }
        thread::yield_now();
    }
    world.close();
    oracle.over.store(true, SeqCst);
    lifetimes.make_all_endless();
}

/// Executes the plan as often as the scheduler wants.
fn search(plan: &Plan, tally: &Arc<Tally>, scheduler: impl Scheduler + 'static) {
    let mut config = Config::new();
    // What it would warn of, no weak memory, is said above.
    config.silence_warnings = true;
    let (plan, tally, lifetimes) = (plan.clone(), Arc::clone(tally), Lifetimes::new());
    let scheduler = Mortal { inner: scheduler, lifetimes: lifetimes.clone() };
    Runner::new(scheduler, config).run(move || execute(&plan, &tally, &lifetimes));
}

#[expect(
    clippy::explicit_write,
    reason = "the test harness keeps what `eprintln!` says to itself if a test passes"
)]
fn say(sentence: std::fmt::Arguments) {
    writeln!(std::io::stderr(), "shuttle: {sentence}").unwrap();
}

/// The planted bug is one for the whole process, and tests are its threads: so one test at a time.
static FIELD: Mutex<()> = Mutex::new(());

struct Field(#[expect(dead_code, reason = "held until the test ends")] MutexGuard<'static, ()>);

impl Field {
    fn unplanted() -> Self {
        let field = Field(FIELD.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        watchdog::a_test_begins();
        // Shuttle reports schedules from a panic hook that it installs at its first run: let it do that before a test
        // below puts another hook on top.
        static HOOK: Once = Once::new();
        HOOK.call_once(|| shuttle::check(|| ()));
        field.clear();
        field
    }

    fn clear(&self) {
        #[cfg(feature = "mutants")]
        turnlock::mutants::switch_on(None);
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Names a schedule to be executed instead of a search.
const ONE_SCHEDULE: &str = "TURNLOCK_SCHEDULE";

/// How many preemptions at random places PCT makes, and one more.
const PCT_DEPTH: usize = 4;

/// Tries the plan in so many schedules of each kind, which must all hold, and says what came up.
fn all_hold(name: &str, plan: Plan, schedules: usize) -> Tally {
    let _field = Field::unplanted();
    let tally = Arc::<Tally>::default();
    let started = Instant::now();
    let seed = RandomState::new().hash_one(());
    if let Ok(schedule) = std::env::var(ONE_SCHEDULE) {
        search(&plan, &tally, ReplayScheduler::new_from_encoded(&schedule));
    } else {
        let seed_told = std::env::var("SHUTTLE_RANDOM_SEED").unwrap_or(seed.to_string());
        say(format_args!("{name}: seed {seed_told}, {schedules} schedules random and as many by PCT"));
        search(&plan, &tally, RandomScheduler::new_from_seed(seed, schedules));
        search(&plan, &tally, PctScheduler::new_from_seed(seed, PCT_DEPTH, schedules));
    }
    let tally = Arc::into_inner(tally).unwrap();
    say(format_args!("{name}: {:.1} s, {tally:?}", started.elapsed().as_secs_f64()));
    tally
}

/// Did each of these happen at least once? Of a single schedule that is not asked.
fn came_up(counters: &[&PlainUsize]) -> bool {
    std::env::var_os(ONE_SCHEDULE).is_some() || counters.iter().all(|counter| counter.load(SeqCst) > 0)
}

fn all_deaths_came_up(tally: &Tally) -> bool {
    let Tally { deaths_inside, deaths_in_line, deaths_elsewhere, deaths_acting, acted_for_others, .. } =
        tally;
    came_up(&[deaths_inside, deaths_in_line, deaths_elsewhere, deaths_acting, acted_for_others])
}

#[test]
fn three_participants_enter_one_at_a_time_in_the_order_of_their_arrival() {
    all_hold("three participants", Plan::new(3, 5), 3000);
}

#[test]
fn five_participants_enter_one_at_a_time_in_the_order_of_their_arrival() {
    all_hold("five participants", Plan::new(5, 3), 1500);
}

#[test]
fn who_gives_up_while_waiting_leaves_nothing_behind() {
    let tally = all_hold("withdrawals", Plan { withdraw: true, ..Plan::new(4, 4) }, 4000);
    assert!(came_up(&[&tally.withdrawals]));
}

#[test]
fn deaths_anywhere_block_nobody_and_are_told_if_they_were_inside() {
    let tally = all_hold("deaths among three", Plan::mortal(3, 4), 15_000);
    assert!(all_deaths_came_up(&tally));
}

#[test]
fn deaths_among_five_block_nobody_and_are_told_if_they_were_inside() {
    let tally = all_hold("deaths among five", Plan::mortal(5, 4), 8000);
    assert!(all_deaths_came_up(&tally));
}

#[test]
fn a_lock_that_was_left_without_repair_stays_closed_through_deaths() {
    let tally = all_hold("no repair", Plan { careless: true, ..Plan::mortal(4, 4) }, 8000);
    assert!(came_up(&[&tally.news, &tally.entries_when_closed]));
}

#[cfg(feature = "mutants")]
mod planted {
    use super::*;
    use std::panic::{set_hook, take_hook};
    use turnlock::mutants::{Mutant, switch_on};

    use Property::{Data, Exclusion, News, Order, Token};

    /// A scheduler that tells the seed of the current schedule, and is never dropped: when a schedule fails, the random
    /// scheduler prints its seed on being dropped, and here a failure is what we want.
    struct Quiet<S>(ManuallyDrop<S>, Arc<PlainU64>);

    impl<S: Scheduler> Scheduler for Quiet<S> {
        fn new_execution(&mut self) -> Option<Schedule> {
            let schedule = self.0.new_execution();
            self.1.store(schedule.as_ref().map_or(0, |schedule| schedule.seed), SeqCst);
            schedule
        }

        fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, yields: bool) -> Option<TaskId> {
            self.0.next_task(runnable, current, yields)
        }

        fn next_u64(&mut self) -> u64 {
            self.0.next_u64()
        }
    }

    /// In which schedule the plan fails, the seed of that schedule, and why. The panic is not reported as a failure of
    /// the test.
    fn failure(plan: &Plan, scheduler: impl Scheduler + 'static) -> Option<(usize, u64, String)> {
        let (tally, seed) = (Arc::<Tally>::default(), Arc::<PlainU64>::default());
        let here = std::thread::current().id();
        let reporter = Arc::new(take_hook());
        let for_others = Arc::clone(&reporter);
        set_hook(Box::new(move |panic| {
            if std::thread::current().id() != here {
                for_others(panic);
            }
        }));
        let scheduler = Quiet(ManuallyDrop::new(scheduler), Arc::clone(&seed));
        let outcome = catch_unwind(AssertUnwindSafe(|| search(plan, &tally, scheduler)));
        drop(take_hook());
        set_hook(Arc::into_inner(reporter).unwrap());
        let panic = outcome.err()?;
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap();
        Some((tally.schedules.load(SeqCst), seed.load(SeqCst), text))
    }

    /// The plan, with a bug in it, must fail for each of the properties, the others not being checked: with either
    /// scheduler, and again when the schedule that failed is run alone from its seed.
    fn is_caught(name: &str, plan: &Plan, properties: &[Property]) {
        // Always the same, so that a bug is caught in every run or in none.
        const SEED: u64 = 1974;
        const SCHEDULES: usize = 20_000;
        for property in properties {
            let plan = Plan { only: Some(*property), ..plan.clone() };
            let by = |scheduler: &str, failure: Option<(usize, u64, String)>| {
                let Some((schedules, seed, reason)) = failure else {
                    panic!("{name} was not caught by {property:?} in {SCHEDULES} schedules ({scheduler})");
                };
                let caught = reason.contains(&format!("{property:?}: "));
                assert!(caught, "{name} failed, but not by {property:?} ({scheduler}): {reason}");
                (schedules, seed, reason)
            };
            let (pct, _, _) =
                by("PCT", failure(&plan, PctScheduler::new_from_seed(SEED, PCT_DEPTH, SCHEDULES)));
            let random = failure(&plan, RandomScheduler::new_from_seed(SEED, SCHEDULES));
            let (random, seed, reason) = by("random", random);
            let line = reason.lines().next().unwrap();
            say(format_args!(
                "{name} caught by {property:?} in schedule {random} (random), {pct} (PCT): {line}"
            ));
            let again = failure(&plan, RandomScheduler::new_from_seed(seed, 1));
            assert_eq!(again, Some((1, seed, reason)), "{name} from the seed of the schedule that failed");
        }
    }

    fn is_caught_when_planted(bug: Mutant, plan: &Plan, properties: &[Property]) {
        let _field = Field::unplanted();
        switch_on(Some(bug));
        is_caught(&format!("{bug:?}"), plan, properties);
    }

    #[test]
    fn without_choosing_two_are_inside() {
        is_caught_when_planted(Mutant::NoChoosing, &Plan::new(3, 3), &[Exclusion, Data, Token]);
    }

    #[test]
    fn without_the_tie_break_two_are_inside() {
        is_caught_when_planted(Mutant::NoTieBreak, &Plan::new(3, 3), &[Exclusion, Data, Token]);
    }

    #[test]
    fn without_held_torn_data_come_without_the_news() {
        is_caught_when_planted(Mutant::NoHeld, &Plan::mortal(3, 3), &[News, Data]);
    }

    #[test]
    fn when_the_register_is_cleared_before_the_death_is_written_down_torn_data_come_without_the_news() {
        let _field = Field::unplanted();
        let plan = Plan { wrong: Some(Wrong::ClearBeforeNotice), ..Plan::mortal(3, 3) };
        is_caught("a recovery in the wrong order", &plan, &[News, Data]);
    }

    // No planted bug of this room lets anybody be overtaken under sequential consistency: shows that it would be seen.
    #[test]
    fn when_the_doorway_takes_no_notice_of_numbers_somebody_is_overtaken() {
        let _field = Field::unplanted();
        let plan = Plan { wrong: Some(Wrong::UnreadNumbers), ..Plan::new(3, 3) };
        is_caught("a doorway without looking", &plan, &[Order]);
    }
}
