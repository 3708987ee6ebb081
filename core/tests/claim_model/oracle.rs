//! The oracle, which sees everything at once and knows the truth, and what the executions of a search came upon.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use turnlock_core::algorithm::claim::{Claim, Mode, Relation};

/// What must hold in every execution. Besides, no participant waits for ever: an execution that gets too long is a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// No participant is inside beside another one whose claim conflicts with its own.
    Exclusion,
    /// The data are plain memory: an access that is not ordered after the writes of others is a failure, under loom even if
    /// it finds the right value.
    Data,
    /// Each writer's fencing token is larger than the one before, and readers have that of the last writer. Of permits and
    /// parts no two are the same.
    Token,
    /// No waiter is overtaken by a participant that comes in by its number, conflicts with it and began its doorway after the
    /// waiter's was finished.
    Order,
    /// The next holders after a writer's death have the owner-dead notice until a writer repairs; after any other death, none. Of
    /// groups: every holder of another group than a dead member's, until one that was told of that death repairs.
    OwnerDead,
    /// No participant comes into a leased lock without a look at its link.
    Lease,
}

/// What a slot's participant is about.
#[derive(Clone, Debug, Default)]
pub struct Slot {
    /// What it claims, or will have been claiming when it comes to its next step.
    pub claim: Option<Claim>,
    /// What it holds.
    pub inside: Option<Claim>,
    /// Whether it is inside, or outside with what let it in still there.
    pub entered: bool,
    /// Whether its `held` is a fencing token.
    pub is_recorded: bool,
    /// Whether it came in by its number.
    pub by_number: bool,
    /// Its place in the queue, of all that were ever taken.
    pub waiting: Option<usize>,
    /// Who stood in the queue when its doorway began.
    pub before: Vec<Option<usize>>,
    /// Whether it tells those before it that they lost their places, and whose places these were.
    pub evicts: bool,
    pub told: Vec<Option<usize>>,
    /// Whether it looks at the bias word for the first time.
    pub meets: bool,
    /// So many steps it has taken in this visit, and at which of them it dies.
    pub steps: usize,
    pub death: Option<usize>,
    /// Whose byte lock it has besides its own.
    pub reaps: Option<usize>,
}

/// The truth. No step of the model, and orders nothing in it.
#[derive(Debug, Default)]
pub struct Oracle {
    pub slots: Vec<Slot>,
    pub places: usize,
    /// The last writer's fencing token, or the largest of permits and parts.
    pub last_token: u64,
    /// The token of a writer that died inside, as long as no later writer has repaired the data.
    pub dead: Option<u64>,
    /// How many permits of a linked semaphore another host has.
    pub elsewhere: u32,
    /// Whether a linked lock is leased.
    pub leased: bool,
    /// The members of groups that died inside.
    pub members: crate::groups::DeadMembers,
}

impl Oracle {
    /// Returns who stands in the queue.
    pub fn waiting(&self) -> Vec<Option<usize>> {
        self.slots.iter().map(|slot| slot.waiting).collect()
    }

    /// Returns the slot inside that keeps `me` out, as it claims now.
    pub fn rival(&self, relation: Relation, permits: u32, me: usize) -> Option<usize> {
        let mine = self.slots[me].inside?;
        let others = || {
            self.slots
                .iter()
                .enumerate()
                .filter_map(|(slot, it)| Some((slot, it.inside?)))
                .filter(|(slot, _)| *slot != me)
        };
        if relation == Relation::Permits && mine.mode != Mode::Everything {
            let sum: u32 = others().map(|(_, theirs)| theirs.weight).sum();
            let too_many = sum + mine.weight + self.elsewhere > permits;
            return others().next().map(|(slot, _)| slot).or(Some(me)).filter(|_| too_many);
        }
        others().find(|(_, theirs)| conflict(relation, mine, *theirs)).map(|(slot, _)| slot)
    }
}

/// Returns whether two claims must not be inside together. Said once more, and not by the code that is checked.
pub fn conflict(relation: Relation, one: Claim, other: Claim) -> bool {
    if relation == Relation::Groups {
        let everything = one.mode == Mode::Everything || other.mode == Mode::Everything;
        return everything || one.extent.first != other.extent.first;
    }
    let beside = match (one.mode, other.mode) {
        (Mode::Shared, Mode::Shared) => true,
        (Mode::Shared, Mode::Upgradable) | (Mode::Upgradable, Mode::Shared) => relation == Relation::Modes,
        _ => false,
    };
    let apart = match relation {
        Relation::Ranges => one.extent.last < other.extent.first || other.extent.last < one.extent.first,
        Relation::Keys => one.extent != other.extent,
        Relation::Permits => return true,
        Relation::Always | Relation::Modes | Relation::Groups => false,
    };
    !beside && !apart
}

/// What the executions of a search came upon: a search that never came upon what its test is named after shows nothing.
#[derive(Debug, Default)]
pub struct Tally {
    pub executions: AtomicUsize,
    pub waits: AtomicUsize,
    /// Entries beside another one that was inside.
    pub together: AtomicUsize,
    pub biased_entries: AtomicUsize,
    pub revocations: AtomicUsize,
    pub withdrawals: AtomicUsize,
    pub hurried_entries: AtomicUsize,
    pub upgrades: AtomicUsize,
    pub upgrades_given_up: AtomicUsize,
    pub evictions: AtomicUsize,
    pub lost: AtomicUsize,
    pub deaths: AtomicUsize,
    pub deaths_of_writers: AtomicUsize,
    pub notices: AtomicUsize,
    /// How often a linked lock was moved away, and did not admit the head of its queue.
    pub moves: AtomicUsize,
    pub refused_away: AtomicUsize,
    /// Participants that wanted more than to read, and left the queue of a lock that was home to read.
    pub left_to_readers: AtomicUsize,
    /// Upgrades for which the block of a linked lock had no token.
    pub upgrades_refused: AtomicUsize,
}

/// Counts one more.
pub fn count(counter: &AtomicUsize) {
    counter.fetch_add(1, SeqCst);
}

/// Returns the count.
pub fn get(counter: &AtomicUsize) -> usize {
    counter.load(SeqCst)
}
