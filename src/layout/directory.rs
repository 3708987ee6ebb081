//! The directory: which named lock is which.

use super::Text;
use std::mem::{offset_of, size_of};
use turnlock_core::sync::{AtomicU32, AtomicU64};

/// The longest name of a lock, in bytes.
pub const MAX_NAME_BYTES: usize = Text::<8>::MAX_BYTES;

/// One named lock. Written only under the directory's own lock (region 0), `generation` last.
#[repr(C, align(128))]
pub struct DirectoryEntry {
    /// Goes up by one when the entry is given a name, and when the lock is removed: odd while it names a lock. A handle keeps
    /// the one that it found; when it differs, the lock was removed.
    pub generation: AtomicU64,
    /// A [`super::Kind`].
    pub kind: AtomicU32,
    /// An [`super::Algorithm`].
    pub algorithm: AtomicU32,
    /// Of a sum ring: from one machine to the next in order of service. Else 0.
    pub ring_step: AtomicU32,
    /// A [`super::DeathPolicy`].
    pub death_policy: AtomicU32,
    /// For how long a waiter lets others pass before it is queued for good, in nanoseconds.
    pub patience_ns: AtomicU64,
    /// 1: the lock is recursive. Else 0.
    pub recursive: AtomicU32,
    /// Of a semaphore: how many permits it was created with. Else 0.
    pub permits: AtomicU32,
    /// 1: the lock is linked ([`turnlock_core::algorithm::link`]). Else 0.
    pub linked: AtomicU32,
    more_reserved: [AtomicU32; 5],
    /// The name, at most [`MAX_NAME_BYTES`].
    pub name: Text<8>,
}

/// Returns whether an entry of this generation names a lock.
pub const fn names_a_lock(generation: u64) -> bool {
    generation % 2 == 1
}

const _: () = {
    assert!(size_of::<DirectoryEntry>() == 128);
    assert!(offset_of!(DirectoryEntry, kind) == 8);
    assert!(offset_of!(DirectoryEntry, ring_step) == 16);
    assert!(offset_of!(DirectoryEntry, death_policy) == 20);
    assert!(offset_of!(DirectoryEntry, patience_ns) == 24);
    assert!(offset_of!(DirectoryEntry, recursive) == 32);
    assert!(offset_of!(DirectoryEntry, permits) == 36);
    assert!(offset_of!(DirectoryEntry, linked) == 40);
    assert!(offset_of!(DirectoryEntry, name) == 64);
    assert!(size_of::<AtomicU64>() == 8);
};
