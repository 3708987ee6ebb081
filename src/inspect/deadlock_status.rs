//! A deadlock, as an observer sees it.

use super::status::{Claim, ParticipantStatus};

/// A deadlock: participants each of which waits, without a limit, for what the next one holds, the last one for what the first
/// holds. All of it was so at one moment: two readings agree.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Deadlock {
    /// They, first the one that closed the circle: its wait began last.
    pub participants: Vec<DeadlockedParticipant>,
}

/// A participant in a deadlock.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct DeadlockedParticipant {
    /// The participant, by the slot with which it waits.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub participant: ParticipantStatus,
    /// What it holds, for which the one before it waits. `None`: it stands in the queue before that one, with a claim that conflicts.
    pub holds: Option<DeadlockedClaim>,
    /// What it waits for.
    pub waits_for: DeadlockedClaim,
    /// For how long it has waited, in seconds.
    pub for_seconds: f64,
}

/// What a participant in a deadlock has of a lock, or wants of it.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct DeadlockedClaim {
    /// The lock's name.
    pub lock: String,
    /// Its kind, as in [`crate::inspect::LockStatus`].
    pub kind: &'static str,
    /// What of it.
    pub claim: Claim,
    /// The fencing token, of what is held. A decimal string in JSON.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::status::as_text_if_any"))]
    pub fencing_token: Option<u64>,
}
