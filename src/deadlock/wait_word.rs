//! What a slot says of its participant's wait.

use crate::layout::{SlotRecord, SlotState, View};
use turnlock_core::sync::{
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

/// The word of a wait without a limit, of a thread's own slot: region + 1 in the low 16 bits, or 0; whether the wait may be told of a
/// deadlock; and how often the word was written.
///
/// Written by the thread alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WaitWord(u64);

const REGION: u64 = 0xffff;
const MAY_BE_TOLD: u64 = 1 << 16;
const ONE: u64 = 1 << 17;

impl WaitWord {
    /// No wait.
    pub const NONE: Self = Self(0);

    /// Says that the thread waits for the lock in `region`, without a limit. Returns what stood there, for [`WaitWord::end`].
    pub fn begin(record: &SlotRecord, region: usize, may_be_told: bool) -> Self {
        let before = Self(record.wait.load(Relaxed));
        let told = if may_be_told { MAY_BE_TOLD } else { 0 };
        let word = before.next() | (region as u64 + 1) | told;
        // Release. Partner: the acquire load in `of`: a reader of the word sees all that the thread holds, and its claim.
        record.wait.store(word, Release);
        before
    }

    /// Says that it does not any more, but as `before` says: a signal handler's wait ends inside the one that it interrupted.
    pub fn end(record: &SlotRecord, before: Self) {
        let now = Self(record.wait.load(Relaxed));
        record.wait.store(now.next() | before.0 & (ONE - 1), Relaxed);
        // Partner: the acquire loads of `held` and of claims in `Edge::read`. If such a load reads a store that comes after this fence, the
        // load of this word that comes after it does not read the wait.
        fence(Release);
    }

    fn next(self) -> u64 {
        (self.0 & !(ONE - 1)).wrapping_add(ONE)
    }

    /// Returns the word of `slot`, if its participant is a thread that waits.
    pub fn of(view: View, slot: usize) -> Option<Self> {
        let record = &view.slots()[slot];
        if !is_of_thread(record) {
            return None;
        }
        // Acquire. Partner: the release store in `begin`.
        let word = Self(record.wait.load(Acquire));
        word.region(view).map(|_| word)
    }

    /// Returns the lock that is waited for.
    pub fn region(self, view: View) -> Option<usize> {
        let region = ((self.0 & REGION) as usize).checked_sub(1)?;
        (1..=view.locks_bound()).contains(&region).then_some(region)
    }

    /// Returns whether the wait may end by the error that says so.
    pub fn may_be_told(self) -> bool {
        self.0 & MAY_BE_TOLD != 0
    }
}

/// Returns whether the slot is a thread's own, so that no other thread takes or releases a lock by it.
pub fn is_of_thread(record: &SlotRecord) -> bool {
    let generation = record.generation.load(Acquire) as u32;
    generation != 0
        && record.thread_generation.load(Acquire) == generation
        && record.state.load(Acquire) == SlotState::InUse as u32
}

/// Returns whether two slots are of one thread: one that holds several parts has several slots.
pub fn is_same_thread(one: &SlotRecord, other: &SlotRecord) -> bool {
    std::ptr::eq(one, other)
        || one.tid.load(Relaxed) == other.tid.load(Relaxed)
            && one.pid.load(Relaxed) == other.pid.load(Relaxed)
            && one.pid_namespace.load(Relaxed) == other.pid_namespace.load(Relaxed)
}
