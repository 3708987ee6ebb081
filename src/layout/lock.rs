//! One lock's region: the words of the lock, the registers `number`, and a cell for each slot.

use super::Text;
use crate::sync::{AtomicU32, AtomicU64};
use std::mem::{offset_of, size_of};

/// The words that belong to the lock rather than to a slot.
///
/// | word | who writes it | when |
/// |---|---|---|
/// | `control`, `asked_since` | the candidate: the head of the line | asking for the privilege, and having it |
/// | `retained_at`, `back_off`, `plain_entries`, `last_plain` | the holder | when its entry was no retained one |
/// | `token` | the holder | on entering |
/// | `state` | the holder; or the reaper of a dead holder | consistent again or given up; owner-dead |
/// | `previous_owner` | the reaper of a dead holder | before `state` |
/// | `event`, `polite` | those who step out of the line, and who calls them | |
/// | `ring_bound` | of a ring: whoever has the privilege | before it links a machine above it |
#[repr(C, align(128))]
pub struct LockWords {
    /// Who retains the privilege: the `algorithm` room's `retained`.
    pub control: AtomicU64,
    /// The fencing token with which the present retention began.
    pub retained_at: AtomicU64,
    /// So many plain entries must come before the next retention.
    pub back_off: AtomicU64,
    /// So many have come.
    pub plain_entries: AtomicU64,
    /// The slot of the last of them, plus 1.
    pub last_plain: AtomicU64,
    /// Since when the retainer has been asked for the privilege (`CLOCK_MONOTONIC`, nanoseconds); 0 = it is not.
    pub asked_since: AtomicU64,
    /// The last fencing token given out.
    pub token: AtomicU64,
    /// The `algorithm` room's `Health`, as a number.
    pub state: AtomicU32,
    // All of this in one cache line: an entry that is no retained one writes to several of them.
    reserved_state: AtomicU32,
    reserved_line: [AtomicU64; 8],
    /// Who died holding the lock, last.
    pub previous_owner: PreviousOwner,
    /// Futex word: changes when one who stepped out of the line should come back.
    pub event: AtomicU32,
    /// Not 0 while somebody may sleep on `event`.
    pub polite: AtomicU32,
    /// One more than the highest machine that ever was on the ring.
    pub ring_bound: AtomicU32,
    reserved_ring: AtomicU32,
    reserved: [AtomicU64; 30],
}

/// The news about a dead holder: for people to read, and the fencing token for programs to compare.
#[repr(C)]
pub struct PreviousOwner {
    /// The fencing token it held.
    pub token: AtomicU64,
    /// Its process.
    pub pid: AtomicU32,
    /// Its thread.
    pub tid: AtomicU32,
    reserved: [AtomicU64; 6],
    /// What it called itself.
    pub label: Text<8>,
}

/// What one slot says about itself in one lock, besides its `number`. Written by the slot's owner, or by whoever
/// holds the slot's byte lock after its death; `wake`, `parked` and `successor` also by those who wait for the slot.
#[repr(C, align(64))]
pub struct Cell {
    /// 0, or the fencing token with which this slot is in the critical section; all ones while it tries to enter.
    pub held: AtomicU64,
    /// When it entered, or began to wait if it insists on its place in the line (`CLOCK_MONOTONIC`, nanoseconds); 0 = not known.
    pub since: AtomicU64,
    /// Futex word: changes whenever those who wait for this slot should look again.
    pub wake: AtomicU32,
    /// 0, or how whoever may sleep on `wake` wants to be woken: the `wait` room's `ParkingSpot`.
    pub parked: AtomicU32,
    /// Of a ring: the state S of this slot's machine. Who writes it and the next two, and when: the `algorithm` room's
    /// `ring`.
    pub ring_state: AtomicU64,
    /// Of a ring: its place there, with a version.
    pub ring_link: AtomicU64,
    /// Of a ring: does its participant want a turn?
    pub ring_wish: AtomicU32,
    /// 0, or the slot that comes next after this one and is awake, plus 1. Only a hint.
    pub successor: AtomicU32,
    reserved: [AtomicU64; 2],
}

const _: () = {
    assert!(size_of::<LockWords>() == 512);
    assert!(offset_of!(LockWords, control) == 0);
    assert!(offset_of!(LockWords, token) == 48);
    assert!(offset_of!(LockWords, state) == 56);
    assert!(offset_of!(LockWords, previous_owner) == 128);
    assert!(offset_of!(LockWords, event) == 256);
    assert!(offset_of!(LockWords, ring_bound) == 264);
    assert!(size_of::<PreviousOwner>() == 128);
    assert!(offset_of!(PreviousOwner, label) == 64);
    assert!(size_of::<Cell>() == 64);
    assert!(offset_of!(Cell, held) == 0);
    assert!(offset_of!(Cell, wake) == 16);
    assert!(offset_of!(Cell, parked) == 20);
    assert!(offset_of!(Cell, ring_state) == 24);
    assert!(offset_of!(Cell, ring_link) == 32);
    assert!(offset_of!(Cell, ring_wish) == 40);
    assert!(offset_of!(Cell, successor) == 44);
};
