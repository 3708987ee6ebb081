//! A lock that is a ring, over the checker's registers, and the participants that come to it.

use crate::events::{Event, check_rounds};
use crate::machines::{Cell, Dead, Lifetime, Record, Watched};
use crate::queue::{Queue, Registers};
#[cfg(loom)]
use loom::{cell::UnsafeCell, thread};
#[cfg(shuttle)]
use shuttle::thread;
#[cfg(shuttle)]
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize as PlainUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use turnlock_core::acquire::attempt::{Attempt, Discipline, LockConfig};
use turnlock_core::acquire::liveness;
use turnlock_core::acquire::local::LocalState;
use turnlock_core::acquire::operations::Acquisition;
use turnlock_core::acquire::site::{Host, Limit, Lock, Outcome, Overdue, Site, Unparked, Waiter};
use turnlock_core::algorithm::{
    Blocker,
    bakery::Bakery,
    bias::{Bias, BiasWord},
    claim::Always,
    eviction::Eviction,
    light_barrier::{FullFences, LightBarrier},
    ownership::{Health, Ownership},
    ring::{InWords, Membership, Rule},
    shared_bias::{ReadersMark, SharedBias},
};
use turnlock_core::error::Result;
use turnlock_core::sync::{
    AtomicU32, AtomicU64, Ordering,
    Ordering::{AcqRel, Relaxed, Release},
    full_fence,
};
use turnlock_core::trace::Step;

// What a slot's byte lock, which the kernel holds for the living, can be.
const FREE: u32 = 0;
const LOCKED: u32 = 1;

/// How a participant's last turn ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// As all others.
    Unlocks,
    /// It dies before this store to the machines, counted from its unlock on.
    DiesAtStore(u32),
    /// It dies before this store to the machines, counted from when it asks for its last turn.
    DiesWaitingAtStore(u32),
    /// It dies while it holds the lock.
    DiesInside,
    /// It lives, and gives the lock up as if it were dead.
    Abandons,
}

/// One participant: what it wants of the ring, how many turns it takes, and how the last one ends.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    pub membership: Membership,
    pub turns: usize,
    pub end: End,
    /// It passes over others that could have their turn: under loom once in each wait, under shuttle whenever chance has it.
    pub evicts: bool,
}

/// A lock's registers, and what it protects.
pub struct World {
    rule: Rule,
    cells: Vec<Cell>,
    queue: Queue,
    slots_in_use: AtomicU32,
    ring_bound: AtomicU32,
    token: AtomicU64,
    state: AtomicU32,
    /// Looked at only where a participant dies.
    byte_locks: Option<Vec<AtomicU32>>,
    /// Whether a participant may be passed over.
    evicts: bool,
    data: UnsafeCell<u64>,
    /// The dead holder's token, as recorded by its reaper.
    notice: UnsafeCell<u64>,
    lifetimes: Vec<Lifetime>,
    record: Record,
    events: Mutex<Vec<Event>>,
}

// SAFETY: `data` and `notice` are only touched by the holder or in its place, which is what is shown.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

/// Whether a waiter first checks whether its blocker is alive, and then lets another participant go on; else the other
/// way round. What a waiter does for others then takes loom one preemption less, and its searches take ten times as long.
pub static CHECKS_FIRST: AtomicBool = AtomicBool::new(false);

/// How many are between [`Step::Won`] and [`Step::Leave`]. One execution runs at a time.
static INSIDE: PlainUsize = PlainUsize::new(0);

/// How often a participant was passed over, and how often a participant found that it had lost its turn.
pub static EVICTIONS: PlainUsize = PlainUsize::new(0);
pub static LOST: PlainUsize = PlainUsize::new(0);

fn count(what: &PlainUsize) {
    what.fetch_add(1, SeqCst);
}

/// See [`turnlock_core::trace::watch`]. No step of the model lies between the look that let a participant in and `Won`.
pub fn at(step: Step) {
    match step {
        Step::Won => assert_eq!(INSIDE.fetch_add(1, SeqCst), 0, "two inside"),
        Step::Leave => depart(),
        Step::PassedOver => count(&EVICTIONS),
        Step::Evicted => count(&LOST),
        _ => {}
    }
}

fn depart() {
    INSIDE.fetch_sub(1, SeqCst);
}

impl World {
    pub fn new(rule: Rule, machines: usize, somebody_dies: bool, evicts: bool) -> Arc<Self> {
        INSIDE.store(0, SeqCst);
        let byte_locks = || (0..machines).map(|_| AtomicU32::new(LOCKED)).collect();
        Arc::new(Self {
            rule,
            cells: (0..machines).map(|_| Cell::new()).collect(),
            queue: Queue::new(machines),
            slots_in_use: AtomicU32::new(machines as u32),
            ring_bound: AtomicU32::new(0),
            token: AtomicU64::new(0),
            state: AtomicU32::new(Health::Consistent as u32),
            byte_locks: somebody_dies.then(byte_locks),
            evicts,
            data: UnsafeCell::new(0),
            notice: UnsafeCell::new(0),
            lifetimes: (0..machines).map(|_| Lifetime::endless()).collect(),
            record: Record::new(rule, machines),
            events: Mutex::new(Vec::new()),
        })
    }

    /// One life in slot `me`. The kernel gives up the byte lock of a dead participant, after the last of its stores.
    pub fn live(&self, me: usize, visit: Visit) {
        let life = catch_unwind(AssertUnwindSafe(|| self.come(me, visit)));
        life.unwrap_or_else(|end| {
            if !end.is::<Dead>() {
                resume_unwind(end)
            }
            self.byte_locks.as_ref().unwrap()[me].store(FREE, Release);
        });
    }

    /// Takes the participant's turns, and leaves.
    fn come(&self, me: usize, Visit { membership, turns, end, evicts }: Visit) {
        let local = AtomicU64::new(0);
        let site = Participant { lock: RingLock { world: self, user: me }, local: &local, evicts };
        let discipline = Discipline::Ring { rule: self.rule, membership };
        let config = LockConfig {
            patience: 0,
            may_be_biased: false,
            release_on_death: false,
            is_linked: false,
            discipline,
        };
        let attempt = Attempt { site, config, claim: () };
        for turn in 1..=turns {
            if let End::DiesWaitingAtStore(stores) = end
                && turn == turns
            {
                self.lifetimes[me].set(stores);
            }
            let acquired = attempt.lock(Limit::Forever).unwrap();
            self.section(me, acquired);
            if acquired.owner_dead {
                attempt.mark_consistent().unwrap();
            }
            if membership == Membership::OneTurn {
                self.note(Event::Left(me));
            }
            match end {
                End::DiesInside if turn == turns => {
                    depart();
                    resume_unwind(Box::new(Dead));
                }
                End::Abandons if turn == turns => {
                    depart();
                    attempt.abandon(Some(acquired.token)).unwrap();
                    continue;
                }
                End::DiesAtStore(stores) if turn == turns => self.lifetimes[me].set(stores),
                _ => {}
            }
            attempt.unlock(None).unwrap();
        }
        // What a death at a later store than there are comes to: it lives.
        self.lifetimes[me].set(u32::MAX);
        if membership == Membership::EveryTurn {
            self.note(Event::Left(me));
            attempt.depart().unwrap();
        }
    }

    fn note(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }

    fn section(&self, me: usize, Acquisition { token, owner_dead }: Acquisition) {
        self.write(token);
        if owner_dead {
            self.read_notice(token);
            self.note(Event::Told);
        }
        self.note(Event::Turn(me));
    }

    #[cfg(loom)]
    fn write(&self, token: u64) {
        // SAFETY: for the holder; loom says so if not.
        let last = self.data.with_mut(|data| unsafe { std::mem::replace(&mut *data, token) });
        assert!(token > last, "token {token} after {last}");
    }

    #[cfg(shuttle)]
    fn write(&self, token: u64) {
        // A section long enough for chance to bring another participant in, if that can be.
        for _ in 0..10 {
            thread::yield_now();
        }
        // SAFETY: for the holder; `INSIDE` says so if not.
        let last = unsafe { std::mem::replace(&mut *self.data.get(), token) };
        assert!(token > last, "token {token} after {last}");
    }

    fn read_notice(&self, token: u64) {
        #[cfg(loom)]
        // SAFETY: for the holder; loom says so if not.
        let told = self.notice.with(|notice| unsafe { *notice });
        #[cfg(shuttle)]
        // SAFETY: for the holder; `INSIDE` says so if not.
        let told = unsafe { *self.notice.get() };
        assert_eq!(told, token - 1, "the owner-dead notice, and the last holder");
    }

    /// Checks the turns and the notices when every participant has left.
    pub fn check(&self, visits: &[Visit]) {
        let events = self.events.lock().unwrap();
        let turns = events.iter().filter(|event| matches!(event, Event::Turn(_))).count();
        let wanted = visits.iter().map(|visit| visit.turns).sum::<usize>();
        let may_miss_one = visits.iter().any(|visit| matches!(visit.end, End::DiesWaitingAtStore(_)));
        assert!(turns == wanted || may_miss_one && turns + 1 == wanted, "{turns} turns of {wanted}");
        if visits.iter().all(|visit| visit.end == End::Unlocks) {
            check_rounds(&events);
        }
        // If the last holder of all dies inside, no holder is left that could be told.
        let died_inside = visits.iter().any(|visit| matches!(visit.end, End::DiesInside | End::Abandons));
        let last = events.iter().rposition(|event| *event == Event::Turn(0)).map_or(0, |last| last + 1);
        let came_after = events[last..].iter().any(|event| matches!(event, Event::Turn(_)));
        let told = events.iter().filter(|event| **event == Event::Told).count();
        assert_eq!(told, usize::from(died_inside && came_after), "deaths inside, and owner-dead notices");
    }
}

/// The lock, as participant `user` uses it.
#[derive(Clone, Copy)]
pub struct RingLock<'a> {
    world: &'a World,
    user: usize,
}

/// The bias word of a lock that is never biased.
pub struct Unbiased;

impl BiasWord for Unbiased {
    fn load(&self, _: Ordering) -> u64 {
        0
    }
    fn store(&self, _: u64, _: Ordering) {
        panic!("a ring is never biased");
    }
    fn compare_exchange(&self, _: u64, _: u64) -> bool {
        panic!("a ring is never biased");
    }
}

impl<'a> Lock for RingLock<'a> {
    type Queue = Registers<'a>;
    type Claims = Always;
    type BiasWord = Unbiased;
    type Machines = Watched<'a>;

    fn slots(&self) -> usize {
        self.world.cells.len()
    }
    fn queue(&self) -> Bakery<Registers<'a>> {
        Bakery { registers: self.world.queue.registers(), claims: Always }
    }
    fn bias(&self) -> Bias<'_, Unbiased> {
        Bias(&Unbiased)
    }
    fn shared_bias(&self) -> SharedBias<'_, Unbiased> {
        SharedBias(&Unbiased, const { &ReadersMark::new(0) })
    }
    fn ownership(&self) -> Ownership<'_> {
        Ownership { token: &self.world.token, state: &self.world.state }
    }
    fn held(&self, slot: usize) -> &AtomicU64 {
        &self.world.cells[slot].held
    }
    fn eviction(&self, slot: usize) -> Eviction<'_> {
        let cell = &self.world.cells[slot];
        Eviction { doorway: &cell.doorway, evicted: &cell.evicted }
    }
    fn machines(&self) -> Watched<'a> {
        let World { cells, slots_in_use, ring_bound, record, lifetimes, .. } = self.world;
        let (user, inner) = (self.user, InWords { cells, slots_in_use, ring_bound });
        Watched { inner, record, lifetime: &lifetimes[user], user, evicts: self.world.evicts }
    }

    fn record_death(&self, _: usize, token: u64) -> bool {
        #[cfg(loom)]
        // SAFETY: in the place of the dead holder; loom says so if not.
        self.world.notice.with_mut(|notice| unsafe { *notice = token });
        #[cfg(shuttle)]
        // SAFETY: in the place of the dead holder; `INSIDE` says so if not.
        unsafe {
            *self.world.notice.get() = token;
        }
        true
    }
    fn record_overwritten_ring(&self) {
        panic!("several have the privilege, as a waiter sees it");
    }

    /// No waiter is parked: waiters look again and again. The full fence of the real function is left, and nothing else
    /// orders anything here.
    fn unpark_waiters_of(&self, _: usize) -> Unparked {
        full_fence();
        Unparked::NoWaiter
    }
}

/// One participant at the lock, in one life.
#[derive(Clone, Copy)]
pub struct Participant<'a> {
    lock: RingLock<'a>,
    local: &'a AtomicU64,
    evicts: bool,
}

impl<'a> Host for Participant<'a> {
    fn is_stopped(&self, _: usize) -> bool {
        false
    }
    fn pause(&self) {
        thread::yield_now();
    }
}

impl<'a> Site for Participant<'a> {
    type Lock = RingLock<'a>;
    type Waiter = Wait<'a>;

    fn lock(&self) -> &RingLock<'a> {
        &self.lock
    }
    fn me(&self) -> usize {
        self.lock.user
    }
    /// Full fences on both sides, where a participant may be passed over: loom knows no membarrier.
    fn light(&self) -> impl LightBarrier {
        FullFences { needed: self.lock.world.evicts }
    }
    fn local(&self) -> LocalState<'_> {
        LocalState(self.local)
    }
    fn heavy_barrier(&self) -> Result<()> {
        Ok(())
    }
    fn wants_bias(&self, _: bool) -> bool {
        false
    }
    fn waiter(&self, limit: Limit, _: u64, _: bool) -> Wait<'a> {
        Wait { lock: self.lock, limit, has_checked: false, evicts: self.evicts }
    }
    fn reap(&self, slot: usize) -> Result<bool> {
        Ok(self.lock.reap(slot))
    }
}

impl RingLock<'_> {
    /// The participant that gets a dead slot's byte lock acts for it.
    fn reap(&self, slot: usize) -> bool {
        let Some(byte_locks) = &self.world.byte_locks else { return false };
        // A read-modify-write, since the kernel's answer is never out of date.
        if byte_locks[slot].compare_exchange(FREE, LOCKED, AcqRel, Relaxed).is_err() {
            return false;
        }
        liveness::clear(self, slot);
        byte_locks[slot].store(FREE, Release);
        true
    }
}

/// One wait. No waiter is in a hurry: a limit never passes.
pub struct Wait<'a> {
    lock: RingLock<'a>,
    limit: Limit,
    /// Whether the blocker was checked, and the next look in vain is to let another participant go on.
    has_checked: bool,
    /// Whether it still passes over others.
    evicts: bool,
}

impl Waiter for Wait<'_> {
    fn limit(&self) -> Limit {
        self.limit
    }
    fn lets_pass(&mut self) -> bool {
        false
    }
    fn queue_for_good(&mut self) {}
    fn wait(&mut self, _: &Blocker, must_wait: impl Fn() -> bool) -> Outcome {
        if !must_wait() {
            return Outcome::LookAgain;
        }
        if CHECKS_FIRST.load(SeqCst) && !self.has_checked {
            self.has_checked = true;
            return Outcome::CheckAlive;
        }
        self.has_checked = false;
        // Nothing changes here until another participant goes on.
        thread::yield_now();
        if CHECKS_FIRST.load(SeqCst) { Outcome::LookAgain } else { Outcome::CheckAlive }
    }
    fn back_off(&mut self, _: impl Fn() -> bool) -> Outcome {
        panic!("on a ring no waiter backs off")
    }
    fn is_overdue(&mut self, first: Option<(usize, u64)>, _: usize) -> Overdue {
        if first.is_none() || !self.evicts || !at_this_moment() {
            return Overdue::No;
        }
        self.evicts = cfg!(shuttle);
        Overdue::Yes
    }
    fn check_alive(&mut self, slot: usize) -> Result<bool> {
        Ok(self.lock.reap(slot))
    }
}

/// Loom goes through every moment by itself.
#[cfg(loom)]
fn at_this_moment() -> bool {
    true
}

#[cfg(shuttle)]
fn at_this_moment() -> bool {
    use shuttle::rand::{Rng, thread_rng};
    thread_rng().gen_ratio(1, 2)
}
