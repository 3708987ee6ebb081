//! What comes of an arrival at a barrier, and why one is broken.

/// Why a barrier is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A party died: one that had arrived, or had waited here before.
    Died,
    /// The time of one that had arrived was over, or its wait was cancelled.
    GaveUp,
    /// A participant broke it.
    Aborted,
    /// It was reset while participants waited.
    Reset,
}

/// A broken barrier: why, and the slot at which it broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breach {
    /// Why.
    pub cause: Cause,
    /// The slot of the participant that died, gave up, or broke it.
    pub slot: usize,
}

/// What came of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The participant was the last: all go on.
    Last,
    /// The participant waits for generation `0` to be complete.
    Waits(u64),
    /// The barrier is broken.
    Broken(Breach),
    /// It was removed.
    Removed,
}

/// Where a participant that has arrived stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It waits on.
    Waits,
    /// All have arrived.
    Passed,
    /// The barrier broke.
    Broken(Breach),
    /// It was removed.
    Removed,
}
