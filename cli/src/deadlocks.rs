//! Deadlocks, in words.

use super::{describe, escape};
use turnlock::inspect::{Deadlock, DeadlockedClaim, DeadlockedParticipant, FileStatus};

/// Returns a sentence for each participant, first the one that closed the circle: "build (pid 4711) holds "a" (shared) and has waited
/// for "b" for 3 s".
pub fn sentences(deadlock: &Deadlock) -> Vec<String> {
    deadlock.participants.iter().map(sentence).collect()
}

fn sentence(one: &DeadlockedParticipant) -> String {
    let wants = part(&one.waits_for);
    let has = match &one.holds {
        Some(held) => format!("holds {}", part(held)),
        None => format!("is next to have {wants}"),
    };
    let who = describe::who(&one.participant);
    format!("{who} {has} and has waited for {wants} for {}", describe::span(one.for_seconds))
}

fn part(claimed: &DeadlockedClaim) -> String {
    let how = describe::claim(&claimed.claim).map(|claim| format!(" ({claim})")).unwrap_or_default();
    format!("\"{}\"{how}", escape::text(&claimed.lock))
}

/// Returns whether a lock is one of those that they hold or wait for.
pub fn involves(deadlock: &Deadlock, lock: &str) -> bool {
    let mut parts = deadlock.participants.iter().flat_map(|one| one.holds.iter().chain([&one.waits_for]));
    parts.any(|part| part.lock == lock)
}

/// Leaves only the locks and the participants of deadlocks in it.
pub fn retain(status: &mut FileStatus) {
    let deadlocks = &status.deadlocks;
    status.locks.retain(|lock| deadlocks.iter().any(|one| involves(one, &lock.name)));
    let is_in = |slot: usize| {
        let mut all = deadlocks.iter().flat_map(|one| &one.participants);
        all.any(|one| one.participant.slot == slot)
    };
    status.participants.retain(|participant| is_in(participant.slot));
}
