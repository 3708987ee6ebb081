//! One lock's registers, what it protects, and what is known of both from outside. The acquisition that ships runs over
//! them ([`crate::site`]), and says by [`turnlock_core::trace`] where it is: there the oracle looks, and participants die.

use crate::oracle::{Oracle, Property, Tally, count};
use crate::plan::{Death, Form, Plan, Visit, touches};
use loom::{cell::UnsafeCell, thread};
use std::sync::{Arc, Mutex, MutexGuard};
use turnlock_core::acquire::{local::LocalState, site::Limit};
use turnlock_core::algorithm::{light_barrier::FullFences, link::Link, ownership::Health};
use turnlock_core::sync::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Relaxed, Release, SeqCst},
};
use turnlock_core::trace::Step;

// What a slot's byte lock, which the kernel holds for the living, can be.
pub const FREE: u32 = 0;
pub const LOCKED: u32 = 1;

/// As many tokens as a linked lock comes home with.
pub const BLOCK: u64 = 1 << 36;

/// One lock.
pub struct Scene {
    pub plan: Arc<Plan>,
    pub tally: Arc<Tally>,
    pub oracle: Oracle,
    pub numbers: Vec<AtomicU64>,
    /// Where these are words of their own.
    pub choosing: Vec<AtomicU64>,
    pub bound: AtomicU32,
    pub held: Vec<AtomicU64>,
    /// See [`touches`].
    touched: AtomicU64,
    pub doorways: Vec<AtomicU64>,
    pub evicted: Vec<AtomicU64>,
    pub token: AtomicU64,
    pub state: AtomicU32,
    pub bias: AtomicU64,
    // Of a linked lock.
    token_end: AtomicU64,
    agent: AtomicU64,
    wanted: AtomicU32,
    lease_end: AtomicU64,
    total: AtomicU32,
    /// See [`crate::site::WatchedBias`].
    pub meeting: AtomicU64,
    pub local: Vec<AtomicU64>,
    pub byte_locks: Vec<AtomicU32>,
    /// The protected data: two words that must agree.
    pub data: [UnsafeCell<u64>; 2],
    /// The dead holder's token, as the owner-dead notice has it.
    pub notice: UnsafeCell<u64>,
    now: Vec<Mutex<Now>>,
}

/// What a participant is about. Its own, and no step of the model.
#[derive(Default)]
pub struct Now {
    pub visit: Option<Visit>,
    /// Who stood in the queue when its doorway began.
    pub before_me: [usize; 3],
    /// Which revocation it must have seen when it said that it tries.
    pub revoked: usize,
    /// Whether it said that it tries, as the bias owner does.
    pub tried: bool,
    pub won: bool,
    pub inside: bool,
    /// Whether it is in the queue, or at its head.
    pub queued: bool,
    /// Whether the quick look comes next, and is left out.
    pub skips_quick_look: bool,
    /// Whether it looks at the bias word for the first time, or for the first time since it said that it tries.
    pub meets: bool,
    /// Whose byte lock it has besides its own.
    pub reaps: Option<usize>,
    pub since: u64,
    /// Whether it tells those before it that they lost their places.
    pub evicts: bool,
    /// Whose places these were.
    pub told: [usize; 3],
}

// SAFETY: whether the cells are used by one thread at a time is what the models ask; loom fails where they are not.
unsafe impl Sync for Scene {}
// SAFETY: as above.
unsafe impl Send for Scene {}

impl Scene {
    pub fn new(plan: &Arc<Plan>, tally: &Arc<Tally>) -> Arc<Self> {
        let slots = plan.visits.len();
        let registers = || (0..slots).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        Arc::new(Scene {
            plan: Arc::clone(plan),
            tally: Arc::clone(tally),
            oracle: Oracle::default(),
            numbers: registers(),
            choosing: if plan.form == Form::OneWord { Vec::new() } else { registers() },
            bound: AtomicU32::new(if plan.raise_bound { 1 } else { slots as u32 }),
            touched: AtomicU64::new(0),
            held: registers(),
            doorways: registers(),
            evicted: registers(),
            token: AtomicU64::new(0),
            state: AtomicU32::new(Health::Consistent as u32),
            bias: AtomicU64::new(0),
            token_end: AtomicU64::new(BLOCK),
            agent: AtomicU64::new(0),
            wanted: AtomicU32::new(0),
            lease_end: AtomicU64::new(0),
            total: AtomicU32::new(0),
            meeting: AtomicU64::new(0),
            local: registers(),
            byte_locks: (0..slots).map(|_| AtomicU32::new(LOCKED)).collect(),
            data: [UnsafeCell::new(0), UnsafeCell::new(0)],
            notice: UnsafeCell::new(0),
            now: (0..slots).map(|_| Mutex::default()).collect(),
        })
    }

    pub fn link(&self) -> Link<'_> {
        let Scene { state, token, token_end, agent, wanted, lease_end, total, .. } = self;
        Link { state, token, token_end, agent, wanted, lease_end, total }
    }

    /// A participant's side of the barriers, where the plan needs them.
    pub fn light(&self) -> FullFences {
        FullFences { needed: self.plan.needs_barriers() }
    }

    pub fn now(&self, me: usize) -> MutexGuard<'_, Now> {
        self.now[me].lock().unwrap()
    }

    pub fn checks(&self, property: Property) -> bool {
        self.plan.only.is_none_or(|only| only == property)
    }

    /// Slot `me` is at this step. Returns whether it dies there.
    pub fn at(&self, me: usize, step: Step) -> bool {
        if touches() && matches!(step, Step::Doorway | Step::Wait | Step::Try | Step::Revoke) {
            self.touched.fetch_add(1, Relaxed);
        }
        let mut now = self.now(me);
        let Some(visit) = now.visit else { return false };
        match step {
            Step::Doorway => {
                now.before_me = self.oracle.waiting();
                now.queued = true;
                if std::mem::take(&mut now.tried) {
                    count(&self.tally.refusals);
                }
            }
            Step::Wait => {
                let place = self.oracle.places.fetch_add(1, SeqCst) + 1;
                self.oracle.waiting[me].store(place, SeqCst);
                now.skips_quick_look = me != 0 && !self.plan.unpruned;
            }
            // No access of the model lies between the look that let it in and here.
            Step::Won => {
                now.won = true;
                now.inside = true;
                self.arrive(me);
                self.check_order(me, now.before_me, now.told);
                if visit.limit != Limit::Forever {
                    count(&self.tally.hurried_entries);
                }
            }
            Step::Settle => now.skips_quick_look = false,
            Step::Try => {
                now.revoked = self.oracle.revoked.load(SeqCst);
                (now.tried, now.meets) = (true, true);
            }
            Step::Section => {
                now.queued = false;
                if !now.won {
                    now.inside = true;
                    let ignored = now.revoked != 0 && self.oracle.revoked.load(SeqCst) == now.revoked;
                    assert!(
                        !ignored || !self.checks(Property::Order),
                        "Order: the bias of {me} was revoked, and it entered all the same"
                    );
                    self.arrive(me);
                    count(&self.tally.biased_entries);
                }
            }
            Step::Leave => {
                now.inside = false;
                self.depart();
            }
            Step::RevokeWait => {
                let revocation = self.oracle.revocations.fetch_add(1, SeqCst) + 1;
                self.oracle.revoked.store(revocation, SeqCst);
                count(&self.tally.revocations);
            }
            // For another host, from the store that says so.
            Step::LinkAway => {
                (now.inside, now.queued) = (true, false);
                self.arrive(me);
                self.check_order(me, now.before_me, now.told);
                count(&self.tally.moves);
            }
            Step::LinkWait => count(&self.tally.refused_away),
            Step::Withdraw => {
                self.oracle.waiting[me].store(0, SeqCst);
                count(&self.tally.withdrawals);
            }
            Step::BackOff => count(&self.tally.back_offs),
            Step::Evicted => count(&self.tally.lost),
            Step::PassedOver => {
                now.evicts = false;
                count(&self.tally.evictions);
            }
            _ => {}
        }
        visit.death == Some(Death::At(step))
    }

    /// Slot `me` is inside from here on.
    pub fn arrive(&self, me: usize) {
        let others_inside = self.oracle.inside.fetch_add(1, SeqCst);
        assert!(others_inside == 0 || !self.checks(Property::Exclusion), "Exclusion: two are inside");
        self.oracle.waiting[me].store(0, SeqCst);
    }

    /// Slot `me` looks at the words by which `slot` can be passed over.
    pub fn looks_at_place_of(&self, me: usize, slot: usize) {
        let mut now = self.now(me);
        if now.evicts {
            now.told[slot] = self.oracle.waiting[slot].load(SeqCst);
        }
    }

    /// Checks that the waiters that stood in the queue when `me` began its doorway no longer stand there, unless `me` has told
    /// them that they lost their places.
    fn check_order(&self, me: usize, before_me: [usize; 3], told: [usize; 3]) {
        for (slot, place) in before_me.into_iter().enumerate() {
            let stands_there = place != 0 && slot != me && self.oracle.waiting[slot].load(SeqCst) == place;
            let overtaken = stands_there && told[slot] != place;
            assert!(!overtaken || !self.checks(Property::Order), "Order: slot {slot} was overtaken by {me}");
        }
    }

    /// A participant is no longer inside.
    pub fn depart(&self) {
        self.oracle.inside.fetch_sub(1, SeqCst);
        count(&self.oracle.entries);
    }

    /// Writes the owner-dead notice, as slot `me`.
    pub fn record_death(&self, me: usize, token: u64) {
        if self.checks(Property::OwnerDead) {
            // SAFETY: while `me` has the byte lock of a dead holder, no other participant is inside; loom fails where that is
            // wrong.
            self.notice.with_mut(|notice| unsafe { *notice = token });
        }
        self.oracle.reaper.store(me + 1, SeqCst);
    }

    /// A look in vain.
    pub fn look_again_later(&self) {
        count(&self.tally.waits);
        // A look in vain changes nothing, so it may as well have come later; and that execution is explored too.
        // Hence what follows this one need not be.
        if !self.plan.unpruned {
            loom::skip_branch();
        }
        // Nothing changes here until another participant goes on.
        thread::yield_now();
    }

    /// The participant in slot `me` has died: its byte locks become free. The release stores stand for the kernel, which
    /// gives the byte locks up after the last of the dead one's stores.
    pub fn end(&self, me: usize) {
        // The word dies with its process: this is what the next participant in the slot has.
        let local = LocalState(&self.local[me]);
        if self.plan.may_be_biased && !self.plan.newcomer_is_fresh {
            local.record_biased();
        } else {
            local.record(None);
        }
        let reaped = self.now(me).reaps.take();
        for slot in reaped.into_iter().chain([me]) {
            self.byte_locks[slot].store(FREE, Release);
        }
    }

    /// Raises the bound on the slots in use.
    pub fn raise_bound(&self, slot: usize) {
        self.bound.fetch_max(slot as u32 + 1, AcqRel);
    }

    /// Notes since when `slot` has held the lock, or has been queued for good.
    pub fn set_since(&self, slot: usize, time: u64) {
        self.now(slot).since = time;
    }

    /// Returns since when, as far as that is seen.
    pub fn since(&self, slot: usize) -> u64 {
        if self.plan.sees_queued_for_good { self.now(slot).since } else { 0 }
    }
}
