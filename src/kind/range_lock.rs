//! The range lock: a lock of ranges of numbers.

use super::{
    acquired::PreviousOwner,
    claimed::{ClaimedOptions, claimed_options, with_death_policy},
    guard::{Guard, GuardAs},
    handle::{BiasUse, Handle, LockKind},
    part::Part,
    participant::Participant,
    parts::GranuleKind,
};
use crate::attach::file_handle::FileHandle;
use crate::layout::{DeathPolicy, Kind};
use crate::registers::Claimed;
use std::{
    ops::{Bound, RangeBounds},
    time::Duration,
};
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::{Claim, Extent, Mode};
use turnlock_core::error::{Error, Result};

/// The kind of a [`RangeLock`].
#[derive(Debug)]
pub enum RangeKind {}

impl LockKind for RangeKind {
    type Claims = Claimed;
    const BIAS: BiasUse = BiasUse::None;
    const IN_PARTS: bool = true;
    const KIND: Kind = Kind::RangeLock;
    const NAME: &'static str = "range lock";

    fn claims(generation: u64) -> Claimed {
        Claimed::of(Kind::RangeLock, generation)
    }

    fn everything() -> Claim {
        Claim::EVERYTHING
    }
}

impl GranuleKind for RangeKind {}

/// A lock of ranges of numbers, in a lock file: bytes or records of a file, pages, rows, hours.
///
/// A participant that wants a range waits for earlier ones that overlap with it, unless both only read; strictly in the order
/// of arrival. A thread may hold several ranges at once. Each range that is held takes a slot of the file, so there are up to
/// 4,096 at a time; a range that is not held takes no room.
///
/// A writer that dies leaves an owner-dead notice for its range: a holder of a range that overlaps with it is told, until one
/// that holds all of it calls [`Guard::mark_consistent`]. (An unlock without that closes nothing.)
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// let records = file.range_lock("records")?;
/// let first = records.write(0..10)?;
/// let second = records.write(10..20)?; // at the same time
/// assert!(matches!(records.try_read(5..15), Err(turnlock::Error::Deadlock))); // it would wait for itself
/// drop((first, second));
/// let all = records.read(..)?;
/// # drop(all);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RangeLock(pub(super) Handle<RangeKind>);

/// A range that the calling thread holds, until the guard is dropped.
pub type RangeGuard<'a> = Guard<'a, RangeKind>;
/// A range that a [`Participant`] holds, until the guard is dropped.
pub type RangeParticipantGuard<'a> = GuardAs<'a, RangeKind>;

/// Options for opening or creating a range lock.
#[derive(Clone, Debug)]
pub struct RangeLockOptions<'a>(pub(super) ClaimedOptions<'a>);

claimed_options!(RangeLockOptions);
with_death_policy!(RangeLockOptions);

impl<'a> RangeLockOptions<'a> {
    pub(super) fn new(file: &'a FileHandle) -> Self {
        Self(ClaimedOptions::new(file, Kind::RangeLock))
    }

    /// Opens the lock called `name`. Names have 1 to 63 bytes. Errors as [`super::MutexOptions::open`].
    pub fn open(&self, name: &str) -> Result<RangeLock> {
        Ok(RangeLock(self.0.open(name)?))
    }
}

impl RangeLock {
    /// Takes a range shared, beside other readers, waiting for earlier writers without a limit.
    ///
    /// # Errors
    /// [`Error::EmptyRange`]; [`Error::Deadlock`] if this thread holds what conflicts with it; others as
    /// [`super::Mutex::lock`].
    pub fn read(&self, range: impl RangeBounds<u64>) -> Result<RangeGuard<'_>> {
        self.0.lock_part(Part::new(Mode::Shared, extent_of(range)?), Limit::Forever)
    }

    /// Does what [`RangeLock::read`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_read(&self, range: impl RangeBounds<u64>) -> Result<RangeGuard<'_>> {
        self.0.lock_part(Part::new(Mode::Shared, extent_of(range)?), Limit::Never)
    }

    /// Does what [`RangeLock::read`] does, waiting for at most `limit`, then [`Error::TimedOut`].
    pub fn read_for(&self, range: impl RangeBounds<u64>, limit: Duration) -> Result<RangeGuard<'_>> {
        self.0.lock_part(Part::new(Mode::Shared, extent_of(range)?), Limit::For(limit))
    }

    /// Does what [`RangeLock::read`] does, as `participant`, which holds one range at a time.
    pub fn read_as<'a>(
        &'a self,
        participant: &'a Participant,
        range: impl RangeBounds<u64>,
    ) -> Result<RangeParticipantGuard<'a>> {
        self.0.lock_part_as(participant, Part::new(Mode::Shared, extent_of(range)?), Limit::Forever)
    }

    /// Does what [`RangeLock::try_read`] does, as `participant`.
    pub fn try_read_as<'a>(
        &'a self,
        participant: &'a Participant,
        range: impl RangeBounds<u64>,
    ) -> Result<RangeParticipantGuard<'a>> {
        self.0.lock_part_as(participant, Part::new(Mode::Shared, extent_of(range)?), Limit::Never)
    }

    /// Does what [`RangeLock::read_for`] does, as `participant`.
    pub fn read_for_as<'a>(
        &'a self,
        participant: &'a Participant,
        range: impl RangeBounds<u64>,
        limit: Duration,
    ) -> Result<RangeParticipantGuard<'a>> {
        self.0.lock_part_as(participant, Part::new(Mode::Shared, extent_of(range)?), Limit::For(limit))
    }

    /// Does what [`RangeLock::read`] does, for several parts at once. They are taken in an order that all such calls share, so
    /// that these do not wait for each other in a circle. Parts that are named twice, or overlap, are taken once. If one of
    /// them cannot be had, none is held.
    pub fn read_all(
        &self,
        ranges: impl IntoIterator<Item = impl RangeBounds<u64>>,
    ) -> Result<Vec<RangeGuard<'_>>> {
        let extents = ranges.into_iter().map(extent_of).collect::<Result<Vec<_>>>()?;
        self.0.lock_parts(Mode::Shared, ranges_apart(extents))
    }

    /// Takes a range exclusively, waiting without a limit. Errors as [`RangeLock::read`].
    pub fn write(&self, range: impl RangeBounds<u64>) -> Result<RangeGuard<'_>> {
        self.0.lock_part(Part::new(Mode::Exclusive, extent_of(range)?), Limit::Forever)
    }

    /// Does what [`RangeLock::write`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_write(&self, range: impl RangeBounds<u64>) -> Result<RangeGuard<'_>> {
        self.0.lock_part(Part::new(Mode::Exclusive, extent_of(range)?), Limit::Never)
    }

    /// Does what [`RangeLock::write`] does, waiting for at most `limit`, then [`Error::TimedOut`].
    pub fn write_for(&self, range: impl RangeBounds<u64>, limit: Duration) -> Result<RangeGuard<'_>> {
        self.0.lock_part(Part::new(Mode::Exclusive, extent_of(range)?), Limit::For(limit))
    }

    /// Does what [`RangeLock::write`] does, as `participant`, which holds one range at a time.
    pub fn write_as<'a>(
        &'a self,
        participant: &'a Participant,
        range: impl RangeBounds<u64>,
    ) -> Result<RangeParticipantGuard<'a>> {
        self.0.lock_part_as(participant, Part::new(Mode::Exclusive, extent_of(range)?), Limit::Forever)
    }

    /// Does what [`RangeLock::try_write`] does, as `participant`.
    pub fn try_write_as<'a>(
        &'a self,
        participant: &'a Participant,
        range: impl RangeBounds<u64>,
    ) -> Result<RangeParticipantGuard<'a>> {
        self.0.lock_part_as(participant, Part::new(Mode::Exclusive, extent_of(range)?), Limit::Never)
    }

    /// Does what [`RangeLock::write_for`] does, as `participant`.
    pub fn write_for_as<'a>(
        &'a self,
        participant: &'a Participant,
        range: impl RangeBounds<u64>,
        limit: Duration,
    ) -> Result<RangeParticipantGuard<'a>> {
        self.0.lock_part_as(participant, Part::new(Mode::Exclusive, extent_of(range)?), Limit::For(limit))
    }

    /// Does what [`RangeLock::write`] does, for several parts at once. They are taken in an order that all such calls share, so
    /// that these do not wait for each other in a circle. Parts that are named twice, or overlap, are taken once. If one of
    /// them cannot be had, none is held.
    pub fn write_all(
        &self,
        ranges: impl IntoIterator<Item = impl RangeBounds<u64>>,
    ) -> Result<Vec<RangeGuard<'_>>> {
        let extents = ranges.into_iter().map(extent_of).collect::<Result<Vec<_>>>()?;
        self.0.lock_parts(Mode::Exclusive, ranges_apart(extents))
    }

    /// Returns what a writer's death means for this lock.
    pub fn death_policy(&self) -> DeathPolicy {
        self.0.death_policy()
    }

    /// Marks all ranges consistent that dead writers left, once no other participant holds one: the data were repaired, or are
    /// given up.
    pub fn reset(&self) -> Result<()> {
        self.0.reset(Limit::Forever)
    }

    /// Does what [`RangeLock::reset`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_reset(&self) -> Result<()> {
        self.0.reset(Limit::Never)
    }

    /// Does what [`RangeLock::reset`] does, waiting for at most `limit`.
    pub fn reset_for(&self, limit: Duration) -> Result<()> {
        self.0.reset(Limit::For(limit))
    }

    /// Returns the last participant that died holding a range; `None` if none did.
    pub fn previous_owner(&self) -> Option<PreviousOwner> {
        self.0.previous_owner()
    }

    /// Returns the handle, for observers.
    pub(crate) fn handle(&self) -> &Handle<RangeKind> {
        &self.0
    }

    /// Returns the handle, for the C ABI.
    pub(crate) fn into_handle(self) -> Handle<RangeKind> {
        self.0
    }
}

/// Returns the range as its first and its last number.
///
/// # Errors
/// [`Error::EmptyRange`].
pub(crate) fn extent_of(range: impl RangeBounds<u64>) -> Result<Extent> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let (end, last) = match range.end_bound() {
        Bound::Included(last) => (last.saturating_add(1), Some(*last)),
        Bound::Excluded(end) => (*end, end.checked_sub(1)),
        Bound::Unbounded => (u64::MAX, Some(u64::MAX)),
    };
    let last =
        last.filter(|last| start <= *last && !matches!(range.start_bound(), Bound::Excluded(&u64::MAX)));
    Ok(Extent { first: start, last: last.ok_or(Error::EmptyRange { start, end })? })
}

/// Returns disjoint ranges that cover the same numbers.
pub(crate) fn ranges_apart(mut extents: Vec<Extent>) -> Vec<Extent> {
    extents.sort_unstable_by_key(|extent| extent.first);
    extents.dedup_by(|extent, before| {
        let overlap = before.overlaps(*extent);
        if overlap {
            before.last = before.last.max(extent.last);
        }
        overlap
    });
    extents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_what_they_say() {
        let of = |first, last| Extent { first, last };
        assert_eq!(extent_of(0..1).unwrap(), of(0, 0));
        assert_eq!(extent_of(3..=9).unwrap(), of(3, 9));
        assert_eq!(extent_of(..).unwrap(), Extent::WHOLE);
        assert_eq!(extent_of(..=u64::MAX).unwrap(), Extent::WHOLE);
        assert_eq!(extent_of(5..).unwrap(), of(5, u64::MAX));
        assert!(matches!(extent_of(5..5), Err(Error::EmptyRange { start: 5, end: 5 })));
        #[allow(clippy::reversed_empty_ranges, reason = "that is what is refused")]
        let reversed = 7..2;
        assert!(matches!(extent_of(reversed), Err(Error::EmptyRange { start: 7, end: 2 })));
        assert!(extent_of(0..0).is_err());
    }

    #[test]
    fn several_ranges_are_taken_once_where_they_overlap() {
        let of = |first, last| Extent { first, last };
        assert_eq!(
            ranges_apart(vec![of(8, 9), of(0, 3), of(2, 5), of(6, 6)]),
            [of(0, 5), of(6, 6), of(8, 9)]
        );
    }
}
