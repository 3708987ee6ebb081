//! What an acquisition comes with.

use turnlock_core::acquire::operations::Acquisition;

/// What came with an acquisition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Acquired {
    /// Larger than that of every acquisition of this lock before, for the life of the file and after its re-creation:
    /// a store that remembers the largest it has seen can turn a late writer away.
    pub fencing_token: u64,
    /// The previous holder died inside: look at the data before trusting them, then call `mark_consistent`. Unlocking
    /// without it closes the lock for everyone until a reset.
    pub previous_owner_died: bool,
}

/// Who died holding a lock, last.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PreviousOwner {
    /// The fencing token it held.
    pub fencing_token: u64,
    /// Its process, as its own PID namespace numbered it.
    pub pid: u32,
    /// Its thread, likewise.
    pub thread: u32,
    /// What it called itself.
    pub label: String,
}

impl From<Acquisition> for Acquired {
    #[inline]
    fn from(acquisition: Acquisition) -> Self {
        Self { fencing_token: acquisition.token, previous_owner_died: acquisition.owner_dead }
    }
}
