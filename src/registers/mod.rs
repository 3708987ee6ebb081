//! One lock's registers in the mapped file.

mod claims;
mod coordination;
mod granules;
mod link;
mod members;

pub use claims::{Claimed, Exclusively, FileClaims};
pub use coordination::{
    barrier, clear_coordination, condition, coordination_words, event, is_in_wait, leave_entry, reap_entry,
};
pub use link::{forget_agent, is_linked, link};

use crate::layout::{
    Cell, DeathPolicy, DirectoryEntry, LivenessLockKind, LockView, LockWords, MAX_PARTICIPANTS, SlotRecord,
    View,
};
use crate::os::{futex, linux::Linux};
use crate::recording;
use turnlock_core::acquire::site::{Lock, Unparked};
use turnlock_core::algorithm::{
    bakery::{Bakery, Line},
    bias::{Bias, BiasPolicy},
    claim::{Claims, HoldClass, Relation},
    eviction::{Eviction, EvictionWords, MOST_SLOTS},
    link::Link,
    ownership::Ownership,
    ring::{InWords, MachineCell, MachineWords},
    shared_bias::{ReadersMark, ReadersPolicy, SharedBias},
};
use turnlock_core::event::{Event, Happening};
use turnlock_core::sync::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    full_fence, one_of_64_equals,
};
use turnlock_core::wait::{Bell, CalledWord, ParkingSpot, Standby, name_of};

/// A lock of a mapped file.
#[derive(Clone, Copy)]
pub struct FileLock<'a, F = Exclusively> {
    /// The file.
    pub view: View<'a>,
    /// The lock's number in the file; 0 is the directory's own lock.
    pub region: usize,
    /// The lock's words, numbers and cells.
    pub lock: LockView<'a>,
    /// What its participants claim.
    pub claims: F,
}

impl<'a> FileLock<'a> {
    /// Returns the lock in `region` with exclusive claims, or where claims do not matter. Panics as [`View::lock`].
    #[inline]
    pub fn new(view: View<'a>, region: usize) -> Self {
        Self::claimed(view, region, Exclusively)
    }
}

impl<'a, F: FileClaims> FileLock<'a, F> {
    /// Returns the lock in `region` with these claims. Panics as [`View::lock`].
    #[inline]
    pub fn claimed(view: View<'a>, region: usize, claims: F) -> Self {
        Self { view, region, lock: view.lock(region), claims }
    }

    /// Returns the parking spot of `slot`.
    #[inline]
    pub fn spot(&self, slot: usize) -> ParkingSpot<'a> {
        let cell = &self.lock.cells()[slot];
        let name = name_of(self.region, slot);
        ParkingSpot { wake: &cell.wake, parked: &cell.parked, successor: &cell.successor, name }
    }

    /// Returns the standby queue.
    #[inline]
    pub fn standby(&self) -> Standby<'a, Cell> {
        let words = self.lock.words;
        Standby {
            event: &words.standby_event,
            parked: &words.standby_parked,
            designated: &words.designated_waker,
            has_passive: &words.has_passive,
            designated_looked_at: &words.designated_looked_at,
            passive: self.lock.passive(),
            slots_in_use: &self.lock.header.slots_in_use,
            cells: self.lock.cells(),
            region: self.region,
        }
    }

    /// Returns the words that say how well biases pay.
    #[inline]
    pub fn bias_policy(&self) -> BiasPolicy<'a> {
        let words = self.lock.words;
        BiasPolicy {
            began_at: &words.biased_at,
            back_off: &words.bias_back_off,
            unbiased: &words.unbiased,
            last: &words.last_unbiased,
        }
    }

    /// Returns the words that say how well biases towards readers pay.
    pub fn readers_policy(&self) -> ReadersPolicy<'a> {
        ReadersPolicy { not_before: &self.lock.words.readers_not_before }
    }

    /// Returns since when `slot` has waited, in nanoseconds; 0: it does not.
    #[inline]
    pub fn waiting_since(&self, slot: usize) -> u64 {
        self.lock.cells()[slot].waiting_since.load(Relaxed)
    }

    /// Returns whether waiters may be behind `holder`, which has the lock without the bias: parked at its slot, or awake as its
    /// successor. A hint, from one cache line: also of a waiter that has given up since.
    #[inline]
    pub fn may_have_waiters(&self, holder: usize) -> bool {
        let cell = &self.lock.cells()[holder];
        cell.parked.load(Relaxed) != 0 || cell.successor.load(Relaxed) != 0
    }

    /// Returns whether another slot than `me` waits.
    #[cold]
    pub fn is_another_waiting(&self, me: usize) -> bool {
        let in_use = self.lock.header.slots_in_use.load(Relaxed) as usize;
        (0..in_use.min(self.lock.cells().len())).any(|slot| slot != me && self.waiting_since(slot) != 0)
    }

    /// Returns whether the end of the participant in `slot`, which holds the lock, is no death: all copies of the descriptor
    /// that kept its slot are closed, and a death releases this lock.
    fn is_ordinary_end(&self, slot: usize) -> bool {
        let kept_by = self.view.slots()[slot].liveness_lock.load(Relaxed);
        let entry = self.region.checked_sub(1).and_then(|at| self.view.directory().get(at));
        let releases = |entry: &DirectoryEntry| {
            DeathPolicy::of(entry.death_policy.load(Relaxed)) == DeathPolicy::Release
        };
        kept_by == LivenessLockKind::Shared as u32 && entry.is_some_and(releases)
    }

    /// Returns the owner-dead notice: the dead holder's token (0: there is none), process, thread and label.
    pub fn death(&self) -> (u64, u32, u32, String) {
        let notice = &self.lock.words.previous_owner;
        let token = notice.token.load(Acquire);
        (token, notice.pid.load(Relaxed), notice.tid.load(Relaxed), notice.label.get())
    }
}

/// Has a participant in the lock of `region` look into its mailboxes: its waiting call, else its service thread. After the
/// store that it is to see.
pub fn call_participant(view: View, region: usize, participant: usize) {
    // Partners: the fences in `attach::message_service`, after a participant says whether its call or its service thread looks.
    // If ours comes first, that look sees what we stored; if theirs does, we see which of the two to wake.
    full_fence();
    if view.mail(region).peer_records[participant].attended.load(Relaxed) != 0 {
        // Or it died in a call.
        FileLock::new(view, region).spot(participant).unpark::<Linux>();
    } else {
        ring_bell(view, participant);
    }
}

/// Wakes the service thread of `slot`, if it may be asleep. After a full fence.
pub fn ring_bell(view: View, slot: usize) {
    if slot >= view.slots_bound() {
        return;
    }
    bell(&view.slots()[slot]).ring_if_asleep::<Linux>();
}

/// Wakes the service thread of `slot`, asleep or not.
pub fn ring_own_bell(view: View, slot: usize) {
    bell(&view.slots()[slot]).ring::<Linux>();
}

/// Returns the bell of a slot's service thread, or of the agent that is in it.
pub fn bell(record: &SlotRecord) -> Bell<'_> {
    Bell { bell: &record.bell, asleep: &record.asleep }
}

/// Has the waiters that are parked at the spot of this name look again, if the file has it.
pub fn unpark_at(view: View, name: u64) {
    let (region, slot) = ((name >> 32) as usize, (name as u32 as usize).wrapping_sub(1));
    if region > view.geometry().locks() as usize {
        return;
    }
    if slot < view.slots().len() {
        let lock = FileLock::new(view, region);
        lock.spot(slot).unpark_all::<Linux>();
        // Also of a condition.
        lock.standby().call::<Linux>(slot);
        // The waiters for an event or a barrier sleep where this slot does.
        let wake = &lock.lock.words.coordination.wake;
        wake.fetch_add(1, Release);
        futex::wake_all(wake);
    }
}

/// Returns one lock's owner words.
#[inline(always)]
pub fn ownership(words: &LockWords) -> Ownership<'_> {
    Ownership { token: &words.token, state: &words.state }
}

/// Returns one lock's bias word.
#[inline(always)]
pub fn bias(words: &LockWords) -> Bias<'_> {
    Bias(&words.bias)
}

/// Returns the words by which one slot is evicted.
#[inline(always)]
pub fn eviction(cell: &Cell) -> Eviction<'_> {
    Eviction { doorway: &cell.doorway, evicted: &cell.evicted }
}

/// The words by which one slot is evicted, in its cell.
#[derive(Clone, Copy)]
pub struct EvictionInCell<'a>(pub &'a Cell);

impl EvictionWords for EvictionInCell<'_> {
    #[inline(always)]
    fn is_evicted(&self) -> bool {
        one_of_64_equals::<{ Cell::DOORWAY }, { Cell::WORDS }>(self.0.words(), self.0.evicted.load(Relaxed))
    }
}

/// Returns a rwlock's bias word.
#[inline(always)]
pub fn shared_bias<'a>(words: &'a LockWords, readers: &'a ReadersMark) -> SharedBias<'a> {
    SharedBias(&words.bias, readers)
}

impl CalledWord for Cell {
    #[inline]
    fn called(&self) -> &AtomicU32 {
        &self.called
    }
}

impl MachineCell for Cell {
    #[inline]
    fn machine(&self) -> MachineWords<'_> {
        let ring = &self.ring;
        MachineWords { state: &ring.state, link: &ring.link, membership: &ring.membership }
    }
}

impl<'a, F: FileClaims> Lock for FileLock<'a, F> {
    type Queue = Line<'a>;
    type Claims = F::In<'a>;
    type BiasWord = AtomicU64;
    type Machines = InWords<'a, Cell>;

    #[inline]
    fn slots(&self) -> usize {
        self.lock.cells().len()
    }

    #[inline]
    fn queue(&self) -> Bakery<Line<'a>, F::In<'a>> {
        let line = Line { words: self.lock.numbers(), bound: &self.lock.header.slots_in_use };
        Bakery { registers: line, claims: self.claims.over(self.lock) }
    }

    #[inline]
    fn bias(&self) -> Bias<'_> {
        bias(self.lock.words)
    }

    #[inline]
    fn shared_bias(&self) -> SharedBias<'_> {
        shared_bias(self.lock.words, self.claims.readers())
    }

    #[inline]
    fn ownership(&self) -> Ownership<'_> {
        ownership(self.lock.words)
    }

    #[inline]
    fn held(&self, slot: usize) -> &AtomicU64 {
        &self.lock.cells()[slot].held
    }

    #[inline]
    fn eviction(&self, slot: usize) -> Eviction<'_> {
        const { assert!(MAX_PARTICIPANTS as usize <= MOST_SLOTS) };
        eviction(&self.lock.cells()[slot])
    }

    #[inline]
    fn machines(&self) -> InWords<'a, Cell> {
        InWords {
            cells: self.lock.cells(),
            slots_in_use: &self.lock.header.slots_in_use,
            ring_bound: &self.lock.words.ring.bound,
        }
    }

    #[inline]
    fn link(&self) -> Option<Link<'_>> {
        Some(link(&self.lock))
    }

    fn wake_agent(&self, agent: usize) {
        ring_bell(self.view, agent);
    }

    #[inline]
    fn since(&self, slot: usize) -> u64 {
        self.lock.cells()[slot].since.load(Relaxed)
    }

    #[inline]
    fn set_since(&self, slot: usize, time: u64) {
        self.lock.cells()[slot].since.store(time, Relaxed);
    }

    fn forget_wait(&self, slot: usize) {
        self.standby().forget(slot);
        self.lock.cells()[slot].waiting_since.store(0, Relaxed);
    }

    #[inline]
    fn revoking_since(&self) -> u64 {
        self.lock.words.revoking_since.load(Relaxed)
    }

    #[inline]
    fn set_revoking_since(&self, time: u64) {
        self.lock.words.revoking_since.store(time, Relaxed);
    }

    fn record_death(&self, slot: usize, token: u64) -> bool {
        let claims = self.queue().claims;
        let claim = claims.read(slot);
        let (hold_class, is_ordinary) = (claims.hold_class(claim), self.is_ordinary_end(slot));
        let event = if is_ordinary { Event::Released } else { Event::Died };
        let happening = Happening { event, slot, shared: hold_class.is_shared(), value: token };
        recording::record(self.view, self.region, slot, happening);
        if is_ordinary {
            return false;
        }
        self.lock.words.died.fetch_add(1, Relaxed);
        if !claims.may_change(claim) {
            return false;
        }
        if hold_class == HoldClass::Granule {
            self.record_dead_granule(slot, F::claim(claim).extent);
        }
        let (notice, record) = (&self.lock.words.previous_owner, &self.view.slots()[slot]);
        notice.token.store(token, Relaxed);
        notice.pid.store(record.pid.load(Relaxed), Relaxed);
        notice.tid.store(record.tid.load(Relaxed), Relaxed);
        notice.label.copy_from(&record.label);
        if hold_class == HoldClass::Member {
            self.member_deaths().record();
        }
        !matches!(hold_class, HoldClass::Granule | HoldClass::Member)
    }

    fn is_told_of_death(&self, me: usize, claim: F::Claim) -> bool {
        match self.claims.relation() {
            Relation::Ranges | Relation::Keys => self.has_dead_granule_beside(F::claim(claim)),
            Relation::Groups => self.tell_member_deaths(me),
            Relation::Always | Relation::Modes | Relation::Permits => false,
        }
    }

    fn mark_deaths_consistent(&self, me: usize, claim: F::Claim, needs_no_repair: bool) -> bool {
        match self.claims.relation() {
            Relation::Groups => self.mark_member_deaths(me, F::claim(claim)),
            _ => self.mark_dead_granules(F::claim(claim), needs_no_repair),
        }
    }

    fn record_overwritten_ring(&self) {
        let (words, notice) = (self.lock.words, &self.lock.words.previous_owner);
        notice.token.store(words.token.load(Relaxed), Relaxed);
        notice.pid.store(0, Relaxed);
        notice.tid.store(0, Relaxed);
        notice.label.set("somebody who overwrote the ring");
    }

    #[inline]
    fn unpark_waiters_of(&self, slot: usize) -> Unparked {
        let unparked = self.spot(slot).unpark::<Linux>();
        if let Unparked::Awake(successor) = unparked
            && successor < self.lock.cells().len()
        {
            self.spot(successor).unpark_early::<Linux>();
        }
        // After the fence in `unpark_waiters_of`.
        if self.claims.relation() == Relation::Permits {
            self.unpark_first_waiter();
        }
        unparked
    }

    fn unpark_early(&self, slot: usize) {
        self.spot(slot).unpark_early::<Linux>();
    }

    #[inline]
    fn unpark_standby(&self, slot: usize, next: bool) {
        if !self.standby().retire::<Linux>(slot as u32 + 1) && next {
            self.standby().unpark_designated::<Linux>();
        }
    }

    fn stands_by(&self, counts: impl Fn(usize) -> bool) -> bool {
        self.standby().has(counts)
    }
}
