//! The site of an acquisition under loom: the registers are the scene's, no participant parks, and a waiter looks again
//! when another participant has gone on.

use crate::numbers::Numbers;
use crate::plan::Visit;
use crate::scene::{FREE, LOCKED, Scene};
use turnlock_core::acquire::{
    liveness,
    local::LocalState,
    site::{Host, Limit, Lock, Outcome, Overdue, Site, Waiter},
};
use turnlock_core::algorithm::{
    Blocker, Place, Protocol,
    bakery::Bakery,
    bias::{Bias, BiasWord, Mark},
    claim::Always,
    eviction::Eviction,
    light_barrier::LightBarrier,
    link::Link,
    ownership::Ownership,
    ring::NoRing,
    shared_bias::{ReadersMark, SharedBias},
};
use turnlock_core::error::Result;
use turnlock_core::sync::{
    AtomicU64, Ordering,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
};

/// The lock, as slot `me` looks at it.
#[derive(Clone, Copy)]
pub struct At<'a> {
    pub scene: &'a Scene,
    pub me: usize,
    bias: WatchedBias<'a>,
}

impl<'a> At<'a> {
    pub fn new(scene: &'a Scene, me: usize) -> Self {
        At { scene, me, bias: WatchedBias { scene, me } }
    }

    /// Begins with the lock biased to this slot. Every participant's last acquisition was a biased one.
    pub fn begin_biased(&self) {
        self.bias().begin(Mark::new(self.me));
        for word in &self.scene.local {
            LocalState(word).record_biased();
        }
    }

    /// Acts for slot `slot` if it is dead: the participant that gets a dead slot's byte lock does. Returns whether that was done.
    pub fn reap(&self, slot: usize) -> bool {
        let Scene { byte_locks, .. } = self.scene;
        // A read-modify-write, since the kernel's answer is never out of date.
        if byte_locks[slot].compare_exchange(FREE, LOCKED, AcqRel, Relaxed).is_err() {
            return false;
        }
        self.scene.now(self.me).reaps = Some(slot);
        liveness::clear(self, slot);
        self.scene.now(self.me).reaps = None;
        byte_locks[slot].store(FREE, Release);
        true
    }

    /// Takes the slot of a dead participant, as a newcomer, once no other participant acts for the dead one.
    pub fn attach(&self) {
        let byte_lock = &self.scene.byte_locks[self.me];
        while byte_lock.compare_exchange(FREE, LOCKED, AcqRel, Relaxed).is_err() {
            self.scene.look_again_later();
        }
        liveness::clear(self, self.me);
    }

    /// Checks that nothing is left of any participant when all have gone.
    pub fn check_cleared(&self) {
        for slot in 0..self.slots() {
            self.reap(slot);
            assert_eq!(self.queue().place(slot), Place::Idle, "slot {slot} left something in the queue");
            assert_eq!(self.held(slot).load(Acquire), 0, "slot {slot} is still written down as a holder");
        }
    }
}

/// The bias word.
///
/// Loom looks only at a word's last access to see what races with a store, and a queue head loads the bias word right before
/// it stores: that hides the bias owner's loads, and the other order would not be searched. Two stores of one word do race,
/// so there is one of `meeting` before each store, and before each load by a participant that is not in the queue. No
/// participant loads that word, so it orders nothing.
#[derive(Clone, Copy)]
pub struct WatchedBias<'a> {
    scene: &'a Scene,
    me: usize,
}

impl BiasWord for WatchedBias<'_> {
    fn load(&self, order: Ordering) -> u64 {
        let meets = {
            let mut now = self.scene.now(self.me);
            !now.queued && std::mem::take(&mut now.meets)
        };
        if meets {
            self.scene.meeting.store(0, Relaxed);
        }
        self.scene.bias.load(order)
    }

    fn store(&self, value: u64, order: Ordering) {
        self.scene.meeting.store(0, Relaxed);
        // A revocation says when it can be seen.
        self.scene.oracle.revoked.store(0, SeqCst);
        self.scene.bias.store(value, order);
    }

    fn compare_exchange(&self, old: u64, new: u64) -> bool {
        self.scene.meeting.store(0, Relaxed);
        self.scene.bias.compare_exchange(old, new, Release, Relaxed).is_ok()
    }
}

impl<'a> Lock for At<'a> {
    type Queue = Numbers<'a>;
    type Claims = Always;
    type BiasWord = WatchedBias<'a>;
    type Machines = NoRing;

    fn slots(&self) -> usize {
        self.scene.held.len()
    }

    fn queue(&self) -> Bakery<Numbers<'a>> {
        Bakery { registers: Numbers::new(self.scene, self.me), claims: Always }
    }

    fn bias(&self) -> Bias<'_, WatchedBias<'a>> {
        Bias(&self.bias)
    }

    fn shared_bias(&self) -> SharedBias<'_, WatchedBias<'a>> {
        SharedBias(&self.bias, const { &ReadersMark::new(1) })
    }

    fn ownership(&self) -> Ownership<'_> {
        Ownership { token: &self.scene.token, state: &self.scene.state }
    }

    fn held(&self, slot: usize) -> &AtomicU64 {
        &self.scene.held[slot]
    }

    fn eviction(&self, slot: usize) -> Eviction<'_> {
        if slot != self.me {
            self.scene.looks_at_place_of(self.me, slot);
        }
        Eviction { doorway: &self.scene.doorways[slot], evicted: &self.scene.evicted[slot] }
    }

    fn link(&self) -> Option<Link<'_>> {
        self.scene.plan.linked.then(|| self.scene.link())
    }

    fn machines(&self) -> NoRing {
        NoRing
    }

    // The times are no registers of the model: they decide who takes the bias, or leaves it where it is, and that is the
    // plan's choice.
    fn since(&self, slot: usize) -> u64 {
        self.scene.since(slot)
    }

    fn set_since(&self, slot: usize, time: u64) {
        self.scene.set_since(slot, time);
    }

    fn record_death(&self, _: usize, token: u64) -> bool {
        self.scene.record_death(self.me, token);
        true
    }
}

/// A participant, in one of its visits.
#[derive(Clone, Copy)]
pub struct LoomSite<'a> {
    pub at: At<'a>,
    pub visit: Visit,
}

impl<'a> Host for LoomSite<'a> {}

impl<'a> Site for LoomSite<'a> {
    type Lock = At<'a>;
    type Waiter = LoomWaiter<'a>;

    fn lock(&self) -> &At<'a> {
        &self.at
    }

    fn me(&self) -> usize {
        self.at.me
    }
    fn light(&self) -> impl LightBarrier {
        self.at.scene.light()
    }

    fn local(&self) -> LocalState<'_> {
        LocalState(&self.at.scene.local[self.at.me])
    }

    fn heavy_barrier(&self) -> Result<()> {
        // The full fence before it was all.
        Ok(())
    }
    fn wants_bias(&self, _: bool) -> bool {
        self.visit.takes_bias
    }

    fn waiter(&self, limit: Limit, _: u64, _: bool) -> LoomWaiter<'a> {
        LoomWaiter { at: self.at, limit, lets_pass: self.visit.is_patient, evicts: self.visit.evicts }
    }

    fn reap(&self, slot: usize) -> Result<bool> {
        Ok(self.at.reap(slot))
    }
}

/// One wait.
pub struct LoomWaiter<'a> {
    at: At<'a>,
    limit: Limit,
    lets_pass: bool,
    /// How often it will yet pass over those before it.
    evicts: usize,
}

impl Waiter for LoomWaiter<'_> {
    fn limit(&self) -> Limit {
        self.limit
    }

    fn lets_pass(&mut self) -> bool {
        self.lets_pass
    }

    fn queue_for_good(&mut self) {
        self.lets_pass = false;
        self.at.scene.set_since(self.at.me, 1);
    }

    fn wait(&mut self, blocker: &Blocker, must_wait: impl Fn() -> bool) -> Outcome {
        // Of a bias owner the caller has just looked.
        let of_bias = blocker.seen == 0;
        if !of_bias && !must_wait() {
            return Outcome::LookAgain;
        }
        if self.lets_pass && !of_bias {
            return Outcome::BackOff;
        }
        self.queue_for_good();
        if self.limit == Limit::Forever { Outcome::CheckAlive } else { Outcome::TimedOut }
    }

    fn back_off(&mut self, _: impl Fn() -> bool) -> Outcome {
        self.lets_pass = false;
        Outcome::LookAgain
    }

    /// At once: that it is too soon is no harm.
    fn is_overdue(&mut self, first: Option<(usize, u64)>, _: usize) -> Overdue {
        if self.evicts == 0 {
            return Overdue::No;
        }
        if first.is_none() {
            self.at.scene.look_again_later();
            return Overdue::No;
        }
        self.evicts -= 1;
        self.at.scene.now(self.at.me).evicts = true;
        Overdue::Yes
    }

    fn check_alive(&mut self, slot: usize) -> Result<bool> {
        let reaped = self.at.reap(slot);
        let evicts = self.evicts > 0 || self.at.scene.now(self.at.me).evicts;
        if !reaped && self.limit == Limit::Forever && !evicts {
            self.at.scene.look_again_later();
        }
        Ok(reaped)
    }
}
