//! One lock's region: the words of the lock, the registers `number`, and a cell for each slot.

use super::Text;
use crate::sync::{AtomicU32, AtomicU64};
use std::mem::{offset_of, size_of};

/// The words that belong to the lock rather than to a slot.
///
/// | word | who writes it | when |
/// |---|---|---|
/// | `token` | the holder | on entering |
/// | `state` | the holder; or the reaper of a dead holder | consistent again or given up; owner-dead |
/// | `previous_owner` | the reaper of a dead holder | before `state` |
#[repr(C, align(128))]
pub struct LockWords {
    /// Room for the retained privilege.
    control_reserved: [AtomicU64; 8],
    /// The last fencing token given out.
    pub token: AtomicU64,
    /// The `algorithm` room's `Health`, as a number.
    pub state: AtomicU32,
    state_reserved: [AtomicU32; 13],
    /// Who died holding the lock, last.
    pub previous_owner: PreviousOwner,
    reserved: [AtomicU64; 32],
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
/// holds the slot's byte lock after its death; `wake` and `sleepers` also by those who wait for the slot.
#[repr(C, align(64))]
pub struct Cell {
    /// 0, or the fencing token with which this slot is in the critical section.
    pub held: AtomicU64,
    /// When it entered, or began to sleep in the line (`CLOCK_MONOTONIC`, nanoseconds); 0 = not known.
    pub since: AtomicU64,
    /// Futex word: changes whenever those who wait for this slot should look again.
    pub wake: AtomicU32,
    /// Not 0 while somebody may sleep on `wake`.
    pub sleepers: AtomicU32,
    reserved: [AtomicU64; 5],
}

const _: () = {
    assert!(size_of::<LockWords>() == 512);
    assert!(offset_of!(LockWords, token) == 64);
    assert!(offset_of!(LockWords, state) == 72);
    assert!(offset_of!(LockWords, previous_owner) == 128);
    assert!(size_of::<PreviousOwner>() == 128);
    assert!(offset_of!(PreviousOwner, label) == 64);
    assert!(size_of::<Cell>() == 64);
    assert!(offset_of!(Cell, held) == 0);
    assert!(offset_of!(Cell, wake) == 16);
    assert!(offset_of!(Cell, sleepers) == 20);
};
