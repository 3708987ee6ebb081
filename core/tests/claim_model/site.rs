//! The site of an acquisition under a checker: the registers are the world's, no participant parks, and a waiter looks again
//! when another participant has gone on.

use crate::oracle::{Property, count};
use crate::plan::{Threads, Visit};
use crate::world::{Cell, FREE, LOCKED, READERS, World};
#[cfg(loom)]
use loom::thread;
#[cfg(shuttle)]
use shuttle::thread;
use turnlock_core::acquire::{
    liveness,
    local::LocalState,
    reservation,
    site::{Host, Limit, Lock, Outcome, Overdue, Site, Waiter},
};
use turnlock_core::algorithm::{
    Blocker, Place, Protocol,
    bakery::{Bakery, Line, Registers},
    bias::{Bias, BiasWord},
    claim::{Claim, Claims, HoldClass, InCells, Relation},
    eviction::Eviction,
    light_barrier::LightBarrier,
    link::Link,
    ownership::Ownership,
    ring::NoRing,
    shared_bias::SharedBias,
};
use turnlock_core::error::Result;
use turnlock_core::sync::{
    AtomicU64, Ordering,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// The lock, as slot `me` looks at it.
#[derive(Clone, Copy)]
pub struct At<'a> {
    pub world: &'a World,
    pub me: usize,
    bias: WatchedBias<'a>,
}

impl<'a> At<'a> {
    pub fn new(world: &'a World, me: usize) -> Self {
        At { world, me, bias: WatchedBias { world, me } }
    }

    /// Begins with the lock biased to its readers. Every participant's last acquisition was a reader's.
    pub fn begin_biased(&self, reader: Claim) {
        self.shared_bias().begin();
        for slot in 0..self.slots() {
            self.queue().claims.write(slot, reader);
            LocalState(&self.world.local[slot]).record_biased();
        }
    }

    /// Acts for slot `slot` if it is dead: the participant that gets a dead slot's byte lock does. Returns whether that was done.
    pub fn reap(&self, slot: usize) -> bool {
        let byte_lock = &self.world.byte_locks[slot];
        // A read-modify-write, since the kernel's answer is never out of date.
        if !self.world.somebody_dies() || byte_lock.compare_exchange(FREE, LOCKED, AcqRel, Relaxed).is_err() {
            return false;
        }
        self.world.oracle().slots[self.me].reaps = Some(slot);
        liveness::clear(self, slot);
        self.world.oracle().slots[self.me].reaps = None;
        byte_lock.store(FREE, Release);
        true
    }

    /// Takes the slot of a dead participant, as a newcomer, once no other participant acts for the dead one.
    pub fn attach(&self) {
        let byte_lock = &self.world.byte_locks[self.me];
        while byte_lock.compare_exchange(FREE, LOCKED, AcqRel, Relaxed).is_err() {
            self.world.look_again_later();
        }
        liveness::clear(self, self.me);
    }

    /// Checks that nothing is left of any participant when all have gone.
    pub fn check_cleared(&self) {
        for slot in 0..self.slots() {
            self.reap(slot);
            assert!(
                self.queue().place(slot) == Place::Idle || reservation::is_unused(self, slot),
                "slot {slot} left something in the queue"
            );
            assert_eq!(self.held(slot).load(Acquire), 0, "slot {slot} is still written down as a holder");
        }
    }
}

impl World {
    /// A look in vain.
    fn look_again_later(&self) {
        count(&self.tally.waits);
        // A look in vain changes nothing, so it may as well have come later; and that execution is explored too.
        // Hence what follows this one need not be.
        #[cfg(loom)]
        if !self.plan.unpruned {
            loom::skip_branch();
        }
        // Nothing changes here until another participant goes on.
        thread::yield_now();
    }
}

/// The bias word.
///
/// Loom looks only at a word's last access to see what races with a store, and a writer loads the bias word right before it
/// stores: that hides a reader's loads, and the other order would not be searched. Two stores of one word do race, so there
/// is one of `meeting` before each store, and before a visit's first load, or each if the plan says so. No participant loads
/// that word, so it orders nothing.
///
/// A store is a swap here. Loom does not know of a store and a compare-exchange by another one that the former comes later,
/// if no happens-before says so, and lets their values be read in either order, which C11 does not: an exchange reads what
/// stands right before it. What a swap orders more than a store is that who acquires it has the reader that biased before.
#[derive(Clone, Copy)]
pub struct WatchedBias<'a> {
    world: &'a World,
    me: usize,
}

impl WatchedBias<'_> {
    fn meet(&self) {
        if cfg!(loom) {
            self.world.meeting.store(0, Relaxed);
        }
    }
}

impl BiasWord for WatchedBias<'_> {
    fn load(&self, order: Ordering) -> u64 {
        if self.world.plan.meets_always || std::mem::take(&mut self.world.oracle().slots[self.me].meets) {
            self.meet();
        }
        self.world.bias.load(order)
    }

    fn store(&self, value: u64, order: Ordering) {
        self.meet();
        self.world.bias.swap(value, order);
    }

    fn compare_exchange(&self, old: u64, new: u64) -> bool {
        self.meet();
        self.world.bias.compare_exchange(old, new, AcqRel, Relaxed).is_ok()
    }
}

/// The bakery's registers, of which each store is a swap where others may end a reservation by a compare-exchange: as with
/// [`WatchedBias`], and for the same reason.
#[derive(Clone, Copy)]
pub struct Numbers<'a> {
    line: Line<'a>,
    swaps: bool,
}

impl Registers for Numbers<'_> {
    fn bound(&self) -> usize {
        self.line.bound()
    }
    fn all(&self, look: impl FnMut(usize) -> bool) -> bool {
        self.line.all(look)
    }
    fn set_choosing(&self, me: usize) {
        if self.swaps {
            self.line.words[me].swap(1, Relaxed);
        } else {
            self.line.set_choosing(me);
        }
    }
    fn set_number(&self, me: usize, number: u64) {
        if self.swaps {
            self.line.words[me].swap(number + 1, Release);
        } else {
            self.line.set_number(me, number);
        }
    }
    fn clear(&self, me: usize) {
        if self.swaps {
            self.line.words[me].swap(0, Release);
        } else {
            self.line.clear(me);
        }
    }
    fn end(&self, slot: usize, number: u64) {
        self.line.end(slot, number);
    }
    fn read(&self, slot: usize) -> Place {
        self.line.read(slot)
    }
    fn read_word(&self, slot: usize) -> u64 {
        self.line.read_word(slot)
    }
}

impl<'a> Lock for At<'a> {
    type Queue = Numbers<'a>;
    type Claims = InCells<'a, Cell>;
    type BiasWord = WatchedBias<'a>;
    type Machines = NoRing;

    fn slots(&self) -> usize {
        self.world.held.len()
    }
    fn queue(&self) -> Bakery<Numbers<'a>, InCells<'a, Cell>> {
        let World { numbers, bound, cells, permits, plan, .. } = self.world;
        let swaps = cfg!(loom) && plan.any(|visit| visit.retains);
        let queue = Numbers { line: Line { words: numbers, bound }, swaps };
        Bakery { registers: queue, claims: InCells { cells, relation: plan.relation, permits } }
    }
    fn bias(&self) -> Bias<'_, WatchedBias<'a>> {
        Bias(&self.bias)
    }
    fn shared_bias(&self) -> SharedBias<'_, WatchedBias<'a>> {
        SharedBias(&self.bias, &READERS)
    }
    fn ownership(&self) -> Ownership<'_> {
        Ownership { token: &self.world.token, state: &self.world.state }
    }
    fn held(&self, slot: usize) -> &AtomicU64 {
        &self.world.held[slot]
    }
    fn eviction(&self, slot: usize) -> Eviction<'_> {
        if slot != self.me {
            self.world.looks_at_place_of(self.me, slot);
        }
        Eviction { doorway: &self.world.doorways[slot], evicted: &self.world.evicted[slot] }
    }
    fn machines(&self) -> NoRing {
        NoRing
    }

    fn link(&self) -> Option<Link<'_>> {
        self.world.plan.block.map(|_| self.world.link())
    }

    fn record_death(&self, slot: usize, token: u64) -> bool {
        let claims = self.queue().claims;
        let claim = claims.read(slot);
        // Of parts the real one writes down which they are.
        if claims.hold_class(claim) == HoldClass::Member {
            return self.record_member(slot, token, claim);
        }
        let changed = claims.may_change(claim) && claims.hold_class(claim) != HoldClass::Granule;
        if changed && self.world.checks(Property::OwnerDead) {
            self.world.notice.set(token);
        }
        changed
    }
    fn is_told_of_death(&self, me: usize, _: Claim) -> bool {
        self.world.plan.relation == Relation::Groups && self.tell_members(me)
    }
    fn mark_deaths_consistent(&self, me: usize, claim: Claim, _: bool) -> bool {
        self.world.plan.relation == Relation::Groups && self.mark_members(me, claim)
    }
}

/// A participant, in one of its visits.
#[derive(Clone, Copy)]
pub struct Participant<'a> {
    pub at: At<'a>,
    pub visit: Visit,
}

impl<'a> Host for Participant<'a> {
    fn is_shared(&self) -> bool {
        self.visit.threads != Threads::One
    }
    fn wants_reservation(&self, _: bool) -> bool {
        self.visit.retains
    }
}

impl<'a> Site for Participant<'a> {
    type Lock = At<'a>;
    type Waiter = Wait<'a>;

    fn lock(&self) -> &At<'a> {
        &self.at
    }
    fn me(&self) -> usize {
        self.at.me
    }
    fn light(&self) -> impl LightBarrier {
        self.at.world.light()
    }
    fn local(&self) -> LocalState<'_> {
        LocalState(&self.at.world.local[self.at.me])
    }
    fn heavy_barrier(&self) -> Result<()> {
        // The full fence before it was all.
        Ok(())
    }
    fn wants_bias(&self, _: bool) -> bool {
        self.visit.biases
    }
    fn waiter(&self, limit: Limit, _: u64, _: bool) -> Wait<'a> {
        Wait { at: self.at, limit, blocker: self.at.me, evicts: self.visit.evicts, is_late: true }
    }
    fn reap(&self, slot: usize) -> Result<bool> {
        Ok(self.at.reap(slot))
    }
}

/// One wait.
pub struct Wait<'a> {
    at: At<'a>,
    limit: Limit,
    /// Whom it waits for.
    blocker: usize,
    /// How often it will yet pass over those before it.
    evicts: usize,
    /// Whether another participant may have gone on since the last look.
    is_late: bool,
}

impl Wait<'_> {
    fn look_again_later(&mut self) {
        self.is_late = true;
        self.at.world.look_again_later();
    }
}

impl Waiter for Wait<'_> {
    fn limit(&self) -> Limit {
        self.limit
    }
    fn lets_pass(&mut self) -> bool {
        false
    }
    fn queue_for_good(&mut self) {}
    fn wait(&mut self, blocker: &Blocker, must_wait: impl Fn() -> bool) -> Outcome {
        // Of who is inside by a bias the caller has just looked.
        if blocker.seen != 0 && !must_wait() {
            return Outcome::LookAgain;
        }
        self.blocker = blocker.slot;
        if !std::mem::take(&mut self.is_late) {
            thread::yield_now();
        }
        if self.limit == Limit::Forever { Outcome::CheckAlive } else { Outcome::TimedOut }
    }
    fn back_off(&mut self, _: impl Fn() -> bool) -> Outcome {
        unreachable!("no waiter lets others pass")
    }
    /// At once, or when chance has it: that it is too soon is no harm.
    fn is_overdue(&mut self, first: Option<(usize, u64)>, _: usize) -> Overdue {
        if self.evicts == 0 || first.is_none() || !at_this_moment() {
            self.look_again_later();
            return Overdue::No;
        }
        self.evicts -= 1;
        self.at.world.oracle().slots[self.at.me].evicts = true;
        Overdue::Yes
    }
    fn check_alive(&mut self, slot: usize) -> Result<bool> {
        let reaped = self.at.reap(slot);
        let evicts = self.evicts > 0 || self.at.world.oracle().slots[self.at.me].evicts;
        if !reaped && slot == self.blocker && self.limit == Limit::Forever && !evicts {
            self.look_again_later();
        }
        Ok(reaped)
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
