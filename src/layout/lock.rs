//! One lock's region: the words of the lock, the registers `number`, and a cell for each slot.

use super::Text;
use std::{
    mem::{offset_of, size_of},
    ptr,
};
use turnlock_core::sync::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// The words that belong to the lock rather than to a slot.
///
/// | word | its writer | when |
/// |---|---|---|
/// | `bias`, `revoking_since` | the queue head | revoking the bias, and holding the lock |
/// | `biased_at`, `bias_back_off`, `unbiased`, `last_unbiased` | the holder | when its acquisition was no biased one |
/// | `readers_not_before` | the writer that revoked the bias towards readers | |
/// | `token` | the holder | on entering |
/// | `state` | the holder; or the reaper of a dead holder | consistent again or given up; owner-dead |
/// | `previous_owner` | the reaper of a dead holder | before `state` |
/// | `standby_event`, `standby_parked` | the waiters that back off, and the participants that unpark them | |
/// | `designated_waker`, `designated_looked_at`, `has_passive` | likewise | |
/// | `first_token` | the participant that names the lock; the one that clears the file | |
/// | `contended`, `timed_out`, `died`, `passed_over` | the participant that waited, gave up, reaped, skipped | adding one |
/// | `ring` | the owner of a ring's privilege | |
/// | `permits` | the participant that creates a semaphore, and the one that resizes it; of a linked one, its agent | |
/// | `coordination` | of a condition, an event, a barrier or a once: [`turnlock_core::coordination`] says who | |
/// | `dead_parts` | the reaper of a participant that held a part of the lock; the holder that marks parts consistent | |
/// | `members_died` | the reaper of a member of a group | adding one |
/// | `deaths_repaired` | the member that marks deaths consistent | by compare-exchange |
/// | `total` | of a linked semaphore: the participant that creates it | |
/// | `token_end`, `agent`, `wanted`, `lease_end` | of a linked lock: [`turnlock_core::algorithm::link`] says who | |
#[repr(C, align(128))]
pub struct LockWords {
    /// The bias owner and its mark, see [`turnlock_core::algorithm::bias`].
    pub bias: AtomicU64,
    /// The fencing token with which the present bias began.
    pub biased_at: AtomicU64,
    /// How many unbiased acquisitions must come before the next bias.
    pub bias_back_off: AtomicU64,
    /// How many have come.
    pub unbiased: AtomicU64,
    /// The slot of the last of them, plus 1.
    pub last_unbiased: AtomicU64,
    /// Since when the bias has been under revocation (`CLOCK_MONOTONIC`, nanoseconds); 0 = it is not.
    pub revoking_since: AtomicU64,
    /// The last fencing token given out.
    pub token: AtomicU64,
    /// A [`turnlock_core::algorithm::ownership::Health`], as a number.
    pub state: AtomicU32,
    // All of this in one cache line: an unbiased acquisition writes to several of them.
    reserved_state: AtomicU32,
    /// Of a rwlock: when it may be biased to its readers again (`CLOCK_MONOTONIC`, nanoseconds).
    pub readers_not_before: AtomicU64,
    reserved_line: [AtomicU64; 7],
    /// The last holder that died with the lock.
    pub previous_owner: PreviousOwner,
    /// Futex word: changes when one that backed off should queue again.
    pub standby_event: AtomicU32,
    /// Not 0 while the designated waker may be parked on `standby_event`.
    pub standby_parked: AtomicU32,
    /// 0, or the slot of the designated waker, plus 1: of those that wait, the one that is the next to be queued for good.
    pub designated_waker: AtomicU32,
    /// Not 0 since the passive set had a member.
    pub has_passive: AtomicU32,
    /// When the designated waker last looked at the lock (`CLOCK_MONOTONIC`, nanoseconds).
    pub designated_looked_at: AtomicU64,
    /// The fencing token before the first one that the lock gave out. With those below in the line of words that waiters write
    /// anyway.
    pub first_token: AtomicU64,
    /// How many acquisitions had to wait, for longer than a waiter spins, and how many tries failed for that.
    pub contended: AtomicU64,
    /// How many gave up when their time was over.
    pub timed_out: AtomicU64,
    /// How many died holding the lock. A death whose reaper is killed may be counted twice.
    pub died: AtomicU64,
    /// How often a waiter skipped another.
    pub passed_over: AtomicU64,
    reserved_standby: [AtomicU64; 8],
    /// The words of a ring.
    pub ring: RingWords,
    /// Of a semaphore: how many permits it has; of a linked one, how many of them this host has.
    pub permits: AtomicU32,
    /// Of a range lock or a keyed lock: not 0 if a slot may have a dead claim; changes with each.
    pub dead_parts: AtomicU32,
    /// The words of a condition, an event, a barrier or a once.
    pub coordination: CoordinationWords,
    /// Of a group lock: how many members have died inside, see [`turnlock_core::algorithm::member_deaths`].
    pub members_died: AtomicU64,
    /// Of a group lock: how many of these deaths are marked consistent.
    pub deaths_repaired: AtomicU64,
    /// Of a linked lock: the last fencing token of the block that is reserved for this host.
    pub token_end: AtomicU64,
    /// Of a linked lock: 0, or the slot of its agent, plus 1.
    pub agent: AtomicU64,
    /// Of a linked lock: not 0 since a program wanted it and was not admitted. Of a semaphore: how many permits one wanted, at most.
    pub wanted: AtomicU32,
    /// Of a linked semaphore: how many permits it has over all hosts. Else 0.
    pub total: AtomicU32,
    /// Of a linked lock: until when this host has the privilege, by `CLOCK_BOOTTIME`; 0: until it gives it up.
    pub lease_end: AtomicU64,
    reserved: [AtomicU64; 2],
}

/// The words of what is no lock. Each kind uses some of them.
#[repr(C, align(8))]
pub struct CoordinationWords {
    /// Of an event, whether it is set; of a barrier, its generation and phase; of a once, whether it is done.
    pub state: AtomicU64,
    /// Of a condition: the last number drawn, for a wait or a notification.
    pub sequence: AtomicU64,
    /// Of a condition: the lock that it is used with, as [`CoordinationWords::partner_word`] has it; 0 = none yet.
    pub partner: AtomicU64,
    pub(super) unused: AtomicU32,
    /// Futex word of an event or a barrier: changes when its waiters should look again.
    pub wake: AtomicU32,
    reserved: [AtomicU32; 4],
}

impl CoordinationWords {
    /// Returns how [`CoordinationWords::partner`] names the lock in `region`, whose name has this generation. Never 0.
    pub const fn partner_word(region: usize, generation: u64) -> u64 {
        ((region as u64) << 32) | (generation & 0xffff_ffff)
    }
}

/// The words of a ring.
#[repr(C, align(8))]
pub struct RingWords {
    /// One more than the highest machine that ever was on the ring. Written by the one that has the privilege, before it links
    /// a machine above it.
    pub bound: AtomicU32,
}

/// The owner-dead notice: for people to read, and the fencing token for programs to compare.
#[repr(C)]
pub struct PreviousOwner {
    /// The fencing token it held.
    pub token: AtomicU64,
    /// The process of the dead holder.
    pub pid: AtomicU32,
    /// The thread of the dead holder.
    pub tid: AtomicU32,
    reserved: [AtomicU64; 6],
    /// What it called itself.
    pub label: Text<8>,
}

impl PreviousOwner {
    /// Clears the notice.
    pub fn clear(&self) {
        self.token.store(0, Relaxed);
        self.pid.store(0, Relaxed);
        self.tid.store(0, Relaxed);
        self.label.set("");
    }
}

/// What one slot says about itself in one lock, besides its `number`. Written by the slot's owner, or after its death by the
/// reaper that holds the slot's byte lock; `wake`, `parked`, `successor`, `evicted` and `called` by those that wait for the
/// slot, or with it; `dead` also by the one that marks what a dead one held as consistent.
#[repr(C, align(128))]
#[cfg_attr(test, derive(Default))]
pub struct Cell {
    /// 0, or the fencing token with which this slot is in the critical section; all ones while it tries to enter.
    pub held: AtomicU64,
    /// When it entered, or began to wait if it is queued for good (`CLOCK_MONOTONIC`, nanoseconds); 0 = not known.
    pub since: AtomicU64,
    /// Futex word: changes whenever the waiters for this slot should look again.
    pub wake: AtomicU32,
    /// 0, or how a waiter that may be parked on `wake` wants to be unparked: [`turnlock_core::wait::ParkingSpot`].
    pub parked: AtomicU32,
    /// 0, or the slot that comes next after this one and is awake, plus 1. Only a hint.
    pub successor: AtomicU32,
    /// Of a condition: not 0 while the slot's participant may sleep on `called`.
    pub asleep: AtomicU32,
    /// Since when the slot's call has waited, in the queue, in the standby queue or on a ring (`CLOCK_MONOTONIC`,
    /// nanoseconds); 0 = it does not, or has not for longer than a first look takes. For observers.
    pub waiting_since: AtomicU64,
    /// The number of the slot's doorway, which counts on from one participant in the slot to the next.
    pub doorway: AtomicU64,
    /// The latest of its doorways that others pass over: [`turnlock_core::algorithm::eviction`]. Written by the waiters
    /// for the slot.
    pub evicted: AtomicU64,
    /// Futex word: changes when the slot is called from the passive set, to be the designated waker; of a condition, when it is
    /// notified.
    pub called: AtomicU32,
    /// Whether a participant died that held a part of the lock which is not marked consistent yet:
    /// [`turnlock_core::algorithm::dead_claim`].
    pub dead: AtomicU32,
    /// The slot's machine on a ring.
    pub ring: RingCell,
    /// What the slot claims of the lock: [`turnlock_core::algorithm::claim`].
    pub claim: ClaimCell,
    /// The first half of what the dead one held: [`turnlock_core::algorithm::claim::Extent`].
    pub dead_first: AtomicU64,
    /// The second half.
    pub dead_last: AtomicU64,
}

impl Cell {
    /// Of how many words of 8 bytes it is made.
    pub const WORDS: usize = size_of::<Self>() / 8;
    /// Which of them is `doorway`.
    pub const DOORWAY: usize = offset_of!(Self, doorway) / 8;
    /// Which is the mode word of its claim.
    pub const MODE_WORD: usize = (offset_of!(Self, claim) + offset_of!(ClaimCell, mode_word)) / 8;
    /// Which is the first half of its claim's extent.
    pub const FIRST: usize = (offset_of!(Self, claim) + offset_of!(ClaimCell, first)) / 8;

    /// Returns it as words, of which those above are meant.
    #[inline(always)]
    pub fn words(&self) -> &[AtomicU64; Self::WORDS] {
        // SAFETY: atomic numbers side by side, all of it, and aligned.
        unsafe { &*ptr::from_ref(self).cast() }
    }
}

/// A claim.
#[repr(C)]
#[cfg_attr(test, derive(Default))]
pub struct ClaimCell {
    /// Mode (the lower 4 bytes) and weight.
    pub mode_word: AtomicU64,
    /// The first half of the extent.
    pub first: AtomicU64,
    /// The second half. Of a barrier: the process of the slot's participant, when it arrived. Of a group lock: the deaths of
    /// which the holder was told.
    pub last: AtomicU64,
}

/// A machine of a ring.
///
/// The writer of each word, and when it writes: [`turnlock_core::algorithm::ring`].
#[repr(C)]
#[cfg_attr(test, derive(Default))]
pub struct RingCell {
    /// The state S of this slot's machine.
    pub state: AtomicU64,
    /// Its place on the ring, with a version.
    pub link: AtomicU64,
    /// What its participant wants of the ring.
    pub membership: AtomicU32,
}

const _: () = {
    assert!(size_of::<LockWords>() == 512);
    assert!(offset_of!(LockWords, bias) == 0);
    assert!(offset_of!(LockWords, token) == 48);
    assert!(offset_of!(LockWords, state) == 56);
    assert!(offset_of!(LockWords, readers_not_before) == 64);
    assert!(offset_of!(LockWords, previous_owner) == 128);
    assert!(offset_of!(LockWords, standby_event) == 256);
    assert!(offset_of!(LockWords, first_token) == 280);
    assert!(offset_of!(LockWords, passed_over) == 312);
    assert!(offset_of!(LockWords, ring) == 384);
    assert!(offset_of!(LockWords, permits) == 392);
    assert!(offset_of!(LockWords, dead_parts) == 396);
    assert!(offset_of!(LockWords, coordination) == 400);
    assert!(offset_of!(LockWords, members_died) == 448);
    assert!(offset_of!(LockWords, deaths_repaired) == 456);
    assert!(offset_of!(LockWords, token_end) == 464);
    assert!(offset_of!(LockWords, agent) == 472);
    assert!(offset_of!(LockWords, wanted) == 480);
    assert!(offset_of!(LockWords, total) == 484);
    assert!(offset_of!(LockWords, lease_end) == 488);
    assert!(size_of::<CoordinationWords>() == 48);
    assert!(offset_of!(CoordinationWords, sequence) == 8);
    assert!(offset_of!(CoordinationWords, partner) == 16);
    assert!(offset_of!(CoordinationWords, unused) == 24);
    assert!(offset_of!(CoordinationWords, wake) == 28);
    assert!(size_of::<PreviousOwner>() == 128);
    assert!(offset_of!(PreviousOwner, label) == 64);
    assert!(size_of::<Cell>() == 128);
    assert!(offset_of!(Cell, held) == 0);
    assert!(offset_of!(Cell, wake) == 16);
    assert!(offset_of!(Cell, parked) == 20);
    assert!(offset_of!(Cell, successor) == 24);
    assert!(offset_of!(Cell, asleep) == 28);
    assert!(offset_of!(Cell, waiting_since) == 32);
    assert!(offset_of!(Cell, doorway) == 40);
    assert!(offset_of!(Cell, evicted) == 48);
    assert!(offset_of!(Cell, called) == 56);
    assert!(offset_of!(Cell, dead) == 60);
    assert!(offset_of!(Cell, ring) == 64);
    assert!(offset_of!(Cell, claim) == 88);
    assert!(offset_of!(Cell, dead_first) == 112);
    assert!(size_of::<RingCell>() == 24 && size_of::<ClaimCell>() == 24);
};
