//! The status of what is no lock: conditions, events and barriers; and of onces.

/// What is known of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ConditionStatus {
    /// How many wait and were not notified.
    pub waiting: usize,
    /// How many were notified and have not taken their lock again.
    pub notified: usize,
    /// How many were notified and died, so that another waiter is still to get their notification.
    pub orphans: usize,
    /// The name of the lock that it is used with, or was last; `None`: none yet, or that was removed.
    pub used_with: Option<String>,
}

/// What is known of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct EventStatus {
    /// Whether it is set.
    pub set: bool,
    /// How often it was set, since it was created or the computer booted.
    pub times_set: u64,
}

/// What is known of a barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct BarrierStatus {
    /// How many must come.
    pub parties: u32,
    /// How many have come, and wait.
    pub arrived: u32,
    /// How often it was passed or reset, since it was created or the computer booted.
    pub generation: u64,
    /// The slots of those that have waited here, and may come again: the death of one of them breaks the barrier.
    pub members: Vec<usize>,
    /// The slots at which such a one has died. The barrier breaks when the next one waits, if it is not broken.
    pub dead_members: Vec<usize>,
    /// Why it is broken; `None`: it is not.
    pub broken: Option<BrokenBarrier>,
}

/// Why a barrier is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct BrokenBarrier {
    /// "died": a party did; "gave_up": the time of one was over, or its wait was ended; "aborted": a participant broke it; "reset":
    /// one resets it at this moment.
    pub why: &'static str,
    /// The slot of the one that did.
    pub slot: usize,
    /// Its process, as its own PID namespace numbered it; `None`: not known.
    pub pid: Option<u32>,
    /// The label that it gave itself; `None`: it has left its slot.
    pub label: Option<String>,
}

/// What is known of a once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct OnceStatus {
    /// Whether it is done.
    pub done: bool,
    /// Whether what is done stays done when the computer boots.
    pub across_boots: bool,
}
