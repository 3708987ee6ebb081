//! The slot table: the participants. For people to read; liveness is the slot's byte lock and nothing here.

use super::{KeyRecord, Text};
use std::mem::{offset_of, size_of};
use turnlock_core::sync::{AtomicU32, AtomicU64};

/// One participant. Written only by the holder of the slot's byte lock.
#[repr(C, align(128))]
pub struct SlotRecord {
    /// A [`SlotState`].
    pub state: AtomicU32,
    /// A [`LivenessLockKind`].
    pub liveness_lock: AtomicU32,
    /// Goes up by one whenever the slot changes hands or is reaped.
    pub generation: AtomicU64,
    /// The process, as its own PID namespace numbers it.
    pub pid: AtomicU32,
    /// The thread, likewise.
    pub tid: AtomicU32,
    /// Which PID namespace `pid` belongs to (its inode number).
    pub pid_namespace: AtomicU64,
    /// When the slot was taken, in nanoseconds since 1970.
    pub attached_realtime_ns: AtomicU64,
    /// Not 0: its waits cannot see whether others are alive, since it can open no descriptor of the file.
    pub cannot_probe: AtomicU32,
    /// The lower half of `generation` if the slot is a thread's own: no other thread takes or releases a lock by it. Else 0.
    pub thread_generation: AtomicU32,
    /// Futex word: changes when the participant's service thread should look into its mailboxes.
    pub bell: AtomicU32,
    /// Not 0 while that thread may be asleep on `bell`.
    pub asleep: AtomicU32,
    /// Which lock the participant waits for without a limit, if it is a thread's own and has slept: a
    /// [`turnlock_core::deadlock::WaitWord`].
    pub wait: AtomicU64,
    /// What the participant calls itself.
    pub label: Text<8>,
    /// The name of its program.
    pub program: Text<8>,
    /// The key of a keyed lock that the participant asked for last, for observers.
    pub key: KeyRecord,
}

/// The values of [`SlotRecord::state`]. A hint for a quick choice of slot; the byte lock decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SlotState {
    /// Given back, every register cleared.
    Free = 0,
    /// Taken (what any other value is read as too).
    InUse = 1,
}

/// The values of [`SlotRecord::liveness_lock`]: what keeps the slot's byte lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum LivenessLockKind {
    /// A mapping: gone with the address space, and with nothing else.
    Mapping = 1,
    /// An open descriptor: where mappings do not pin byte locks (overlay file systems), and for `turnlock run`,
    /// whose child inherits it. A stray `close` of it would be taken for a death.
    Descriptor = 2,
    /// A descriptor that others have copies of: a shell's own, or one that the program has which this process became. Closing
    /// the last copy is an ordinary end where a death releases the lock: it is not told as a death.
    Shared = 3,
}

const _: () = {
    assert!(size_of::<SlotRecord>() == 256);
    assert!(offset_of!(SlotRecord, generation) == 8);
    assert!(offset_of!(SlotRecord, cannot_probe) == 40);
    assert!(offset_of!(SlotRecord, thread_generation) == 44);
    assert!(offset_of!(SlotRecord, bell) == 48);
    assert!(offset_of!(SlotRecord, wait) == 56);
    assert!(offset_of!(SlotRecord, label) == 64);
    assert!(offset_of!(SlotRecord, program) == 128);
    assert!(offset_of!(SlotRecord, key) == 192);
};
