//! One lock's registers, what it protects, and what is known of both from outside. The acquisition that ships runs over
//! them ([`crate::site`]), and says by [`turnlock_core::trace`] where it is: there the oracle looks, and participants die.

use crate::oracle::{Oracle, Property, Slot, Tally, conflict, count};
use crate::plan::Plan;
#[cfg(loom)]
use loom::cell::UnsafeCell;
#[cfg(shuttle)]
use std::cell::UnsafeCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use turnlock_core::acquire::local::LocalState;
use turnlock_core::algorithm::{
    claim::{Claim, ClaimCell, ClaimWords, Relation},
    light_barrier::FullFences,
    link::Link,
    ownership::Health,
    shared_bias::ReadersMark,
};
use turnlock_core::sync::{AtomicU32, AtomicU64, Ordering::Release};
use turnlock_core::trace::Step;

// What a slot's byte lock, which the kernel holds for the living, can be.
pub const FREE: u32 = 0;
pub const LOCKED: u32 = 1;

/// How the bias word reads while the lock is biased to its readers.
pub const READERS: ReadersMark = ReadersMark::new(1);

/// The fencing token before the first.
pub const FIRST_TOKEN: u64 = 1;

/// A word of plain memory.
pub struct Plain(UnsafeCell<u64>);

// SAFETY: whether the cells are used by one thread at a time is what the models ask; they fail where they are not.
unsafe impl Sync for Plain {}
// SAFETY: as above.
unsafe impl Send for Plain {}

impl Plain {
    pub fn new() -> Self {
        Plain(UnsafeCell::new(0))
    }

    pub fn get(&self) -> u64 {
        #[cfg(loom)]
        // SAFETY: no thread writes it meanwhile; loom says so if not.
        return self.0.with(|word| unsafe { *word });
        #[cfg(shuttle)]
        // SAFETY: no thread writes it meanwhile: one thread runs at a time.
        return unsafe { *self.0.get() };
    }

    pub fn set(&self, value: u64) {
        #[cfg(loom)]
        // SAFETY: no other thread looks at it meanwhile; loom says so if not.
        self.0.with_mut(|word| unsafe { *word = value });
        #[cfg(shuttle)]
        // SAFETY: no other thread looks at it meanwhile: one thread runs at a time.
        unsafe {
            *self.0.get() = value;
        }
    }
}

/// One slot's claim.
pub struct Cell([AtomicU64; 3]);

impl ClaimCell for Cell {
    fn claim(&self) -> ClaimWords<'_> {
        let [mode_word, first, last] = &self.0;
        ClaimWords { mode_word, first, last }
    }
}

/// One lock.
pub struct World {
    pub plan: Arc<Plan>,
    pub tally: Arc<Tally>,
    pub numbers: Vec<AtomicU64>,
    pub bound: AtomicU32,
    pub cells: Vec<Cell>,
    pub permits: AtomicU32,
    pub held: Vec<AtomicU64>,
    pub doorways: Vec<AtomicU64>,
    pub evicted: Vec<AtomicU64>,
    pub token: AtomicU64,
    pub state: AtomicU32,
    // Of a linked lock.
    pub token_end: AtomicU64,
    pub agent: AtomicU64,
    pub wanted: AtomicU32,
    pub lease_end: AtomicU64,
    pub total: AtomicU32,
    pub members_died: AtomicU64,
    /// The token of the last dead member of a group. Several reapers may write it.
    pub members_notice: AtomicU64,
    pub deaths_repaired: AtomicU64,
    pub bias: AtomicU64,
    /// See [`crate::site::WatchedBias`].
    pub meeting: AtomicU64,
    pub local: Vec<AtomicU64>,
    /// Looked at only where a participant dies.
    pub byte_locks: Vec<AtomicU32>,
    /// The protected data: words that must agree, or one for each part.
    pub data: Vec<Plain>,
    /// The dead writer's token, as the owner-dead notice has it.
    pub notice: Plain,
    oracle: Mutex<Oracle>,
}

impl World {
    pub fn new(plan: &Arc<Plan>, tally: &Arc<Tally>) -> Arc<Self> {
        let slots = plan.visits.len();
        let registers = || (0..slots).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        let slot = Slot { before: vec![None; slots], told: vec![None; slots], ..Slot::default() };
        let oracle = Oracle { slots: vec![slot; slots], last_token: FIRST_TOKEN, ..Oracle::default() };
        Arc::new(World {
            plan: Arc::clone(plan),
            tally: Arc::clone(tally),
            numbers: registers(),
            bound: AtomicU32::new(slots as u32),
            cells: (0..slots).map(|_| Cell([const { 0 }; 3].map(AtomicU64::new))).collect(),
            permits: AtomicU32::new(plan.permits),
            held: registers(),
            doorways: registers(),
            evicted: registers(),
            token: AtomicU64::new(FIRST_TOKEN),
            state: AtomicU32::new(Health::Consistent as u32),
            token_end: AtomicU64::new(FIRST_TOKEN + plan.block.unwrap_or_default()),
            agent: AtomicU64::new(0),
            wanted: AtomicU32::new(0),
            lease_end: AtomicU64::new(0),
            total: AtomicU32::new(plan.total()),
            members_died: AtomicU64::new(0),
            members_notice: AtomicU64::new(0),
            deaths_repaired: AtomicU64::new(0),
            bias: AtomicU64::new(0),
            meeting: AtomicU64::new(0),
            local: registers(),
            byte_locks: (0..slots).map(|_| AtomicU32::new(LOCKED)).collect(),
            data: (0..4).map(|_| Plain::new()).collect(),
            notice: Plain::new(),
            oracle: Mutex::new(oracle),
        })
    }

    /// Full fences on both sides, where a participant needs the heavy barrier: neither checker has a membarrier.
    pub fn light(&self) -> FullFences {
        FullFences { needed: self.plan.needs_barriers() }
    }

    pub fn link(&self) -> Link<'_> {
        let Self { state, token, token_end, agent, wanted, lease_end, total, .. } = self;
        Link { state, token, token_end, agent, wanted, lease_end, total }
    }

    pub fn oracle(&self) -> MutexGuard<'_, Oracle> {
        self.oracle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn checks(&self, property: Property) -> bool {
        self.plan.only.is_none_or(|only| only == property)
    }

    pub fn somebody_dies(&self) -> bool {
        self.plan.any(|visit| visit.death.is_some())
    }

    /// Slot `me` is at this step. Returns whether it dies there.
    pub fn at(&self, me: usize, step: Step) -> bool {
        let claim = {
            let mut oracle = self.oracle();
            let waiting = oracle.waiting();
            let Oracle { slots, places, .. } = &mut *oracle;
            let slot = &mut slots[me];
            let Some(claim) = slot.claim else { return false };
            match step {
                // Of one that did not come in by the queue, nothing was seen of it before.
                Step::Held => {
                    slot.is_recorded = true;
                    slot.inside = Some(claim);
                }
                Step::Leave => {
                    slot.is_recorded = false;
                    slot.entered &= slot.by_number;
                }
                Step::Wake => slot.entered = false,
                _ => {}
            }
            slot.steps += 1;
            if slot.death == Some(slot.steps) {
                return true;
            }
            match step {
                Step::Doorway => slot.before = waiting,
                Step::Wait => {
                    *places += 1;
                    slot.waiting = Some(*places);
                }
                Step::Won => slot.by_number = true,
                Step::Section if slot.by_number => return false,
                Step::Exit => slot.inside = None,
                Step::Withdraw => slot.waiting = None,
                Step::PassedOver => slot.evicts = false,
                _ => {}
            }
            claim
        };
        match step {
            // No access of the model lies between the look that let it in and here.
            Step::Won | Step::LinkAway => {
                self.is_inside(me, claim);
                self.check_order(me, claim);
                self.oracle().slots[me].waiting = None;
            }
            Step::Section => {
                self.is_inside(me, claim);
                count(&self.tally.biased_entries);
                if self.checks(Property::Lease) {
                    assert!(!self.oracle().leased, "Lease: {me} came in by the fast path under a lease");
                }
            }
            Step::LinkLease => {
                let mut oracle = self.oracle();
                oracle.leased = true;
                oracle.slots[me].waiting = None;
            }
            Step::LinkWait => count(&self.tally.refused_away),
            Step::LinkLeave => count(&self.tally.left_to_readers),
            Step::RevokeWait => count(&self.tally.revocations),
            Step::Withdraw => count(&self.tally.withdrawals),
            Step::Evicted => count(&self.tally.lost),
            Step::PassedOver => count(&self.tally.evictions),
            _ => {}
        }
        false
    }

    /// Slot `me` is inside with this claim from here on.
    pub fn is_inside(&self, me: usize, claim: Claim) {
        let mut oracle = self.oracle();
        oracle.slots[me].inside = Some(claim);
        oracle.slots[me].entered = true;
        let rival = oracle.rival(self.plan.relation, self.plan.permits, me);
        let another = oracle.slots.iter().enumerate().any(|(slot, it)| slot != me && it.entered);
        drop(oracle);
        if self.checks(Property::Exclusion) {
            assert_eq!(rival, None, "Exclusion: {me} is inside beside another one, with {claim:?}");
        }
        if another {
            count(&self.tally.together);
        }
    }

    /// Slot `me` looks at the words by which `slot` can be passed over.
    pub fn looks_at_place_of(&self, me: usize, slot: usize) {
        let mut oracle = self.oracle();
        let place = oracle.slots[slot].waiting;
        if oracle.slots[me].evicts {
            oracle.slots[me].told[slot] = place;
        }
    }

    /// Checks that the waiters that stood in the queue when `me` began its doorway, and conflict with it, no longer stand
    /// there, unless `me` has told them that they lost their places.
    fn check_order(&self, me: usize, claim: Claim) {
        if !self.checks(Property::Order) {
            return;
        }
        let oracle = self.oracle();
        let (mine, relation) = (&oracle.slots[me], self.plan.relation);
        let overtaken = oracle.slots.iter().enumerate().filter_map(|(slot, theirs)| {
            let stood = mine.before[slot].is_some() && theirs.waiting == mine.before[slot];
            let lost = mine.told[slot] == mine.before[slot];
            theirs.claim.filter(|theirs| slot != me && stood && !lost && conflict(relation, claim, *theirs))
        });
        let taken: u32 = overtaken.map(|theirs| theirs.weight).sum();
        let room = if relation == Relation::Permits { self.plan.permits - claim.weight } else { 0 };
        drop(oracle);
        assert!(taken <= room, "Order: one that stood before {me} was overtaken");
    }

    /// The data words that a claim is about.
    pub fn words_of(&self, claim: Claim) -> &[Plain] {
        if !self.checks(Property::Data) {
            return &[];
        }
        match self.plan.relation {
            Relation::Always | Relation::Modes => &self.data[..2],
            // Each member of a group has a word of its own ([`crate::groups`]).
            Relation::Permits | Relation::Keys | Relation::Groups => &[],
            // All of it, for who looks whether the lock still works.
            Relation::Ranges => {
                let last = claim.extent.last.min(self.data.len() as u64 - 1) as usize;
                &self.data[claim.extent.first as usize..=last]
            }
        }
    }

    /// The participant in slot `me` has died: its byte locks become free. The release stores stand for the kernel, which
    /// gives the byte locks up after the last of the dead one's stores.
    pub fn end(&self, me: usize) {
        // The word dies with its process: this is what the next participant in the slot has.
        LocalState(&self.local[me]).record(None);
        let reaped = {
            let mut oracle = self.oracle();
            let slot = &mut oracle.slots[me];
            (slot.inside, slot.waiting, slot.claim) = (None, None, None);
            slot.reaps.take()
        };
        for slot in reaped.into_iter().chain([me]) {
            self.byte_locks[slot].store(FREE, Release);
        }
    }
}
