//! The real rings under loom (every interleaving of a few participants, and every stale value that the C11 orders let a
//! load return) and under shuttle (many random schedules of more of them).
//!
//! Shown, deaths at every store of a pass included: one holder at a time; whoever enters sees what the last holder
//! wrote; nobody is left waiting; and among those who stand in the ring the turn goes round exactly. What
//! `src/lock/rotation.rs` does around the rings (asking under the reconfiguration lock, acting for a machine that has
//! the privilege and whose participant does not want it) is done here in the same order, with the checker's own mutex
//! for that lock: the bakery behind it has tests of its own.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release --no-default-features --features mutants --test model_ring
//! RUSTFLAGS="--cfg shuttle" cargo test --release --no-default-features --features mutants --test model_ring
//! ```
#![cfg(any(loom, shuttle))]

#[cfg(loom)]
use loom::{cell::UnsafeCell, sync::Mutex, thread};
#[cfg(shuttle)]
use shuttle::{sync::Mutex, thread};
#[cfg(shuttle)]
use std::cell::UnsafeCell;
use std::sync::Arc;
use support::watchdog;
use turnlock::algorithm::ring::{
    InWords, LinkWord, MachineWords, Machines, Passed, Ring, Rule, Survey, Wish,
};
#[cfg(feature = "mutants")]
use turnlock::mutants::{Mutant, switch_on};
use turnlock::sync::{AtomicU32, AtomicU64, Ordering::Relaxed, full_fence};

// All searches together take some seconds.
support::watched_for_seconds!(600);

struct Cell {
    state: AtomicU64,
    link: AtomicU64,
    wish: AtomicU32,
}

/// A lock's region, as far as a ring needs it.
struct World {
    rule: Rule,
    cells: Vec<Cell>,
    slots_in_use: AtomicU32,
    ring_bound: AtomicU32,
    reconfiguration: Mutex<()>,
    inside: AtomicU32,
    data: UnsafeCell<u64>,
    /// Who had the turns, one after the other.
    turns: std::sync::Mutex<Vec<usize>>,
}

// SAFETY: `data` is only touched with the turn, which is what is shown.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    fn new(rule: Rule, machines: usize) -> Arc<Self> {
        let cell = |_| Cell { state: AtomicU64::new(0), link: AtomicU64::new(0), wish: AtomicU32::new(0) };
        Arc::new(Self {
            rule,
            cells: (0..machines).map(cell).collect(),
            slots_in_use: AtomicU32::new(machines as u32),
            ring_bound: AtomicU32::new(0),
            reconfiguration: Mutex::new(()),
            inside: AtomicU32::new(0),
            data: UnsafeCell::new(0),
            turns: std::sync::Mutex::new(Vec::new()),
        })
    }

    fn ring(&self) -> Ring<impl Machines + Copy + use<'_>> {
        let cells = &self.cells;
        let words = move |machine: usize| {
            let Cell { state, link, wish } = &cells[machine];
            MachineWords { state, link, wish }
        };
        let machines = InWords {
            count: cells.len(),
            slots_in_use: &self.slots_in_use,
            ring_bound: &self.ring_bound,
            words,
        };
        Ring { rule: self.rule, machines }
    }

    fn ask(&self, me: usize, wish: Wish) {
        let ring = self.ring();
        #[cfg(feature = "mutants")]
        if is_planted(Mutant::AskWithoutLock) {
            ring.machines.set_wish(me, wish);
            full_fence();
            return;
        }
        let _lock = self.reconfiguration.lock().unwrap();
        ring.machines.set_wish(me, wish);
        full_fence();
        self.settle_here(me);
    }

    fn settle(&self, me: usize) {
        let _lock = self.reconfiguration.lock().unwrap();
        self.settle_here(me);
    }

    fn settle_here(&self, me: usize) {
        let ring = self.ring();
        for _ in 0..ring.machines.count() {
            let Some(absent) = ring.absent_with_privilege() else { break };
            if ring.pass(absent, |_| ()) == Passed::ToNobody {
                return;
            }
        }
        if ring.machines.wish(me) == Wish::None
            || ring.who().is_some_and(|machine| ring.has_privilege(machine))
        {
            return;
        }
        match ring.survey() {
            Survey::Empty => ring.begin(me),
            Survey::Lost => panic!("the privilege is lost"),
            Survey::Several => panic!("several have the privilege"),
            Survey::One(_) | Survey::Moving => {}
        }
    }

    /// Takes one turn, and gives it back.
    fn turn(&self, me: usize, wish: Wish) {
        let ring = self.ring();
        if ring.machines.wish(me) != wish {
            self.ask(me, wish);
        }
        self.wait(me);
        self.section(me);
        let passed = ring.pass(me, |_| ());
        if wish == Wish::OneTurn {
            ring.machines.set_wish(me, Wish::None);
        }
        full_fence();
        let stranded = match passed {
            Passed::To(next) => ring.machines.wish(next) == Wish::None,
            Passed::ToNobody => wish == Wish::OneTurn && ring.is_wanted_beside(me),
        };
        if stranded || (wish == Wish::OneTurn && passed != Passed::ToNobody && ring.has_privilege(me)) {
            self.settle(me);
        }
    }

    fn wait(&self, me: usize) {
        let ring = self.ring();
        while !ring.has_privilege(me) {
            let absent = ring.who().filter(|machine| ring.machines.wish(*machine) == Wish::None);
            if absent.is_some_and(|machine| ring.has_privilege(machine)) || ring.who().is_none() {
                self.settle(me);
            }
            thread::yield_now();
        }
    }

    fn section(&self, me: usize) {
        assert_eq!(self.inside.fetch_add(1, Relaxed), 0, "two inside");
        self.write();
        self.turns.lock().unwrap().push(me);
        self.inside.fetch_sub(1, Relaxed);
    }

    fn leave(&self, me: usize) {
        let ring = self.ring();
        ring.machines.set_wish(me, Wish::None);
        full_fence();
        if ring.has_privilege(me) {
            self.settle(me);
        }
    }

    #[cfg(loom)]
    fn write(&self) {
        // SAFETY: we have the turn; loom says so if not.
        self.data.with_mut(|data| unsafe { *data += 1 });
    }

    #[cfg(shuttle)]
    fn write(&self) {
        // A section long enough for chance to bring somebody else in, if that can be.
        for _ in 0..10 {
            thread::yield_now();
        }
        // SAFETY: we have the turn; `inside` says so if not.
        unsafe { *self.data.get() += 1 };
    }
}

/// A participant's machines, of whose stores only so many come about: it dies before the next one.
struct Cut<M>(M, std::cell::Cell<usize>);

impl<M> Cut<M> {
    fn store(&self, store: impl FnOnce(&M)) {
        if self.1.get() > 0 {
            self.1.set(self.1.get() - 1);
            store(&self.0);
        }
    }
}

impl<M: Machines> Machines for Cut<M> {
    fn count(&self) -> usize {
        self.0.count()
    }
    fn bound(&self) -> usize {
        self.0.bound()
    }
    fn cover(&self, machine: usize) {
        self.store(|machines| machines.cover(machine));
    }
    fn state(&self, machine: usize) -> u64 {
        self.0.state(machine)
    }
    fn set_state(&self, machine: usize, state: u64) {
        self.store(|machines| machines.set_state(machine, state));
    }
    fn link(&self, machine: usize) -> LinkWord {
        self.0.link(machine)
    }
    fn set_link(&self, machine: usize, link: LinkWord) {
        self.store(|machines| machines.set_link(machine, link));
    }
    fn wish(&self, machine: usize) -> Wish {
        self.0.wish(machine)
    }
    fn set_wish(&self, machine: usize, wish: Wish) {
        self.store(|machines| machines.set_wish(machine, wish));
    }
}

impl World {
    /// Takes one turn and dies giving it back, after so many stores; then whoever has the byte lock buries it, which
    /// here may be any moment later. It acts for nobody: those who wait do.
    fn last_turn(&self, me: usize, stores: usize) {
        let ring = self.ring();
        self.ask(me, Wish::OneTurn);
        self.wait(me);
        self.section(me);
        Ring { rule: self.rule, machines: Cut(ring.machines, std::cell::Cell::new(stores)) }.pass(me, |_| ());
        thread::yield_now();
        ring.machines.set_wish(me, Wish::None);
    }
}

/// Participant 0 dies after so many stores of its last pass; the others take their turns all the same.
fn execute_with_a_death(rule: Rule, machines: usize, stores: usize, others: &[Visit]) {
    let world = World::new(rule, machines);
    let visits: Vec<_> = others
        .iter()
        .enumerate()
        .map(|(other, visit)| {
            let (world, visit) = (world.clone(), *visit);
            thread::spawn(move || come(&world, other + 1, visit))
        })
        .collect();
    world.last_turn(0, stores);
    visits.into_iter().for_each(|visit| visit.join().unwrap());
    let turns = world.turns.lock().unwrap().len();
    assert_eq!(turns, 1 + others.iter().map(|(_, turns)| turns).sum::<usize>());
}

/// What one participant does: its wish, and how many turns it takes.
type Visit = (Wish, usize);

fn execute(rule: Rule, machines: usize, visits: &[Visit]) {
    let world = World::new(rule, machines);
    let others: Vec<_> = visits
        .iter()
        .enumerate()
        .skip(1)
        .map(|(me, visit)| {
            let (world, visit) = (world.clone(), *visit);
            thread::spawn(move || come(&world, me, visit))
        })
        .collect();
    come(&world, 0, visits[0]);
    others.into_iter().for_each(|other| other.join().unwrap());
    let turns = world.turns.lock().unwrap();
    assert_eq!(turns.len(), visits.iter().map(|(_, turns)| turns).sum::<usize>());
}

/// In machines that leave gaps between them, where there are enough.
fn come(world: &World, participant: usize, (wish, turns): Visit) {
    let me = if world.cells.len() >= 4 { 2 * participant % world.cells.len() } else { participant };
    for _ in 0..turns {
        world.turn(me, wish);
    }
    if wish == Wish::Standing {
        world.leave(me);
    }
}

const ONE: Wish = Wish::OneTurn;
const STANDS: Wish = Wish::Standing;

fn rules(machines: usize) -> [Rule; 3] {
    [Rule::KState, Rule::Raynal, Rule::Sum { step: machines - 1 }]
}

/// The planted bug is one for the whole process, and tests are its threads: so one test at a time.
static FIELD: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    let alone = FIELD.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    watchdog::a_test_begins();
    alone
}

#[cfg(loom)]
fn check(preemptions: Option<usize>, scene: impl Fn() + Send + Sync + 'static) -> usize {
    let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    (builder.max_duration, builder.max_permutations) = (None, None);
    builder.max_branches = 20_000;
    let counted = count.clone();
    builder.check(move || {
        counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        scene();
    });
    count.load(std::sync::atomic::Ordering::SeqCst)
}

/// Schedules at random; with a number many more of them, since they are to find something.
#[cfg(shuttle)]
fn check(preemptions: Option<usize>, scene: impl Fn() + Send + Sync + 'static) -> usize {
    const SCHEDULES: usize = 1_500;
    match preemptions {
        Some(_) => shuttle::check_random(scene, 40 * SCHEDULES),
        None => shuttle::check_random(scene, SCHEDULES),
    }
    SCHEDULES
}

fn all_hold(name: &str, machines: usize, preemptions: Option<usize>, visits: &'static [Visit]) {
    let _alone = alone();
    for rule in rules(machines) {
        let began = std::time::Instant::now();
        let preemptions = preemptions.filter(|_| cfg!(loom));
        let executions = check(preemptions, move || execute(rule, machines, visits));
        println!("{name}, {rule:?}: {executions} executions, {:.1} s", began.elapsed().as_secs_f64());
        assert!(executions > 50, "a search that has become trivial");
    }
}

#[test]
fn two_on_demand() {
    all_hold("two on demand", 2, Some(4), &[(ONE, 1), (ONE, 1)]);
}

#[test]
fn two_who_stand() {
    all_hold("two who stand", 2, Some(3), &[(STANDS, 2), (STANDS, 2)]);
}

#[test]
fn one_who_stands_and_one_on_demand_who_comes_back() {
    all_hold("one stands, one comes back", 2, Some(3), &[(STANDS, 1), (ONE, 2)]);
}

#[test]
fn a_death_at_each_store_of_a_pass() {
    let _alone = alone();
    let (machines, others): (usize, &'static [Visit]) =
        if cfg!(loom) { (2, &[(ONE, 1)]) } else { (8, &[(ONE, 3), (STANDS, 3)]) };
    for rule in rules(machines) {
        for stores in 0..8 {
            let preemptions = Some(2).filter(|_| cfg!(loom));
            let executions = check(preemptions, move || execute_with_a_death(rule, machines, stores, others));
            assert!(executions > 10, "a search that has become trivial");
        }
    }
}

#[cfg(shuttle)]
#[test]
fn four_of_both_kinds_with_gaps_between_them() {
    all_hold("four", 8, None, &[(STANDS, 3), (ONE, 4), (STANDS, 2), (ONE, 5)]);
    all_hold("three on demand", 3, None, &[(ONE, 6), (ONE, 6), (ONE, 6)]);
}

#[cfg(feature = "mutants")]
static PLANTED: std::sync::Mutex<Option<Mutant>> = std::sync::Mutex::new(None);

#[cfg(feature = "mutants")]
fn is_planted(bug: Mutant) -> bool {
    *PLANTED.lock().unwrap() == Some(bug)
}

#[cfg(feature = "mutants")]
fn is_caught(bug: Mutant, rule: Rule, machines: usize, preemptions: usize, visits: &'static [Visit]) {
    let _alone = alone();
    *PLANTED.lock().unwrap() = Some(bug);
    switch_on(Some(bug));
    let scene = move || execute(rule, machines, visits);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(Some(preemptions), scene)));
    switch_on(None);
    *PLANTED.lock().unwrap() = None;
    let panic = outcome.err().unwrap_or_else(|| panic!("{bug:?} was planted and nothing was seen"));
    let text = panic.downcast_ref::<String>().cloned();
    let text =
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default();
    println!("{bug:?}: {}", text.lines().next().unwrap_or_default());
}

#[cfg(all(loom, feature = "mutants"))]
#[test]
fn a_state_stored_without_release_order_is_caught() {
    is_caught(Mutant::RelaxedLeave, Rule::Raynal, 2, 3, &[(STANDS, 2), (STANDS, 2)]);
}

// Chance does not find it in 60,000 schedules: it must bring one back in the few steps in which another acts for it.
#[cfg(all(loom, feature = "mutants"))]
#[test]
fn asking_without_the_reconfiguration_lock_is_caught() {
    is_caught(Mutant::AskWithoutLock, Rule::Raynal, 2, 3, &[(ONE, 2), (ONE, 2)]);
}

#[cfg(all(shuttle, feature = "mutants"))]
#[test]
fn coming_back_with_the_old_state_is_caught() {
    is_caught(Mutant::StateNotRenewed, Rule::Raynal, 3, 4, &[(STANDS, 4), (ONE, 6), (ONE, 6)]);
}

#[cfg(all(shuttle, feature = "mutants"))]
#[test]
fn absent_machines_that_are_not_counted_are_caught() {
    is_caught(Mutant::AbsentNotCounted, Rule::Raynal, 8, 4, &[(STANDS, 4), (ONE, 6), (ONE, 6)]);
}
