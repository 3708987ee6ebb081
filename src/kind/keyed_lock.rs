//! The keyed lock: a lock for each key.

use super::{
    acquired::PreviousOwner,
    claimed::{ClaimedOptions, claimed_options, with_death_policy},
    guard::{Guard, GuardAs},
    handle::{BiasUse, Handle, LockKind},
    part::{Granule, Part},
    participant::Participant,
    parts::GranuleKind,
};
use crate::attach::file_handle::FileHandle;
use crate::layout::{DeathPolicy, KeyBeginning, Kind};
use crate::registers::Claimed;
use std::time::Duration;
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::{Claim, Extent, Mode};
#[cfg(doc)]
use turnlock_core::error::Error;
use turnlock_core::error::Result;

/// The kind of a [`KeyedLock`].
#[derive(Debug)]
pub enum KeyedKind {}

impl LockKind for KeyedKind {
    type Claims = Claimed;
    const BIAS: BiasUse = BiasUse::None;
    const IN_PARTS: bool = true;
    const KIND: Kind = Kind::KeyedLock;
    const NAME: &'static str = "keyed lock";

    fn claims(generation: u64) -> Claimed {
        Claimed::of(Kind::KeyedLock, generation)
    }

    fn everything() -> Claim {
        Claim::EVERYTHING
    }
}

impl GranuleKind for KeyedKind {}

/// A lock for each key, in a lock file: user names, paths, identifiers, any bytes. Keys need not be created, and take no room
/// while they are not held.
///
/// Otherwise as a [`super::RangeLock`]. Keys are told apart by a hash of 128 bits. Two keys with the same hash exclude each
/// other.
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

/// A key that the calling thread holds, until the guard is dropped.
pub type KeyGuard<'a> = Guard<'a, KeyedKind>;
/// A key that a [`Participant`] holds, until the guard is dropped.
pub type KeyParticipantGuard<'a> = GuardAs<'a, KeyedKind>;

/// Options for opening or creating a keyed lock.
#[derive(Clone, Debug)]
pub struct KeyedLockOptions<'a>(pub(super) ClaimedOptions<'a>);

claimed_options!(KeyedLockOptions);
with_death_policy!(KeyedLockOptions);

impl<'a> KeyedLockOptions<'a> {
    pub(super) fn new(file: &'a FileHandle) -> Self {
        Self(ClaimedOptions::new(file, Kind::KeyedLock))
    }

    /// Opens the lock called `name`. Names have 1 to 63 bytes. Errors as [`super::MutexOptions::open`].
    pub fn open(&self, name: &str) -> Result<KeyedLock> {
        Ok(KeyedLock(self.0.open(name)?))
    }
}

impl KeyedLock {
    /// Takes a key shared, beside other readers, waiting for earlier writers without a limit.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if this thread holds what conflicts with it; others as [`super::Mutex::lock`].
    pub fn read(&self, key: impl AsRef<[u8]>) -> Result<KeyGuard<'_>> {
        self.0.lock_part(Part::new(Mode::Shared, granule_of_key(key)), Limit::Forever)
    }

    /// Does what [`KeyedLock::read`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_read(&self, key: impl AsRef<[u8]>) -> Result<KeyGuard<'_>> {
        self.0.lock_part(Part::new(Mode::Shared, granule_of_key(key)), Limit::Never)
    }

    /// Does what [`KeyedLock::read`] does, waiting for at most `limit`, then [`Error::TimedOut`].
    pub fn read_for(&self, key: impl AsRef<[u8]>, limit: Duration) -> Result<KeyGuard<'_>> {
        self.0.lock_part(Part::new(Mode::Shared, granule_of_key(key)), Limit::For(limit))
    }

    /// Does what [`KeyedLock::read`] does, as `participant`, which holds one key at a time.
    pub fn read_as<'a>(
        &'a self,
        participant: &'a Participant,
        key: impl AsRef<[u8]>,
    ) -> Result<KeyParticipantGuard<'a>> {
        self.0.lock_part_as(participant, Part::new(Mode::Shared, granule_of_key(key)), Limit::Forever)
    }

    /// Does what [`KeyedLock::try_read`] does, as `participant`.
    pub fn try_read_as<'a>(
        &'a self,
        participant: &'a Participant,
        key: impl AsRef<[u8]>,
    ) -> Result<KeyParticipantGuard<'a>> {
        self.0.lock_part_as(participant, Part::new(Mode::Shared, granule_of_key(key)), Limit::Never)
    }

    /// Does what [`KeyedLock::read_for`] does, as `participant`.
    pub fn read_for_as<'a>(
        &'a self,
        participant: &'a Participant,
        key: impl AsRef<[u8]>,
        limit: Duration,
    ) -> Result<KeyParticipantGuard<'a>> {
        self.0.lock_part_as(participant, Part::new(Mode::Shared, granule_of_key(key)), Limit::For(limit))
    }

    /// Does what [`KeyedLock::read`] does, for several parts at once. They are taken in an order that all such calls share, so
    /// that these do not wait for each other in a circle. Parts that are named twice, or overlap, are taken once. If one of
    /// them cannot be had, none is held.
    pub fn read_all(&self, keys: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Vec<KeyGuard<'_>>> {
        let keys = keys.into_iter().map(granule_of_key).collect();
        self.0.lock_parts(Mode::Shared, keys_apart(keys))
    }

    /// Takes a key exclusively, waiting without a limit. Errors as [`KeyedLock::read`].
    pub fn write(&self, key: impl AsRef<[u8]>) -> Result<KeyGuard<'_>> {
        self.0.lock_part(Part::new(Mode::Exclusive, granule_of_key(key)), Limit::Forever)
    }

    /// Does what [`KeyedLock::write`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_write(&self, key: impl AsRef<[u8]>) -> Result<KeyGuard<'_>> {
        self.0.lock_part(Part::new(Mode::Exclusive, granule_of_key(key)), Limit::Never)
    }

    /// Does what [`KeyedLock::write`] does, waiting for at most `limit`, then [`Error::TimedOut`].
    pub fn write_for(&self, key: impl AsRef<[u8]>, limit: Duration) -> Result<KeyGuard<'_>> {
        self.0.lock_part(Part::new(Mode::Exclusive, granule_of_key(key)), Limit::For(limit))
    }

    /// Does what [`KeyedLock::write`] does, as `participant`, which holds one key at a time.
    pub fn write_as<'a>(
        &'a self,
        participant: &'a Participant,
        key: impl AsRef<[u8]>,
    ) -> Result<KeyParticipantGuard<'a>> {
        self.0.lock_part_as(participant, Part::new(Mode::Exclusive, granule_of_key(key)), Limit::Forever)
    }

    /// Does what [`KeyedLock::try_write`] does, as `participant`.
    pub fn try_write_as<'a>(
        &'a self,
        participant: &'a Participant,
        key: impl AsRef<[u8]>,
    ) -> Result<KeyParticipantGuard<'a>> {
        self.0.lock_part_as(participant, Part::new(Mode::Exclusive, granule_of_key(key)), Limit::Never)
    }

    /// Does what [`KeyedLock::write_for`] does, as `participant`.
    pub fn write_for_as<'a>(
        &'a self,
        participant: &'a Participant,
        key: impl AsRef<[u8]>,
        limit: Duration,
    ) -> Result<KeyParticipantGuard<'a>> {
        self.0.lock_part_as(participant, Part::new(Mode::Exclusive, granule_of_key(key)), Limit::For(limit))
    }

    /// Does what [`KeyedLock::write`] does, for several parts at once. They are taken in an order that all such calls share, so
    /// that these do not wait for each other in a circle. Parts that are named twice, or overlap, are taken once. If one of
    /// them cannot be had, none is held.
    pub fn write_all(&self, keys: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Vec<KeyGuard<'_>>> {
        let keys = keys.into_iter().map(granule_of_key).collect();
        self.0.lock_parts(Mode::Exclusive, keys_apart(keys))
    }

    /// Returns what a writer's death means for this lock.
    pub fn death_policy(&self) -> DeathPolicy {
        self.0.death_policy()
    }

    /// Marks all keys consistent that dead writers left, once no other participant holds one: the data were repaired, or are
    /// given up.
    pub fn reset(&self) -> Result<()> {
        self.0.reset(Limit::Forever)
    }

    /// Does what [`KeyedLock::reset`] does if that needs no wait, else [`Error::WouldBlock`].
    pub fn try_reset(&self) -> Result<()> {
        self.0.reset(Limit::Never)
    }

    /// Does what [`KeyedLock::reset`] does, waiting for at most `limit`.
    pub fn reset_for(&self, limit: Duration) -> Result<()> {
        self.0.reset(Limit::For(limit))
    }

    /// Returns the last participant that died holding a key; `None` if none did.
    pub fn previous_owner(&self) -> Option<PreviousOwner> {
        self.0.previous_owner()
    }

    /// Returns the handle, for observers.
    pub(crate) fn handle(&self) -> &Handle<KeyedKind> {
        &self.0
    }

    /// Returns the handle, for the C ABI.
    pub(crate) fn into_handle(self) -> Handle<KeyedKind> {
        self.0
    }
}

/// Returns the granule of a key: by its hash (FNV-1a of 128 bits), which is a part of the file's format.
pub(crate) fn granule_of_key(key: impl AsRef<[u8]>) -> Granule {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let key = key.as_ref();
    let hash = key.iter().fold(OFFSET, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME));
    let extent = Extent { first: (hash >> 64) as u64, last: hash as u64 };
    Granule { extent, key: KeyBeginning::of(key) }
}

/// Returns each key once.
pub(crate) fn keys_apart(mut keys: Vec<Granule>) -> Vec<Granule> {
    keys.sort_unstable_by_key(|key| (key.extent.first, key.extent.last));
    keys.dedup_by_key(|key| key.extent);
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors of the hash's authors (Fowler, Noll and Vo; RFC 9923).
    #[test]
    fn keys_are_hashed_as_published() {
        let hash = |key: &str| {
            let Extent { first, last } = granule_of_key(key).extent;
            u128::from(first) << 64 | u128::from(last)
        };
        assert_eq!(hash(""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(hash("a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_eq!(hash("foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }
}
