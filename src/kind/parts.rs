//! Locks of parts: a range lock has as many as there are numbers, a keyed lock as many as there are keys.

use super::{
    acquired::{Acquired, PreviousOwner},
    claimed::{ClaimedOptions, claimed_options, with_death_policy},
    guard::{Guard, GuardAs},
    handle::{BiasUse, Handle, LockKind},
    participant::Participant,
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

/// The kind of a [`KeyedLock`].
#[derive(Debug)]
pub enum KeyedKind {}

macro_rules! kinds {
    ($($kind:ident $number:ident $name:literal)*) => { $(impl LockKind for $kind {
        type Claims = Claimed;
        const BIAS: BiasUse = BiasUse::None;
        const IN_PARTS: bool = true;
        const KIND: Kind = Kind::$number;
        const NAME: &'static str = $name;

        fn claims(generation: u64) -> Claimed {
            Claimed::of(Kind::$number, generation)
        }

        fn everything() -> Claim {
            Claim::EVERYTHING
        }
    })* };
}
kinds!(RangeKind RangeLock "range lock" KeyedKind KeyedLock "keyed lock");

/// A lock of ranges of numbers, in a lock file: bytes or records of a file, pages, rows, hours.
///
/// Who wants a range waits for the earlier ones that overlap with it, unless both only read; strictly in the order of arrival.
/// A thread (or [`Participant`]) may
/// hold several ranges at once; each counts as a participant of the file, which is all the room that ranges take: up to
/// 4,096 of them at a time, and none when nobody wants them.
///
/// One that dies while it writes leaves an owner-dead notice for its range: whoever holds a range that overlaps with it is
/// told, until one that holds all of it has said [`Guard::mark_consistent`]. (To unlock without that closes nothing.)
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

/// A lock for each key, in a lock file: user names, paths, identifiers, any bytes. Keys need not be created, and take no room
/// while nobody wants them.
///
/// Otherwise as a [`RangeLock`]. Keys are told apart by a hash of 128 bits: should two keys have the same one, those who want
/// the one wait for those who have the other; nobody enters who should not.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let file = turnlock::LockFile::open(folder.path().join("app.lock"))?;
/// let users = file.keyed_lock("users")?;
/// let ada = users.write("ada")?;
/// let grace = users.write("grace")?; // at the same time
/// # drop((ada, grace));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct KeyedLock(pub(super) Handle<KeyedKind>);

/// A range that the calling thread holds, until the guard is dropped.
pub type RangeGuard<'a> = Guard<'a, RangeKind>;
/// A range that a [`Participant`] holds, until the guard is dropped.
pub type RangeParticipantGuard<'a> = GuardAs<'a, RangeKind>;
/// A key that the calling thread holds, until the guard is dropped.
pub type KeyGuard<'a> = Guard<'a, KeyedKind>;
/// A key that a [`Participant`] holds, until the guard is dropped.
pub type KeyParticipantGuard<'a> = GuardAs<'a, KeyedKind>;

/// How to open, or create, a range lock.
#[derive(Clone, Debug)]
pub struct RangeLockOptions<'a>(pub(super) ClaimedOptions<'a>);

/// How to open, or create, a keyed lock.
#[derive(Clone, Debug)]
pub struct KeyedLockOptions<'a>(pub(super) ClaimedOptions<'a>);

claimed_options!(RangeLockOptions);
claimed_options!(KeyedLockOptions);
with_death_policy!(RangeLockOptions);
with_death_policy!(KeyedLockOptions);

macro_rules! options {
    ($($options:ident $lock:ident)*) => { $(impl<'a> $options<'a> {
        pub(super) fn new(file: &'a FileHandle) -> Self {
            Self(ClaimedOptions::new(file, Kind::$lock))
        }

        /// Opens the lock called `name`. Names have 1 to 63 bytes. Errors as [`super::MutexOptions::open`].
        pub fn open(&self, name: &str) -> Result<$lock> {
            Ok($lock(self.0.open(name)?))
        }
    })* };
}
options!(RangeLockOptions RangeLock KeyedLockOptions KeyedLock);

/// Returns the range, first and last included.
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

/// Returns the hash of a key (FNV-1a of 128 bits), which is a part of the file's format.
pub(crate) fn extent_of_key(key: impl AsRef<[u8]>) -> Extent {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let hash = key.as_ref().iter().fold(OFFSET, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME));
    Extent { first: (hash >> 64) as u64, last: hash as u64 }
}

/// What is claimed of a part.
pub(crate) fn claim_of(mode: Mode, extent: Extent) -> Claim {
    Claim { mode, weight: 1, extent }
}

/// The two ways to take a part, each with its limits and participants.
macro_rules! ways {
    ($lock_type:ident, $kind:ident, $guard:ident, $guard_as:ident, $part:ident: $of:ty => $extent:expr; $(
        $(#[$doc:meta])*
        $mode:ident: $lock:ident $try:ident $for:ident $lock_as:ident $try_as:ident $for_as:ident $all:ident
    )*) => { impl $lock_type { $(
        $(#[$doc])*
        pub fn $lock(&self, $part: $of) -> Result<$guard<'_>> {
            self.take(claim_of(Mode::$mode, $extent), Limit::Forever)
        }

        #[doc = concat!("As `", stringify!($lock), "` if that needs no waiting, else [`Error::WouldBlock`].")]
        pub fn $try(&self, $part: $of) -> Result<$guard<'_>> {
            self.take(claim_of(Mode::$mode, $extent), Limit::Never)
        }

        #[doc = concat!("As `", stringify!($lock), "`, waiting at most `limit`, then [`Error::TimedOut`].")]
        pub fn $for(&self, $part: $of, limit: Duration) -> Result<$guard<'_>> {
            self.take(claim_of(Mode::$mode, $extent), Limit::For(limit))
        }

        #[doc = concat!("As `", stringify!($lock), "`, as `participant`, which holds one part at a time.")]
        pub fn $lock_as<'a>(
            &'a self,
            participant: &'a Participant,
            $part: $of,
        ) -> Result<$guard_as<'a>> {
            self.take_as(participant, claim_of(Mode::$mode, $extent), Limit::Forever)
        }

        #[doc = concat!("As `", stringify!($try), "`, as `participant`.")]
        pub fn $try_as<'a>(
            &'a self,
            participant: &'a Participant,
            $part: $of,
        ) -> Result<$guard_as<'a>> {
            self.take_as(participant, claim_of(Mode::$mode, $extent), Limit::Never)
        }

        #[doc = concat!("As `", stringify!($for), "`, as `participant`.")]
        pub fn $for_as<'a>(
            &'a self,
            participant: &'a Participant,
            $part: $of,
            limit: Duration,
        ) -> Result<$guard_as<'a>> {
            self.take_as(participant, claim_of(Mode::$mode, $extent), Limit::For(limit))
        }

        #[doc = concat!(
            "As `", stringify!($lock), "`, for several parts at once: they are taken one after the other in an order of \
             their own, so that those who take several this way do not wait for each other in a circle. Parts that are \
             named twice, or overlap, are taken once. Nothing is held if one of them cannot be had."
        )]
        pub fn $all(&self, parts: impl IntoIterator<Item = $of>) -> Result<Vec<$guard<'_>>> {
            let extents = parts.into_iter().map(|$part| Ok($extent)).collect::<Result<Vec<_>>>()?;
            let claims = Self::apart(extents).into_iter().map(|extent| claim_of(Mode::$mode, extent)).collect();
            let acquired = self.0.acquire_parts(claims, Limit::Forever)?;
            Ok(acquired.into_iter().map(|acquired| Guard::new(&self.0, acquired)).collect())
        }
    )*
        fn take(&self, claim: Claim, limit: Limit) -> Result<$guard<'_>> {
            Ok(Guard::new(&self.0, self.0.acquire_part(claim, limit)?))
        }

        fn take_as<'a>(
            &'a self,
            participant: &'a Participant,
            claim: Claim,
            limit: Limit,
        ) -> Result<$guard_as<'a>> {
            let acquired: Acquired = self.0.acquire_as(participant, claim, limit)?;
            Ok(GuardAs::new(&self.0, participant, acquired))
        }

        /// Returns what the death of one that writes means here.
        pub fn death_policy(&self) -> DeathPolicy {
            self.0.death_policy()
        }

        /// Marks all parts consistent that dead participants left, beside nobody: the data were looked after, or are given
        /// up.
        pub fn reset(&self) -> Result<()> {
            self.0.reset(Limit::Forever)
        }

        /// As `reset` if that needs no waiting, else [`Error::WouldBlock`].
        pub fn try_reset(&self) -> Result<()> {
            self.0.reset(Limit::Never)
        }

        /// As `reset`, waiting at most `limit`.
        pub fn reset_for(&self, limit: Duration) -> Result<()> {
            self.0.reset(Limit::For(limit))
        }

        /// Returns who died holding a part, last; `None` if nobody ever did.
        pub fn previous_owner(&self) -> Option<PreviousOwner> {
            self.0.previous_owner()
        }

        /// The handle, for observers.
        pub(crate) fn handle(&self) -> &Handle<$kind> {
            &self.0
        }

        /// The handle, for the C ABI.
        pub(crate) fn into_handle(self) -> Handle<$kind> {
            self.0
        }
    } };
}

ways! { RangeLock, RangeKind, RangeGuard, RangeParticipantGuard, range: impl RangeBounds<u64> => extent_of(range)?;
    /// Takes a range shared, beside others that do, waiting for earlier ones that write in it as long as it takes.
    ///
    /// # Errors
    /// [`Error::EmptyRange`]; [`Error::Deadlock`] if this thread holds what conflicts with it; others as
    /// [`super::Mutex::lock`].
    Shared: read try_read read_for read_as try_read_as read_for_as read_all
    /// Takes a range exclusively, likewise.
    Exclusive: write try_write write_for write_as try_write_as write_for_as write_all
}

ways! { KeyedLock, KeyedKind, KeyGuard, KeyParticipantGuard, key: impl AsRef<[u8]> => extent_of_key(key);
    /// Takes a key shared, beside others that do, waiting for earlier ones that write as long as it takes.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if this thread holds what conflicts with it; others as [`super::Mutex::lock`].
    Shared: read try_read read_for read_as try_read_as read_for_as read_all
    /// Takes a key exclusively, likewise.
    Exclusive: write try_write write_for write_as try_write_as write_for_as write_all
}

impl RangeLock {
    /// Returns ranges that have nothing in common, and are those together.
    fn apart(mut extents: Vec<Extent>) -> Vec<Extent> {
        extents.sort_by_key(|extent| extent.first);
        let mut apart: Vec<Extent> = Vec::new();
        for extent in extents {
            match apart.last_mut().filter(|last| last.overlaps(extent)) {
                Some(last) => last.last = last.last.max(extent.last),
                None => apart.push(extent),
            }
        }
        apart
    }
}

impl KeyedLock {
    fn apart(mut extents: Vec<Extent>) -> Vec<Extent> {
        extents.sort_by_key(|extent| (extent.first, extent.last));
        extents.dedup();
        extents
    }
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
            RangeLock::apart(vec![of(8, 9), of(0, 3), of(2, 5), of(6, 6)]),
            [of(0, 5), of(6, 6), of(8, 9)]
        );
    }

    /// The test vectors of the hash's authors (Fowler, Noll and Vo; RFC 9923).
    #[test]
    fn keys_are_hashed_as_published() {
        let hash = |key: &str| {
            let Extent { first, last } = extent_of_key(key);
            u128::from(first) << 64 | u128::from(last)
        };
        assert_eq!(hash(""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(hash("a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_eq!(hash("foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }
}
