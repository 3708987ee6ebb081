//! The directory: which named lock is which.

use super::Text;
use crate::sync::{AtomicU32, AtomicU64};
use std::mem::{offset_of, size_of};

/// The longest name of a lock, in bytes.
pub const MAX_NAME_BYTES: usize = Text::<8>::MAX_BYTES;

/// One named lock. Written only under the directory's own lock (region 0), `state` last; read by anyone.
#[repr(C, align(128))]
pub struct DirectoryEntry {
    /// An [`EntryState`].
    pub state: AtomicU32,
    /// A [`super::Kind`].
    pub kind: AtomicU32,
    /// An [`super::Algorithm`].
    pub algorithm: AtomicU32,
    /// Of a sum ring: from one machine to the next in order of service. Else 0.
    pub ring_step: AtomicU32,
    /// How long a waiter lets others pass before it is queued for good, in nanoseconds.
    pub patience_ns: AtomicU64,
    /// A [`super::DeathPolicy`].
    pub death_policy: AtomicU32,
    reserved_policy: AtomicU32,
    more_reserved: [AtomicU64; 4],
    /// The name, at most [`MAX_NAME_BYTES`].
    pub name: Text<8>,
}

/// The values of [`DirectoryEntry::state`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum EntryState {
    /// Nothing there (what any other value is read as too): the directory ends here.
    Free = 0,
    /// Complete, and so for the life of the file.
    Ready = 1,
}

const _: () = {
    assert!(size_of::<DirectoryEntry>() == 128);
    assert!(offset_of!(DirectoryEntry, ring_step) == 12);
    assert!(offset_of!(DirectoryEntry, patience_ns) == 16);
    assert!(offset_of!(DirectoryEntry, death_policy) == 24);
    assert!(offset_of!(DirectoryEntry, name) == 64);
    assert!(size_of::<AtomicU64>() == 8);
};
