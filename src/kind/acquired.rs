//! What an acquisition comes with.

use turnlock_core::acquire::operations::Acquisition;

/// What came with an acquisition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Acquired {
    /// The fencing token: larger than that of every earlier acquisition of this lock, also after the file was created anew. A
    /// store that remembers the largest it has seen can refuse a late writer.
    pub fencing_token: u64,
    /// Whether the previous holder died inside: check the data, then call `mark_consistent`. An unlock without that closes the
    /// lock for everyone until a reset.
    pub previous_owner_died: bool,
}

/// The last participant that died holding a lock.
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
