//! Parts of a lock: what dead participants held of it, and which waiters to unpark where permits come back.

use super::{
    FileLock,
    claims::{Claimed, FileClaims},
};
use crate::layout::View;
use crate::os::linux::Linux;
use turnlock_core::acquire::site::Lock;
use turnlock_core::algorithm::{
    Place, Protocol,
    bakery::Registers,
    claim::{Claim, Extent, Mode, Relation},
    dead_claim::{DeadClaim, DeadPart},
};
use turnlock_core::sync::Ordering::{AcqRel, Acquire, Relaxed, Release};

impl<'a> FileLock<'a, Claimed> {
    /// Returns the lock in `region`, whichever kind it is. Panics as [`View::lock`].
    pub fn of_any_kind(view: View<'a>, region: usize) -> Self {
        Self::claimed(view, region, Claimed::in_region(view, region))
    }

    /// Makes a semaphore have so many permits.
    pub fn resize(&self, permits: u32) {
        // Release. Partner: the acquire load in `InCells::permits`.
        self.lock.words.permits.store(permits, Release);
    }

    /// Has all waiters for permits look again: there are more, or fewer than some of them want. After a full fence.
    pub fn unpark_resized(&self) {
        let parked = |slot: &usize| self.lock.cells()[*slot].parked.load(Relaxed) != 0;
        (0..self.queue().registers.bound()).filter(parked).for_each(|slot| {
            self.spot(slot).unpark_all::<Linux>();
        });
        self.standby().unpark_all::<Linux>();
    }
}

impl<'a, F: FileClaims> FileLock<'a, F> {
    /// Returns slot `slot`'s dead claim.
    pub fn dead_claim(&self, slot: usize) -> DeadClaim<'a> {
        let cell = &self.lock.cells()[slot];
        DeadClaim { word: &cell.dead, first: &cell.dead_first, last: &cell.dead_last }
    }

    /// Returns what dead participants held that is not marked consistent yet.
    pub fn dead_parts(&self) -> impl Iterator<Item = DeadPart> {
        self.dead_claims().filter_map(|dead| dead.get())
    }

    /// Returns the slots that may have a dead claim.
    fn dead_claims(&self) -> impl Iterator<Item = DeadClaim<'a>> {
        // Acquire. Partner: the read-modify-write in `record_dead_granule`.
        let any = self.lock.words.dead_parts.load(Acquire) != 0;
        let slots = if any { self.lock.cells().len() } else { 0 };
        (0..slots).map(|slot| self.dead_claim(slot))
    }

    /// Writes down that the participant of `slot` died holding this part. Repeatable; with its byte lock in hand.
    pub(super) fn record_dead_granule(&self, slot: usize, extent: Extent) {
        let slots = self.lock.cells().len();
        let mut places = std::iter::once(slot).chain(0..slots);
        // By a reaper that died. It is not marked consistent meanwhile: that would conflict with what the dead one still holds.
        let is_it = |part: DeadPart| part == DeadPart::Of(extent);
        let is_known = (0..slots).filter_map(|slot| self.dead_claim(slot).get()).any(is_it);
        if !is_known && !places.any(|place| self.dead_claim(place).record(extent)) {
            self.dead_claim(slot).record_everything();
        }
        // Release, and a read-modify-write. Partner: the compare-exchange in `mark_dead_granules`, which must not lose it.
        self.lock.words.dead_parts.fetch_add(2, AcqRel);
    }

    /// Unparks the first of those that wait for permits: it is parked at the slot before it in the queue, which may not be the
    /// one that has just left. After a full fence.
    #[cold]
    pub(super) fn unpark_first_waiter(&self) {
        let queue = self.queue();
        let (mut first, mut before) = (None, None);
        queue.registers.all(|slot| {
            if let Place::Numbered(number) = queue.place(slot)
                && self.held(slot).load(Relaxed) == 0
            {
                first = first.filter(|first| *first < (number, slot)).or(Some((number, slot)));
            }
            true
        });
        let Some(first) = first else { return };
        queue.registers.all(|slot| {
            if let Place::Numbered(number) = queue.place(slot)
                && (number, slot) < first
            {
                before = before.max(Some((number, slot)));
            }
            true
        });
        if let Some((_, slot)) = before {
            self.spot(slot).unpark_all::<Linux>();
        }
    }

    /// Returns whether a dead participant held what conflicts with `mine`, and that is not marked consistent yet.
    pub(super) fn has_dead_granule_beside(&self, mine: Claim) -> bool {
        let keyed = self.claims.relation() == Relation::Keys;
        self.dead_parts().any(|dead| match dead {
            DeadPart::Of(extent) if keyed => mine.extent == extent,
            DeadPart::Of(extent) => mine.extent.overlaps(extent),
            DeadPart::Everything => true,
        })
    }

    /// Marks what dead participants held and `mine` covers as consistent; where a death needs no repair, also what it only
    /// conflicts with. Returns whether there was any.
    pub(super) fn mark_dead_granules(&self, mine: Claim, needs_no_repair: bool) -> bool {
        let words = self.lock.words;
        let keyed = self.claims.relation() == Relation::Keys;
        let is_mine = |part: DeadPart| match (part, mine.mode) {
            (_, Mode::Everything) => true,
            (DeadPart::Of(extent), _) if keyed => {
                extent == mine.extent && (needs_no_repair || mine.mode == Mode::Exclusive)
            }
            (DeadPart::Of(extent), _) if needs_no_repair => mine.extent.overlaps(extent),
            (DeadPart::Everything, _) if needs_no_repair => true,
            (DeadPart::Of(extent), Mode::Exclusive) => mine.extent.covers(extent),
            (DeadPart::Everything, Mode::Exclusive) => !keyed && mine.extent == Extent::WHOLE,
            _ => false,
        };
        // Acquire. Partner: the read-modify-write in `record_dead_granule`.
        let known = words.dead_parts.load(Acquire);
        let marked = self.dead_claims().filter(|dead| dead.mark_consistent(is_mine)).count();
        if known != 0 && self.dead_parts().next().is_none() {
            // Not if another dead part came meanwhile.
            let _ = words.dead_parts.compare_exchange(known, 0, AcqRel, Relaxed);
        }
        marked > 0
    }
}
