//! What an acquisition claims of a lock, and which claims keep each other out.
//!
//! A participant in the bakery's queue waits for the earlier ones whose claims conflict with its own, whether they hold
//! the lock or wait for it too. So no participant overtakes an earlier one that stands in its way, whatever the kind of
//! lock. A claim has some *room* beside itself, and each earlier claim *takes* a part of that room:
//!
//! ```text
//! enter iff no slot is choosing and  SUM over the earlier ones of cost(mine, theirs) <= capacity(mine)
//! ```
//!
//! | kind of lock | claim | takes | room |
//! |---|---|---|---|
//! | mutex, ring | none | 1 | 0 |
//! | rwlock | shared, upgradable, exclusive | 1 if not both shared, nor one shared and the other upgradable | 0 |
//! | semaphore of k | a weight | the weight of theirs | k - the weight of mine |
//! | range lock | first and last of a range, shared or exclusive | 1 if they overlap and are not both shared | 0 |
//! | keyed lock | the hash of a key, likewise | 1 if the keys are equal and not both shared | 0 |
//! | group lock | the number of a group | 1 if the groups differ | 0 |
//!
//! The slot's participant writes its claim before its number; the claim means nothing once number and `held` are 0. A
//! reader may load a number of an earlier section, and then a part of the claim that was written after that section. By
//! that part it has acquired everything that the slot did before. So whatever it makes of the two, the earlier section
//! is over, and the slot's present doorway draws a larger number than the reader's own.
//!
//! Mode and weight may change while the claim is in the queue. A downgrade and the release of permits only make it take
//! less. An upgrade is a protocol of its own ([`super::shared_bias`]).

mod extent;
mod mode;
mod words;

pub use extent::Extent;
pub use mode::Mode;
pub use words::{ClaimCell, ClaimWords};

use crate::sync::{AtomicU32, Ordering::Acquire};

/// The claims of one lock.
pub trait Claims: Copy {
    /// What one participant claims.
    type Claim: Copy;

    /// Writes the claim of slot `me` down, before its doorway.
    fn write(&self, me: usize, claim: Self::Claim);
    /// Returns the claim of `slot`.
    fn read(&self, slot: usize) -> Self::Claim;
    /// Returns how much may be taken beside `mine`.
    fn capacity(&self, mine: Self::Claim) -> u64;
    /// Returns how much the claim in slot `theirs` takes of the room of `mine`.
    fn cost(&self, mine: Self::Claim, theirs: usize) -> u64;
    /// Returns whether `mine` wants several permits of a semaphore, and more than half of them.
    fn wants_most(&self, _mine: Self::Claim) -> bool {
        false
    }
    /// Returns how much `mine` claims and how much there is in all, if that is less: it is never granted then.
    fn shortage(&self, _mine: Self::Claim) -> Option<(u32, u32)> {
        None
    }
    /// Returns how many permits `mine` is about, and how many there are; `None`: it is about no semaphore, or all of it.
    fn permits_wanted(&self, _mine: Self::Claim) -> Option<(u32, u32)> {
        None
    }
    /// Returns whether there is more room, or less, for the claim of slot `me` than when it was written down.
    fn has_capacity_changed(&self, _me: usize) -> bool {
        false
    }
    /// Returns what is to be known of `claim`, whatever the kind of lock.
    fn hold_class(&self, claim: Self::Claim) -> HoldClass;
    /// Returns the group of a member's claim.
    fn group(&self, _claim: Self::Claim) -> Option<u64> {
        None
    }
    /// Returns whether a holder with this claim may change what the lock protects, so that its death is told.
    fn may_change(&self, claim: Self::Claim) -> bool {
        self.hold_class(claim) == HoldClass::Alone
    }

    /// Returns whether the place of a holder with this claim may be retained ([`super::reservation`]).
    fn may_be_reserved(&self, _claim: Self::Claim) -> bool {
        false
    }
    /// Makes the place of slot `me`, which is inside by its number, a retained one.
    fn reserve(&self, _me: usize) {}
    /// Returns whether the place of `slot` is a retained one.
    fn is_reserved(&self, _slot: usize) -> bool {
        false
    }
    /// Returns whether `slot`, inside by its reservation, is a reader.
    fn reads_by_reservation(&self, _slot: usize) -> bool {
        false
    }
    /// Returns how slot `me` would come in with this claim by its reservation, if that suits: unless the capacity has changed
    /// ([`Claims::has_capacity_changed`]).
    fn suits_reservation(&self, _me: usize, _claim: Self::Claim) -> Option<Reentry> {
        None
    }
    /// Writes down how slot `me` is about to come in by its reservation.
    fn write_reentry(&self, _me: usize, _claim: Self::Claim, _reentry: Reentry) {}
}

/// How a reservation is entered by again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reentry {
    /// As its slot's cell says already.
    AsBefore,
    /// In another mode: of a rwlock.
    InOtherMode,
}

/// What a claim means for its holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldClass {
    /// No other participant holds the lock beside it, and it may change what the lock protects.
    Alone,
    /// It only reads, beside others that do.
    Reader,
    /// It only reads until it is upgraded.
    Upgradable,
    /// It holds a part of the lock, which it may change, and others may hold other parts.
    Granule,
    /// It holds some of the permits, and protects nothing.
    Permits,
    /// It is inside beside others of its group, and each of them may change what the lock protects.
    Member,
}

impl HoldClass {
    /// Returns whether it is beside others that are the same.
    #[inline(always)]
    pub fn is_shared(self) -> bool {
        matches!(self, HoldClass::Reader | HoldClass::Upgradable | HoldClass::Permits | HoldClass::Member)
    }
}

/// Every two claims conflict: mutual exclusion.
#[derive(Clone, Copy, Debug)]
pub struct Always;

impl Claims for Always {
    type Claim = ();

    #[inline(always)]
    fn write(&self, _: usize, (): ()) {}

    #[inline(always)]
    fn read(&self, _: usize) {}

    #[inline(always)]
    fn capacity(&self, (): ()) -> u64 {
        0
    }

    #[inline(always)]
    fn cost(&self, (): (), _: usize) -> u64 {
        1
    }

    #[inline(always)]
    fn hold_class(&self, (): ()) -> HoldClass {
        HoldClass::Alone
    }
}

/// A claim: how, how much, and of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// How.
    pub mode: Mode,
    /// How many permits of a semaphore. Else 1.
    pub weight: u32,
    /// Of which part.
    pub extent: Extent,
}

impl Claim {
    /// Membership in a group of a group lock.
    #[inline]
    pub const fn of_group(group: u64) -> Self {
        Self { mode: Mode::Shared, weight: 1, extent: Extent { first: group, last: 0 } }
    }

    /// All of a lock, in this mode.
    #[inline]
    pub const fn whole(mode: Mode) -> Self {
        Self { mode, weight: 1, extent: Extent::WHOLE }
    }

    /// What conflicts with every other claim, in every kind of lock.
    pub const EVERYTHING: Self = Self { mode: Mode::Everything, weight: u32::MAX, extent: Extent::WHOLE };
}

/// Which claims of a lock conflict, as its kind says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Every two.
    Always,
    /// By their modes: a rwlock.
    Modes,
    /// Those that are too much together: a semaphore.
    Permits,
    /// Those that overlap, by their modes: a range lock.
    Ranges,
    /// Those of one key, by their modes: a keyed lock.
    Keys,
    /// Those of different groups: a group lock.
    Groups,
}

/// Claims that conflict as the kind of lock says, in the cells of its slots.
pub struct InCells<'a, C> {
    /// One for each slot.
    pub cells: &'a [C],
    /// Which conflict.
    pub relation: Relation,
    /// Of a semaphore: how many permits it has.
    pub permits: &'a AtomicU32,
}

impl<C> Clone for InCells<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C> Copy for InCells<'_, C> {}

impl<C: ClaimCell> InCells<'_, C> {
    /// Changes how slot `me` claims what it claims, in its place in the queue.
    pub fn set_mode(&self, me: usize, mode: Mode, weight: u32) {
        self.cells[me].claim().set_mode(mode, weight);
    }

    /// Returns how many permits there are.
    #[inline]
    pub fn permits(&self) -> u32 {
        // Acquire. Partner: the release store of the participant that resized it.
        self.permits.load(Acquire)
    }

    /// Returns whether the two keep each other out, whatever else is held.
    pub fn conflict(&self, one: Claim, other: Claim) -> bool {
        let everything = one.mode == Mode::Everything || other.mode == Mode::Everything;
        everything
            || match self.relation {
                Relation::Always => true,
                Relation::Permits => false,
                Relation::Modes => !one.mode.is_compatible_with(other.mode),
                Relation::Ranges => {
                    one.extent.overlaps(other.extent) && !one.mode.is_compatible_with(other.mode)
                }
                Relation::Keys => one.extent == other.extent && !one.mode.is_compatible_with(other.mode),
                Relation::Groups => one.extent.first != other.extent.first,
            }
    }
}

impl<C: ClaimCell> Claims for InCells<'_, C> {
    type Claim = Claim;

    fn write(&self, me: usize, mut claim: Claim) {
        if self.relation == Relation::Permits {
            // Of no use to a semaphore otherwise. An entry looks again where there are more or fewer by then, and a
            // place that is retained later is worth nothing.
            claim.extent.first = self.permits().into();
        }
        if self.relation == Relation::Groups {
            // A group has one number. The other word says of which deaths the holder was told, once it is one.
            claim.extent.last = 0;
        }
        self.cells[me].claim().set(claim);
    }

    fn read(&self, slot: usize) -> Claim {
        self.cells[slot].claim().get()
    }

    fn capacity(&self, mine: Claim) -> u64 {
        match self.relation {
            Relation::Permits => u64::from(self.permits().saturating_sub(mine.weight)),
            _ => 0,
        }
    }

    fn wants_most(&self, mine: Claim) -> bool {
        self.relation == Relation::Permits && mine.weight > 1 && mine.weight > self.permits() / 2
    }

    fn cost(&self, mine: Claim, theirs: usize) -> u64 {
        let theirs = self.read(theirs);
        match self.relation {
            // One of no weight would be overtaken.
            Relation::Permits => u64::from(theirs.weight.max(1)),
            _ => u64::from(self.conflict(mine, theirs)),
        }
    }

    fn shortage(&self, mine: Claim) -> Option<(u32, u32)> {
        // A claim of everything, to remove the lock, wants no permits.
        if self.relation != Relation::Permits || mine.mode == Mode::Everything {
            return None;
        }
        let permits = self.permits();
        (mine.weight > permits).then_some((mine.weight, permits))
    }

    fn permits_wanted(&self, mine: Claim) -> Option<(u32, u32)> {
        let is_some = self.relation == Relation::Permits && mine.mode != Mode::Everything;
        is_some.then(|| (mine.weight, self.permits()))
    }

    #[inline(always)]
    fn has_capacity_changed(&self, me: usize) -> bool {
        self.relation == Relation::Permits && !self.cells[me].has_first(u64::from(self.permits()))
    }

    #[inline(always)]
    fn hold_class(&self, claim: Claim) -> HoldClass {
        match (self.relation, claim.mode) {
            (Relation::Modes, Mode::Shared | Mode::ReservedReading) => HoldClass::Reader,
            (Relation::Modes, Mode::Upgradable | Mode::Upgrading) => HoldClass::Upgradable,
            (Relation::Always | Relation::Modes, _) => HoldClass::Alone,
            (Relation::Permits, _) => HoldClass::Permits,
            (Relation::Ranges | Relation::Keys, _) => HoldClass::Granule,
            (Relation::Groups, _) => HoldClass::Member,
        }
    }

    #[inline(always)]
    fn group(&self, claim: Claim) -> Option<u64> {
        (self.relation == Relation::Groups).then_some(claim.extent.first)
    }

    fn may_change(&self, claim: Claim) -> bool {
        match self.hold_class(claim) {
            HoldClass::Alone | HoldClass::Member => true,
            HoldClass::Granule => !matches!(claim.mode, Mode::Shared | Mode::Upgradable | Mode::Upgrading),
            HoldClass::Reader | HoldClass::Upgradable | HoldClass::Permits => false,
        }
    }

    fn may_be_reserved(&self, claim: Claim) -> bool {
        match self.relation {
            Relation::Modes => claim.mode == Mode::Exclusive,
            Relation::Permits => claim.mode == Mode::Shared,
            Relation::Always | Relation::Ranges | Relation::Keys | Relation::Groups => false,
        }
    }

    fn reserve(&self, me: usize) {
        let words = self.cells[me].claim();
        words.set_mode(Mode::Reserved, words.mode().1);
    }

    fn is_reserved(&self, slot: usize) -> bool {
        matches!(self.relation, Relation::Modes | Relation::Permits)
            && matches!(self.cells[slot].claim().mode().0, Mode::Reserved | Mode::ReservedReading)
    }

    fn reads_by_reservation(&self, slot: usize) -> bool {
        self.relation == Relation::Modes && self.cells[slot].claim().mode().0 == Mode::ReservedReading
    }

    #[inline(always)]
    fn suits_reservation(&self, me: usize, claim: Claim) -> Option<Reentry> {
        let cell = &self.cells[me];
        match self.relation {
            Relation::Modes => {
                let (again, other) = claim.mode.reserved()?;
                // The likely one by itself, so that it is one comparison.
                if cell.is_reserved_as(again) {
                    return Some(Reentry::AsBefore);
                }
                cell.is_reserved_as(other).then_some(Reentry::InOtherMode)
            }
            Relation::Permits => {
                let suits = claim.mode == Mode::Shared
                    && cell.is_reserved_as(Mode::Reserved)
                    && cell.has_weight(claim.weight);
                suits.then_some(Reentry::AsBefore)
            }
            Relation::Always | Relation::Ranges | Relation::Keys | Relation::Groups => None,
        }
    }

    #[inline(always)]
    fn write_reentry(&self, me: usize, claim: Claim, reentry: Reentry) {
        if reentry == Reentry::InOtherMode
            && let Some((again, _)) = claim.mode.reserved()
        {
            self.cells[me].claim().set_mode(again, 1);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
