//! The methods of the locks that return futures.

use super::{
    acquisition::Wish,
    future::{AcquireFuture, AcquireUpgradableFuture},
};
use crate::kind::{
    group_lock::{GroupKind, GroupLock},
    handle::Handle,
    keyed_lock::{KeyedKind, KeyedLock, granule_of_key},
    mutex::{Mutex, MutexKind},
    part::Part,
    parts::GranuleKind,
    range_lock::{RangeKind, RangeLock, extent_of},
    rwlock::{RwLock, RwLockKind},
    semaphore::{Semaphore, SemaphoreKind},
};
use std::ops::RangeBounds;
use turnlock_core::algorithm::claim::{Claim, Extent, Mode};
#[cfg(doc)]
use turnlock_core::error::Error;
use turnlock_core::error::Result;

impl Mutex {
    /// Returns a future that takes the lock, for a guard that can be stored and sent. See [`AcquireFuture`].
    ///
    /// ```
    /// # async fn example() -> turnlock::Result<()> {
    /// let accounts = turnlock::LockFile::open("/run/app/app.lock")?.mutex("accounts")?;
    /// let guard = accounts.lock_async().await?;
    /// // ... the task may move to another thread meanwhile ...
    /// guard.unlock()
    /// # }
    /// ```
    pub fn lock_async(&self) -> AcquireFuture<MutexKind> {
        let part = Part::new(Mode::Exclusive, Extent::WHOLE);
        AcquireFuture::new(Ok(Wish {
            handle: self.0.clone(),
            part,
            take: |handle, participant, _, limit| handle.lock_as(participant, limit),
            claim: |_| (),
        }))
    }
}

impl RwLock {
    fn wish(&self, mode: Mode) -> AcquireFuture<RwLockKind> {
        AcquireFuture::new(Ok(Wish {
            handle: self.0.clone(),
            part: Part::new(mode, Extent::WHOLE),
            take: |handle, participant, part, limit| {
                handle.lock_in_mode_as(participant, part.claim.mode, limit)
            },
            claim: |part| part.claim,
        }))
    }

    /// Returns a future that takes the lock shared, for a guard that can be stored and sent. See [`AcquireFuture`].
    pub fn read_async(&self) -> AcquireFuture<RwLockKind> {
        self.wish(Mode::Shared)
    }

    /// Returns a future that takes the lock exclusively, likewise.
    pub fn write_async(&self) -> AcquireFuture<RwLockKind> {
        self.wish(Mode::Exclusive)
    }

    /// Returns a future that takes the lock upgradable, as [`RwLock::upgradable`], likewise. An upgrade waits for the readers inside:
    /// [`Upgradable::try_upgrade`](crate::Upgradable::try_upgrade) does not.
    pub fn upgradable_async(&self) -> AcquireUpgradableFuture {
        AcquireUpgradableFuture(self.wish(Mode::Upgradable))
    }
}

impl Semaphore {
    /// Returns a future that takes `permits`, for a guard that can be stored and sent. See [`AcquireFuture`]; errors as
    /// [`Semaphore::acquire`], too.
    pub fn acquire_async(&self, permits: u32) -> AcquireFuture<SemaphoreKind> {
        let part = Part::new(Mode::Shared, Extent::WHOLE);
        AcquireFuture::new(Ok(Wish {
            handle: self.0.clone(),
            part: Part { claim: Claim { weight: permits, ..part.claim }, ..part },
            take: |handle, participant, part, limit| {
                handle.acquire_permits_as(participant, part.claim.weight, limit)
            },
            claim: |part| part.claim,
        }))
    }
}

fn part_of<K: GranuleKind>(handle: &Handle<K>, part: Result<Part>) -> AcquireFuture<K> {
    AcquireFuture::new(part.map(|part| Wish {
        handle: handle.clone(),
        part,
        take: |handle, participant, part, limit| handle.acquire_part_as(participant, part, limit),
        claim: |part| part.claim,
    }))
}

impl RangeLock {
    /// Returns a future that takes a range shared, for a guard that can be stored and sent. See [`AcquireFuture`];
    /// [`Error::EmptyRange`], too. Futures that wait for the same range are served in the order of their first poll; among other
    /// ranges, those that overlap are in the order of the lock's queue.
    pub fn lock_shared_async(&self, range: impl RangeBounds<u64>) -> AcquireFuture<RangeKind> {
        part_of(&self.0, extent_of(range).map(|extent| Part::new(Mode::Shared, extent)))
    }

    /// Returns a future that takes a range exclusively, likewise.
    pub fn lock_exclusive_async(&self, range: impl RangeBounds<u64>) -> AcquireFuture<RangeKind> {
        part_of(&self.0, extent_of(range).map(|extent| Part::new(Mode::Exclusive, extent)))
    }
}

impl KeyedLock {
    /// Returns a future that takes a key shared, for a guard that can be stored and sent. See [`AcquireFuture`].
    pub fn lock_shared_async(&self, key: impl AsRef<[u8]>) -> AcquireFuture<KeyedKind> {
        part_of(&self.0, Ok(Part::new(Mode::Shared, granule_of_key(key.as_ref()))))
    }

    /// Returns a future that takes a key exclusively, likewise.
    pub fn lock_exclusive_async(&self, key: impl AsRef<[u8]>) -> AcquireFuture<KeyedKind> {
        part_of(&self.0, Ok(Part::new(Mode::Exclusive, granule_of_key(key.as_ref()))))
    }
}

impl GroupLock {
    /// Returns a future that enters as a member of `group`, for a guard that can be stored and sent. See [`AcquireFuture`].
    pub fn lock_async(&self, group: u64) -> AcquireFuture<GroupKind> {
        let claim = Claim::of_group(group);
        AcquireFuture::new(Ok(Wish {
            handle: self.0.clone(),
            part: Part { claim, ..Part::new(claim.mode, claim.extent) },
            take: |handle, participant, part, limit| handle.acquire_as(participant, part.claim, limit),
            claim: |part| part.claim,
        }))
    }
}
