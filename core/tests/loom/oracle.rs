//! The oracle, which sees everything at once and knows the truth, and what the executions of a search came upon.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};

/// What must hold in every execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// One holder at a time.
    Exclusion,
    /// The data are plain memory (`loom::cell::UnsafeCell`): an access that is not ordered after the last holder's
    /// writes is a failure even if it finds the right value.
    Data,
    /// Each fencing token is larger than the one before.
    Token,
    /// No waiter is overtaken by a participant that began its doorway after the waiter's was finished; and no bias owner
    /// enters after the bias was revoked.
    Order,
    /// The next holder after a death inside has the owner-dead notice, with the dead holder's token; after any other, none.
    OwnerDead,
}

/// The truth. Plain atomics of the standard library: they are no steps of the model and order nothing in it.
#[derive(Default)]
pub struct Oracle {
    /// How many are inside.
    pub inside: AtomicUsize,
    /// The last fencing token.
    pub last_token: AtomicU64,
    /// What the last complete section wrote.
    pub written: AtomicU64,
    /// Whether a holder died inside, and no later holder has repaired the data.
    pub died_inside: AtomicBool,
    /// The token of the last who did.
    pub dead_token: AtomicU64,
    /// The participant that wrote the dead holder's notice, as its slot + 1; 0 = none did.
    pub reaper: AtomicUsize,
    /// How many places in the queue were taken.
    pub places: AtomicUsize,
    /// For each slot, which of these it has; 0 = none.
    pub waiting: [AtomicUsize; 3],
    /// Whether the lock is closed for every participant, and whether it ever was.
    pub closed: AtomicBool,
    pub ever_closed: AtomicBool,
    /// Sections that came to their end.
    pub entries: AtomicUsize,
    /// How often the bias was revoked.
    pub revocations: AtomicUsize,
    /// Which of these every look at the bias word sees: the heavy barrier is past, and the word has not been written since.
    /// 0 = none.
    pub revoked: AtomicUsize,
}

impl Oracle {
    /// Returns who stands in the queue.
    pub fn waiting(&self) -> [usize; 3] {
        self.waiting.each_ref().map(|place| place.load(SeqCst))
    }
}

/// What the executions of a search came upon: a search that never came upon what its test is named after shows nothing.
#[derive(Default)]
pub struct Tally {
    pub executions: AtomicUsize,
    /// Looks in vain.
    pub waits: AtomicUsize,
    pub withdrawals: AtomicUsize,
    pub back_offs: AtomicUsize,
    /// How often a waiter passed over the waiters before it, and how often a waiter found that it had lost its place.
    pub evictions: AtomicUsize,
    pub lost: AtomicUsize,
    /// Entries of participants that do not wait, or not for long.
    pub hurried_entries: AtomicUsize,
    pub biased_entries: AtomicUsize,
    /// Biased acquisitions that said that they try, and found the lock not biased to them.
    pub refusals: AtomicUsize,
    pub revocations: AtomicUsize,
    pub deaths: AtomicUsize,
    /// Visits to a lock that is closed for every participant.
    pub turned_away: AtomicUsize,
    pub resets: AtomicUsize,
    /// How often a linked lock was moved away, and did not admit the head of its queue.
    pub moves: AtomicUsize,
    pub refused_away: AtomicUsize,
    /// Owner-dead notices that came to the participant that had written them, and to another one.
    pub notices_to_reaper: AtomicUsize,
    pub notices_to_other: AtomicUsize,
}

/// Counts one more.
pub fn count(counter: &AtomicUsize) {
    counter.fetch_add(1, SeqCst);
}

/// Returns the count.
pub fn get(counter: &AtomicUsize) -> usize {
    counter.load(SeqCst)
}
