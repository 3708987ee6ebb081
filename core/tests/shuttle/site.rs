//! The registers of one lock, and a participant at it: the site at which the shipped acquisition runs.
//!
//! Every access that a loop of the shipped code may hang on ends the task if all is over ([`Oracle::end_if_over`]).

use crate::agent::AgentWords;
use crate::kernel::Simulated;
use crate::oracle::{Oracle, count, task};
use crate::parking::{Parked, ParkingWords, StandbyWords};
use crate::plan::Plan;
use crate::scheduler::Lifetimes;
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;
use std::sync::Arc;
use std::sync::atomic::AtomicU64 as PlainU64;
use turnlock_core::acquire::liveness;
use turnlock_core::acquire::local::LocalState;
use turnlock_core::acquire::site::{Host, Limit, Lock, Outcome, Overdue, Site, Unparked, Waiter};
use turnlock_core::algorithm::{
    Blocker, Place,
    bakery::{Bakery, Line, Registers},
    bias::{Bias, BiasWord},
    claim::Always,
    eviction::Eviction,
    light_barrier::{FullFences, LightBarrier},
    link::{self, Link},
    ownership::{Health, Ownership},
    ring::{InWords, LinkWord, MachineCell, MachineWords, Machines, Membership},
    shared_bias::{ReadersMark, SharedBias},
};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::{
    AtomicU32, AtomicU64, Ordering,
    Ordering::{AcqRel, Relaxed, Release, SeqCst},
};

/// A byte lock that no task has. Any other value is the task that has it.
pub const FREE: u32 = u32::MAX;

/// How often a patient waiter lets others pass, at most.
const PATIENCE: u64 = 3;

/// One slot's words of the lock.
pub struct Cell {
    pub held: AtomicU64,
    doorway: AtomicU64,
    evicted: AtomicU64,
    state: AtomicU64,
    link: AtomicU64,
    membership: AtomicU32,
    pub since: AtomicU64,
    pub parking: ParkingWords,
}

impl MachineCell for Cell {
    fn machine(&self) -> MachineWords<'_> {
        MachineWords { state: &self.state, link: &self.link, membership: &self.membership }
    }
}

/// The registers of one lock, and what it protects.
pub struct World {
    pub words: Vec<AtomicU64>,
    pub bound: AtomicU32,
    pub cells: Vec<Cell>,
    ring_bound: AtomicU32,
    pub token: AtomicU64,
    pub state: AtomicU32,
    bias: WatchedWord,
    revoking_since: PlainU64,
    pub standby: StandbyWords,
    pub agent: AgentWords,
    pub byte_locks: Vec<AtomicU32>,
    /// The protected data: two words that must agree.
    pub data: [AtomicU64; 2],
    /// The dead holder's token, as recorded by its reaper.
    pub notice: AtomicU64,
    pub oracle: Arc<Oracle>,
    pub lifetimes: Lifetimes,
}

impl World {
    pub fn new(oracle: Arc<Oracle>, lifetimes: &Lifetimes) -> Self {
        let slots = oracle.plan.participants;
        let word = || AtomicU64::new(0);
        let cell = |_| Cell {
            held: word(),
            doorway: word(),
            evicted: word(),
            state: word(),
            link: word(),
            membership: AtomicU32::new(0),
            since: word(),
            parking: ParkingWords::default(),
        };
        World {
            words: (0..slots).map(|_| word()).collect(),
            bound: AtomicU32::new(0),
            cells: (0..slots).map(cell).collect(),
            ring_bound: AtomicU32::new(0),
            token: word(),
            state: AtomicU32::new(if oracle.plan.link {
                link::away(Health::Consistent)
            } else {
                Health::Consistent as u32
            }),
            bias: WatchedWord { word: word(), oracle: Arc::clone(&oracle) },
            revoking_since: PlainU64::new(0),
            standby: StandbyWords::new(slots),
            agent: AgentWords::default(),
            byte_locks: (0..slots).map(|_| AtomicU32::new(FREE)).collect(),
            data: [word(), word()],
            notice: word(),
            oracle,
            lifetimes: lifetimes.clone(),
        }
    }

    pub fn plan(&self) -> &Plan {
        &self.oracle.plan
    }

    pub fn lock(&self) -> TheLock<'_> {
        TheLock(self)
    }

    /// As the kernel gives it out: to one task at a time, at once.
    pub fn take_byte_lock(&self, slot: usize) -> bool {
        let byte_lock = &self.byte_locks[slot];
        self.oracle.watch(byte_lock.compare_exchange(FREE, task() as u32, AcqRel, Relaxed)).is_ok()
    }

    pub fn give_byte_lock(&self, slot: usize) {
        self.byte_locks[slot].store(FREE, Release);
    }

    /// Acts for a dead slot, with its byte lock, as the mapped file does.
    pub fn clear(&self, slot: usize) {
        liveness::clear(&self.lock(), slot);
        if self.plan().link {
            self.link().forget_agent(slot);
            self.oracle.end_if_over();
        }
    }

    /// The participant that gets a dead slot's byte lock acts for it.
    pub fn reap(&self, slot: usize) -> bool {
        self.oracle.set_reaps(true);
        let has_byte_lock = self.take_byte_lock(slot);
        if has_byte_lock {
            count(&self.oracle.tally.acted_for_others);
            self.clear(slot);
            self.give_byte_lock(slot);
        }
        self.oracle.set_reaps(false);
        has_byte_lock
    }
}

/// The bakery's own registers. The oracle notes who is in the queue at the very step in which a doorway begins.
#[derive(Clone, Copy)]
pub struct WatchedLine<'a> {
    line: Line<'a>,
    oracle: &'a Oracle,
}

impl Registers for WatchedLine<'_> {
    fn bound(&self) -> usize {
        self.oracle.watch(self.line.bound())
    }

    fn set_choosing(&self, me: usize) {
        self.line.set_choosing(me);
        self.oracle.end_if_over();
        self.oracle.enter_doorway(me);
    }

    fn set_number(&self, me: usize, number: u64) {
        self.line.set_number(me, number);
        self.oracle.end_if_over();
        self.oracle.leave_doorway(me);
    }

    fn clear(&self, me: usize) {
        self.line.clear(me);
        self.oracle.end_if_over();
    }

    fn end(&self, _: usize, _: u64) {
        unreachable!("no participant retains a place where every two claims conflict");
    }

    fn read(&self, slot: usize) -> Place {
        if self.oracle.plan.unread_numbers && self.oracle.is_in_doorway() {
            return Place::Idle;
        }
        self.oracle.watch(self.line.read(slot))
    }

    fn read_word(&self, slot: usize) -> u64 {
        self.oracle.watch(self.line.read_word(slot))
    }
}

pub struct WatchedWord {
    word: AtomicU64,
    oracle: Arc<Oracle>,
}

impl BiasWord for WatchedWord {
    fn load(&self, order: Ordering) -> u64 {
        self.oracle.watch(self.word.load(order))
    }

    fn store(&self, value: u64, order: Ordering) {
        self.word.store(value, order);
        self.oracle.end_if_over();
    }

    fn compare_exchange(&self, old: u64, new: u64) -> bool {
        let exchanged = self.word.compare_exchange(old, new, Release, Relaxed).is_ok();
        self.oracle.end_if_over();
        exchanged
    }
}

#[derive(Clone, Copy)]
pub struct WatchedMachines<'a> {
    inner: InWords<'a, Cell>,
    oracle: &'a Oracle,
}

impl Machines for WatchedMachines<'_> {
    fn count(&self) -> usize {
        self.inner.count()
    }
    fn bound(&self) -> usize {
        self.oracle.watch(self.inner.bound())
    }
    fn cover(&self, machine: usize) {
        self.inner.cover(machine);
        self.oracle.end_if_over();
    }
    fn state(&self, machine: usize) -> u64 {
        self.oracle.watch(self.inner.state(machine))
    }
    fn set_state(&self, machine: usize, state: u64) {
        self.inner.set_state(machine, state);
        self.oracle.end_if_over();
    }
    fn link(&self, machine: usize) -> LinkWord {
        self.oracle.watch(self.inner.link(machine))
    }
    fn set_link(&self, machine: usize, link: LinkWord) {
        self.inner.set_link(machine, link);
        self.oracle.end_if_over();
    }
    fn membership(&self, machine: usize) -> Membership {
        self.oracle.watch(self.inner.membership(machine))
    }
    fn set_membership(&self, machine: usize, membership: Membership) {
        self.inner.set_membership(machine, membership);
        self.oracle.end_if_over();
    }
}

#[derive(Clone, Copy)]
pub struct TheLock<'a>(&'a World);

impl<'a> Lock for TheLock<'a> {
    type Queue = WatchedLine<'a>;
    type Claims = Always;
    type BiasWord = WatchedWord;
    type Machines = WatchedMachines<'a>;

    fn slots(&self) -> usize {
        self.0.cells.len()
    }
    fn queue(&self) -> Bakery<WatchedLine<'a>> {
        let line = Line { words: &self.0.words, bound: &self.0.bound };
        Bakery { registers: WatchedLine { line, oracle: &self.0.oracle }, claims: Always }
    }
    fn bias(&self) -> Bias<'_, WatchedWord> {
        Bias(&self.0.bias)
    }
    fn shared_bias(&self) -> SharedBias<'_, WatchedWord> {
        SharedBias(&self.0.bias, const { &ReadersMark::new(1) })
    }
    fn ownership(&self) -> Ownership<'_> {
        Ownership { token: &self.0.token, state: &self.0.state }
    }
    fn held(&self, slot: usize) -> &AtomicU64 {
        &self.0.cells[slot].held
    }
    fn eviction(&self, slot: usize) -> Eviction<'_> {
        let cell = &self.0.cells[slot];
        self.0.oracle.look_at_place_of(slot);
        self.0.oracle.watch(Eviction { doorway: &cell.doorway, evicted: &cell.evicted })
    }
    fn machines(&self) -> WatchedMachines<'a> {
        let World { cells, bound, ring_bound, oracle, .. } = self.0;
        WatchedMachines { inner: InWords { cells, slots_in_use: bound, ring_bound }, oracle }
    }
    fn since(&self, slot: usize) -> u64 {
        self.0.oracle.watch(self.0.cells[slot].since.load(Relaxed))
    }
    fn set_since(&self, slot: usize, time: u64) {
        self.0.cells[slot].since.store(time, Relaxed);
        self.0.oracle.end_if_over();
    }
    fn set_revoking_since(&self, time: u64) {
        self.0.revoking_since.store(time, SeqCst);
    }
    fn revoking_since(&self) -> u64 {
        self.0.revoking_since.load(SeqCst)
    }
    fn record_death(&self, _: usize, token: u64) -> bool {
        self.0.notice.store(token, Relaxed);
        self.0.oracle.end_if_over();
        true
    }
    fn record_overwritten_ring(&self) {
        panic!("several have the privilege");
    }

    fn link(&self) -> Option<Link<'_>> {
        self.0.plan().link.then(|| self.0.oracle.watch(self.0.link()))
    }
    fn wake_agent(&self, agent: usize) {
        assert_eq!(Some(agent), self.0.plan().agent());
        self.0.agent.bell().ring_if_asleep::<Simulated>();
        self.0.oracle.end_if_over();
    }

    // Where no waiter sleeps they look again and again, and there is none to wake.
    fn unpark_waiters_of(&self, slot: usize) -> Unparked {
        if self.0.plan().sleep { self.0.unpark(slot) } else { self.0.oracle.watch(Unparked::NoWaiter) }
    }
    fn unpark_early(&self, slot: usize) {
        if self.0.plan().sleep {
            self.0.spot(slot).unpark_early::<Simulated>();
            self.0.oracle.end_if_over();
        }
    }
    fn unpark_standby(&self, slot: usize, next: bool) {
        if self.0.plan().sleep {
            self.0.unpark_standby(slot, next);
        }
    }
    fn stands_by(&self, counts: impl Fn(usize) -> bool) -> bool {
        self.0.plan().sleep && self.0.standby().has(counts)
    }
    fn forget_wait(&self, slot: usize) {
        if self.0.plan().sleep {
            self.0.forget_wait(slot);
        }
    }
}

/// One participant, in one life.
#[derive(Clone, Copy)]
pub struct Participant<'a> {
    pub lock: TheLock<'a>,
    pub me: usize,
    pub local: &'a AtomicU64,
}

impl<'a> Participant<'a> {
    pub fn oracle(&self) -> &'a Oracle {
        &self.lock.0.oracle
    }

    pub fn world(&self) -> &'a World {
        self.lock.0
    }

    /// Whether a wait may end before its turn comes.
    fn may_give_up(&self) -> bool {
        self.oracle().plan.withdraw && !self.oracle().closing.load(SeqCst)
    }
}

impl<'a> Host for Participant<'a> {
    fn is_shared(&self) -> bool {
        self.me % 2 == 1
    }
    fn now(&self) -> u64 {
        self.oracle().kernel.now()
    }
    fn begin_section(&self) -> bool {
        thread_rng().gen_ratio(1, 2)
    }
    /// By chance, where that is not searched.
    fn is_stopped(&self, slot: usize) -> bool {
        let (plan, lifetimes) = (&self.oracle().plan, &self.lock.0.lifetimes);
        if plan.stop {
            lifetimes.is_stopped(self.oracle().user[slot].load(SeqCst))
        } else {
            thread_rng().gen_ratio(1, 2)
        }
    }
}

impl<'a> Site for Participant<'a> {
    type Lock = TheLock<'a>;
    type Waiter = AnyWait<'a>;

    fn lock(&self) -> &TheLock<'a> {
        &self.lock
    }
    fn me(&self) -> usize {
        self.me
    }
    fn light(&self) -> impl LightBarrier {
        // Nothing is reordered here.
        FullFences { needed: false }
    }
    fn local(&self) -> LocalState<'_> {
        LocalState(self.local)
    }

    /// Nothing, since everything is sequentially consistent; or the kernel refuses it.
    fn heavy_barrier(&self) -> Result<()> {
        let refused = self.may_give_up() && thread_rng().gen_ratio(1, 20);
        if refused { Err(Error::Unsupported("refused")) } else { Ok(()) }
    }
    fn wants_bias(&self, _: bool) -> bool {
        self.oracle().plan.bias && thread_rng().gen_ratio(2, 3)
    }
    fn waiter(&self, limit: Limit, patience: u64, may_be_ended: bool) -> AnyWait<'a> {
        if self.oracle().plan.sleep {
            AnyWait::Sleeps(Box::new(Parked::new(*self, limit, patience, may_be_ended)))
        } else {
            AnyWait::Looks(Wait { site: *self, limit, patience: patience.min(PATIENCE), may_be_ended })
        }
    }
    fn reap(&self, slot: usize) -> Result<bool> {
        Ok(self.lock.0.reap(slot))
    }
}

/// A wait that sleeps, or one that looks again and again.
pub enum AnyWait<'a> {
    Sleeps(Box<Parked<'a>>),
    Looks(Wait<'a>),
}

pub struct Wait<'a> {
    site: Participant<'a>,
    limit: Limit,
    patience: u64,
    may_be_ended: bool,
}

impl Wait<'_> {
    /// Whether the wait ends here, and why.
    fn end(&self) -> Option<Outcome> {
        if !self.site.may_give_up() || !thread_rng().gen_ratio(1, 10) {
            return None;
        }
        match self.limit {
            Limit::For(_) if thread_rng().gen_ratio(1, 2) => Some(Outcome::TimedOut),
            _ if self.may_be_ended => Some(Outcome::Cancelled),
            _ => None,
        }
    }
}

impl Waiter for Wait<'_> {
    fn limit(&self) -> Limit {
        self.limit
    }
    fn lets_pass(&mut self) -> bool {
        let lets_pass = self.patience > 0;
        self.patience = self.patience.saturating_sub(1);
        lets_pass
    }
    fn queue_for_good(&mut self) {
        self.patience = 0;
        self.site.lock.set_since(self.site.me, 1);
    }

    fn wait(&mut self, _: &Blocker, must_wait: impl Fn() -> bool) -> Outcome {
        if let Some(end) = self.end() {
            return end;
        }
        if self.patience == 0 {
            self.queue_for_good();
        } else if thread_rng().gen_ratio(1, 2) && self.lets_pass() {
            return Outcome::BackOff;
        }
        if !must_wait() {
            return Outcome::LookAgain;
        }
        // After a yield another one goes on, by PCT at least: not always, where that one may be passed over.
        if !self.site.oracle().plan.evict || thread_rng().gen_ratio(1, 2) {
            thread::yield_now();
        }
        self.site.oracle().watch(Outcome::CheckAlive)
    }

    fn back_off(&mut self, must_wait: impl Fn() -> bool) -> Outcome {
        if let Some(end) = self.end() {
            return end;
        }
        thread::yield_now();
        self.site.oracle().end_if_over();
        if must_wait() { Outcome::CheckAlive } else { Outcome::LookAgain }
    }

    /// At any moment: that it is too soon is no harm.
    fn is_overdue(&mut self, first: Option<(usize, u64)>, _: usize) -> Overdue {
        let oracle = self.site.oracle();
        match first {
            Some(_) if oracle.plan.evict && thread_rng().gen_ratio(1, 2) => {
                oracle.begin_evicting();
                Overdue::Yes
            }
            _ => Overdue::No,
        }
    }
    fn check_alive(&mut self, slot: usize) -> Result<bool> {
        Ok(self.site.lock.0.reap(slot))
    }
}

impl Waiter for AnyWait<'_> {
    fn limit(&self) -> Limit {
        match self {
            AnyWait::Sleeps(wait) => wait.limit(),
            AnyWait::Looks(wait) => wait.limit(),
        }
    }
    fn lets_pass(&mut self) -> bool {
        match self {
            AnyWait::Sleeps(wait) => wait.lets_pass(),
            AnyWait::Looks(wait) => wait.lets_pass(),
        }
    }
    fn queue_for_good(&mut self) {
        match self {
            AnyWait::Sleeps(wait) => wait.queue_for_good(),
            AnyWait::Looks(wait) => wait.queue_for_good(),
        }
    }
    fn wait(&mut self, blocker: &Blocker, must_wait: impl Fn() -> bool) -> Outcome {
        match self {
            AnyWait::Sleeps(wait) => wait.wait(blocker, must_wait),
            AnyWait::Looks(wait) => wait.wait(blocker, must_wait),
        }
    }
    fn back_off(&mut self, must_wait: impl Fn() -> bool) -> Outcome {
        match self {
            AnyWait::Sleeps(wait) => wait.back_off(must_wait),
            AnyWait::Looks(wait) => wait.back_off(must_wait),
        }
    }
    fn was_parked(&self) -> bool {
        match self {
            AnyWait::Sleeps(wait) => wait.was_parked(),
            AnyWait::Looks(wait) => wait.was_parked(),
        }
    }
    fn is_overdue(&mut self, first: Option<(usize, u64)>, ahead: usize) -> Overdue {
        match self {
            AnyWait::Sleeps(wait) => wait.is_overdue(first, ahead),
            AnyWait::Looks(wait) => wait.is_overdue(first, ahead),
        }
    }
    fn check_alive(&mut self, slot: usize) -> Result<bool> {
        match self {
            AnyWait::Sleeps(wait) => wait.check_alive(slot),
            AnyWait::Looks(wait) => wait.check_alive(slot),
        }
    }
}
