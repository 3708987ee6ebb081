//! The kinds of locks, and the lock file they come from: what a Rust program uses.

mod acquired;
#[cfg(feature = "capi")]
mod any_handle;
mod any_lock;
#[cfg(feature = "async")]
mod asynchronous;
mod barrier;
mod claimed;
mod condition;
mod debug;
mod directory;
mod event;
mod file;
mod file_waits;
mod follow;
mod getters;
mod group_lock;
mod guard;
mod guarded;
mod handle;
mod handle_as;
#[cfg(feature = "capi")]
mod hold;
mod keyed_lock;
mod link_agent;
mod link_share;
mod linkable;
mod maintenance;
mod mutex;
mod named;
mod once;
mod owned;
mod part;
mod participant;
mod parts;
mod permits;
mod range_lock;
mod recorder;
mod removal;
mod ring;
mod rwlock;
mod rwlock_guard;
mod rwlock_modes;
mod semaphore;
mod settings;
mod sleeping;
mod timed;
mod transferred;

pub use acquired::{Acquired, PreviousOwner};
pub use any_lock::AnyLock;
#[cfg(feature = "async")]
pub use asynchronous::{AcquireFd, AcquireFuture, AcquireUpgradableFuture};
pub use barrier::{Barrier, BarrierKind, BarrierOptions};
pub use condition::{Condition, ConditionKind, ConditionOptions, ExclusiveGuard};
pub use event::{Event, EventKind, EventOptions};
pub use file::{LockFile, LockFileOptions};
pub use group_lock::{GroupGuard, GroupKind, GroupLock, GroupLockOptions, GroupParticipantGuard};
pub use guard::{Guard, GuardAs};
pub use guarded::{Guarded, GuardedGuard};
pub use keyed_lock::{KeyGuard, KeyParticipantGuard, KeyedKind, KeyedLock, KeyedLockOptions};
pub use link_agent::{LinkAgent, LinkedData, LinkedLock, LinkedWish};
pub use link_share::{LinkedDemand, LinkedSemaphore};
pub use linkable::Linkable;
pub use maintenance::Reaped;
pub use mutex::{
    DEFAULT_PATIENCE, Mutex, MutexAlgorithm, MutexGuard, MutexKind, MutexOptions, ParticipantGuard,
};
pub use once::{Once, OnceKind, OnceOptions, OnceRun};
pub use owned::{
    OwnedGroupGuard, OwnedGuard, OwnedKeyGuard, OwnedMutexGuard, OwnedPermits, OwnedRangeGuard,
    OwnedRwLockGuard,
};
pub use participant::{Participant, ParticipantOptions};
pub use range_lock::{RangeGuard, RangeKind, RangeLock, RangeLockOptions, RangeParticipantGuard};
pub use ring::{RingAlgorithm, RingKind, RingOptions, TurnGuard, TurnParticipantGuard, TurnRing};
pub use rwlock::{
    RwLock, RwLockKind, RwLockOptions, RwLockReadGuard, RwLockReadParticipantGuard, RwLockUpgradableGuard,
    RwLockUpgradableParticipantGuard, RwLockWriteGuard, RwLockWriteParticipantGuard,
};
pub use rwlock_guard::{ChangesMode, NotUpgraded, Reading, Upgradable, Writing};
pub use semaphore::{ParticipantPermits, Permits, Semaphore, SemaphoreKind, SemaphoreOptions};

pub use crate::layout::DeathPolicy;

#[cfg(feature = "capi")]
pub(crate) use any_handle::{AnyHandleRef, of_any};
#[cfg(feature = "capi")]
pub(crate) use claimed::with_room;
#[cfg(feature = "capi")]
pub(crate) use condition::{Held, Waited};
pub(crate) use handle::{Handle, LockKind};
#[cfg(feature = "capi")]
pub(crate) use hold::{Hold, Wanted};
pub(crate) use keyed_lock::granule_of_key;
#[cfg(feature = "capi")]
pub(crate) use keyed_lock::keys_apart;
pub(crate) use named::{Named, names_of};
#[cfg(feature = "capi")]
pub(crate) use part::{Granule, Part};
pub(crate) use range_lock::extent_of;
#[cfg(feature = "capi")]
pub(crate) use range_lock::ranges_apart;
